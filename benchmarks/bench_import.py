"""CPU of importing the package and of the first debate of a process, and how long its imports hold the event loop.

    python benchmarks/bench_import.py [--processes 15]

Everything is measured in fresh processes, without the start of the interpreter. The import stands beside
`import anyio` and one pydantic class; the processes of both kinds take turns, so that other work on the machine moves
both alike. The first debate is one round of two agents in memory. While it runs, a task that wakes each millisecond
measures its longest wait. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

OURS = "import roundtable; roundtable.Roundtable; roundtable.AgentConfig"
BASE = """
import anyio
from pydantic import BaseModel
class Model(BaseModel):
    name: str
"""
TIMED = "import time; began = time.process_time()\n{}\nprint(time.process_time() - began)"
FIRST = """
import sys, time
began = time.process_time()
import anyio
import roundtable
from roundtable.testing import scripted_agents

waits = []

async def tick():
    while True:
        began, cpu = time.perf_counter(), time.process_time()
        await anyio.sleep(0.001)
        waits.append((time.perf_counter() - began - 0.001, time.process_time() - cpu))

async def main():
    table = roundtable.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    async with anyio.create_task_group() as group:
        WATCH
        await table.debate("Tea?", rounds=1)
        group.cancel_scope.cancel()

anyio.run(main, backend=sys.argv[1])
taken = time.process_time() - began
import json
longest = max(waits, default=(0, 0))
print(json.dumps([taken, len(sys.modules), *longest]))
"""
WATCH = "group.start_soon(tick); await anyio.sleep(0.01)"


def cpu_s(code: str) -> float:
    """Return the CPU seconds of some code in a fresh process."""
    # The code is ours, above.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", TIMED.format(code)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def first_debates(count: int, backend: str, watch: str) -> list[float]:
    """Return medians for the first debates of fresh processes: CPU, modules, longest wait and the CPU during it."""
    # The code is ours, above.
    command = [sys.executable, "-c", FIRST.replace("WATCH", watch), backend]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(count)]  # noqa: S603
    return [statistics.median(column) for column in zip(*(json.loads(one.stdout) for one in done), strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=15, help="fresh processes of each kind")
    count = parser.parse_args().processes
    for code in (OURS, BASE):
        cpu_s(code)  # the first import writes byte code
    pairs = [(cpu_s(OURS), cpu_s(BASE)) for _ in range(count)]
    ours, base = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"import roundtable; Roundtable; AgentConfig   {ours * 1000:7.1f} ms CPU (median of {count})")
    print(f"import anyio + one pydantic class            {base * 1000:7.1f} ms CPU (median of {count})")
    print(f"ratio of the medians                         {ours / base:7.2f}   target: at most 1.30")
    ratios = statistics.median(one / other for one, other in pairs)
    print(f"median of the ratios of neighbours           {ratios:7.2f}")
    first_debates(1, "asyncio", "pass")
    taken, modules, *_ = first_debates(count, "asyncio", "pass")
    print(
        f"import and first debate, asyncio             {taken * 1000:7.1f} ms CPU, {modules:.0f} modules; goal: 300 ms"
    )
    for backend in ("asyncio", "trio"):
        *_, wait, cpu = first_debates(count, backend, WATCH)
        print(f"longest wait beside it, {backend:20} {wait * 1000:7.1f} ms, {cpu * 1000:.1f} ms CPU; target: 50 ms")


if __name__ == "__main__":
    main()
