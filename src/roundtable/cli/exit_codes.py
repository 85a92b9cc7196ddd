"""Exit codes of the command, and the errors that lead to them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from roundtable.core.errors import (
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
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


MEANING: Final = {
    ExitCode.OK: "success; the result can still be partial (its status shows that)",
    ExitCode.FAILED: "any other error, including a closed pipe (the program that reads the output has ended)",
    ExitCode.USAGE: "the command line or the configuration is invalid; with `doctor`: no debate can run",
    ExitCode.AUTH: "the keys of all agents were rejected; the session can be resumed",
    ExitCode.UNREACHABLE: "all agents met a rate limit, a network error or a deadline; the session can be resumed",
    ExitCode.QUORUM: "too few agents answered, and no code for a shared reason applies; the session can be resumed",
    ExitCode.SESSION: "the session does not exist, is run by another process, or does not allow the operation",
    ExitCode.STORAGE: "the storage could not be read or written",
    ExitCode.HUNG_UP: "SIGHUP, for example from a closed terminal; handled like Ctrl-C",
    ExitCode.INTERRUPTED: "Ctrl-C; a running debate is paused and can be resumed",
    ExitCode.TERMINATED: "SIGTERM; handled like Ctrl-C",
}
"""The meaning of each code, for the help text and the docs."""

_BY_KIND: Final[tuple[tuple[tuple[type[RoundtableError], ...], ExitCode], ...]] = (
    ((ConfigurationError,), ExitCode.USAGE),
    ((APIAuthError,), ExitCode.AUTH),
    ((APIRateLimitError, APINetworkError, APITimeoutError), ExitCode.UNREACHABLE),
    ((SessionError,), ExitCode.SESSION),
    ((StorageError,), ExitCode.STORAGE),
)


_SHARED_REASONS: Final = frozenset({ExitCode.USAGE, ExitCode.AUTH, ExitCode.UNREACHABLE})
"""Codes that replace `QUORUM` if all agents failed for the same reason."""


def exit_code(error: RoundtableError) -> ExitCode:
    """Return the exit code of an error.

    If all agents failed for the same kind of reason, this is the code of that reason.

    Example:
        >>> exit_code(StorageError()), exit_code(RoundtableError())
        (<ExitCode.STORAGE: 7>, <ExitCode.FAILED: 1>)
    """
    if isinstance(error, QuorumLost):
        return _shared_reason(error) or ExitCode.QUORUM
    return _code_of(type(error))


def _code_of(kind: type[RoundtableError]) -> ExitCode:
    return next((code for kinds, code in _BY_KIND if issubclass(kind, kinds)), ExitCode.FAILED)


def _shared_reason(error: QuorumLost) -> ExitCode | None:
    # Imported late: `--help` must not load results.
    from roundtable.core.stages import error_from_info
    from roundtable.results.debate_result import DebateResult

    rounds = error.partial.rounds if isinstance(error.partial, DebateResult) else ()
    turns = [turn for record in rounds[-1:] for turn in record.turns]
    last_stage = [turn for turn in turns if turn.stage == turns[-1].stage]
    failed = {turn.slot: turn.error for turn in last_stage if turn.outcome == "failed"}
    if any(turn.outcome == "answered" for turn in last_stage):
        return None
    reasons = {_code_of(type(error_from_info(reason))) for reason in failed.values()}
    reason_code = reasons.pop() if len(reasons) == 1 else None
    return reason_code if reason_code in _SHARED_REASONS else None


def exit_codes_help() -> str:
    """Return the table of exit codes as plain lines."""
    return "\n".join(f"  {code.value:3d}  {MEANING[code]}" for code in ExitCode)
