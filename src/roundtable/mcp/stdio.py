"""The stdio transport: only the protocol writes to standard output; other output, such as a plugin's, is redirected."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import anyio
from anyio import to_thread
from mcp import types

from roundtable.core.base.eventloop import receive_signals
from roundtable.mcp.jsonrpc_errors import InvalidMessage, message_error

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncGenerator, Generator

    from mcp.server.lowlevel import Server

__all__ = ["MOST_LINE_BYTES", "Wire", "reserve_stdio", "serve_stdio"]

MOST_LINE_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of one message."""
MOST_UNREAD: Final = 32
"""Maximum number of messages to accept while the client does not read the answers."""


class Wire:
    """Both directions of a connection; it reads and writes whole lines."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._writing = anyio.Lock()
        self._is_writing = False
        self._unread = 0
        self._written = anyio.Event()

    def __aiter__(self) -> AsyncGenerator[str]:
        return self._messages()

    async def _messages(self) -> AsyncGenerator[str]:
        """Yield the messages; answer an invalid line with a protocol error."""
        while line := await self._line():
            self._unread += 1
            if len(line) > MOST_LINE_BYTES:
                await self._skip(line)
                await self._refuse(
                    InvalidMessage(types.INVALID_REQUEST, f"Message larger than {MOST_LINE_BYTES} bytes")
                )
                continue
            text = line.decode("utf-8", "replace").strip()
            if not text:
                continue
            if fault := message_error(text):
                await self._refuse(fault)
                continue
            yield text

    async def _line(self) -> bytes:
        """Return the next line; first wait until the client has read earlier answers, so that they don't pile up."""
        while self._is_writing and self._unread >= MOST_UNREAD:
            await self._written.wait()
        return await to_thread.run_sync(self._source.readline, MOST_LINE_BYTES + 1, abandon_on_cancel=True)

    async def _skip(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = await self._line()

    async def _refuse(self, fault: InvalidMessage) -> None:
        await self.write(fault.to_json() + "\n")

    async def write(self, text: str) -> None:
        """Write a message, which ends with a line break, and flush it."""
        async with self._writing:
            self._is_writing = True
            try:
                await to_thread.run_sync(self._write, text.encode())
            finally:
                self._is_writing = False
                self._unread = max(0, self._unread - 1)
                self._written.set()
                self._written = anyio.Event()

    def _write(self, line: bytes) -> None:
        self._target.write(line)
        self._target.flush()

    async def flush(self) -> None:
        """Do nothing: `write` flushes each message."""


@contextmanager
def reserve_stdio() -> Generator[tuple[BinaryIO, BinaryIO]]:
    """Reserve standard input and output for the protocol.

    In this block, all other code and its child processes read an empty input, and write to standard error.
    """
    source, target = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    sys.stdout.flush()
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    # Don't close these files: when the server ends, a thread may still be reading a line.
    reader = os.fdopen(source, "rb", closefd=False)
    writer = os.fdopen(target, "wb", closefd=False)
    try:
        yield reader, writer
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(target, 1)


async def serve_stdio(server: Server[Any]) -> signal.Signals | None:
    """Serve until the input ends or a signal asks the process to end; return the signal."""
    signals: list[signal.Signals] = []
    serving = anyio.CancelScope()

    def end(number: signal.Signals) -> None:
        signals.append(number)
        serving.cancel()

    async with receive_signals(end):
        with serving:
            await _serve(server)
    return signals[0] if signals else None


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    with reserve_stdio() as (source, target):
        wire: Any = Wire(source, target)
        async with stdio_server(stdin=wire, stdout=wire) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
