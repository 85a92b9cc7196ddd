"""What a team came to, from the record of its session; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.types import AgentResult, PlanAnswer, TeamOutcome, TextAnswer
from roundtable.types.teams import INITIATOR, SUMMARIZER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.types import AnyTurn, DebateRecord, Turn

__all__ = ["reports", "result_of", "team_outcome"]


def reports(turns: Iterable[AnyTurn]) -> list[Turn]:
    """Give the members' answered turns, in order."""
    return [
        turn
        for turn in turns
        if turn.outcome == "answered" and isinstance(turn.answer, TextAnswer) and turn.stage != SUMMARIZER
    ]


def result_of(turn: Turn) -> AgentResult:
    """Give a member's turn as what it contributed."""
    assert isinstance(turn.answer, TextAnswer)  # noqa: S101  (only such turns are reports)
    calls, steps = turn.tools_used, turn.result.usage.calls
    return AgentResult(agent=turn.agent_id, response=turn.answer.text, tool_calls=calls, steps=steps)


def team_outcome(record: DebateRecord) -> TeamOutcome | None:
    """Give what a team came to; `None` of a debate."""
    if record.session.config.team is None:
        return None
    turns = [turn for held in record.rounds for turn in held.turns]
    spoken = {turn.stage: turn.answer for turn in turns if turn.outcome == "answered"}
    plan, summary = spoken.get(INITIATOR), spoken.get(SUMMARIZER)
    asked = any(turn.stage == INITIATOR for turn in turns)
    return TeamOutcome(
        goal=plan.goal if isinstance(plan, PlanAnswer) else record.session.config.topic if asked else None,
        strategy=plan.strategy if isinstance(plan, PlanAnswer) else None,
        success_criteria=plan.success_criteria if isinstance(plan, PlanAnswer) else (),
        summary=summary.text if isinstance(summary, TextAnswer) else None,
        rounds=tuple(tuple(result_of(turn) for turn in reports(held.turns)) for held in record.rounds),
        execution_time_s=max(0.0, (record.updated_at - record.session.created_at).total_seconds()),
    )
