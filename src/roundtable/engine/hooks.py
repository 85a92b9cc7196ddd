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
    from roundtable.types import AnyTurn, ToolCall, ToolCallRecord, TurnSpec

__all__ = ["StoringHooks"]

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
        self._journal = journal
        self._pace = pace
        self._stage = stage
        self._may_call = may_call
        self._round = journal.fold.progress.current_round

    async def started(self, spec: TurnSpec, attempt: int) -> _TurnEars:
        """Tell that a turn begins.

        Raises:
            Halt: The run has to end.
        """
        journal = self._journal
        await self._pace.step()
        ears = _TurnEars(journal, spec.agent, self._round, self._may_call)
        await ears.before_call()
        if not journal.hears():
            return ears
        journal.tell(
            AgentStart(
                session_id=journal.session_id,
                timestamp=journal.clock.now(),
                after=journal.fold.last_seq,
                agent=spec.agent,
                round=self._round,
                stage=self._stage,
                slot=spec.slot,
                role=spec.role,
                max_steps=spec.max_steps,
            )
        )
        return ears

    async def settled(self, turn: AnyTurn) -> None:
        """Store and tell how a turn ended."""
        session_id, number = self._journal.session_id, turn.round
        if turn.outcome == "answered":
            await self._journal.append(
                AgentComplete(
                    session_id=session_id, timestamp=turn.timestamp, turn=turn, agent=turn.agent_id, round=number
                )
            )
            return
        logger.warning(
            "agent failed: %s",
            turn.error.message,
            extra={"session": session_id, "agent": turn.agent_id, "round": number},
        )
        await self._journal.append(
            AgentError(
                session_id=session_id,
                timestamp=turn.timestamp,
                turn=turn,
                agent=turn.agent_id,
                round=number,
                error=turn.error.message,
            )
        )


class _TurnEars:
    """Hears one turn, and keeps its calls from starting once the run has to end."""

    def __init__(self, journal: Journal, agent: str, number: int, may_call: Callable[[], bool]) -> None:
        self._journal = journal
        self._agent = agent
        self._round = number
        self._may_call = may_call

    async def before_call(self) -> None:
        await self._journal.look()
        if not self._may_call():
            raise Halt

    async def chunk(self, text: str) -> None:
        journal = self._journal
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
        journal = self._journal
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
        journal = self._journal
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
        journal = self._journal
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
