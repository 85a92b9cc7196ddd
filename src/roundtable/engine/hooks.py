"""What the engine adds to a stage: storing turns, telling them, and keeping calls from starting."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from roundtable.stages import Halt, error_info
from roundtable.types import (
    AgentComplete,
    AgentError,
    AgentResponseChunk,
    AgentStart,
    AgentToolCall,
    AgentToolResult,
    Retry,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.engine.journal import Journal
    from roundtable.engine.pacing import Pace
    from roundtable.errors import RoundtableError
    from roundtable.types import AnyTurn, DurableEvent, FailedTurn, ToolCall, ToolCallRecord, Turn, TurnSpec
    from roundtable.types.teams import ErrorAction

__all__ = ["StoringHooks", "TurnEars"]

logger: logging.Logger = logging.getLogger("roundtable.engine")


class StoringHooks:
    """Stores and tells the turns of one stage.

    Args:
        journal: Where turns are written.
        stage: Name of the stage.
        may_call: Tells whether model calls may still start.
        pace: Where turns queue up when many debates run side by side.
    """

    def __init__(self, journal: Journal, stage: str, may_call: Callable[[], bool], pace: Pace) -> None:
        self.journal = journal
        self.stage = stage
        self._pace = pace
        self.may_call = may_call
        self.round: int = journal.fold.progress.current_round

    async def started(self, spec: TurnSpec, attempt: int) -> TurnEars:
        """Tell that a turn begins.

        Raises:
            Halt: The run has to end.
        """
        await self._pace.step()
        ears = self.ears(spec)
        await ears.before_call()
        if self.journal.hears():
            self.tell_start(spec)
        return ears

    def ears(self, spec: TurnSpec) -> TurnEars:
        """Give what hears a turn."""
        return TurnEars(self.journal, spec.agent, self.round, self.may_call)

    def tell_start(self, spec: TurnSpec) -> None:
        """Tell that a turn begins."""
        journal = self.journal
        journal.tell(
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
        """Store and tell how a turn ended."""
        journal = self.journal
        if turn.outcome == "answered":
            await journal.append(self.answered(turn))
            return
        logger.warning(
            "agent failed: %s",
            turn.error.message,
            extra={"session": journal.session_id, "agent": turn.agent_id, "round": turn.round},
        )
        await journal.append(
            AgentError(
                session_id=journal.session_id,
                timestamp=turn.timestamp,
                turn=turn,
                agent=turn.agent_id,
                round=turn.round,
                error=turn.error.message,
                action=self.action(turn),
            )
        )

    def answered(self, turn: Turn) -> DurableEvent:
        """Give the event of a turn that was answered."""
        return AgentComplete(
            session_id=self.journal.session_id,
            timestamp=turn.timestamp,
            turn=turn,
            agent=turn.agent_id,
            round=turn.round,
        )

    def action(self, turn: FailedTurn) -> ErrorAction:
        """Say what follows a failed turn; a debate goes on without it."""
        return "skip"


class TurnEars:
    """Hears one turn, and keeps its calls from starting once the run has to end."""

    def __init__(self, journal: Journal, agent: str, number: int, may_call: Callable[[], bool]) -> None:
        self.journal = journal
        self._agent = agent
        self._round = number
        self._may_call = may_call

    async def before_call(self) -> None:
        """Let a call start.

        Raises:
            Halt: The run has to end.
        """
        await self.journal.look()
        if not self._may_call():
            raise Halt

    async def chunk(self, text: str) -> None:
        """Tell a piece of the answer."""
        journal = self.journal
        if not journal.hears():
            return
        journal.tell(
            AgentResponseChunk(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                agent=self._agent,
                round=self._round,
                chunk=text,
            )
        )

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """Tell that a call is tried again."""
        journal = self.journal
        if not journal.hears():
            return
        journal.tell(
            Retry(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                agent=self._agent,
                attempt=attempt,
                delay_s=delay_s,
                error=error_info(error),
            )
        )

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """Tell a tool call."""
        journal = self.journal
        await journal.append(
            AgentToolCall(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._agent,
                round=self._round,
                step=step,
                tool_call=call,
            )
        )

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """Tell what a tool gave."""
        journal = self.journal
        await journal.append(
            AgentToolResult(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                agent=self._agent,
                round=self._round,
                step=step,
                tool_call_id=call_id,
                result=record.output,
            )
        )
