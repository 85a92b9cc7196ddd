"""A worker of a fleet in a process of its own: `fleet_child.py STORAGE FOLDER JOB [DELAY [RATE [SKEW]]]`.

A job named `-` is none: the worker then works until it is ended. RATE is the calls per minute of each model, 0 if any.
SKEW is by how many seconds the clocks of this process are ahead.

Each call of a model appends a line to `calls.txt` in the folder: the session's question, the agent and the round. A
question that holds the word `poison` kills the process.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable._core.clock import SystemClock
from roundtable.fleet import Fleet
from roundtable.protocols import Storage
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest

AGENTS = ("ada", "bo")


def table_for(storage: str | Storage, folder: Path, delay_s: float = 0.0, rate: float | None = None) -> Roundtable:
    """Return a table whose calls are counted in a file."""

    def reply(request: ChatRequest) -> Delay | dict[str, str]:
        asked = request.messages[-1].content
        if "poison" in asked:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = {"position": "Tea", "reasoning": "It keeps."}
        number = next((word for word in asked.split() if word.startswith("question-")), "?")
        with (folder / "calls.txt").open("a") as file:
            file.write(f"{number.strip(':?')} {request.metadata['agent']} {request.metadata.get('round', '?')}\n")
        return Delay(delay_s, answer) if delay_s else answer

    seats = [_Paced(reply, model=name) for name in AGENTS]
    for seat in seats:
        seat.requests_per_minute = rate or None
    return Roundtable(seats, storage=storage, analyzer="declared", observers=[])


class _Paced(ScriptedModel):
    """A model whose provider has a default rate."""

    requests_per_minute: float | None = None


async def main(storage: str, folder: str, job: str, delay_s: float = 0.0, rate: float | None = None) -> None:
    """Hold debates until the job is done, or a signal ends this."""
    from roundtable._core.eventloop import hearing

    async with table_for(storage, Path(folder), delay_s, rate) as table, Fleet(table) as fleet:
        with anyio.CancelScope() as scope:
            async with hearing(lambda _: scope.cancel()):
                await fleet.work(concurrency=4, until_done=None if job == "-" else job)


def shift_clocks(skew_s: float) -> None:
    """Move the clocks of this process ahead, as on a host with a wrong time."""
    real_time, real_now = time.time, SystemClock.now
    time.time = lambda: real_time() + skew_s
    SystemClock.now = lambda clock: real_now(clock) + timedelta(seconds=skew_s)  # type: ignore[method-assign]


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[4:]]
    if len(numbers) > 2:
        shift_clocks(numbers.pop())
    anyio.run(main, *sys.argv[1:4], *numbers)
