from __future__ import annotations

import logging
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import anyio
import pytest
from anyio import to_thread

from roundtable import Roundtable
from roundtable.errors import RoundtableError, SessionError, SessionNotFound, StorageError
from roundtable.settings import Settings
from roundtable.storage import SQLiteStorage, current_owner
from roundtable.storage.database import MIGRATIONS, Database
from roundtable.storage.salvage import find_damage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.testing.storage_samples import answered, control, record
from roundtable.types import ChatRequest, SessionFilter

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "debates.db"


@pytest.fixture
async def storage(path: Path) -> AsyncIterator[SQLiteStorage]:
    storage = SQLiteStorage(path, busy_timeout_s=0.2)
    yield storage
    await storage.aclose()


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def modes(folder: Path) -> dict[str, int]:
    return {str(found.relative_to(folder)): stat.S_IMODE(found.stat().st_mode) for found in folder.rglob("*")}


def content(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def make_folder(path: Path) -> None:
    path.mkdir()


def remove(path: Path) -> None:
    path.rmdir() if path.is_dir() else path.unlink()


async def fill(storage: SQLiteStorage, turns: int = 3, length: int = 10) -> tuple[str, int]:
    made = record()
    await storage.create(made)
    token = (await storage.lease(made.id, current_owner(), 60)).token
    for slot in range(turns):
        await storage.append(made.id, slot, token, [answered(made.id, slot, position="x" * length)])
    return made.id, token


def says(error: pytest.ExceptionInfo[StorageError], reason: str, path: Path, *, retryable: bool = False) -> None:
    assert error.value.code == "STORAGE_ERROR"
    assert error.value.details is not None
    assert error.value.details["reason"] == reason
    assert str(path) in str(error.value.hint)
    assert error.value.retryable is retryable


async def test_the_next_process_finds_stored_events(path: Path) -> None:
    first = SQLiteStorage(path)
    session, token = await fill(first)
    await first.kv.put("k", [1])
    await first.aclose()
    second = SQLiteStorage(path)
    assert len((await second.read(session))[1]) == 3
    assert await second.kv.get("k") == [1]
    assert await second.append(session, 3, token, [answered(session, 3)]) == 4
    await second.aclose()


async def test_the_file_and_the_folders_made_for_it_are_for_this_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        storage = SQLiteStorage(tmp_path / "a" / "b" / "debates.db", make_folder=True)
        await storage.list(SessionFilter())
        await fill(storage)
        found = modes(tmp_path)
        await storage.aclose()
    finally:
        os.umask(before)
    assert found == {
        "a": 0o700,
        "a/b": 0o700,
        "a/b/debates.db": 0o600,
        "a/b/debates.db-wal": 0o600,
        "a/b/debates.db-shm": 0o600,
    }
    assert names(tmp_path / "a" / "b") == ["debates.db"]


async def test_a_named_folder_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "tpyo" / "debates.db"
    with pytest.raises(StorageError, match="there is no folder") as caught:
        await SQLiteStorage(path).list(SessionFilter())
    assert str(path.parent) in caught.value.message
    assert caught.value.hint is not None
    assert f"mkdir -p {path.parent}," in caught.value.hint
    named = Settings(database_path=path)
    for options in ({"storage": f"sqlite:///{path}"}, {"settings": named}):
        table = Roundtable(scripted_agents({"ada": "Tea"}), **options)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="there is no folder"):
            await table.debate("Tea?", rounds=1)
    assert names(tmp_path) == []


async def test_the_folder_of_the_default_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for storage in (SQLiteStorage(), Roundtable(settings=Settings())._wiring.storage):
        await fill(cast("SQLiteStorage", storage))
        await storage.aclose()
    assert names(tmp_path / "data") == ["roundtable.db"]


async def test_the_file_is_durable_and_has_the_application_id(storage: SQLiteStorage, path: Path) -> None:
    await fill(storage)
    with raw(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA application_id").fetchone() == (0x5254424C,)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []

    def settings(connection: sqlite3.Connection) -> tuple[int, ...]:
        pragmas = ("PRAGMA synchronous", "PRAGMA foreign_keys", "PRAGMA mmap_size", "PRAGMA wal_autocheckpoint")
        return tuple(connection.execute(pragma).fetchone()[0] for pragma in pragmas)

    assert await storage._writer.call(settings) == (2, 1, 0, 0)


async def test_the_relative_path_is_fixed_when_the_storage_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = SQLiteStorage("here.db")
    make_folder(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    await fill(storage)
    await storage.aclose()
    assert names(tmp_path) == ["elsewhere", "here.db"]


@pytest.mark.parametrize("name", ["a b.db", "a?mode=memory.db", "a#b%20c.db", "é'\".db", "file:x.db"])
async def test_a_file_name_is_used_unchanged(tmp_path: Path, name: str) -> None:
    storage = SQLiteStorage(tmp_path / name)
    await fill(storage)
    await storage.aclose()
    assert names(tmp_path) == [name]


# what is no database, or not ours


@pytest.mark.parametrize("noise", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 4000, b"#!/bin/sh\n"])
async def test_a_file_that_is_not_a_database_is_refused_and_unchanged(
    storage: SQLiteStorage, path: Path, noise: bytes
) -> None:
    write(path, noise)
    for _ in range(2):
        with pytest.raises(StorageError) as error:
            await storage.create(record())
        says(error, "corrupt", path)
        with pytest.raises(StorageError) as error:
            await storage.list(SessionFilter())
        says(error, "corrupt", path)
    assert content(path) == noise
    remove(path)
    await fill(storage)


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["CREATE TABLE theirs (a)"], "foreign"),
        ([f"PRAGMA application_id = {0x5254424C}", "CREATE TABLE later (a)", "PRAGMA user_version = 999"], "newer"),
    ],
)
async def test_a_foreign_or_newer_database_is_left_unchanged(
    storage: SQLiteStorage, path: Path, statements: list[str], reason: str
) -> None:
    with raw(path) as connection:
        for statement in statements:
            connection.execute(statement)
    before = content(path)
    with pytest.raises(StorageError) as error:
        await storage.create(record())
    says(error, reason, path)
    with pytest.raises(StorageError) as error:
        await storage.list(SessionFilter())
    says(error, reason, path)
    assert content(path) == before
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("places", [30, pytest.param(200, marks=pytest.mark.slow)])
async def test_damage_to_a_file_is_harmless_or_an_error_of_the_library(tmp_path: Path, places: int) -> None:
    good = SQLiteStorage(tmp_path / "good.db")
    session, _ = await fill(good, turns=20, length=3000)
    expected = await good.read(session)
    await good.aclose()
    original = content(tmp_path / "good.db")
    draw = random.Random(places)
    for _ in range(places):
        damaged = bytearray(original)
        at = draw.randrange(len(damaged))
        damaged[at : at + 64] = draw.randbytes(len(damaged[at : at + 64]))
        path = tmp_path / "damaged.db"
        write(path, damaged)
        storage = SQLiteStorage(path)
        with suppress(RoundtableError):
            record_, events = await storage.read(session)
            assert record_.id == session
            assert len(events) <= len(expected[1])
        with suppress(RoundtableError):
            await storage.append(session, None, None, [control(session)])
        await storage.aclose()
        for name in names(tmp_path)[:-1]:
            remove(tmp_path / name)


async def test_damage_that_sqlite_quotes_is_an_error_of_the_library(tmp_path: Path) -> None:
    """The message of SQLite itself may hold bytes that are no text."""
    path = tmp_path / "d.db"
    storage = SQLiteStorage(path)
    await storage.create(record())
    await storage.aclose()
    whole = content(path)
    at = whole.index(b"CREATE TABLE tokens")
    write(path, whole[:at] + b"CREATE \xb1\xfeBLE" + whole[at + len(b"CREATE TABLE") :])
    damaged = SQLiteStorage(path)
    with pytest.raises(StorageError) as error:
        await damaged.list(SessionFilter())
    assert error.value.details is not None
    assert error.value.details["reason"] == "corrupt"
    await damaged.aclose()
    with pytest.raises(StorageError, match=r"no database|damaged|cannot be read"):
        await find_damage(path)


async def test_a_log_cut_short_by_a_power_loss_leaves_the_beginning_whole(tmp_path: Path) -> None:
    storage = SQLiteStorage(tmp_path / "whole.db")
    session, _ = await fill(storage, turns=12, length=2000)
    expected = (await storage.read(session))[1]
    file, log = content(tmp_path / "whole.db"), content(tmp_path / "whole.db-wal")
    await storage.aclose()
    draw = random.Random(5)
    lengths: list[int] = []
    for at in sorted({0, 32, len(log), len(log) - 1, *(draw.randrange(len(log)) for _ in range(12))}):
        path = tmp_path / f"cut-{at}.db"
        write(path, file)
        write(Path(f"{path}-wal"), log[:at])
        cut = SQLiteStorage(path)
        with suppress(SessionError):  # it may have been cut before the session was made
            events = (await cut.read(session))[1]
            assert events == expected[: len(events)]
            lengths.append(len(events))
        with raw(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        await fill(cut)
        await cut.aclose()
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(expected)


async def test_a_value_that_cannot_be_read_is_named(storage: SQLiteStorage, path: Path) -> None:
    session, token = await fill(storage)
    other, _ = await fill(storage)
    with raw(path) as connection:
        connection.execute("UPDATE events SET body = '{}' WHERE session_id = ? AND seq = 2", (session,))
    with pytest.raises(StorageError, match=session) as error:
        await storage.read(session)
    says(error, "corrupt", path)
    assert len((await storage.read(other))[1]) == 3
    assert await storage.append(session, 3, token, [answered(session, 3)]) == 4


async def test_a_row_that_cannot_be_read_is_named_in_lists(
    storage: SQLiteStorage, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session, _ = await fill(storage)
    other, _ = await fill(storage)
    with raw(path) as connection:
        connection.execute("UPDATE sessions SET status = 'unheard of' WHERE id = ?", (session,))
    listed = {found.id: found.error for found in await storage.list(SessionFilter())}
    assert listed == {other: None, session: "its entry in the storage is damaged"}
    assert session in caplog.text


async def test_a_small_value_that_cannot_be_read_is_named(storage: SQLiteStorage, path: Path) -> None:
    await storage.kv.put("bad", 1)
    await storage.kv.put("good", 1)
    with raw(path) as connection:
        connection.execute("UPDATE key_values SET value = '{' WHERE key = 'bad'")
    for call in (storage.kv.get, storage.kv.scan):
        with pytest.raises(StorageError, match="'bad'") as error:
            await call("bad")
        says(error, "corrupt", path)
    assert await storage.kv.get("good") == 1
    assert await storage.kv.delete("bad")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_acknowledged_into_a_deleted_file(
    storage: SQLiteStorage, path: Path, replaced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    session, token = await fill(storage)
    await storage.read(session)
    remove(path)
    for beside in names(path.parent):
        remove(path.parent / beside)
    if replaced:
        another = SQLiteStorage(path)
        await fill(another)
        await another.aclose()
    with pytest.raises(SessionNotFound):
        await storage.append(session, 3, token, [answered(session, 3)])
    assert "deleted or replaced" in caplog.text
    assert len(await storage.list(SessionFilter())) == replaced
    session, _ = await fill(storage)
    assert len((await storage.read(session))[1]) == 3
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1 + replaced,)


# what cannot be opened or written


async def test_a_folder_instead_of_a_file_is_refused(storage: SQLiteStorage, path: Path) -> None:
    make_folder(path)
    with pytest.raises(StorageError) as error:
        await storage.create(record())
    says(error, "unreachable", path)
    remove(path)
    await fill(storage)


async def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "file", b"")
    path = tmp_path / "file" / "deeper" / "debates.db"
    storage = SQLiteStorage(path)
    with pytest.raises(StorageError, match="cannot be created") as error:
        await storage.create(record())
    says(error, "unreachable", path)
    await storage.aclose()


READ_ONLY = """
import os, sys, anyio
from pathlib import Path
from roundtable.errors import StorageError
from roundtable.storage.sqlite import SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import record
from roundtable.types import SessionFilter

folder = Path(sys.argv[1])

async def main():
    if os.getuid() == 0:  # permissions mean nothing to root
        os.setgid(65534)
        os.setuid(65534)
    written = SQLiteStorage(folder / "debates.db")
    print(len(await written.list(SessionFilter())))
    for storage in (written, SQLiteStorage(folder / "new.db")):
        try:
            await storage.create(record())
        except StorageError as error:
            print(error.details["reason"], str(folder) in error.hint)
        await storage.aclose()

anyio.run(main)
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a folder that every user can access."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def read_only(folder: Path) -> str:
    """Use a storage in a folder in which nothing may be written; tell what came of it."""
    for found in folder.iterdir():
        found.chmod(0o444)
    folder.chmod(0o555)
    try:
        return subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd="/",
        ).stdout
    finally:
        folder.chmod(0o700)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there")
async def test_a_read_only_database_can_be_read(shared: Path) -> None:
    storage = SQLiteStorage(shared / "debates.db")
    await fill(storage)
    assert await to_thread.run_sync(read_only, shared) == "1\nread-only True\nunreachable True\n"
    await storage.aclose()


async def test_a_lock_of_another_process_is_waited_for_and_then_reported(storage: SQLiteStorage, path: Path) -> None:
    session, token = await fill(storage)
    with raw(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError) as error:
            await storage.append(session, 3, token, [answered(session, 3)])
        says(error, "locked", path, retryable=True)
        assert len((await storage.read(session))[1]) == 3  # readers do not wait
        connection.execute("ROLLBACK")
    assert await storage.append(session, 3, token, [answered(session, 3)]) == 4


async def test_a_debate_keeps_paid_answers_until_another_process_unlocks_the_file(path: Path) -> None:
    calls: list[str] = []

    class Unlock(logging.Handler):
        """Ends the lock when the debate reports that it keeps its answers."""

        def emit(self, line: logging.LogRecord) -> None:
            if "trying again" in line.getMessage() and connection.in_transaction:
                connection.execute("ROLLBACK")

    def answer(request: ChatRequest) -> str:
        calls.append(request.messages[0].role)
        if len(calls) == 3:  # the second round
            connection.execute("BEGIN IMMEDIATE")
        return '{"position": "Tea", "confidence": 0.9}'

    storage = SQLiteStorage(path, busy_timeout_s=0.05)
    unlock, log = Unlock(), logging.getLogger("roundtable.engine")
    with raw(path) as connection:
        log.addHandler(unlock)
        try:
            agents = [ScriptedModel(answer, model=name) for name in ("ada", "bo")]
            async with Roundtable(agents, storage=storage) as table:
                result = await table.debate("Tea or coffee?", rounds=2)
        finally:
            log.removeHandler(unlock)
        assert not connection.in_transaction
    assert (result.status, result.session.status) == ("completed", "completed")
    assert len(calls) == sum(len(one.responses) for one in result.rounds) == 4
    await storage.aclose()


async def test_a_completely_locked_file_can_be_opened_later(storage: SQLiteStorage, path: Path) -> None:
    with raw(path) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError) as error:
            await storage.create(record())
        says(error, "locked", path, retryable=True)
    await fill(storage)


async def test_another_process_that_reads_a_new_file_is_waited_for(storage: SQLiteStorage, path: Path) -> None:
    with raw(path) as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()

        async def release() -> None:
            await anyio.sleep(0.1)
            connection.execute("ROLLBACK")

        async with anyio.create_task_group() as group:
            group.start_soon(release)
            await fill(storage)


def test_checking_a_missing_log_does_nothing(path: Path) -> None:
    with raw(path) as connection:
        Database(str(path), 1).checkpoint(connection)
    assert content(path) == b""


async def test_a_full_disk_loses_nothing_and_ends_when_there_is_room(storage: SQLiteStorage, path: Path) -> None:
    session, token = await fill(storage)

    def limit(pages: int) -> object:
        return storage._writer.call(
            lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        )

    used = await storage._writer.call(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    await limit(used + 2)
    with pytest.raises(StorageError) as error:
        await storage.append(session, 3, token, [answered(session, 3, position="x" * 100_000)])
    says(error, "full", path, retryable=True)
    assert len((await storage.read(session))[1]) == 3
    assert await storage.append(session, 3, token, [answered(session, 3)]) == 4  # a small one fits
    await limit(100_000)
    assert await storage.append(session, 4, token, [answered(session, 4, position="x" * 100_000)]) == 5


async def test_a_session_whose_file_was_deleted_is_unknown_and_the_storage_continues(path: Path) -> None:
    storage = SQLiteStorage(path)
    session, _ = await fill(storage)
    await storage.aclose()
    remove(path)
    again = SQLiteStorage(path)
    with pytest.raises(SessionError):
        await again.read(session)
    await fill(again)
    await again.aclose()
