"""What a run does for a team: goal, reports and summary, with the events of the team chat protocol."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from roundtable.core.engine.closing import check_round_quorum, error_event, last_events
from roundtable.core.engine.policy import Frame, RoundEnd
from roundtable.core.engine.stage_hooks import StoringHooks, TurnRecorder
from roundtable.core.errors import AgentError, RoundtableError
from roundtable.core.record.fold import reports, result_of
from roundtable.core.stages import error_from_info
from roundtable.core.types.answers import PlanAnswer, TextAnswer
from roundtable.core.types.chat import Usage
from roundtable.core.types.debate import ExitResult
from roundtable.core.types.events import (
    AgentComplete,
    ConversationComplete,
    DebateExit,
    InitiatorComplete,
    InitiatorStart,
    InitiatorToolCall,
    RoundComplete,
    SummarizerChunk,
    SummarizerStart,
)
from roundtable.core.types.teams import INITIATOR, SUMMARIZER
from roundtable.modes.team import TeamMode, goal_of, team_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from roundtable.core.engine.journal import Journal
    from roundtable.core.engine.plan_limits import StepLimiter
    from roundtable.core.errors import QuorumLost
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.answers import ToolCallRecord
    from roundtable.core.types.chat import ToolCall
    from roundtable.core.types.debate import AnyTurn, FailedTurn, RoundRecord, Turn
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.plan import TurnSpec
    from roundtable.core.types.teams import ErrorAction, Team

__all__ = ["TeamHooks", "TeamPolicy", "action_after", "complete_event"]


_MAX_ATTEMPTS: Final = 2


def action_after(team: Team, turn: FailedTurn) -> ErrorAction:
    """Return the action after a failed turn; an agent with the action `retry` gets one more attempt."""
    action = team.member(turn.agent_id).on_error
    return "skip" if action == "retry" and turn.attempt >= _MAX_ATTEMPTS else action


def complete_event(fold: Fold, now: datetime, turn: Turn | None) -> ConversationComplete:
    """Return the last event of a conversation.

    Args:
        fold: State of the session.
        now: When it ends.
        turn: The summarizer's turn; `None` if it failed. The reports of the last round are then the summary.
    """
    current, config = fold.current, fold.record.config
    number = current.number if current else 0
    if turn is not None and isinstance(turn.answer, TextAnswer):
        summary = turn.answer.text
    else:
        last_reports = reports(current.in_order()) if current else []
        summary = "\n\n".join(f"{report.agent_id}: {result_of(report).response}" for report in last_reports)
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
    """Stores and publishes the turns of one stage of a team."""

    def recorder(self, spec: TurnSpec) -> TurnRecorder:
        """Return the recorder of a turn."""
        recorder = {INITIATOR: _InitiatorRecorder, SUMMARIZER: _SummarizerRecorder}.get(self.stage, TurnRecorder)
        return recorder(self.journal, self.position_of(spec), self.may_call)

    def publish_start(self, spec: TurnSpec) -> None:
        """Publish the start of a turn."""
        session_id, now, after = self.journal.session_id, self.journal.clock.now(), self.journal.fold.last_seq
        if self.stage == INITIATOR:
            self.journal.publish(InitiatorStart(session_id=session_id, timestamp=now, after=after, agent=spec.agent))
        elif self.stage == SUMMARIZER:
            self.journal.publish(SummarizerStart(session_id=session_id, timestamp=now, after=after))
        else:
            super().publish_start(spec)

    def answer_event(self, turn: Turn) -> DurableEvent:
        """Return the event of an answered turn."""
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
        result = result_of(turn)
        return AgentComplete(
            session_id=self.journal.session_id,
            timestamp=turn.timestamp,
            turn=turn,
            agent=turn.agent_id,
            round=turn.round,
            response=result.response,
            tool_calls=result.tool_calls,
            steps=result.steps,
            finish_reason=turn.result.finish_reason,
        )

    def action(self, turn: FailedTurn) -> ErrorAction:
        """Return the action after a failed turn that is not taken again after a wait."""
        team = self.journal.fold.record.config.team
        return "skip" if team is None else action_after(team, turn)


class _InitiatorRecorder(TurnRecorder):
    """Publishes the initiator's tool calls; its plan is published once it is complete."""

    async def chunk(self, text: str) -> None:
        """Publish nothing: the stream is the JSON of a plan."""

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """Store and publish a tool call."""
        journal = self.journal
        await journal.append(
            InitiatorToolCall(session_id=journal.session_id, timestamp=journal.clock.now(), tool_call=call)
        )

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """Publish nothing: the team chat protocol has no event for results. They are part of the turn."""


class _SummarizerRecorder(TurnRecorder):
    """Publishes the summarizer's turn."""

    async def chunk(self, text: str) -> None:
        """Publish a piece of the summary."""
        journal = self.journal
        if journal.hears():
            journal.publish(
                SummarizerChunk(
                    session_id=journal.session_id,
                    timestamp=journal.clock.now(),
                    after=journal.fold.last_seq,
                    chunk=text,
                )
            )


class TeamPolicy:
    """A team: the initiator speaks before the first round, the summarizer after the last.

    Nothing is measured or decided, since members report and do not have positions. A finished run ends with
    `conversation_complete`. A run that runs out of time ends with an `error` with the code `CONVERSATION_TIMEOUT`; its
    session can be resumed.
    """

    _mode = TeamMode()

    def hooks(self, journal: Journal, stage: str, may_call: Callable[[], bool], pace: StepLimiter) -> StoringHooks:
        """Return the hooks that store and publish the turns of a stage."""
        return TeamHooks(journal, stage, may_call, pace)

    def goal(self, fold: Fold) -> str:
        """Return the goal that the initiator planned."""
        return goal_of(fold.view()).goal

    def frame(self, fold: Fold) -> Frame | None:
        """Return the initiator's stage before the first round, and the summarizer's stage after the last round."""
        current = fold.current
        if current is None or (current.number == 1 and not current.begun):
            turn = None if current is None else current.turns.get((INITIATOR, 0))
            return Frame(self._mode.opening, turn)
        if current.complete and current.number >= fold.progress.total_rounds:
            turn = current.turns.get((SUMMARIZER, 0))
            # If the summarizer failed, the last reports are the summary.
            return Frame(self._mode.closing, turn, partial(complete_event, fold, turn=None))
        return None

    def retries(self, fold: Fold, turns: Iterable[AnyTurn]) -> Mapping[int, int]:
        """Return the attempts of agents whose action on errors is `retry`."""
        return {turn.slot: turn.attempt + 1 for turn in turns if _failed_with(fold, turn, "retry")}

    def check_failed(self, fold: Fold, turns: Iterable[AnyTurn]) -> None:
        """Check that no required agent failed: an agent whose action on errors is `abort`.

        Raises:
            AgentError: A required agent failed; the code is `AGENT_EXECUTION_FAILED`.
        """
        for turn in turns:
            if turn.outcome == "failed" and _failed_with(fold, turn, "abort"):
                raise _abort_error(turn)

    def check_quorum(self, fold: Fold, turns: Sequence[AnyTurn]) -> QuorumLost | None:
        """Check that at least one member reported."""
        members = [turn for turn in turns if turn.stage != INITIATOR]
        return None if reports(members) else check_round_quorum(members, 1)

    async def close_round(
        self,
        fold: Fold,
        current: RoundRecord,
        ended_by_mode: str | None,
        now: Callable[[], datetime],
    ) -> RoundEnd:
        """Return the event with the members' reports.

        Raises:
            AgentError: A required agent failed.
            QuorumLost: No member reported.
        """
        turns = [turn for turn in current.turns if turn.stage != INITIATOR]
        self.check_failed(fold, turns)
        answered = reports(turns)
        quorum_error = self.check_quorum(fold, turns)
        if quorum_error is not None:
            raise quorum_error
        event = RoundComplete(
            session_id=fold.record.id,
            timestamp=now(),
            round=current.number,
            answered=len(answered),
            failed=len(turns) - len(answered),
            results=tuple(result_of(turn) for turn in answered),
        )
        return RoundEnd((event,))

    def unstored_usage(self, fold: Fold) -> Usage:
        """Return nothing: a team makes no calls besides its turns."""
        return Usage()

    def early_end(self, fold: Fold, now: datetime, result: ExitResult) -> tuple[DurableEvent, ...]:
        """Return the events of a pause, or of an error if the time is up."""
        if result.reason != "deadline":
            return last_events(fold, now, result, "paused")
        timeout = RoundtableError(
            f"the conversation took too long: {result.details}",
            code="CONVERSATION_TIMEOUT",
            retryable=True,
            hint="Resume the session, or ask again with fewer rounds or a larger timeout_s.",
        )
        exit_event = DebateExit(session_id=fold.record.id, timestamp=now, exit=result)
        return exit_event, error_event(fold, timeout, now)


def _failed_with(fold: Fold, turn: AnyTurn, action: str) -> bool:
    return turn.outcome == "failed" and action_after(team_of(fold.view()), turn) == action


def _abort_error(turn: FailedTurn) -> AgentError:
    return AgentError(
        f"agent {turn.agent_id!r} failed, and the conversation cannot continue without it: {turn.error.message}",
        code="AGENT_EXECUTION_FAILED",
        provider=turn.error.provider,
        cause=error_from_info(turn.error),
        hint=turn.error.hint,
        details={"agentId": turn.agent_id},
    )
