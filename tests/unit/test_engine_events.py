"""Telling subscribers that leave meanwhile, and key-value pairs that lapse without slowing others down."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import anyio
import pytest

from roundtable.engine import EventHub, Subscription
from roundtable.storage import MemoryStorage
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_samples import record
from roundtable.types import AgentResponseChunk, Event

pytestmark = pytest.mark.both_loops


async def test_a_subscriber_that_leaves_during_an_event_does_not_skip_another() -> None:
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


async def test_a_subscriber_that_is_woken_ends_its_wait_and_loses_no_event() -> None:
    hub, storage = EventHub(), MemoryStorage()
    place = hub.subscribe("s", storage)
    chunk = AgentResponseChunk(session_id="s", timestamp=datetime.now(UTC), after=0, agent="a", round=1, chunk="x")
    async with anyio.create_task_group() as group:
        group.start_soon(_stir, place)
        assert await place.take() is None
        hub.publish(chunk)
        place.wake()
        assert await place.take() is chunk
        assert await place.take() is None  # it was stirred before it would have waited
        group.start_soon(_publish, hub, chunk)
        assert await place.take() is chunk
    place.close()


async def test_a_subscriber_that_is_woken_repeatedly_waits_only_the_requested_time() -> None:
    hub, storage = EventHub(), MemoryStorage()
    await storage.create(record("s"))
    place = hub.subscribe("s", storage)

    async def disturb() -> None:
        while True:
            place.fall_behind()
            await anyio.sleep(0.01)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(disturb)
            assert await place.take(0.1) is None
            group.cancel_scope.cancel()
    place.close()


async def _stir(place: Subscription) -> None:
    place.wake()


async def _publish(hub: EventHub, event: AgentResponseChunk) -> None:
    hub.publish(event)


def piece(text: str, after: int = 0) -> AgentResponseChunk:
    return AgentResponseChunk(session_id="s", timestamp=datetime.now(UTC), after=after, agent="a", round=1, chunk=text)


async def test_a_slow_listener_is_told_how_many_pieces_it_missed() -> None:
    """More than 256 wait, and no number of any piece is told that is not missing."""
    hub, storage = EventHub(), MemoryStorage()
    with hub.subscribe("s", storage) as place:
        for number in range(300):
            hub.publish(piece(str(number)))
        heard = [await place.take() for _ in range(256)]
        assert [(event.chunk, event.missed) for event in heard if isinstance(event, AgentResponseChunk)] == [
            (str(number), None) for number in range(256)
        ]
        hub.publish(piece("next"))
        hub.publish(piece("last"))
        following, last = await place.take(), await place.take()
        assert isinstance(following, AgentResponseChunk)
        assert (following.chunk, following.missed) == ("next", 44)
        assert following.to_wire()["data"]["missed"] == 44  # type: ignore[call-overload,index]  # an object of JSON
        assert isinstance(last, AgentResponseChunk)
        assert (last.chunk, last.missed) == ("last", None)


async def test_pieces_that_the_log_has_overtaken_are_missed_too() -> None:
    hub, storage = EventHub(), MemoryStorage()
    with hub.subscribe("s", storage, after=3) as place:
        hub.publish(piece("old", after=2))
        hub.publish(piece("new", after=3))
        event = await place.take()
        assert isinstance(event, AgentResponseChunk)
        assert (event.chunk, event.missed) == ("new", 1)


def test_an_observer_that_always_fails_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("no more paper")

    heard: list[Event] = []
    hub = EventHub([broken, heard.append])
    with caplog.at_level(logging.WARNING, "roundtable.engine"):
        for number in range(509):
            hub.publish(piece(str(number)))
    assert len(heard) == 509
    first, tenth, hundredth = caplog.records
    assert first.exc_info is not None
    assert first.message == "an observer failed on agent_response_chunk: RuntimeError: no more paper"
    assert [record.exc_info for record in (tenth, hundredth)] == [None, None]
    assert tenth.message.startswith("an observer failed on agent_response_chunk, 10 times so far: RuntimeError")
    assert ", 100 times so far: " in hundredth.message


async def test_storing_a_value_does_not_scan_all_values() -> None:
    storage = MemoryStorage()
    sweeps, held = 0, storage.kv._items
    for number in range(1000):
        await storage.kv.put(f"k{number}", number)
        sweeps, held = sweeps + (storage.kv._items is not held), storage.kv._items
    assert sweeps <= 5
    assert len(await storage.kv.scan()) == 1000


async def test_expired_values_that_are_never_read_do_not_pile_up() -> None:
    clock = ManualClock()
    storage = MemoryStorage(clock)
    for number in range(1000):
        await storage.kv.put(f"k{number}", number, ttl_s=1)
        clock.move(2)
    assert len(storage.kv._items) <= 64
    assert await storage.kv.scan() == ()
