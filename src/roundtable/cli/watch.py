"""The command `watch`: follow a session that runs in another process."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.cli.event_printer import EventPrinter
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.sessions import full_id
from roundtable.cli.storage_location import SHORT_ID
from roundtable.cli.summary import heading_lines, summary_lines
from roundtable.core.base.eventloop import until_one_ends
from roundtable.core.errors import RoundtableError

if TYPE_CHECKING:
    from roundtable.cli.context import CommandContext

__all__ = ["watch_session"]


logger: logging.Logger = logging.getLogger("roundtable.cli")

LOOK_S: Final = 1.0
"""Seconds between two checks of who runs the session."""
LOOKS: Final = 2
"""Number of checks in a row without an owner before the user gets a note."""


async def watch_session(context: CommandContext, id_prefix: str) -> ExitCode:
    """Show a session from its first event on, and new events, until it ends."""
    table, screen = context.table, context.screen
    session_id = await full_id(table, context.place, id_prefix)
    session = await table.session(session_id)
    screen.show(heading_lines(session))
    if session.session_status in {"created", "active"}:
        screen.write_note("Following the session. Ctrl-C stops following; the debate continues.")
    story = EventPrinter({agent.id: agent.name for agent in session.agents}, session.total_rounds, time.monotonic)
    failures: list[Exception] = []
    with screen.show_live(story):
        async with anyio.create_task_group() as group:
            group.start_soon(_report_lost_owner, context, session_id)
            try:
                await until_one_ends(
                    partial(_print_events, context, session_id, story), partial(_check_reader, context)
                )
            except Exception as error:  # noqa: BLE001  (raised below, outside the exception group)
                failures.append(error)
            group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    screen.show(summary_lines(await table.session(session_id), context.place))
    return ExitCode.OK


async def _check_reader(context: CommandContext) -> None:
    """Raise an error when nobody reads the output any more, as in `roundtable watch last | head -1`."""
    while True:
        await anyio.sleep(LOOK_S)
        context.screen.check()


async def _print_events(context: CommandContext, session_id: str, story: EventPrinter) -> None:
    async with context.table.watch(session_id) as events:
        async for event in events:
            context.screen.show(story.handle_event(event))
            if context.screen.as_json:
                context.screen.document(event.to_json())


async def _report_lost_owner(context: CommandContext, session_id: str) -> None:
    """Report each time that the process running the session is gone, and show how to resume the session."""
    misses = 0
    while True:
        await anyio.sleep(LOOK_S)
        try:
            has_owner = await context.table.is_running(session_id)
        except RoundtableError as error:
            logger.debug("cannot read who runs the session: %s", error.message, extra={"session": session_id})
            return  # reading its events raises the same error
        if has_owner is None:
            return
        # Check twice: between two runs, or before the first run, the session can have no owner for a moment.
        misses = 0 if has_owner else misses + 1
        if misses == LOOKS:
            command = context.place.running("resume", session_id[:SHORT_ID])
            context.screen.write_note(f"The session stopped: its process is gone. Resume: {command}")
            context.screen.write_note("Still following the session. Ctrl-C stops following.")
