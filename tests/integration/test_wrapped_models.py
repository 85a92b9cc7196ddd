"""A third party's model that wraps others is treated as a fallback model is: health, estimates, prices, retries."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest
from integration.engine_kit import said

from roundtable import Budget, Roundtable
from roundtable.errors import APIAuthError, APINetworkError, ConfigurationError
from roundtable.gateway import FallbackModel
from roundtable.protocols import ChatModel, HasFacts, WrapsModels
from roundtable.providers import ScriptedModel
from roundtable.types import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ModelFacts,
    ModelProfile,
    Usage,
)

pytestmark = pytest.mark.anyio

PRICES = {
    "acme:big": {"input": 10, "output": 100},
    "spare:small": {"input": 1, "output": 2},
    "scripted:scripted": {"input": 1, "output": 1},
}


class Log:
    """A wrapper that writes down how many calls it passes on; it calls the first model alone."""

    def __init__(self, *models: ChatModel) -> None:
        self.models = models
        self.provider, self.model, self.profile = models[0].provider, models[0].model, models[0].profile
        self.passed: list[str] = []

    @property
    def inner_models(self) -> tuple[ChatModel, ...]:
        return self.models

    def with_inner_models(self, models: Sequence[ChatModel], /) -> ChatModel:
        other = copy.copy(self)  # with the same list of calls
        other.models = tuple(models)
        return other

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.passed.append(request.metadata.get("agent", ""))
        return await self.models[0].complete(request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        self.passed.append(request.metadata.get("agent", ""))
        pieces: Any = self.models[0].stream(request)
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        for model in self.models:
            await model.aclose()


def answering(reply: Any = None, **more: Any) -> ScriptedModel:
    return ScriptedModel({"*": said("Tea")} if reply is None else reply, **more)


def big(reply: Any = None, **more: Any) -> ScriptedModel:
    return answering(reply, provider="acme", model="big", **more)


def small() -> ScriptedModel:
    return answering(provider="spare", model="small")


def table_of(*models: ChatModel, **options: Any) -> Roundtable:
    return Roundtable(list(models), storage="memory://", prices=PRICES, analyzer="basic", **options)


def test_a_wrapper_is_recognized_by_its_methods_alone() -> None:
    assert isinstance(Log(big()), WrapsModels)
    assert isinstance(FallbackModel(big()), WrapsModels)
    assert isinstance(FallbackModel(big()), HasFacts)
    assert not isinstance(big(), WrapsModels)


async def test_an_estimate_counts_each_inner_model_with_its_price_and_its_number_of_tries() -> None:
    ours = table_of(FallbackModel(big(), small())).estimate("Tea?", rounds=1)
    theirs = table_of(Log(big(), small())).estimate("Tea?", rounds=1)
    alone = table_of(big()).estimate("Tea?", rounds=1)
    assert theirs == ours
    assert theirs.calls == 2 * alone.calls
    assert theirs.tries > theirs.calls
    assert theirs.cost_usd is not None
    assert alone.cost_usd is not None
    assert theirs.cost_usd > alone.cost_usd


async def test_calls_are_priced_as_those_of_the_inner_model() -> None:
    log = Log(big())
    result = await table_of(log).debate("Tea?", rounds=2)
    alone = await table_of(big()).debate("Tea?", rounds=2)
    assert result.usage.cost_usd == alone.usage.cost_usd
    assert result.usage.cost_usd
    assert log.passed == ["acme-big"] * 2


async def test_a_model_of_another_table_inside_a_wrapper_is_charged_to_this_table_once() -> None:
    limit = Budget(max_cost_usd=1)
    other, table = table_of(small(), budget=limit), table_of(small(), budget=limit)
    lent = other._wiring.models.guard(big())
    result = await table.debate("Tea?", rounds=1, agents=[Log(lent)])
    alone = await table_of(big()).debate("Tea?", rounds=1)
    assert result.usage.cost_usd == alone.usage.cost_usd
    spent, spent_elsewhere = (each._wiring.models.ledger.table.spent for each in (table, other))
    assert (float(spent.cost_usd or 0), spent.calls) == (pytest.approx(alone.usage.cost_usd), 1)
    assert spent_elsewhere.calls == 0


async def test_a_budget_in_dollars_needs_the_price_of_every_inner_model() -> None:
    table = table_of(Log(big(), ScriptedModel(["x"], provider="nobody", model="knows")))
    with pytest.raises(ConfigurationError, match="no price is known for nobody:knows"):
        await table.debate("Tea?", rounds=1, budget=Budget(max_cost_usd=1))


@pytest.mark.parametrize("wrap", [FallbackModel, Log])
async def test_a_health_check_makes_one_try(wrap: Any) -> None:
    failing = big(lambda _: APINetworkError("gone", retry_after_s=0.001))
    table = table_of(wrap(failing))
    (seat,) = table._wiring.seats(None)
    assert seat.agent is not None
    health = await seat.agent.health_check()
    assert (health.healthy, failing.calls) == (False, 1)
    assert health.error is not None
    assert "gone" in health.error


@pytest.mark.parametrize("wrap", [FallbackModel, Log])
async def test_a_refused_key_of_the_inner_model_is_a_problem_of_the_agent(wrap: Any) -> None:
    class Refused(ScriptedModel):
        facts = ModelFacts(endpoint="https://api.acme.example", account="hash")

    refused = Refused({"*": APIAuthError("no such key")}, provider="acme", model="big")
    table = table_of(wrap(refused), small())
    assert [offer.trouble for offer in table.agent_offers()] == [None, None]
    await table.debate("Tea?", rounds=1)
    first, second = (offer.trouble for offer in table.agent_offers())
    assert "refused" in (first or "")
    assert second is None


@pytest.mark.parametrize("wrap", [FallbackModel, Log])
async def test_retries_of_the_inner_model_are_events_of_the_debate(wrap: Any) -> None:
    slow = big([APINetworkError("gone", retry_after_s=0.001), said("Tea")], chunks=2)
    async with table_of(wrap(slow)) as table, table.stream("Tea?", rounds=1) as events:
        told = [event async for event in events]
    assert [event.attempt for event in told if event.type == "retry"] == [2]
    assert sum(event.type == "agent_response_chunk" for event in told) == 2


async def test_a_wrapper_in_a_fallback_and_a_fallback_in_a_wrapper_announce_their_calls() -> None:
    for nest in (lambda model: FallbackModel(Log(model), small()), lambda model: Log(FallbackModel(model))):
        slow = big([APINetworkError("gone", retry_after_s=0.001), said("Tea")])
        async with table_of(nest(slow)) as table, table.stream("Tea?", rounds=1) as events:
            assert [event.attempt async for event in events if event.type == "retry"] == [2]


class Loads(ScriptedModel):
    """A model that has to fetch something first."""

    loaded = 0

    async def prepare(self) -> None:
        self.loaded += 1


async def test_inner_models_are_prepared() -> None:
    first, second = Loads({"*": said("Tea")}), Loads({"*": said("Tea")}, model="second")
    await table_of(Log(first, second)).debate("Tea?", rounds=1)
    assert (first.loaded, second.loaded) == (1, 1)


async def test_a_wrapper_that_returns_no_model_is_refused() -> None:
    class Broken(Log):
        def with_inner_models(self, models: Sequence[ChatModel], /) -> ChatModel:
            return None  # type: ignore[return-value]

    with pytest.raises(ConfigurationError, match="with_inner_models of Broken returned None"):
        await table_of(Broken(big())).debate("Tea?", rounds=1)


async def test_a_fault_of_a_wrapper_is_a_failed_turn() -> None:
    class Faulty(Log):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            raise KeyError("cache")

    result = await table_of(Faulty(big()), small()).debate("Tea?", rounds=1)
    error = result.rounds[0].turns[0].error  # type: ignore[union-attr]
    assert "KeyError" in error.message


class Batched:
    """A model that declares its facts."""

    provider, model, profile = "acme", "big", ModelProfile()

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(
            text='{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9}',
            model="big",
            usage=Usage(calls=1, input_tokens=1_000_000),
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        yield await self.complete(request)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("wrap", [lambda model: model, Log, FallbackModel])
async def test_declared_facts_count_inside_every_wrapper(wrap: Any) -> None:
    model = Batched(ModelFacts(kind="spare", price_share=Decimal("0.5"), patience_s=7, calls_at_once=2))
    table = Roundtable(
        [wrap(model)], storage="memory://", prices={"spare:big": {"input": 10, "output": 10}}, analyzer="basic"
    )
    result = await table.debate("Tea?", rounds=1)
    assert result.usage.cost_usd == pytest.approx(5)
    (seat,) = table._wiring.seats(None)
    guarded: Any = getattr(seat.agent, "chat_model")  # noqa: B009  (an agent need not have it)
    inner = guarded.inner_models[0] if isinstance(guarded, Log | FallbackModel) else guarded
    assert (inner.guard.timeout_s, inner.endpoint_state.calls_at_once) == (7, 2)
