"""Tools that show what is stored; none of them calls a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.api.offered import offered_agents
from roundtable.mcp.failures import NotThere
from roundtable.mcp.following import follow
from roundtable.mcp.outputs import (
    AgentEntry,
    AgentsOutput,
    CitationsOutput,
    ConfidencePoint,
    ConsensusOutput,
    ExportOutput,
    ListOutput,
    ResponseOutput,
    RoundOutput,
    SessionEntry,
    ThoughtsOutput,
)
from roundtable.mcp.views import (
    agent_of,
    answer_view,
    answers_by,
    citation_views,
    decision_view,
    failure_views,
    round_of,
    state_of,
)
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from roundtable.mcp.call import Call
    from roundtable.mcp.inputs import (
        CitationsInput,
        ConsensusInput,
        ExportInput,
        ListInput,
        NoInput,
        ResponseInput,
        RoundInput,
        ThoughtsInput,
    )
    from roundtable.result import DebateResult
    from roundtable.types import RoundRecord, SessionSummary

__all__ = [
    "consensus_of",
    "export",
    "list_agents",
    "list_citations",
    "list_sessions",
    "response_detail",
    "round_details",
    "thoughts_of",
]


async def list_agents(call: Call, _: NoInput) -> AgentsOutput:
    """List who can debate."""
    agents = tuple(
        AgentEntry(id=one.id, name=one.name, provider=one.provider, model=one.model)
        for one in offered_agents(call.desk.table)
    )
    return AgentsOutput(agents=agents, count=len(agents))


async def list_sessions(call: Call, given: ListInput) -> ListOutput:
    """List sessions, a page at a time."""
    table = call.desk.table
    wanted = SessionFilter.model_validate(
        {
            "tenant": table.wiring.options.tenant,
            "topic": given.topic,
            "mode": given.mode,
            "status": given.status,
            "created_from": given.from_date,
            "created_to": given.to_date,
            "after": given.cursor,
            "limit": given.limit + 1,
        }
    )
    found = await table.sessions(wanted)
    page = found[: given.limit]
    more = page[-1].cursor if len(found) > len(page) else None
    return ListOutput(sessions=tuple(map(_entry, page)), count=len(page), next_cursor=more)


def _entry(one: SessionSummary) -> SessionEntry:
    return SessionEntry(
        id=one.id,
        topic=one.topic,
        mode=one.mode,
        status=one.status,
        current_round=one.current_round,
        total_rounds=one.total_rounds,
        agent_count=len(one.agent_ids),
        response_count=one.response_count,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )


async def consensus_of(call: Call, given: ConsensusInput) -> ConsensusOutput:
    """Show the agreement of a round as it was stored."""
    result = await _after_waiting(call, given.session_id, given.wait, given.round_number)
    running = call.desk.running(given.session_id) is not None
    held = _measured(result, given.round_number, running=running)
    if held is None and not running:
        hint = "No round was completed; continue_roundtable goes on with the debate."
        raise NotThere(f"session {result.session_id!r} has no measured consensus", hint=hint)
    last = held is not None and held.number == max(one.number for one in result.rounds if one.complete)
    return ConsensusOutput(
        **state_of(result, running=running),
        analyzed_round=None if held is None else held.number,
        response_count=0 if held is None else len(held.responses),
        consensus=None if held is None else held.consensus,
        decision=None if held is None else decision_view(held.decision),
        answer=result.answer if last else None,
        independent_agreement=result.independent_agreement,
        exit=result.exit,
    )


def _measured(result: DebateResult, number: int | None, *, running: bool) -> RoundRecord | None:
    if number is not None:
        held = round_of(result, number, running=running)
        return held if held.consensus is not None else None
    measured = [held for held in result.rounds if held.consensus is not None]
    return measured[-1] if measured else None


async def round_details(call: Call, given: RoundInput) -> RoundOutput:
    """Show a round in full."""
    result = await _after_waiting(call, given.session_id, given.wait, given.round_number)
    running = call.desk.running(given.session_id) is not None
    held = round_of(result, given.round_number, running=running)
    return RoundOutput(
        **state_of(result, running=running),
        round_number=held.number,
        complete=held.complete,
        focus_question=held.focus_question,
        responses=tuple(answer_view(said, held.number) for said in held.spoken),
        failures=failure_views((held,)),
        consensus=held.consensus,
        decision=decision_view(held.decision),
    )


async def _after_waiting(call: Call, session_id: str, wait_s: float, number: int | None) -> DebateResult:
    """Give a session once a round, or the whole debate, is over, or the time has passed."""
    table = call.desk.table
    result = await table.session(session_id)
    handle = call.desk.running(session_id)
    if handle is None or not wait_s:
        return result
    await follow(call, handle, wait_s=wait_s, until_round=number)
    return await table.session(session_id)


async def thoughts_of(call: Call, given: ThoughtsInput) -> ThoughtsOutput:
    """Show all that one agent said."""
    result = await call.desk.table.session(given.session_id)
    said = answers_by(result, given.agent_id)
    return ThoughtsOutput(
        session_id=result.session_id,
        agent_id=given.agent_id,
        agent_name=agent_of(result, given.agent_id).name,
        total_responses=len(said),
        rounds=len({one.round_number for one in said}),
        responses=said,
        confidence_evolution=tuple(ConfidencePoint(round=one.round_number, confidence=one.confidence) for one in said),
    )


async def response_detail(call: Call, given: ResponseInput) -> ResponseOutput:
    """Show what an agent said in a round, or in all."""
    result = await call.desk.table.session(given.session_id)
    return ResponseOutput(
        session_id=result.session_id,
        agent_id=given.agent_id,
        agent_name=agent_of(result, given.agent_id).name,
        round_number=given.round_number,
        responses=answers_by(result, given.agent_id, given.round_number),
    )


async def list_citations(call: Call, given: CitationsInput) -> CitationsOutput:
    """Show the sources of a session."""
    result = await call.desk.table.session(given.session_id)
    found = citation_views(result, given.round_number, given.agent_id)
    return CitationsOutput(
        session_id=result.session_id,
        round_number=given.round_number,
        agent_id=given.agent_id,
        citations=found,
        total_citations=len(found),
    )


async def export(call: Call, given: ExportInput) -> ExportOutput:
    """Give a session as a document."""
    content = await call.desk.table.export(given.session_id, given.format)
    return ExportOutput(session_id=given.session_id, format=given.format, content=content)
