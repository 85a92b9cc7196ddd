"""A fleet on a storage that is not one of the built-in classes: it only needs `kv` and `queue_database`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration.fleet_child import table_for

from roundtable.errors import ConfigurationError
from roundtable.fleet import Fleet
from roundtable.protocols import HoldsQueues
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.types import QueueDatabase

pytest.importorskip("dbos")

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


class Shelf:
    """A storage of a third party, which keeps its sessions in a SQLite file without being `SQLiteStorage`."""

    def __init__(self, path: Path) -> None:
        self._inner = SQLiteStorage(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.slow
async def test_a_fleet_keeps_its_queue_at_the_place_that_the_storage_names(tmp_path: Path) -> None:
    shelf: Any = Shelf(tmp_path / "shelf.db")
    assert isinstance(shelf, HoldsQueues)
    async with table_for(shelf, tmp_path) as table, Fleet(table) as fleet:
        assert await fleet.jobs() == ()  # nothing is created yet
        assert not (tmp_path / "shelf.fleet.db").exists()
        await fleet.submit("drinks", ["question-0: tea or coffee?"], rounds=1)
        await fleet.work(until_done="drinks")
        assert [result.answer for result in await fleet.results("drinks")] == ["Tea"]
        with pytest.raises(ConfigurationError, match="unknown job 'dishes'"):
            await fleet.status("dishes")
    assert (tmp_path / "shelf.fleet.db").exists()


async def test_a_storage_without_a_place_for_queues_is_refused_with_a_hint(tmp_path: Path) -> None:
    async with table_for(MemoryStorage(), tmp_path) as table, Fleet(table) as fleet:
        with pytest.raises(ConfigurationError, match="cannot store its queue with MemoryStorage") as caught:
            await fleet.submit("drinks", ["question-0: tea or coffee?"], rounds=1)
    assert "queue_database" in str(caught.value.hint)


def test_the_address_of_a_queue_shows_no_password() -> None:
    database = QueueDatabase("postgresql://me:hunter2@db/app", "app_fleet", "postgresql://db/app", "the schema 'app'")
    assert "hunter2" not in repr(database)
