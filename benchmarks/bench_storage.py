"""Durable turns a second: one commit for all who come together, beside one commit each.

    python benchmarks/bench_storage.py [--turns 6400] [--folder FOLDER] [--postgres URL]

A turn counts when its `append` has returned. The figures depend on how fast the medium of the folder syncs;
printed, never asserted. For PostgreSQL it also prints how long an event takes to a watcher in another process, alone
and while 64 debates append, and what the server counts: transactions, rows, bytes and connections.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import anyio
import psycopg

from roundtable import Roundtable
from roundtable.protocols import Storage
from roundtable.storage import MemoryStorage, PostgresStorage, SQLiteStorage, current_owner
from roundtable.storage.postgres_connection import parse_address
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import answered, control, record

POSITION = "x" * 1_000
NOTICES = 300
"""Events that a watcher waits for."""


class MetricsObserver(NamedTuple):
    """What one run took."""

    turns_per_s: float
    cpu_ms_per_turn: float
    p50_ms: float
    p99_ms: float


async def append_turns(storage: Storage, session: str, turns: int, took: list[float]) -> None:
    """Append turns one after the other, as one debate does."""
    session = f"{session}-{secrets.token_hex(4)}"
    await storage.create(record(session))
    token = (await storage.lease(session, current_owner(), 60)).token
    for slot in range(turns):
        event = answered(session, slot, position=POSITION)
        begun = time.perf_counter()
        await storage.append(session, slot, token, [event])
        took.append(time.perf_counter() - begun)


async def run(storage: Storage, debates: int, turns: int) -> MetricsObserver:
    """Append from several debates at once."""
    took: list[float] = []
    cpu, wall = time.process_time(), time.perf_counter()
    async with anyio.create_task_group() as group:
        for number in range(debates):
            group.start_soon(append_turns, storage, f"debate-{number}", turns, took)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    cuts = statistics.quantiles(took, n=100)
    return MetricsObserver(len(took) / wall, cpu / len(took) * 1000, cuts[49] * 1000, cuts[98] * 1000)


async def read_meanwhile(storage: Storage, debates: int, turns: int) -> MetricsObserver:
    """Read over and over while others append; give the figures of the reading."""
    took: list[float] = []
    await storage.create(record("read"))
    with anyio.CancelScope() as reading:

        async def write() -> None:
            await run(storage, debates, turns)
            reading.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            while True:
                begun = time.perf_counter()
                await storage.read("read")
                took.append(time.perf_counter() - begun)
                await anyio.sleep(0.001)
    cuts = statistics.quantiles(took, n=100)
    return MetricsObserver(0, 0, cuts[49] * 1000, max(took) * 1000)


async def measure(storage: Storage, debates: int, turns: int, *, reading: bool = False) -> MetricsObserver:
    """Do one run and close the storage."""
    try:
        return await (read_meanwhile if reading else run)(storage, debates, turns)
    finally:
        await storage.aclose()


def show(name: str, found: MetricsObserver) -> None:
    """Print a row."""
    print(f"{name:44}{found.turns_per_s:9.0f}{found.cpu_ms_per_turn:8.3f}{found.p50_ms:8.2f}{found.p99_ms:8.2f}")


def program(url: str, *words: str) -> subprocess.Popen[str]:
    """Start this program as another process, which says when it is ready."""
    command = [sys.executable, __file__, "--postgres", url, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def started_pair(url: str, turns: int) -> list[subprocess.Popen[str]]:
    """Start two processes that append from 32 debates each; each has a name at the server."""
    pair = [
        program(
            f"{url}{'&' if '?' in url else '?'}application_name=bench_{name}",
            "--turns",
            str(turns // 2),
            "--one-of-two",
        )
        for name in ("one", "two")
    ]
    for process in pair:
        assert process.stdin is not None
        process.stdin.close()  # go
        process.stdin = None
    return pair


def figures_of(processes: list[subprocess.Popen[str]]) -> MetricsObserver:
    """Wait for two processes; the latencies are the worse ones."""
    one, two = (MetricsObserver(*json.loads(process.communicate()[0])) for process in processes)
    return MetricsObserver(
        one.turns_per_s + two.turns_per_s,
        (one.cpu_ms_per_turn + two.cpu_ms_per_turn) / 2,
        max(one.p50_ms, two.p50_ms),
        max(one.p99_ms, two.p99_ms),
    )


class Counters(NamedTuple):
    """What the server has counted."""

    commits: int
    rows: dict[str, int]
    size: int


class Monitor:
    """Reads what the server counts for a database; used with `with`."""

    def __init__(self, url: str) -> None:
        address = parse_address(url)
        self._schema = address.schema
        self._connection = psycopg.connect(address.libpq_url, autocommit=True)
        self._statements = 0
        self.connections = 0
        """Most connections of one process that `count_connections` has seen."""

    def read(self) -> Counters:
        """Return the counters, without what this monitor adds; complete once all other processes have ended."""
        (commits,) = self._numbers("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        commits -= self._statements
        tables = self._texts("SELECT relname FROM pg_stat_user_tables WHERE schemaname = %s ORDER BY relname")
        # The names are those of the tables that this program has made.
        rows = {name: self._numbers(f"SELECT count(*) FROM {self._schema}.{name}")[0] for name in tables}  # noqa: S608
        sizes = [self._numbers(f"SELECT pg_total_relation_size('{self._schema}.{name}')")[0] for name in tables]
        return Counters(commits, rows, sum(sizes))

    def count_connections(self) -> None:
        """Note how many connections each process has now."""
        counted = self._numbers(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('bench_one', 'bench_two') "
            "GROUP BY application_name"
        )
        self.connections = max(self.connections, *counted, 0)

    def _numbers(self, statement: str) -> list[int]:
        self._statements += 1
        return [number for (number,) in self._connection.execute(statement.encode())]

    def _texts(self, statement: str) -> list[str]:
        self._statements += 1
        return [text for (text,) in self._connection.execute(statement.encode(), (self._schema,))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def count_two_processes(url: str, turns: int) -> tuple[MetricsObserver, list[str]]:
    """Return the figures of two processes, and lines about what the server counts meanwhile."""
    with Monitor(url) as monitor:
        before = monitor.read()
        processes = started_pair(url, turns)
        while any(process.poll() is None for process in processes):
            monitor.count_connections()
            time.sleep(0.05)
        figures, after = figures_of(processes), monitor.read()
    rows = {name: (number - before.rows.get(name, 0)) / turns for name, number in after.rows.items()}
    return figures, [
        f"transactions for each append: {(after.commits - before.commits) / turns:.2f}",
        "rows for each turn: " + ", ".join(f"{share:.2f} in {name}" for name, share in rows.items() if share),
        f"bytes for each turn, with indexes: {(after.size - before.size) / turns:,.0f}",
        f"connections of each process: {monitor.connections}",
    ]


async def watch(url: str, session: str) -> None:
    """Follow a session in this process; print when each event arrived, once the session has ended."""
    arrived: list[float] = []
    storage = PostgresStorage(url)
    async with Roundtable(scripted_agents({"ada": "Tea"}), storage=storage) as table, table.watch(session) as events:
        await anext(events)
        print("ready", flush=True)
        async for event in events:
            arrived.append(time.time())
            if event.type == "control" and event.action == "stop":
                break
    await storage.aclose()
    print(json.dumps(arrived))


@contextmanager
def appending(url: str) -> Iterator[None]:
    """Run 64 debates in two processes, which append while the block is open."""
    processes = started_pair(url, 6_400_000)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


async def notice_times(url: str) -> list[float]:
    """Return the percentiles, in milliseconds, of the time from an append to its arrival in another process."""
    writer, sent = PostgresStorage(url), list[float]()
    session = f"notices-{secrets.token_hex(4)}"
    await writer.create(record(session))
    await writer.append(session, 0, None, [control(session)])
    watcher = program(url, "--watch", session)
    for number in range(1, NOTICES + 1):
        sent.append(time.time())
        await writer.append(session, number, None, [control(session, "stop" if number == NOTICES else "pause")])
        await anyio.sleep(0.005)
    arrived = json.loads(watcher.communicate()[0])
    await writer.aclose()
    return statistics.quantiles(((there - here) * 1000 for here, there in zip(sent, arrived, strict=True)), n=100)


def show_notices(url: str) -> None:
    """Print how long an event takes to a watcher in another process, alone and beside others."""
    for company, is_loaded in (("alone", False), ("while 64 debates append", True)):
        with appending(url) if is_loaded else nullcontext():
            took = anyio.run(notice_times, url)
        print(f"postgresql, an event at another process, {company}: p50 {took[49]:.1f} ms, p99 {took[98]:.1f} ms")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=6_400, help="turns of each run with company")
    parser.add_argument("--folder", type=Path, help="where to put the files; a temporary folder when left out")
    parser.add_argument("--postgres", metavar="URL", help="an empty schema of a PostgreSQL database, measured too")
    parser.add_argument("--one-of-two", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--watch", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        anyio.run(watch, given.postgres, given.watch)
        return
    if given.one_of_two:
        print("ready", flush=True)
        sys.stdin.read()
        print(json.dumps(anyio.run(measure, PostgresStorage(given.postgres), 32, given.turns // 32)))
        return
    load = ", ".join(f"{share:.1f}" for share in os.getloadavg())
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, load {load}; answers of 1 kB\n")
    print(f"{'':44}{'turns/s':>9}{'CPU ms':>8}{'p50 ms':>8}{'p99 ms':>8}")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rows: tuple[tuple[str, Storage, int], ...] = (
            ("memory, 64 debates", MemoryStorage(), 64),
            ("sqlite, 64 debates, group commit", SQLiteStorage(Path(folder) / "many.db"), 64),
            (
                "sqlite, 64 debates, no waiting for company",
                SQLiteStorage(Path(folder) / "now.db", commit_window_s=0),
                64,
            ),
            ("sqlite, 8 debates, group commit", SQLiteStorage(Path(folder) / "few.db"), 8),
            ("sqlite, one commit each", SQLiteStorage(Path(folder) / "one.db"), 1),
        )
        for name, storage, debates in rows:
            show(name, anyio.run(measure, storage, debates, given.turns // max(debates, 8)))
        if given.postgres is not None:
            show("postgresql, 64 debates", anyio.run(measure, PostgresStorage(given.postgres), 64, given.turns // 64))
            figures, counted = count_two_processes(given.postgres, given.turns)
            show("postgresql, 64 debates in 2 processes", figures)
        storage = SQLiteStorage(Path(folder) / "read.db")
        found = anyio.run(partial(measure, reading=True), storage, 64, given.turns // 64)
        print(f"\nreading while 64 debates append: p50 {found.p50_ms:.2f} ms, longest {found.p99_ms:.2f} ms")
    if given.postgres is not None:
        show_notices(given.postgres)
        print(f"\npostgresql, {given.turns} turns of 64 debates in 2 processes, as the server counts them:")
        print("\n".join(counted))


if __name__ == "__main__":
    main()
