"""The PostgreSQL storage beside other processes, broken connections, servers that restart, and refusals."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import psycopg
import pytest
from integration.engine_kit import eventually
from integration.test_storage_processes import child, heard, said
from postgres_kit import PASSWORD, Server, new_schema, programs, running_server

import roundtable
from roundtable.errors import ConfigurationError, LeaseLost, SessionBusy, StaleSequence, StorageError
from roundtable.storage import PostgresStorage, current_owner, open_postgres
from roundtable.storage.postgres import _LIST
from roundtable.storage.postgres_connection import parse_address
from roundtable.storage.postgres_keyvalue import _SCAN
from roundtable.storage.postgres_schema import _LOCK_ID, _USE_LOCK_ID, MIGRATIONS, in_schema, key_hash, migrate
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import answered, control, owner_elsewhere, record
from roundtable.types import DurableEvent, SearchQuery, SessionFilter

pytestmark = pytest.mark.postgres


@pytest.fixture
async def storage(postgres_url: str) -> AsyncIterator[PostgresStorage]:
    made = PostgresStorage(postgres_url)
    yield made
    await made.aclose()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """Yield a server that the test may kill."""
    with running_server() as server:
        yield server


class Notices:
    """Counts notices, which come on another thread."""

    def __init__(self) -> None:
        self.count = 0
        self._heard = threading.Semaphore(0)

    def hear(self) -> None:
        self.count += 1
        self._heard.release()

    async def next(self) -> None:
        """Wait for one notice more."""
        assert await anyio.to_thread.run_sync(self._heard.acquire, True, 10)


def locks(server: Server, schema: str, lock: int, *, granted: bool) -> list[tuple[object, ...]]:
    """Return the processes that have an advisory lock of a schema, or wait for it."""
    condition = f"classid = {lock} AND objid = (hashtext('{schema}')::bigint & 4294967295)::oid AND granted = {granted}"
    return server.execute(f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND {condition}")


def stored(url: str, session: str) -> tuple[DurableEvent, ...]:
    async def read() -> tuple[DurableEvent, ...]:
        storage = PostgresStorage(url)
        try:
            return (await storage.read(session))[1]
        finally:
            await storage.aclose()

    return anyio.run(read)


class TestProcesses:
    def test_events_acknowledged_by_a_killed_process_are_stored_once_and_another_takes_over_at_once(
        self, postgres_url: str
    ):
        sessions = ("a", "b", "c", "d")
        acknowledged: dict[str, int] = defaultdict(int)
        for kill in range(4):
            with child("write", postgres_url, ",".join(sessions)) as process:
                lines = []
                while sum(line[0] == "ack" for line in lines) < 20 * (kill + 1):
                    lines.append(heard(process))
                process.send_signal(signal.SIGKILL)
                lines += said(process)
            for line in lines:
                if line[0] == "ack":
                    acknowledged[line[1]] = max(acknowledged[line[1]], int(line[2]))
            for session in sessions:
                events = stored(postgres_url, session)
                assert acknowledged[session] <= len(events)
                slots = [event.turn.slot for event in events if event.type == "agent_complete"]
                assert slots == list(range(len(events)))
        assert min(acknowledged.values()) > 0

    def test_processes_that_append_to_one_log_leave_no_gap_and_lose_nothing(self, postgres_url: str):
        storage = PostgresStorage(postgres_url)
        anyio.run(storage.create, record("s"))
        storage.close()
        with child("race", postgres_url, "s") as one, child("race", postgres_url, "s") as two:
            lines = said(one) + said(two)
        numbers = sorted(int(line[2]) for line in lines if line[0] == "ack")
        assert numbers == list(range(1, 81))
        assert [event.seq for event in stored(postgres_url, "s")] == numbers

    def test_processes_may_create_the_tables_at_the_same_time_and_lose_no_update(self, postgres_url: str):
        with child("count", postgres_url, "n") as one, child("count", postgres_url, "n") as two:
            assert [process.wait() for process in (one, two)] == [0, 0]
        storage = PostgresStorage(postgres_url)
        assert anyio.run(storage.kv.get, "n") == 100
        storage.close()

    async def test_a_suspended_process_blocks_no_other(self, postgres_url: str):
        """It is stopped again and again while it changes values and leases, in whatever statement it is."""
        storage, owner = PostgresStorage(postgres_url), current_owner()
        for session in ("a", "b"):
            await storage.create(record(session))
        with child("lease", postgres_url, "a") as process:
            heard(process)
            try:
                for _ in range(10):
                    process.send_signal(signal.SIGSTOP)
                    with anyio.fail_after(5):
                        await storage.lease("b", owner, 15)
                        await storage.kv.update("n", lambda old: (old if isinstance(old, int) else 0) + 1)
                    process.send_signal(signal.SIGCONT)
                    await anyio.sleep(0.01)
            finally:
                process.kill()
        await storage.aclose()

    async def test_a_stale_token_is_refused_whatever_isolation_is_the_default(
        self, postgres_url: str, postgres_server: Server
    ):
        url = postgres_url + "&options=-c%20default_transaction_isolation%3Dserializable"
        storage = PostgresStorage(url)
        await storage.create(record("s"))
        token = (await storage.lease("s", owner_elsewhere("first"), 0.001)).token
        await anyio.sleep(0.01)
        with psycopg.connect(postgres_server.url(), autocommit=False) as lock:
            schema = parse_address(postgres_url).schema
            lock.execute(f"SELECT FROM {schema}.sessions FOR UPDATE")
            async with anyio.create_task_group() as group:
                group.start_soon(storage.lease, "s", owner_elsewhere("second"), 15)
                await anyio.sleep(0.1)
                lock.rollback()
        with pytest.raises(LeaseLost):
            await storage.append("s", None, token, [answered("s")])
        await storage.aclose()

    async def test_a_put_during_an_update_is_not_lost(self, storage: PostgresStorage, postgres_url: str):
        other = PostgresStorage(postgres_url)
        await storage.kv.put("k", "a")
        puts = 0

        def change(old: object) -> str:
            nonlocal puts
            if not puts:  # another process, while the function runs
                puts += 1
                putter = threading.Thread(target=anyio.run, args=(other.kv.put, "k", "b"))
                putter.start()
                putter.join()
            return f"{old}+c"

        assert await storage.kv.update("k", change) == "b+c"
        assert await storage.kv.get("k") == "b+c"
        await other.aclose()

    async def test_a_lease_runs_by_the_clock_of_the_database(self, postgres_url: str, monkeypatch):
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        lease = await storage.lease("s", owner_elsewhere("first"), 15)
        monkeypatch.setattr("time.time", lambda: 4e9)  # this host is decades ahead
        with pytest.raises(SessionBusy):
            await storage.lease("s", owner_elsewhere("second"), 15)
        await storage.kv.put("k", 1, ttl_s=60)
        assert await storage.kv.get("k") == 1
        assert await storage.append("s", 0, lease.token, [answered("s")]) == 1
        await storage.aclose()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    async def test_a_forked_process_is_refused(self, storage: PostgresStorage):
        await storage.create(record("s"))
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            try:
                storage._background.start(storage._write_waiting)
            except StorageError as error:
                os.write(writing, error.message.encode())
            os._exit(0)
        await anyio.to_thread.run_sync(os.waitpid, pid, 0)
        os.close(writing)
        with os.fdopen(reading) as said_by_child:
            assert "opened in another process" in said_by_child.read()
        assert (await storage.read("s"))[0].id == "s"


class TestBrokenConnections:
    async def test_an_append_is_stored_once_however_often_connections_break(
        self, postgres_url: str, postgres_server: Server
    ):
        storage = PostgresStorage(postgres_url, connect_timeout_s=60)
        written = dict.fromkeys(("a", "b", "c", "d"), 0)
        broken = 0

        def break_connections() -> None:
            nonlocal broken
            for _ in range(12):
                time.sleep(0.1)
                rows = postgres_server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'roundtable'"
                )
                broken += len(rows)

        async def write(session: str) -> None:
            while breaker.is_alive():
                last = written[session]
                written[session] = await storage.append(session, last, None, [control(session)])
                assert written[session] == last + 1

        for session in written:
            await storage.create(record(session))
        breaker = threading.Thread(target=break_connections)
        breaker.start()
        async with anyio.create_task_group() as group:
            for session in written:
                group.start_soon(write, session)
        assert broken > 0
        for session, last in written.items():
            assert [event.seq for event in (await storage.read(session))[1]] == list(range(1, last + 1))
        await storage.aclose()

    async def test_a_debate_outlives_a_crash_of_the_server(self, own_server: Server):
        agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"})
        table = roundtable.Roundtable(agents, storage=own_server.url())
        async with table, table.stream("Tea or coffee?", rounds=3) as stream:
            async for event in stream:
                if event.type == "round_complete" and event.round < 3:
                    await anyio.to_thread.run_sync(own_server.stop, signal.SIGQUIT)
                    await anyio.to_thread.run_sync(own_server.start)
            result = stream.result
        assert result.status == "completed"
        assert len(result.session.responses) == 9

    async def test_a_server_that_is_away_for_some_seconds_costs_no_call(self, own_server: Server):
        storage = PostgresStorage(own_server.url(), connect_timeout_s=30)
        for session in ("a", "b"):
            await storage.create(record(session))
        await anyio.to_thread.run_sync(own_server.stop)
        async with anyio.create_task_group() as group:
            group.start_soon(storage.append, "a", 0, None, [control("a")])
            group.start_soon(storage.delete, "b")
            await anyio.sleep(1.5)
            await anyio.to_thread.run_sync(own_server.start)
        assert (await storage.read("a"))[1][0].seq == 1
        assert [summary.id for summary in await storage.list(SessionFilter())] == ["a"]
        await storage.aclose()

    async def test_changes_after_idle_connections_broke_are_made_once(
        self, storage: PostgresStorage, postgres_server: Server
    ):
        await storage.create(record("s"))
        for change in (
            lambda: storage.kv.update("k", lambda old: [old]),
            lambda: storage.kv.delete("k"),
            lambda: storage.lease("s", owner_elsewhere(), 15),
            lambda: storage.delete("s"),
        ):
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'roundtable'"
            )
            await change()
        assert await storage.list(SessionFilter()) == ()

    async def test_appends_of_one_session_that_come_together_are_each_stored_once(
        self, storage: PostgresStorage, postgres_server: Server
    ):
        await storage.create(record("s"))
        ends: list[int] = []

        async def write() -> None:
            ends.append(await storage.append("s", None, None, [control("s")]))

        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(write)
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'roundtable'"
            )
        assert sorted(ends) == list(range(1, 31))
        assert [event.seq for event in (await storage.read("s"))[1]] == sorted(ends)

    async def test_a_server_that_is_gone_for_longer_is_an_error_that_may_be_tried_again(self, own_server: Server):
        storage = PostgresStorage(own_server.url(), connect_timeout_s=0.2)
        await storage.create(record("s"))
        await anyio.to_thread.run_sync(own_server.stop)
        started = anyio.current_time()
        with pytest.raises(StorageError) as error:
            await storage.append("s", 0, None, [control("s")])
        waited_s = anyio.current_time() - started
        assert waited_s < 0.2 + 2, f"refused after {waited_s:.2f} s"
        assert (error.value.retryable, error.value.details["reason"]) == (True, "unreachable")
        await anyio.to_thread.run_sync(own_server.start)
        assert await storage.append("s", 0, None, [control("s")]) == 1
        await storage.aclose()

    async def test_an_outage_is_logged_once_and_when_it_is_over(
        self, own_server: Server, caplog: pytest.LogCaptureFixture
    ):
        storage = PostgresStorage(own_server.url())
        await storage.create(record("s"))
        await anyio.to_thread.run_sync(own_server.stop)
        with caplog.at_level(logging.INFO, "roundtable.storage"):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(storage.append, "s", None, None, [control("s")])
                await anyio.sleep(4)
                await anyio.to_thread.run_sync(own_server.start)
        await storage.aclose()
        away, back = (record.getMessage() for record in caplog.records if record.name.startswith("roundtable"))
        assert "cannot be reached, trying again: OperationalError" in away
        assert "was reached again, after" in back

    async def test_the_first_use_waits_for_a_server_that_is_not_up_yet(self, own_server: Server):
        await anyio.to_thread.run_sync(own_server.stop)
        storage = PostgresStorage(own_server.url(), connect_timeout_s=30)
        async with anyio.create_task_group() as group:
            group.start_soon(storage.create, record("s"))
            await anyio.sleep(0.5)
            await anyio.to_thread.run_sync(own_server.start)
        assert [summary.id for summary in await storage.list(SessionFilter())] == ["s"]
        await storage.aclose()

    async def test_a_refusal_is_not_waited_for(self, postgres_server: Server):
        for url in (postgres_server.url().replace(PASSWORD, "wrong"), postgres_server.url(database="nowhere")):
            storage = PostgresStorage(url, connect_timeout_s=60)
            with anyio.fail_after(10), pytest.raises(StorageError):
                await storage.create(record("s"))
            await storage.aclose()


class TestLimits:
    async def test_an_error_says_whether_it_waited_for_the_server_or_for_a_free_connection(
        self, postgres_url: str, postgres_server: Server
    ):
        away = PostgresStorage(f"postgresql://me:{PASSWORD}@127.0.0.1:1/db", connect_timeout_s=0.1)
        with pytest.raises(StorageError, match=r"cannot be reached.*tried for 0\.1 s") as error:
            await away.read("s")
        assert error.value.details["reason"] == "unreachable"
        assert "connect_timeout_s=" in str(error.value.hint)
        await away.aclose()
        storage = PostgresStorage(postgres_url, connections=1, connect_timeout_s=0, pool_timeout_s=0.1)
        await storage.create(record("s"))
        with psycopg.connect(postgres_server.url(), autocommit=False) as lock:
            lock.execute(f"SELECT FROM {parse_address(postgres_url).schema}.sessions FOR UPDATE")
            async with anyio.create_task_group() as group:
                group.start_soon(storage.append, "s", 0, None, [control("s")])
                waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                await eventually(lambda: bool(postgres_server.execute(waits)))
                with pytest.raises(StorageError, match=r"no connection .* became free within 0\.1 s") as error:
                    await storage.read("s")
                lock.rollback()
        assert (error.value.retryable, error.value.details["reason"]) == (True, "busy")
        assert "pool_timeout_s=" in str(error.value.hint)
        await storage.aclose()

    async def test_a_server_that_hangs_costs_each_call_its_limit(self, own_server: Server):
        storage = PostgresStorage(own_server.url(), call_timeout_s=1)
        new = PostgresStorage(own_server.url(connect_timeout="2"), connect_timeout_s=0)
        await storage.create(record("s"))
        with own_server.suspended():
            for call, reason in (
                (lambda: storage.append("s", 0, None, [control("s")]), "no-answer"),
                (lambda: new.read("s"), "unreachable"),
            ):
                with anyio.fail_after(5), pytest.raises(StorageError) as error:
                    await call()
                assert (error.value.retryable, error.value.details["reason"]) == (True, reason)
                assert error.value.hint
        await new.aclose()
        # What had no answer may be stored; a lost connection is made anew.
        assert (await storage.read("s"))[0].id == "s"
        await storage.kv.put("k", 1)
        assert await storage.kv.get("k") == 1
        await storage.aclose()

    async def test_a_storage_closes_in_time_even_if_its_server_hangs(self, own_server: Server):
        storage = PostgresStorage(own_server.url(), close_timeout_s=0.2)
        await storage.create(record("s"))
        notices, errors = Notices(), list[StorageError]()

        async def call(work: Callable[[], Awaitable[object]]) -> None:
            try:
                await work()
            except StorageError as error:
                errors.append(error)

        with storage.listen("s", notices.hear):
            await notices.next()
            with own_server.suspended():
                async with anyio.create_task_group() as group:
                    group.start_soon(call, lambda: storage.append("s", 0, None, [control("s")]))
                    group.start_soon(call, lambda: storage.read("s"))  # on a new connection
                    await anyio.sleep(0.2)
                    with anyio.fail_after(0.2 + 3):
                        await storage.aclose()
        assert [error.details["reason"] for error in errors] == ["closed", "closed"]
        assert all(error.hint for error in errors)

    async def test_unused_connections_are_closed(self, postgres_url: str, postgres_server: Server, monkeypatch):
        monkeypatch.setattr("roundtable.storage.postgres_connection._IDLE_S", 0.1)
        name = new_schema()
        storage = PostgresStorage(f"{postgres_url}&application_name={name}")
        await storage.create(record("s"))
        pids = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'"
        await eventually(lambda: not postgres_server.execute(pids), 10)
        assert (await storage.read("s"))[0].id == "s"
        await storage.aclose()

    async def test_no_more_connections_are_opened_than_allowed(self, postgres_url: str, postgres_server: Server):
        name = new_schema()
        storage = PostgresStorage(f"{postgres_url}&application_name={name}", connections=2)
        await storage.create(record("s"))
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(storage.read, "s")
        rows = postgres_server.execute(f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'")
        assert 1 <= len(rows) <= 2
        await storage.aclose()


class TestNotices:
    async def test_a_watcher_is_notified_of_events_of_another_process_at_once(self, postgres_url: str, monkeypatch):
        monkeypatch.setattr("roundtable.api.runs._POLL_S", 3600)
        writer, here = PostgresStorage(postgres_url), PostgresStorage(postgres_url)
        await writer.create(record("s"))
        agents = scripted_agents({"ada": "Tea"})
        async with roundtable.Roundtable(agents, storage=here) as table, table.watch("s") as events:
            await writer.append("s", 0, None, [control("s")])
            assert (await anext(events)).seq == 1
            for number in range(1, 5):
                async with anyio.create_task_group() as group:
                    group.start_soon(writer.append, "s", number, None, [control("s")])
                    started = anyio.current_time()
                    assert (await anext(events)).seq == number + 1
                    waited_s = anyio.current_time() - started
                    assert waited_s < 0.1 + 2, f"heard after {waited_s:.3f} s"
        await writer.aclose()
        await here.aclose()

    async def test_events_stored_right_before_a_close_are_announced_too(self, postgres_url: str, monkeypatch):
        monkeypatch.setattr("roundtable.api.runs._POLL_S", 3600)
        writer, here = PostgresStorage(postgres_url), PostgresStorage(postgres_url)
        await writer.create(record("s"))
        async with (
            roundtable.Roundtable(scripted_agents({"ada": "Tea"}), storage=here) as table,
            table.watch("s") as events,
        ):
            await writer.append("s", 0, None, [control("s")])
            assert (await anext(events)).seq == 1
            await writer.append("s", 1, None, [control("s")])
            await writer.aclose()
            with anyio.fail_after(2):
                assert (await anext(events)).seq == 2
        await here.aclose()

    async def test_after_a_broken_connection_every_listener_is_notified_once(
        self, storage: PostgresStorage, postgres_server: Server
    ):
        await storage.create(record("s"))
        notices = Notices()
        with storage.listen("s", notices.hear):
            await notices.next()  # once the connection listens
            postgres_server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
            await notices.next()

    async def test_a_dead_listener_is_restarted_with_the_next_one(self, storage: PostgresStorage, postgres_url: str):
        await storage.create(record("s"))
        other, first, second = PostgresStorage(postgres_url), Notices(), Notices()

        async def kill() -> None:
            task = storage._listener._task
            assert task is not None
            task.cancel()
            await asyncio.wait((task,))

        with storage.listen("s", first.hear):
            await first.next()
            await storage._background.call(kill)
            with storage.listen("s", second.hear):
                await second.next()
                await first.next()
                await other.append("s", 0, None, [control("s")])
                await second.next()
                await first.next()
        await other.aclose()

    async def test_own_appends_are_not_notified(self, storage: PostgresStorage, postgres_url: str):
        await storage.create(record("s"))
        other, notices = PostgresStorage(postgres_url), Notices()
        with storage.listen("s", notices.hear):
            await notices.next()
            await storage.append("s", 0, None, [control("s")])
            await other.append("s", 1, None, [control("s")])
            await notices.next()
            assert notices.count == 2
        await other.aclose()


class TestRefusals:
    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://me:{PASSWORD}@host:notaport/db",
            f"postgresql://me:{PASSWORD}@[host/db",
            f"postgresql://me:{PASSWORD}@host/db?unknown=1",
            f"postgresql://me:{PASSWORD}@host/db?schema=",
            f"postgresql://me:{PASSWORD}@host/db?schema=pg_catalog",
            f"postgresql://me:{PASSWORD}@host/db?schema={'x' * 64}",
            f"postgresql:me:{PASSWORD}@host/db",
        ],
    )
    def test_an_unusable_url_is_refused_without_the_password(self, url: str):
        with pytest.raises(ConfigurationError) as error:
            open_postgres(url)
        assert error.value.hint
        assert PASSWORD not in "".join(traceback.format_exception(error.value))

    def test_an_unknown_parameter_is_named_unless_it_may_be_part_of_the_password(self):
        with pytest.raises(ConfigurationError, match="has no parameter 'colour'"):
            open_postgres("postgresql://me@host/db?colour=1")
        with pytest.raises(ConfigurationError) as error:
            open_postgres("postgresql://me:s@e/x?cret=word@host/db")
        assert "cret" not in str(error.value)

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://?service=debates",
            "postgresql:///app",
            "postgresql:///app?host=/var/run/postgresql&schema=debates",
            "postgres://me@one.example.org,two.example.org:5433/app?target_session_attrs=read-write",
        ],
    )
    def test_every_url_of_libpq_is_taken(self, url: str):
        open_postgres(url).close()

    def test_a_password_is_passed_on_unchanged(self):
        assert "password=a+b%2F" in parse_address("postgresql://me@h/db?password=a+b%2F&schema=x").libpq_url

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("connections", 0),
            ("connect_timeout_s", -1),
            ("connect_timeout_s", float("nan")),
            ("pool_timeout_s", 0),
            ("call_timeout_s", 3601),
            ("close_timeout_s", float("inf")),
        ],
    )
    def test_numbers_out_of_range_are_refused(self, name: str, value: float):
        with pytest.raises(ConfigurationError):
            PostgresStorage("postgresql://host/db", **{name: value})

    async def refused(self, url: str, reason: str, caplog: pytest.LogCaptureFixture) -> StorageError:
        storage = PostgresStorage(url, connect_timeout_s=0)
        with caplog.at_level(logging.DEBUG), pytest.raises(StorageError) as error:
            await storage.create(record("s"))
        assert error.value.details["reason"] == reason
        assert error.value.hint
        shown = "".join(traceback.format_exception(error.value)) + repr(storage) + caplog.text
        assert PASSWORD not in shown
        await storage.aclose()
        return error.value

    async def test_a_wrong_password_is_refused_without_being_shown(self, postgres_server: Server, caplog):
        url = postgres_server.url().replace(PASSWORD, f"{PASSWORD}-wrong")
        error = await self.refused(url, "forbidden", caplog)
        shown = "".join(traceback.format_exception(error)) + str(error.hint) + str(error.to_dict()) + caplog.text
        assert "tester" not in shown
        assert "password authentication failed" in error.message

    async def test_a_missing_server_is_a_storage_error(self, caplog):
        await self.refused(f"postgresql://me:{PASSWORD}@127.0.0.1:1/db", "unreachable", caplog)

    async def test_an_unknown_database_is_refused(self, postgres_server: Server, caplog):
        await self.refused(postgres_server.url(database="nowhere"), "unreachable", caplog)

    async def test_a_user_without_rights_is_refused(self, postgres_server: Server, caplog):
        guest = new_schema()
        postgres_server.execute(f"CREATE ROLE {guest} LOGIN PASSWORD '{PASSWORD}'")
        await self.refused(postgres_server.url(new_schema(), user=guest), "forbidden", caplog)

    async def test_a_user_who_may_open_no_connection_is_refused_as_busy(self, postgres_server: Server, caplog):
        crowded = new_schema()
        postgres_server.execute(f"CREATE ROLE {crowded} LOGIN PASSWORD '{PASSWORD}' CONNECTION LIMIT 0")
        error = await self.refused(postgres_server.url(new_schema(), user=crowded), "busy", caplog)
        assert error.retryable

    async def test_an_old_server_is_refused(self, postgres_server: Server, caplog, monkeypatch):
        monkeypatch.setattr("roundtable.storage.postgres_schema.OLDEST_SERVER", 99)  # this one is older
        error = await self.refused(postgres_server.url(new_schema()), "old-server", caplog)
        assert error.details["needed"] == 99

    async def test_a_full_disk_loses_nothing(self, postgres_server: Server, postgres_url: str):
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        schema = parse_address(postgres_url).schema
        postgres_server.execute(  # what a server says whose disk is full
            f"CREATE FUNCTION {schema}.disk_full() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;"
            f"CREATE TRIGGER disk_full BEFORE INSERT ON {schema}.events EXECUTE FUNCTION {schema}.disk_full()"
        )
        with pytest.raises(StorageError, match=r"the disk of .* is full") as error:
            await storage.append("s", 0, None, [control("s")])
        assert (error.value.details["reason"], bool(error.value.hint)) == ("full", True)
        postgres_server.execute(f"DROP TRIGGER disk_full ON {schema}.events")
        assert await storage.append("s", 0, None, [control("s")]) == 1
        await storage.aclose()

    async def test_an_encoding_that_cannot_store_every_text_is_refused(self, postgres_server: Server, caplog):
        latin = new_schema()
        postgres_server.execute(f"CREATE DATABASE {latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        await self.refused(postgres_server.url(database=latin), "encoding", caplog)

    async def test_tables_of_another_application_are_refused(self, postgres_server: Server, postgres_url: str, caplog):
        schema = parse_address(postgres_url).schema
        postgres_server.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.sessions (id INT)")
        await self.refused(postgres_url, "foreign", caplog)

    async def test_tables_of_a_newer_version_are_left_alone(self, postgres_server: Server, postgres_url: str, caplog):
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        await storage.aclose()
        schema = parse_address(postgres_url).schema
        postgres_server.execute(f"UPDATE {schema}.schema_version SET version = 99")
        error = await self.refused(postgres_url, "newer", caplog)
        assert error.details["found"] == 99

    async def test_a_server_that_takes_no_changes_still_shows_sessions(
        self, postgres_server: Server, postgres_url: str
    ):
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        await storage.aclose()
        replica = PostgresStorage(postgres_url + "&options=-c%20default_transaction_read_only%3Don")
        assert [summary.id for summary in await replica.list(SessionFilter())] == ["s"]
        with pytest.raises(StorageError) as error:
            await replica.append("s", 0, None, [control("s")])
        assert error.value.details["reason"] == "read-only"
        await replica.aclose()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of psycopg
    async def test_an_upgrade_that_fails_changes_nothing(self, postgres_server: Server, postgres_url: str):
        schema = parse_address(postgres_url).schema
        broken = (*MIGRATIONS, ("CREATE TABLE {schema}.more (id INT)", "SELECT 1 / 0"))
        async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
            await migrate(connection, schema, "test")
            with pytest.raises(psycopg.errors.DivisionByZero):
                await migrate(connection, schema, "test", broken)
        ((version,),) = postgres_server.execute(f"SELECT version FROM {schema}.schema_version")
        assert version == len(MIGRATIONS)
        assert postgres_server.execute(f"SELECT to_regclass('{schema}.more')") == [(None,)]

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of psycopg
    async def test_tables_of_an_older_version_are_upgraded(self, postgres_server: Server, postgres_url: str):
        schema = parse_address(postgres_url).schema
        async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
            await migrate(connection, schema, "test", MIGRATIONS[:1])
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        assert postgres_server.execute(f"SELECT version FROM {schema}.schema_version") == [(len(MIGRATIONS),)]
        await storage.aclose()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of psycopg
    async def test_an_upgrade_disconnects_open_storages_of_the_older_version(
        self, postgres_server: Server, postgres_url: str, caplog
    ):
        schema = parse_address(postgres_url).schema
        newer = (*MIGRATIONS, ("CREATE TABLE {schema}.more (id INT)",))
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        ended = anyio.Event()
        appended = 0
        error: StorageError | None = None

        async def append() -> None:
            nonlocal appended, error
            while error is None:
                try:
                    appended = await storage.append("s", None, None, [control("s")])
                except StorageError as raised:
                    error = raised
            ended.set()

        async with anyio.create_task_group() as group:
            for _ in range(4):  # more than one connection is in use
                group.start_soon(append)
            async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
                with anyio.fail_after(60):
                    await migrate(connection, schema, "test", newer)
                    stored = postgres_server.execute(f"SELECT count(*) FROM {schema}.events")
                    await ended.wait()
        assert error is not None
        assert error.details["reason"] == "newer"
        assert postgres_server.execute(f"SELECT count(*) FROM {schema}.events") == stored
        await self.refused(postgres_url, "newer", caplog)
        await storage.aclose()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of psycopg
    async def test_an_older_version_waits_while_a_newer_one_upgrades(self, postgres_server: Server, postgres_url: str):
        schema = parse_address(postgres_url).schema
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        await storage.aclose()
        older = PostgresStorage(postgres_url)
        error: StorageError | None = None

        async def append() -> None:
            nonlocal error
            with pytest.raises(StorageError) as refused:
                await older.append("s", None, None, [control("s")])
            error = refused.value

        async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
            key = (_LOCK_ID, schema)
            await connection.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", key)
            async with anyio.create_task_group() as group:
                group.start_soon(append)
                with anyio.fail_after(30):
                    while not (waiting := locks(postgres_server, schema, _LOCK_ID, granted=False)):  # noqa: ASYNC110  (a lock of another process)
                        await anyio.sleep(0.02)
                assert locks(postgres_server, schema, _USE_LOCK_ID, granted=True) == []
                assert locks(postgres_server, schema, _LOCK_ID, granted=False) == waiting  # it waits in the server
                await connection.execute(in_schema(schema, "UPDATE {schema}.schema_version SET version = version + 1"))
                await connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", key)
        assert error is not None
        assert error.details["reason"] == "newer"
        assert postgres_server.execute(f"SELECT count(*) FROM {schema}.events") == [(0,)]
        await older.aclose()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of psycopg
    async def test_an_upgrade_is_refused_if_it_may_not_disconnect_other_users(
        self, postgres_server: Server, postgres_url: str
    ):
        schema = parse_address(postgres_url).schema
        newer = (*MIGRATIONS, ("CREATE TABLE {schema}.more (id INT)",))
        storage = PostgresStorage(postgres_url)
        await storage.create(record("s"))
        upgrader = f"upgrader_{schema}"
        postgres_server.execute(f"CREATE ROLE {upgrader} LOGIN PASSWORD '{PASSWORD}'")
        for grant in (f"ALL ON SCHEMA {schema}", f"ALL ON ALL TABLES IN SCHEMA {schema}"):
            postgres_server.execute(f"GRANT {grant} TO {upgrader}")
        url = postgres_server.url(user=upgrader)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            with pytest.raises(StorageError, match="another user") as error:
                await migrate(connection, schema, "test", newer)
        assert error.value.details["reason"] == "in-use"
        assert await storage.append("s", 0, None, [control("s")]) == 1
        await storage.aclose()

    async def test_one_bad_append_does_not_affect_appends_sent_with_it(self, storage: PostgresStorage):
        outcomes: dict[str, object] = {}
        for number in range(6):
            await storage.create(record(f"s{number}"))
        token = (await storage.lease("s3", current_owner(), 15)).token

        async def write(number: int) -> None:
            session = f"s{number}"
            try:
                if number == 3:
                    outcomes[session] = await storage.append(session, None, token + 1, [answered(session)])
                else:
                    expected = 7 if number == 4 else 0
                    outcomes[session] = await storage.append(session, expected, None, [control(session)])
            except (LeaseLost, StaleSequence) as error:
                outcomes[session] = type(error)

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(write, number)
        assert outcomes == {"s0": 1, "s1": 1, "s2": 1, "s3": LeaseLost, "s4": StaleSequence, "s5": 1}


async def test_a_notice_that_cannot_be_sent_fails_no_append(storage: PostgresStorage, monkeypatch):
    await storage.create(record("s"))
    monkeypatch.setattr(storage, "_channel", "x" * 100)  # too long for PostgreSQL
    assert await storage.append("s", 0, None, [control("s")]) == 1


async def test_more_hits_than_a_page_are_found(storage: PostgresStorage, monkeypatch):
    monkeypatch.setattr("roundtable.storage.postgres._PAGE", 3)
    monkeypatch.setattr("roundtable.storage.postgres._HITS_PAGE", 3)
    for number in range(8):
        session = f"s{number}"
        await storage.create(record(session, metadata={"even": number % 2 == 0}))
        token = (await storage.lease(session, current_owner(), 15)).token
        position = "green tea" if number % 2 else "tea, green"
        await storage.append(session, 0, token, [answered(session, position=position)])
    hits = await storage.search(SearchQuery(text='"green tea"', limit=3))
    assert len(hits) == 3
    assert all("green tea" in hit.snippet for hit in hits)
    assert len(await storage.search(SearchQuery(text="green tea", limit=100))) == 8
    listed = await storage.list(SessionFilter(metadata={"even": True}, limit=3))
    assert len(listed) == 3


async def test_lists_by_status_and_scans_by_prefix_read_no_more_than_they_return(
    storage: PostgresStorage, postgres_server: Server, postgres_url: str
):
    schema = parse_address(postgres_url).schema
    await storage.create(record("s"))
    await storage.kv.put("b/1", 1)
    postgres_server.execute(f"""
        INSERT INTO {schema}.sessions
        SELECT sha256(n::text::bytea), tenant_key, tenant, 's' || n, record, topic, topic_searched, mode, agent_ids,
               metadata, 'completed', 1, 1, 1, 0, created_us + n, updated_us + n, append_ids, append_ends
        FROM {schema}.sessions, generate_series(1, 3000) AS n;
        INSERT INTO {schema}.key_values
        SELECT tenant_key, sha256(n::text::bytea), 'c/' || n, value
        FROM {schema}.key_values, generate_series(1, 3000) AS n;
        ANALYZE {schema}.sessions; ANALYZE {schema}.key_values
    """)
    tenant = key_hash("default")
    values: dict[str, object] = dict.fromkeys(
        ("topic", "mode", "since", "until", "untouched_since", "after_us", "after_id", "first_us", "now")
    )
    values |= {"tenant": tenant, "status": "created", "limit": 50, "prefix": "b/"}
    with psycopg.connect(postgres_server.url()) as connection:
        for statement, index in ((_LIST, "sessions_by_status"), (_SCAN, "key_values_by_name")):
            plan = connection.execute(b"EXPLAIN " + in_schema(schema, statement), values).fetchall()
            assert index in str(plan), plan
    assert [summary.id for summary in await storage.list(SessionFilter(status="created"))] == ["s"]
    assert await storage.kv.scan("b/") == (("b/1", 1),)


async def test_a_search_continues_after_the_last_position_of_a_page(storage: PostgresStorage, monkeypatch):
    """Sessions of one moment, several positions in each, and page ends within a session."""
    monkeypatch.setattr("roundtable.storage.postgres._HITS_PAGE", 1)
    monkeypatch.setattr("roundtable.storage.postgres._PAGE", 2)
    for name in ("b", "a", "c"):
        await storage.create(record(name))
        token = (await storage.lease(name, current_owner(), 15)).token
        await storage.append(name, 0, token, [answered(name, slot, position="tea, green tea") for slot in range(3)])
    hits = await storage.search(SearchQuery(text='"green tea"', limit=100))
    assert [(hit.session_id, hit.seq) for hit in hits] == [(name, seq) for name in "cba" for seq in (1, 2, 3)]
    assert await storage.search(SearchQuery(text='"tea tea"')) == ()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["sessions"], 0, "Nothing is stored there; check --storage."),
        (["show", "last"], 6, "nothing is stored in postgresql://127.0.0.1"),
        (["doctor"], 0, "[ok] storage: postgresql://127.0.0.1"),
        (["backup", "copy.db"], 2, "pg_dump --schema="),
        (["tokens", "create", "ann"], 0, "--storage 'postgresql://tester@127.0.0.1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_command_uses_the_database_and_shows_no_password(
    postgres_url: str, tmp_path: Path, words: list[str], code: int, said: str
):
    command = [sys.executable, "-m", "roundtable", *words, "--storage", postgres_url]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    shown = done.stdout + done.stderr
    assert (done.returncode, said in shown) == (code, True), shown
    assert PASSWORD not in shown
    assert (f"?schema={parse_address(postgres_url).schema}" in shown) or words[0] in {"backup", "tokens"}


def test_suggested_commands_work_when_they_are_pasted(postgres_url: str, tmp_path: Path):
    def run(*words: str, **environment: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=60, check=False, env=os.environ | environment,
        )  # fmt: skip
        assert PASSWORD not in done.stdout
        return f"{done.returncode} {done.stdout}"

    command = [sys.executable, "-m", "roundtable"]
    said = run(*command, "tokens", "create", "ann", "--storage", postgres_url)
    revoke = shlex.split(said.partition("Revoke it with: ")[2])
    assert revoke[:3] == ["roundtable", "tokens", "revoke"]
    assert run(*command, *revoke[1:], PGPASSWORD=PASSWORD).startswith("0 ")
    storage = open_postgres(postgres_url)
    dump = shlex.split(storage.backup_hint.partition("such as: ")[2])
    folder = programs()
    assert dump[0] == "pg_dump"
    assert folder is not None
    assert run(str(folder / "pg_dump"), *dump[1:], PGPASSWORD=PASSWORD) == "0 "
    assert "CREATE TABLE" in (tmp_path / "sessions.sql").read_text()


def test_a_missing_psycopg_is_named_with_its_extra(monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("psycopg", "roundtable.storage.postgres")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match="needs psycopg") as error:
        open_postgres("postgresql://host/db")
    assert error.value.hint == "pip install 'roundtable-sdk[postgres]'"
