"""From a stored session to what the tools give; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from roundtable.mcp.failures import NotThere
from roundtable.mcp.outputs import (
    AnswerView,
    CitationView,
    DebateOutput,
    DecisionView,
    FailureView,
    NextStep,
    ToolUse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.result import DebateResult
    from roundtable.types import (
        AgentConfig,
        AgentResponse,
        Decision,
        FailedTurn,
        RoundRecord,
        RoundtableStatus,
        SessionStatus,
    )

__all__ = [
    "StateFields",
    "agent_of",
    "answer_view",
    "answers_by",
    "citation_views",
    "debate_output",
    "decision_view",
    "failure_views",
    "round_of",
    "state_of",
    "status_of",
]


class StateFields(TypedDict):
    """The fields of `DebateState`."""

    session_id: str
    status: RoundtableStatus
    session_status: SessionStatus
    running: bool
    current_round: int
    total_rounds: int


def status_of(result: DebateResult) -> RoundtableStatus:
    """Give the state of a debate in the three words of the four-layer response."""
    if result.session_status == "completed":
        return "completed"
    return "needs_context" if result.status == "needs_context" else "in_progress"


def state_of(result: DebateResult, *, running: bool) -> StateFields:
    """Give the fields of `DebateState`."""
    return {
        "session_id": result.session_id,
        "status": "in_progress" if running else status_of(result),
        "session_status": result.session_status,
        "running": running,
        "current_round": len(result.rounds),
        "total_rounds": result.total_rounds,
    }


def debate_output(result: DebateResult, *, running: bool) -> DebateOutput:
    """Give the four layers and how the debate stands."""
    layers = result.response
    return DebateOutput(
        **state_of(result, running=running),
        topic=result.topic,
        mode=result.mode,
        round_number=0 if layers is None else layers.round_number,
        decision=None if layers is None else layers.decision,
        agent_responses=() if layers is None else layers.agent_responses,
        evidence=None if layers is None else layers.evidence,
        metadata=None if layers is None else layers.metadata,
        answer=result.answer,
        answer_reason=result.answer_reason,
        independent_agreement=result.independent_agreement,
        exit=result.exit,
        failures=failure_views(result.rounds),
        context_requests=result.context_requests,
        error=result.error,
        next_step=_next_step(result, running=running),
    )


def _next_step(result: DebateResult, *, running: bool) -> NextStep | None:
    held = f"{len(result.rounds)} of {result.total_rounds} rounds are begun"
    if running:
        number = max(1, len(result.rounds))
        why = f"The debate is running, {held}: call it with roundNumber {number} and a wait, or get_consensus."
        return NextStep(tool="get_round_details", reason=why)
    if status_of(result) == "needs_context":
        why = "Agents wait for information: find it with your own tools and pass it as contextResults."
        return NextStep(tool="continue_roundtable", reason=why)
    if result.session_status == "completed":
        return None
    return NextStep(tool="continue_roundtable", reason=f"The debate does not run, {held}; this goes on with it.")


def failure_views(rounds: Iterable[RoundRecord]) -> tuple[FailureView, ...]:
    """Give the turns without an answer."""
    failed: list[FailedTurn] = [turn for held in rounds for turn in held.turns if turn.outcome == "failed"]
    return tuple(
        FailureView(agent_id=turn.agent_id, agent_name=turn.agent_name, round_number=turn.round, error=turn.error)
        for turn in failed
    )


def decision_view(decision: Decision | None) -> DecisionView | None:
    """Give a decision in brief."""
    if decision is None:
        return None
    return DecisionView(rule=decision.rule, winners=decision.winners, is_tie=decision.is_tie, passed=decision.passed)


def round_of(result: DebateResult, number: int, *, running: bool = False) -> RoundRecord:
    """Give a round by its number.

    Args:
        result: The session.
        number: Which round.
        running: Whether the debate is running, so that a round that is planned will be there later.

    Raises:
        NotThere: It was not begun.
    """
    for held in result.rounds:
        if held.number == number:
            return held
    begun = len(result.rounds)
    if running and number <= result.total_rounds:
        msg = f"round {number} of session {result.session_id!r} is not begun yet"
        raise NotThere(msg, retryable=True, hint="The debate is running and gets there: call again, with a wait.")
    hint = f"Rounds 1 to {begun} are there." if begun else "No round was begun yet."
    raise NotThere(f"session {result.session_id!r} has no round {number}", hint=hint)


def agent_of(result: DebateResult, agent_id: str) -> AgentConfig:
    """Give an agent of a session by its id.

    Raises:
        NotThere: It does not take part.
    """
    for agent in result.agents:
        if agent.id == agent_id:
            return agent
    there = ", ".join(repr(agent.id) for agent in result.agents)
    raise NotThere(f"no agent {agent_id!r} takes part in session {result.session_id!r}", hint=f"Agents: {there}.")


def answer_view(said: AgentResponse, number: int) -> AnswerView:
    """Give an answer in full; of tools it used, the names."""
    return AnswerView(
        agent_id=said.agent_id,
        agent_name=said.agent_name,
        round_number=number,
        position=said.position,
        reasoning=said.reasoning,
        confidence=said.confidence,
        stance=said.stance,
        choice=said.choice,
        citations=said.citations,
        tool_calls=tuple(ToolUse(tool_name=call.tool_name, timestamp=call.timestamp) for call in said.tool_calls),
        timestamp=said.timestamp,
    )


def answers_by(result: DebateResult, agent_id: str, number: int | None = None) -> tuple[AnswerView, ...]:
    """Give the answers of an agent, of one round or of all.

    Raises:
        NotThere: There is no such agent or round, or the agent gave no answer in it.
    """
    agent = agent_of(result, agent_id)
    rounds = result.rounds if number is None else (round_of(result, number),)
    said = tuple(answer_view(one, held.number) for held in rounds for one in held.spoken if one.agent_id == agent_id)
    if not said:
        where = "" if number is None else f" in round {number}"
        raise NotThere(f"{agent.name} gave no answer{where}", hint="get_round_details says why a turn failed.")
    return said


def citation_views(result: DebateResult, number: int | None, agent_id: str | None) -> tuple[CitationView, ...]:
    """Give the sources of a session, each address once, in the order of their first use.

    Raises:
        NotThere: There is no such agent or round.
    """
    if agent_id is not None:
        agent_of(result, agent_id)
    rounds = result.rounds if number is None else (round_of(result, number),)
    found: dict[str, CitationView] = {}
    for view in _cited(rounds, agent_id):
        found.setdefault(view.url, view)
    return tuple(found.values())


def _cited(rounds: Iterable[RoundRecord], agent_id: str | None) -> Iterator[CitationView]:
    for held in rounds:
        for said in held.spoken:
            if agent_id not in {None, said.agent_id}:
                continue
            for one in said.citations:
                yield CitationView(
                    title=one.title,
                    url=one.url,
                    snippet=one.snippet,
                    agent_id=said.agent_id,
                    agent_name=said.agent_name,
                    round_number=held.number,
                    timestamp=said.timestamp,
                )
