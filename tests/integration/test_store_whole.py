"""A session that was held elsewhere is stored whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from unit.report_kit import events, record

from roundtable.errors import StorageError
from roundtable.record import store_whole
from roundtable.storage import MemoryStorage
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


async def test_it_is_stored_with_all_its_events_and_nobody_holds_it() -> None:
    storage = MemoryStorage()
    await store_whole(storage, record(NAME), LOG)
    assert (await storage.read(NAME))[1] == LOG
    await storage.delete(NAME)


async def test_nothing_is_left_where_the_events_cannot_be_stored() -> None:
    storage = _Refusing()
    with pytest.raises(StorageError, match="the disk is full"):
        await store_whole(storage, record(NAME), LOG)
    assert not await storage.list(SessionFilter())


async def test_nothing_is_left_where_storing_is_cancelled() -> None:
    scope = anyio.CancelScope()
    storage = _Cancelled(scope)
    with scope:
        await store_whole(storage, record(NAME), LOG)
    assert scope.cancelled_caught
    assert not await storage.list(SessionFilter())
