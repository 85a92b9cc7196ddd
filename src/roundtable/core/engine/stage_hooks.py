"""Hooks of the engine for a stage: store turns, publish events, and refuse calls when the run must end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from roundtable.core.stages import TurnCancelled, error_info
from roundtable.core.types.events import (
    AgentComplete,
    AgentError,
    AgentResponseChunk,
    AgentStart,
    AgentToolCall,
    AgentToolResult,
    ApprovalDecided,
    ApprovalRequested,
    Retry,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.base.waits import Wait
    from roundtable.core.engine.journal import Journal
    from roundtable.core.engine.plan_limits import StepLimiter
    from roundtable.core.errors import RoundtableError
    from roundtable.core.types.answers import ToolCallRecord
    from roundtable.core.types.chat import ToolCall
    from roundtable.core.types.debate import AnyTurn, FailedTurn, Turn
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.plan import TurnSpec
    from roundtable.core.types.teams import ErrorAction

__all__ = ["StoringHooks", "TurnAttempt", "TurnRecorder", "publish_wait"]

logger: logging.Logger = logging.getLogger("roundtable.engine")


class TurnAttempt(NamedTuple):
    """Identifies one attempt at a turn of a session."""

    round: int
    stage: str
    slot: int
    attempt: int


class StoringHooks:
    """Stores and publishes the turns of one stage.

    Args:
        journal: Stores the turns.
        stage: Name of the stage.
        may_call: Returns whether model calls may still start.
        pace: Queues the turns when many debates run at once.
    """

    def __init__(self, journal: Journal, stage: str, may_call: Callable[[], bool], pace: StepLimiter) -> None:
        self.journal = journal
        self.stage = stage
        self._pace = pace
        self.may_call = may_call
        # The initiator of a team speaks before the first round is opened; its turn is part of that round.
        self.round: int = max(1, journal.fold.progress.current_round)
        self._open_turns: dict[tuple[int, int], TurnRecorder] = {}
        self.will_wait: Callable[[FailedTurn], bool] = lambda _: False
        """Returns whether the run will wait for the provider of a failed turn, and take the turn again."""

    @property
    def open_calls(self) -> Mapping[TurnAttempt, int]:
        """Number of sent calls by turn, for turns that have no outcome or whose outcome could not be stored."""
        return {
            TurnAttempt(self.round, self.stage, slot, attempt): recorder.calls
            for (slot, attempt), recorder in self._open_turns.items()
        }

    async def started(self, spec: TurnSpec, attempt: int) -> TurnRecorder:
        """Start a turn: wait for its place in the queue, and publish its start.

        Raises:
            TurnCancelled: The run has to end.
        """
        await self._pace.step()
        recorder = self.recorder(spec)
        await recorder.check()
        self._open_turns[spec.slot, attempt] = recorder
        if self.journal.hears():
            self.publish_start(spec)
        return recorder

    def recorder(self, spec: TurnSpec) -> TurnRecorder:
        """Return the recorder of a turn."""
        return TurnRecorder(self.journal, self.position_of(spec), self.may_call)

    def position_of(self, spec: TurnSpec) -> TurnFields:
        """Return the position of a turn, for its events."""
        return TurnFields(agent=spec.agent, round=self.round, stage=self.stage, slot=spec.slot)

    def publish_start(self, spec: TurnSpec) -> None:
        """Publish the start of a turn."""
        journal = self.journal
        journal.publish(
            AgentStart(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                agent=spec.agent,
                round=self.round,
                stage=self.stage,
                slot=spec.slot,
                role=spec.role,
                max_steps=spec.max_steps,
            )
        )

    async def settled(self, turn: AnyTurn) -> None:
        """Store and publish the outcome of a turn."""
        await self._store(turn)
        self._open_turns.pop((turn.slot, turn.attempt), None)

    async def _store(self, turn: AnyTurn) -> None:
        journal = self.journal
        if turn.outcome == "answered":
            await journal.append(self.answer_event(turn))
            return
        waits = self.will_wait(turn)
        about = {"session": journal.session_id, "agent": turn.agent_id, "round": turn.round}
        if waits:
            logger.info("agent failed, and is asked again after a wait: %s", turn.error.message, extra=about)
        else:
            logger.warning("agent failed: %s", turn.error.message, extra=about)
        await journal.append(
            AgentError(
                session_id=journal.session_id,
                timestamp=turn.timestamp,
                turn=turn,
                agent=turn.agent_id,
                round=turn.round,
                error=turn.error.message,
                action="retry" if waits else self.action(turn),
            )
        )

    def answer_event(self, turn: Turn) -> DurableEvent:
        """Return the event of an answered turn."""
        return AgentComplete(
            session_id=self.journal.session_id,
            timestamp=turn.timestamp,
            turn=turn,
            agent=turn.agent_id,
            round=turn.round,
        )

    def action(self, turn: FailedTurn) -> ErrorAction:
        """Return the action after a failed turn that is not taken again after a wait; a debate skips the turn."""
        return "skip"


class TurnFields(TypedDict):
    """Position of a turn, as fields of live events."""

    agent: str
    round: int
    stage: str
    slot: int


def publish_wait(
    journal: Journal,
    wait: Wait,
    *,
    agent: str | None = None,
    round: int | None = None,
    stage: str | None = None,
    slot: int | None = None,
) -> None:
    """Publish a wait of more than a second, of one turn or of the debate as a whole."""
    if not journal.hears():
        return
    journal.publish(
        Waiting(
            session_id=journal.session_id,
            timestamp=journal.clock.now(),
            after=journal.fold.last_seq,
            reason=wait.reason,
            detail=wait.detail,
            remaining_s=wait.remaining_s,
            agent=agent,
            round=round,
            stage=stage,
            slot=slot,
        )
    )


class TurnRecorder:
    """Publishes the events of one turn, and refuses its calls when the run must end."""

    def __init__(self, journal: Journal, turn_fields: TurnFields, may_call: Callable[[], bool]) -> None:
        self.journal = journal
        self._place = turn_fields
        self._may_call = may_call
        self.calls: int = 0
        """Number of calls that were allowed to start."""

    async def before_call(self) -> None:
        """Count a call that is about to start.

        Raises:
            TurnCancelled: The run has to end.
        """
        await self.check()
        self.calls += 1

    async def check(self) -> None:
        """Check that a call may start.

        Raises:
            TurnCancelled: The run has to end.
        """
        await self.journal.check_control()
        if not self._may_call():
            raise TurnCancelled

    @property
    def wants_pieces(self) -> bool:
        """Whether any listener wants pieces of answers."""
        return self.journal.hears_pieces()

    async def chunk(self, text: str) -> None:
        """Publish a piece of the answer."""
        journal = self.journal
        if not journal.hears():
            return
        journal.publish(
            AgentResponseChunk(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                chunk=text,
                **self._place,
            )
        )

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """Publish a retry of a model call."""
        journal = self.journal
        if not journal.hears():
            return
        journal.publish(
            Retry(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                attempt=attempt,
                delay_s=delay_s,
                error=error_info(error),
                **self._place,
            )
        )

    def waiting(self, wait: Wait) -> None:
        """Publish a wait of more than a second."""
        publish_wait(self.journal, wait, **self._place)

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """Store and publish a tool call."""
        journal = self.journal
        await journal.append(
            AgentToolCall(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._place["agent"],
                round=self._place["round"],
                step=step,
                tool_call=call,
            )
        )

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """Store and publish the result of a tool call."""
        journal = self.journal
        await journal.append(
            AgentToolResult(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._place["agent"],
                round=self._place["round"],
                step=step,
                tool_call_id=call_id,
                result=record.output,
            )
        )

    async def approval_requested(self, step: int, call: ToolCall) -> None:
        """Store and publish that a tool call waits for approval."""
        journal = self.journal
        await journal.append(
            ApprovalRequested(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._place["agent"],
                round=self._place["round"],
                step=step,
                tool_call_id=call.id,
                tool_name=call.name,
            )
        )

    async def approval_decided(self, step: int, call: ToolCall, *, allowed: bool, reason: str | None) -> None:
        """Store and publish whether a tool call was allowed."""
        journal = self.journal
        await journal.append(
            ApprovalDecided(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._place["agent"],
                round=self._place["round"],
                step=step,
                tool_call_id=call.id,
                tool_name=call.name,
                allowed=allowed,
                reason=reason,
            )
        )
