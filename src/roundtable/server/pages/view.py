"""One session: how it stands, and what somebody who may can do about it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from fastapi import APIRouter, Response

from roundtable._view import view_of
from roundtable.report import Html, section_parts
from roundtable.server.pages.answers import page, see
from roundtable.server.pages.running import run
from roundtable.server.state import Reader, Writer

if TYPE_CHECKING:
    from roundtable.result import DebateResult
    from roundtable.server.state import Caller

__all__ = ["router"]

_STATES: Final = {
    "created": "not begun",
    "active": "running",
    "paused": "paused",
    "completed": "completed",
    "error": "broken",
}
_MAY_RUN: Final = frozenset({"created", "active"})

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/sessions/{session_id}")
async def session(session_id: str, caller: Reader) -> Response:
    """Show a session as it stands; the script of the page follows it."""
    result = await caller.desk.table.session(session_id)
    running = result.session_status in _MAY_RUN and await _runs(caller, session_id)
    view = view_of(result)
    return page(
        "session",
        user=caller.identity,
        result=result,
        view=view,
        state=_state(result, running=running),
        running=running,
        actions=_actions(result, running=running) if caller.identity.may("write") else (),
        sections=Html("".join(section_parts(view))),
    )


@router.post("/sessions/{session_id}/{action}")
async def act(session_id: str, action: Literal["pause", "resume", "stop"], caller: Writer) -> Response:
    """Pause a session, go on with it, or stop it for good."""
    table = caller.desk.table
    match action:
        case "pause":
            await table.pause(session_id)
        case "stop":
            await table.stop(session_id)
        case "resume":
            await run(caller, partial(table.carry_on, session_id))
    return see(f"/sessions/{session_id}")


async def _runs(caller: Caller, session_id: str) -> bool:
    """Tell whether somebody runs a session, here or in another process."""
    if caller.desk.running(session_id) is not None:
        return True
    return bool(await caller.desk.table.wiring.sessions.is_run(session_id))


def _state(result: DebateResult, *, running: bool) -> str:
    if running:
        return "running"
    return "interrupted" if result.session_status == "active" else _STATES[result.session_status]


def _actions(result: DebateResult, *, running: bool) -> tuple[tuple[str, str], ...]:
    """Give what can be done: name and words of each."""
    if running:
        return (("pause", "Pause"), ("stop", "Stop"))
    if result.session_status == "completed":
        return ()
    return (("resume", "Resume"), ("stop", "Stop")) if result.session_status != "error" else (("resume", "Resume"),)
