"""Budgets and prices inside the gateway: each try is reserved, and what it took is counted once."""

from __future__ import annotations

import anyio
import pytest

from roundtable.errors import APIAuthError, APINetworkError, APIRateLimitError, BudgetExceeded, CircuitOpen
from roundtable.gateway import FallbackModel, Gateway, Ledger, MeteredModel, PriceTable, RetryRule
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import Budget, ChatRequest, ChatResponse, Usage

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=(), max_tokens=100)
ANSWER = ChatResponse(text="Yes.", usage=Usage(output_tokens=10, calls=1))
SILENT = ChatResponse(text="Yes.", usage=Usage(calls=1))
PRICES = PriceTable({"scripted:*": {"input": 0, "output": 1000}}, packaged=False)
QUICK = RetryRule(base_delay_s=0.001)


def guarded(*replies, budget, **more):
    model = MeteredModel(ScriptedModel(list(replies)), PRICES, Ledger(budget))
    return Gateway(retry=QUICK, **more).guard(model), model.inner, model.ledger.table


def lost(tokens):
    error = APINetworkError("broke off")
    error.usage = Usage(output_tokens=tokens, calls=1)
    return error


async def ask(model, streamed):
    return [piece async for piece in model.stream(ASK)][-1] if streamed else await model.complete(ASK)


@pytest.mark.parametrize("streamed", [False, True])
async def test_each_try_is_charged_its_own_usage(streamed):
    model, _, account = guarded(lost(30), APIRateLimitError(), ANSWER, budget=Budget(max_tokens=1000))
    response = await ask(model, streamed)
    assert (account.spent.tokens, account.spent.calls, account.held.tokens) == (40, 3, 0)
    # A refusal takes nothing but the call, and is no usage; what the broken answer took is priced.
    assert response.usage == Usage(output_tokens=40, calls=2, cost_usd=0.04)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_retry_that_the_budget_does_not_cover_is_not_made(streamed):
    model, inner, account = guarded(lost(30), ANSWER, budget=Budget(max_tokens=120))
    with pytest.raises(BudgetExceeded, match="spent 30 of 120") as caught:
        await ask(model, streamed)
    assert len(inner.requests) == 1
    assert caught.value.usage == Usage(output_tokens=30, calls=1, cost_usd=0.03)
    assert (account.spent.tokens, account.held.tokens) == (30, 0)
    assert model.endpoint_state.breaker.failures == 1


@pytest.mark.slow
async def test_waiting_for_the_budget_does_not_count_as_time_of_the_provider():
    model, _, account = guarded(ANSWER, budget=Budget(max_tokens=150), timeout_s=2)
    ticket = account.reserve(MeteredModel(ScriptedModel([]), PRICES).worst_case(ASK))
    answers = []

    async def call():
        answers.append(await model.complete(ASK))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.sleep(2.3)
        assert not answers
        ticket.release()
    assert answers[0].usage.output_tokens == 10
    assert model.endpoint_state.breaker.failures == 0


async def test_a_try_that_is_no_longer_wanted_returns_its_reservation():
    class NotWantedError(Exception):
        pass

    async def question():
        raise NotWantedError

    model, inner, account = guarded(ANSWER, budget=Budget(max_tokens=150))
    with pytest.raises(NotWantedError):
        await model.asking(question).complete(ASK)
    assert (len(inner.requests), account.spent.calls, account.held.tokens) == (0, 0, 0)


async def test_a_try_that_the_breaker_refuses_returns_its_reservation():
    model, inner, account = guarded(ANSWER, budget=Budget(max_tokens=150))
    model.endpoint_state.breaker.trip("its host is unknown")
    with pytest.raises(CircuitOpen):
        await model.complete(ASK)
    assert (len(inner.requests), account.spent.calls, account.held.tokens) == (0, 0, 0)


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_without_usage_has_no_price_and_is_charged_its_reservation(streamed):
    model, _, account = guarded(SILENT, budget=Budget(max_tokens=1000, max_cost_usd=1))
    response = await ask(model, streamed)
    assert response.usage == Usage(calls=1, unreported_calls=1)
    assert (account.spent.tokens, float(account.spent.cost_usd)) == (100, 0.1)


async def test_an_answer_that_takes_too_long_is_charged_its_reservation():
    model, _, account = guarded(Delay(5, ANSWER), budget=Budget(max_tokens=1000), timeout_s=0.05)
    with pytest.raises(Exception, match="no complete answer"):
        await model.complete(ASK)
    assert account.spent.tokens == 100


async def test_a_chain_of_models_keeps_to_one_budget_and_counts_each_once():
    ledger = Ledger(Budget(max_tokens=1000))
    gateway = Gateway(retry=QUICK)
    first = MeteredModel(ScriptedModel([lost(30), APIAuthError()], model="one"), PRICES, ledger)
    spare = MeteredModel(ScriptedModel([ANSWER], model="two"), PRICES, ledger)
    told = []

    async def before():
        told.append("asked")

    async def retried(notice):
        told.append(notice.attempt)

    chain = FallbackModel(gateway.guard(first), gateway.guard(spare)).asking(before, retried)
    async with chain.stream(ASK) as deltas:
        async for _ in deltas:
            pass
    assert deltas.response.usage == Usage(output_tokens=40, calls=2, cost_usd=0.04)
    assert (ledger.table.spent.tokens, ledger.table.spent.calls) == (40, 3)
    assert told == ["asked", 2, "asked", "asked"]
    assert chain.endpoint == ""
