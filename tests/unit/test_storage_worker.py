from __future__ import annotations

import gc
import os
import sqlite3
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest

from roundtable.errors import StorageError
from roundtable.storage.worker import Worker, commit_together, read_each

pytestmark = pytest.mark.both_loops


def fresh() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE numbers (n)")
    return connection


@contextmanager
def working(open_connection: Callable[[], sqlite3.Connection] = fresh, **more: object) -> Iterator[Worker]:
    work = more.pop("work", commit_together)
    worker = Worker("worker-under-test", "x.db", open_connection=open_connection, work=work, **more)  # type: ignore[arg-type]
    try:
        yield worker
    finally:
        worker.stop()
        worker.join()


def add(connection: sqlite3.Connection) -> int:
    connection.execute("INSERT INTO numbers VALUES (1)")
    count: int = connection.execute("SELECT count(*) FROM numbers").fetchone()[0]
    return count


async def gather(calls: list[Callable[[], Awaitable[object]]]) -> None:
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(call)


async def test_any_number_of_jobs_is_run() -> None:
    queued = threading.Event()

    def wait(connection: sqlite3.Connection) -> bool:
        return queued.wait(30)

    async def release() -> None:
        await anyio.wait_all_tasks_blocked()
        queued.set()

    with working() as worker:
        await gather([lambda: worker.call(wait), *[lambda: worker.call(add)] * 1300, release])
        assert await worker.call(add) == 1301


async def test_a_failed_opening_is_reported_to_all_callers_and_tried_again() -> None:
    tries: list[int] = []

    def hard() -> sqlite3.Connection:
        tries.append(1)
        if len(tries) < 3:
            raise sqlite3.OperationalError("not yet")
        return fresh()

    with working(hard) as worker:
        for _ in range(2):
            with pytest.raises(StorageError, match="not yet") as error:
                await worker.call(add)
            assert error.value.details == {"path": "x.db", "reason": "other"}
        assert await worker.call(add) == 1


async def test_a_connection_that_cannot_even_be_closed_does_not_end_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    foreign = fresh()  # a connection answers only to the thread that opened it
    given = [foreign]
    with working(lambda: given.pop() if given else fresh()) as worker:
        with pytest.raises(StorageError, match="thread"):
            await worker.call(add)
        assert await worker.call(add) == 1
    foreign.close()
    assert "x.db could not be closed" in caplog.text


async def test_a_failed_cleanup_is_logged_and_the_next_job_gets_a_new_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def untidy(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no broom")

    with working(after=untidy) as worker:
        assert await worker.call(add) == 1
        assert await worker.call(add) == 1
    assert "no broom" in caplog.text


async def test_any_error_of_a_job_reaches_its_caller() -> None:
    def leave(connection: sqlite3.Connection) -> None:
        raise SystemExit(3)

    with working() as worker:
        with pytest.raises(SystemExit):
            await worker.call(leave)
        assert await worker.call(add) == 1


async def test_a_read_may_end_its_own_transaction() -> None:
    with working(work=read_each) as worker:
        await worker.call(lambda connection: connection.execute("COMMIT"))
        assert await worker.call(add) == 1
        assert await worker.call(add) == 1  # what a reader writes is rolled back


async def test_nothing_of_a_job_is_kept_once_it_is_done() -> None:
    class Large:
        pass

    with working() as worker:
        found = weakref.ref(await worker.call(lambda connection: Large()))
        with anyio.fail_after(10):
            while found() is not None:
                await anyio.sleep(0.01)
                gc.collect()


async def test_a_closed_worker_takes_no_jobs() -> None:
    with working() as worker:
        worker.stop()
        await worker.wait_ended()
        with pytest.raises(StorageError, match="closed"):
            await worker.call(add)
    with working() as worker:
        await worker.call(add)
        worker.stop()
        worker.stop()
        await worker.wait_ended()
        await worker.wait_ended()
        with pytest.raises(StorageError, match="closed"):
            await worker.call(add)


async def test_a_worker_of_another_process_is_left_alone() -> None:
    with working() as worker:
        assert await worker.call(add) == 1
        worker._pid = -1  # as a forked process sees it
        with pytest.raises(StorageError, match="another process"):
            await worker.call(add)
        worker.stop()
        worker.join()
        await worker.wait_ended()
        worker._pid = os.getpid()
        assert await worker.call(add) == 2
