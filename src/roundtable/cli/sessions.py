"""Commands on stored sessions: list, search, show, pause and stop; and looking up short session ids."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.storage_location import SHORT_ID
from roundtable.cli.summary import debate_lines, show_result, synthesis_lines
from roundtable.core.base.files import write_parts
from roundtable.core.base.words import counted, shortened
from roundtable.core.errors import ConfigurationError, SessionBusy, SessionError, SessionNotFound
from roundtable.core.types.debate import SessionStatus, status_in_words
from roundtable.core.types.events import RunningCalls
from roundtable.core.types.storage import SessionFilter
from roundtable.report import to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.api import Roundtable
    from roundtable.cli.context import CommandContext
    from roundtable.cli.render import Screen
    from roundtable.cli.storage_location import StorageLocation
    from roundtable.core.types.storage import SessionSummary
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "MOST",
    "delete_session",
    "full_id",
    "list_sessions",
    "parse_date",
    "prune_sessions",
    "request_control",
    "reread_session",
    "search_sessions",
    "show_arguments",
    "show_audit",
    "show_evidence",
    "show_session",
    "show_synthesis",
]


LAST: Final = "last"
"""Alias of the newest session."""

MOST = 10_000
"""Maximum sessions to search for the beginning of an id."""
TOPIC_WIDTH = 60
MIN_TOPIC_WIDTH = 12


async def full_id(table: Roundtable, location: StorageLocation, id_prefix: str) -> str:
    """Return the full id of a session from the beginning of its id; the word `last` means the newest session.

    Raises:
        SessionError: No session matches, or several do.
    """
    prefix = id_prefix.strip()
    listing = f"{location.command('sessions')} lists the sessions."
    if await location.is_empty(table):
        msg = f"unknown session {prefix!r}: nothing is stored in {location.shown}"
        raise SessionNotFound(msg, hint="Name the storage of the session with --db or --storage.")
    if prefix != LAST and await _exists(table, prefix):
        return prefix  # even if another id begins with it
    summaries = await table.sessions(SessionFilter(limit=1 if prefix == LAST else MOST))
    if prefix == LAST and summaries:
        return summaries[0].id
    matches = [summary.id for summary in summaries if prefix and summary.id.startswith(prefix)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        msg = f"no session in {location.shown} has an id that begins with {prefix!r}"
        raise SessionNotFound(msg, hint=listing)
    examples = ", ".join(name[: SHORT_ID + 4] for name in matches[:5])
    msg = f"{len(matches)} sessions have ids that begin with {prefix!r}: {examples}{' ...' if len(matches) > 5 else ''}"
    raise SessionError(msg, code="SESSION_AMBIGUOUS", hint=f"Type more of the id. {listing}")


async def _exists(table: Roundtable, session_id: str) -> bool:
    try:
        await table.is_running(session_id)
    except SessionNotFound:
        return False
    return True


async def list_sessions(
    table: Roundtable, location: StorageLocation, screen: Screen, wanted: SessionFilter
) -> ExitCode:
    """List sessions, newest first."""
    is_empty = await location.is_empty(table)
    sessions = () if is_empty else await table.sessions(wanted)
    if screen.as_json:
        screen.data([summary.model_dump(mode="json") for summary in sessions])
        return ExitCode.OK
    if not sessions:
        screen.show([line(f"No session in {location.shown}.{_remark(location, is_empty=is_empty)}")])
        return ExitCode.OK
    mode_width = max(len("MODE"), *(len(line(summary.mode).text) for summary in sessions))
    header = f"{'ID':{SHORT_ID}}  {'STATE':9}  {'ROUND':>5}  {'MODE':{mode_width}}  "
    topic_width = (
        TOPIC_WIDTH if screen.width is None else max(min(screen.width - len(header), 2 * TOPIC_WIDTH), MIN_TOPIC_WIDTH)
    )
    screen.show([Line(f"{header}TOPIC", "bold"), *(_row(summary, mode_width, topic_width) for summary in sessions)])
    if len(sessions) == wanted.limit:
        screen.write_note(f"There may be more sessions. To list them, add --after {sessions[-1].cursor}")
    return ExitCode.OK


def _remark(location: StorageLocation, *, is_empty: bool) -> str:
    return f" {location.missing}".rstrip() if is_empty else ""


def parse_date(text: str | None, option: str, *, before: bool = False) -> datetime | None:
    """Parse a date, or a date and time, in UTC unless it has an offset.

    Args:
        text: Value of the option.
        option: Name of the option, for errors.
        before: Whether to return the last microsecond before this time.

    Raises:
        ConfigurationError: The text is not a date.

    Example:
        >>> parse_date("2026-11-20", "--since").isoformat()
        '2026-11-20T00:00:00+00:00'
    """
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
        in_utc = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        return in_utc - timedelta(microseconds=1) if before else in_utc
    except (ValueError, OverflowError):
        msg = f"{option} takes a date, not {text!r}"
        raise ConfigurationError(msg, hint="For example: 2026-11-20 or 2026-11-20T18:30") from None


async def search_sessions(context: CommandContext, words: str, session: str | None, limit: int) -> ExitCode:
    """Search the answers of agents and show the matches, newest session first."""
    table, location, screen = context.table, context.place, context.screen
    session_id = None if session is None else await full_id(table, location, session)
    is_empty = await location.is_empty(table)
    hits = () if is_empty else await table.search(words, session_id=session_id, limit=limit)
    if screen.as_json:
        screen.data([hit.model_dump(mode="json") for hit in hits])
        return ExitCode.OK
    if not hits:
        screen.show([line(f"No match in {location.shown}.{_remark(location, is_empty=is_empty)}")])
    last = ""
    for hit in hits:
        if hit.session_id != last:
            screen.show([line(f"{hit.session_id[:SHORT_ID]}  {hit.topic}", "bold")])
            last = hit.session_id
        screen.show([line(f"round {hit.round}, {hit.agent_name}: {hit.snippet}", indent=2, hang=2)])
    return ExitCode.OK


def _row(summary: SessionSummary, mode_width: int, topic_width: int) -> Line:
    short = shortened(line(summary.topic).text, topic_width)
    rounds = f"{summary.current_round}/{summary.total_rounds}"
    mode = line(summary.mode).text
    if summary.error is not None:
        short_id = line(summary.id[:SHORT_ID]).text
        problem = line(f"{summary.topic or summary.id}: {summary.error}").text
        return Line(f"{short_id:{SHORT_ID}}  {'damaged':9}  {rounds:>5}  {mode:{mode_width}}  {problem}", "red")
    return Line(f"{summary.id[:SHORT_ID]}  {summary.status_in_words:9}  {rounds:>5}  {mode:{mode_width}}  {short}")


async def show_session(
    table: Roundtable,
    location: StorageLocation,
    screen: Screen,
    id_prefix: str,
    keep_result: Callable[[DebateResult], None] | None,
) -> ExitCode:
    """Show a stored session without calling a model."""
    result = await table.session(await full_id(table, location, id_prefix))
    show_result(result, screen, debate_lines(result, location), keep_result)
    return ExitCode.OK


async def reread_session(
    context: CommandContext, id_prefix: str, keep_result: Callable[[DebateResult], None] | None
) -> ExitCode:
    """Read the answers of a stored session again, and show the new session."""
    result = await context.table.reread(await full_id(context.table, context.place, id_prefix))
    show_result(result, context.screen, debate_lines(result, context.place), keep_result)
    return ExitCode.OK


async def show_audit(context: CommandContext, id_prefix: str) -> ExitCode:
    """Audit the decision of a stored session without calling a model."""
    result = await context.table.session(await full_id(context.table, context.place, id_prefix))
    audit = result.audit(rules=context.table.catalog.rules)
    if context.screen.as_json:
        context.screen.document(audit.to_json())
        return ExitCode.OK
    # Not `line`, which folds spaces; a report is clean text.
    context.screen.show(Line(text) for text in audit.to_text().splitlines())
    return ExitCode.OK


async def show_arguments(context: CommandContext, id_prefix: str, graphml: str | None) -> ExitCode:
    """Show the claims of a stored session, and write them to a GraphML file if one is named."""
    from roundtable.results.claims_view import claims_report

    result = await context.table.session(await full_id(context.table, context.place, id_prefix))
    graph = result.argument_graph()
    if graphml is not None:
        _write(graphml, graph.to_graphml())
    if context.screen.as_json:
        context.screen.document(graph.to_json())
        return ExitCode.OK
    context.screen.show(Line(text) for text in to_text(claims_report(result, graph)).splitlines())
    return ExitCode.OK


def _write(name: str, text: str) -> None:
    write_parts(Path(name).expanduser(), [text])


async def show_evidence(
    context: CommandContext, id_prefix: str, html: str | None, *, allow: Sequence[str], domains: Sequence[str]
) -> ExitCode:
    """Check the evidence of a stored session; if an HTML file is named, write the result with these checks to it."""
    result = await context.table.session(await full_id(context.table, context.place, id_prefix))
    checked = await result.check_evidence(allow=allow, domains=domains)
    if html is not None:
        _write(html, result.to_html(checked))
    if context.screen.as_json:
        context.screen.document(checked.to_json())
        return ExitCode.OK
    context.screen.show(Line(text) for text in checked.to_text().splitlines())
    return ExitCode.OK


async def show_synthesis(
    context: CommandContext, id_prefix: str, by: str | None, keep_result: Callable[[DebateResult], None] | None
) -> ExitCode:
    """Synthesize a stored session unless a synthesis is already stored, and show the synthesis."""
    session_id = await full_id(context.table, context.place, id_prefix)
    await context.table.synthesize(session_id, by=by)
    result = await context.table.session(session_id)
    show_result(result, context.screen, synthesis_lines(result), keep_result)
    return ExitCode.OK


async def request_control(
    context: CommandContext, id_prefix: str, action: Literal["pause", "stop"], running: str | None
) -> ExitCode:
    """Ask a session to pause or to stop, even if another process runs it."""
    table, location, screen = context.table, context.place, context.screen
    calls = next((name for name in get_args(RunningCalls) if name == running), None)
    if calls != running:
        choices = " or ".join(get_args(RunningCalls))
        raise ConfigurationError(f"unknown value for --running: {running!r}; choose {choices}")
    session_id = await full_id(table, location, id_prefix)
    if action == "pause":
        await table.pause(session_id, running=calls or "settle")
    else:
        await table.stop(session_id, running=calls or "cancel")
    result = await table.session(session_id)
    if screen.as_json:
        screen.data({"sessionId": session_id, "asked": action, "sessionStatus": result.session_status})
        return ExitCode.OK
    reason = None if result.exit is None else result.exit.reason
    message = f"Asked session {session_id} to {action}; it is {status_in_words(result.session_status, reason)} now."
    if action == "pause":
        message += f" Resume: {location.running('resume', session_id[:SHORT_ID])}"
    screen.show([line(message)])
    return ExitCode.OK


async def delete_session(context: CommandContext, id_prefix: str, *, yes: bool, force: bool = False) -> ExitCode:
    """Remove one session."""
    session_id = await full_id(context.table, context.place, id_prefix)
    result = await context.table.session(session_id)
    if not yes and not _confirm(context, f"Remove session {session_id}, {line(result.topic).text!r}, for good?"):
        return ExitCode.FAILED
    try:
        await context.table.delete(session_id, force=force)
    except SessionBusy as error:
        error.hint = (
            f"Stop it first: {context.place.command('stop', session_id[:SHORT_ID])}. Or remove it with --force."
        )
        raise
    if context.screen.as_json:
        context.screen.data({"sessionId": session_id, "removed": 1})
    context.screen.show([line(f"Removed session {session_id}.")])
    return ExitCode.OK


async def prune_sessions(context: CommandContext, before: str, status: str | None, *, yes: bool) -> ExitCode:
    """Remove all sessions that have not changed since a date."""
    when = parse_date(before, "--before")
    state = next((name for name in get_args(SessionStatus) if name == status), None)
    if when is None or state != status:
        msg = f"unknown value for --status: {status!r}" if when is not None else "--before needs a date"
        raise ConfigurationError(msg, hint=f"Choose one of: {', '.join(get_args(SessionStatus))}.")
    wanted = SessionFilter(updated_before=when, status=state)  # without a limit, the list is complete
    sessions = () if await context.place.is_empty(context.table) else await context.table.sessions(wanted)
    count = counted(len(sessions), "session")
    if sessions and not yes and not _confirm(context, f"Remove {count} last changed before {before} for good?"):
        return ExitCode.FAILED
    removed = await context.table.prune(before=when, status=state) if sessions else 0
    if context.screen.as_json:
        context.screen.data({"removed": removed})
    context.screen.show([line(f"Removed {removed} of {count} last changed before {before}.")])
    return ExitCode.OK


def _confirm(context: CommandContext, question: str) -> bool:
    """Ask for confirmation on the terminal.

    Raises:
        ConfigurationError: Standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        msg = "cannot ask for confirmation: standard input is not a terminal"
        raise ConfigurationError(msg, hint="Add --yes to remove without confirmation.")
    context.screen.write_note(f"{question} [y/N]")
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
