"""What a debate cost, by call, turn, agent, round and in all."""

from __future__ import annotations

from decimal import Decimal

from integration.engine_kit import said, table_of

from roundtable import Roundtable
from roundtable.errors import APITimeoutError
from roundtable.providers import ScriptedModel
from roundtable.types import ChatResponse, Usage

PRICES = {"scripted:scripted": {"input": "0.7", "output": "1.3", "per_call": "0.0001"}}


def total(usages):
    return sum(usages, Usage())


async def test_the_sums_agree_at_every_level():
    # One answer that cannot be read makes a turn of two calls.
    model = ScriptedModel({"ada": ["?", *[said("Tea")] * 2], "bo": said("Tea"), "cy": said("Milk")})
    result = await table_of(model, prices=PRICES).debate("Tea or coffee?", rounds=2)
    turns = [turn for held in result.rounds for turn in held.turns]
    assert len(turns[0].result.usage_by_call) == 2
    for turn in turns:
        assert total(turn.result.usage_by_call) == turn.result.usage
        by_hand = sum(
            (Decimal(call.input_tokens) * 7 + Decimal(call.output_tokens) * 13) / 10_000_000 + Decimal("0.0001")
            for call in turn.result.usage_by_call
        )
        assert turn.result.usage.cost_usd == float(by_hand)
    for held in result.rounds:
        assert held.usage == total(turn.result.usage for turn in held.turns)
    for entry in result.roster.agents:
        assert entry.usage == total(turn.result.usage for turn in turns if turn.agent_id == entry.agent_id)
    assert result.usage == total(held.usage for held in result.rounds)
    assert result.usage == total(entry.usage for entry in result.roster.agents)
    assert result.usage.calls == 7
    assert sum(row["costUsd"] for row in result.to_records()) > 0
    assert f"cost {result.usage.cost_usd:.4f} USD" in result.to_text()


async def test_one_model_without_a_price_makes_the_sum_unknown_and_the_rest_stays_known():
    priced = ScriptedModel({"*": said("Tea")}, model="priced")
    free = ScriptedModel({"*": said("Tea")}, model="unpriced")
    table = Roundtable([priced, free], storage="memory://", prices={"scripted:priced": {"input": 1, "output": 1}})
    result = await table.debate("Tea or coffee?", rounds=1)
    known, unknown = (entry.usage for entry in result.roster.agents)
    assert known.cost_usd > 0
    assert unknown.cost_usd is None
    assert result.usage.cost_usd is None
    assert result.usage.partial_cost_usd == known.cost_usd
    assert "USD of it known" in result.to_text()


async def test_a_model_seated_at_two_tables_is_priced_by_each():
    model = ScriptedModel({"*": said("Tea")})
    first = table_of(model, "ada", prices={"scripted:scripted": {"input": 1, "output": 1}})
    agent = first._wiring.seats(None)[0].agent
    second = Roundtable([agent], storage="memory://", prices={"scripted:scripted": {"input": 2, "output": 2}})
    once = await first.debate("Tea or coffee?", rounds=1)
    twice = await second.debate("Tea or coffee?", rounds=1)
    assert twice.usage.cost_usd == 2 * once.usage.cost_usd
    assert first._wiring.models.guard(agent.chat_model) is agent.chat_model


async def test_the_usage_of_a_failed_turn_is_charged_to_agent_and_round():
    late = APITimeoutError(retryable=False)
    paid = ChatResponse(text="?", usage=Usage(input_tokens=10, calls=1))
    model = ScriptedModel({"ada": [paid, late], "bo": said("Tea")})
    result = await table_of(model, "ada", "bo", prices=PRICES).debate("Tea or coffee?", rounds=1)
    assert result.roster.agents[0].usage.input_tokens == 10
    assert result.rounds[0].usage == result.usage
