"""Finding, removing and copying sessions, through the table."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import CountingModel, eventually, late, seated

import roundtable
from roundtable.errors import ConfigurationError, SessionBusy, SessionError, SessionNotFound, StorageError
from roundtable.protocols import HasBackupHint
from roundtable.storage import MemoryStorage, PostgresStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_samples import NOON, owner_elsewhere, record
from roundtable.types import SessionFilter


def table(storage: object, **more: object) -> roundtable.Roundtable:
    agents = scripted_agents({"ada": "Tea keeps", "bo": "Coffee wakes"})
    return roundtable.Roundtable(agents, storage=storage, **more)  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    """Return the files in a folder, without those of the database itself."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("debates"))


@pytest.mark.parametrize("kind", ["memory", "disk"])
async def test_answers_are_found_by_their_words_and_tenant(kind: str, disk: SQLiteStorage) -> None:
    storage = MemoryStorage() if kind == "memory" else disk
    mine, theirs = table(storage), table(storage, tenant="other")
    result = await mine.debate("Tea or coffee?", rounds=2)
    await theirs.debate("Tea, of course?", rounds=1)
    hits = await mine.search("keep*")
    assert [(hit.session_id, hit.round, hit.agent_id) for hit in hits] == [
        (result.session.id, 1, "ada"),
        (result.session.id, 2, "ada"),
    ]
    assert hits[0].topic == "Tea or coffee?"
    assert "keeps" in hits[0].snippet
    assert await mine.search("keeps", session_id="another") == ()
    assert len(await theirs.search("tea")) == 1


@pytest.mark.parametrize("text", ["", "x" * 1001])
async def test_a_search_for_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="search"):
        await table(MemoryStorage()).search(text)


async def test_a_storage_without_search_or_backup_says_so(tmp_path: Path) -> None:
    class Plain:
        def __getattr__(self, name: str) -> object:
            if name in {"search", "backup"}:
                raise AttributeError(name)
            return getattr(kept, name)

    kept = MemoryStorage()
    plain = Plain()
    plain.append, plain.lease = kept.append, kept.lease  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="Plain has no full-text search"):
        await table(plain).search("tea")
    with pytest.raises(ConfigurationError, match="MemoryStorage has no backup"):
        await table(kept).backup(tmp_path / "copy.db")


async def test_a_storage_names_the_tools_that_back_it_up(tmp_path: Path) -> None:
    class Archive(MemoryStorage):
        backup_hint = "Copy the folder sessions/."

    with pytest.raises(ConfigurationError, match="Archive has no backup") as error:
        await table(Archive()).backup(tmp_path / "copy.db")
    assert error.value.hint == Archive.backup_hint
    assert isinstance(Archive(), HasBackupHint)
    assert not isinstance(MemoryStorage(), HasBackupHint)


async def test_deleting_a_session_affects_no_other_session() -> None:
    storage = MemoryStorage()
    mine, theirs = table(storage), table(storage, tenant="other")
    result = await mine.debate("Tea?", rounds=1)
    with pytest.raises(SessionNotFound):
        await theirs.delete(result.session.id)
    await mine.delete(result.session.id)
    with pytest.raises(SessionNotFound):
        await mine.session(result.session.id)
    assert await mine.search("tea") == ()


async def test_a_debate_whose_session_is_deleted_ends_with_an_error(disk: SQLiteStorage) -> None:
    model = CountingModel(late(0.2, "Tea"))
    async with roundtable.Roundtable(seated(model, "ada", "bo"), storage=disk) as running:
        handle = await running.start("Tea?")
        await eventually(lambda: model.under_way == 2)
        with pytest.raises(SessionBusy, match="is running, so it cannot be deleted") as refused:
            await running.delete(handle.session_id)
        assert "Stop it first" in (refused.value.hint or "")
        assert await running.session(handle.session_id)
        await running.delete(handle.session_id, force=True)
        with anyio.fail_after(10), pytest.raises(SessionError):
            await handle.result()
    with closing(sqlite3.connect(disk.db_path)) as raw:
        tables = ("sessions", "events", "turns", "leases", "positions", "position_texts")
        assert [raw.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables] == [0] * 6


@pytest.mark.parametrize("kind", ["memory", "disk", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_old_sessions_are_pruned_except_those_in_use(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = ManualClock()
    storage: MemoryStorage | SQLiteStorage | PostgresStorage
    if kind == "postgres":
        storage = PostgresStorage(request.getfixturevalue("postgres_url"), clock=clock)
    else:
        storage = MemoryStorage(clock) if kind == "memory" else SQLiteStorage(tmp_path / "d.db", clock=clock)
    for number in range(4):
        await storage.create(record(f"s{number}", created_at=NOON + timedelta(days=number)))
    await storage.create(record("theirs", tenant="other"))
    await storage.lease("s0", owner_elsewhere(), 60)
    kept = table(storage)
    assert await kept.prune(before=NOON + timedelta(days=2), status="completed") == 0
    assert await kept.prune(before=NOON + timedelta(days=2)) == 1
    assert [found.id for found in await kept.sessions()] == ["s3", "s2", "s0"]
    assert len(await kept.sessions(SessionFilter(limit=1))) == 1
    with pytest.raises(SessionBusy):
        await storage.lease("s0", owner_elsewhere("bo"), 60)
    assert len(await table(storage, tenant="other").sessions()) == 1
    await storage.aclose()


async def test_a_session_changed_since_it_was_listed_is_not_pruned() -> None:
    class Late(MemoryStorage):
        async def list(self, filter: SessionFilter):  # type: ignore[no-untyped-def]
            listed = await super().list(filter)
            if listed:
                await mine._wiring.sessions.control(listed[0].id, "pause")
            return listed

    storage = Late()
    mine = table(storage)
    await storage.create(record("s", created_at=NOON))
    assert await mine.prune(before=NOON + timedelta(days=1)) == 0
    await storage.lease("s", owner_elsewhere(), 60)


async def test_an_invalid_time_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="prune"):
        await table(MemoryStorage()).prune(before="soon")  # type: ignore[arg-type]


async def test_a_backup_is_one_state_of_the_file_while_it_is_written_to(disk: SQLiteStorage, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    model = CountingModel(lambda request: late(30 if request.metadata["round"] == "2" else 0, "Tea"))
    async with roundtable.Roundtable(seated(model, "ada", "bo"), storage=disk) as busy:
        first = await busy.debate("First?", rounds=1)
        handle = await busy.start("Second?", rounds=5)
        await eventually(lambda: model.under_way == 2)
        await busy.backup(copy)
        await handle.stop()
        await handle.result()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert names(tmp_path) == ["copy.db"]
    restored = roundtable.Roundtable(storage=f"sqlite:///{copy}")
    again = await restored.session(first.session.id)
    assert again.to_json() == first.to_json()
    half, whole = await restored.session(handle.session_id), await table(disk).session(handle.session_id)
    assert (half.session_status, whole.session_status) == ("active", "completed")
    await restored.aclose()
    with closing(sqlite3.connect(copy)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_backup_replaces_nothing_and_leaves_nothing_half_done(disk: SQLiteStorage, tmp_path: Path) -> None:
    await table(disk).debate("Tea?", rounds=1)
    there = tmp_path / "there.db"
    there.write_bytes(b"precious")
    with pytest.raises(StorageError, match="exists already"):
        await disk.backup(there)
    assert there.read_bytes() == b"precious"
    with pytest.raises(StorageError, match="cannot be written"):
        await disk.backup(tmp_path / "nowhere" / "copy.db")
    assert names(tmp_path) == ["there.db"]


async def test_a_file_system_without_links_takes_a_backup(
    disk: SQLiteStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    await table(disk).debate("Tea?", rounds=1)
    await disk.backup(tmp_path / "copy.db")
    with pytest.raises(StorageError, match="exists already"):
        await disk.backup(tmp_path / "copy.db")


async def test_a_damaged_file_gives_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "debates.db"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 40)
    storage = SQLiteStorage(path)
    with pytest.raises(StorageError) as caught:
        await storage.backup(tmp_path / "copy.db")
    assert (caught.value.details or {})["reason"] == "corrupt"
    assert names(tmp_path) == []
    await storage.aclose()


async def test_pages_of_a_table_follow_each_other() -> None:
    storage = MemoryStorage()
    for number in range(5):
        await storage.create(record(f"s{number}", created_at=datetime(2026, 1, number + 1, tzinfo=UTC)))
    kept, seen = table(storage), []
    wanted = SessionFilter(limit=2)
    while page := await kept.sessions(wanted):
        seen += [found.id for found in page]
        wanted = SessionFilter(limit=2, after=page[-1].cursor)
    assert seen == ["s4", "s3", "s2", "s1", "s0"]


@pytest.mark.parametrize("cursor", ["", "s1", "2026-01-01/s1", "never/s1", "2026-01-01T00:00:00"])
def test_an_invalid_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cursor|isoformat"):
        SessionFilter(after=cursor)
