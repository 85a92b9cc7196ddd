"""What is stored and told of a team's turns, in the words of seed 004."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.engine.hooks import StoringHooks, TurnEars
from roundtable.record import reports, result_of
from roundtable.types import (
    AgentComplete,
    ConversationComplete,
    ExitResult,
    InitiatorComplete,
    InitiatorStart,
    InitiatorToolCall,
    PlanAnswer,
    SummarizerChunk,
    SummarizerStart,
    TextAnswer,
)
from roundtable.types.teams import INITIATOR, SUMMARIZER

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.record import Fold
    from roundtable.types import DurableEvent, FailedTurn, Team, ToolCall, ToolCallRecord, Turn, TurnSpec
    from roundtable.types.teams import ErrorAction

__all__ = ["TeamHooks", "action_after", "complete_event"]

_TRIES: Final = 2


def action_after(team: Team, turn: FailedTurn) -> ErrorAction:
    """Say what follows a failed turn: who may try again does so once."""
    action = team.member(turn.agent_id).on_error
    return "skip" if action == "retry" and turn.attempt >= _TRIES else action


def complete_event(fold: Fold, now: datetime, turn: Turn | None) -> ConversationComplete:
    """Give the event that ends a conversation.

    Args:
        fold: State of the session.
        now: When it ends.
        turn: The summarizer's turn; `None` where it failed: the reports of the last round then stand for themselves.
    """
    current, config = fold.current, fold.record.config
    number = current.number if current else 0
    if turn is not None and isinstance(turn.answer, TextAnswer):
        summary = turn.answer.text
    else:
        told = reports(current.in_order()) if current else []
        summary = "\n\n".join(f"{one.agent_id}: {result_of(one).response}" for one in told)
    return ConversationComplete(
        session_id=fold.record.id,
        timestamp=now,
        turn=turn,
        summary=summary,
        total_rounds=number,
        total_agents=len(config.agents),
        execution_time=max(0.0, (now - fold.record.created_at).total_seconds()),
        exit=ExitResult(should_exit=True, reason="max_rounds", details="all planned rounds were held and summed up"),
    )


class TeamHooks(StoringHooks):
    """Stores and tells the turns of one stage of a team."""

    def ears(self, spec: TurnSpec) -> TurnEars:
        """Give what hears a turn."""
        kind = {INITIATOR: _InitiatorEars, SUMMARIZER: _SummarizerEars}.get(self.stage, TurnEars)
        return kind(self.journal, spec.agent, self.round, self.may_call)

    def tell_start(self, spec: TurnSpec) -> None:
        """Tell that a turn begins."""
        session_id, now, after = self.journal.session_id, self.journal.clock.now(), self.journal.fold.last_seq
        if self.stage == INITIATOR:
            self.journal.tell(InitiatorStart(session_id=session_id, timestamp=now, after=after, agent=spec.agent))
        elif self.stage == SUMMARIZER:
            self.journal.tell(SummarizerStart(session_id=session_id, timestamp=now, after=after))
        else:
            super().tell_start(spec)

    def answered(self, turn: Turn) -> DurableEvent:
        """Give the event of a turn that was answered."""
        answer = turn.answer
        if isinstance(answer, PlanAnswer):
            return InitiatorComplete(
                session_id=self.journal.session_id,
                timestamp=turn.timestamp,
                turn=turn,
                goal=answer.goal,
                strategy=answer.strategy,
                success_criteria=answer.success_criteria,
            )
        if self.stage == SUMMARIZER:
            return complete_event(self.journal.fold, turn.timestamp, turn)
        given = result_of(turn)
        return AgentComplete(
            session_id=self.journal.session_id,
            timestamp=turn.timestamp,
            turn=turn,
            agent=turn.agent_id,
            round=turn.round,
            response=given.response,
            tool_calls=given.tool_calls,
            steps=given.steps,
            finish_reason=turn.result.finish_reason,
        )

    def action(self, turn: FailedTurn) -> ErrorAction:
        """Say what follows a failed turn."""
        team = self.journal.fold.record.config.team
        return "skip" if team is None else action_after(team, turn)


class _InitiatorEars(TurnEars):
    """Hears the initiator: its tool calls are told; its goal is told when it is whole."""

    async def chunk(self, text: str) -> None:
        """Tell nothing: what is streamed is the JSON of a plan."""

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """Tell a tool call."""
        journal = self.journal
        await journal.append(
            InitiatorToolCall(session_id=journal.session_id, timestamp=journal.clock.now(), tool_call=call)
        )

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """Tell nothing: results stand in the turn, and seed 004 knows no event for them."""


class _SummarizerEars(TurnEars):
    """Hears the summarizer."""

    async def chunk(self, text: str) -> None:
        """Tell a piece of the summary."""
        journal = self.journal
        if journal.hears():
            journal.tell(
                SummarizerChunk(
                    session_id=journal.session_id,
                    timestamp=journal.clock.now(),
                    after=journal.fold.last_seq,
                    chunk=text,
                )
            )
