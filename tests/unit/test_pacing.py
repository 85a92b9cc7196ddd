"""Many debates that run side by side take turns on the event loop."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from roundtable.core.engine.plan_limits import StepLimiter

pytestmark = [pytest.mark.anyio, pytest.mark.both_loops]


async def test_each_pass_of_the_event_loop_runs_a_few_steps_in_order_of_request() -> None:
    pace, taken, passes = StepLimiter(4), list[int](), list[int]()

    async def step(number: int) -> None:
        await pace.step()
        taken.append(number)

    async def watch() -> None:
        while len(taken) < 40:
            before = len(taken)
            await anyio.lowlevel.checkpoint()
            passes.append(len(taken) - before)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        for number in range(40):
            group.start_soon(step, number)
            await anyio.lowlevel.checkpoint()
    assert sorted(taken) == [*range(40)]
    assert max(passes) <= 4


async def test_a_cancelled_wait_makes_room_for_others() -> None:
    pace, taken = StepLimiter(1), list[int]()

    async def step(number: int) -> None:
        await pace.step()
        taken.append(number)

    with anyio.fail_after(5):
        for _ in range(20):
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(step, number)
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        before = len(taken)
        await step(7)
    assert taken[before:] == [7]


def test_a_pace_may_be_kept_on_one_loop_after_the_other() -> None:
    pace = StepLimiter(1)
    for _ in range(2):
        anyio.run(pace.step)
