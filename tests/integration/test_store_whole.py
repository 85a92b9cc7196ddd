"""A session that was held elsewhere is stored whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from unit.report_kit import events, record

from roundtable.core.base.owner import current_owner
from roundtable.errors import SessionBusy, StaleSequence, StorageError
from roundtable.record import store_whole
from roundtable.record.session_edit import store_past
from roundtable.storage import MemoryStorage
from roundtable.testing.storage_samples import owner_elsewhere
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from roundtable.types import DurableEvent

NAME = f"{7:032x}"
LOG: tuple[DurableEvent, ...] = tuple(
    event.model_copy(update={"seq": number}) for number, event in enumerate(events(NAME), 1)
)


class _Refusing(MemoryStorage):
    async def append(self, *_args: Any, **_more: Any) -> int:
        raise StorageError("the disk is full")


class _Cancelled(MemoryStorage):
    def __init__(self, scope: anyio.CancelScope) -> None:
        super().__init__()
        self._scope = scope

    async def append(self, *_args: Any, **_more: Any) -> int:
        self._scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_session_is_stored_with_all_its_events_and_without_an_owner() -> None:
    storage = MemoryStorage()
    await store_whole(storage, record(NAME), LOG)
    assert (await storage.read(NAME))[1] == LOG
    await storage.delete(NAME)


async def test_no_session_is_left_if_its_events_cannot_be_stored() -> None:
    storage = _Refusing()
    with pytest.raises(StorageError, match="the disk is full"):
        await store_whole(storage, record(NAME), LOG)
    assert not await storage.list(SessionFilter())


async def test_no_session_is_left_if_storing_is_cancelled() -> None:
    scope = anyio.CancelScope()
    storage = _Cancelled(scope)
    with scope:
        await store_whole(storage, record(NAME), LOG)
    assert scope.cancelled_caught
    assert not await storage.list(SessionFilter())


async def test_a_session_that_another_process_owns_is_left_to_it() -> None:
    storage = MemoryStorage()
    await storage.create(record(NAME))
    await storage.lease(NAME, owner_elsewhere("other"), 60)
    with pytest.raises(SessionBusy):
        await store_past(storage, NAME, LOG, tenant="default", owner=current_owner("mine"))
    assert (await storage.read(NAME))[1] == ()


async def test_a_session_that_another_process_has_owned_is_left_unchanged() -> None:
    storage = MemoryStorage()
    await store_whole(storage, record(NAME), LOG)
    with pytest.raises(StaleSequence):
        await store_past(storage, NAME, LOG[:1], tenant="default", owner=current_owner("mine"))
    assert (await storage.read(NAME))[1] == LOG
    await storage.lease(NAME, owner_elsewhere("other"), 1)  # nobody holds it


async def test_a_session_is_deleted_if_its_writer_is_cancelled_before_the_end() -> None:
    scope = anyio.CancelScope()

    class Answering(MemoryStorage):
        async def append(self, *args: Any, **more: Any) -> int:
            await super().append(*args, **more)
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

    storage = Answering()
    with scope:
        await store_whole(storage, record(NAME), LOG)
    assert scope.cancelled_caught
    assert not await storage.list(SessionFilter())
