"""Durable turns a second: one commit for all who come together, beside one commit each.

    python benchmarks/bench_storage.py [--turns 6400] [--folder FOLDER] [--postgres URL]

A turn counts when its `append` has returned. The figures depend on how fast the medium of the folder syncs;
printed, never asserted.
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
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from roundtable import Roundtable
from roundtable.protocols import Storage
from roundtable.storage import MemoryStorage, PostgresStorage, SQLiteStorage, current_owner
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import answered, control, record

POSITION = "x" * 1_000


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


def in_two_processes(url: str, turns: int) -> MetricsObserver:
    """Append from 32 debates in each of two processes; the latencies are the worse ones."""
    words = [sys.executable, __file__, "--postgres", url, "--turns", str(turns // 2), "--one-of-two"]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # noqa: S603
    one, two = (MetricsObserver(*json.loads(process.communicate()[0])) for process in processes)
    return MetricsObserver(
        one.turns_per_s + two.turns_per_s,
        (one.cpu_ms_per_turn + two.cpu_ms_per_turn) / 2,
        max(one.p50_ms, two.p50_ms),
        max(one.p99_ms, two.p99_ms),
    )


async def notice_times(url: str) -> list[float]:
    """Return the percentiles, in milliseconds, of the time from an append to its arrival at another storage."""
    writer, reader, took = PostgresStorage(url), PostgresStorage(url), list[float]()
    session = f"notices-{secrets.token_hex(4)}"
    await writer.create(record(session))
    async with Roundtable(scripted_agents({"ada": "Tea"}), storage=reader) as table, table.watch(session) as events:
        for number in range(301):
            async with anyio.create_task_group() as group:
                begun = time.perf_counter()
                group.start_soon(writer.append, session, number, None, [control(session)])
                await anext(events)
                took.append((time.perf_counter() - begun) * 1000)
    await writer.aclose()
    await reader.aclose()
    return statistics.quantiles(took[1:], n=100)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=6_400, help="turns of each run with company")
    parser.add_argument("--folder", type=Path, help="where to put the files; a temporary folder when left out")
    parser.add_argument("--postgres", metavar="URL", help="an empty schema of a PostgreSQL database, measured too")
    parser.add_argument("--one-of-two", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one_of_two:
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
            show("postgresql, 64 debates in 2 processes", in_two_processes(given.postgres, given.turns))
        storage = SQLiteStorage(Path(folder) / "read.db")
        found = anyio.run(partial(measure, reading=True), storage, 64, given.turns // 64)
        print(f"\nreading while 64 debates append: p50 {found.p50_ms:.2f} ms, longest {found.p99_ms:.2f} ms")
    if given.postgres is not None:
        took = anyio.run(notice_times, given.postgres)
        print(f"postgresql, an event at a follower of another storage: p50 {took[49]:.1f} ms, p99 {took[98]:.1f} ms")


if __name__ == "__main__":
    main()
