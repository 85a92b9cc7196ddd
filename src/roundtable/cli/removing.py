"""Commands that remove sessions for good; they ask first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, get_args

from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import line
from roundtable.cli.sessions import MOST, full_id, moment
from roundtable.errors import ConfigurationError
from roundtable.types import SessionFilter, SessionStatus

if TYPE_CHECKING:
    from roundtable.cli.desk import Desk

__all__ = ["delete_session", "prune_sessions"]


async def delete_session(desk: Desk, given: str, *, yes: bool) -> ExitCode:
    """Remove one session."""
    session_id = await full_id(desk.table, desk.place, given)
    result = await desk.table.session(session_id)
    if not yes and not _agreed(desk, f"Remove session {session_id}, {line(result.topic).text!r}, for good?"):
        return ExitCode.FAILED
    await desk.table.delete(session_id)
    if desk.screen.as_json:
        desk.screen.data({"sessionId": session_id, "removed": 1})
    desk.screen.show([line(f"Removed session {session_id}.")])
    return ExitCode.OK


async def prune_sessions(desk: Desk, before: str, status: str | None, *, yes: bool) -> ExitCode:
    """Remove all sessions that have not changed since a date."""
    when = moment(before, "--before")
    state = next((known for known in get_args(SessionStatus) if known == status), None)
    if when is None or state != status:
        msg = f"--status: there is no state {status!r}" if when is not None else "--before needs a date"
        raise ConfigurationError(msg, hint=f"States: {', '.join(get_args(SessionStatus))}.")
    wanted = SessionFilter(updated_before=when, status=state, limit=MOST)
    found = () if desk.place.is_empty() else await desk.table.sessions(wanted)
    count = f"{len(found)}{'' if len(found) < MOST else ' or more'}"
    if found and not yes and not _agreed(desk, f"Remove {count} sessions last changed before {before} for good?"):
        return ExitCode.FAILED
    removed = await desk.table.prune(before=when, status=state) if found else 0
    if desk.screen.as_json:
        desk.screen.data({"removed": removed})
    desk.screen.show([line(f"Removed {removed} of {count} sessions last changed before {before}.")])
    return ExitCode.OK


def _agreed(desk: Desk, question: str) -> bool:
    """Ask on the terminal.

    Raises:
        ConfigurationError: There is nobody to ask.
    """
    if not sys.stdin.isatty():
        msg = "nobody is there to be asked"
        raise ConfigurationError(msg, hint="Add --yes to remove without being asked.")
    desk.screen.remark(f"{question} [y/N]")
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
