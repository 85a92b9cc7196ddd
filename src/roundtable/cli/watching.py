"""Following a session that runs in another process."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.cli.codes import ExitCode
from roundtable.cli.ending import beginning, ending
from roundtable.cli.place import SHORT_ID
from roundtable.cli.sessions import full_id
from roundtable.cli.story import Story
from roundtable.errors import RoundtableError

if TYPE_CHECKING:
    from roundtable.cli.desk import Desk

__all__ = ["watch_session"]

logger: logging.Logger = logging.getLogger("roundtable.cli")

LOOK_S: Final = 1.0
"""Seconds between two looks at who runs the session."""
LOOKS: Final = 2
"""Looks in a row without an owner after which it is said."""


async def watch_session(desk: Desk, given: str) -> ExitCode:
    """Tell a session from its first event on, and what comes to it, until it ends."""
    table, screen = desk.table, desk.screen
    session_id = await full_id(table, desk.place, given)
    so_far = await table.session(session_id)
    screen.show(beginning(so_far))
    if so_far.session_status in {"created", "active"}:
        screen.remark("Following; Ctrl-C ends this and not the debate.")
    story = Story({agent.id: agent.name for agent in so_far.agents}, so_far.total_rounds, time.monotonic)
    failures: list[Exception] = []
    with screen.following(story):
        async with anyio.create_task_group() as beside:
            beside.start_soon(_tell_when_left, desk, session_id)
            try:
                await _tell(desk, session_id, story)
            except Exception as error:  # noqa: BLE001  (raised below, so that nobody meets an exception group)
                failures.append(error)
            beside.cancel_scope.cancel()
    if failures:
        raise failures[0]
    screen.show(ending(await table.session(session_id), desk.place))
    return ExitCode.OK


async def _tell(desk: Desk, session_id: str, story: Story) -> None:
    async with desk.table.watch(session_id) as events:
        async for event in events:
            desk.screen.show(story.tell(event))
            if desk.screen.as_json:
                desk.screen.document(event.to_json())


async def _tell_when_left(desk: Desk, session_id: str) -> None:
    """Say so when nobody runs the session any more, and how to go on; again when that happens again."""
    sessions, empty = desk.table.wiring.sessions, 0
    while True:
        await anyio.sleep(LOOK_S)
        try:
            is_run = await sessions.is_run(session_id)
        except RoundtableError as error:
            logger.debug("nobody knows who runs the session: %s", error.message, extra={"session": session_id})
            return  # reading its events says so as well, and better
        if is_run is None:
            return
        # Looked at twice: between two runs, or before the first, nobody may have it for a moment.
        empty = 0 if is_run else empty + 1
        if empty == LOOKS:
            way_on = desk.place.running("resume", session_id[:SHORT_ID])
            desk.screen.remark(f"Nobody runs it any more: its process is gone. Go on: {way_on}")
            desk.screen.remark("Still following; Ctrl-C ends this.")
