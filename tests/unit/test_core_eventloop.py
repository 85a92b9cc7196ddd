"""What belongs to an event loop is made once for it and does not outlive it for long."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint, current_token

from roundtable.core.base.eventloop import PerLoop, until_one_ends

pytestmark = pytest.mark.both_loops


async def test_each_event_loop_has_its_own_object():
    things = PerLoop(object)
    first = things.get()
    assert things.get() is first
    assert things.pop() is first
    assert things.pop() is None
    assert things.get() is not first


@pytest.mark.parametrize("backends", [("asyncio", "asyncio"), ("trio", "trio"), ("asyncio", "trio", "asyncio")])
def test_event_loops_never_share_objects_and_closed_ones_are_forgotten(backends):
    class Thing:
        def __init__(self):
            # A connection holds its loop, which is why the loop would not go away by itself.
            self.loop = current_token().native_token

    things = PerLoop(Thing)
    seen = []

    async def use():
        seen.append(things.get())

    for backend in backends:
        anyio.run(use, backend=backend)
    assert len({id(thing) for thing in seen}) == len(backends)
    asyncio_things = [thing for thing in things._values.values() if hasattr(thing.loop, "is_closed")]
    assert len(asyncio_things) <= 1


async def test_the_first_task_to_end_cancels_the_others_and_its_error_is_raised_unchanged():
    ended: list[str] = []

    async def wait():
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("wait")

    async def fail():
        await checkpoint()
        raise KeyError("x")

    async def finish():
        ended.append("finish")

    await until_one_ends(wait, finish)
    assert sorted(ended) == ["finish", "wait"]
    with pytest.raises(KeyError):
        await until_one_ends(wait, fail)
