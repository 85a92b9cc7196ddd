"""Following a session that runs in another process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from roundtable.cli.codes import ExitCode
from roundtable.cli.ending import beginning, ending
from roundtable.cli.sessions import full_id
from roundtable.cli.story import Story

if TYPE_CHECKING:
    from roundtable.cli.desk import Desk

__all__ = ["watch_session"]


async def watch_session(desk: Desk, given: str) -> ExitCode:
    """Tell a session from its first event on, and what comes to it, until it ends."""
    table, screen = desk.table, desk.screen
    session_id = await full_id(table, desk.place, given)
    so_far = await table.session(session_id)
    screen.show(beginning(so_far))
    if so_far.session_status in {"created", "active"}:
        screen.remark("Following; Ctrl-C ends this and not the debate.")
    story = Story({agent.id: agent.name for agent in so_far.agents}, so_far.total_rounds, time.monotonic)
    with screen.following(story):
        async with table.watch(session_id) as events:
            async for event in events:
                told = story.tell(event)
                screen.show(told)
                if screen.as_json:
                    screen.document(event.to_json())
    screen.show(ending(await table.session(session_id), desk.place))
    return ExitCode.OK
