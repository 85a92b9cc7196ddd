"""Who may run a session: one owner at a time, however it fares."""

from __future__ import annotations

import logging

import anyio
import pytest
from integration.engine_kit import (
    CountingModel,
    FailingStorage,
    Gated,
    asking,
    engine_of,
    eventually,
    fold_of,
    late,
    said,
    seated,
    table_of,
)

from roundtable import Roundtable
from roundtable.engine import DebateEngine, RunLimits, SessionManager
from roundtable.errors import LeaseLost, RoundtableError, SessionBusy, SessionConflict, SessionNotFound, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage, current_owner
from roundtable.testing import Delay, ManualClock, scripted_agents
from roundtable.types import AgentResponse, ChatRequest, DurableEvent, Lease, LeaseOwner, SessionRecord

pytestmark = [pytest.mark.both_loops, pytest.mark.slow]


async def test_a_session_is_run_by_one_owner_at_a_time(disk: SQLiteStorage) -> None:
    model = CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(disk, agents)
    session = await engine.start_debate(asking(agents))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await eventually(lambda: model.under_way == 1)
        for attempt in (engine.run(session.id), engine.run_round(session.id), engine.carry_out_control(session.id)):
            with pytest.raises(SessionBusy) as caught:
                await attempt
            assert caught.value.retryable
            assert 0 < (caught.value.retry_after_s or 0) <= 15
        group.cancel_scope.cancel()
    assert len(model.begun) == 1
    assert (await fold_of(disk, session.id)).progress.status == "paused"


@pytest.mark.slow
async def test_a_waiting_process_gives_up_when_the_owner_renews_its_lease(caplog: pytest.LogCaptureFixture) -> None:
    storage, model = MemoryStorage(), CountingModel(late(30, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    limits = RunLimits(lease_ttl_s=2.4, wait_s=60)
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id, limits)
        await eventually(lambda: model.under_way == 1)
        with caplog.at_level(logging.INFO), anyio.fail_after(20), pytest.raises(SessionBusy):
            await engine.run(session.id, limits)
        group.cancel_scope.cancel()
    assert caplog.text.count("waiting for") == 1


async def test_the_lease_of_an_owner_elsewhere_is_waited_for() -> None:
    clock, model = ManualClock(), CountingModel("Tea")
    storage, agents = MemoryStorage(clock), seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    elsewhere = current_owner().model_copy(update={"host": "elsewhere"})
    await storage.lease(session.id, elsewhere, 60)
    with pytest.raises(SessionBusy):
        await engine.run(session.id)
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id, RunLimits(wait_s=60))
        await anyio.sleep(0.4)
        assert model.begun == []
        clock.move(60)
    assert (await fold_of(storage, session.id)).progress.status == "completed"


async def test_an_owner_that_lost_its_lease_writes_nothing_more() -> None:
    """It stood still for longer than its lease; another one went on, and it must notice."""

    class NeverRenewed(FailingStorage):
        stalled = False

        async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
            if self.stalled:
                raise StorageError("the network is gone")
            return await super().lease(session_id, owner, ttl_s, tenant=tenant)

    inner, asked, gate = MemoryStorage(), anyio.Event(), anyio.Event()
    storage = NeverRenewed(inner)

    class Gated(CountingModel):
        async def complete(self, request: ChatRequest) -> object:  # type: ignore[override]
            asked.set()
            await gate.wait()
            return await super().complete(request)

    stale, fresh = (
        engine_of(storage, seated(Gated("Milk"), "ada")),
        engine_of(inner, seated(CountingModel("Tea"), "ada")),
    )
    session = await stale.start_debate(asking(seated(CountingModel(), "ada"), rounds=1))
    failure: list[RoundtableError] = []

    async def run() -> None:
        try:
            await stale.run(session.id, RunLimits(lease_ttl_s=0.3))
        except RoundtableError as error:
            failure.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await asked.wait()
        storage.stalled = True
        fold = await fresh.run(session.id, RunLimits(wait_s=30))
        gate.set()
    assert fold.progress.status == "completed"
    assert [type(error) for error in failure] == [LeaseLost]
    record = (await fold_of(inner, session.id)).to_record()
    assert [turn.outcome == "answered" and turn.answer.to_json().count("Milk") for turn in record.rounds[0].turns] == [
        0
    ]
    assert record.to_json() == fold.to_record().to_json()


async def test_a_request_for_the_lease_that_is_cancelled_leaves_no_lease_behind() -> None:
    class SlowLease(FailingStorage):
        async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
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
        await table._wiring.sessions.delete_session(handle.session_id, force=True)
        with anyio.fail_after(10), pytest.raises(SessionNotFound):
            await handle.result()
    assert model.under_way == 0
    assert await SessionManager(disk).get_session(handle.session_id) is None


class Odd(FailingStorage):
    """A storage that raises what no storage should."""

    def __init__(self, inner: MemoryStorage, *, leasing: bool, error: Exception) -> None:
        super().__init__(inner)
        self._leasing, self._error = leasing, error
        self.broken = False
        self.raised = 0

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
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
async def test_any_error_of_a_storage_becomes_an_error_of_the_library_outside_of_any_group(leasing: bool) -> None:
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
        with anyio.fail_after(10), pytest.raises(RoundtableError, match="the debate failed with OSError: gone"):
            await engine.run(session.id, RunLimits(lease_ttl_s=0.6))
    assert model.under_way == 0


@pytest.mark.slow
@pytest.mark.parametrize("leasing", [True, False], ids=["renewing", "looking"])
async def test_a_storage_that_fails_for_a_while_does_not_end_a_debate(
    leasing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Odd(MemoryStorage(), leasing=leasing, error=StorageError("busy"))
    model = Gated({"*": said("Tea")})
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))

    async def break_it() -> None:
        await eventually(lambda: model.waiting == 1)
        storage.broken = True
        await eventually(lambda: storage.raised >= 2)
        storage.broken = False
        model.let()

    async with anyio.create_task_group() as group:
        group.start_soon(break_it)
        fold = await engine.run(session.id, RunLimits(lease_ttl_s=9.0))  # tried after 3 and 6 s
    assert fold.progress.status == "completed"
    if not leasing:
        assert caplog.text.count("could not be read") == 1  # logged once, not at every read


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


async def test_workers_that_recover_one_session_at_the_same_time_log_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage = MemoryStorage()
    agents = scripted_agents({"ada": Delay(0.2, said("Tea")), "bo": "Tea"})
    async with Roundtable(agents, storage=storage) as first, Roundtable(agents, storage=storage) as second:
        held = await first.start("Tea?", rounds=2, step=True)
        await held.result()
        with caplog.at_level("INFO", "roundtable"):
            handles = [await table.start_resume(held.session_id) for table in (first, second)]
            for handle in handles:
                await handle.wait()
        done = await handles[0].result()
        with pytest.raises((SessionConflict, SessionBusy)):
            await handles[1].result()
    assert (done.status, len(done.rounds)) == ("completed", 2)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == []
    assert any("nothing is run here" in record.message for record in caplog.records)
