"""Serving on standard input and output, where nothing but the protocol may stand, whatever a plugin prints."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import anyio
from anyio import to_thread
from mcp import types

from roundtable.mcp.envelopes import Fault, fault_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from mcp.server.lowlevel import Server

__all__ = ["MOST_LINE_BYTES", "Wire", "claimed", "serve_stdio"]

MOST_LINE_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of one message."""


class Wire:
    """The two ends of a connection: lines in, lines out, each whole."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._writing = anyio.Lock()

    def __aiter__(self) -> AsyncGenerator[str]:
        return self._messages()

    async def _messages(self) -> AsyncGenerator[str]:
        """Give messages; a line that is none is answered with the error that the protocol has for it."""
        while line := await self._line():
            if len(line) > MOST_LINE_BYTES:
                await self._skip(line)
                await self._refuse(Fault(types.INVALID_REQUEST, f"Message larger than {MOST_LINE_BYTES} bytes"))
                continue
            text = line.decode("utf-8", "replace").strip()
            if not text:
                continue
            if fault := fault_of(text):
                await self._refuse(fault)
                continue
            yield text

    async def _line(self) -> bytes:
        return await to_thread.run_sync(self._source.readline, MOST_LINE_BYTES + 1, abandon_on_cancel=True)

    async def _skip(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = await self._line()

    async def _refuse(self, fault: Fault) -> None:
        await self.write(fault.to_json() + "\n")

    async def write(self, text: str) -> None:
        """Write a message with the end of its line, and send it off."""
        async with self._writing:
            await to_thread.run_sync(self._write, text.encode())

    def _write(self, line: bytes) -> None:
        self._target.write(line)
        self._target.flush()

    async def flush(self) -> None:
        """Do nothing: a message is sent off when it is written."""


@contextmanager
def claimed() -> Generator[tuple[BinaryIO, BinaryIO]]:
    """Take standard input and output for the protocol alone.

    Meanwhile whatever else reads gets nothing, and whatever else is written, by a child process too, goes to standard
    error.
    """
    source, target = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    sys.stdout.flush()
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    # Left open: a thread may still wait for a line when the server ends, and must find its own file then.
    reader = os.fdopen(source, "rb", closefd=False)
    writer = os.fdopen(target, "wb", closefd=False)
    try:
        yield reader, writer
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(target, 1)


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until the input ends."""
    from mcp.server.stdio import stdio_server

    with claimed() as (source, target):
        wire: Any = Wire(source, target)
        async with stdio_server(stdin=wire, stdout=wire) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
