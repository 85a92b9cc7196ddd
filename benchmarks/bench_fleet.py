"""What a fleet costs beside `debate_many`, how it grows with workers, and how fast jobs are queued.

    python benchmarks/bench_fleet.py [--debates 200] [--postgres URL]

Two scripted agents debate for two rounds. CPU is the process time of all threads. With `--postgres`, workers in
processes of their own share a job, with answers that take 50 ms. Printed, never asserted.
`bench_fleet_failures.py` kills workers and the database.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

import anyio

from roundtable import Roundtable
from roundtable.fleet import Fleet
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest

NAMES = ("ada", "bo")
ROUNDS = 2
CONCURRENCY = 8
ANSWER = {"position": "Tea", "reasoning": "It keeps."}


def table_for(storage: str, answer_s: float = 0.0) -> Roundtable:
    """Return a table of two scripted agents."""

    def reply(_: ChatRequest) -> Delay | dict[str, str]:
        return Delay(answer_s, ANSWER) if answer_s else ANSWER

    return Roundtable([ScriptedModel(reply, model=name) for name in NAMES], storage=storage, analyzer="declared")


def questions(count: int) -> list[str]:
    """Return questions with numbers."""
    return [f"question-{number}: tea or coffee?" for number in range(count)]


async def many(storage: str, count: int) -> tuple[float, float]:
    """Hold debates with `debate_many`; return seconds and CPU seconds."""
    async with table_for(storage) as table:
        await table.debate_many(questions(2), rounds=ROUNDS)  # what is loaded once
        begun, cpu = time.perf_counter(), time.process_time()
        await table.debate_many(questions(count), rounds=ROUNDS, concurrency=CONCURRENCY)
        return time.perf_counter() - begun, time.process_time() - cpu


async def fleet(storage: str, count: int) -> tuple[float, float, float, float]:
    """Hold debates with a fleet of one worker; return seconds to queue, CPU to queue, and the same of holding them."""
    async with table_for(storage) as table, Fleet(table) as jobs:
        await jobs.submit("warm", questions(2), rounds=ROUNDS)
        await jobs.work(until_done="warm", concurrency=CONCURRENCY)
        begun, cpu = time.perf_counter(), time.process_time()
        await jobs.submit("job", questions(count), rounds=ROUNDS)
        queued, queued_cpu = time.perf_counter() - begun, time.process_time() - cpu
        begun, cpu = time.perf_counter(), time.process_time()
        await jobs.work(until_done="job", concurrency=CONCURRENCY)
        return queued, queued_cpu, time.perf_counter() - begun, time.process_time() - cpu


async def beside(name: str, storages: tuple[str, str], count: int) -> None:
    """Print a fleet beside `debate_many` on the same kind of storage."""
    many_s, many_cpu = await many(storages[0], count)
    queued, queued_cpu, held, held_cpu = await fleet(storages[1], count)
    print(f"{name}, {count} debates of {len(NAMES)} x {ROUNDS}, {CONCURRENCY} at once:")
    print(f"  debate_many        {count / many_s:7.1f} debates/s  {1000 * many_cpu / count:6.1f} ms CPU a debate")
    print(f"  fleet, one worker  {count / held:7.1f} debates/s  {1000 * held_cpu / count:6.1f} ms CPU a debate")
    print(f"  to queue           {count / queued:7.0f} debates/s  {1000 * queued_cpu / count:6.2f} ms CPU a debate")
    print(f"  CPU of the fleet beside debate_many: {(held_cpu + queued_cpu) / many_cpu:.2f}", flush=True)


async def work(storage: str, job: str, answer_s: float) -> None:
    """Be a worker process."""
    async with table_for(storage, answer_s) as table, Fleet(table) as jobs:
        await jobs.work(until_done=job, concurrency=4)


def worker(storage: str, job: str, answer_s: float) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    return subprocess.Popen(  # noqa: S603  (this file)
        [sys.executable, __file__, "--worker", storage, job, str(answer_s)]
    )


async def shared(storage: str, workers: int, count: int) -> float:
    """Return the debates a second of several worker processes, from the first debate to the last."""
    job = f"shared-{workers}"
    async with Fleet(storage=storage) as jobs:
        await jobs.submit(job, questions(count), rounds=ROUNDS)
        processes = [worker(storage, job, 0.05) for _ in range(workers)]
        while (await jobs.status(job)).completed == 0:  # noqa: ASYNC110  (other processes change it)
            await anyio.sleep(0.05)
        begun = time.perf_counter()
        await jobs.wait(job)
        took = time.perf_counter() - begun
    for process in processes:
        process.wait()
    return count / took


async def main(count: int, postgres: str | None) -> None:
    """Run everything."""
    with tempfile.TemporaryDirectory() as folder:
        await beside("SQLite", (f"sqlite:///{folder}/a.db", f"sqlite:///{folder}/b.db"), count)
    if postgres is None:
        return
    query = "&" if "?" in postgres else "?"
    await beside("PostgreSQL", (f"{postgres}{query}schema=a", f"{postgres}{query}schema=b"), count)
    rates = {workers: await shared(f"{postgres}{query}schema=c", workers, count) for workers in (1, 2, 4)}
    print("PostgreSQL, workers in processes of their own, answers of 50 ms, 4 debates at once in each:")
    for workers, rate in rates.items():
        print(f"  {workers} workers  {rate:6.1f} debates/s  {rate / rates[1]:.2f} times one")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        anyio.run(work, sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--debates", type=int, default=200)
        parser.add_argument("--postgres")
        given = parser.parse_args()
        anyio.run(main, given.debates, given.postgres)
