"""Doubles that fail on purpose, and one that notes what it hears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from roundtable.gateway.streams import ChatStream
from roundtable.gateway.wrapping import close_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from roundtable.protocols import ChatModel
    from roundtable.types import ChatDelta, ChatRequest, ChatResponse, Event, ModelProfile

__all__ = ["FaultyModel", "RecordingObserver"]


class FaultyModel:
    """A model that fails as told, call by call, and otherwise answers like the one inside.

    Args:
        inner: Who answers.
        faults: What becomes of the first calls, one each: an exception is raised, a number of seconds is waited before
            the answer, `None` answers at once. Calls after the last one are answered.
        after_deltas: How many pieces of a stream are given before its exception.

    Example:
        >>> import anyio
        >>> from roundtable.errors import APITimeoutError
        >>> from roundtable.testing import ScriptedModel
        >>> from roundtable.types import ChatRequest, Message
        >>> model = FaultyModel(ScriptedModel(["Tea"]), [APITimeoutError()])
        >>> ask = ChatRequest(model="", messages=(Message(role="user", content="Tea?"),))
        >>> async def twice():
        ...     try:
        ...         await model.complete(ask)
        ...     except APITimeoutError:
        ...         return (await model.complete(ask)).text, model.calls
        >>> anyio.run(twice)
        ('Tea', 2)
    """

    def __init__(self, inner: ChatModel, faults: Sequence[Exception | float | None], *, after_deltas: int = 0) -> None:
        self.inner = inner
        self.calls: int = 0
        """Calls so far."""
        self._faults = tuple(faults)
        self._after_deltas = after_deltas

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.inner.provider

    @property
    def model(self) -> str:
        """Model id."""
        return self.inner.model

    @property
    def profile(self) -> ModelProfile:
        """Profile of the model inside."""
        return self.inner.profile

    def _next(self) -> Exception | float | None:
        self.calls += 1
        return self._faults[self.calls - 1] if self.calls <= len(self._faults) else None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer, or do what this call is told.

        Raises:
            Exception: The one that was given for this call.
        """
        fault = self._next()
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            await anyio.sleep(fault)
        return await self.inner.complete(request)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces; an exception comes after as many of them as was said."""
        return ChatStream(self._stream(request, self._next()))

    async def _stream(
        self, request: ChatRequest, fault: Exception | float | None
    ) -> AsyncGenerator[ChatDelta | ChatResponse]:
        if isinstance(fault, float | int):
            await anyio.sleep(fault)
        given = 0
        if isinstance(fault, Exception) and given >= self._after_deltas:
            raise fault
        stream = self.inner.stream(request)
        try:
            async for piece in stream:
                yield piece
                given += 1
                if isinstance(fault, Exception) and given >= self._after_deltas:
                    raise fault
        finally:
            await close_stream(stream)

    async def aclose(self) -> None:
        """Close the model inside."""
        await self.inner.aclose()


class RecordingObserver:
    """An observer that keeps what it hears.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> heard = RecordingObserver()
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://", observers=[heard])
        >>> anyio.run(lambda: table.debate("Tea?", rounds=1)).answer, heard.types[-1]
        ('Tea', 'debate_complete')
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        """Every event, in order."""

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event.type for event in self.events]

    def notify(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)
