"""The wall clock may jump: events keep their order, time-outs their length, and a lease its owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import CountingModel, asking, engine_of, fold_of, late, log_of, seated

from roundtable.core.base.clock import SystemClock
from roundtable.engine import RunLimits
from roundtable.errors import LeaseLost, SessionBusy
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_samples import answered, owner_elsewhere, record

pytestmark = pytest.mark.both_loops

HOUR = timedelta(hours=1)
NOW = datetime(2026, 10, 25, 0, 59, 59, tzinfo=UTC)
"""A second before clocks in Europe are put back."""


class JumpingClock(SystemClock):
    """A clock that somebody sets each time it is looked at."""

    def __init__(self) -> None:
        times = (NOW, NOW + HOUR, NOW - HOUR, datetime(1970, 1, 1, tzinfo=UTC), datetime(2106, 2, 7, 7, tzinfo=UTC))
        self._times = cycle(times)

    def now(self) -> datetime:
        return next(self._times)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_debate_is_whole_and_in_order_whatever_the_clock_says(kind: str, tmp_path: Path) -> None:
    clock = JumpingClock()
    storage = MemoryStorage(clock) if kind == "memory" else SQLiteStorage(tmp_path / "d.db", clock=clock)
    agents = seated(CountingModel(lambda request: f"Tea {request.metadata['round']}"), "ada", "bo")
    engine = engine_of(storage, agents)
    engine.sessions.clock = clock
    session = await engine.start_debate(asking(agents, rounds=3))
    await engine.run(session.id, RunLimits(rounds=1))
    await engine.run(session.id, RunLimits(resume=True))
    fold = await fold_of(storage, session.id)
    assert [event.seq for event in await log_of(storage, session.id)] == list(range(1, fold.last_seq + 1))
    result = DebateResult.from_record(fold.to_record())
    assert [[answer.position for answer in held.responses] for held in result.rounds] == [
        [f"Tea {number}"] * 2 for number in (1, 2, 3)
    ]
    await storage.aclose()


async def test_a_deadline_runs_by_the_clock_that_never_jumps() -> None:
    clock, storage = JumpingClock(), MemoryStorage()
    agents = seated(CountingModel(late(0.01, "Tea")), "ada")
    engine = engine_of(storage, agents)
    engine.sessions.clock = clock
    session = await engine.start_debate(asking(agents, rounds=2))
    with anyio.fail_after(20):
        fold = await engine.run(session.id, RunLimits(deadline_s=15.0))
    assert fold.progress.status == "completed"


async def test_an_owner_whose_clock_jumped_forward_is_fenced_off_and_repeats_nothing() -> None:
    """Somebody else may take over early, but then the first one writes nothing more."""
    clock = ManualClock()
    storage, made = MemoryStorage(clock), record()
    await storage.create(made)
    first = await storage.lease(made.id, owner_elsewhere("first"), 15)
    with pytest.raises(SessionBusy):
        await storage.lease(made.id, owner_elsewhere("second"), 15)
    clock.move(3600)
    second = await storage.lease(made.id, owner_elsewhere("second"), 15)
    clock.move(-3600)
    assert second.token > first.token
    with pytest.raises(LeaseLost):
        await storage.append(made.id, 0, first.token, [answered(made.id)])
    assert await storage.append(made.id, 0, second.token, [answered(made.id)]) == 1
