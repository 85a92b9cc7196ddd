"""What a job loses whose workers are killed and whose PostgreSQL crashes, at drawn moments.

    python benchmarks/bench_fleet_failures.py [--debates 300] [--kills 10] [--restarts 1] [--workers 3]

It starts a PostgreSQL server of its own, from the programs of Debian's package `postgresql`. Two scripted agents debate
for two rounds; each call takes 50 ms and is noted, with its time, in a file. All workers but the first are killed by
SIGKILL in turn; the memory of the first shows whether it grows. In the end, every stored turn is compared with the
calls: a call that began after the turn was made asked for it again. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable.errors import StorageError
from roundtable.fleet import Fleet, JobStatus
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest, SessionFilter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgres_kit import Server, programs, running_server

NAMES = ("ada", "bo")
ROUNDS = 2
CONCURRENCY = 8
JOB = "failures"
ANSWER_S = 0.05
ANSWER = {"position": "Tea", "reasoning": "It keeps."}
PAGE = 500


def table_for(storage: str, folder: Path | None = None) -> Roundtable:
    """Return a table of two scripted agents, whose calls are noted in a folder."""

    def reply(request: ChatRequest) -> Delay:
        assert folder is not None, "this table only reads"
        number = next(word for word in request.messages[-1].content.split() if word.startswith("question-"))
        key = f"{number.strip(':?')} {request.metadata['agent']} {request.metadata['round']}"
        with (folder / f"calls-{os.getpid()}.txt").open("a") as file:
            file.write(f"{key} {time.time()}\n")
        for model in models:
            model.requests.clear()  # a scripted model keeps all of them, which is no memory of the worker
        return Delay(ANSWER_S, ANSWER)

    models = [ScriptedModel(reply, model=name) for name in NAMES]
    return Roundtable(models, storage=storage, analyzer="declared")


async def work(storage: str, folder: str) -> None:
    """Be a worker process, until it is ended."""
    async with table_for(storage, Path(folder)) as table, Fleet(table) as fleet:
        await fleet.work(concurrency=CONCURRENCY)


def worker(storage: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    return subprocess.Popen([sys.executable, __file__, "--worker", storage, str(folder)])  # noqa: S603  (this file)


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


async def state_of(fleet: Fleet) -> JobStatus | None:
    """Return the state of the job, or `None` while the database is away."""
    try:
        return await fleet.status(JOB)
    except StorageError:
        return None


class Failures:
    """A job whose workers and database fail.

    Args:
        server: The database, which crashes.
        folder: Where calls are noted.
        arguments: Options of the command.
    """

    def __init__(self, server: Server, folder: Path, arguments: argparse.Namespace) -> None:
        self.server = server
        self.folder = folder
        self.debates: int = arguments.debates
        self.draw = random.Random(7)
        self.kills = sorted(self.draw.uniform(0.03, 0.95) for _ in range(arguments.kills))
        self.restarts = sorted(self.draw.uniform(0.1, 0.9) for _ in range(arguments.restarts))
        self.workers = [worker(server.url(), folder) for _ in range(arguments.workers)]
        self.memory: dict[int, float] = {}
        self.retried = 0

    async def run(self, fleet: Fleet) -> JobStatus:
        """Kill workers and the database as the job goes on; return its state when all debates have ended."""
        while True:
            begun = time.perf_counter()
            status = await state_of(fleet)
            reading_s = time.perf_counter() - begun
            if status is None:
                await anyio.sleep(1)
                continue
            share = status.ended / self.debates
            if int(10 * share) not in self.memory:
                self.memory[int(10 * share)] = memory_mb(self.workers[0])
                print(f"  {status.ended} debates ended, {status.per_minute:.0f} a minute", flush=True)
            if status.is_done:
                if not status.failed:
                    return status
                self.retried += status.failed
                print(f"  {status.failed} failed, and are queued again: {dict(status.errors)}", flush=True)
                await fleet.retry(JOB)
            if self.restarts and share >= self.restarts[0]:
                self.restarts.pop(0)
                self.server.stop(signal.SIGQUIT)
                await anyio.sleep(1)
                self.server.start()
                print(f"  PostgreSQL crashed and started again after {status.ended} debates", flush=True)
            elif self.kills and share >= self.kills[0]:
                while self.kills and share >= self.kills[0]:
                    self.kills.pop(0)
                    self.kill()
            await anyio.sleep(max(self.draw.uniform(0.2, 1.0), 5 * reading_s))

    def kill(self) -> None:
        """Kill a worker, and start another in its place."""
        victim = self.draw.randrange(1, len(self.workers))
        self.workers[victim].kill()
        self.workers[victim].wait()
        self.workers[victim] = worker(self.server.url(), self.folder)

    def end(self) -> None:
        """End the workers."""
        for process in self.workers:
            process.terminate()
        for process in self.workers:
            process.wait()

    async def compare(self) -> tuple[int, int, int]:
        """Return how many turns are stored, how many calls were made, and how many asked for a stored turn."""
        calls: dict[str, list[float]] = defaultdict(list)
        for file in self.folder.glob("calls-*.txt"):
            for line in file.read_text().splitlines():
                key, _, at = line.rpartition(" ")
                calls[key].append(float(at))
        stored = again = 0
        after = None
        async with table_for(self.server.url()) as table:
            while page := await table.sessions(SessionFilter(limit=PAGE, after=after)):
                after = page[-1].cursor
                for summary in page:
                    result = await table.session(summary.id)
                    for held in result.rounds:
                        for turn in held.turns:
                            key = f"{result.topic.partition(':')[0]} {turn.agent_id} {turn.round}"
                            stored += 1
                            again += sum(at > turn.timestamp.timestamp() for at in calls[key])
        return stored, sum(map(len, calls.values())), again


async def main(arguments: argparse.Namespace) -> None:
    """Run the job, and print what became of it."""
    with running_server() as server, tempfile.TemporaryDirectory() as name:
        async with Fleet(storage=server.url()) as fleet:
            questions = [f"question-{number}: tea or coffee?" for number in range(arguments.debates)]
            await fleet.submit(JOB, questions, rounds=ROUNDS)
            begun = time.perf_counter()
            failures = Failures(server, Path(name), arguments)
            try:
                status = await failures.run(fleet)
            finally:
                failures.end()
            took = time.perf_counter() - begun
            stored, calls, again = await failures.compare()
    print(
        f"{arguments.debates} debates, {arguments.workers} workers, {arguments.kills} kills, "
        f"{arguments.restarts} crashes of PostgreSQL, in {took:.0f} s:"
    )
    print(f"  {status.completed} completed, {status.failed} failed, {failures.retried} of them queued again meanwhile")
    print(f"  {stored} of {arguments.debates * len(NAMES) * ROUNDS} turns stored, by {calls} calls")
    print(f"  {again} stored turns were asked for again")
    memory = ", ".join(f"{10 * tenth} %: {mb:.0f} MB" for tenth, mb in sorted(failures.memory.items()))
    print(f"  memory of the worker that lived throughout: {memory}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        try:
            anyio.run(work, sys.argv[2], sys.argv[3])
        except KeyboardInterrupt:
            sys.exit(0)
    parser = argparse.ArgumentParser()
    parser.add_argument("--debates", type=int, default=300)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=1)
    parser.add_argument("--workers", type=int, default=3)
    options = parser.parse_args()
    if programs() is None:
        print("left out: there are no programs of a PostgreSQL server on this machine")
    else:
        anyio.run(main, options)
