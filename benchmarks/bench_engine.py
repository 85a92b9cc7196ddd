"""What the engine costs around the models: CPU per turn, and durable turns per second.

    python benchmarks/bench_engine.py [--debates 64] [--reps 5] [--profile]

Agents are scripted, so that nearly all that is measured is the library: planning, prompts, parsing, storing, folding,
measuring. CPU is the process time of all threads; other work on the machine moves the wall times. The first debates
of a process build the validators of the types and are left out. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable.protocols import Storage
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents

AGENTS = {
    "ada": "Tea keeps longer and costs less.",
    "bo": "Coffee wakes people up.",
    "cy": "Tea keeps longer and costs less.",
}
ROUNDS = 3
TURNS = len(AGENTS) * ROUNDS


def seated(storage: Storage) -> Roundtable:
    """Make a table."""
    return Roundtable(scripted_agents(AGENTS), storage=storage, concurrency=1000)


async def debates(storage: Storage, count: int) -> None:
    """Hold so many debates at once on one table."""
    table = seated(storage)
    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(table.debate, f"Topic {number}: tea or coffee?")


async def one_after_another(storage: Storage, count: int) -> None:
    """Hold so many debates on one table, each alone."""
    table = seated(storage)
    for number in range(count):
        await table.debate(f"Topic {number}: tea or coffee?")


def measured(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Give the CPU and the wall time of some work, in seconds."""

    async def run() -> tuple[float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        await work()
        return time.process_time() - cpu, time.perf_counter() - wall

    return anyio.run(run)


def line(what: str, turns: int, found: list[tuple[float, float]], target: str) -> None:
    """Print one measurement, the median of several."""
    cpu = statistics.median(cpu for cpu, _ in found) / turns * 1000
    rate = turns / statistics.median(wall for _, wall in found)
    print(f"{what:58} {cpu:7.3f} ms CPU a turn {rate:9.0f} turns/s   target: {target}")


def on_disk(folder: Path, number: int, window_s: float = 0.005) -> SQLiteStorage:
    """Open a fresh file."""
    return SQLiteStorage(folder / f"{number}.db", commit_window_s=window_s)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=64, help="debates at once")
    parser.add_argument("--reps", type=int, default=5, help="repetitions, of which the median counts")
    parser.add_argument("--profile", action="store_true", help="print where the CPU of debates in memory goes instead")
    asked = parser.parse_args()
    many, reps = asked.debates, asked.reps
    anyio.run(debates, MemoryStorage(), 4)
    if asked.profile:
        profile = cProfile.Profile(time.process_time)
        profile.runcall(anyio.run, one_after_another, MemoryStorage(), 30)
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        return
    alone = [measured(lambda: one_after_another(MemoryStorage(), 20)) for _ in range(reps)]
    line("memory, 3 agents x 3 rounds, one debate after another", 20 * TURNS, alone, "0.5 ms")
    together = [measured(lambda: debates(MemoryStorage(), many)) for _ in range(reps)]
    line(f"memory, 3 x 3, {many} debates at once", many * TURNS, together, "-")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = [measured(lambda place=place: debates(on_disk(folder, place), many)) for place in range(reps)]
        line(f"sqlite, 3 x 3, {many} debates at once", many * TURNS, disk, "1.5 ms, 1000 turns/s")
        lone = [
            measured(lambda place=place: one_after_another(on_disk(folder, place), 4)) for place in range(50, 50 + reps)
        ]
        line("sqlite, 3 x 3, one debate after another", 4 * TURNS, lone, "-")


if __name__ == "__main__":
    main()
