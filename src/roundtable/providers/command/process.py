"""Running a program to its end, whatever it does; nothing of it is left behind."""

from __future__ import annotations

import logging
import os
import signal
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio
from anyio.abc import Process

from roundtable._foreign import error_text
from roundtable.errors import AgentError, APITimeoutError
from roundtable.providers.command.keeper import CANNOT, CANNOT_CODE, KEEPER, KILL_GRACE_S
from roundtable.providers.command.readers import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream

__all__ = ["KILL_GRACE_S", "Finished", "run_command"]

logger: logging.Logger = logging.getLogger("roundtable.providers.command")

MOST_BYTES: Final = 8 * 1024 * 1024
_PIPES_S: Final = 1.0
_KEEPER_S: Final = 0.5
"""Seconds that the keeper has to kill the program before its whole group is killed."""


class Finished(NamedTuple):
    """What a program left."""

    stdout: str
    """What it wrote, without what steers a terminal."""
    stderr: str
    """What it complained about."""
    code: int
    """How it ended; negative is the number of a signal."""


class _Kept:
    """What is read from one pipe, up to a limit."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.done = anyio.Event()

    @property
    def text(self) -> str:
        return clean(b"".join(self.pieces).decode("utf-8", "replace"))


class _Teller:
    """Tells a caller what a program writes, whole characters at a time; a caller that fails hears no more."""

    def __init__(self, listener: Callable[[str], None]) -> None:
        self._listener: Callable[[str], None] | None = listener
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def tell(self, piece: bytes) -> None:
        text = clean(self._decoder.decode(piece))
        if self._listener is None or not text:
            return
        try:
            self._listener(text)
        except Exception as error:  # noqa: BLE001  (foreign code; the answer does not depend on it)
            self._listener = None
            logger.warning("on_progress failed and hears no more: %s: %s", type(error).__name__, error_text(error))


async def run_command(
    words: Sequence[str],
    *,
    stdin: str,
    timeout_s: float,
    environment: Mapping[str, str],
    cwd: str | None = None,
    title: str = "Claude",
    on_progress: Callable[[str], None] | None = None,
) -> Finished:
    """Run a program in a process group of its own, without a shell.

    Its group gets SIGTERM when its time is over, when it writes more than 8 MiB, or when the caller is cancelled, and
    SIGKILL five seconds later; it is waited for, so no zombie stays. When the program has ended, what it started ends
    too. On Linux a small process of ours stands in between, which ends it when this process is killed.

    Args:
        words: The file, as an absolute path, and its arguments.
        stdin: What it can read.
        timeout_s: Seconds it has.
        environment: All the variables it gets.
        cwd: Where it works.
        title: How it is called in messages.
        on_progress: Hears pieces of its standard output as they come.

    Raises:
        APITimeoutError: It took too long.
        AgentError: It could not be started, or wrote too much.
    """
    out, err = _Kept(), _Kept()
    process = await _start(words, environment, cwd, title)
    code: int | None = None
    too_much = False
    try:
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as group:
                fed, read, complaints = _pipes(process)
                group.start_soon(_feed, fed, stdin.encode("utf-8", "replace"))
                told = None if on_progress is None else _Teller(on_progress).tell
                group.start_soon(_drain, read, out, told, group.cancel_scope)
                group.start_soon(_drain, complaints, err, None, group.cancel_scope)
                code = await process.wait()
                with anyio.move_on_after(_PIPES_S):  # what it started may hold the pipes for ever
                    await out.done.wait()
                    await err.done.wait()
                group.cancel_scope.cancel()
            too_much = max(out.size, err.size) > MOST_BYTES
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    if too_much:
        raise AgentError(f"{title} wrote more than {MOST_BYTES // 2**20} MiB and was ended")
    if code is None:
        hint = "Raise `timeout_s`, or ask for less at once."
        raise APITimeoutError(f"{title} timed out after {timeout_s * 1000:.0f}ms", hint=hint)
    if code == CANNOT_CODE and err.text.startswith(CANNOT):
        raise AgentError(f"Failed to spawn {words[0]}: {err.text.removeprefix(CANNOT)}")
    return Finished(out.text, err.text, code)


async def _start(words: Sequence[str], environment: Mapping[str, str], cwd: str | None, title: str) -> Process:
    try:
        return await anyio.open_process(started(words), env=dict(environment), cwd=cwd, start_new_session=True)
    except (OSError, ValueError) as error:
        msg = f"Failed to spawn {title}: {error}"
        raise AgentError(msg, hint="Check the working directory, and that nothing holds a zero byte.") from error


def started(words: Sequence[str]) -> list[str]:
    """Give the words that start a program: on Linux a keeper's, where there is an interpreter to run it."""
    if sys.platform != "linux" or not sys.executable or getattr(sys, "frozen", False):
        return [*words]
    return [sys.executable, "-I", "-S", "-c", KEEPER, str(os.getpid()), words[0], *words]


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]:
    """Give the pipes of a process, which was started with all three."""
    return cast(
        "tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]", (process.stdin, process.stdout, process.stderr)
    )


async def _feed(stdin: ByteSendStream, data: bytes) -> None:
    """Give the program what it can read; one that does not want it is no fault."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stdin.send(data)
    with suppress(anyio.BrokenResourceError, BrokenPipeError, ConnectionResetError):
        await stdin.aclose()


async def _drain(
    pipe: ByteReceiveStream, kept: _Kept, tell: Callable[[bytes], None] | None, scope: anyio.CancelScope
) -> None:
    """Read a pipe to its end, keep what fits, and give the program up when it writes more."""
    while True:
        try:
            piece = await pipe.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            break
        kept.size += len(piece)
        if kept.size > MOST_BYTES:
            scope.cancel()
            break
        kept.pieces.append(piece)
        if tell is not None:
            tell(piece)
    kept.done.set()


async def _end(process: Process) -> None:
    """End the program and all that it started, and wait for it."""
    if process.returncode is None and _signal(process, signal.SIGTERM):
        with anyio.move_on_after(KILL_GRACE_S + _KEEPER_S):
            await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()
    await process.aclose()


def _signal(process: Process, number: signal.Signals) -> bool:
    """Send a signal to the group; tell whether there is one."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
