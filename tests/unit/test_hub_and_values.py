"""Telling subscribers that leave meanwhile, and key-value pairs that lapse without slowing others down."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio

from roundtable.engine import EventHub, Subscription
from roundtable.storage import MemoryStorage
from roundtable.testing.storage_samples import ManualClock
from roundtable.types import AgentResponseChunk, Event


async def test_a_subscriber_that_leaves_while_told_takes_nobody_s_turn() -> None:
    hub, storage = EventHub(), MemoryStorage()
    told: list[Subscription] = []

    class Leaving(Subscription):
        def offer(self, event: Event) -> None:
            told.append(self)
            self.close()

    leaving = [Leaving(hub, "s", storage, 0, "default") for _ in range(3)]
    hub._subscribers["s"] = list(leaving)
    hub.publish(AgentResponseChunk(session_id="s", timestamp=datetime.now(UTC), after=0, agent="a", round=1, chunk="x"))
    assert told == leaving


async def test_whoever_is_stirred_gives_up_the_wait_and_no_event() -> None:
    hub, storage = EventHub(), MemoryStorage()
    place = hub.subscribe("s", storage)
    chunk = AgentResponseChunk(session_id="s", timestamp=datetime.now(UTC), after=0, agent="a", round=1, chunk="x")
    async with anyio.create_task_group() as group:
        group.start_soon(_stir, place)
        assert await place.take() is None
        hub.publish(chunk)
        place.stir()
        assert await place.take() is chunk
        assert await place.take() is None  # it was stirred before it would have waited
        group.start_soon(_publish, hub, chunk)
        assert await place.take() is chunk
    place.close()


async def _stir(place: Subscription) -> None:
    place.stir()


async def _publish(hub: EventHub, event: AgentResponseChunk) -> None:
    hub.publish(event)


async def test_putting_does_not_go_through_all_that_is_held() -> None:
    storage = MemoryStorage()
    sweeps, held = 0, storage.kv._items
    for number in range(1000):
        await storage.kv.put(f"k{number}", number)
        sweeps, held = sweeps + (storage.kv._items is not held), storage.kv._items
    assert sweeps <= 5
    assert len(await storage.kv.scan()) == 1000


async def test_lapsed_values_that_nobody_reads_do_not_pile_up() -> None:
    clock = ManualClock()
    storage = MemoryStorage(clock)
    for number in range(1000):
        await storage.kv.put(f"k{number}", number, ttl_s=1)
        clock.move(2)
    assert len(storage.kv._items) <= 64
    assert await storage.kv.scan() == ()
