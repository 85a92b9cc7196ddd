"""The journal of a run: who stores its events, and what a cancellation does meanwhile."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from roundtable.core.base.clock import SystemClock
from roundtable.core.engine.journal import Journal
from roundtable.errors import StorageError
from roundtable.record import Fold
from roundtable.storage import MemoryStorage
from roundtable.types import AgentConfig, DebateConfig, DurableEvent, LeaseOwner, LiveEvent, RoundStart, SessionRecord

pytestmark = [pytest.mark.anyio, pytest.mark.both_loops]


class SlowStorage(MemoryStorage):
    """A storage that stores nothing before it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = anyio.Event()
        self.fails = False
        self.locked = 0
        """How many calls find the storage locked by another process."""

    async def append(self, *arguments: object, **keywords: object) -> int:
        await self.allowed.wait()
        self._check_lock()
        if self.fails:
            raise OSError("no space left")
        return await super().append(*arguments, **keywords)  # type: ignore[arg-type]

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        self._check_lock()
        return await super().read(session_id, after, tenant=tenant)

    def _check_lock(self) -> None:
        if self.locked:
            self.locked -= 1
            raise StorageError("the storage is locked by another process", details={"reason": "locked"})


class Log:
    """A journal with what it published."""

    def __init__(self, storage: SlowStorage, journal: Journal, published: list[DurableEvent | LiveEvent]) -> None:
        self.storage, self.journal, self.published = storage, journal, published

    @classmethod
    async def open(cls) -> Log:
        config = DebateConfig(topic="Tea or coffee?", agents=("ada",))
        record = SessionRecord(id="s1", config=config, agents=(AgentConfig(id="ada", name="Ada", provider="scripted"),))
        storage, published = SlowStorage(), list[DurableEvent | LiveEvent]()
        await storage.create(record)
        lease = await storage.lease(
            "s1", LeaseOwner(name="test", host="here", boot_id="1", pid=1, process_start="1"), 60
        )
        return cls(storage, Journal(storage, Fold(record), lease, published.append, SystemClock()), published)

    def round(self, number: int) -> RoundStart:
        return RoundStart(session_id="s1", timestamp=SystemClock().now(), round=number, agents=("ada",))

    async def stored(self) -> list[int]:
        return [event.seq for event in (await self.storage.read("s1"))[1]]


@pytest.mark.parametrize("in_task", [True, False])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelling_an_asyncio_task_twice_waits_until_its_event_is_stored(*, in_task: bool) -> None:
    log = await Log.open()
    async with anyio.create_task_group() as group:
        if in_task:
            log.journal.write_in(group)
        task = asyncio.create_task(log.journal.append(log.round(1)))
        for _ in range(2):
            await asyncio.sleep(0.01)
            task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        assert log.published == []
        log.storage.allowed.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        log.journal.stop_writing()
    assert await log.stored() == [1]
    assert [event.type for event in log.published] == ["round_start"]


@pytest.mark.parametrize("in_task", [True, False])
async def test_a_cancelled_scope_does_not_interrupt_an_append(*, in_task: bool) -> None:
    log, returned = await Log.open(), []
    async with anyio.create_task_group() as group:
        if in_task:
            log.journal.write_in(group)
        async with anyio.create_task_group() as inner:

            async def append() -> None:
                await log.journal.append(log.round(1))
                returned.append(log.journal.fold.last_seq)

            inner.start_soon(append)
            await anyio.wait_all_tasks_blocked()
            inner.cancel_scope.cancel()
            log.storage.allowed.set()
        log.journal.stop_writing()
    assert returned == [1]
    assert await log.stored() == [1]


async def test_events_that_arrive_during_a_write_are_stored_together_and_the_last_ones_before_the_end() -> None:
    log = await Log.open()
    log.storage.allowed.set()
    async with anyio.create_task_group() as group:
        log.journal.write_in(group)
        async with anyio.create_task_group() as inner:
            for number in (1, 2, 3):
                inner.start_soon(log.journal.append, log.round(number))
            await anyio.wait_all_tasks_blocked()
        log.journal.stop_writing()
    await log.journal.append(log.round(4))
    assert await log.stored() == [1, 2, 3, 4]


async def test_a_journal_that_is_closed_at_once_stores_appended_events() -> None:
    log = await Log.open()
    log.storage.allowed.set()
    async with anyio.create_task_group() as group:
        group.start_soon(log.journal.append, log.round(1))
        await anyio.wait_all_tasks_blocked()
        log.journal.write_in(group)
        group.start_soon(log.journal.append, log.round(2))
        log.journal.stop_writing()
    assert await log.stored() == [1, 2]


async def test_every_caller_gets_the_error_of_a_write() -> None:
    log, errors = await Log.open(), []
    log.storage.fails = True
    log.storage.allowed.set()

    async def append(number: int) -> None:
        with pytest.raises(StorageError, match="no space left") as caught:
            await log.journal.append(log.round(number))
        errors.append(caught.value)

    async with anyio.create_task_group() as group:
        log.journal.write_in(group)
        async with anyio.create_task_group() as inner:
            inner.start_soon(append, 1)
            inner.start_soon(append, 2)
        log.journal.stop_writing()
    assert len(errors) == 2
    assert log.published == []


async def test_events_wait_in_memory_while_another_process_has_the_storage_locked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = await Log.open()
    log.storage.allowed.set()
    log.storage.locked = 2
    await log.journal.append(log.round(1))
    assert (await log.stored(), [event.type for event in log.published]) == ([1], ["round_start"])
    assert [line.getMessage() for line in caplog.records if line.name == "roundtable.engine"] == [
        "the storage is locked by another process; trying again for up to 30 s"
    ]


async def test_stop_requests_are_read_when_the_lock_ends() -> None:
    log = await Log.open()
    log.storage.locked = 1
    await log.journal.check_control()
    assert log.storage.locked == 0


@pytest.mark.parametrize("reads", [True, False])
async def test_a_lock_that_does_not_end_is_the_error_of_the_call(*, reads: bool) -> None:
    log = await Log.open()
    log.storage.allowed.set()
    log.storage.locked = 1_000_000
    log.journal.save_timeout_s = 0.02
    with pytest.raises(StorageError, match="locked by another process") as caught:
        await (log.journal.check_control() if reads else log.journal.append(log.round(1)))
    assert caught.value.is_locked
    log.storage.locked = 0
    assert await log.stored() == []
