"""A thousand debates at once in one process: are all answers right, and what do they cost.

    python benchmarks/bench_load.py [--debates 1000] [--storage memory|sqlite] [--seconds 30] [--no-collector]

Four scripted agents debate for three rounds and take 50 ms for each answer. Then as many debates are begun and
cancelled at drawn moments (the cancel storm), and for a while debates are held in which one answer of twenty fails (the
soak). CPU is the process time of all threads; the lag of the loop is how much later than asked a task wakes that asks
for every 10 ms. Python's collector of cycles looks through all objects there are, and holds the loop up as well;
`--no-collector` does without it, to tell the two apart. Other work on the machine makes every figure worse. Printed;
the program fails only when an answer is wrong or something is left behind.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import APINetworkError, RoundtableError
from roundtable.providers.scripted import Delay, Reply, ScriptedModel
from roundtable.results.debate_result import DebateResult
from roundtable.types import ChatRequest, JsonValue

NAMES = ("ada", "bo", "cy", "dee")
ROUNDS = 3
TURNS = len(NAMES) * ROUNDS
ANSWER_S = 0.05
TICK_S = 0.01
FAULTS = 0.05


def answering(name: str, faults: float, seed: int) -> Callable[[ChatRequest], Reply]:
    """Script an agent that says the same each time, after a while, or fails."""
    chance = random.Random(f"{name} {seed}")
    said: dict[str, JsonValue] = {"position": f"{name} says tea", "reasoning": "It keeps.", "confidence": 0.8}

    def reply(_: ChatRequest) -> Reply:
        fails = chance.random() < faults
        return APINetworkError("connection reset", retryable=False) if fails else Delay(ANSWER_S, said)

    return reply


def table_of(storage: str, faults: float = 0.0, seed: int = 0) -> Roundtable:
    """Make a table at which as many agents may speak at once as like to."""
    agents = [
        BaseAgent(
            AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(answering(name, faults, seed))
        )
        for name in NAMES
    ]
    return Roundtable(agents, storage=storage, concurrency=100_000)


def resident_kib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def held() -> tuple[int, int]:
    """Return open files and threads of this process."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


@asynccontextmanager
async def watched(lags: list[float]) -> AsyncIterator[None]:
    """Note how late the loop wakes who sleeps."""

    async def tick() -> None:
        while True:
            asked = time.perf_counter()
            await anyio.sleep(TICK_S)
            lags.append(time.perf_counter() - asked - TICK_S)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield
        group.cancel_scope.cancel()


def right(result: DebateResult) -> bool:
    """Check whether every agent gave its expected answer in every round."""
    said = [[answer.position for answer in held.responses] for held in result.rounds]
    return said == [[f"{name} says tea" for name in NAMES]] * ROUNDS


async def load(table: Roundtable, count: int) -> None:
    """Hold so many debates at once."""
    results: list[DebateResult] = []

    async def one(number: int) -> None:
        results.append(await table.debate(f"Topic {number}?", rounds=ROUNDS))

    lags: list[float] = []
    before, cpu, began = resident_kib(), time.process_time(), time.perf_counter()
    async with watched(lags), anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(one, number)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    wrong = count - sum(map(right, results))
    lags.sort()
    print(f"{count} debates at once: {count * TURNS} answers, {wrong} debates wrong, {wall:.1f} s")
    print(f"  {cpu / count / TURNS * 1000:.2f} ms CPU an answer (target 3)")
    print(
        f"  loop lag p99 {lags[len(lags) * 99 // 100] * 1000:.0f} ms, most {lags[-1] * 1000:.0f} ms (targets 100, 500)"
    )
    print(f"  {(resident_kib() - before) / count:.0f} KiB a debate while their results are held (target 250)")
    if wrong:
        raise SystemExit(f"{wrong} of {count} debates went wrong")


async def storm(table: Roundtable, count: int) -> None:
    """Begin so many debates and cancel each at a moment of its own, the last ones all at once."""
    chance = random.Random(5)
    async with anyio.create_task_group() as group:

        async def one(number: int, moment_s: float) -> None:
            with anyio.move_on_after(moment_s):
                await table.debate(f"Topic {number}?", rounds=ROUNDS)

        for number in range(count):
            group.start_soon(one, number, chance.uniform(0.0, 4.0))
        await anyio.sleep(2.0)
        began = time.perf_counter()
        group.cancel_scope.cancel()
    over_s = time.perf_counter() - began
    print(f"cancel storm of {count}: all over {over_s:.2f} s after the last cancellation (target 2)")


async def soak(storage: str, seconds: float) -> None:
    """Hold debates with faults for a while."""
    began, number = time.perf_counter(), 0
    degraded: list[int] = []
    while time.perf_counter() - began < seconds:
        async with table_of(storage, FAULTS, number) as table, anyio.create_task_group() as group:

            async def one(number: int, at: Roundtable = table) -> None:
                try:
                    whole = (await at.debate(f"Topic {number}?", rounds=ROUNDS)).roster.complete
                except RoundtableError:
                    whole = False
                if not whole:
                    degraded.append(number)

            for _ in range(50):
                number += 1
                group.start_soon(one, number)
    print(f"soak of {seconds:g} s: {number} debates, {len(degraded)} of them degraded and said so")


async def main(count: int, storage: str, seconds: float) -> None:
    """Do all three, and compare what is left behind."""
    await soak(storage, 0.5)
    before = held()
    async with table_of(storage) as table:
        await load(table, count)
        await storm(table, count)
    await soak(storage, seconds)
    after = held()
    print(f"files and threads before and after: {before}, {after}")
    if after != before:
        raise SystemExit("something was left behind")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debates", type=int, default=1000)
    parser.add_argument("--storage", choices=("memory", "sqlite"), default="memory")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--no-collector", action="store_true")
    given = parser.parse_args()
    if given.no_collector:
        gc.disable()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        address = "memory://" if given.storage == "memory" else f"sqlite:///{folder}/load.db"
        anyio.run(main, given.debates, address, given.seconds)
