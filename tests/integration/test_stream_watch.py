"""Following a session that runs here or elsewhere, and what a listener may rely on."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import (
    CountingModel,
    FailingStorage,
    durable,
    eventually,
    late,
    log_of,
    table_of,
)

from roundtable import Roundtable
from roundtable.api.runs import DebateHandle
from roundtable.core.engine.events import Subscription
from roundtable.engine import EventHub
from roundtable.errors import SessionError, SessionNotFound, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.types import Control, DurableEvent, SessionRecord, utc_now

pytestmark = pytest.mark.both_loops


async def watched(table: Roundtable, session_id: str, after: int = 0) -> list[int]:
    with anyio.fail_after(10):
        async with table.watch(session_id, after=after) as watch:
            return [event.seq async for event in watch if event.durable]  # type: ignore[union-attr]


async def test_a_finished_session_is_watched_from_anywhere_to_its_end() -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1)
    last = (await log_of(table._wiring.storage, result.session_id))[-1].seq
    assert await watched(table, result.session_id) == list(range(1, last + 1))
    for after in (1, last - 1, last, last + 5):
        assert await watched(table, result.session_id, after) == list(range(after + 1, last + 1))


async def test_a_running_session_is_watched_as_it_goes() -> None:
    storage = MemoryStorage()
    async with table_of(CountingModel(late(0.02, "Tea"), streams=True), storage=storage) as table:
        handle = await table.start("Tea?", rounds=2)
        heard = [event async for event in handle.events()]
        assert tuple(durable(heard)) == await log_of(storage, handle.session_id)
        assert any(not event.durable for event in heard)
        assert (await handle.result()).status == "completed"


async def test_a_watcher_of_a_continuing_run_gets_all_of_its_events() -> None:
    storage, model = MemoryStorage(), CountingModel(late(0.02, "Tea"))
    async with table_of(model, storage=storage) as table:
        first = await table.start("Tea?", rounds=3)
        await eventually(lambda: len(model.begun) >= 3)
        await first.pause()
        await first.result()
        resumed = await table.start_resume(first.session_id)
        with anyio.fail_after(20):
            heard = [event async for event in resumed.events()]
        assert tuple(durable(heard)) == await log_of(storage, first.session_id)
        assert (await resumed.result()).status == "completed"
        last = (await log_of(storage, first.session_id))[-1].seq
        extended = await table.start_resume(first.session_id, rounds=1)
        with anyio.fail_after(20):
            heard = [event async for event in extended.events(after=last)]
        assert tuple(durable(heard)) == (await log_of(storage, first.session_id))[last:]
        assert heard


async def test_a_session_that_runs_elsewhere_is_watched_through_the_log(tmp_path: Path) -> None:
    here, there = SQLiteStorage(tmp_path / "d.db"), SQLiteStorage(tmp_path / "d.db")
    async with table_of(CountingModel(late(0.05, "Tea")), storage=here) as table:
        handle = await table.start("Tea?", rounds=3)
        other = table_of(CountingModel("Tea"), storage=there)
        numbers = await watched(other, handle.session_id)
        result = await handle.result()
        assert numbers == [event.seq for event in await log_of(here, result.session_id)]
    await here.aclose()
    await there.aclose()


async def test_watching_a_paused_session_ends_and_watching_a_resumed_one_continues() -> None:
    storage, model = MemoryStorage(), CountingModel(late(0.02, "Tea"))
    async with table_of(model, storage=storage) as table:
        handle = await table.start("Tea?", rounds=3)
        await eventually(lambda: len(model.begun) >= 3)
        await handle.pause()
        await handle.result()
        paused = await watched(table, handle.session_id)
        assert paused == list(range(1, paused[-1] + 1))
        async with anyio.create_task_group() as group:
            group.start_soon(table.resume, handle.session_id)
            await eventually(lambda: model.under_way > 0)
            rest = await watched(table, handle.session_id, paused[-1])
        assert rest[0] == paused[-1] + 1
        assert (await log_of(storage, handle.session_id))[-1].seq == rest[-1]


async def heard_by(handle: DebateHandle, after: int = 0) -> list[str]:
    with anyio.fail_after(30):
        return [event.type async for event in handle.events(after=after) if event.durable]


async def test_a_listener_of_a_handle_is_released_after_the_one_round_of_a_step() -> None:
    async with table_of(CountingModel(late(0.02, "Tea"))) as table:
        handle = await table.start("Tea?", rounds=2, step=True)
        early = await heard_by(handle)
        assert early.count("round_complete") == 1
        assert early == [event.type for event in await log_of(table._wiring.storage, handle.session_id)]
        # The same once it is over, from anywhere in the log.
        assert handle.done
        assert await heard_by(handle) == early
        assert await heard_by(handle, 2) == early[2:]
        assert await heard_by(handle, len(early) + 5) == []

        second = await table.start_resume(handle.session_id)
        both = await heard_by(second)
        assert both.count("round_complete") == 2
        assert both[-1] == "debate_complete"
        assert await heard_by(second, len(early)) == both[len(early) :]


async def test_listeners_of_a_handle_are_released_after_a_pause() -> None:
    async with table_of(CountingModel(late(0.02, "Tea"))) as table:
        handle = await table.start("Tea?", rounds=3)
        async with anyio.create_task_group() as group:
            group.start_soon(heard_by, handle)
            group.start_soon(heard_by, handle, 3)
            await handle.pause()
        assert (await heard_by(handle))[-1] == "debate_complete"


async def test_an_unknown_session_cannot_be_watched() -> None:
    table = table_of(CountingModel("Tea"))
    for after in (0, 3):
        with pytest.raises(SessionError):
            await watched(table, "nobody", after)
        entered = False
        with pytest.raises(SessionNotFound):
            async with table.watch("nobody", after=after):
                entered = True
        assert not entered
    assert table._wiring.hub._subscribers == {}


async def test_a_watch_that_is_dropped_listens_no_more() -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1)
    watch = table.watch(result.session_id)
    await anext(watch)
    del watch
    gc.collect()
    assert table._wiring.hub._subscribers == {}


async def test_durable_events_emitted_while_the_log_is_read_are_not_lost() -> None:
    class SlowRead(FailingStorage):
        during: Callable[[], Awaitable[None]] | None = None

        async def read(
            self, session_id: str, after: int = 0, *, tenant: str = "default"
        ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
            found = await super().read(session_id, after, tenant=tenant)
            if self.during is not None:
                during, self.during = self.during, None
                await during()
            return found

    storage, hub = SlowRead(MemoryStorage()), EventHub()
    await storage.create(_record())
    place = hub.subscribe("s", storage)

    async def tell(count: int) -> None:
        for _ in range(count):
            event = Control(session_id="s", timestamp=utc_now(), action="pause")
            seq = await storage.append("s", None, None, (event,))
            hub.publish(event.model_copy(update={"seq": seq}))

    await tell(2)
    storage.during = lambda: tell(3)
    place.fall_behind()
    assert await _numbers(place) == [1, 2, 3, 4, 5]


def _record() -> SessionRecord:
    from roundtable.types import AgentConfig, DebateConfig

    ada = AgentConfig(id="ada", name="Ada", provider="scripted")
    return SessionRecord(id="s", config=DebateConfig(topic="Tea?", agents=("ada",)), agents=(ada,))


async def _numbers(place: Subscription) -> list[int]:
    found: list[int] = []
    while (event := await place.take(0.01)) is not None:
        assert event.durable
        found.append(event.seq)  # type: ignore[union-attr]
    return found


async def _with_log(count: int) -> tuple[FailingStorage, EventHub]:
    storage, hub = FailingStorage(MemoryStorage()), EventHub()
    await storage.create(_record())
    for _ in range(count):
        await storage.append("s", None, None, (Control(session_id="s", timestamp=utc_now(), action="pause"),))
    return storage, hub


async def test_a_gap_in_the_live_events_is_filled_from_the_log() -> None:
    storage, hub = await _with_log(5)
    place = hub.subscribe("s", storage, after=2)
    hub.publish(Control(session_id="s", seq=5, timestamp=utc_now(), action="pause"))
    assert await _numbers(place) == [3, 4, 5]


async def test_a_gap_that_the_log_cannot_fill_does_not_loop_for_ever() -> None:
    storage, hub = await _with_log(1)
    place = hub.subscribe("s", storage, after=1)
    hub.publish(Control(session_id="s", seq=9, timestamp=utc_now(), action="pause"))
    with anyio.fail_after(5):
        assert await _numbers(place) == [9]


async def test_a_failed_or_cancelled_read_is_repeated() -> None:
    storage, hub = await _with_log(3)
    with hub.subscribe("s", storage) as place:
        place.fall_behind()
        storage.failing_reads = True
        with pytest.raises(StorageError):
            await place.take()
        storage.failing_reads = False
        with anyio.CancelScope() as scope:
            scope.cancel()
            await place.take()
        assert await _numbers(place) == [1, 2, 3]
    place.close()
    assert hub._subscribers == {}
