"""Debates in which one model steps in for another."""

from __future__ import annotations

from integration.engine_kit import said

from roundtable import AgentConfig, BaseAgent, Roundtable
from roundtable.errors import APIAuthError, APINetworkError
from roundtable.gateway import FallbackModel
from roundtable.providers import ScriptedModel
from roundtable.types import Usage


def dead(**more):
    return ScriptedModel(lambda _: APIAuthError("no such key"), provider="acme", model="big", **more)


async def test_the_turn_says_who_answered_and_who_did_not():
    spare = ScriptedModel({"*": said("Tea")}, provider="spare", model="small")
    table = Roundtable([FallbackModel(dead(), spare)], storage="memory://")
    result = await table.debate("Tea or coffee?", rounds=1)
    turn = result.rounds[0].turns[0]
    assert (turn.result.provider, turn.result.model) == ("spare", "small")
    assert turn.result.warnings == ("acme:big did not answer: no such key",)
    assert result.agents[0].provider == "acme"
    assert result.roster.complete


async def test_each_model_of_a_chain_is_guarded_separately():
    spare = ScriptedModel({"*": said("Tea")}, provider="spare", model="small")
    config = AgentConfig(id="ada", name="Ada", provider="acme", model="big")
    table = Roundtable([BaseAgent(config, FallbackModel(dead(), spare))], storage="memory://")
    seat = table._wiring.seats(None)[0]
    assert [type(model).__name__ for model in seat.agent.chat_model.models] == ["GuardedModel", "GuardedModel"]
    assert (await table.debate("Tea or coffee?", rounds=2)).status == "completed"
    assert spare.calls == 2


async def test_a_chain_that_fails_is_a_failed_turn_with_every_cause():
    other = ScriptedModel({"*": said("Tea")}, model="other")
    gone = ScriptedModel(lambda _: APINetworkError("gone", retry_after_s=0.001), model="gone")
    table = Roundtable([other, FallbackModel(dead(), gone)], storage="memory://")
    result = await table.debate("Tea or coffee?", rounds=1)
    error = result.rounds[0].turns[1].error
    assert error.message.startswith("none of 2 models answered; acme:big: no such key; scripted:gone: gone")
    assert result.status == "completed"


async def test_pieces_of_the_answer_are_streamed_as_they_come():
    spare = ScriptedModel({"*": said("Tea")}, chunks=3, provider="spare")
    table = Roundtable([FallbackModel(dead(chunks=1), spare)], storage="memory://")
    async with table, table.stream("Tea or coffee?", rounds=1) as events:
        told = [event async for event in events if event.type == "agent_response_chunk"]
    assert len(told) == 3


class Loads(ScriptedModel):
    """A model that has to fetch something first."""

    loaded = 0

    async def prepare(self):
        self.loaded += 1


async def test_models_of_a_chain_load_what_they_need_before_the_first_call():
    lazy = Loads({"*": said("Tea")}, model="lazy")
    await Roundtable([FallbackModel(dead(), lazy)], storage="memory://").debate("Tea or coffee?", rounds=1)
    assert lazy.loaded == 1


async def test_the_usage_of_failed_models_is_charged_to_the_turn():
    lost = APINetworkError("broke off", retryable=False)
    lost.usage = Usage(calls=1, input_tokens=5)
    first = ScriptedModel([lost, lost], model="first")
    spare = ScriptedModel([said("Tea"), APIAuthError("no")], model="spare")
    other = ScriptedModel({"*": said("Tea")}, model="other")
    table = Roundtable([FallbackModel(first, spare), other], storage="memory://")
    result = await table.debate("Tea or coffee?", rounds=2)
    answered, failed = (held.turns[0] for held in result.rounds)
    assert answered.result.usage.calls == 2
    assert (failed.outcome, failed.usage) == ("failed", lost.usage)
