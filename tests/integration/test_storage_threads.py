from __future__ import annotations

import gc
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from roundtable.errors import RoundtableError, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage, current_owner, database
from roundtable.testing.storage_samples import answered, control, record
from roundtable.types import SessionFilter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "debates.db"


@pytest.fixture
async def storage(path: Path) -> AsyncIterator[SQLiteStorage]:
    storage = SQLiteStorage(path)
    yield storage
    await storage.aclose()


def ours() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("roundtable-sqlite")}


def handles() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


async def traced(storage: SQLiteStorage) -> list[str]:
    """Return a list that grows with every statement of the writer."""
    seen: list[str] = []
    await storage._writer.call(lambda connection: connection.set_trace_callback(seen.append))
    seen.clear()
    return seen


async def all_at_once(storage: SQLiteStorage, calls: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Make calls while the writer is kept busy, so that it finds them all when it is free."""
    free = threading.Event()

    async def release() -> None:
        await anyio.wait_all_tasks_blocked()
        free.set()

    async with anyio.create_task_group() as group:
        group.start_soon(storage._writer.call, lambda connection: free.wait(30))
        for call in calls:
            group.start_soon(call)
        group.start_soon(release)


def broken(connection: sqlite3.Connection) -> None:
    """Store a row whose session does not exist, which only the commit notices."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("INSERT INTO leases (tenant, session_id, token, expires_us) VALUES ('t', 'nobody', 1, 0)")


# group commit


async def test_simultaneous_appends_are_committed_together(storage: SQLiteStorage) -> None:
    sessions = [record() for _ in range(40)]
    seen = await traced(storage)
    await all_at_once(storage, [partial(storage.create, made) for made in sessions])
    assert seen.count("COMMIT") <= 2  # one for what kept the writer busy
    assert len(await storage.list(SessionFilter())) == 40


@pytest.mark.slow
async def test_a_commit_waits_if_the_previous_one_had_several_appends(path: Path) -> None:
    storage = SQLiteStorage(path, commit_window_s=1)
    made = record()
    await storage.create(made)

    async def pause(after_s: float = 0) -> None:
        await anyio.sleep(after_s)
        await storage.append(made.id, None, None, [control(made.id)])

    seen = await traced(storage)
    await all_at_once(storage, [pause, pause])
    seen.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(pause)
        group.start_soon(pause, 0.05)
    assert seen.count("COMMIT") == 1
    await storage.aclose()


async def test_a_single_caller_does_not_wait(path: Path) -> None:
    storage = SQLiteStorage(path, commit_window_s=1)
    made = record()
    await storage.create(made)
    begun = time.monotonic()
    for _ in range(5):
        await storage.append(made.id, None, None, [control(made.id)])
    assert time.monotonic() - begun < 4
    await storage.aclose()


async def test_a_failed_append_does_not_affect_the_others(storage: SQLiteStorage) -> None:
    made = record()
    await storage.create(made)
    outcomes: list[object] = []

    async def work(call: Callable[[], Awaitable[object]]) -> None:
        try:
            outcomes.append(await call())
        except (RoundtableError, ZeroDivisionError) as error:
            outcomes.append(type(error).__name__)

    seen = await traced(storage)
    calls = (
        lambda: storage.append(made.id, None, None, [control(made.id)]),
        lambda: storage.append(made.id, 99, None, [control(made.id)]),
        lambda: storage.kv.update("k", lambda _: 1 // 0),
        lambda: storage.create(made),
        lambda: storage.append(made.id, None, None, [control(made.id)]),
    )
    await all_at_once(storage, [partial(work, call) for call in calls])
    assert sorted(map(str, outcomes)) == ["1", "2", "SessionConflict", "StaleSequence", "ZeroDivisionError"]
    assert seen.count("COMMIT") <= 2


async def test_when_the_commit_fails_each_append_is_tried_separately(storage: SQLiteStorage) -> None:
    made = record()
    await storage.create(made)
    failures: list[str] = []
    last: list[int] = []

    async def good() -> None:
        last.append(await storage.append(made.id, None, None, [control(made.id)]))

    async def bad() -> None:
        with pytest.raises(StorageError) as error:
            await storage._writer.call(broken)
        failures.append(str(error.value))

    await all_at_once(storage, [good, bad, good, bad, good])
    assert sorted(last) == [1, 2, 3]
    assert len(failures) == 2
    assert "FOREIGN KEY" in failures[0]
    with pytest.raises(StorageError):
        await storage._writer.call(broken)
    assert await storage.append(made.id, 3, None, [control(made.id)]) == 4


async def test_when_the_transaction_is_lost_each_append_is_tried_separately(storage: SQLiteStorage) -> None:
    made = record()
    await storage.create(made)
    done: list[str] = []

    def rolled_back(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("the medium is gone")

    async def good() -> None:
        await storage.append(made.id, None, None, [control(made.id)])
        done.append("good")

    async def bad() -> None:
        with pytest.raises(StorageError, match="the medium is gone"):
            await storage._writer.call(rolled_back)
        done.append("bad")

    await all_at_once(storage, [good, bad, good])
    assert sorted(done) == ["bad", "good", "good"]
    assert [event.seq for event in (await storage.read(made.id))[1]] == [1, 2]


async def test_a_failed_reader_affects_no_other(storage: SQLiteStorage) -> None:
    await storage.create(record())
    with pytest.raises(StorageError, match="syntax error"):
        await storage._reader.call(lambda connection: connection.execute("NONSENSE"))
    with pytest.raises(StorageError, match="readonly"):
        await storage._reader.call(lambda connection: connection.execute("DELETE FROM sessions"))
    assert len(await storage.list(SessionFilter())) == 1


# cancellation and event loops


async def test_a_cancelled_append_is_complete_or_absent_and_the_writer_continues(
    storage: SQLiteStorage, path: Path
) -> None:
    made = record()
    await storage.create(made)
    token = (await storage.lease(made.id, current_owner(), 60)).token
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with anyio.move_on_after(0.05) as scope:
        await storage.append(made.id, 0, token, [answered(made.id)])
    assert scope.cancelled_caught
    blocker.execute("ROLLBACK")
    blocker.close()
    last = await storage.append(made.id, None, token, [answered(made.id)])  # the same turn: counts once
    assert last == 1
    with anyio.CancelScope() as scope:
        scope.cancel()
        await storage.append(made.id, 1, token, [answered(made.id, 1)])
    assert await storage.append(made.id, 1, token, []) == 1  # who was cancelled before asked for nothing


async def test_cancelling_at_any_moment_leaves_a_whole_log(storage: SQLiteStorage) -> None:
    made = record()
    await storage.create(made)
    token = (await storage.lease(made.id, current_owner(), 60)).token
    for slot in range(30):
        with anyio.move_on_after(slot / 10_000):
            await storage.append(made.id, None, token, [answered(made.id, slot), control(made.id)])
    _, events = await storage.read(made.id)
    await storage.append(made.id, None, token, [control(made.id)])
    _, events = await storage.read(made.id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.type for event in events]
    assert kinds[:-1] == ["agent_complete", "control"] * (len(kinds) // 2)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_storage_serves_many_event_loops_at_once(path: Path, kind: str) -> None:
    storage = SQLiteStorage(path) if kind == "sqlite" else MemoryStorage()
    made = record()
    anyio.run(storage.create, made)

    async def pause() -> None:
        for _ in range(10):
            await storage.append(made.id, None, None, [control(made.id)])
            await storage.kv.update("n", lambda old: (old if isinstance(old, int) else 0) + 1)
            await storage.read(made.id, 0)

    threads = [
        threading.Thread(target=anyio.run, args=(pause,), kwargs={"backend": backend})
        for backend in ("asyncio", "trio") * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with start_blocking_portal() as portal:
        _, events = portal.call(storage.read, made.id)
        assert [event.seq for event in events] == list(range(1, 41))
        assert portal.call(storage.kv.get, "n") == 40
        portal.call(storage.aclose)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_ended_is_not_waited_for(path: Path, backend: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "roundtable.storage")
    storage = SQLiteStorage(path)
    made = record()
    anyio.run(storage.create, made)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")

    async def leave() -> None:
        with anyio.move_on_after(0.02):
            await storage.append(made.id, None, None, [control(made.id)])

    anyio.run(leave, backend=backend)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert anyio.run(storage.append, made.id, 1, None, [control(made.id)]) == 2
    storage.close()
    assert "the event loop ended before" in caplog.text


# ends


async def test_nothing_is_left_after_closing(path: Path) -> None:
    await SQLiteStorage(path).aclose()
    others, files = ours(), handles()
    for _ in range(3):
        storage = SQLiteStorage(path)
        await storage.create(record())
        await storage.list(SessionFilter())
        assert len(ours() - others) == 2
        async with anyio.create_task_group() as group:
            group.start_soon(storage.aclose)
            group.start_soon(storage.aclose)
        await storage.aclose()
        storage.close()
        assert ours() <= others
        assert handles() <= files
    assert names(path.parent) == [path.name]


async def test_closing_finishes_running_operations(storage: SQLiteStorage) -> None:
    made = record()
    await storage.create(made)
    last: list[int] = []

    async def pause() -> None:
        last.append(await storage.append(made.id, None, None, [control(made.id)]))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(pause)
        await anyio.wait_all_tasks_blocked()
        storage._writer.stop()
    assert len(last) == 20


async def test_closing_under_cancellation_still_closes(path: Path) -> None:
    others = ours()
    storage = SQLiteStorage(path)
    await storage.create(record())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await storage.aclose()
    storage.close()
    assert ours() <= others


@pytest.mark.slow
def test_an_unclosed_storage_ends_with_its_object(path: Path) -> None:
    others = ours()
    storage = SQLiteStorage(path)
    made = record()
    anyio.run(storage.create, made)
    anyio.run(storage.lease, made.id, current_owner(), 5)
    anyio.run(storage.read, made.id)
    assert len(ours() - others) == 2
    del storage
    gc.collect()
    assert ours() <= others


def run(code: str, folder: Path) -> str:
    script = "import anyio, os, threading\nfrom roundtable.storage import SQLiteStorage\n" + code
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=30,
    ).stdout


@pytest.mark.slow
def test_a_script_that_closes_nothing_ends_and_leaves_a_whole_file(tmp_path: Path) -> None:
    assert run("s = SQLiteStorage('x.db')\nanyio.run(s.kv.put, 'k', 1)\nprint('done')", tmp_path) == "done\n"
    assert [found.name for found in tmp_path.iterdir()] == ["x.db"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_must_open_its_own(tmp_path: Path) -> None:
    code = """
s = SQLiteStorage('x.db')
anyio.run(s.kv.put, 'k', 1)
child = os.fork()
if not child:
    try:
        anyio.run(s.kv.put, 'k', 2)
    except Exception as error:
        print(type(error).__name__, error.hint)
    anyio.run(s.aclose)
    s.close()
    own = SQLiteStorage('x.db')
    print(anyio.run(own.kv.get, 'k'), flush=True)
    own.close()
else:
    os.waitpid(child, 0)
    anyio.run(s.kv.put, 'k', 3)
    print(anyio.run(s.kv.get, 'k'))
"""
    assert run(code, tmp_path).splitlines() == [
        "StorageError Open a new storage in each forked process.",
        "1",
        "3",
    ]


# the write-ahead log


def log_size(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


async def test_the_log_is_emptied_once_it_has_grown(storage: SQLiteStorage, path: Path) -> None:
    made = record()
    await storage.create(made)
    token = (await storage.lease(made.id, current_owner(), 60)).token
    sizes: list[int] = []
    for slot in range(12):
        await storage.append(made.id, slot, token, [answered(made.id, slot, position="x" * 1_000_000)])
        await storage.kv.put("after", slot)  # the log is looked at once callers have been told
        sizes.append(log_size(path))
    assert max(sizes) < 7_000_000
    assert len((await storage.read(made.id))[1]) == 12


@pytest.mark.slow
async def test_a_reader_that_blocks_the_checkpoint_is_warned_about_and_harmless(
    storage: SQLiteStorage, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_WARN_BYTES", 6_000_000)
    made = record()
    await storage.create(made)
    token = (await storage.lease(made.id, current_owner(), 60)).token
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM sessions").fetchall()
    for slot in range(12):
        await storage.append(made.id, slot, token, [answered(made.id, slot, position="x" * 1_000_000)])
    assert "a long read prevents the checkpoint" in caplog.text
    reader.close()
    for slot in range(12, 18):
        await storage.append(made.id, slot, token, [answered(made.id, slot, position="x" * 1_000_000)])
    await storage.kv.put("after", 1)
    assert log_size(path) < 6_000_000
