"""What the tests of engine and facade share: tables, models that count, storages that fail, and the laws of a log."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
import pytest

from roundtable import Roundtable
from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.engine import DebateEngine, SessionManager
from roundtable.errors import StorageError
from roundtable.modes import BaseModeStrategy, ModeRegistry
from roundtable.protocols import Storage
from roundtable.providers.scripted import Delay, Reply, ScriptedModel
from roundtable.record import Fold
from roundtable.storage import MemoryStorage
from roundtable.types import (
    AgentConfig,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    DebateConfig,
    DebateContext,
    DurableEvent,
    EndRound,
    Event,
    Lease,
    LeaseOwner,
    ModelProfile,
    Plan,
    SessionFilter,
    SessionRecord,
    SessionSummary,
    Stage,
    TurnSpec,
)

ENOUGH_S = 2.25
"""What a quarter of a second is allowed to become on a busy machine."""
NEVER_S = 300.0
"""Longer than any test may last."""


def some_every_day(cases: Iterable[Any], step: int) -> list[Any]:
    """Return the cases of a test: each `step`-th runs every day, the others in CI alone."""
    sets = [pytest.param(*case) if isinstance(case, tuple) else pytest.param(case) for case in cases]
    return [
        case if place % step == 0 else pytest.param(*case.values, marks=pytest.mark.slow)
        for place, case in enumerate(sets)
    ]


def said(position: str, **more: Any) -> dict[str, Any]:
    return {"position": position, "reasoning": "Because.", "confidence": 0.8} | more


def late(seconds: float, position: str) -> Delay:
    return Delay(seconds, said(position))


def nonces() -> Callable[[], str]:
    """Return a source of fence ids that are the same in every run."""
    numbers = itertools.count()
    return lambda: f"{next(numbers):016x}"


def fixed(_: object = None) -> str:
    return "0123456789abcdef"


class Gated(ScriptedModel):
    """A scripted model that answers as often as a test lets it."""

    def __init__(self, script: Any, **options: Any) -> None:
        super().__init__(script, **options)
        self._let = anyio.Semaphore(0)

    @property
    def waiting(self) -> int:
        """Number of calls that wait."""
        return self._let.statistics().tasks_waiting

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await self._let.acquire()
        return await super().complete(request)

    def let(self, answers: int = 1000) -> None:
        """Allow some answers; without a number, all that the model is asked for."""
        for _ in range(answers):
            self._let.release()


class CountingModel:
    """A real model that answers by agent and keeps count of calls begun and under way."""

    provider = "scripted"
    model = "counting"

    def __init__(self, reply: Callable[[ChatRequest], Reply] | Reply = "Tea", *, streams: bool = False) -> None:
        self.profile = ModelProfile(streams=streams)
        self.begun: list[tuple[str, str]] = []
        self.prompts: list[tuple[str, str, str]] = []
        self.ended = 0
        self._reply = reply if callable(reply) else lambda _: reply

    @property
    def under_way(self) -> int:
        return len(self.begun) - self.ended

    async def complete(self, request: ChatRequest) -> ChatResponse:
        who, number = request.metadata["agent"], request.metadata["round"]
        self.begun.append((who, number))
        self.prompts.append((who, number, json.dumps([message.to_json() for message in request.messages])))
        try:
            reply = self._reply(request)
            text = said(reply) if isinstance(reply, str) else reply
            return await ScriptedModel([text]).complete(request)
        finally:
            self.ended += 1

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        response = await self.complete(request)
        for letter in response.text:
            yield ChatDelta(text=letter)
        yield response

    async def aclose(self) -> None:
        pass


class Asked(CountingModel):
    """Counts how often it was asked for pieces, and how often for whole answers."""

    def __init__(self, reply: Callable[[ChatRequest], Reply] | Reply = "Tea") -> None:
        super().__init__(reply, streams=True)
        self.streamed = 0

    @property
    def whole(self) -> int:
        return len(self.begun) - self.streamed

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        self.streamed += 1
        return super().stream(request)


def seated(model: Any, *names: str, nonce: Callable[[], str] = fixed) -> list[BaseAgent]:
    """Seat agents that all speak through one model."""
    return [
        BaseAgent(
            AgentConfig(id=name, name=name.title(), provider=model.provider, model=model.model), model, nonce=nonce
        )
        for name in names
    ]


def table_of(model: Any, *names: str, storage: Any = None, **more: Any) -> Roundtable:
    """Make a table of agents that all speak through one model."""
    return Roundtable(
        seated(model, *(names or ("ada", "bo", "cy"))), storage=MemoryStorage() if storage is None else storage, **more
    )


def engine_of(storage: Any, agents: Sequence[BaseAgent], *modes: BaseModeStrategy) -> DebateEngine:
    """Make an engine that keeps these agents."""
    registry, strategies = AgentRegistry(), ModeRegistry()
    for agent in agents:
        registry.add_agent(agent)
    for mode in modes:
        strategies.register_mode(mode.name, mode)
    return DebateEngine(SessionManager(storage), registry, strategies)


def asking(agents: Sequence[BaseAgent], **more: Any) -> DebateConfig:
    return DebateConfig(topic="Tea or coffee?", agents=tuple(agent.id for agent in agents), **more)


async def log_of(storage: Any, session_id: str) -> tuple[DurableEvent, ...]:
    events: tuple[DurableEvent, ...] = (await storage.read(session_id))[1]
    return events


async def cut_off(engine: Any, session_id: str, model: CountingModel, *, answered: int, waiting: int = 1) -> None:
    """Run a session, and cancel it while so many calls wait and so many answers are stored."""
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session_id)
        with anyio.fail_after(NEVER_S):
            while True:
                log = await log_of(engine.sessions.storage, session_id)
                answers = sum(event.type == "agent_complete" for event in log)
                if (model.under_way, answers) == (waiting, answered):
                    break
                await anyio.sleep(0.005)
        group.cancel_scope.cancel()


async def fold_of(storage: Any, session_id: str) -> Fold:
    """Fold what is stored, and see that it keeps the laws of a log."""
    record, events = await storage.read(session_id)
    return lawful(record, events)


MOVES = {
    ("created", "active"),
    ("created", "completed"),
    ("created", "paused"),
    ("created", "error"),
    ("active", "paused"),
    ("active", "completed"),
    ("active", "error"),
    ("paused", "active"),
    ("paused", "completed"),
    ("error", "active"),
    ("error", "completed"),
    ("completed", "active"),
}
TERMINAL = {"debate_complete", "error"}


def lawful(record: SessionRecord, events: Sequence[DurableEvent]) -> Fold:
    """Fold a log, checking the laws that hold of every log whatever happened."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    told = [event for event in events if event.type != "control" and not _from_outside(event)]
    assert not told or told[0].type in {"debate_start", "exit"} | TERMINAL
    fold, over = Fold(record), False
    for event in events:
        before = fold.progress
        fold.apply(event)
        after = fold.progress
        if before.status != after.status:
            assert (before.status, after.status) in MOVES, event
        if (before.status, after.status) == ("completed", "active"):
            assert event.type == "control"
            assert event.action == "extend"
        assert after.current_round <= after.total_rounds
        assert after.current_round >= before.current_round
        if _from_outside(event):
            continue
        if event.type == "control":
            over = over and event.action in {"pause", "stop"}
            continue
        # After the end of a run somebody has to ask for more before anything else is said; a stop also ends a
        # session that does not run.
        assert not over or event.type in {"exit", "debate_complete"}, event
        over = event.type in TERMINAL
    _rounds_lawful(record, fold)
    return fold


def _from_outside(event: DurableEvent) -> bool:
    """Check whether an event is an answer from outside, which may come at any time."""
    return event.type == "agent_complete" and event.turn.stage == "external"


def _rounds_lawful(record: SessionRecord, fold: Fold) -> None:
    whole = fold.to_record()
    names = [agent.id for agent in record.agents]
    for place, held in enumerate(whole.rounds, 1):
        assert held.number == place
        assert held.complete or place == len(whole.rounds)
        asked = [turn.agent_id for turn in held.turns if turn.stage == "positions"]
        # Whatever the order of finish: the order of the configuration.
        assert asked == [name for name in names if name in asked]
        if held.complete and record.config.mode == "collaborative":
            assert asked == names
            assert held.consensus is not None
    assert type(whole).from_json(whole.to_json()) == whole


class FailingStorage:
    """A storage whose medium fails when told to; what it acknowledged stays in the storage behind it.

    Args:
        inner: What keeps the sessions.
        after: Appends that succeed before the medium fails; `None` while it works.
        lost_answer: Whether a failing append is stored all the same, and only its answer is lost.
    """

    def __init__(self, inner: Storage, *, after: int | None = None, lost_answer: bool = False) -> None:
        self.inner = inner
        self.left = after
        self.lost_answer = lost_answer
        self.acknowledged: list[DurableEvent] = []
        self.appends = 0
        self.failing_reads = False

    def _check(self) -> None:
        if self.left is None:
            return
        if self.left <= 0:
            raise StorageError("the disk is full")
        self.left -= 1

    async def create(self, record: SessionRecord) -> None:
        await self.inner.create(record)

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        self.appends += 1
        if self.lost_answer and self.left == 0:
            await self.inner.append(session_id, expected_seq, token, events, tenant=tenant)
        self._check()
        last = await self.inner.append(session_id, expected_seq, token, events, tenant=tenant)
        self.acknowledged.extend(events)
        return last

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        if self.failing_reads:
            raise StorageError("the disk cannot be read")
        return await self.inner.read(session_id, after, tenant=tenant)

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        return await self.inner.list(filter)

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        return await self.inner.lease(session_id, owner, ttl_s, tenant=tenant)

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        await self.inner.delete(session_id, tenant=tenant)

    async def aclose(self) -> None:
        await self.inner.aclose()


class CourtMode(BaseModeStrategy):
    """Two stages a round: everybody but the last pleads at once, then the last one answers them all."""

    name = "court"

    def next_stage(self, view: DebateContext) -> Plan:
        *pleading, judge = view.agents
        if not self.stage_done(view, "pleas"):
            turns = [TurnSpec(slot=slot, agent=seat.id, task="Plead.") for slot, seat in enumerate(pleading)]
            return Stage(name="pleas", turns=tuple(turns))
        if not self.stage_done(view, "ruling"):
            return Stage(name="ruling", turns=(TurnSpec(slot=0, agent=judge.id, task="Rule."),))
        return EndRound()


async def eventually(law: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait until something holds."""
    with anyio.fail_after(within_s):
        while not law():  # noqa: ASYNC110  (a law of anything; nobody tells when it begins to hold)
            await anyio.sleep(0.005)


def by_round(request: ChatRequest) -> Reply:
    """Answer with the speaker and the round."""
    return said(f"{request.metadata['agent']} {request.metadata['round']}")


def durable(events: Sequence[Event]) -> list[DurableEvent]:
    return [event for event in events if event.durable]  # type: ignore[misc]  # that is what `durable` says


def by_agent(replies: Mapping[str, Reply]) -> Callable[[ChatRequest], Reply]:
    return lambda request: replies[request.metadata["agent"]]
