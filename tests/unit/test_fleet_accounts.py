"""The account of a job: what is set aside for running debates, and what ended ones have spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from roundtable.errors import BudgetExceeded, StorageError
from roundtable.fleet.accounts import JobAccount
from roundtable.storage import MemoryStorage
from roundtable.types import Budget, Estimate, JsonValue, Usage

pytestmark = pytest.mark.anyio

NOTHING = Usage()


def used(calls: int, cost: float | None = 0.0, tokens: int = 0) -> Usage:
    return Usage(calls=calls, input_tokens=tokens, cost_usd=cost)


def worst(calls: int, cost: float | None = 0.0, tokens: int = 0) -> Estimate:
    return Estimate(calls=calls, input_tokens=tokens, cost_usd=cost)


def account(budget: Budget | None = None) -> JobAccount:
    return JobAccount(MemoryStorage().kv, "account", budget, "default")


async def test_the_spending_of_ended_debates_is_added_up() -> None:
    job = account()
    for session, spent in (("a", used(3, 0.25)), ("b", used(4, 0.5))):
        await job.reserve(session, None, NOTHING)
        await job.settle(session, spent)
    assert await job.spent() == used(7, 0.75)


async def test_a_debate_is_settled_once() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    await job.settle("a", used(3))
    await job.settle("a", used(3))
    assert (await job.spent()).calls == 3


async def test_a_continued_debate_is_charged_only_for_new_calls() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    await job.settle("a", used(3, 0.25))
    await job.reserve("a", None, used(3, 0.25))
    await job.settle("a", used(5, 1.0))
    assert await job.spent() == used(5, 1.0)


async def test_the_spending_of_a_dead_worker_is_charged_by_the_next_one() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    assert await job.count_deaths("a") == 1
    await job.reserve("a", None, used(2))
    assert await job.count_deaths("a") == 2
    await job.settle("a", used(5))
    assert await job.count_deaths("a") == 0
    assert (await job.spent()).calls == 5


async def test_an_unknown_price_stays_unknown_and_its_known_part_counts() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    await job.settle("a", Usage(calls=2, partial_cost_usd=0.5))
    await job.reserve("b", None, NOTHING)
    await job.settle("b", used(1, 0.25))
    spent = await job.spent()
    assert (spent.cost_usd, spent.partial_cost_usd) == (None, 0.75)


@pytest.mark.parametrize(
    ("budget", "fits", "exceeds"),
    [
        (Budget(max_calls=10), worst(10), worst(11)),
        (Budget(max_tokens=100), worst(1, tokens=100), worst(1, tokens=101)),
        (Budget(max_cost_usd=0.3), worst(1, 0.3), worst(1, 0.31)),
    ],
)
async def test_a_budget_covers_the_worst_case_or_refuses(budget: Budget, fits: Estimate, exceeds: Estimate) -> None:
    job = account(budget)
    with pytest.raises(BudgetExceeded, match="used up: this debate may need"):
        await job.reserve("a", exceeds, NOTHING)
    await job.reserve("a", fits, NOTHING)
    await job.settle("a", used(1))


async def test_amounts_that_do_not_add_up_as_floats_fit_exactly() -> None:
    job = account(Budget(max_cost_usd=0.3))
    for number in range(3):
        await job.reserve(str(number), worst(1, 0.1), NOTHING)


async def test_a_debate_waits_while_others_may_return_unused_budget() -> None:
    job, order = account(Budget(max_calls=10)), list[str]()

    async def second() -> None:
        await job.reserve("b", worst(8), NOTHING)
        order.append("b begins")

    await job.reserve("a", worst(8), NOTHING)
    async with anyio.create_task_group() as group:
        group.start_soon(second)
        await anyio.sleep(0.05)
        order.append("a ends")
        await job.settle("a", used(2))
    assert order == ["a ends", "b begins"]
    await job.settle("b", used(8))
    assert (await job.spent()).calls == 10


class _Counted(MemoryStorage):
    """A storage whose changes of values take a while and are counted; it can fail."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.updates, update = 0, self.kv.update
        self.begun = anyio.Event()

        async def slow(key: str, fn: Callable[[JsonValue], JsonValue], **options: Any) -> JsonValue:
            self.updates += 1
            self.begun.set()
            await anyio.sleep(0.01)
            if self.updates <= failures:
                raise StorageError("the disk is full")
            return await update(key, fn, **options)

        self.kv.update = slow  # type: ignore[method-assign]


async def test_debates_that_begin_and_end_together_share_a_write() -> None:
    storage = _Counted()
    job = JobAccount(storage.kv, "account", Budget(max_calls=1000), "default")

    async def debate(name: str) -> None:
        assert await job.reserve(name, worst(5), NOTHING)
        await job.settle(name, used(3, 0.5))

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(debate, str(number))
    assert await job.spent() == used(120, 20.0)
    assert storage.updates < 10


async def test_a_debate_that_is_cancelled_while_it_waits_takes_no_other_with_it() -> None:
    storage = _Counted()
    job = JobAccount(storage.kv, "account", None, "default")
    scopes = [anyio.CancelScope() for _ in range(3)]
    reserved: list[int] = []

    async def reserve(number: int) -> None:
        with scopes[number]:
            await job.reserve(str(number), None, NOTHING)
            reserved.append(number)

    async with anyio.create_task_group() as group:
        group.start_soon(reserve, 0)
        await storage.begun.wait()
        group.start_soon(reserve, 1)
        group.start_soon(reserve, 2)
        await wait_all_tasks_blocked()
        scopes[1].cancel()
    assert reserved == [0, 2]
    assert await job.count_deaths("1") == 0  # nothing was set aside for it
    assert await job.count_deaths("2") == 1


async def test_a_write_that_fails_fails_all_that_shared_it_and_no_other() -> None:
    job = JobAccount(_Counted(failures=1).kv, "account", None, "default")
    outcomes: list[str] = []

    async def reserve(name: str) -> None:
        try:
            await job.reserve(name, None, NOTHING)
        except StorageError as error:
            outcomes.append(error.message)
        else:
            outcomes.append("reserved")

    async with anyio.create_task_group() as group:
        for name in "abc":
            group.start_soon(reserve, name)
    assert outcomes == ["the disk is full"] * 3
    await reserve("a")
    assert outcomes[3:] == ["reserved"]
    assert [await job.count_deaths(name) for name in "abc"] == [1, 0, 0]


async def test_a_debate_that_killed_workers_is_held_back() -> None:
    job = account()
    assert await job.reserve("a", None, NOTHING, most_deaths=1)
    assert await job.reserve("a", None, NOTHING, most_deaths=1)  # one worker died
    assert not await job.reserve("a", None, NOTHING, most_deaths=1)
    assert await job.count_deaths("a") == 2  # being held back counts as no death
    assert await job.reserve("a", None, NOTHING)
    assert await job.count_deaths("a") == 3
