"""The PostgreSQL storage keeps the laws of all storages, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from roundtable.protocols import KeyValue, Storage
from roundtable.storage import PostgresStorage
from roundtable.testing.doubles import ManualClock
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.storage_suite import StorageSuite

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


class TestPostgresStorage(StorageSuite):
    @pytest.fixture
    async def storage(self, url: str, clock: ManualClock) -> AsyncIterator[Storage]:
        made = PostgresStorage(url, clock=clock, connections=4)
        yield made
        await made.aclose()

    @pytest.fixture
    def reopen(self, url: str, clock: ManualClock) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            return PostgresStorage(url, clock=clock, connections=2)

        return reopen


class TestPostgresKeyValue(KeyValueSuite):
    @pytest.fixture
    async def kv(self, url: str, clock: ManualClock) -> AsyncIterator[KeyValue]:
        made = PostgresStorage(url, clock=clock, connections=4)
        yield made.kv
        await made.aclose()

    @pytest.fixture
    async def reopen(self, url: str, clock: ManualClock) -> AsyncIterator[Callable[[], Awaitable[KeyValue]]]:
        made = PostgresStorage(url, clock=clock, connections=2)

        async def reopen() -> KeyValue:
            return made.kv

        yield reopen
        await made.aclose()
