"""Pure functions that turn a stored session into outputs of the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from roundtable.core.base.words import counted
from roundtable.core.types.answers import ApprovalAnswer, BallotAnswer, RankingAnswer, ScoresAnswer
from roundtable.core.types.plan import JUDGE_STAGE, REVIEWER_ROLE
from roundtable.mcp.errors import NotFoundInSession
from roundtable.mcp.outputs import (
    AnswerView,
    BallotView,
    CitationView,
    DebateOutput,
    DecisionView,
    FailureView,
    NextStep,
    ToolUse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import FailedTurn, RoundRecord, SessionStatus, Turn
    from roundtable.core.types.layers import RoundtableStatus
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "StateFields",
    "agent_of",
    "answer_view",
    "answers_by",
    "ballot_views",
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
    """Return the state of a debate in the terms of the four-layer response."""
    if result.session_status == "completed":
        return "completed"
    return "needs_context" if result.status == "needs_context" else "in_progress"


def state_of(result: DebateResult, *, running: bool) -> StateFields:
    """Return the fields of `DebateState`."""
    return {
        "session_id": result.session_id,
        "status": "in_progress" if running else status_of(result),
        "session_status": result.session_status,
        "running": running,
        "current_round": len(result.rounds),
        "total_rounds": result.total_rounds,
    }


def debate_output(result: DebateResult, *, running: bool) -> DebateOutput:
    """Return the four layers and the state of the debate."""
    from roundtable.results.findings import unread_in_words  # loads the modes, which a client that lists needs not

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
        unread=unread_in_words(result) or None,
        value=result.value,
        independent_agreement=result.independent_agreement,
        independent_agreement_at_most=result.independent_agreement_at_most,
        exit=result.exit,
        failures=failure_views(result.rounds),
        context_requests=result.context_requests,
        error=result.error,
        next_step=_next_step(result, running=running),
    )


def _next_step(result: DebateResult, *, running: bool) -> NextStep | None:
    state = f"{len(result.rounds)} of {counted(result.total_rounds, 'round has', 'rounds have')} started"
    if running:
        number = max(1, len(result.rounds))
        reason = (
            f"The debate is running, {state}: call this tool with roundNumber {number} and a wait, or get_consensus."
        )
        return NextStep(tool="get_round_details", reason=reason)
    if status_of(result) == "needs_context":
        reason = "Agents wait for information: find it with your own tools and pass it as contextResults."
        return NextStep(tool="continue_roundtable", reason=reason)
    if result.session_status == "completed":
        return None
    if result.session_status == "paused" and result.exit is not None and result.exit.reason == "paused":
        return NextStep(
            tool="control_session", reason=f"The debate is paused, {state}; the action resume continues it."
        )
    return NextStep(tool="continue_roundtable", reason=f"The debate is not running, {state}; this continues it.")


def failure_views(rounds: Iterable[RoundRecord]) -> tuple[FailureView, ...]:
    """Return the turns without an answer."""
    failed: list[FailedTurn] = [
        turn for round_record in rounds for turn in round_record.turns if turn.outcome == "failed"
    ]
    return tuple(
        FailureView(agent_id=turn.agent_id, agent_name=turn.agent_name, round_number=turn.round, error=turn.error)
        for turn in failed
    )


def decision_view(decision: Decision | None) -> DecisionView | None:
    """Return a decision in brief, with its vote on motions."""
    if decision is None:
        return None
    names = () if decision.vote is None else tuple(motion.name for motion in decision.vote.motions)
    pairs = decision.pairwise if {*names} <= decision.pairwise.keys() else {}
    return DecisionView(
        rule=decision.rule,
        winners=decision.winners,
        is_tie=decision.is_tie,
        passed=decision.passed,
        unread=decision.unread,
        why=decision.why,
        vote=decision.vote,
        pairs=tuple(tuple(pairs[name].get(other, 0.0) for other in names) for name in names) if pairs else None,
    )


def ballot_views(round_record: RoundRecord, seed: int) -> tuple[BallotView, ...]:
    """Return the votes of a round, including the votes of judges; reviews for the chair of a council are not votes.

    Args:
        round_record: The round.
        seed: Seed of the debate; the names under which judges see answers are derived from it.
    """
    from roundtable.modes import answers_by_name  # late, so that listing tools does not load modes

    answers = answers_by_name(round_record.turns, seed)
    chosen = {name: turn.agent_id for name, turn in answers.items()}
    return tuple(
        _ballot_view(turn, turn.answer, chosen if turn.stage == JUDGE_STAGE else {})
        for turn in round_record.turns
        if turn.outcome == "answered"
        and turn.role != REVIEWER_ROLE
        and isinstance(turn.answer, BallotAnswer | RankingAnswer | ApprovalAnswer | ScoresAnswer)
    )


def _ballot_view(
    turn: Turn, answer: BallotAnswer | RankingAnswer | ApprovalAnswer | ScoresAnswer, agents: Mapping[str, str]
) -> BallotView:
    choice = answer.choice if isinstance(answer, BallotAnswer) else None
    return BallotView(
        agent_id=turn.agent_id,
        agent_name=turn.agent_name or turn.agent_id,
        stage=turn.stage,
        choice=None if choice is None else agents.get(choice, choice),
        reading=answer.reading,
        ranking=answer.ranking if isinstance(answer, RankingAnswer) else None,
        approved=answer.approved if isinstance(answer, ApprovalAnswer) else None,
        scores=answer.scores if isinstance(answer, ScoresAnswer) else None,
        same=answer.same,
        reasoning=answer.reasoning,
        warnings=turn.result.warnings,
    )


def round_of(result: DebateResult, number: int, *, running: bool = False) -> RoundRecord:
    """Return a round by its number.

    Args:
        result: The session.
        number: Number of the round.
        running: Whether the debate is running, so that a planned round may exist later.

    Raises:
        NotFoundInSession: The round has not started.
    """
    for round_record in result.rounds:
        if round_record.number == number:
            return round_record
    started = len(result.rounds)
    if running and number <= result.total_rounds:
        msg = f"round {number} of session {result.session_id!r} has not started yet"
        raise NotFoundInSession(
            msg, retryable=True, hint="The debate is running. Call again, and set `wait` to wait for the round."
        )
    hint = f"Choose a round from 1 to {started}." if started else "No round has started yet."
    raise NotFoundInSession(f"session {result.session_id!r} has no round {number}", hint=hint)


def agent_of(result: DebateResult, agent_id: str) -> AgentConfig:
    """Return an agent of a session by its id.

    Raises:
        NotFoundInSession: The agent does not take part.
    """
    for agent in result.agents:
        if agent.id == agent_id:
            return agent
    known = ", ".join(repr(agent.id) for agent in result.agents)
    raise NotFoundInSession(
        f"no agent {agent_id!r} takes part in session {result.session_id!r}", hint=f"Agents: {known}."
    )


def answer_view(response: AgentResponse, number: int) -> AnswerView:
    """Return an answer in full, with the names of the tools used."""
    return AnswerView(
        agent_id=response.agent_id,
        agent_name=response.agent_name,
        round_number=number,
        position=response.position,
        reasoning=response.reasoning,
        bottom_line=response.bottom_line,
        confidence=response.confidence,
        stance=response.stance,
        choice=response.choice,
        reading=response.reading,
        claims=response.claims,
        value=response.value,
        citations=response.citations,
        images=response.images,
        related_questions=response.related_questions,
        tool_calls=tuple(
            ToolUse(tool_name=call.tool_name, timestamp=call.timestamp, error=call.error)
            for call in response.tool_calls
        ),
        timestamp=response.timestamp,
    )


def answers_by(result: DebateResult, agent_id: str, number: int | None = None) -> tuple[AnswerView, ...]:
    """Return the answers of an agent, in one round or in all rounds.

    Raises:
        NotFoundInSession: The agent or the round does not exist, or the agent gave no answer.
    """
    agent = agent_of(result, agent_id)
    rounds = result.rounds if number is None else (round_of(result, number),)
    answers = tuple(
        answer_view(response, round_record.number)
        for round_record in rounds
        for response in round_record.as_stated.spoken
        if response.agent_id == agent_id
    )
    if not answers:
        where = "" if number is None else f" in round {number}"
        raise NotFoundInSession(f"{agent.name} gave no answer{where}", hint="get_round_details says why a turn failed.")
    return answers


def citation_views(result: DebateResult, number: int | None, agent_id: str | None) -> tuple[CitationView, ...]:
    """Return the sources of a session in order of first use; each address is listed once.

    Raises:
        NotFoundInSession: The agent or the round does not exist.
    """
    if agent_id is not None:
        agent_of(result, agent_id)
    rounds = result.rounds if number is None else (round_of(result, number),)
    views: dict[str, CitationView] = {}
    for view in _citations(rounds, agent_id):
        views.setdefault(view.url, view)
    return tuple(views.values())


def _citations(rounds: Iterable[RoundRecord], agent_id: str | None) -> Iterator[CitationView]:
    for round_record in rounds:
        for response in round_record.spoken:
            if agent_id not in {None, response.agent_id}:
                continue
            for citation in response.citations:
                yield CitationView(
                    title=citation.title,
                    url=citation.url,
                    snippet=citation.snippet,
                    agent_id=response.agent_id,
                    agent_name=response.agent_name,
                    round_number=round_record.number,
                    timestamp=response.timestamp,
                )
