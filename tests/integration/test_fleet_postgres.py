"""Fleets on PostgreSQL: several workers, workers killed and suspended, a server that restarts, and refusals."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from integration.fleet_child import table_for
from integration.test_fleet import calls_of, child, ending, questions, stored_turns, until_called
from postgres_kit import PASSWORD, Server, new_schema, proxy_to, running_server

from roundtable import Roundtable
from roundtable.cli.exit_codes import ExitCode
from roundtable.core.base.owner import current_owner
from roundtable.errors import ConfigurationError, StorageError
from roundtable.fleet import Fleet
from roundtable.fleet.queue import TRANSACTION_IDLE_S, JobQueue, QueuedDebate, database_of
from roundtable.fleet.worker import Worker
from roundtable.storage.locations import is_created
from roundtable.storage.postgres import PostgresStorage
from roundtable.storage.postgres_connection import parse_address
from roundtable.testing.storage_samples import record
from roundtable.types import Budget

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]
pytest.importorskip("dbos")

WHOLE_JOB = 6 * 2 * 5
CUT_OFF_S = 20.0
"""Longer than the 15 s after which a worker without a sign of life counts as dead."""


USED_UP_S = 14.0
"""Longer than the 10 s for which a storage tries to connect."""
STORED_TURNS = """
    SELECT split_part(s.topic, ':', 1), e.body::json ->> 'agent', e.body::json ->> 'round'
    FROM roundtable.events AS e JOIN roundtable.sessions AS s USING (key) WHERE e.type = 'agent_complete'
"""


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


@pytest.fixture
def own_server() -> Iterator[Server]:
    """Yield a server that the test may stop."""
    with running_server() as server:
        yield server


@pytest.fixture
def crowded_server() -> Iterator[Server]:
    """Yield a server with few connections, all of which the test may use up."""
    with running_server(max_connections="40") as server:
        yield server


async def rows_of(fleet: Fleet, job: str) -> list[QueuedDebate]:
    """Return the debates of a job as they are in the queue."""
    queue, records = await fleet._open()
    return await queue.debates((await records.job(job)).workflow_ids, loads=True)


async def until_workers(fleet: Fleet, number: int) -> None:
    while await fleet.workers() < number:  # noqa: ASYNC110  (other processes change it)
        await anyio.sleep(0.05)


async def test_workers_share_a_job_and_request_each_answer_once(postgres_url: str, tmp_path: Path) -> None:
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("shared", questions(12), rounds=2)
        workers = [child(postgres_url, tmp_path, "shared", 0.05) for _ in range(2)]
        with anyio.fail_after(60):
            await fleet.wait("shared")
        assert [await anyio.to_thread.run_sync(worker.wait) for worker in workers] == [0, 0]
        held_by = Counter(row.worker for row in await rows_of(fleet, "shared"))
        results = await fleet.results("shared")
    assert [result.topic for result in results] == questions(12)
    assert len(held_by) == 2
    assert set(calls_of(tmp_path).values()) == {1}


async def test_killed_and_suspended_workers_lose_nothing(postgres_url: str, tmp_path: Path) -> None:
    async with Fleet(storage=postgres_url) as fleet, AsyncExitStack() as workers:
        await fleet.submit("long", questions(6), rounds=5)
        first, second = (child(postgres_url, tmp_path, "long", 0.1) for _ in range(2))
        workers.callback(second.kill)  # a suspended one would keep its locks, for which the end of the test waits
        await until_called(tmp_path, 15)
        first.kill()
        first.wait()
        os.kill(second.pid, signal.SIGSTOP)  # as a machine that hangs: it neither works nor ends
        results = [await fleet.table.session(found.id) for found in await fleet.table.sessions()]
        stored, before = stored_turns(results), calls_of(tmp_path)
        third = child(postgres_url, tmp_path, "long", 0.02)
        workers.callback(third.kill)
        with anyio.fail_after(90):
            status = await fleet.wait("long")
        os.kill(second.pid, signal.SIGCONT)
        with anyio.fail_after(40):  # at most ten seconds until it looks, five until it has ended, and as much again
            ended = [await anyio.to_thread.run_sync(worker.wait, abandon_on_cancel=True) for worker in (second, third)]
        assert ended == [0, 0]
        results = list(await fleet.results("long"))
    assert (status.completed, status.failed) == (6, 0)
    assert stored
    assert not stored & set(calls_of(tmp_path) - before)
    assert len(stored_turns(results)) == WHOLE_JOB


@pytest.mark.slow
async def test_a_worker_suspended_within_a_transaction_loses_its_locks(own_server: Server, tmp_path: Path) -> None:
    # The background jobs of DBOS have a shorter limit of their own, which their statement sets.
    within = "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND NOT query LIKE '%timeout%'"
    async with Fleet(storage=own_server.url()) as fleet, AsyncExitStack() as workers:
        await fleet.submit("long", questions(40), rounds=5)
        worker = child(own_server.url(), tmp_path, "long", 0.0)
        workers.callback(worker.wait)
        workers.callback(worker.kill)
        await until_called(tmp_path, 2)
        with anyio.fail_after(60):
            while True:
                os.kill(worker.pid, signal.SIGSTOP)
                await anyio.sleep(0.05)  # for the statements that are under way
                suspended = set(own_server.execute(within))
                if suspended:
                    break
                os.kill(worker.pid, signal.SIGCONT)
                await anyio.sleep(0.005)
        start = anyio.current_time()
        with anyio.fail_after(2 * TRANSACTION_IDLE_S):
            while suspended & set(own_server.execute(within)):  # noqa: ASYNC110  (the server ends it)
                await anyio.sleep(0.2)
        print(f"the transaction ended after {anyio.current_time() - start:.1f} s")  # noqa: T201


@pytest.mark.slow
async def test_a_server_restart_interrupts_a_job_without_ending_it(own_server: Server, tmp_path: Path) -> None:
    url = own_server.url()
    async with Fleet(storage=url) as fleet:
        await fleet.submit("long", questions(6), rounds=5)
        worker = child(url, tmp_path, "long", 0.1)
        for number in (10, 25):
            await until_called(tmp_path, number)
            own_server.stop(signal.SIGQUIT)
            await anyio.sleep(0.5)
            own_server.start()
        with anyio.fail_after(120):
            while True:
                try:
                    if (await fleet.status("long")).is_done:
                        break
                except StorageError:
                    pass
                await anyio.sleep(0.3)
        code = await anyio.to_thread.run_sync(worker.wait)
        while True:  # debates that met the crash count as failed, and go on where they ended
            status = await fleet.status("long")
            if not status.failed:
                break
            await fleet.retry("long")
            again = child(url, tmp_path, "long", 0.02)
            assert await anyio.to_thread.run_sync(again.wait) == 0
        results = list(await fleet.results("long"))
    assert code == 0
    assert status.completed == 6
    assert len(stored_turns(results)) == WHOLE_JOB


@pytest.mark.slow
async def test_a_worker_that_starts_before_the_server_waits_for_it(
    own_server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = own_server.url(connect_timeout="1")
    async with Fleet(storage=url) as fleet:
        await fleet.submit("job", questions(1), rounds=1)
    own_server.stop()
    storage = PostgresStorage(url, connect_timeout_s=0.5)
    async with table_for(storage, tmp_path) as table, Fleet(table) as worker:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(worker.work, until_done="job"))
                while True:
                    await anyio.sleep(0.05)
                    if "the worker waits for the database" in caplog.text:
                        break
                await anyio.to_thread.run_sync(own_server.start)
        assert (await worker.status("job")).completed == 1
    assert PASSWORD not in caplog.text


@pytest.mark.slow
async def test_a_worker_that_waits_to_join_others_waits_for_the_database_too(
    postgres_server: Server, postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def until_logged(text: str) -> None:
        while text not in caplog.text:  # noqa: ASYNC110  (a log has no event)
            await anyio.sleep(0.02)

    limit = {"scripted": 1}
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("job", questions(1), rounds=1)
        _, records = await fleet._open()
        await records.add_worker(current_owner("other"), 3600)
        with (
            start_blocking_portal() as portal,  # a worker that begins blocks its own event loop while it connects
            portal.wrap_async_context_manager(proxy_to(postgres_server.port)) as proxy,
        ):
            proxied = postgres_url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
            storage = PostgresStorage(f"{proxied}&connect_timeout=1", connect_timeout_s=0.5)
            async with table_for(storage, tmp_path) as table, Fleet(table, provider_concurrency=limit) as joining:
                with anyio.fail_after(90):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(partial(joining.work, until_done="job"))
                        await until_logged("waits until another worker ends")
                        portal.call(proxy.cut)
                        await until_logged("this worker waits for the database")
                        portal.call(proxy.open)
                        await records.remove_worker("other")
        assert (await fleet.status("job")).completed == 1
    assert PASSWORD not in caplog.text


@pytest.mark.slow
async def test_a_database_lost_during_the_start_of_a_worker_is_a_typed_error_without_leftovers(
    postgres_url: str, tmp_path: Path
) -> None:
    away = PostgresStorage(f"postgresql://ann:{PASSWORD}@127.0.0.1:9/app")
    async with table_for(postgres_url, tmp_path, 0) as table, Fleet(table) as fleet:
        await fleet.submit("job", questions(1), rounds=1)
        _, records = await fleet._open()
        with pytest.raises(StorageError) as error:
            Worker(table, JobQueue(database_of(away), "default"), records, 1, {})._launch()
        assert (error.value.details or {})["reason"] == "unreachable"
        assert PASSWORD not in "".join(traceback.format_exception(error.value))
        await fleet.work(until_done="job")
        assert (await fleet.status("job")).completed == 1
    await away.aclose()


async def test_a_worker_that_starts_ends_with_the_error_when_the_server_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundtable.fleet.fleet._START_S", 1.5)
    url = f"postgresql://tester:{PASSWORD}@127.0.0.1:1/postgres?connect_timeout=1"
    storage = PostgresStorage(url, connect_timeout_s=0.1)
    async with table_for(storage, tmp_path) as table, Fleet(table) as worker:
        begun = anyio.current_time()
        with anyio.fail_after(30), pytest.raises(StorageError) as caught:
            await worker.work()
    assert caught.value.details["reason"] == "unreachable"
    assert anyio.current_time() - begun >= 1.5


async def test_a_queue_without_a_server_or_rights_is_refused_without_the_password(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with Fleet(storage=f"postgresql://tester:{PASSWORD}@127.0.0.1:1/postgres?connect_timeout=1") as fleet:
        with pytest.raises(StorageError) as caught:
            await fleet.submit("job", ["a?"])
    assert PASSWORD not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.hint}"
    user = f"u{new_schema()}"
    postgres_server.execute(f"CREATE USER {user} PASSWORD '{PASSWORD}'")
    async with Fleet(storage=postgres_server.url(new_schema(), user=user)) as fleet:
        with pytest.raises(StorageError) as caught:
            await fleet.submit("job", ["a?"])
    assert (caught.value.details["reason"], bool(caught.value.hint)) == ("forbidden", True)
    assert PASSWORD not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.hint}"


async def test_a_user_who_may_not_create_the_queue_is_refused(postgres_server: Server) -> None:
    user, schema = f"u{new_schema()}", new_schema()
    postgres_server.execute(f"CREATE USER {user} PASSWORD '{PASSWORD}'; CREATE SCHEMA {schema} AUTHORIZATION {user}")
    async with Fleet(storage=postgres_server.url(schema, user=user)) as fleet:
        with pytest.raises(StorageError) as caught:
            await fleet.submit("job", ["a?"])
    assert caught.value.details["reason"] == "forbidden"
    assert PASSWORD not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.hint}"


async def test_a_fleet_refuses_tables_of_a_newer_version_and_changes_nothing(
    postgres_server: Server, postgres_url: str
) -> None:
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("job", ["a?"])
    schema = parse_address(postgres_url).schema
    postgres_server.execute(f"UPDATE {schema}.schema_version SET version = 99")
    async with Fleet(storage=postgres_url) as fleet:
        with pytest.raises(StorageError, match="newer version") as caught:
            await fleet.submit("other", ["b?"])
    assert caught.value.details["reason"] == "newer"
    rows = postgres_server.execute(f"SELECT count(*) FROM {schema}_fleet.workflow_status")
    assert rows == [(1,)]


async def test_a_read_only_replica_queues_nothing(postgres_url: str) -> None:
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("job", ["a?"])
    async with Fleet(storage=postgres_url + "&options=-c%20default_transaction_read_only%3Don") as replica:
        with pytest.raises(StorageError) as caught:
            await replica.submit("other", ["b?"])
    assert caught.value.details["reason"] == "read-only"
    async with Fleet(storage=postgres_url) as fleet:
        assert [job.job for job in await fleet.jobs()] == ["job"]


@pytest.mark.slow
async def test_a_full_disk_fails_debates_with_a_typed_error_and_a_retry_completes_them(
    postgres_server: Server, postgres_url: str, tmp_path: Path
) -> None:
    schema = parse_address(postgres_url).schema
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("job", questions(2), rounds=1)
        # What a server says whose disk is full.
        postgres_server.execute(
            f"CREATE FUNCTION {schema}.disk_full() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;"
            f"CREATE TRIGGER disk_full BEFORE INSERT ON {schema}.events EXECUTE FUNCTION {schema}.disk_full()"
        )
        async with table_for(postgres_url, tmp_path) as table, Fleet(table) as worker:
            with anyio.fail_after(120):
                await worker.work(until_done="job")
            status = await worker.status("job")
            assert (status.failed, set(status.errors)) == (2, {"STORAGE_ERROR"})
            failures = (await worker.results("job")).failures
            assert all("the disk of" in failure.error.message for failure in failures)
            postgres_server.execute(f"DROP TRIGGER disk_full ON {schema}.events")
            await worker.retry("job")
            with anyio.fail_after(120):
                await worker.work(until_done="job")
            assert (await worker.status("job")).completed == 2


async def test_two_workers_keep_within_the_budget_of_a_job(postgres_url: str, tmp_path: Path) -> None:
    with ending(child(postgres_url, tmp_path, "-", 0.05), child(postgres_url, tmp_path, "-", 0.05)):
        async with table_for(postgres_url, tmp_path) as table, Fleet(table) as fleet:
            worst = table.estimate("question-1?", rounds=1).calls
            budget = Budget(max_calls=4 * worst + 2)
            await until_workers(fleet, 2)
            await fleet.submit("paid", questions(20), rounds=1, job_budget=budget)
            with anyio.fail_after(120):
                status = await fleet.wait("paid")
            called = calls_of(tmp_path)
            assert sum(called.values()) == status.usage.calls == 2 * status.completed
            # A debate begins only where its worst case fits, so the rest is smaller than that.
            assert 4 * worst + 2 - worst < status.usage.calls <= 4 * worst + 2
            assert status.errors == {"BUDGET_EXCEEDED": 20 - status.completed}
            assert len({row.worker for row in await rows_of(fleet, "paid")}) == 2
            failed = (await fleet.results("paid")).failures
            assert {failure.error.name for failure in failed} == {"BudgetExceeded"}
            assert not {failure.topic.partition(":")[0] for failure in failed} & {line.split()[0] for line in called}
            await fleet.retry("paid", job_budget=Budget(max_calls=20 * worst))
            with anyio.fail_after(120):
                assert (await fleet.wait("paid")).usage.calls == 40
    assert set(calls_of(tmp_path).values()) == {1}


@pytest.mark.slow
async def test_a_worker_that_is_cut_off_from_a_living_database_loses_nothing_and_ends_with_its_job(
    postgres_server: Server, postgres_url: str, tmp_path: Path
) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    for folder in (near, far):
        folder.mkdir()
    async with proxy_to(postgres_server.port) as proxy, Fleet(storage=postgres_url) as fleet:
        proxied = postgres_url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
        await fleet.submit("long", questions(12), rounds=8)
        workers = child(postgres_url, near, "long", 0.5), child(proxied, far, "long", 0.5)
        with ending(*workers):
            for folder in (near, far):
                await until_called(folder, 20)
            await proxy.cut()
            stored = stored_turns([await fleet.table.session(found.id) for found in await fleet.table.sessions()])
            before = calls_of(near) + calls_of(far)
            await anyio.sleep(CUT_OFF_S)
            await proxy.open()
            with anyio.fail_after(120):
                status = await fleet.wait("long")
                codes = [await anyio.to_thread.run_sync(worker.wait, abandon_on_cancel=True) for worker in workers]
        results = list(await fleet.results("long"))
    assert (status.completed, status.failed) == (12, 0)
    assert codes == [0, 0]
    assert stored
    assert not stored & set(calls_of(near) + calls_of(far) - before)
    assert len(stored_turns(results)) == 12 * 2 * 8
    assert set(calls_of(near).values()) == {1}


@pytest.mark.slow
async def test_clocks_that_differ_by_two_minutes_let_no_worker_take_over_from_a_living_one(
    postgres_url: str, tmp_path: Path
) -> None:
    async with Fleet(storage=postgres_url) as fleet:
        await fleet.submit("job", questions(8), rounds=3)
        workers = [child(postgres_url, tmp_path, "job", 0.1, 0, skew) for skew in (60, -60)]
        with anyio.fail_after(180):
            status = await fleet.wait("job")
        assert [await anyio.to_thread.run_sync(worker.wait) for worker in workers] == [0, 0]
    assert (status.completed, status.failed) == (8, 0)
    assert set(calls_of(tmp_path).values()) == {1}


@pytest.mark.slow
async def test_workers_outlast_other_clients_that_hold_all_connections_of_the_server(
    crowded_server: Server, tmp_path: Path
) -> None:
    url = crowded_server.url()
    async with Fleet(storage=url) as fleet:
        await fleet.submit("long", questions(6), rounds=5)
        workers = child(url, tmp_path, "long", 0.1), child(url, tmp_path, "long", 0.1)
        with ending(*workers):
            await until_called(tmp_path, 15)
            with crowded_server.used_up() as connection:
                await anyio.sleep(USED_UP_S)
                stored = {" ".join(turn) for turn in connection.execute(STORED_TURNS).fetchall()}
                before = calls_of(tmp_path)
            with anyio.fail_after(120):
                status = await fleet.wait("long")
                codes = [await anyio.to_thread.run_sync(worker.wait, abandon_on_cancel=True) for worker in workers]
        results = list(await fleet.results("long"))
    assert (status.completed, status.failed, codes) == (6, 0, [0, 0])
    assert stored
    assert not stored & set(calls_of(tmp_path) - before)
    assert len(stored_turns(results)) == WHOLE_JOB
    log = (tmp_path / "log.txt").read_text()
    assert re.search("^WARNING:roundtable.fleet:.* has no connection left: ", log, re.MULTILINE), log
    assert PASSWORD not in log


@pytest.mark.slow
async def test_a_fleet_without_a_free_connection_says_so_and_its_worker_waits(
    crowded_server: Server, tmp_path: Path
) -> None:
    url, log = crowded_server.url(), tmp_path / "log.txt"
    hint = "Raise max_connections of the server, or lower `connections` of each storage."
    async with Fleet(storage=url) as fleet:
        await fleet.submit("job", questions(2), rounds=1)
    with ExitStack() as stack:
        stack.enter_context(crowded_server.used_up())
        worker = child(url, tmp_path, "job")
        with ending(worker):
            command = [sys.executable, "-m", "roundtable", "fleet", "status", "--storage", url]
            refused = await anyio.run_process(command, check=False)
            said = " ".join((refused.stdout + refused.stderr).decode().split())
            with anyio.fail_after(60):
                while not (log.exists() and "waits for the database" in log.read_text()):  # noqa: ASYNC110  (a process)
                    await anyio.sleep(0.05)
            stack.close()
            with anyio.fail_after(60):
                assert await anyio.to_thread.run_sync(worker.wait, abandon_on_cancel=True) == 0
    for text in (said, log.read_text()):
        assert "has no connection left: " in text
        assert hint in text
        assert PASSWORD not in text
    assert refused.returncode == ExitCode.STORAGE, said
    assert set(calls_of(tmp_path).values()) == {1}


async def test_reading_creates_no_schema(postgres_server: Server) -> None:
    schema = new_schema()
    storage = PostgresStorage(postgres_server.url(schema))
    query = f"SELECT nspname FROM pg_namespace WHERE nspname LIKE '{schema}%'"
    assert not await is_created(storage)
    async with Roundtable(storage=storage) as table, Fleet(table) as fleet:
        assert (await fleet.jobs(), await fleet.workers()) == ((), 0)
        with pytest.raises(ConfigurationError, match=f"no job in the schema '{schema}' of 'postgresql://127.0.0.1"):
            await fleet.status("x")
        assert postgres_server.execute(query) == []
        await storage.create(record("s"))
        assert await is_created(storage)
        assert await fleet.jobs() == ()
        assert len(postgres_server.execute(query)) == 1  # without the schema of the queue
