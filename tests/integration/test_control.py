"""Pause, stop, resume and extend, by whoever asks; and who may run a session at all."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import (
    ENOUGH_S,
    CountingModel,
    FailingStorage,
    asking,
    engine_of,
    eventually,
    fold_of,
    late,
    log_of,
    said,
    seated,
    table_of,
)

from roundtable.engine import DebateEngine, RunLimits, SessionManager
from roundtable.errors import RoundtableError, SessionBusy, SessionError, StorageError
from roundtable.providers.scripted import Reply
from roundtable.storage import MemoryStorage, SQLiteStorage, current_owner
from roundtable.types import AgentResponse, ChatRequest, DurableEvent, Lease, Owner, SessionRecord


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[SQLiteStorage]:
    made = SQLiteStorage(tmp_path / "debates.db")
    yield made
    await made.aclose()


def slow_first(request: ChatRequest) -> Reply:
    """Answer slowly in the first round, at once later."""
    return late(30 if request.metadata["round"] == "1" else 0, "Tea")


async def took_s(storage: object, session_id: str) -> float:
    """Give the time from the last request to the end of the run, by the clock of the log."""
    events = await log_of(storage, session_id)
    asked = [event for event in events if event.type == "control"][-1]
    assert events[-1].type == "debate_complete"
    return (events[-1].timestamp - asked.timestamp).total_seconds()


# ------------------------------------------------------------------------------------------------ stop


async def test_a_stop_ends_a_running_round_at_once_for_good() -> None:
    model, storage = CountingModel(late(30, "Tea")), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        handle = await table.start("Tea?", rounds=2)
        await eventually(lambda: model.under_way == 3)
        await handle.stop()
        with anyio.fail_after(10):
            result = await handle.result()
    assert (result.status, result.session_status, result.answer_reason) == ("partial", "completed", "no round was completed")
    assert result.exit is not None
    assert (result.exit.reason, result.exit.details) == ("stopped", "the caller asked to stop")
    assert (len(model.begun), model.under_way) == (3, 0)
    assert await took_s(storage, handle.session_id) < ENOUGH_S
    await fold_of(storage, handle.session_id)


async def test_what_was_answered_before_a_stop_is_kept() -> None:
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    storage = MemoryStorage()
    async with table_of(model, storage=storage) as table:
        handle = await table.start("Tea?")
        await eventually(lambda: model.ended == 1)
        await table.stop(handle.session_id)
        result = await handle.result()
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada"]
    assert result.exit is not None
    assert result.exit.reason == "stopped"


async def test_a_stop_is_not_softened_by_a_later_pause() -> None:
    storage, model = MemoryStorage(), CountingModel(late(0.1, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await eventually(lambda: model.under_way == 1)
        await engine.sessions.control(session.id, "stop", by="ada")
        await engine.sessions.control(session.id, "pause", by="bo")
    fold = await fold_of(storage, session.id)
    assert fold.progress.status == "completed"
    assert fold.exit is not None
    assert fold.exit.details == "ada asked to stop"


async def test_a_stop_while_agreement_is_measured_measures_nothing() -> None:
    class SlowMeter:
        async def measure(self, responses: Sequence[object], topic: str) -> object:
            await anyio.sleep(30)
            raise AssertionError

    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    engine.meter = SlowMeter()  # type: ignore[assignment]  # it never gives anything
    session = await engine.start_debate(asking(agents, rounds=1))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await anyio.sleep(0.1)
        await engine.sessions.control(session.id, "stop")
    fold = await fold_of(storage, session.id)
    assert (fold.progress.status, fold.rounds[0].consensus) == ("completed", None)
    assert await took_s(storage, session.id) < ENOUGH_S


# ------------------------------------------------------------------------------------------------ pause


async def test_a_pause_lets_running_calls_settle_and_starts_no_other(disk: SQLiteStorage) -> None:
    model = CountingModel(late(0.05, "Tea"))
    async with table_of(model, storage=disk) as table:
        handle = await table.start("Tea?", rounds=10)
        await eventually(lambda: len(model.begun) >= 4)
        await handle.pause()
        begun = len(model.begun)
        result = await handle.result()
        assert (result.status, result.session_status) == ("paused", "paused")
        assert result.exit is not None
        assert result.exit.reason == "paused"
        assert len(model.begun) <= begun + 3  # the stage that was beginning, and nothing after it
        assert sum(len(held.turns) for held in result.rounds) == len(model.begun)
        assert await took_s(disk, handle.session_id) < ENOUGH_S

        calls = len(model.begun)
        final = await table.resume(handle.session_id)
    assert (final.status, len(final.rounds)) == ("completed", 10)
    assert len(model.begun) == 30
    assert calls < 30
    await fold_of(disk, handle.session_id)


async def test_a_pause_taken_back_in_the_middle_of_a_stage_leaves_nobody_out() -> None:
    """The second agent was kept from speaking; it must speak once the pause is taken back."""
    storage = MemoryStorage()
    gate = anyio.Event()

    class Gated(CountingModel):
        async def complete(self, request: ChatRequest) -> object:  # type: ignore[override]
            if request.metadata["agent"] == "ada":
                await gate.wait()
            return await super().complete(request)

    model = Gated("Tea")
    ada, bo = seated(model, "ada", "bo")
    take_turn = bo.take_turn

    async def late_turn(*given: object) -> object:
        await anyio.sleep(0.1)
        return await take_turn(*given)  # type: ignore[arg-type]

    bo.take_turn = late_turn  # type: ignore[assignment, method-assign]
    engine = engine_of(storage, [ada, bo])
    session = await engine.start_debate(asking([ada, bo], rounds=1))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await anyio.sleep(0.05)
        await engine.sessions.control(session.id, "pause")
        await anyio.sleep(0.1)
        await engine.sessions.control(session.id, "resume")
        gate.set()
    fold = await fold_of(storage, session.id)
    assert fold.progress.status == "completed"
    assert [turn.agent_id for turn in fold.rounds[0].in_order()] == ["ada", "bo"]
    assert sorted(model.begun) == [("ada", "1"), ("bo", "1")]


# ------------------------------------------------------------------------------------------------ from elsewhere

ASK = """
import sys, anyio
from roundtable.engine import SessionManager
from roundtable.storage import SQLiteStorage
storage = SQLiteStorage(sys.argv[1])
anyio.run(SessionManager(storage).control, sys.argv[2], sys.argv[3])
storage.close()
"""


@pytest.mark.parametrize(("action", "status"), [("pause", "paused"), ("stop", "completed")])
async def test_another_process_may_pause_and_stop(disk: SQLiteStorage, tmp_path: Path, action: str, status: str) -> None:
    def reply(request: ChatRequest) -> Reply:
        return late(0.02 if action == "pause" else 30, "Tea")

    model = CountingModel(reply)
    async with table_of(model, storage=disk) as table:
        # Long enough not to end by itself while the other process starts.
        agents = seated(model, "ada", "bo", "cy")
        handle = await table.start("Tea?", rounds=10, agents=agents)
        if action == "pause":
            model._reply = lambda _: late(0.5, "Tea")
        await eventually(lambda: len(model.begun) > 0)
        command = [sys.executable, "-c", ASK, str(tmp_path / "debates.db"), handle.session_id, action]
        with anyio.fail_after(30):
            await anyio.to_thread.run_sync(lambda: subprocess.run(command, check=True))
            result = await handle.result()
    assert result.session_status == status
    assert await took_s(disk, handle.session_id) < ENOUGH_S
    await fold_of(disk, handle.session_id)


async def test_nobody_needs_to_run_a_session_for_it_to_be_paused_and_stopped(disk: SQLiteStorage) -> None:
    agents = seated(CountingModel("Tea"), "ada")
    engine = engine_of(disk, agents)
    session = await engine.start_debate(asking(agents))
    table = table_of(CountingModel("Tea"), "ada", storage=disk)
    await table.pause(session.id)
    assert (await table.session(session.id)).session_status == "paused"
    with pytest.raises(SessionError, match="is paused; only a running one can be paused"):
        await table.pause(session.id)
    await table.stop(session.id)
    stopped = await table.session(session.id)
    assert (stopped.session_status, stopped.exit and stopped.exit.reason) == ("completed", "stopped")
    with pytest.raises(SessionError, match="is completed already"):
        await table.stop(session.id)
    with pytest.raises(SessionError, match="is completed; only a running one can be paused"):
        await table.pause(session.id)
    await fold_of(disk, session.id)


@pytest.mark.parametrize("action", ["pause", "stop", "resume"])
async def test_a_request_that_comes_after_the_end_changes_nothing(action: str) -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    table = table_of(model, storage=storage)
    result = await table.debate("Tea?", rounds=1)
    await table.wiring.sessions.control(result.session_id, action)  # type: ignore[arg-type]
    await table.wiring.engine.obey(result.session_id)
    late_result = await table.session(result.session_id)
    assert (late_result.session_status, late_result.status, late_result.exit) == ("completed", "completed", result.exit)
    with pytest.raises(SessionError, match="is completed"):
        await table.resume(result.session_id)
    await fold_of(storage, result.session_id)


async def test_obeying_without_a_request_does_nothing() -> None:
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    await engine.obey(session.id)
    assert await log_of(storage, session.id) == ()


# ------------------------------------------------------------------------------------------------ leases


async def test_a_session_is_run_by_one_owner_at_a_time(disk: SQLiteStorage) -> None:
    model = CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(disk, agents)
    session = await engine.start_debate(asking(agents))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await eventually(lambda: model.under_way == 1)
        for attempt in (engine.run(session.id), engine.run_round(session.id), engine.obey(session.id)):
            with pytest.raises(SessionBusy) as caught:
                await attempt
            assert caught.value.retryable
            assert 0 < (caught.value.retry_after_s or 0) <= 15
        group.cancel_scope.cancel()
    assert len(model.begun) == 1
    assert (await fold_of(disk, session.id)).progress.status == "paused"


async def test_who_waits_gives_up_once_the_owner_shows_that_it_lives(caplog: pytest.LogCaptureFixture) -> None:
    storage, model = MemoryStorage(), CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    limits = RunLimits(lease_ttl_s=0.6, wait_s=20)
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id, limits)
        await eventually(lambda: model.under_way == 1)
        with caplog.at_level(logging.INFO), anyio.fail_after(5), pytest.raises(SessionBusy):
            await engine.run(session.id, limits)
        group.cancel_scope.cancel()
    assert caplog.text.count("waiting for") == 1


async def test_the_lease_of_an_owner_elsewhere_is_waited_for() -> None:
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    elsewhere = current_owner().model_copy(update={"host": "elsewhere"})
    await storage.lease(session.id, elsewhere, 0.4)
    with pytest.raises(SessionBusy):
        await engine.run(session.id)
    began = anyio.current_time()
    fold = await engine.run(session.id, RunLimits(wait_s=15))
    assert fold.progress.status == "completed"
    assert 0.2 < anyio.current_time() - began < 5


async def test_an_owner_that_lost_its_lease_writes_nothing_more() -> None:
    """It stood still for longer than its lease; another one went on, and it must notice."""

    class NeverRenewed(FailingStorage):
        stalled = False

        async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
            if self.stalled:
                raise StorageError("the network is gone")
            return await super().lease(session_id, owner, ttl_s, tenant=tenant)

    inner, gate = MemoryStorage(), anyio.Event()
    storage = NeverRenewed(inner)

    class Gated(CountingModel):
        async def complete(self, request: ChatRequest) -> object:  # type: ignore[override]
            await gate.wait()
            return await super().complete(request)

    stale, fresh = engine_of(storage, seated(Gated("Milk"), "ada")), engine_of(inner, seated(CountingModel("Tea"), "ada"))
    session = await stale.start_debate(asking(seated(CountingModel(), "ada"), rounds=1))
    failure: list[RoundtableError] = []

    async def run() -> None:
        try:
            await stale.run(session.id, RunLimits(lease_ttl_s=0.3))
        except RoundtableError as error:
            failure.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.sleep(0.02)
        storage.stalled = True
        fold = await fresh.run(session.id, RunLimits(wait_s=5))
        gate.set()
    assert fold.progress.status == "completed"
    assert [error.code for error in failure] == ["LEASE_LOST"]
    record = (await fold_of(inner, session.id)).to_record()
    assert [turn.outcome == "answered" and turn.answer.to_json().count("Milk") for turn in record.rounds[0].turns] == [0]
    assert record.to_json() == fold.to_record().to_json()


async def test_a_request_for_the_lease_that_is_cancelled_leaves_no_lease_behind() -> None:
    class SlowLease(FailingStorage):
        async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
            given = await super().lease(session_id, owner, ttl_s, tenant=tenant)
            if ttl_s:
                await anyio.sleep(30)
            return given

    inner, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(SlowLease(inner), agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    with anyio.move_on_after(0.05):
        await engine.run(session.id)
    assert (await engine_of(inner, agents).run(session.id)).progress.status == "completed"


async def test_a_session_deleted_while_it_runs_ends_its_run(disk: SQLiteStorage) -> None:
    model = CountingModel(late(30, "Tea"))
    async with table_of(model, storage=disk) as table:
        handle = await table.start("Tea?")
        await eventually(lambda: model.under_way == 3)
        await table.wiring.sessions.delete_session(handle.session_id)
        with anyio.fail_after(10), pytest.raises(SessionError) as caught:
            await handle.result()
    assert caught.value.code == "SESSION_NOT_FOUND"
    assert model.under_way == 0
    assert await SessionManager(disk).get_session(handle.session_id) is None


class Odd(FailingStorage):
    """A storage that raises what no storage should."""

    def __init__(self, inner: MemoryStorage, *, leasing: bool, error: Exception) -> None:
        super().__init__(inner)
        self._leasing, self._error = leasing, error
        self.broken = False
        self.raised = 0

    async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
        if self.broken and self._leasing and ttl_s:
            self.raised += 1
            raise self._error
        return await super().lease(session_id, owner, ttl_s, tenant=tenant)

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        if self.broken and not self._leasing:
            self.raised += 1
            raise self._error
        return await super().read(session_id, after, tenant=tenant)


@pytest.mark.parametrize("leasing", [True, False], ids=["renewing", "looking"])
async def test_a_storage_that_raises_anything_gives_an_error_of_ours_and_no_group(leasing: bool) -> None:
    storage = Odd(MemoryStorage(), leasing=leasing, error=OSError("gone"))
    model = CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine: DebateEngine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))

    async def break_it() -> None:
        await eventually(lambda: model.under_way == 1)
        storage.broken = True

    async with anyio.create_task_group() as group:
        group.start_soon(break_it)
        with anyio.fail_after(10), pytest.raises(RoundtableError, match="the debate broke on OSError: gone"):
            await engine.run(session.id, RunLimits(lease_ttl_s=0.6))
    assert model.under_way == 0


@pytest.mark.parametrize("leasing", [True, False], ids=["renewing", "looking"])
async def test_a_storage_that_fails_for_a_while_does_not_end_a_debate(
    leasing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Odd(MemoryStorage(), leasing=leasing, error=StorageError("busy"))
    model = CountingModel(late(0.9, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))

    async def break_it() -> None:
        await eventually(lambda: model.under_way == 1)
        storage.broken = True
        await eventually(lambda: storage.raised >= 2)
        storage.broken = False

    async with anyio.create_task_group() as group:
        group.start_soon(break_it)
        fold = await engine.run(session.id, RunLimits(lease_ttl_s=0.6))
    assert fold.progress.status == "completed"
    if not leasing:
        assert caplog.text.count("could not be looked at") == 1  # said once, not at every look


async def test_an_answer_from_outside_is_refused_while_the_session_runs() -> None:
    storage, model = MemoryStorage(), CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    stored = await engine.get_session(session.id)
    assert stored is not None
    answer = AgentResponse(agent_id="ada", agent_name="Ada", position="Tea")
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await eventually(lambda: model.under_way == 1)
        with pytest.raises(SessionBusy):
            await engine.sessions.update_session(stored.model_copy(update={"total_rounds": 5}))
        with pytest.raises(SessionBusy):
            await engine.sessions.add_response(session.id, answer)
        group.cancel_scope.cancel()
