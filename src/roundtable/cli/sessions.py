"""Commands on stored sessions: list, show, pause, stop; and sessions by the beginning of their id."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, get_args

from roundtable.cli.codes import ExitCode
from roundtable.cli.ending import deliver, synthesis_lines, whole
from roundtable.cli.lines import Line, line
from roundtable.cli.place import SHORT_ID
from roundtable.errors import ConfigurationError, SessionError, SessionNotFound
from roundtable.types import RunningCalls, SessionFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.api import Roundtable
    from roundtable.cli.desk import Desk
    from roundtable.cli.place import Place
    from roundtable.cli.screen import Screen
    from roundtable.result import DebateResult
    from roundtable.types import JsonValue, SessionSummary

__all__ = [
    "MOST",
    "ask_for",
    "full_id",
    "list_sessions",
    "moment",
    "notes",
    "search_sessions",
    "show_session",
    "show_synthesis",
]

LAST: Final = "last"
"""Stands for the newest session."""

MOST = 10_000
"""Sessions that are looked through for the beginning of an id."""
WHOLE_ID = 32
TOPIC_WIDTH = 60
LEAST_TOPIC = 12


async def full_id(table: Roundtable, place: Place, given: str) -> str:
    """Find a session by the beginning of its id, or the newest one by the word `last`.

    Raises:
        SessionError: None begins so, or several do.
    """
    wanted = given.strip()
    listing = f"{place.command('sessions')} lists the sessions."
    if place.is_empty():
        msg = f"there is no session {wanted!r}: nothing is stored in {place.shown}"
        raise SessionNotFound(msg, hint="Say with --db or --storage where it is kept.")
    if len(wanted) >= WHOLE_ID:
        return wanted
    known = await table.sessions(SessionFilter(limit=1 if wanted == LAST else MOST))
    if wanted == LAST and known:
        return known[0].id
    found = [summary.id for summary in known if wanted and summary.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        msg = f"no session in {place.shown} has an id that begins with {wanted!r}"
        raise SessionNotFound(msg, hint=listing)
    several = ", ".join(name[: SHORT_ID + 4] for name in found[:5])
    msg = f"{len(found)} sessions have ids that begin with {wanted!r}: {several}{' ...' if len(found) > 5 else ''}"
    raise SessionError(msg, code="SESSION_AMBIGUOUS", hint=f"Give more of the id. {listing}")


async def list_sessions(table: Roundtable, place: Place, screen: Screen, wanted: SessionFilter) -> ExitCode:
    """List sessions, newest first."""
    found = () if place.is_empty() else await table.sessions(wanted)
    if screen.as_json:
        screen.data([summary.model_dump(mode="json") for summary in found])
        return ExitCode.OK
    if not found:
        screen.show([line(f"No session in {place.shown}.")])
        return ExitCode.OK
    modes = max(len("MODE"), *(len(line(summary.mode).text) for summary in found))
    head = f"{'ID':{SHORT_ID}}  {'STATE':9}  {'ROUND':>5}  {'MODE':{modes}}  "
    room = TOPIC_WIDTH if screen.width is None else max(min(screen.width - len(head), 2 * TOPIC_WIDTH), LEAST_TOPIC)
    screen.show([Line(f"{head}TOPIC", "bold"), *(_row(summary, modes, room) for summary in found)])
    if len(found) == wanted.limit:
        screen.remark(f"There may be more: add --after {found[-1].cursor}")
    return ExitCode.OK


def moment(text: str | None, option: str, *, before: bool = False) -> datetime | None:
    """Read a date, or a date with a time, in UTC unless it says otherwise.

    Args:
        text: What was typed.
        option: The option, for messages.
        before: Whether the very last moment before it is meant.

    Raises:
        ConfigurationError: It is none.

    Example:
        >>> moment("2026-11-20", "--since").isoformat()
        '2026-11-20T00:00:00+00:00'
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        zoned = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        return zoned - timedelta(microseconds=1) if before else zoned
    except (ValueError, OverflowError):
        msg = f"{option} takes a date, not {text!r}"
        raise ConfigurationError(msg, hint="Such as 2026-11-20 or 2026-11-20T18:30.") from None


def notes(given: Sequence[str] | None) -> dict[str, JsonValue]:
    """Read notes given as `key=value`; a value that is JSON is that value, any other is text.

    Raises:
        ConfigurationError: One has no key.

    Example:
        >>> notes(["team=core", "run=7"])
        {'team': 'core', 'run': 7}
    """
    found: dict[str, JsonValue] = {}
    for note in given or ():
        key, equals, value = note.partition("=")
        if not key or not equals:
            msg = f"--meta takes KEY=VALUE, not {note!r}"
            raise ConfigurationError(msg, hint="Such as --meta team=core.")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            found[key] = value
    return found


async def search_sessions(desk: Desk, words: str, session: str | None, limit: int) -> ExitCode:
    """Show where words were said, newest session first."""
    table, place, screen = desk.table, desk.place, desk.screen
    within = None if session is None else await full_id(table, place, session)
    found = () if place.is_empty() else await table.search(words, session_id=within, limit=limit)
    if screen.as_json:
        screen.data([hit.model_dump(mode="json") for hit in found])
        return ExitCode.OK
    if not found:
        screen.show([line(f"Nobody said so in {place.shown}.")])
    last = ""
    for hit in found:
        if hit.session_id != last:
            screen.show([line(f"{hit.session_id[:SHORT_ID]}  {hit.topic}", "bold")])
            last = hit.session_id
        screen.show([line(f"round {hit.round}, {hit.agent_name}: {hit.snippet}", indent=2, hang=2)])
    return ExitCode.OK


def _row(summary: SessionSummary, modes: int, room: int) -> Line:
    topic = line(summary.topic).text
    short = topic if len(topic) <= room else f"{topic[: room - 1]}…"
    rounds = f"{summary.current_round}/{summary.total_rounds}"
    mode = line(summary.mode).text
    return Line(f"{summary.id[:SHORT_ID]}  {summary.status:9}  {rounds:>5}  {mode:{modes}}  {short}")


async def show_session(
    table: Roundtable, place: Place, screen: Screen, given: str, keep_result: Callable[[DebateResult], None] | None
) -> ExitCode:
    """Show a stored session as it stands; nobody is asked anything."""
    result = await table.session(await full_id(table, place, given))
    deliver(result, screen, whole(result, place), keep_result)
    return ExitCode.OK


async def show_synthesis(
    desk: Desk, given: str, by: str | None, keep_result: Callable[[DebateResult], None] | None
) -> ExitCode:
    """Have a stored session put together unless it is, and show it."""
    session_id = await full_id(desk.table, desk.place, given)
    await desk.table.synthesize(session_id, by=by)
    result = await desk.table.session(session_id)
    deliver(result, desk.screen, synthesis_lines(result), keep_result)
    return ExitCode.OK


async def ask_for(desk: Desk, given: str, action: Literal["pause", "stop"], running: str | None) -> ExitCode:
    """Ask a session to pause or to stop, whoever runs it."""
    table, place, screen = desk.table, desk.place, desk.screen
    calls = next((known for known in get_args(RunningCalls) if known == running), None)
    if calls != running:
        msg = f"--running: there is no way {running!r}"
        raise ConfigurationError(msg, hint=f"Ways: {', '.join(get_args(RunningCalls))}.")
    session_id = await full_id(table, place, given)
    if action == "pause":
        await table.pause(session_id, running=calls or "settle")
    else:
        await table.stop(session_id, running=calls or "cancel")
    result = await table.session(session_id)
    if screen.as_json:
        screen.data({"sessionId": session_id, "asked": action, "sessionStatus": result.session_status})
        return ExitCode.OK
    asked = f"Asked session {session_id} to {action}; it is {result.session_status} now."
    if action == "pause":
        asked += f" Go on with it: {place.running('resume', session_id[:SHORT_ID])}"
    screen.show([line(asked)])
    return ExitCode.OK
