"""Run a program to its end, and end its process group with it."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio
from anyio.abc import Process

from roundtable.core.base.functions import reporter
from roundtable.core.base.network import NetworkForbidden
from roundtable.core.errors import AgentError, APITimeoutError, ConfigurationError
from roundtable.providers.command.parsers import clean
from roundtable.providers.command.profiles import CLAUDE
from roundtable.providers.command.watchdog import KILL_GRACE_S, START_FAILED_CODE, START_FAILED_PREFIX, WATCHDOG_SCRIPT
from roundtable.settings import process_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream

    from roundtable.providers.command.profiles import CommandProfile

__all__ = ["KILL_GRACE_S", "ProcessResult", "check_system", "find_binary", "run_command", "visible_environment"]

logger: logging.Logger = logging.getLogger("roundtable.providers.command")

MOST_BYTES: Final = 8 * 1024 * 1024
_UNFINISHED: Final = re.compile(
    r"(?:\x1b(?:\][^\x07\x1b]{0,1024}\x1b?|[\[(][0-?]{0,64}[ -/]{0,8})?|\r)\Z"  # the rest is in the next piece
)
_PIPES_S: Final = 1.0
_WATCHDOG_S: Final = 0.5
"""Seconds that the watchdog has to kill the program, before the whole group is killed."""

_COMMON_VARIABLES: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
"""Environment variables that every program gets. They exclude the keys of other providers, and CLAUDECODE, which Claude
sets for programs that it starts itself."""

_ON: Final = frozenset({"1", "true", "yes", "on"})


def find_binary(profile: CommandProfile = CLAUDE, *, path: str | None = None) -> str:
    """Return the absolute path of a command-line agent's program. The path is cached until the file disappears.

    Args:
        profile: The agent.
        path: Folders to search, in the format of `PATH`; if left out, `PATH` itself.

    Raises:
        AgentError: The program is missing or not executable; not retryable.
    """
    searched = process_environment().get("PATH", os.defpath) if path is None else path
    file = _look_up(profile.program, searched)
    if file is None or not os.access(file, os.X_OK):
        _look_up.cache_clear()  # it may have been moved, removed or installed since
        file = _look_up(profile.program, searched)
    if file is None:
        where = f". Install from {profile.install}" if profile.install else ""
        raise AgentError(
            f"{profile.program} CLI not found{where}",
            code="AGENT_ERROR",
            provider=profile.name,
            hint=f"Install {profile.program!r}, and add its folder to the PATH of this process.",
        )
    return file


@lru_cache(maxsize=64)
def _look_up(program: str, path: str) -> str | None:
    file = shutil.which(program, path=path)
    return None if file is None else str(Path(file).absolute())


def visible_environment(profile: CommandProfile, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a command-line agent may see.

    Example:
        >>> visible_environment(CLAUDE, {"HOME": "/root", "OPENAI_API_KEY": "secret", "CLAUDECODE": "1"})
        {'HOME': '/root'}
        >>> on_bedrock = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}
        >>> visible_environment(CLAUDE, on_bedrock) == on_bedrock, visible_environment(CLAUDE, {"AWS_REGION": "x"})
        (True, {})
    """
    patterns = [*_COMMON_VARIABLES, *profile.environment]
    for cloud, names in profile.clouds.items():
        if environment.get(cloud, "").casefold().strip() in _ON:
            patterns += names
    return {name: value for name, value in environment.items() if any(_matches(name, pattern) for pattern in patterns)}


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


class ProcessResult(NamedTuple):
    """Result of a program."""

    stdout: str
    """Standard output, without terminal control sequences."""
    stderr: str
    """Standard error."""
    code: int
    """Exit code; if it is negative, a signal with this number ended the program."""


class _Output:
    """Output of one pipe, up to a limit."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.done = anyio.Event()

    @property
    def text(self) -> str:
        return clean(b"".join(self.pieces).decode("utf-8", "replace"))


class _ProgressReporter:
    """Reporter that passes output to a callback, in whole characters and without terminal control sequences.

    A callback that fails is not called again.
    """

    def __init__(self, listener: Callable[[str], None]) -> None:
        self._tell = reporter("on_progress", listener, logger)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""

    def report(self, piece: bytes) -> None:
        text = self._unfinished + self._decoder.decode(piece)
        sequence = _UNFINISHED.search(text)
        self._unfinished = "" if sequence is None else sequence.group()
        text = clean(text.removesuffix(self._unfinished))
        if text:
            self._tell(text)


def check_system() -> None:
    """Check that this system can end a program with its process group.

    Raises:
        ConfigurationError: The system has no process groups; this is the case on Windows.
    """
    if not hasattr(os, "killpg"):
        hint = "Use a provider over HTTP, or run this on Linux, macOS or WSL."
        raise ConfigurationError(f"command-line agents need process groups, which {sys.platform!r} lacks", hint=hint)


async def run_command(
    words: Sequence[str],
    *,
    stdin: str,
    timeout_s: float,
    environment: Mapping[str, str],
    cwd: str | None = None,
    title: str = "Claude",
    on_progress: Callable[[str], None] | None = None,
) -> ProcessResult:
    """Run a program in its own process group, without a shell.

    The group gets SIGTERM if the deadline passes, the program writes more than 8 MiB, or the caller is cancelled. It
    gets SIGKILL five seconds later. This function waits for the program, so no zombie remains. When the program has
    ended, all other processes in its group are killed. Processes that have left the group, for example because `setsid`
    started them, continue. On Linux, a small watchdog process ends the group if this process is killed.

    Args:
        words: The absolute path of the program, followed by its arguments.
        stdin: Text for the standard input of the program.
        timeout_s: Deadline in seconds.
        environment: All environment variables of the program.
        cwd: Working directory.
        title: Name of the program in messages.
        on_progress: Called with each piece of its standard output.

    Raises:
        APITimeoutError: The program took too long.
        AgentError: The program could not be started, or wrote too much.
        ConfigurationError: The system has no process groups.
    """
    check_system()
    stdout, stderr = _Output(), _Output()
    process = await _start(words, environment, cwd)
    code: int | None = None
    too_much = False
    try:
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as group:
                stdin_pipe, stdout_pipe, stderr_pipe = _pipes(process)
                group.start_soon(_feed, stdin_pipe, stdin.encode("utf-8", "replace"))
                report = None if on_progress is None else _ProgressReporter(on_progress).report
                group.start_soon(_drain, stdout_pipe, stdout, report, group.cancel_scope)
                group.start_soon(_drain, stderr_pipe, stderr, None, group.cancel_scope)
                code = await process.wait()
                with anyio.move_on_after(_PIPES_S):  # its child processes may hold the pipes open forever
                    await stdout.done.wait()
                    await stderr.done.wait()
                group.cancel_scope.cancel()
            too_much = max(stdout.size, stderr.size) > MOST_BYTES
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    if too_much:
        raise AgentError(f"{title} wrote more than {MOST_BYTES // 2**20} MiB and was stopped")
    if code is None:
        hint = "Raise `timeout_s`, or ask for less."
        raise APITimeoutError(f"{title} timed out after {timeout_s * 1000:.0f}ms", hint=hint)
    if code == START_FAILED_CODE and stderr.text.startswith(START_FAILED_PREFIX):
        raise _not_started(words, stderr.text.removeprefix(START_FAILED_PREFIX))
    return ProcessResult(stdout.text, stderr.text, code)


async def _start(words: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> Process:
    try:
        return await anyio.open_process(watched_command(words), env=dict(environment), cwd=cwd, start_new_session=True)
    except NetworkForbidden as error:
        raise ConfigurationError(
            f"{Path(words[0]).name} cannot be started: {error}",
            code="NETWORK_FORBIDDEN",
            cause=error,
            hint="Leave the `without_network` block, or unset ROUNDTABLE_NETWORK: a program could use the network.",
        ) from error
    except (OSError, ValueError) as error:
        raise _not_started(words, str(error)) from error


def _not_started(words: Sequence[str], reason: str) -> AgentError:
    """Return the error for a program that the system cannot start."""
    hint = "Check the working directory, that the file is executable, and that no argument contains a zero byte."
    return AgentError(f"Failed to spawn {Path(words[0]).name}: {reason}", hint=hint)


def watched_command(words: Sequence[str]) -> list[str]:
    """Return the command that starts a program. On Linux, the watchdog starts it, if a Python interpreter is found."""
    if sys.platform != "linux" or not sys.executable or getattr(sys, "frozen", False):
        return [*words]
    return [sys.executable, "-I", "-S", "-c", WATCHDOG_SCRIPT, str(os.getpid()), words[0], *words]


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]:
    """Return the three pipes of a process."""
    return cast(
        "tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]", (process.stdin, process.stdout, process.stderr)
    )


async def _feed(stdin: ByteSendStream, data: bytes) -> None:
    """Write to the standard input; the program may close it without reading."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stdin.send(data)
    with suppress(anyio.BrokenResourceError, BrokenPipeError, ConnectionResetError):
        await stdin.aclose()


async def _drain(
    pipe: ByteReceiveStream, output: _Output, report: Callable[[bytes], None] | None, scope: anyio.CancelScope
) -> None:
    """Read a pipe to its end, and stop the program when it writes too much."""
    while True:
        try:
            piece = await pipe.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            break
        output.size += len(piece)
        if output.size > MOST_BYTES:
            scope.cancel()
            break
        output.pieces.append(piece)
        if report is not None:
            report(piece)
    output.done.set()


async def _end(process: Process) -> None:
    """End the program with its process group, and wait for it."""
    if process.returncode is None and _signal(process, signal.SIGTERM):
        with anyio.move_on_after(KILL_GRACE_S + _WATCHDOG_S):
            await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()
    await process.aclose()


def _signal(process: Process, number: signal.Signals) -> bool:
    """Send a signal to the process group; return whether the group exists."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
