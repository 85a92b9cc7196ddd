"""Prices are exact, the caller's come first, and what is unknown is never 0."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.errors import ConfigurationError
from roundtable.gateway import Gateway, MeteredModel, ModelPrice, PriceTable
from roundtable.gateway.prices import to_usd
from roundtable.providers import ScriptedModel
from roundtable.types import ChatRequest, ChatResponse, Usage
from roundtable.vendors import known_provider

ASK = ChatRequest(model="", messages=())
ONE = Usage(input_tokens=1000, output_tokens=100, calls=1)


def bare(stated=None):
    return PriceTable(stated, packaged=False)


def test_a_price_is_read_as_it_is_written():
    price = ModelPrice(input=0.1, output="0.2", per_call=Decimal("0.001"))
    assert price.cost(Usage(input_tokens=3_000_000, output_tokens=1, calls=2)) == Decimal("0.3020002")


def test_parts_with_their_own_price_cost_that_price_and_others_the_general_one():
    usage = Usage(
        input_tokens=1000,
        cache_read_tokens=300,
        cache_write_tokens=200,
        output_tokens=100,
        reasoning_tokens=40,
        calls=1,
    )
    own = ModelPrice(input=1, output=10, cache_read="0.1", cache_write="1.25", reasoning=20)
    assert own.cost(usage) == (500 * 1 + Decimal("0.1") * 300 + Decimal("1.25") * 200 + 60 * 10 + 40 * 20) / 1_000_000
    assert ModelPrice(input=1, output=10).cost(usage) == Decimal(2000) / 1_000_000


def test_tokens_cached_for_an_hour_can_have_their_own_price():
    usage = Usage(input_tokens=1000, cache_write_tokens=500, long_cache_write_tokens=200, calls=1)
    price = ModelPrice(input=1, output=10, cache_write="1.25", long_cache_write=2)
    assert price.cost(usage) == (500 + 300 * Decimal("1.25") + 200 * 2) / 1_000_000
    assert ModelPrice(input=1, output=10, cache_write=3).cost(usage) == Decimal(2000) / 1_000_000
    assert bare({"a:b": price}).worst("a", "b", 1000, 0) == Decimal(2000) / 1_000_000


def test_only_a_stated_price_counts_if_the_list_price_does_not_apply():
    table = PriceTable({"a:b": {"input": 1, "output": 10}})
    assert table.cost("a", "b", ONE, listed=False) == Decimal("0.002")
    assert table.cost("local", "smol", ONE, listed=False) == 0
    assert table.cost("anthropic", "claude-opus-4-5", ONE, listed=False) is None


def test_a_call_whose_list_price_does_not_apply_has_a_price_only_if_the_caller_states_one():
    pytest.importorskip("genai_prices")
    fast = ONE.model_copy(update={"partial_cost_usd": 0.0})
    request = ChatRequest(model="claude-opus-4-6", messages=())
    for stated, cost in ((None, None), ({"anthropic:*": {"input": 30, "output": 150}}, 0.045)):
        meter = MeteredModel(ScriptedModel(["Hi"], provider="anthropic"), prices=PriceTable(stated))
        assert meter.priced(fast, request).cost_usd == cost
        assert meter.priced(fast, request).partial_cost_usd == (0 if cost is None else None)


def test_a_cache_of_an_hour_costs_twice_the_input_at_anthropic():
    pytest.importorskip("genai_prices")
    table = PriceTable()
    usage = Usage(input_tokens=1000, cache_write_tokens=1000, calls=1)
    short = table.cost("anthropic", "claude-opus-4-5", usage)
    long = usage.model_copy(update={"long_cache_write_tokens": 1000})
    assert (short, table.cost("anthropic", "claude-opus-4-5", long)) == (Decimal("0.00625"), Decimal("0.01"))
    assert table.saved("anthropic", "claude-opus-4-5", long, Decimal(1)) == Decimal("-0.005")


def test_more_cached_than_sent_tokens_never_make_a_price_negative():
    usage = Usage(input_tokens=10, cache_read_tokens=50, calls=1)
    assert ModelPrice(input=1_000_000, output=0, cache_read=0).cost(usage) == 0


@pytest.mark.parametrize("value", [-1, "x", float("nan"), float("inf"), True, "-0.1"], ids=repr)
def test_a_price_is_a_finite_number_of_at_least_0(value):
    with pytest.raises(ConfigurationError, match="price 'input'"):
        ModelPrice(input=value, output=1)


@pytest.mark.parametrize(
    "stated",
    [
        {"acme": {"input": 1, "output": 1}},
        {":m": {"input": 1, "output": 1}},
        {"a:": {"input": 1, "output": 1}},
        {3: {}},
    ],
    ids=repr,
)
def test_prices_are_stated_by_provider_and_model(stated):
    with pytest.raises(ConfigurationError, match="provider:model"):
        bare(stated)


@pytest.mark.parametrize("price", [3, {"input": 1}, {"input": 1, "output": 1, "sum": 2}], ids=repr)
def test_a_stated_price_has_the_fields_of_a_price(price):
    with pytest.raises(ConfigurationError, match="'a:b'"):
        bare({"a:b": price})


def test_the_price_of_the_model_precedes_that_of_the_provider_and_the_packaged_table():
    table = PriceTable({"openai:gpt-5.2": {"input": 1, "output": 0}, "openai:*": {"input": 2, "output": 0}})
    assert table.cost("openai", "gpt-5.2", ONE) == Decimal("0.001")
    assert table.cost("openai", "gpt-4", ONE) == Decimal("0.002")
    assert table.cost("anthropic", "claude-sonnet-4-5", ONE) == Decimal("0.0045")


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        ("openai", "gpt-5.2", "0.00315"),
        ("openai-chat", "gpt-5.2", "0.00315"),
        ("perplexity", "sonar-pro", "0.0185"),
        ("local", "whatever", "0"),
        ("openai", "no-such-model", None),
        ("openai", "", None),
        ("acme", "gpt-5.2", None),
        ("scripted", "gpt-5.2", None),
        ("compatible", "gpt-5.2", None),
    ],
)
def test_packaged_prices_are_used(provider, model, cost):
    assert PriceTable().cost(provider, model, ONE) == (None if cost is None else Decimal(cost))


def test_a_server_on_this_machine_has_no_prices_of_a_vendor():
    table = PriceTable({"openai:mine": {"input": 1, "output": 0}})
    for endpoint in ("http://127.0.0.1:8080/v1", "http://localhost:1/v1", "http://[::1]:9/v1"):
        assert table.cost("openai", "gpt-5.2", ONE, endpoint=endpoint) is None
        assert table.cost("compatible", "gpt-5.2", ONE, endpoint=endpoint) is None
        assert table.cost("openai", "mine", ONE, endpoint=endpoint) == Decimal("0.001")
    assert table.cost("openai", "gpt-5.2", ONE, endpoint="https://api.openai.com/v1") == Decimal("0.00315")
    assert table.cost("compatible", "gpt-5.2", ONE, endpoint="https://api.openai.com/v1") == Decimal("0.00315")
    assert table.cost("compatible", "gpt-5.2", ONE, endpoint="https://example.org/v1") is None


def test_counts_that_contradict_each_other_have_no_packaged_price():
    assert PriceTable().cost("openai", "gpt-5.2", Usage(input_tokens=1, cache_read_tokens=5, calls=1)) is None


def test_the_table_says_where_its_prices_come_from():
    assert bare().source == "none"
    assert bare({"a:b": {"input": 1, "output": 1}}).source == "stated"
    assert PriceTable({"a:b": {"input": 1, "output": 1}}).source.startswith("stated, genai-prices ")


def test_without_the_extra_only_stated_prices_are_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    table = PriceTable({"a:b": {"input": 1, "output": 1}})
    assert table.cost("openai", "gpt-5.2", ONE) is None
    assert table.cost("a", "b", ONE) is not None


@pytest.mark.slow
def test_pricing_opens_no_socket():
    program = """
import sys
def refuse(event, _):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.sendto")):
        raise SystemExit(event)
sys.addaudithook(refuse)
from roundtable.gateway import PriceTable
from roundtable.types import Usage
print(PriceTable().cost("openai", "gpt-5.2", Usage(input_tokens=1000, output_tokens=100, calls=1)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "0.00315"), ran.stderr


COUNTS = st.integers(0, 2_000_000)
PRICES = st.decimals(0, 500, places=4)
MAYBE = st.none() | PRICES
MODEL_PRICES = st.builds(ModelPrice, input=PRICES, output=PRICES, cache_write=MAYBE, long_cache_write=MAYBE)


@given(COUNTS, COUNTS, MODEL_PRICES, st.data())
def test_no_call_costs_more_than_its_worst_case(sent, got, price, data):
    table = bare({"a:b": price})
    read = data.draw(st.integers(0, sent))
    write = data.draw(st.integers(0, sent - read))
    thought = data.draw(st.integers(0, got))
    usage = Usage(
        input_tokens=sent,
        output_tokens=got,
        cache_read_tokens=read,
        cache_write_tokens=write,
        long_cache_write_tokens=data.draw(st.integers(0, write)),
        reasoning_tokens=thought,
        calls=1,
    )
    cost = table.cost("a", "b", usage)
    assert cost is not None
    assert 0 <= cost <= table.worst("a", "b", sent, got)


@given(st.lists(st.integers(0, 10**9), max_size=20), st.randoms(use_true_random=False))
def test_sums_of_costs_are_exact_in_any_order(picos, random):
    parts = [Usage(calls=1, cost_usd=float(Decimal(pico) / 10**9)) for pico in picos]
    random.shuffle(parts)
    total = sum(parts, Usage())
    assert Decimal(repr(total.known_cost_usd)) == Decimal(sum(picos)) / 10**9


@example([None, 0, None], 0)
@given(st.lists(st.none() | st.integers(0, 10**6), max_size=8), st.integers(0, 8))
def test_a_sum_with_an_unknown_part_is_unknown_and_states_the_known_part(costs, cut):
    parts = [Usage(calls=1, cost_usd=None if cost is None else cost / 10**6) for cost in costs]
    known = [cost for cost in costs if cost is not None]
    total = sum(parts[:cut], Usage()) + sum(parts[cut:], Usage())
    if len(known) < len(costs):
        assert total.cost_usd is None
        assert total.partial_cost_usd == (float(Decimal(sum(known)) / 10**6) if known else None)
    else:
        assert total.partial_cost_usd is None
        assert total.cost_usd == (float(Decimal(sum(known)) / 10**6) if known else None)


def test_an_unknown_price_has_no_worst_case():
    assert bare().worst("a", "b", 1, 1) is None
    assert to_usd(None) is None


async def test_a_metered_model_adds_missing_prices_and_keeps_existing_ones():
    prices = bare({"scripted:scripted": {"input": 0, "output": 10}, "scripted:dated-1": {"input": 0, "output": 20}})
    mine = ChatResponse(text="x", usage=Usage(output_tokens=100, cost_usd=0.5, calls=1))
    plain = ChatResponse(text="x", usage=Usage(output_tokens=100), model="dated-1")
    model = MeteredModel(ScriptedModel([mine, plain, plain, plain, plain], chunks=1), prices)
    assert (await model.complete(ASK)).usage.cost_usd == 0.5
    assert (await model.complete(ASK)).usage.cost_usd == 0.001
    # A name that has no price, answered by a model that has.
    assert (await model.complete(ChatRequest(model="alias", messages=()))).usage.cost_usd == 0.002
    pieces = [piece async for piece in model.stream(ASK)]
    assert (pieces[0].text, pieces[-1].usage.cost_usd) == ("x", 0.001)
    assert (await MeteredModel(ScriptedModel([plain]), bare()).complete(ASK)).usage.cost_usd is None


async def test_a_result_that_is_not_a_response_reaches_the_gateway():
    from roundtable.errors import AgentError

    class Odd(ScriptedModel):
        async def complete(self, request):
            return "text"

    with pytest.raises(AgentError, match="returned str"):
        await Gateway().guard(MeteredModel(Odd([]), bare())).complete(ASK)


async def test_the_packaged_table_is_read_early_and_only_if_it_may_contain_the_model():
    class Here(ScriptedModel):
        endpoint = "http://127.0.0.1:8080/v1"

    for model, read in (
        (ScriptedModel(lambda _: "x", provider="openai", model="gpt-5.2"), True),
        (ScriptedModel(lambda _: "x", provider="acme"), True),
        (ScriptedModel(lambda _: "x", provider="local"), False),
        (ScriptedModel(lambda _: "x"), False),
        (Here(lambda _: "x", provider="openai"), False),
        (ScriptedModel(lambda _: "x", provider="compatible"), False),
    ):
        prepared, called = PriceTable(), PriceTable()
        await MeteredModel(model, prepared).prepare()
        await MeteredModel(model, called).complete(ASK)
        assert (prepared.can_skip_load("openai"), called.can_skip_load("openai")) == (read, read)


@pytest.mark.parametrize("wrong", ["x", 1.5, -1, 0, [], float("nan")])
def test_prices_that_are_not_a_mapping_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="prices must be a mapping"):
        PriceTable(wrong)


@pytest.mark.parametrize(
    ("provider", "model", "searches", "usd"),
    [
        ("anthropic", "claude-sonnet-4-5", 3, "0.03"),
        ("openai", "gpt-5.2", 2, "0.02"),
        ("google", "gemini-3-flash-preview", 2, "0.028"),
        ("google", "gemini-2.5-pro", 2, "0.035"),  # an answer, however many searches it took
        ("google", "gemini-10-pro", 1, "0.014"),
        ("perplexity", "sonar-pro", 1, "0"),  # part of the price of the call
        ("acme", "large", 0, "0"),
        ("acme", "large", 1, None),
    ],
)
def test_searches_have_their_list_price(provider, model, searches, usd):
    found = known_provider(provider).search_cost(model, Usage(searches=searches, calls=1))
    assert found == (None if usd is None else Decimal(usd))


def test_searches_are_part_of_the_price_of_a_call():
    usage = ONE.model_copy(update={"searches": 2})
    table = bare({"anthropic:*": {"input": 1, "output": 10}, "openai:*": {"input": 1, "output": 10, "per_search": 0}})
    assert table.cost("anthropic", "x", usage) == Decimal("0.002") + Decimal("0.02")
    assert table.cost("openai", "x", usage) == Decimal("0.002")
    assert table.worst("anthropic", "x", 1000, 100, searches=5) == Decimal("0.002") + Decimal("0.05")
    # Whoever states a price for a provider whose searches have no list price has said all there is to pay.
    assert bare({"acme:*": {"input": 1, "output": 10}}).cost("acme", "x", usage) == Decimal("0.002")


def test_the_price_of_a_search_is_added_to_that_of_the_packaged_table():
    pytest.importorskip("genai_prices")
    table = PriceTable()
    with_it, without = (
        table.cost("anthropic", "claude-sonnet-4-5", ONE.model_copy(update={"searches": n})) for n in (1, 0)
    )
    assert with_it - without == Decimal("0.01")
