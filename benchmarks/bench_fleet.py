"""What a fleet costs beside `debate_many`, how it grows with workers, and how fast jobs are queued.

    python benchmarks/bench_fleet.py [--debates 200] [--postgres URL]

Two scripted agents debate for two rounds, and three agents for three rounds over loopback HTTP. CPU is the process time
of all threads; the HTTP server is a process of its own. With `--postgres`, workers in processes of their own share a
job, with answers that take 50 ms, of agents that speak at the same time or in turn. Printed, never asserted.
`bench_fleet_failures.py` kills workers and the database.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.fleet import Fleet
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest

NAMES = ("ada", "bo", "cy")
CONCURRENCY = 8
WARM_S = 10.0
"""Seconds after the first debate until all workers have started and know how long debates take."""
ANSWER = {"position": "Tea", "reasoning": "It keeps."}


def scripted(storage: str, answer_s: float = 0.0) -> Roundtable:
    """Return a table of two scripted agents."""

    def reply(_: ChatRequest) -> Delay | dict[str, str]:
        return Delay(answer_s, ANSWER) if answer_s else ANSWER

    return Roundtable([ScriptedModel(reply, model=name) for name in NAMES[:2]], storage=storage, analyzer="declared")


def over_http(storage: str, origin: str) -> Roundtable:
    """Return a table of three agents whose model is a loopback server."""
    return Roundtable(
        [AgentConfig(id=name, name=name, provider="compatible", model="debater") for name in NAMES],
        providers={"compatible": ProviderConfig(base_url=f"{origin}/v1", api_key="none")},
        storage=storage,
        analyzer="declared",
    )


def questions(count: int) -> list[str]:
    """Return questions with numbers."""
    return [f"question-{number}: tea or coffee?" for number in range(count)]


async def many(table: Roundtable, count: int, rounds: int) -> tuple[float, float]:
    """Hold debates with `debate_many`; return seconds and CPU seconds."""
    async with table:
        await table.debate_many(questions(2), rounds=rounds)  # what is loaded once
        begun, cpu = time.perf_counter(), time.process_time()
        await table.debate_many(questions(count), rounds=rounds, concurrency=CONCURRENCY)
        return time.perf_counter() - begun, time.process_time() - cpu


async def fleet(table: Roundtable, count: int, rounds: int) -> tuple[float, float, float, float]:
    """Hold debates with a fleet of one worker; return seconds to queue, CPU to queue, and the same of holding them."""
    async with table, Fleet(table) as jobs:
        await jobs.submit("warm", questions(2), rounds=rounds)
        await jobs.work(until_done="warm", concurrency=CONCURRENCY)
        begun, cpu = time.perf_counter(), time.process_time()
        await jobs.submit("job", questions(count), rounds=rounds)
        queued, queued_cpu = time.perf_counter() - begun, time.process_time() - cpu
        begun, cpu = time.perf_counter(), time.process_time()
        await jobs.work(until_done="job", concurrency=CONCURRENCY)
        return queued, queued_cpu, time.perf_counter() - begun, time.process_time() - cpu


async def beside(name: str, size: str, tables: tuple[Roundtable, Roundtable], count: int, rounds: int) -> None:
    """Print a fleet beside `debate_many` on the same kind of storage."""
    many_s, many_cpu = await many(tables[0], count, rounds)
    queued, queued_cpu, held, held_cpu = await fleet(tables[1], count, rounds)
    more = 1000 * (held_cpu + queued_cpu - many_cpu) / count
    print(f"{name}, {count} debates of {size}, {CONCURRENCY} at once:")
    print(f"  debate_many        {count / many_s:7.1f} debates/s  {1000 * many_cpu / count:6.1f} ms CPU a debate")
    print(f"  fleet, one worker  {count / held:7.1f} debates/s  {1000 * held_cpu / count:6.1f} ms CPU a debate")
    print(f"  to queue           {count / queued:7.0f} debates/s  {1000 * queued_cpu / count:6.2f} ms CPU a debate")
    print(
        f"  CPU of the fleet beside debate_many: {(held_cpu + queued_cpu) / many_cpu:.2f}, {more:.1f} ms more a debate"
    )
    sys.stdout.flush()


async def work(storage: str, job: str, answer_s: float, concurrency: int) -> None:
    """Be a worker process."""
    async with scripted(storage, answer_s) as table, Fleet(table) as jobs:
        await jobs.work(until_done=job, concurrency=concurrency)


async def shared(storage: str, workers: int, mode: str, concurrency: int) -> float:
    """Return the debates a second of several worker processes, after `WARM_S` seconds."""
    job = f"shared-{mode}-{workers}-{concurrency}"
    worker = [sys.executable, __file__, "--worker", storage, job, "0.05", str(concurrency)]
    async with Fleet(storage=storage) as jobs:
        await jobs.submit(job, questions(160 * workers * concurrency), rounds=2, mode=mode)
        processes = [subprocess.Popen(worker) for _ in range(workers)]  # noqa: ASYNC220, S603  (this file)
        while (await jobs.status(job)).completed == 0:  # noqa: ASYNC110  (other processes change it)
            await anyio.sleep(0.05)
        await anyio.sleep(WARM_S)
        begun, before = time.perf_counter(), (await jobs.status(job)).completed
        await jobs.wait(job)
        ended = time.perf_counter(), (await jobs.status(job)).completed
    for process in processes:
        process.wait()
    return (ended[1] - before) / (ended[0] - begun)


async def main(origin: str, count: int, postgres: str | None) -> None:
    """Run everything."""
    with tempfile.TemporaryDirectory() as folder:
        storages: dict[str, Callable[[str], str]] = {"SQLite": lambda name: f"sqlite:///{folder}/{name}.db"}
        if postgres is not None:
            query = "&" if "?" in postgres else "?"
            storages["PostgreSQL"] = lambda name: f"{postgres}{query}schema={name}"
        for name, storage in storages.items():
            tables = scripted(storage("a")), scripted(storage("b"))
            await beside(name, "2 scripted agents and 2 rounds", tables, count, 2)
            tables = over_http(storage("c"), origin), over_http(storage("d"), origin)
            await beside(name, "3 agents and 3 rounds over HTTP", tables, count, 3)
        if postgres is None:
            return
        for mode, concurrency in (("collaborative", 1), ("collaborative", 2), ("collaborative", 4), ("freeform", 1)):
            shared_by_all = storages["PostgreSQL"]("e")
            rates = {workers: await shared(shared_by_all, workers, mode, concurrency) for workers in (1, 2, 4)}
            print(
                "PostgreSQL, workers in their own processes, answers of 50 ms, agents speak "
                f"{'in turn' if mode == 'freeform' else 'at the same time'}, {concurrency} debates at once in each:"
            )
            for workers, rate in rates.items():
                print(f"  {workers} workers  {rate:6.1f} debates/s  {rate / rates[1]:.2f} times one", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        anyio.run(work, sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--debates", type=int, default=200)
        parser.add_argument("--postgres")
        options = parser.parse_args()
        models = [sys.executable, str(Path(__file__).with_name("bench_http.py")), "--serve"]
        # The server of the other benchmark, which answers at once.
        with subprocess.Popen(models, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
            assert server.stdout is not None
            assert server.stdin is not None
            address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            anyio.run(main, address, options.debates, options.postgres)
            server.stdin.close()
