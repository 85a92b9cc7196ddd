"""Minutes of debates in which one HTTP reply of twenty is a fault: each says what it lacks, and nothing is left."""

from __future__ import annotations

import gc
import random
import threading
import time
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio import get_running_tasks

from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.errors import RoundtableError
from roundtable.testing.servers import LoopbackServer, WireReply, chat_reply, http_reply
from roundtable.types import RetryPolicy

if TYPE_CHECKING:
    from roundtable.results.debate_result import DebateResult
    from roundtable.testing.servers import Seen

pytestmark = pytest.mark.deep

SOAK_S = 180.0
FAULTS = 0.05
AT_ONCE, ROUNDS = 10, 3
NAMES = ("ada", "bo", "cy", "dee")
ONCE = RetryPolicy(max_attempts=1)


def faults(seen: Seen) -> tuple[WireReply, ...]:
    """Return what may go wrong with a reply: refused, cut off, reset, garbage, nothing."""
    whole = chat_reply({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.7}, stream=seen.wants_stream)
    half = b"".join(part for part in whole.parts if isinstance(part, bytes))[:120]
    return (
        http_reply(b'{"error":{"message":"try later"}}', status=503),
        WireReply([half], end="reset"),
        WireReply([half], end="close"),
        http_reply(b"<html>nonsense</html>"),
        WireReply([], end="close"),
    )


@dataclass
class Unreliable:
    """Answers, but for one request of twenty."""

    chance: random.Random = field(default_factory=lambda: random.Random(9))
    lock: threading.Lock = field(default_factory=threading.Lock)
    kinds: cycle[int] = field(default_factory=lambda: cycle(range(5)))
    faulty: int = 0

    def __call__(self, seen: Seen) -> WireReply:
        with self.lock:
            if self.chance.random() < FAULTS:
                self.faulty += 1
                return faults(seen)[next(self.kinds)]
        return chat_reply({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.7}, stream=seen.wants_stream)


def held() -> tuple[int, int, int]:
    """Return the open files, the sockets among them, and the threads of this process."""
    gc.collect()
    targets = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    return len(targets), sum(target.startswith("socket:") for target in targets), threading.active_count()


async def soak(url: str, folder: Path, seconds: float) -> tuple[int, int]:
    """Hold debates for a while; give how many there were, and how many said that they lack something."""
    number, degraded, began = 0, 0, time.monotonic()

    async def one(table: Roundtable) -> None:
        nonlocal degraded
        try:
            result: DebateResult = await table.debate("Tea or coffee?", rounds=ROUNDS)
        except RoundtableError:
            degraded += 1
            return
        missing = sum(len(NAMES) - len(one.responses) for one in result.rounds)
        assert (missing == 0) == result.roster.complete
        assert [one.consensus is not None for one in result.rounds] == [True] * ROUNDS
        degraded += missing > 0

    while time.monotonic() - began < seconds:
        agents = [
            AgentConfig(id=name, name=name.title(), provider="compatible", model=f"{name}-{number}", retry=ONCE)
            for name in NAMES
        ]
        reached = {"compatible": ProviderConfig(base_url=url)}
        storage = f"sqlite:///{folder}/{number // AT_ONCE % 4}.db"
        tables = Roundtable(agents, providers=reached, storage=storage)
        async with tables as table, anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                number += 1
                group.start_soon(one, table)
    assert len(get_running_tasks()) == 1
    return number, degraded


def test_three_minutes_with_faults_leave_nothing_behind(tmp_path: Path) -> None:
    answers = Unreliable()
    with LoopbackServer(answers) as server:
        anyio.run(soak, server.url, tmp_path, 3.0)
    before = held()
    with LoopbackServer(answers) as server:
        number, degraded = anyio.run(soak, server.url, tmp_path, SOAK_S)
    gc.collect()
    after = held()
    told = f"{number} debates, {degraded} degraded, {answers.faulty} faults"
    print(f"{told}; files, sockets, threads {before} -> {after}")  # noqa: T201  (a figure of the deep run)
    assert 0 < degraded < number
    assert after == before
