"""The page of one session: its state, its events as text, and its buttons."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from roundtable.core.base.words import counted, shortened
from roundtable.report import Html, cost_in_words, section_parts
from roundtable.results.debate_result import DebateResult
from roundtable.results.findings import is_stopped
from roundtable.results.view import view_of
from roundtable.server.approvals import approvals_of
from roundtable.server.pages.share_store import shares_of
from roundtable.server.rendering import page
from roundtable.server.state import Reader
from roundtable.server.streams import event_stream, resume_point
from roundtable.tools.approval import MOST_REASON_CHARS, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import OpenApproval
    from roundtable.core.types.debate import DebateRecord
    from roundtable.core.types.events import AgentToolCall, ApprovalDecided, ApprovalRequested, Event
    from roundtable.server.state import Caller

__all__ = ["page_event", "router", "session_page"]

_LONG_FIELDS: Final = {
    "turn",
    "results",
    "result",
    "context_results",
    "info",
    "usage",
    "baseline",
    "synthesis",
    "summary",
}
"""Long fields that are left out of the page's events; the page gets them when it is rendered again."""

_FIXED_NEWS: Final = {
    "initiator_complete": "The goal is set.",
    "context_requested": "The agents ask for information.",
    "conversation_complete": "The conversation is over.",
}
_CONTROL_NEWS: Final = {
    "pause": "It will pause when the running calls have ended.",
    "resume": "It resumes.",
    "stop": "It will stop.",
}

_STATES: Final = {
    "created": "not begun",
    "active": "running",
    "paused": "paused",
    "completed": "completed",
    "error": "broken",
}
_AT_END: Final = frozenset({"answer", "synthesis", "minority", "sources"})
_AFTER_A_ROUND: Final = frozenset({"decision", "trajectory", "movement", "camps"})
_MAX_CHARS: Final = 600
_MAX_ATTEMPTS: Final = 40
_RETRY_S: Final = 0.05


def page_event(event: Event) -> JsonObject:
    """Return an event without its long fields; `news` is a line of text about it, if there is one.

    If the event belongs to an agent, the page writes the agent's name before the news.
    """
    data = event.model_dump(mode="json", exclude_none=True, exclude=_LONG_FIELDS | {"type"})
    news = _news(event)
    return {"type": event.type, "data": {**data, "news": news} if news else data}


def _news(event: Event) -> str:
    match event.type:
        case "round_start":
            return f"Round {event.round} begins."
        case "agent_complete":
            return f"has answered in round {event.round}."
        case "agent_error":
            return f"failed in round {event.round}."
        case "waiting":
            return f"{event.text}." if event.agent else f"The debate {event.text}."
        case "agent_tool_call" | "approval_requested" | "approval_decided":
            return _tool_news(event)
        case "consensus":
            return f"Round {event.round}: agreement {event.consensus.level_in_words}."
        case "control":
            return _CONTROL_NEWS.get(event.action, "")
        case "exit":
            return f"It {'is stopped' if event.exit.reason == 'stopped' else 'ends'}: {event.exit.details}."
        case "debate_complete":
            return "The debate is paused." if event.status == "paused" else "The debate is over."
        case "error":
            return f"The session broke: {event.error}"
        case (
            "conversation_start"
            | "initiator_start"
            | "initiator_tool_call"
            | "initiator_complete"
            | "summarizer_start"
            | "summarizer_chunk"
            | "conversation_complete"
            | "debate_start"
            | "agent_start"
            | "agent_response_chunk"
            | "retry"
            | "agent_tool_result"
            | "context_requested"
            | "round_complete"
            | "synthesis_complete"
        ):
            return _FIXED_NEWS.get(event.type, "")
        case _:
            assert_never(event.type)


def _tool_news(event: AgentToolCall | ApprovalRequested | ApprovalDecided) -> str:
    if event.type == "agent_tool_call":
        return f"uses {event.tool_call.name}."
    if event.type == "approval_requested":
        return f"waits for approval of {event.tool_name}."
    return f"may {'use' if event.allowed else 'not use'} {event.tool_name}."


router: APIRouter = APIRouter(include_in_schema=False)


class Seated(NamedTuple):
    """An agent of the session, as the page shows it."""

    id: str
    name: str
    place: int
    state: str


class Called(NamedTuple):
    """A tool call, as the page shows it."""

    tool: str
    agent: str
    round: int
    given: str
    gave: str
    error: str
    seconds: float


class ToApprove(NamedTuple):
    """A tool call that waits for approval, as the page shows it."""

    id: str
    agent: str
    tool: str
    description: str
    arguments: str
    expires_at: datetime


@router.get("/sessions/{session_id}")
async def session(session_id: str, caller: Reader) -> Response:
    """Show the current state of a session; the script of the page follows its events."""
    return await session_page(caller, session_id)


async def session_page(caller: Caller, session_id: str, *, new_link: str = "") -> Response:
    """Return the page of a session.

    Args:
        caller: Who opens the page.
        session_id: Id of the session.
        new_link: A read-only link that was just created, which is shown only once.

    Raises:
        SessionNotFound: No session has this id.
    """
    record, running = await _load_state(caller, session_id)
    links = (
        ()
        if not caller.identity.may("write")
        else await shares_of(caller.state).active(caller.identity.tenant, session_id)
    )
    waiting = (
        await approvals_of(caller.state).waiting(caller.identity.tenant, session_id)
        if running and caller.identity.may("write")
        else ()
    )
    # On a thread, because rendering a long debate takes time.
    render = partial(_render, caller, record, running=running, links=links, new_link=new_link, waiting=waiting)
    return await to_thread.run_sync(render, limiter=caller.state.renders)


def _render(
    caller: Caller,
    record: DebateRecord,
    *,
    running: bool,
    links: Sequence[datetime],
    new_link: str,
    waiting: Sequence[OpenApproval],
) -> Response:
    table, may_act = caller.tenant_session.table, caller.identity.may("write")
    result = DebateResult.from_record(record, mode=table.mode_of(record.session), rules=table.catalog.rules)
    view = view_of(result)
    return page(
        "session",
        user=caller.identity,
        result=result,
        view=view,
        state=_state(result, running=running),
        running=running,
        last_seq=record.last_seq,
        seats=_seats(result),
        calls=tuple(_calls(result)),
        approvals=tuple(_approvals(result, waiting)),
        most_reason_chars=MOST_REASON_CHARS,
        actions=_actions(result, running=running) if may_act else (),
        may_act=may_act,
        may_answer=may_act and not running,
        may_go_on=may_act and not running and result.config.team is None,
        modes=tuple(entry.name for entry in table.catalog.modes),
        complete=sum(round_record.complete for round_record in result.rounds),
        links=links,
        new_link=new_link,
        spent=_usage_text(result),
        sections=Html("".join(section_parts(view, without=_sections_to_hide(result, running=running)))),
    )


def _usage_text(result: DebateResult) -> str:
    """Return the usage so far, and the limit of the cost if there is one."""
    usage, budget = result.usage, result.config.budget
    most = None if budget is None else budget.max_cost_usd
    cost = cost_in_words(usage) + ("" if most is None else f" of {most:g} USD")
    return f"{counted(usage.calls, 'call')}, {counted(usage.total_tokens, 'token')}, {cost}"


@router.get("/sessions/{session_id}/events")
async def events(session_id: str, request: Request, caller: Reader, after: int = 0) -> Response:
    """Stream the events of a session to its page."""
    _, last, _ = resume_point(request, session_id)
    return await event_stream(caller, session_id, after=last or after, format_event=page_event, ids=True)


async def _load_state(caller: Caller, session_id: str) -> tuple[DebateRecord, bool]:
    """Return a session, and whether it is running, in this process or another one."""
    tenant_session, table = caller.tenant_session, caller.tenant_session.table
    attempts = 0
    while True:
        record = (await table.state(session_id)).to_record()
        runs_here = tenant_session.running(session_id) is not None
        attempts += 1
        if attempts == _MAX_ATTEMPTS or not runs_here or record.status not in {"paused", "error"}:
            break
        # The run is just starting or ending, and the stored status does not show it yet.
        await caller.state.clock.sleep(_RETRY_S)
    is_open = record.status in {"created", "active"}
    running = is_open and (runs_here or bool(await table.is_running(session_id)))
    return record, running


def _sections_to_hide(result: DebateResult, *, running: bool) -> frozenset[str]:
    """Return the sections to leave out while a session runs."""
    if not running:
        return frozenset()
    return _AT_END if result.consensus is not None else _AT_END | _AFTER_A_ROUND


def _state(result: DebateResult, *, running: bool) -> str:
    if running:
        return "running"
    if is_stopped(result):
        return "stopped"
    if result.session_status != "active":
        return _STATES[result.session_status]
    return "between rounds" if result.rounds and result.rounds[-1].complete else "interrupted"


def _actions(result: DebateResult, *, running: bool) -> tuple[tuple[str, str], ...]:
    """Return the name and the label of each possible action."""
    if running:
        return (("pause", "Pause"), ("stop", "Stop"))
    if result.session_status == "completed":
        return ()
    resume = (
        (("resume", "Resume"), ("step", "One more round")) if result.config.team is None else (("resume", "Resume"),)
    )
    return (*resume, ("stop", "Stop")) if result.session_status != "error" else resume


def _seats(result: DebateResult) -> tuple[Seated, ...]:
    """Return all agents with the outcome of their turn in the current round."""
    current = result.rounds[-1] if result.rounds else None
    states = {} if current is None else {turn.agent_id: turn.outcome for turn in current.turns}
    return tuple(
        Seated(agent.id, agent.name, index, states.get(agent.id, "")) for index, agent in enumerate(result.agents)
    )


def _calls(result: DebateResult) -> Iterator[Called]:
    """Yield all tool calls, in order."""
    for record in result.rounds:
        for turn in record.turns:
            if turn.outcome == "failed":
                continue
            for call in turn.tools_used:
                yield Called(
                    tool=call.tool_name,
                    agent=turn.agent_name or turn.agent_id,
                    round=record.number,
                    given=_shorten(call.input),
                    gave=_shorten(call.output),
                    error=call.error or "",
                    seconds=call.duration_s,
                )


def _approvals(result: DebateResult, waiting: Sequence[OpenApproval]) -> Iterator[ToApprove]:
    names = {agent.id: agent.name for agent in result.agents}
    for question in waiting:
        yield ToApprove(
            id=question.approval_id,
            agent=names.get(question.agent_id) or question.agent_id or "An agent",
            tool=question.tool_name,
            description=question.description,
            arguments=readable(question.arguments, indent=1),
            expires_at=question.expires_at,
        )


def _shorten(value: JsonValue) -> str:
    text = value if isinstance(value, str) else "" if value is None else to_json(value).decode()
    return shortened(text, _MAX_CHARS)
