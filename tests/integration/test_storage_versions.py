"""Files of every version there was are brought to the present one, whole or not at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest

import roundtable
from roundtable.record import fold_debate
from roundtable.storage import SQLiteStorage
from roundtable.storage.database import MIGRATIONS, migrate
from roundtable.testing import scripted_agents
from roundtable.types import SearchQuery, SessionFilter, SessionSummary

DATA = Path(__file__).with_name("data")
VERSIONS = range(1, len(MIGRATIONS))
"""Every version but the present one; `data/storage_v<n>.sql` is a file of each, as that version left it."""


def file_of(version: int, folder: Path) -> Path:
    path = folder / f"v{version}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / f"storage_v{version}.sql").read_text("utf-8"))
    return path


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of the tables that every version has."""
    queries = {
        "sessions": "SELECT tenant, id, record, topic, status, last_seq, updated_us FROM sessions ORDER BY 1, 2",
        "events": "SELECT * FROM events ORDER BY 1, 2, 3",
        "turns": "SELECT * FROM turns ORDER BY 1, 2, 3, 4, 5, 6",
        "key_values": "SELECT * FROM key_values ORDER BY 1, 2",
        "tokens": "SELECT * FROM tokens ORDER BY 1",
    }
    with opened(path) as connection:
        return {name: connection.execute(query).fetchall() for name, query in queries.items()}


def version_of(path: Path) -> int:
    with opened(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_every_storage_version_has_a_stored_file() -> None:
    assert sorted(path.name for path in DATA.glob("storage_v*.sql")) == [f"storage_v{n}.sql" for n in VERSIONS]


@pytest.mark.parametrize("version", VERSIONS)
def test_migrating_one_by_one_or_at_once_gives_the_same(tmp_path: Path, version: int) -> None:
    (tmp_path / "steps").mkdir()
    at_once, by_steps = file_of(version, tmp_path), file_of(version, tmp_path / "steps")
    before = rows(at_once)
    with opened(at_once) as connection:
        migrate(connection, str(at_once))
    for newest in range(version + 1, len(MIGRATIONS) + 1):
        with opened(by_steps) as connection:
            migrate(connection, str(by_steps), MIGRATIONS[:newest])
    assert rows(at_once) == rows(by_steps) == before
    with opened(at_once) as one, opened(by_steps) as other:
        assert list(one.iterdump()) == list(other.iterdump())


async def test_sessions_of_version_1_are_listed_read_found_and_continued(tmp_path: Path) -> None:
    storage = SQLiteStorage(file_of(1, tmp_path))
    listed = {found.topic: found for found in await storage.list(SessionFilter())}
    assert sorted(listed) == ["Left half-way?", "Tea or coffee? 100% _sure_", "Whom to trust? ☕"]
    assert [found.topic for found in await storage.list(SessionFilter(metadata={"case": "v1"}))] == [
        "Tea or coffee? 100% _sure_"
    ]
    hits = await storage.search(SearchQuery(text="größer"))
    assert {(hit.agent_id, hit.session_id) for hit in hits} == {
        ("cy", found.id) for found in listed.values() if found.status == "completed"
    }
    for summary in listed.values():
        whole = fold_debate(*await storage.read(summary.id))
        assert (whole.status, whole.last_seq) == (summary.status, summary.last_seq)
    await gone_on_with(storage, listed["Left half-way?"])
    await storage.aclose()


async def gone_on_with(storage: SQLiteStorage, left: SessionSummary) -> None:
    agents = scripted_agents({"ada": "Tea keeps", "bo": "Tea keeps", "cy": "Coffee"})
    result = await roundtable.Roundtable(agents, storage=storage).resume(left.id)
    assert (result.status, len(result.rounds)) == ("completed", 3)
    assert sum(len(held.responses) for held in result.rounds) == 9


async def test_an_unreadable_row_of_version_1_does_not_block_the_others(tmp_path: Path) -> None:
    path = file_of(1, tmp_path)
    with opened(path) as connection:
        connection.execute("UPDATE sessions SET record = '{' WHERE topic LIKE 'Left%'")
        connection.execute("UPDATE events SET body = '{' WHERE type = 'agent_complete' AND seq < 4")
    storage = SQLiteStorage(path)
    assert len(await storage.list(SessionFilter())) == 3
    assert await storage.search(SearchQuery(text="tea"))
    await storage.aclose()


def migrate_and_die(path: Path, steps: int) -> None:
    """Migrate in this process, which is killed before its nth statement."""
    left = [steps]

    def count(statement: str) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    with opened(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.set_trace_callback(count)
        migrate(connection, str(path))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped by signals")
def test_a_kill_in_the_middle_of_a_migration_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    found = set()
    for steps in range(1, 400, 7):
        folder = tmp_path / str(steps)
        folder.mkdir()
        path = file_of(1, folder)
        before = rows(path)
        process = os.fork()
        if not process:
            migrate_and_die(path, steps)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        found.add(version_of(path))
        assert rows(path) == before
        if os.waitstatus_to_exitcode(status) == 0:
            break
        with opened(path) as connection:
            migrate(connection, str(path))
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    else:
        pytest.fail("the migration never came to its end")
    assert found == {1, len(MIGRATIONS)}


def test_two_processes_at_once_migrate_a_file_once(tmp_path: Path) -> None:
    path = file_of(1, tmp_path)

    async def both() -> None:
        first, second = SQLiteStorage(path), SQLiteStorage(path)
        async with anyio.create_task_group() as group:
            group.start_soon(first.list, SessionFilter())
            group.start_soon(second.search, SearchQuery(text="tea"))
        await first.aclose()
        await second.aclose()

    anyio.run(both)
    assert version_of(path) == len(MIGRATIONS)
