from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from roundtable.protocols import KeyValue, Storage
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing.doubles import ManualClock
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.storage_suite import StorageSuite


class TestMemoryStorage(StorageSuite):
    @pytest.fixture
    async def storage(self, clock: ManualClock) -> AsyncIterator[Storage]:
        storage = MemoryStorage(clock)
        yield storage
        await storage.aclose()


class TestSQLiteStorage(StorageSuite):
    @pytest.fixture
    async def storage(self, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Storage]:
        storage = SQLiteStorage(tmp_path / "debates.db", clock=clock)
        yield storage
        await storage.aclose()

    @pytest.fixture
    def reopen(self, clock: ManualClock, tmp_path: Path) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            return SQLiteStorage(tmp_path / "debates.db", clock=clock)

        return reopen


class TestMemoryKeyValue(KeyValueSuite):
    @pytest.fixture
    async def kv(self, clock: ManualClock) -> AsyncIterator[KeyValue]:
        storage = MemoryStorage(clock)
        yield storage.kv
        await storage.aclose()


class TestSQLiteKeyValue(KeyValueSuite):
    @pytest.fixture
    async def kv(self, clock: ManualClock, tmp_path: Path) -> AsyncIterator[KeyValue]:
        storage = SQLiteStorage(tmp_path / "debates.db", clock=clock)
        yield storage.kv
        await storage.aclose()

    @pytest.fixture
    async def reopen(self, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Callable[[], Awaitable[KeyValue]]]:
        other = SQLiteStorage(tmp_path / "debates.db", clock=clock)

        async def reopen() -> KeyValue:
            return other.kv

        yield reopen
        await other.aclose()
