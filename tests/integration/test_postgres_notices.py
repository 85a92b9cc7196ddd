"""Requests and events that reach other processes through PostgreSQL, at once or without any notice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Literal, get_args

import anyio
import httpx
import pytest
from integration.engine_kit import ENOUGH_S, CountingModel, table_of
from integration.test_control import took_s
from integration.test_server_crash import server
from integration.test_storage_processes import child, heard
from postgres_kit import PASSWORD, Server, new_schema

from roundtable.storage import PostgresStorage
from roundtable.testing.storage_samples import control, record

pytestmark = pytest.mark.postgres

LISTENING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND usename = '{user}'"
Silence = Literal["cut", "unsent"]
"""Why no notice comes: the connection that listens is cut and cannot be made anew, or nobody sends one."""


without_notices = pytest.mark.parametrize("silence", get_args(Silence))


class Reader:
    """The user of a process that follows a session and can be made deaf to notices.

    Args:
        postgres: The server.
        url: Address of the tables.
        writer: The storage of another process, which notifies.
    """

    def __init__(self, postgres: Server, url: str, writer: PostgresStorage) -> None:
        self.user = new_schema()
        self._postgres = postgres
        self._writer = writer
        postgres.execute(f"CREATE ROLE {self.user} LOGIN PASSWORD '{PASSWORD}'; GRANT tester TO {self.user}")
        self.url = url.replace("//tester:", f"//{self.user}:")

    def is_listening(self) -> bool:
        return bool(self._postgres.execute(LISTENING.format(user=self.user)))

    async def deafen(self, silence: Silence, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait until the reader listens, then keep every notice from it."""
        await until(self.is_listening)
        if silence == "unsent":
            monkeypatch.setattr(self._writer, "_channel", "x" * 100)  # too long for PostgreSQL
            return
        self._postgres.execute(f"ALTER ROLE {self.user} CONNECTION LIMIT 0")
        self._postgres.execute(LISTENING.format(user=self.user).replace("pid", "pg_terminate_backend(pid)", 1))
        await until(lambda: not self.is_listening())


async def until(law: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not await anyio.to_thread.run_sync(law):  # noqa: ASYNC110  (of the database; it tells nobody)
            await anyio.sleep(0.02)


def check_time(what: str, waited_s: float) -> None:
    """Check the limit of a quarter of a second, with room for a busy machine; write the figure."""
    sys.stdout.write(f"{what} after {waited_s * 1000:.0f} ms\n")
    assert waited_s < ENOUGH_S, f"{what} after {waited_s:.3f} s"


async def line_of(process: subprocess.Popen[str]) -> list[str]:
    """Return the next line of a child, without blocking the event loop."""
    with anyio.fail_after(60):
        return await anyio.to_thread.run_sync(heard, process, abandon_on_cancel=True)


@pytest.fixture
async def writer(postgres_url: str) -> AsyncIterator[PostgresStorage]:
    made = PostgresStorage(postgres_url)
    await made.create(record("s"))
    yield made
    await made.aclose()


@pytest.fixture
def reader(postgres_server: Server, postgres_url: str, writer: PostgresStorage) -> Reader:
    return Reader(postgres_server, postgres_url, writer)


async def answered_s(writer: PostgresStorage, process: subprocess.Popen[str], action: str) -> float:
    """Stop or pause the debate of another process whose calls never end; return how long that took."""
    asked, session_id = await line_of(process)
    assert asked == "asked"
    async with table_of(CountingModel("Tea"), storage=writer) as table:
        if action == "stop":
            await table.stop(session_id)
        else:
            await table.pause(session_id, running="cancel")
    assert await line_of(process) == ["ended", "completed" if action == "stop" else "paused"]
    return await took_s(writer, session_id)


@pytest.mark.parametrize("action", ["pause", "stop"])
async def test_a_notice_brings_a_request_to_a_run_in_another_process_at_once(
    writer: PostgresStorage, postgres_url: str, action: str
) -> None:
    with child("debate", postgres_url, 3600) as process:
        waited_s = await answered_s(writer, process, action)
    check_time(f"{action}: the run ended", waited_s)


@without_notices
async def test_a_run_in_another_process_finds_a_request_without_a_notice(
    writer: PostgresStorage, reader: Reader, silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child("debate", reader.url, 0.25) as process:
        await reader.deafen(silence, monkeypatch)
        waited_s = await answered_s(writer, process, "stop")
    check_time(f"{silence}: the run ended", waited_s)


@without_notices
async def test_a_watcher_sees_events_without_a_notice_once_and_in_order(
    writer: PostgresStorage, reader: Reader, silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = PostgresStorage(reader.url)
    async with table_of(CountingModel("Tea"), storage=here) as table, table.watch("s") as events:
        await writer.append("s", 0, None, [control("s")])
        assert (await anext(events)).seq == 1
        await reader.deafen(silence, monkeypatch)
        for last in (1, 2, 4):
            await writer.append("s", last, None, [control("s")] * last)
            stored = anyio.current_time()
            with anyio.fail_after(60):
                assert [(await anext(events)).seq for _ in range(last)] == list(range(last + 1, 2 * last + 1))
            check_time(f"{silence}: seen", anyio.current_time() - stored)
    await here.aclose()


async def next_ids(lines: AsyncIterator[str], number: int) -> list[str]:
    """Return the ids of the next events of a stream."""
    ids: list[str] = []
    with anyio.fail_after(60):
        while len(ids) < number:
            line = await anext(lines)
            if line.startswith("id: "):
                ids.append(line.removeprefix("id: "))
    return ids


@without_notices
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_resumed_stream_sends_events_without_a_notice_once_and_in_order(
    writer: PostgresStorage, reader: Reader, silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    await writer.append("s", 0, None, [control("s")] * 3)
    with server(reader.url, "http://127.0.0.1:1") as (_, url):
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, verify=False) as web:
            async with web.stream("GET", "/api/sessions/s/events?ids=1") as first:
                assert await next_ids(first.aiter_lines(), 2) == ["s:1", "s:2"]
                await reader.deafen(silence, monkeypatch)
            again = {"last-event-id": "s:2"}
            async with web.stream("GET", "/api/sessions/s/events", headers=again) as second:
                lines = second.aiter_lines()
                assert await next_ids(lines, 1) == ["s:3"]
                for last in (3, 4, 6):
                    await writer.append("s", last, None, [control("s")] * (last - 2))
                    stored = anyio.current_time()
                    expected = [f"s:{number}" for number in range(last + 1, 2 * last - 1)]
                    assert await next_ids(lines, last - 2) == expected
                    check_time(f"{silence}: streamed", anyio.current_time() - stored)
