"""CPU of importing the package, beside `import anyio` and one pydantic class, each in fresh processes.

    python benchmarks/bench_import.py [--processes 15]

CPU is the time the import itself takes, without the start of the interpreter; the processes of both kinds take
turns, so that other work on the machine moves both alike. Printed, never asserted.
"""

from __future__ import annotations

import argparse
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


def cpu_s(code: str) -> float:
    """Give the CPU seconds of some code in a fresh process."""
    # The code is ours, above.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", TIMED.format(code)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
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


if __name__ == "__main__":
    main()
