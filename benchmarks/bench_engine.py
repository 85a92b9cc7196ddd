"""What the engine costs around the models: CPU per turn, and durable turns per second.

    python benchmarks/bench_engine.py [--debates 64] [--reps 9] [--profile]

Agents are scripted, so that nearly all that is measured is the library: planning, prompts, parsing, storing, folding,
measuring. Tables are made, and have held a debate, before the clock starts: the first debates of a process build
the validators of the types. CPU is the process time of all threads. Other work on the machine makes every figure
worse, so the best of the repetitions is printed beside their median. Printed, never asserted.
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

Work = Callable[[Roundtable, int], Awaitable[None]]


async def at_once(table: Roundtable, count: int) -> None:
    """Hold so many debates at once."""
    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(table.debate, f"Topic {number}: tea or coffee?")


async def in_turn(table: Roundtable, count: int) -> None:
    """Hold so many debates, each alone."""
    for number in range(count):
        await table.debate(f"Topic {number}: tea or coffee?")


def measured(storage: Storage, work: Work, count: int) -> tuple[float, float]:
    """Return CPU and wall time in seconds for a turn of some debates."""

    async def run() -> tuple[float, float]:
        table = Roundtable(scripted_agents(AGENTS), storage=storage, concurrency=1000)
        await in_turn(table, 2)
        cpu, wall = time.process_time(), time.perf_counter()
        await work(table, count)
        turns = count * TURNS
        taken = (time.process_time() - cpu) / turns, (time.perf_counter() - wall) / turns
        await storage.aclose()
        return taken

    return anyio.run(run)


def line(what: str, found: list[tuple[float, float]], target: str = "") -> None:
    """Print one measurement."""
    cpus, walls = zip(*found, strict=True)
    cpu, best = statistics.median(cpus) * 1000, min(cpus) * 1000
    rate, most = 1 / statistics.median(walls), 1 / min(walls)
    print(f"{what:50} {cpu:6.3f} (best {best:6.3f}) ms CPU a turn {rate:7.0f} (best {most:5.0f}) turns/s   {target}")


def profiled() -> None:
    """Print where the CPU of debates in memory goes."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(measured, MemoryStorage(), in_turn, 30)
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=64, help="debates at once")
    parser.add_argument("--reps", type=int, default=9, help="repetitions")
    parser.add_argument("--profile", action="store_true", help="print where the CPU of debates in memory goes instead")
    asked = parser.parse_args()
    many, reps = asked.debates, asked.reps
    measured(MemoryStorage(), at_once, 4)
    if asked.profile:
        profiled()
        return
    line("memory, 3 x 3, in turn", [measured(MemoryStorage(), in_turn, 20) for _ in range(reps)], "target: 0.5 ms")
    line(f"memory, 3 x 3, {many} at once", [measured(MemoryStorage(), at_once, many) for _ in range(reps)])
    with tempfile.TemporaryDirectory() as folder:
        files = (SQLiteStorage(Path(folder, f"{number}.db")) for number in range(2 * reps))
        together = [measured(next(files), at_once, many) for _ in range(reps)]
        line(f"sqlite, 3 x 3, {many} at once", together, "target: 1.5 ms, 1000 turns/s")
        line("sqlite, 3 x 3, in turn", [measured(next(files), in_turn, 4) for _ in range(reps)])


if __name__ == "__main__":
    main()
