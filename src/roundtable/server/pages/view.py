"""One session: how it stands, and what somebody who may can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from fastapi import APIRouter, Response

from roundtable._view import view_of
from roundtable.protocols import Leases
from roundtable.report import Html, section_parts
from roundtable.server.pages.answers import page, see
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

router: APIRouter = APIRouter(include_in_schema=False)


class Seated(NamedTuple):
    """One agent at the table, as it is shown while a session runs."""

    id: str
    name: str
    place: int
    state: str


@router.get("/sessions/{session_id}")
async def session(session_id: str, caller: Reader) -> Response:
    """Show a session as it stands; the script of the page follows it."""
    result = await caller.desk.table.session(session_id)
    running = await _runs(caller, result)
    view = view_of(result)
    return page(
        "session",
        user=caller.identity,
        result=result,
        view=view,
        state=_state(result, running=running),
        running=running,
        seats=_seats(result),
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
            caller.desk.keep(await table.carry_on(session_id))
    return see(f"/sessions/{session_id}")


async def _runs(caller: Caller, result: DebateResult) -> bool:
    """Tell whether somebody runs a session, here or in another process."""
    if caller.desk.running(result.session_id) is not None:
        return True
    storage = caller.desk.table.wiring.storage
    if result.session_status not in {"created", "active"} or not isinstance(storage, Leases):
        return False
    return await storage.holder(result.session_id, tenant=caller.identity.tenant) is not None


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


def _seats(result: DebateResult) -> tuple[Seated, ...]:
    """Say of everybody at the table what became of their turn in the present round."""
    last = result.rounds[-1] if result.rounds else None
    states = {} if last is None else {turn.agent_id: turn.outcome for turn in last.turns}
    return tuple(
        Seated(agent.id, agent.name, place, states.get(agent.id, "")) for place, agent in enumerate(result.agents)
    )
