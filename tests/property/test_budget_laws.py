"""No interleaving of calls overspends a budget, and every reservation is settled exactly once."""

from __future__ import annotations

from decimal import Decimal

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from roundtable.core.base.ledger import Account, Amount, DebateKey
from roundtable.errors import APINetworkError, APITimeoutError, BudgetExceeded
from roundtable.gateway import Ledger, MeteredModel, PriceTable
from roundtable.providers import ScriptedModel
from roundtable.types import Budget, ChatRequest, ChatResponse, Usage

pytestmark = pytest.mark.both_loops

MICRO = Decimal("0.000001")
AMOUNTS = st.builds(lambda cost, tokens: Amount(cost * MICRO, tokens, 1), st.integers(0, 500), st.integers(0, 500))


def part_of(amount, data):
    return Amount(
        data.draw(st.integers(0, int(amount.cost_usd / MICRO))) * MICRO, data.draw(st.integers(0, amount.tokens)), 1
    )


class Spending(RuleBasedStateMachine):
    """Two debates of one table reserve, settle, give up, end and go on, in any order."""

    def __init__(self):
        super().__init__()
        self.ledger = Ledger(Budget(max_cost_usd=0.002, max_tokens=3000, max_calls=20))
        self.budgets = {"a": Budget(max_cost_usd=0.001, max_calls=9), "b": Budget(max_tokens=900)}
        self.accounts = {name: self.ledger.open(DebateKey(name), budget) for name, budget in self.budgets.items()}
        self.open = []
        self.settled = {"a": Amount(), "b": Amount()}

    @rule(who=st.sampled_from("ab"), want=AMOUNTS)
    def reserve(self, who, want):
        account = self.accounts[who]
        before = (account.held, self.ledger.table.held)
        try:
            ticket = account.reserve(want)
        except BudgetExceeded:
            assert account.refusal is not None
            ticket = None
        if ticket is None:
            assert (account.held, self.ledger.table.held) == before
        else:
            self.open.append((who, ticket))

    @rule(data=st.data())
    def settle(self, data):
        if not self.open:
            return
        who, ticket = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        kind = data.draw(st.sampled_from(["part", "all", "nothing"]))
        actual = {"part": part_of(ticket.amount, data), "all": ticket.amount, "nothing": Amount()}[kind]
        if kind == "all":
            ticket.settle()
        elif kind == "nothing":
            ticket.release()
        else:
            ticket.settle(actual)
        ticket.settle()  # whatever is called once more changes nothing
        self.settled[who] += actual

    @rule(who=st.sampled_from("ab"))
    def go_on(self, who):
        self.ledger.close(DebateKey(who))
        assert self.ledger.open(DebateKey(who), self.budgets[who]) is self.accounts[who]

    @invariant()
    def nothing_is_overspent(self):
        for account in (self.ledger.table, *self.accounts.values()):
            both = account.spent + account.held
            limits = account.budget
            assert limits.max_cost_usd is None or both.cost_usd <= Decimal(repr(limits.max_cost_usd))
            assert limits.max_tokens is None or both.tokens <= limits.max_tokens
            assert limits.max_calls is None or both.calls <= limits.max_calls

    @invariant()
    def accounts_hold_what_was_done(self):
        held = {who: sum((t.amount for w, t in self.open if w == who), Amount()) for who in "ab"}
        for who, account in self.accounts.items():
            assert (account.spent, account.held) == (self.settled[who], held[who])
        assert self.ledger.table.spent == self.settled["a"] + self.settled["b"]
        assert self.ledger.table.held == held["a"] + held["b"]


TestSpending = Spending.TestCase
TestSpending.settings = settings(stateful_step_count=40, deadline=None)


@given(AMOUNTS, st.data())
def test_settling_returns_exactly_the_unused_part(want, data):
    account = Account(Budget(max_tokens=10_000))
    ticket = account.reserve(want)
    taken = part_of(want, data)
    ticket.settle(taken)
    assert (account.held, account.spent) == (Amount(), taken)


@given(AMOUNTS)
def test_releasing_is_as_if_nothing_had_been_reserved(want):
    account = Account(Budget(max_tokens=10_000))
    account.reserve(want).release()
    assert (account.held, account.spent) == (Amount(), Amount())


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=6), st.lists(st.integers(0, 400), max_size=6)
)
def test_a_log_is_charged_once_and_never_lowers_the_charge(steps, more):
    table = Account(Budget(max_tokens=10**6))
    debate = Account(Budget(), table)
    for sent, got in steps:
        debate.catch_up(Usage(input_tokens=sent, output_tokens=got, calls=1))
    most = max((sent + got for sent, got in steps), default=0)
    assert debate.spent.tokens == table.spent.tokens == most
    for tokens in more:
        debate.catch_up(Usage(input_tokens=tokens, calls=1))
    assert debate.spent.tokens == table.spent.tokens == max([most, *more])


class Thrifty(ScriptedModel):
    """Takes at most what was reserved, or fails, as it is told."""

    def __init__(self, plan):
        super().__init__(lambda _: "x")
        self.plan = list(plan)
        self.taken = []
        self.most_under_way = 0
        self.under_way = 0

    async def complete(self, request):
        kind, share, wait_s = self.plan.pop()
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await anyio.sleep(wait_s / 1000)
        self.under_way -= 1
        if kind == "fails":
            raise APINetworkError
        tokens = request.max_tokens * share // 4
        self.taken.append(tokens)
        if kind == "late":
            raise APITimeoutError
        return ChatResponse(text="x", usage=Usage(output_tokens=tokens, calls=1))


PLAN = st.lists(
    st.tuples(st.sampled_from(["answers", "answers", "fails", "late"]), st.integers(0, 4), st.integers(0, 3)),
    min_size=12,
    max_size=12,
)


@given(PLAN, st.sampled_from([Budget(max_tokens=300), Budget(max_cost_usd=0.0003), Budget(max_calls=5)]))
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_calls_that_run_at_once_never_overspend_together(backend, plan, budget):
    model = Thrifty(plan)
    metered = MeteredModel(model, PriceTable({"scripted:*": {"input": 0, "output": 1}}, packaged=False), Ledger(budget))
    refused = []

    async def one():
        try:
            await metered.complete(ChatRequest(model="m", messages=(), max_tokens=100))
        except BudgetExceeded:
            refused.append(1)
        except (APINetworkError, APITimeoutError):
            pass

    async def all_at_once():
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(one)

    anyio.run(all_at_once, backend=backend)
    assert budget.max_calls is not None or sum(model.taken) <= 300
    made = 12 - len(model.plan)
    assert made + len(refused) == 12
    assert made <= (budget.max_calls or 12)
    account = metered.ledger.table
    assert account.held == Amount()
    assert account.spent.tokens >= sum(model.taken)
    # Whoever was refused would not have fitted, whatever others had given back.
    if refused:
        left = 300 - account.spent.tokens if budget.max_calls is None else 0
        assert left < 100


async def test_a_call_that_does_not_fit_now_waits_for_what_others_return():
    answer = ChatResponse(text="x", usage=Usage(output_tokens=10, calls=1))
    gate = anyio.Event()

    class Gated(ScriptedModel):
        async def complete(self, request):
            response = await super().complete(request)
            await gate.wait()
            return response

    model = Gated([answer, answer])
    metered = MeteredModel(model, PriceTable(packaged=False), Ledger(Budget(max_tokens=150)))
    done = []

    async def call(name):
        await metered.complete(ChatRequest(model="", messages=(), max_tokens=100))
        done.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(call, "first")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(call, "second")
        await anyio.wait_all_tasks_blocked()
        assert model.calls == 1
        gate.set()
    assert done == ["first", "second"]
    assert metered.ledger.table.spent.tokens == 20
