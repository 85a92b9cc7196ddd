"""Requests that come at awkward moments, and writes that come through late."""

from __future__ import annotations

import anyio
import pytest
from integration.engine_kit import (
    CountingModel,
    asking,
    engine_of,
    eventually,
    fold_of,
    late,
    lawful,
    log_of,
    said,
    seated,
    table_of,
)

from roundtable.engine import Extension, RunLimits
from roundtable.errors import ConfigurationError, SessionError, StorageError
from roundtable.exits import MaxRounds
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ChatResponse, DurableEvent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("action", ["pause", "stop"])
async def test_a_request_made_before_the_run_began_is_obeyed(action: str) -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    agents = seated(model, "ada", "bo")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    await engine.sessions.control(session.id, "pause" if action == "pause" else "stop")
    fold = await engine.run(session.id)
    assert len(model.begun) == 0
    assert fold.progress.status == ("paused" if action == "pause" else "completed")
    assert fold.exit is not None
    assert fold.exit.reason == ("paused" if action == "pause" else "stopped")


async def test_resuming_a_session_discards_an_unanswered_request() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    await engine.sessions.control(session.id, "pause")
    fold = await engine.run(session.id, RunLimits(resume=True))
    assert fold.progress.status == "completed"
    assert len(model.begun) == fold.progress.total_rounds


async def test_extending_an_interrupted_session_keeps_its_exit() -> None:
    storage = MemoryStorage()
    model = CountingModel("Tea")
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    config = asking(agents).model_copy(update={"rounds": 9, "exit": MaxRounds(2).to_spec()})
    session = await engine.start_debate(config)
    await engine.run(session.id, RunLimits(rounds=1))
    fold = await engine.run(session.id, extension=Extension(rounds=1))
    assert len(fold.rounds) == 2


async def test_a_stopped_round_is_not_used_as_the_previous_round() -> None:
    storage, model = (
        MemoryStorage(),
        CountingModel(lambda request: late(30, "Tea") if "Round 2" in _text(request) else said("Tea")),
    )
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    assert (await engine.run_round(session.id)).round_number == 1

    async def stop() -> None:
        await eventually(lambda: model.under_way == 1)
        await engine.sessions.control(session.id, "stop")

    async with anyio.create_task_group() as group:
        group.start_soon(stop)
        with pytest.raises(SessionError, match="was not completed") as error:
            await engine.run_round(session.id)
    assert error.value.hint


def _text(request: object) -> str:
    return "\n".join(message.content for message in request.messages)  # type: ignore[attr-defined]


class _LateStorage(MemoryStorage):
    """Stores the first answer, and says so too late."""

    slow = True

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: list[DurableEvent],  # type: ignore[override]
        *,
        tenant: str = "default",
    ) -> int:
        stored = await super().append(session_id, expected_seq, token, events, tenant=tenant)
        if self.slow and any(event.type == "agent_complete" for event in events):
            self.slow = False
            await anyio.sleep(3)
        return stored


async def test_a_late_write_is_recognized_as_an_own_write() -> None:
    storage, model = _LateStorage(), CountingModel("Tea")
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))

    def hurry(run: object) -> None:
        run.journal.save_timeout_s = 0.1  # type: ignore[attr-defined]

    with pytest.raises(StorageError, match="did not answer within"):
        await engine.run(session.id, on_start=hurry)
    fold = lawful(*await storage.read(session.id))
    assert fold.progress.status == "error"
    assert (await log_of(storage, session.id))[-1].type == "error"
    fold = await engine.run(session.id)
    assert fold.progress.status == "completed"
    assert len(model.begun) == fold.progress.total_rounds


class _UntoldStorage(MemoryStorage):
    """Stores the first events of a type, and fails all the same."""

    def __init__(self, event_type: str) -> None:
        super().__init__()
        self._untold: str | None = event_type

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: list[DurableEvent],  # type: ignore[override]
        *,
        tenant: str = "default",
    ) -> int:
        stored = await super().append(session_id, expected_seq, token, events, tenant=tenant)
        if any(event.type == self._untold for event in events):
            self._untold = None
            raise StorageError("the line is cut")
        return stored


@pytest.mark.slow
@pytest.mark.both_loops
async def test_an_answer_that_was_stored_before_a_write_error_is_counted_once() -> None:
    async def slow_to_leave(_: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.6)  # requests to pause are looked for meanwhile

    class Leaving(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            try:
                return await super().complete(request)
            except anyio.get_cancelled_exc_class():
                await slow_to_leave(request)
                raise

    storage = _UntoldStorage("agent_complete")
    model = Leaving(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    agents = seated(model, "ada", "bo")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    with pytest.raises(StorageError, match="the line is cut"):
        await engine.run(session.id)
    fold = lawful(*await storage.read(session.id))
    assert [event.type for event in await log_of(storage, session.id)][-3:] == ["agent_complete", "exit", "error"]
    assert fold.progress.status == "error"
    assert (fold.usage.calls, fold.usage.unreported_calls) == (len(model.begun), 1) == (2, 1)


async def test_an_end_that_was_stored_before_a_write_error_stays_the_end() -> None:
    storage, model = _UntoldStorage("debate_complete"), CountingModel("Tea")
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    with pytest.raises(StorageError, match="the line is cut"):
        await engine.run(session.id)
    fold = lawful(*await storage.read(session.id))
    assert fold.progress.status == "completed"
    assert (await log_of(storage, session.id))[-1].type == "debate_complete"


async def test_a_lost_quorum_is_also_the_reason_of_the_exit() -> None:
    storage, model = MemoryStorage(), CountingModel(lambda _: ValueError("no"))
    table = table_of(model, "ada", storage=storage)
    with pytest.raises(Exception, match="0 of 1 agent answered"):
        await table.debate("Tea?")
    (summary,) = await table.sessions()
    fold = await fold_of(storage, summary.id)
    assert fold.exit is not None
    assert fold.exit.reason == "quorum_lost"


@pytest.mark.parametrize(
    "change", [pytest.param({"decide": "nonsense"}, id="rule"), pytest.param({"exit": {"kind": "x"}}, id="exit")]
)
async def test_impossible_requests_are_refused_before_any_call(change: dict[str, object]) -> None:
    agents = seated(CountingModel("Tea"), "ada")
    engine = engine_of(MemoryStorage(), agents)
    config = asking(agents).model_copy(update=change)
    with pytest.raises(ConfigurationError):
        await engine.start_debate(config)
