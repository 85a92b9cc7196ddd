"""One timer for the silence of many."""

from __future__ import annotations

from itertools import pairwise

import anyio

from roundtable.engine import EventHub, Subscription
from roundtable.server.streams import Heartbeats
from roundtable.storage import MemoryStorage


class Quiet(Subscription):
    """Counts how often it is stirred."""

    def __init__(self, name: str) -> None:
        super().__init__(EventHub(), name, MemoryStorage(), 0, "default")
        self.stirred_at: list[float] = []

    def wake(self) -> None:
        """Count."""
        self.stirred_at.append(anyio.current_time())


async def test_each_listener_is_woken_after_its_own_silence() -> None:
    beats = Heartbeats(0.05)
    first, second, gone = Quiet("first"), Quiet("second"), Quiet("gone")
    async with anyio.create_task_group() as group:
        group.start_soon(beats.run)
        began = beats.put_off(first)
        beats.put_off(gone)
        await anyio.sleep(0.02)
        later = beats.put_off(second)
        beats.forget(gone)
        with anyio.fail_after(20):
            while len(second.stirred_at) < 3:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert not gone.stirred_at
    assert len(first.stirred_at) >= 2
    for place, since in ((first, began), (second, later)):
        times = [since, *place.stirred_at]
        assert all(late - early > 0.049 for early, late in pairwise(times))


async def test_a_listener_that_got_an_event_is_not_woken() -> None:
    beats = Heartbeats(3600)
    place = Quiet("s")
    async with anyio.create_task_group() as group:
        beats.put_off(place)
        group.start_soon(beats.run)
        await anyio.sleep(0.01)
        assert beats.put_off(place) <= anyio.current_time()
        group.cancel_scope.cancel()
    assert not place.stirred_at
