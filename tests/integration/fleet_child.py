"""A worker of a fleet in a process of its own: `fleet_child.py STORAGE FOLDER JOB [DELAY [RATE [SKEW]]]`.

A job named `-` is none: the worker then works until it is ended. RATE is the calls per minute of each model, 0 if any.
SKEW is by how many seconds the clocks of this process are ahead.

Each call of a model appends a line to `calls.txt` in the folder: the session's question, the agent and the round. A
question that holds the word `poison` kills the process. The variable `DIES_AFTER` names one of `STEPS`: the process
then kills itself as soon as its debate has passed this step. The storage has to be SQLite, and the job `-`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable.core.base.clock import SystemClock
from roundtable.fleet import Fleet
from roundtable.protocols import Storage
from roundtable.providers import Delay, ScriptedModel
from roundtable.storage import SQLiteStorage
from roundtable.storage.keyvalue import SQLiteKeyValue
from roundtable.types import ChatRequest, DurableEvent, JsonValue, SessionRecord

AGENTS = ("ada", "bo")
ROUNDS = 3
STEPS = {"taken": 0, "reserved": 0, "begun": 0, "first round": 2, "last answer": 6, "ended": 6, "settled": 6}
"""Steps of a debate, from the queue to the account of its job, and how many answers are stored after each."""


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


class DyingStorage(SQLiteStorage):
    """Kills this process, without any warning, as soon as what a step writes is stored."""

    def __init__(self, path: str, step: str) -> None:
        super().__init__(path)
        self._step = step
        self._answers = 0
        self._kv = _DyingValues(self)

    def passed(self, step: str) -> None:
        if step == self._step:
            os.kill(os.getpid(), signal.SIGKILL)

    async def create(self, record: SessionRecord) -> None:
        await super().create(record)
        self.passed("begun")

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        last = await super().append(session_id, expected_seq, token, events, tenant=tenant)
        for event in events:
            if event.type == "agent_complete":
                self._answers += 1
                if self._answers == ROUNDS * len(AGENTS):
                    self.passed("last answer")
            elif event.type == "round_complete" and event.round == 1:
                self.passed("first round")
            elif event.type == "debate_complete":
                self.passed("ended")
        return last


class _DyingValues(SQLiteKeyValue):
    """Knows when a job is read for a debate that was taken, and when its account changes."""

    def __init__(self, storage: DyingStorage) -> None:
        super().__init__(storage._reader, storage._writer, storage._clock)
        self._passed = storage.passed
        self._is_reserved = False

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        if "/jobs/" in key:
            self._passed("taken")
        return await super().get(key, tenant=tenant)

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        after = await super().update(key, fn, ttl_s=ttl_s, tenant=tenant)
        if "/accounts/" in key:
            self._passed("settled" if self._is_reserved else "reserved")
            self._is_reserved = True
        return after


async def main(storage: str, folder: str, job: str, delay_s: float = 0.0, rate: float | None = None) -> None:
    """Hold debates until the job is done, or a signal ends this."""
    from roundtable.core.base.eventloop import receive_signals

    step = os.environ.get("DIES_AFTER")
    place = storage if step is None else DyingStorage(storage.removeprefix("sqlite:///"), step)
    async with table_for(place, Path(folder), delay_s, rate) as table, Fleet(table) as fleet:
        with anyio.CancelScope() as scope:
            async with receive_signals(lambda _: scope.cancel()):
                await fleet.work(concurrency=4, until_done=None if job == "-" else job)


def shift_clocks(skew_s: float) -> None:
    """Move the clocks of this process ahead, as on a host with a wrong time."""
    real_time, real_now = time.time, SystemClock.now
    time.time = lambda: real_time() + skew_s
    SystemClock.now = lambda clock: real_now(clock) + timedelta(seconds=skew_s)  # type: ignore[method-assign]


if __name__ == "__main__":
    logging.basicConfig(filename=Path(sys.argv[2], "log.txt"), level=logging.INFO)
    numbers = [float(word) for word in sys.argv[4:]]
    if len(numbers) > 2:
        shift_clocks(numbers.pop())
    anyio.run(main, *sys.argv[1:4], *numbers)
