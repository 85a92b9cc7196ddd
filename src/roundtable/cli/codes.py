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
    ExitCode.FAILED: "any other error; also when whoever reads the output has gone (a closed pipe)",
    ExitCode.USAGE: "the command line or the configuration does not fit; `doctor`: no debate could be held",
    ExitCode.AUTH: "every agent was refused its key; the session can be resumed",
    ExitCode.UNREACHABLE: "every agent met a rate limit, a network fault or a deadline; the session can be resumed",
    ExitCode.QUORUM: "too few agents answered, for other or several reasons; the session can be resumed",
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
    ((SessionError,), ExitCode.SESSION),
    ((StorageError,), ExitCode.STORAGE),
)


_OF_A_ROUND: Final = frozenset({ExitCode.USAGE, ExitCode.AUTH, ExitCode.UNREACHABLE})
"""Codes that say more than that too few answered."""


def exit_code(error: RoundtableError) -> ExitCode:
    """Give the exit code of an error.

    Where every agent failed, and all for one kind of reason, it is the code of that reason.

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
    # Late on purpose: `--help` must not load results.
    from roundtable.result import DebateResult
    from roundtable.stages import error_from_info

    rounds = error.partial.rounds if isinstance(error.partial, DebateResult) else ()
    turns = [turn for held in rounds[-1:] for turn in held.turns]
    lost = [turn for turn in turns if turn.stage == turns[-1].stage]
    failed = {turn.slot: turn.error for turn in lost if turn.outcome == "failed"}
    if any(turn.outcome == "answered" for turn in lost):
        return None
    reasons = {_code_of(type(error_from_info(reason))) for reason in failed.values()}
    only = reasons.pop() if len(reasons) == 1 else None
    return only if only in _OF_A_ROUND else None


def exit_codes_help() -> str:
    """Give the table of exit codes as plain lines."""
    return "\n".join(f"  {code.value:3d}  {MEANING[code]}" for code in ExitCode)
