"""What is charged when, and what refusals say."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

import anyio
import anyio.lowlevel
import pytest

from roundtable.core.base.ledger import Account, Amount
from roundtable.errors import (
    APIAuthError,
    APINetworkError,
    APITimeoutError,
    BudgetExceeded,
)
from roundtable.gateway import DebateKey, Ledger, MeteredModel, PriceTable
from roundtable.gateway.budget import SYNTHESIS, prompt_tokens
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import (
    AgentTool,
    Budget,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Message,
    ModelProfile,
    OutputSchema,
    ToolCall,
    Usage,
)

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=(), max_tokens=100)
ANSWER = ChatResponse(text="Yes.", usage=Usage(output_tokens=10, calls=1))
PRICES = PriceTable({"scripted:*": {"input": 0, "output": 1000}}, packaged=False)


def metered(*replies, budget=None, **more):
    return MeteredModel(ScriptedModel(list(replies), **more), PRICES, Ledger(budget or Budget(max_tokens=1000)))


async def collect(model, request=ASK):
    return [piece async for piece in model.stream(request)]


def test_a_refusal_states_the_budget_the_spending_and_the_next_call():
    account = Account(Budget(max_tokens=100))
    account.reserve(Amount(tokens=60)).settle()
    with pytest.raises(BudgetExceeded, match="the table has spent 60 of 100 tokens; the next call may take 50"):
        account.reserve(Amount(tokens=50))
    account = Account(Budget(max_cost_usd=0.5), Account())
    with pytest.raises(BudgetExceeded, match=r"the debate has spent 0 of 0.5 USD; the next call may cost 0.6"):
        account.reserve(Amount(Decimal("0.6")))
    account = Account(Budget(max_calls=1))
    account.reserve(Amount(calls=1)).settle()
    with pytest.raises(BudgetExceeded, match="the table has made 1 call; its budget is 1"):
        account.reserve(Amount(calls=1))
    for budget, words in (
        (Budget(max_tokens=1), "the table has spent 60 tokens; its budget is 1"),
        (Budget(max_cost_usd=0.25), "the table has spent 0.5 USD; its budget is 0.25"),
        (Budget(max_calls=1), "the table has made 2 calls; its budget is 1"),
    ):
        account = Account(budget)
        account.catch_up(Usage(calls=2, output_tokens=60, cost_usd=0.5))
        assert account.shortage(may_use_reserve=True) == account.check() == words


def test_after_a_refusal_no_call_is_allowed_until_the_debate_continues():
    ledger = Ledger()
    account = ledger.open(DebateKey("s"), Budget(max_tokens=10))
    with pytest.raises(BudgetExceeded):
        account.reserve(Amount(tokens=11))
    with pytest.raises(BudgetExceeded, match="may take 11"):
        account.reserve(Amount(tokens=1))
    assert ledger.open(DebateKey("s"), Budget(max_tokens=20)).reserve(Amount(tokens=11)) is not None


def test_an_unknown_price_fits_no_budget_in_dollars():
    with pytest.raises(BudgetExceeded, match="price of the call is unknown"):
        Account(Budget(max_cost_usd=1)).reserve(Amount(None, 1, 1))
    ticket = Account(Budget(max_tokens=1)).reserve(Amount(None, 1, 1))
    ticket.settle(Amount(None, 1, 1))


def test_a_call_that_takes_more_than_its_worst_case_is_charged_in_full():
    account = Account(Budget(max_tokens=100))
    account.reserve(Amount(tokens=50)).settle(Amount(tokens=120))
    assert account.spent.tokens == 120
    assert account.check() is not None


def test_the_reserve_is_only_for_the_synthesis():
    account = Account(Budget(max_tokens=100, synthesis_share=0.4))
    with pytest.raises(BudgetExceeded, match="some is kept for the synthesis"):
        account.reserve(Amount(tokens=61))
    account.refusal = None
    account.reserve(Amount(tokens=60)).settle()
    account.reserve(Amount(tokens=40), may_use_reserve=True).settle()
    dollars = Account(Budget(max_cost_usd=1, max_calls=3, synthesis_share=0.25))
    assert dollars.synthesis_reserve == Amount(Decimal("0.25"), 0, 1)
    dollars.reserve(Amount(Decimal("0.75"), 0, 2)).settle()
    with pytest.raises(BudgetExceeded, match="made 2 calls and some is kept for the synthesis; its budget is 3"):
        dollars.reserve(Amount(calls=1))


async def test_a_synthesis_can_use_its_reserve():
    model = metered(ANSWER, budget=Budget(max_tokens=150, synthesis_share=0.5))
    with pytest.raises(BudgetExceeded) as refused:
        await model.complete(ASK)
    assert refused.value.provider == "scripted"
    model.ledger.table.refusal = None
    assert await model.complete(ASK.model_copy(update={"metadata": {"purpose": SYNTHESIS}}))


def test_debates_without_limits_leave_no_accounts():
    ledger = Ledger()
    ledger.open(DebateKey("s"), None)
    ledger.close(DebateKey("s"))
    ledger.close(DebateKey("s"))
    with ledger.charging(DebateKey("s")):
        assert ledger.account("s") is ledger.table
    limited = Ledger(Budget(max_tokens=5))
    account = limited.open(DebateKey("s"), None)
    limited.close(DebateKey("s"))
    assert limited.open(DebateKey("s"), None) is account


async def test_debates_with_the_same_id_have_separate_accounts():
    ledger = Ledger(Budget(max_calls=9))
    keys = [DebateKey("s", "ann"), DebateKey("s", "bo"), DebateKey("s", "bo", datetime.now(UTC))]
    accounts = [ledger.open(key, None) for key in keys]

    async def account_of_task(key: DebateKey) -> None:
        with ledger.charging(key):
            await anyio.lowlevel.checkpoint()
            async with anyio.create_task_group() as group:
                group.start_soon(found, key)
            assert ledger.account("other") is ledger.table

    async def found(key: DebateKey) -> None:
        assert ledger.account("s") is accounts[keys.index(key)]
        assert Ledger().account("s") not in accounts

    async with anyio.create_task_group() as group:
        for key in keys:
            group.start_soon(account_of_task, key)
    assert ledger.account("s") is ledger.table


def test_accounts_of_deleted_sessions_are_dropped_and_stay_charged_to_the_table():
    ledger = Ledger(Budget(max_calls=9))
    ann, bo, other = DebateKey("s", "ann"), DebateKey("s", "bo"), DebateKey("t", "ann")
    accounts = {key: ledger.open(key, None) for key in (ann, bo, other)}
    accounts[ann].catch_up(Usage(calls=2))
    ledger.forget("s", "ann")
    assert ledger.open(ann, None) is accounts[ann], "it still runs"
    for key in accounts:
        ledger.close(key)
    ledger.forget("s", "ann")
    ledger.forget("unknown", "ann")
    assert ledger.open(ann, None) is not accounts[ann]
    assert [ledger.open(key, None) for key in (bo, other)] == [accounts[bo], accounts[other]]
    assert ledger.table.spent.calls == 2


def test_seconds_count_while_a_debate_runs():
    now = [0.0]
    ledger = Ledger(Budget(max_seconds=10), monotonic=lambda: now[0])
    assert ledger.seconds_left(DebateKey("a"), 0) == 10
    ledger.open(DebateKey("a"), None)
    now[0] = 3
    ledger.open(DebateKey("b"), Budget(max_seconds=4))
    assert (ledger.seconds_left(DebateKey("a"), 99), ledger.seconds_left(DebateKey("b"), 1)) == (7, 3)
    now[0] = 5
    ledger.close(DebateKey("a"))
    ledger.close(DebateKey("b"))
    now[0] = 100
    assert ledger.seconds_left(DebateKey("c"), 0) == 5
    ledger.open(DebateKey("c"), Budget(max_seconds=2))
    assert ledger.seconds_left(DebateKey("c"), 9) == 0
    assert Ledger().seconds_left(DebateKey("x"), 5) is None


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        (ANSWER, 10),
        (APIAuthError(), 0),
        (APINetworkError(), 0),
        (APITimeoutError(), 100),
        (APITimeoutError(details={"status": 504}), 0),
        (KeyError("bug"), 100),
    ],
    ids=repr,
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_is_charged_as_documented(reply, tokens, streamed):
    model = metered(reply)
    with suppress(APIAuthError, APINetworkError, APITimeoutError, KeyError):
        await (collect(model) if streamed else model.complete(ASK))
    table = model.ledger.table
    assert (table.spent.tokens, table.spent.calls, table.held) == (tokens, 1, Amount())


async def test_an_error_is_charged_its_stated_usage():
    error = APITimeoutError()
    error.usage = Usage(input_tokens=7, calls=2)
    model = metered(error)
    with pytest.raises(APITimeoutError):
        await model.complete(ASK)
    assert model.ledger.table.spent == Amount(Decimal(0), 7, 2)


async def test_a_call_that_was_cancelled_may_be_billed():
    model = metered(Delay(30, ANSWER))
    with anyio.move_on_after(0.05):
        await model.complete(ASK)
    assert model.ledger.table.spent.tokens == 100


class Breaks(ScriptedModel):
    profile = ModelProfile(streams=True)

    def __init__(self, error=None):
        super().__init__([])
        self.error = error

    async def stream(self, request):
        yield ChatDelta(text="Ye")
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, APINetworkError(), APIAuthError()], ids=repr)
async def test_an_answer_that_broke_off_may_be_billed(error):
    model = MeteredModel(Breaks(error), PRICES, Ledger(Budget(max_tokens=1000)))
    with suppress(APINetworkError, APIAuthError):
        await collect(model)
    assert model.ledger.table.spent.tokens == 100
    assert model.ledger.table.held == Amount()


async def test_a_stream_left_early_may_be_billed():
    model = MeteredModel(Breaks(), PRICES, Ledger(Budget(max_tokens=1000)))
    pieces = model.stream(ASK)
    await anext(pieces)
    await pieces.aclose()
    assert model.ledger.table.spent.tokens == 100


async def test_an_answer_without_a_price_is_charged_its_worst_case_in_dollars():
    prices = PriceTable({"scripted:scripted": {"input": 0, "output": 1000}}, packaged=False)

    class Renamed(MeteredModel):
        def priced(self, usage, request, response=None):
            return usage

    model = Renamed(ScriptedModel([ANSWER]), prices, Ledger(Budget(max_cost_usd=1)))
    await model.complete(ASK)
    assert model.ledger.table.spent.cost_usd == Decimal("0.1")


def test_the_estimate_of_a_prompt_includes_everything_that_is_sent():
    plain = ChatRequest(model="", messages=(Message(role="user", content="x" * 350),))
    assert prompt_tokens(plain) >= 100
    tools = plain.model_copy(update={"tools": (AgentTool(name="search", description="y" * 350),)})
    schema = plain.model_copy(update={"output_schema": OutputSchema(name="s", definition={"z": "z" * 350})})
    call = Message(role="assistant", tool_calls=(ToolCall(id="1", name="search", arguments={"q": "w" * 350}),))
    called = plain.model_copy(update={"messages": (*plain.messages, call)})
    for longer in (tools, schema, called):
        assert prompt_tokens(longer) >= prompt_tokens(plain) + 100


async def test_the_cost_of_an_answer_without_usage_is_unknown():
    silent = ChatResponse(text="Yes.", usage=Usage(calls=1))
    model = metered(silent, silent)
    assert (await model.complete(ASK)).usage.cost_usd is None
    table = model.ledger.table
    assert (table.spent.tokens, table.spent.calls) == (100, 1)
    dollars = metered(
        silent, silent.model_copy(update={"usage": Usage(calls=1, cost_usd=0.25)}), budget=Budget(max_cost_usd=9)
    )
    await dollars.complete(ASK)
    assert dollars.ledger.table.spent.cost_usd == Decimal("0.1")
    await dollars.complete(ASK)
    assert dollars.ledger.table.spent.cost_usd == Decimal("0.35")
