"""What the exit code of the command says."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from roundtable.errors import (
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ConfigurationError,
    QuorumLost,
    RoundtableError,
    SessionError,
    StorageError,
)

__all__ = ["ExitCode", "exit_code", "exit_codes_help"]


class ExitCode(IntEnum):
    """Exit codes of the command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    AUTH = 3
    UNREACHABLE = 4
    QUORUM = 5
    SESSION = 6
    STORAGE = 7
    INTERRUPTED = 130
    TERMINATED = 143


MEANING: Final = {
    ExitCode.OK: "what was asked for was done; a result may still be partial, its status says so",
    ExitCode.FAILED: "any other error",
    ExitCode.USAGE: "the command line or the configuration does not fit; nothing was called",
    ExitCode.AUTH: "a provider refused the key",
    ExitCode.UNREACHABLE: "a rate limit, a network fault or a deadline",
    ExitCode.QUORUM: "too few agents answered; the session can be resumed",
    ExitCode.SESSION: "the session does not exist, is run by somebody else, or does not allow this",
    ExitCode.STORAGE: "the storage could not read or write",
    ExitCode.INTERRUPTED: "Ctrl-C; a debate that ran is paused and can be resumed",
    ExitCode.TERMINATED: "SIGTERM; as with Ctrl-C",
}
"""Code to its meaning, for the help text and the docs."""

_BY_KIND: Final[tuple[tuple[tuple[type[RoundtableError], ...], ExitCode], ...]] = (
    ((ConfigurationError,), ExitCode.USAGE),
    ((APIAuthError,), ExitCode.AUTH),
    ((APIRateLimitError, APINetworkError, APITimeoutError), ExitCode.UNREACHABLE),
    ((QuorumLost,), ExitCode.QUORUM),
    ((SessionError,), ExitCode.SESSION),
    ((StorageError,), ExitCode.STORAGE),
)


def exit_code(error: RoundtableError) -> ExitCode:
    """Give the exit code of an error.

    Example:
        >>> exit_code(StorageError()), exit_code(RoundtableError())
        (<ExitCode.STORAGE: 7>, <ExitCode.FAILED: 1>)
    """
    for kinds, code in _BY_KIND:
        if isinstance(error, kinds):
            return code
    return ExitCode.FAILED


def exit_codes_help() -> str:
    """Give the table of exit codes as plain lines."""
    return "\n".join(f"  {code.value:3d}  {MEANING[code]}" for code in ExitCode)
