"""An analyzer of a plugin gets what a built-in one gets: models, options, fallbacks, and a place in the estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from integration.engine_kit import CountingModel, said, table_of

import roundtable as rt
from roundtable.analysis import (
    AIConsensusAnalyzer,
    AnalyzerChain,
    AnalyzerSetup,
    ConsensusAnalyzer,
    DebateAnalyzerFactory,
    NamedMeter,
    StanceAnalyzer,
)
from roundtable.errors import ConfigurationError, PluginError
from roundtable.protocols import ChatModel, ConsensusMeter
from roundtable.providers.scripted import ScriptedModel
from roundtable.tools import ModelCall
from roundtable.types import AgentResponse, ChatRequest, Estimate, Measured, Message

READING = {
    "agreementLevel": 0.5,
    "clusters": [{"theme": "Tea", "agentIds": ["ada", "bo"]}, {"theme": "Milk", "agentIds": ["cy"]}],
    "summary": "They part.",
}
PRICES = {"scripted:*": {"input": 1, "output": 10}}


class Analyzers:
    """A plugin with analyzers."""

    def __init__(self, **factories: Callable[[ChatModel | None], ConsensusMeter]) -> None:
        self._factories = factories

    @rt.hookimpl
    def roundtable_register_analyzers(self, registrar: Any) -> None:
        for name, factory in self._factories.items():
            registrar.add(name, factory)


def own_auto(setup: AnalyzerSetup) -> ConsensusMeter:
    """Do what the built-in `auto` does, with public names alone."""
    if setup.options is not None:
        return AnalyzerChain([NamedMeter("stance", StanceAnalyzer(options_only=True))])
    models, why_none = setup.readers()
    return AnalyzerChain([NamedMeter("ai", AIConsensusAnalyzer(models, why_none=why_none))], asks_if_settled=False)


class Titles:
    """Asks a model for a title of each round, and counts equal texts."""

    def __init__(self, model: ChatModel | None, *, states: bool = True) -> None:
        self._model = model
        if states:
            self.asks = self._calls

    def _calls(self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None) -> list[ModelCall]:
        if self._model is None:
            return []
        text = "\n".join([topic, *(response.reasoning for response in responses)])
        request = ChatRequest(
            messages=(Message(role="user", content=text),), max_tokens=50, metadata={"agent": "titles", "round": "1"}
        )
        return [ModelCall(self._model, request)]

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        (call,) = self._calls(responses, topic, session_id=session_id)
        usage = (await call.model.complete(call.request)).usage
        return Measured(consensus=ConsensusAnalyzer().analyze(responses), usage=usage)


def answers(request: Any) -> Any:
    who = request.metadata["agent"]
    return said({"ada": "Tea", "bo": "A pot of tea", "cy": "Milk"}[who], choice="Milk" if who == "cy" else "Tea")


@pytest.mark.parametrize("options", [None, ["Tea", "Milk"]], ids=["open", "options"])
@pytest.mark.parametrize("readers", [0, 1, 2])
async def test_an_analyzer_of_a_plugin_measures_and_costs_the_same_as_the_built_in_one(
    readers: int, options: list[str] | None
) -> None:
    results: list[rt.DebateResult] = []
    estimates: list[Estimate] = []
    for name, plugins in (("auto", []), ("mine", [Analyzers(mine=DebateAnalyzerFactory(own_auto))])):
        models = [ScriptedModel({"analyzer": [READING] * 2}, model=f"reader-{number}") for number in range(readers)]
        seats = {"analyzer": models} if models else {}
        async with table_of(
            CountingModel(answers), analyzer=name, plugins=plugins, seats=seats, prices=PRICES
        ) as table:
            estimates.append(table.estimate("Tea?", rounds=2, options=options))
            result = await table.debate("Tea?", rounds=2, options=options)
        assert result.usage.calls <= estimates[-1].calls
        results.append(result)
    assert estimates[0] == estimates[1]
    assert [note for note in estimates[0].notes if "analyzer" in note] or not readers or options
    assert results[0].consensus == results[1].consensus
    assert results[0].usage.calls == results[1].usage.calls == 6 + 2 * readers * (options is None)


async def test_the_calls_that_a_meter_states_are_in_the_estimate() -> None:
    reader = ScriptedModel({"*": ["A title"] * 2}, model="reader")
    table = table_of(
        CountingModel(answers),
        analyzer="titles",
        plugins=[Analyzers(titles=Titles)],
        seats={"analyzer": reader},
        prices=PRICES,
    )
    worst, bare = table.estimate("Tea?", rounds=2), table_of(CountingModel(answers), prices=PRICES, analyzer="basic")
    without = bare.estimate("Tea?", rounds=2)
    (entry,) = [entry for entry in worst.by_agent if entry.agent_id == "analyzer"]
    assert (entry.calls, entry.planned_calls, entry.output_tokens) == (2, 2, 100)
    assert worst.calls == without.calls + 2
    assert worst.cost_usd is not None
    assert without.cost_usd is not None
    assert entry.cost_usd is not None
    assert worst.cost_usd == pytest.approx(without.cost_usd + entry.cost_usd)
    result = await table.debate("Tea?", rounds=2)
    assert (result.usage.calls, len(reader.requests)) == (6 + 2, 2)


def test_a_model_that_the_table_does_not_meter_makes_the_cost_unknown() -> None:
    own = Titles(ScriptedModel([]))
    worst = table_of(CountingModel(answers), analyzer=own, prices=PRICES).estimate("Tea?", rounds=1)
    without = table_of(CountingModel(answers), analyzer="basic", prices=PRICES).estimate("Tea?", rounds=1)
    assert worst.calls == without.calls + 1
    assert worst.output_tokens == without.output_tokens + 50
    assert (worst.cost_usd, without.cost_usd is None) == (None, False)


def test_a_meter_without_the_method_counts_as_a_meter_without_calls() -> None:
    plugin = Analyzers(titles=lambda model: Titles(model, states=False))
    seats = {"analyzer": ScriptedModel([])}
    worst = table_of(CountingModel(answers), analyzer="titles", plugins=[plugin], seats=seats).estimate("Tea?")
    assert worst == table_of(CountingModel(answers), analyzer="basic").estimate("Tea?")


def test_an_analyzer_that_cannot_state_its_calls_is_named() -> None:
    class Broken(ConsensusAnalyzer):
        def asks(self, *_: object, **__: object) -> Any:
            raise ValueError("no such luck")

    table = table_of(CountingModel(answers), analyzer="broken", plugins=[Analyzers(broken=lambda _: Broken())])
    said = "the analyzer 'broken' of Analyzers failed: ValueError: no such luck"
    with pytest.raises(PluginError, match=said) as caught:
        table.estimate("Tea?")
    assert (caught.value.plugin, caught.value.stage) == ("Analyzers", "use")


async def test_an_analyzer_that_needs_no_model_creates_none() -> None:
    made: list[AnalyzerSetup] = []

    def make(setup: AnalyzerSetup) -> ConsensusMeter:
        made.append(setup)
        return ConsensusAnalyzer()

    plugin = Analyzers(plain=DebateAnalyzerFactory(make))
    table = table_of(CountingModel(answers), analyzer="plain", plugins=[plugin], seats={"analyzer": "nobody:x"})
    result = await table.debate("Tea?", rounds=1)
    assert result.status == "completed"
    with pytest.raises(ConfigurationError, match="nobody"):
        made[0].readers()


def test_the_name_of_a_built_in_analyzer_is_taken() -> None:
    with pytest.raises(ConfigurationError, match="two plugins register the analyzer 'ai'"):
        table_of(CountingModel(answers), plugins=[Analyzers(ai=lambda _: ConsensusAnalyzer())]).estimate("Tea?")


def test_a_misspelt_analyzer_is_refused_with_all_names() -> None:
    table = table_of(CountingModel(answers), analyzer="titels", plugins=[Analyzers(titles=Titles)])
    with pytest.raises(ConfigurationError, match=r"unknown analyzer 'titels'\. Did you mean 'titles'\?") as caught:
        table.estimate("Tea?")
    assert caught.value.hint == "Choose from auto, ai, declared, semantic, stance, basic, titles."
