"""Test doubles: scripted agents, a model that fails on purpose, a recording observer, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from roundtable.agents import BaseAgent
from roundtable.core.chat_models import close_stream
from roundtable.core.types.agents import AgentConfig
from roundtable.gateway.streams import ChatStream
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.testing.storage_samples import NOON

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.chat import ChatDelta, ChatRequest, ChatResponse
    from roundtable.core.types.events import Event
    from roundtable.providers.scripted import Reply

__all__ = ["Delay", "FaultyModel", "ManualClock", "RecordingObserver", "ScriptedModel", "scripted_agents"]


def scripted_agents(
    says: Mapping[str, Reply | Sequence[Reply]], *, confidence: float = 0.8, chunks: int = 0
) -> list[BaseAgent]:
    """Create one agent per entry.

    A plain text is a position. It becomes a complete answer, so each turn takes one call, without a retry. To script
    the raw text of a model, valid or not, use `ScriptedModel`.

    Args:
        says: The replies by agent id: one reply for every round, or a sequence with one per round. A reply is a plain
            text, or any other reply that `ScriptedModel` accepts; a text that starts with `{` is used unchanged.
        confidence: Confidence of plain texts.
        chunks: Number of pieces of a streamed answer; 0 for one piece.

    Example:
        >>> agents = scripted_agents({"ada": "Tea", "bo": ["Coffee", "Tea"]})
        >>> [agent.name for agent in agents]
        ['Ada', 'Bo']
    """
    agents = []
    for agent_id, replies in says.items():
        script: Reply | list[Reply]
        if isinstance(replies, Sequence) and not isinstance(replies, str):
            script = [_complete_answer(reply, agent_id, confidence) for reply in replies]
        else:
            script = _complete_answer(replies, agent_id, confidence)
        config = AgentConfig(id=agent_id, name=agent_id.title(), provider="scripted", model="scripted")
        agents.append(BaseAgent(config, ScriptedModel({agent_id: script}, chunks=chunks)))
    return agents


def _complete_answer(reply: Reply, agent_id: str, confidence: float) -> Reply:
    if isinstance(reply, Delay):
        return Delay(reply.seconds, _complete_answer(reply.reply, agent_id, confidence))
    if not isinstance(reply, str) or reply.lstrip().startswith("{"):
        return reply
    return {"position": reply, "reasoning": f"{agent_id} thinks so.", "confidence": confidence}


class FaultyModel:
    """A model that fails as configured, call by call, and otherwise answers like the wrapped model.

    Args:
        inner: The wrapped model.
        faults: One entry for each of the first calls. An exception is raised; a number is the delay of the answer in
            seconds; with `None`, the answer comes without delay. Later calls are answered without delay.
        after_deltas: Number of pieces that a stream yields before its exception.

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
        """Number of calls."""
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
        """Profile of the wrapped model."""
        return self.inner.profile

    def _next_fault(self) -> Exception | float | None:
        self.calls += 1
        return self._faults[self.calls - 1] if self.calls <= len(self._faults) else None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer, or fail as configured for this call.

        Raises:
            Exception: The configured exception of this call.
        """
        fault = self._next_fault()
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            await anyio.sleep(fault)
        return await self.inner.complete(request)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces; a configured exception is raised after `after_deltas` pieces."""
        return ChatStream(self._stream(request, self._next_fault()))

    async def _stream(
        self, request: ChatRequest, fault: Exception | float | None
    ) -> AsyncGenerator[ChatDelta | ChatResponse]:
        if isinstance(fault, float | int):
            await anyio.sleep(fault)
        sent = 0
        if isinstance(fault, Exception) and sent >= self._after_deltas:
            raise fault
        stream = self.inner.stream(request)
        try:
            async for piece in stream:
                yield piece
                sent += 1
                if isinstance(fault, Exception) and sent >= self._after_deltas:
                    raise fault
        finally:
            await close_stream(stream)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self.inner.aclose()


class RecordingObserver:
    """An observer that records all events.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> recorder = RecordingObserver()
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://", observers=[recorder])
        >>> anyio.run(lambda: table.debate("Tea?", rounds=1)).answer, recorder.types[-1]
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
        """Record an event."""
        self.events.append(event)


class ManualClock:
    """A clock that stands still until it is moved.

    Example:
        >>> clock = ManualClock()
        >>> before = clock.monotonic()
        >>> clock.move(2.5)
        >>> clock.monotonic() - before
        2.5
    """

    def __init__(self, start: datetime = NOON) -> None:
        self._start = start
        self._passed_s = 0.0

    def now(self) -> datetime:
        """Return the current time of the clock."""
        return self._start + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        """Return the seconds that the clock was moved by."""
        return self._passed_s

    def move(self, seconds: float) -> None:
        """Move the clock forward."""
        self._passed_s += seconds

    async def sleep(self, seconds: float) -> None:
        """Move the clock forward instead of waiting, and let other tasks run."""
        self.move(seconds)
        await anyio.lowlevel.checkpoint()
