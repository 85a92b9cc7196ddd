"""One session: how it stands, and what somebody who may can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from roundtable._view import view_of
from roundtable.report import Html, section_parts
from roundtable.result import DebateResult
from roundtable.server.pages.telling import tell
from roundtable.server.rendering import page
from roundtable.server.state import Reader
from roundtable.server.streams import event_stream, resume_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.server.state import Caller
    from roundtable.types import JsonValue

__all__ = ["router"]

_STATES: Final = {
    "created": "not begun",
    "active": "running",
    "paused": "paused",
    "completed": "completed",
    "error": "broken",
}
_AT_END: Final = frozenset({"answer", "synthesis", "minority", "sources"})
_AFTER_A_ROUND: Final = frozenset({"decision", "trajectory"})
_MOST_SHOWN: Final = 600
_LOOKS: Final = 40
_LOOK_S: Final = 0.05

router: APIRouter = APIRouter(include_in_schema=False)


class Seated(NamedTuple):
    """One agent at the table, as it is shown while a session runs."""

    id: str
    name: str
    place: int
    state: str


class Called(NamedTuple):
    """A call of a tool, as it is shown."""

    tool: str
    agent: str
    round: int
    given: str
    gave: str
    error: str
    seconds: float


@router.get("/sessions/{session_id}")
async def session(session_id: str, caller: Reader) -> Response:
    """Show a session as it stands; the script of the page follows it."""
    result, last_seq, running = await _standing(caller, session_id)
    view, may_act = view_of(result), caller.identity.may("write")
    return page(
        "session",
        user=caller.identity,
        result=result,
        view=view,
        state=_state(result, running=running),
        running=running,
        last_seq=last_seq,
        seats=_seats(result),
        calls=tuple(_calls(result)),
        actions=_actions(result, running=running) if may_act else (),
        may_answer=may_act and not running,
        sections=Html("".join(section_parts(view, without=_not_yet(result, running=running)))),
    )


@router.get("/sessions/{session_id}/events")
async def events(session_id: str, request: Request, caller: Reader, after: int = 0) -> Response:
    """Tell the page of a session what happens."""
    _, last, _ = resume_point(request, session_id)
    return await event_stream(caller, session_id, after=last or after, speak=tell, ids=True)


async def _standing(caller: Caller, session_id: str) -> tuple[DebateResult, int, bool]:
    """Give a session, the number of its last event, and whether somebody runs it, here or in another process."""
    desk, sessions = caller.desk, caller.desk.table.wiring.sessions
    looks = 0
    while True:
        record = (await sessions.load(session_id)).to_record()
        here = desk.running(session_id) is not None
        looks += 1
        if looks == _LOOKS or not here or record.status not in {"paused", "error"}:
            break
        # A run that begins has not said so yet, or one that ended has not been left yet.
        await caller.state.clock.sleep(_LOOK_S)
    begun = record.status in {"created", "active"}
    running = begun and (here or bool(await sessions.is_run(session_id)))
    return DebateResult.from_record(record), record.last_seq, running


def _not_yet(result: DebateResult, *, running: bool) -> frozenset[str]:
    """Name the sections that say nothing while a session runs."""
    if not running:
        return frozenset()
    return _AT_END if result.consensus is not None else _AT_END | _AFTER_A_ROUND


def _state(result: DebateResult, *, running: bool) -> str:
    if running:
        return "running"
    if result.session_status != "active":
        return _STATES[result.session_status]
    return "between rounds" if result.rounds and result.rounds[-1].complete else "interrupted"


def _actions(result: DebateResult, *, running: bool) -> tuple[tuple[str, str], ...]:
    """Give what can be done: name and words of each."""
    if running:
        return (("pause", "Pause"), ("stop", "Stop"))
    if result.session_status == "completed":
        return ()
    further = (
        (("resume", "Resume"), ("step", "One more round")) if result.config.team is None else (("resume", "Resume"),)
    )
    return (*further, ("stop", "Stop")) if result.session_status != "error" else further


def _seats(result: DebateResult) -> tuple[Seated, ...]:
    """Say of everybody at the table what became of their turn in the present round."""
    last = result.rounds[-1] if result.rounds else None
    states = {} if last is None else {turn.agent_id: turn.outcome for turn in last.turns}
    return tuple(
        Seated(agent.id, agent.name, place, states.get(agent.id, "")) for place, agent in enumerate(result.agents)
    )


def _calls(result: DebateResult) -> Iterator[Called]:
    """Give all calls of tools, in order."""
    for held in result.rounds:
        for turn in held.turns:
            if turn.outcome == "failed":
                continue
            for call in turn.tools_used:
                yield Called(
                    tool=call.tool_name,
                    agent=turn.agent_name or turn.agent_id,
                    round=held.number,
                    given=_short(call.input),
                    gave=_short(call.output),
                    error=call.error or "",
                    seconds=call.duration_s,
                )


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else "" if value is None else to_json(value).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\u2026"
