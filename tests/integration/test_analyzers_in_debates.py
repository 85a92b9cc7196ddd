"""Which analyzer measures a debate, what it costs, and that it is paid for once."""

from __future__ import annotations

from typing import Any

import pytest
from integration.engine_kit import CountingModel, said, seated, table_of

import roundtable as rt
from roundtable.agents import AgentRegistry
from roundtable.analysis import AIConsensusAnalyzer, ConsensusAnalyzer
from roundtable.engine import DebateEngine, SessionManager
from roundtable.errors import APINetworkError, ConfigurationError
from roundtable.modes import ModeRegistry
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import AgentConfig, AIConsensusResult, DebateConfig, Measured, ProviderConfig

READING = {
    "agreementLevel": 0.0,
    "clusters": [{"theme": "Tea", "agentIds": ["ada", "bo"]}, {"theme": "Milk", "agentIds": ["cy"]}],
    "summary": "They part.",
}


def positions(request: Any) -> str:
    return {"ada": "Tea", "bo": "A pot of tea", "cy": "Milk"}[request.metadata["agent"]]


async def test_a_model_reads_each_round_once_and_its_clusters_decide() -> None:
    reader, storage = ScriptedModel({"analyzer": [READING, READING]}), MemoryStorage()
    async with reader:
        table = table_of(CountingModel(positions), storage=storage, seats={"analyzer": reader})
        result = await table.debate("Tea?", rounds=2)
        assert isinstance(result.consensus, AIConsensusResult)
        assert (result.consensus.agreement_level, result.consensus.method, result.answer) == (0.0, "ai", "Tea")
        engine = table._wiring.engine
        assert await engine.get_consensus(result.session_id) == await engine.get_consensus(result.session_id)
        assert (await table.session(result.session_id)) == result
    assert result.usage.calls == 6 + 2
    assert result.rounds[0].usage.calls == 4
    assert {request.metadata["session"] for request in reader.requests} == {result.session_id}
    assert "analyzer" not in {entry.agent_id for entry in result.roster.agents}


@pytest.mark.parametrize(("analyzer", "asked", "method"), [("auto", 0, "stance"), ("ai", 1, "ai")])
async def test_no_model_is_asked_to_analyze_choices_among_options(analyzer: str, asked: int, method: str) -> None:
    reader = ScriptedModel({"analyzer": [READING] * 3})

    def choices(request: Any) -> Any:
        return said(positions(request), choice="Milk" if request.metadata["agent"] == "cy" else "Tea")

    table = table_of(CountingModel(choices), seats={"analyzer": reader}, analyzer=analyzer)
    wanted: Any = {"options": ["Tea", "Milk"], "rounds": 1}
    worst = table.estimate("Tea?", **wanted)
    result = await table.debate("Tea?", **wanted)
    assert result.consensus is not None
    assert (len(reader.requests), result.consensus.method, result.answer) == (asked, method, "Tea")
    assert (result.usage.calls, worst.planned_calls) == (3 + asked, 3 + asked)
    assert result.consensus.causes == ()


@pytest.mark.parametrize(
    ("texts", "analyzer", "calls", "level"),
    [
        pytest.param(("Porto", "porto."), "auto", 2, 1.0, id="equal answers"),
        pytest.param(("42", "42.0"), "auto", 2, 1.0, id="equal numbers"),
        pytest.param(("42", "43"), "auto", 2, 0.0, id="unlike numbers"),
        pytest.param(("Yes.", "No."), "auto", 2, 0.0, id="yes against no"),
        pytest.param(("Porto", "ABSTAIN"), "auto", 2, 1.0, id="one answer alone"),
        pytest.param(("Porto", "The city of Porto"), "auto", 3, 0.5, id="answers in other words"),
        pytest.param(("Porto", "porto."), "ai", 3, 1.0, id="a model asked for by name"),
    ],
)
async def test_a_model_is_asked_only_if_something_is_left_to_compare(
    texts: tuple[str, str], analyzer: str, calls: int, level: float
) -> None:
    reading = {"agreementLevel": 0.5, "clusters": [{"theme": "Porto", "agentIds": ["ada", "bo"]}], "summary": "So so."}
    reader, says = ScriptedModel({"analyzer": [reading]}), dict(zip(("ada", "bo"), texts, strict=True))
    model = CountingModel(lambda request: says[request.metadata["agent"]])
    table = rt.Roundtable(
        seated(model, "ada", "bo"), storage="memory://", seats={"analyzer": reader}, analyzer=analyzer
    )
    worst = table.estimate("Where?", rounds=1)
    result = await table.debate("Where?", rounds=1)
    assert result.consensus is not None
    assert (result.usage.calls, len(model.begun), len(reader.requests)) == (calls, 2, calls - 2)
    assert result.consensus.agreement_level == level
    assert result.consensus.causes == ()
    assert result.consensus.groupthink_warning is not None
    assert result.response is not None
    assert all(summary.key_points for summary in result.response.agent_responses)
    assert (worst.planned_calls, worst.calls) == (3, 5)
    note = (
        "the figures include at most 1 call of the analyzer, made only for rounds in which equal answers, stances and "
        "numbers leave open whether all answers say the same"
    )
    assert (note in worst.notes) is (analyzer == "auto")


async def test_a_panel_of_analyzers_states_its_spread() -> None:
    readers = [ScriptedModel([{**READING, "agreementLevel": level}]) for level in (0.2, 0.8)]
    result = await table_of(CountingModel(positions), seats={"analyzer": readers}).debate("Tea?", rounds=1)
    assert isinstance(result.consensus, AIConsensusResult)
    assert (result.consensus.samples, result.consensus.spread) == (2, pytest.approx(0.6))


@pytest.mark.parametrize(
    ("analyzer", "method", "causes"),
    [
        ("auto", "declared", ("ai: no model can read the answers: scripted has no light model",)),
        ("ai", "declared", ("ai: no model can read the answers: scripted has no light model",)),
        ("declared", "declared", ()),
        ("semantic", "semantic", ()),
        ("stance", "declared", ("stance: no answer states an option or a stance",)),
        ("basic", "basic", ()),
    ],
)
async def test_the_requested_analyzer_measures_or_states_why_it_did_not(
    analyzer: str, method: str, causes: tuple[str, ...]
) -> None:
    result = await table_of(CountingModel(positions), analyzer=analyzer).debate("Tea?", rounds=1)
    assert result.consensus is not None
    assert (result.consensus.method, result.consensus.causes) == (method, causes)


async def test_a_failed_analyzer_loses_no_round() -> None:
    reader = ScriptedModel({"*": APINetworkError("down", retryable=False)})
    result = await table_of(CountingModel(positions), seats={"analyzer": reader}).debate("Tea?", rounds=1)
    assert result.consensus is not None
    assert (result.status, result.consensus.method, result.consensus.causes) == ("completed", "declared", ("ai: down",))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"analyzer": "clever"}, "unknown analyzer 'clever'"),
        ({"analyzer": 7}, "analyzer must be one of"),
        ({"seats": {"chair": "local"}}, "unknown seat 'chair'"),
        ({"seats": {"analyzer": "nobody:x"}}, "nobody"),
    ],
)
async def test_a_wrong_analyzer_is_refused_before_any_agent_is_asked(options: dict[str, Any], match: str) -> None:
    model = CountingModel("Tea")
    with pytest.raises(ConfigurationError, match=match):
        await table_of(model, **options).debate("Tea?", rounds=1)
    assert not model.begun


def test_the_light_model_of_the_first_provider_analyzes_the_rounds() -> None:
    keys = {"ANTHROPIC_API_KEY": "k" * 20, "OPENAI_API_KEY": "k" * 20}
    table = rt.Roundtable(storage="memory://", settings=Settings.from_env(keys))
    named = {"openai": "gpt-5-mini", "anthropic": "claude-haiku-4-5"}
    for provider, light in named.items():
        meter = table._wiring.meter([AgentConfig(id="a", name="A", provider=provider)], None, None)
        reader = meter.meters[0].meter.meters[0].meter
        assert isinstance(reader, AIConsensusAnalyzer)
        assert reader.get_diagnostics().models == (f"{provider}:{light}",)
    for provider, why in [
        ("local", "too small"),
        ("perplexity", "API key"),
        ("strange", "strange has no light model"),
    ]:
        meter = table._wiring.meter([AgentConfig(id="a", name="A", provider=provider)], None, None)
        assert why in (meter.meters[0].meter.meters[0].meter.get_diagnostics().reason or "")
    assert (
        table._wiring.meter([], None, None).meters[0].meter.meters[0].meter.get_diagnostics().reason
        == "there are no agents"
    )


def test_a_model_without_a_price_analyzes_nothing_under_a_budget_in_dollars() -> None:
    table = rt.Roundtable(
        storage="memory://",
        seats={"analyzer": "compatible:m"},
        providers={"compatible": ProviderConfig(base_url="http://127.0.0.1:9/v1")},
        settings=Settings(),
    )
    capped = table._wiring.meter([], rt.Budget(max_cost_usd=1), None).meters[0].meter.meters[0].meter
    assert "no price is known for compatible:m" in (capped.get_diagnostics().reason or "")
    assert (
        table._wiring.meter([], rt.Budget(max_calls=1), None)
        .meters[0]
        .meter.meters[0]
        .meter.get_diagnostics()
        .available
    )


async def test_a_mode_with_built_in_opposition_is_not_looked_at_for_groupthink() -> None:
    warnings = {}
    for mode in ("collaborative", "adversarial", "devils-advocate", "delphi"):
        result = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1, mode=mode)
        assert result.consensus is not None
        warnings[mode] = result.consensus.groupthink_warning is not None
    assert warnings == {"collaborative": True, "adversarial": False, "devils-advocate": False, "delphi": True}


async def test_an_engine_without_a_table_uses_the_analyzer_it_is_given() -> None:
    agents = AgentRegistry()
    for agent in seated(CountingModel(positions), "ada", "bo", "cy"):
        agents.add_agent(agent)
    reader = AIConsensusAnalyzer(ScriptedModel([READING, READING]))
    engine = DebateEngine(SessionManager(MemoryStorage()), agents, ModeRegistry(), ai_consensus_analyzer=reader)
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo", "cy")))
    held = await engine.run_round(session.id)
    assert held.consensus.method == "ai"
    assert (await engine.analyze_consensus_with_ai(held.responses, "Tea?")).agreement_level == 0.0
    bare = DebateEngine(SessionManager(MemoryStorage()), agents, ModeRegistry())
    with pytest.raises(ConfigurationError, match="AI consensus analyzer not configured") as caught:
        await bare.analyze_consensus_with_ai(held.responses, "Tea?")
    assert caught.value.code == "MISSING_CONSENSUS_ANALYZER"


class _Meters:
    """A plugin with analyzers that return something else than a measurement."""

    @rt.hookimpl
    def roundtable_register_analyzers(self, registrar: Any) -> None:
        class Text:
            async def measure(self, responses: Any, topic: str, **_: Any) -> Any:
                return "they agree"

        class NotAsync:
            def measure(self, responses: Any, topic: str, **_: Any) -> Any:
                return Measured(consensus=ConsensusAnalyzer().analyze(responses))

        registrar.add("text", lambda model: Text())
        registrar.add("not-async", lambda model: NotAsync())


@pytest.mark.parametrize(("name", "returned"), [("text", "str"), ("not-async", "Measured without `await`")])
async def test_an_analyzer_of_a_plugin_that_returns_a_wrong_type_is_named_and_loses_no_round(
    name: str, returned: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = table_of(CountingModel("Tea"), analyzer=name, plugins=[_Meters()])
    result = await table.debate("Tea?", rounds=1)
    message = f"the analyzer {name!r} of _Meters returned {returned}"
    assert result.status == "completed"
    assert result.consensus is not None
    assert result.consensus.causes == (f"{name}: {message}",)
    (record,) = [each for each in caplog.records if each.name == "roundtable.analysis"]
    assert record.levelname == "WARNING"
    hint = "Its `async def measure` must return a Measured(consensus=ConsensusResult(...))."
    assert record.getMessage() == f"{message} {hint}"
