"""Hearing a turn on behalf of whoever runs its stage: calls are counted, and no failure of the hearer gets lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from roundtable.errors import RoundtableError
    from roundtable.protocols import TurnListener
    from roundtable.types import ToolCall, ToolCallRecord

__all__ = ["Ears", "Halt"]


class Halt(Exception):
    """Raised by a listener to keep a model call from starting; the turn ends without an outcome."""


class Ears:
    """Passes on what it hears, counts the calls, and keeps what the listener raised, whatever the agent makes of it."""

    def __init__(self, listener: TurnListener) -> None:
        self._listener = listener
        self.calls = 0
        self.failure: Exception | None = None

    def check(self) -> None:
        """Raise what the listener raised."""
        if self.failure is not None:
            raise self.failure

    async def before_call(self) -> None:
        """See `TurnListener`."""
        await self._pass_on(self._listener.before_call())
        self.calls += 1

    async def chunk(self, text: str) -> None:
        """See `TurnListener`."""
        await self._pass_on(self._listener.chunk(text))

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """See `TurnListener`."""
        await self._pass_on(self._listener.retrying(attempt, delay_s, error))

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """See `TurnListener`."""
        await self._pass_on(self._listener.tool_called(step, call))

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """See `TurnListener`."""
        await self._pass_on(self._listener.tool_answered(step, call_id, record))

    async def _pass_on(self, heard: Awaitable[None]) -> None:
        try:
            await heard
        except Halt:
            raise
        except Exception as error:
            self.failure = error
            raise
