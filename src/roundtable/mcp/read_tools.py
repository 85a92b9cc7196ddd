"""Tools that read stored data; none of them calls a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from roundtable.core.types.storage import SessionFilter
from roundtable.mcp.errors import NotFoundInSession
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
from roundtable.mcp.progress import follow, latest
from roundtable.mcp.views import (
    agent_of,
    answer_view,
    answers_by,
    ballot_views,
    citation_views,
    decision_view,
    failure_views,
    round_of,
    state_of,
)

if TYPE_CHECKING:
    from roundtable.core.types.debate import RoundRecord
    from roundtable.core.types.storage import SessionSummary
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
    from roundtable.mcp.tool import ToolCallContext
    from roundtable.results.debate_result import DebateResult

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


async def list_agents(call: ToolCallContext, _: NoInput) -> AgentsOutput:
    """List the agents that can debate."""
    agents = tuple(
        AgentEntry(
            id=agent.id,
            name=agent.name,
            provider=agent.provider,
            model=agent.model,
            active=problem is None,
            error=problem,
        )
        for agent, problem in call.tenant_session.table.agent_offers()
    )
    return AgentsOutput(agents=agents, count=len(agents))


async def list_sessions(call: ToolCallContext, arguments: ListInput) -> ListOutput:
    """List sessions, a page at a time."""
    table = call.tenant_session.table
    session_filter = SessionFilter.model_validate(
        {
            "tenant": table.tenant,
            "topic": arguments.topic,
            "mode": arguments.mode,
            "status": arguments.status,
            "created_from": arguments.from_date,
            "created_to": arguments.to_date,
            "after": arguments.cursor,
            "limit": arguments.limit + 1,
        }
    )
    sessions = await table.sessions(session_filter)
    page = sessions[: arguments.limit]
    next_cursor = page[-1].cursor if len(sessions) > len(page) else None
    return ListOutput(sessions=tuple(map(_entry, page)), count=len(page), next_cursor=next_cursor)


def _entry(summary: SessionSummary) -> SessionEntry:
    return SessionEntry(
        id=summary.id,
        topic=summary.topic,
        mode=summary.mode,
        status=summary.status,
        current_round=summary.current_round,
        total_rounds=summary.total_rounds,
        agent_count=len(summary.agent_ids),
        response_count=summary.response_count,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        exit_reason=summary.exit_reason,
        error=summary.error,
    )


async def consensus_of(call: ToolCallContext, arguments: ConsensusInput) -> ConsensusOutput:
    """Return the stored agreement of a round."""
    result, running = await _after_waiting(call, arguments.session_id, arguments.wait, arguments.round_number)
    measured = _measured_round(result, arguments.round_number, running=running)
    if measured is None and not running:
        hint = "No round was completed; call continue_roundtable to continue the debate."
        raise NotFoundInSession(f"session {result.session_id!r} has no measured consensus", hint=hint)
    rules = call.tenant_session.table.catalog.rules
    # On a thread, because counting the ballots of many agents again takes time.
    has_audit = arguments.audit and measured is not None
    audit = await to_thread.run_sync(lambda: result.audit(rules=rules)) if has_audit else None
    graph = await to_thread.run_sync(result.argument_graph) if arguments.arguments else None
    is_last = measured is not None and measured.number == max(
        round_record.number for round_record in result.rounds if round_record.complete
    )
    return ConsensusOutput(
        **state_of(result, running=running),
        analyzed_round=None if measured is None else measured.number,
        response_count=0 if measured is None else len(measured.responses),
        consensus=None if measured is None else measured.consensus,
        decision=None if measured is None else decision_view(measured.decision),
        answer=result.answer if is_last else None,
        independent_agreement=result.independent_agreement,
        independent_agreement_at_most=result.independent_agreement_at_most,
        exit=result.exit,
        audit=None if audit is None else audit.model_dump(mode="json", by_alias=True),
        arguments=None if graph is None else graph.model_dump(mode="json", by_alias=True),
    )


def _measured_round(result: DebateResult, number: int | None, *, running: bool) -> RoundRecord | None:
    """Return a round, or the last measured round if no number is given; `None` if its agreement is not measured."""
    if number is not None:
        round_record = round_of(result, number, running=running)
        return round_record if round_record.consensus is not None else None
    measured = [round_record for round_record in result.rounds if round_record.consensus is not None]
    return measured[-1] if measured else None


async def round_details(call: ToolCallContext, arguments: RoundInput) -> RoundOutput:
    """Return a round in full."""
    result, running = await _after_waiting(call, arguments.session_id, arguments.wait, arguments.round_number)
    round_record = round_of(result, arguments.round_number, running=running)
    return RoundOutput(
        **state_of(result, running=running),
        round_number=round_record.number,
        complete=round_record.complete,
        focus_question=round_record.focus_question,
        responses=tuple(answer_view(response, round_record.number) for response in round_record.as_stated.spoken),
        ballots=ballot_views(round_record, result.config.seed),
        failures=failure_views((round_record,)),
        consensus=round_record.consensus,
        decision=decision_view(round_record.decision),
    )


async def _after_waiting(
    call: ToolCallContext, session_id: str, wait_s: float, number: int | None
) -> tuple[DebateResult, bool]:
    """Wait until a round or the whole debate has ended, or the time has passed.

    Returns:
        The session after that, and whether it is running.
    """
    result, running = await latest(call, session_id)
    if running and wait_s:
        handle = call.tenant_session.running(session_id)
        await follow(call, session_id, handle, wait_s=wait_s, until_round=number)
        result, running = await latest(call, session_id)
    return result, running


async def thoughts_of(call: ToolCallContext, arguments: ThoughtsInput) -> ThoughtsOutput:
    """Return all answers of one agent."""
    result = await call.tenant_session.table.session(arguments.session_id)
    answers = answers_by(result, arguments.agent_id)
    return ThoughtsOutput(
        session_id=result.session_id,
        agent_id=arguments.agent_id,
        agent_name=agent_of(result, arguments.agent_id).name,
        total_responses=len(answers),
        rounds=len({answer.round_number for answer in answers}),
        responses=answers,
        confidence_evolution=tuple(
            ConfidencePoint(round=answer.round_number, confidence=answer.confidence) for answer in answers
        ),
    )


async def response_detail(call: ToolCallContext, arguments: ResponseInput) -> ResponseOutput:
    """Return the answers of an agent, in one round or in all rounds."""
    result = await call.tenant_session.table.session(arguments.session_id)
    return ResponseOutput(
        session_id=result.session_id,
        agent_id=arguments.agent_id,
        agent_name=agent_of(result, arguments.agent_id).name,
        round_number=arguments.round_number,
        responses=answers_by(result, arguments.agent_id, arguments.round_number),
    )


async def list_citations(call: ToolCallContext, arguments: CitationsInput) -> CitationsOutput:
    """Return the sources cited in a session."""
    result = await call.tenant_session.table.session(arguments.session_id)
    citations = citation_views(result, arguments.round_number, arguments.agent_id)
    return CitationsOutput(
        session_id=result.session_id,
        round_number=arguments.round_number,
        agent_id=arguments.agent_id,
        citations=citations,
        total_citations=len(citations),
    )


async def export(call: ToolCallContext, arguments: ExportInput) -> ExportOutput:
    """Return a session as a document."""
    content = await call.tenant_session.table.export(arguments.session_id, arguments.format)
    return ExportOutput(session_id=arguments.session_id, format=arguments.format, content=content)
