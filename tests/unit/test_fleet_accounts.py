"""The account of a job: what is set aside for running debates, and what ended ones have spent."""

from __future__ import annotations

import anyio
import pytest

from roundtable.errors import BudgetExceeded
from roundtable.fleet.accounts import JobAccount
from roundtable.storage import MemoryStorage
from roundtable.types import Budget, Estimate, Usage

pytestmark = pytest.mark.anyio

NOTHING = Usage()


def used(calls: int, cost: float | None = 0.0, tokens: int = 0) -> Usage:
    return Usage(calls=calls, input_tokens=tokens, cost_usd=cost)


def worst(calls: int, cost: float | None = 0.0, tokens: int = 0) -> Estimate:
    return Estimate(calls=calls, input_tokens=tokens, cost_usd=cost)


def account(budget: Budget | None = None) -> JobAccount:
    return JobAccount(MemoryStorage().kv, "account", budget, "default")


async def test_what_ended_debates_spent_is_added_up() -> None:
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


async def test_a_debate_that_goes_on_books_only_what_is_new() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    await job.settle("a", used(3, 0.25))
    await job.reserve("a", None, used(3, 0.25))
    await job.settle("a", used(5, 1.0))
    assert await job.spent() == used(5, 1.0)


async def test_what_a_dead_worker_spent_is_booked_by_the_next() -> None:
    job = account()
    await job.reserve("a", None, NOTHING)
    assert await job.deaths("a") == 1
    await job.reserve("a", None, used(2))
    assert await job.deaths("a") == 2
    await job.settle("a", used(5))
    assert await job.deaths("a") == 0
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


async def test_cents_that_do_not_add_up_as_floats_fit() -> None:
    job = account(Budget(max_cost_usd=0.3))
    for number in range(3):
        await job.reserve(str(number), worst(1, 0.1), NOTHING)


async def test_a_debate_waits_while_others_may_return_what_they_do_not_need() -> None:
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
