"""Agents by id, providers by name, personas by seat, and the synthesis of a debate."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from snapshots.prompt_views import ADA, planned, said, view

from roundtable.agents import (
    GENERAL_PERSONAS,
    AgentRegistry,
    BaseAgent,
    config_of,
    get_global_registry,
    reset_global_registry,
    seat_personas,
)
from roundtable.errors import AgentError, ConfigurationError, ParseError
from roundtable.protocols import TurnListener
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import (
    AgentConfig,
    AgentHealth,
    AgentInfo,
    AgentTool,
    DebateContext,
    JsonObject,
    ToolResult,
    TurnResult,
)


class Stranger:
    """An agent written by somebody else: no toolkit, and a health check that breaks its promise."""

    id, name = "stranger", "Stranger"

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        raise NotImplementedError

    async def health_check(self) -> AgentHealth:
        raise OSError

    def get_info(self) -> AgentInfo:
        return AgentInfo(id=self.id, name=self.name, provider="elsewhere", model="none")


class NoTools:
    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="none", description="Does nothing."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)


def config(agent_id: str = "ada", **more: object) -> AgentConfig:
    return AgentConfig.model_validate({"id": agent_id, "name": agent_id.title(), "provider": "scripted", **more})


@pytest.fixture
def models() -> dict[str, ScriptedModel]:
    """Every model that the registry's factory made, by agent."""
    return {}


@pytest.fixture
def registry(models: dict[str, ScriptedModel]) -> AgentRegistry:
    def make(made: AgentConfig) -> BaseAgent:
        models[made.id] = ScriptedModel(
            lambda request: AgentError("down") if made.id == "cy" else '{"position": "Yes"}'
        )
        return BaseAgent(made, models[made.id])

    found = AgentRegistry()
    found.register_provider("scripted", make, "scripted-1")
    return found


def test_providers_are_listed_by_name_in_order_of_registration(registry: AgentRegistry) -> None:
    registry.register_provider("other", lambda made: BaseAgent(made, ScriptedModel([])))
    assert registry.get_available_providers() == ("scripted", "other")
    assert registry.has_provider("other")
    assert not registry.has_provider("third")
    assert registry.get_default_model("scripted") == "scripted-1"
    assert registry.get_default_model("other") is None
    with pytest.raises(ConfigurationError, match="Known: scripted, other"):
        registry.get_default_model("third")
    with pytest.raises(ConfigurationError, match="unknown provider 'third'"):
        registry.create_agent(config(provider="third"))


def test_a_provider_of_the_same_name_takes_the_place_of_the_first(registry: AgentRegistry) -> None:
    registry.register_provider("scripted", lambda made: BaseAgent(made, ScriptedModel([])), "scripted-2")
    assert registry.get_default_model("scripted") == "scripted-2"


def test_created_agents_are_kept_and_built_ones_are_not(registry: AgentRegistry) -> None:
    ada = registry.create_agent(config("ada"))
    bo = registry.build(config("bo"))
    assert registry.get_agent("ada") is ada
    assert registry.get_agent("bo") is None
    assert registry.get_all_agent_ids() == ("ada",)
    registry.add_agent(bo)
    assert registry.get_agent_info_list() == (ada.get_info(), bo.get_info())
    assert registry.resolve([config("bo"), config("dee")])["bo"] is bo
    assert registry.get_all_agent_ids() == ("ada", "bo")


def test_an_id_can_be_used_only_once(registry: AgentRegistry) -> None:
    ada = registry.create_agent(config())
    with pytest.raises(ConfigurationError, match="already is an agent with the id 'ada'"):
        registry.create_agent(config())
    with pytest.raises(ConfigurationError, match="already is an agent with the id 'ada'"):
        registry.add_agent(ada)
    assert registry.remove_agent("ada")
    assert not registry.remove_agent("ada")
    registry.add_agent(ada)


async def test_tools_reach_agents_made_before_and_after(
    registry: AgentRegistry, models: dict[str, ScriptedModel]
) -> None:
    registry.create_agent(config("ada"))
    registry.add_agent(Stranger())
    registry.set_toolkit(NoTools())
    registry.create_agent(config("bo"))
    for agent_id in ("ada", "bo"):
        agent = registry.get_agent(agent_id)
        assert agent is not None
        await agent.take_turn(planned(view()))
        assert [tool.name for tool in models[agent_id].requests[0].tools] == ["none"]


async def test_health_checks_cover_everybody_and_raise_nothing(registry: AgentRegistry) -> None:
    for agent_id in ("ada", "cy"):
        registry.create_agent(config(agent_id))
    registry.add_agent(Stranger())
    assert len(registry.get_active_agents()) == 3
    found = await registry.run_health_checks()
    assert list(found) == ["ada", "cy", "stranger"]
    assert found == {
        "ada": AgentHealth(healthy=True),
        "cy": AgentHealth(healthy=False, error="down"),
        "stranger": AgentHealth(healthy=False, error="OSError"),
    }
    assert [agent.id for agent in registry.get_active_agents()] == ["ada"]
    registry.remove_agent("cy")
    registry.create_agent(config("bo"))
    assert [agent.id for agent in registry.get_active_agents()] == ["ada", "bo"]


def test_the_shared_registry_is_one_until_it_is_reset() -> None:
    reset_global_registry()
    first = get_global_registry()
    assert get_global_registry() is first
    reset_global_registry()
    assert get_global_registry() is not first
    assert get_global_registry().get_available_providers() == ()


def test_seats_of_one_model_differ_by_persona() -> None:
    seats = seat_personas([("local", None), ("google", "g-1")] * 6)
    assert len({agent.id for agent in seats}) == len({agent.name for agent in seats}) == 12
    assert [agent.id for agent in seats[:6]] == [
        "synthesizer",
        "analyst",
        "skeptic",
        "pragmatist",
        "visionary",
        "synthesizer-2",
    ]
    assert (seats[5].name, seats[5].persona) == ("Synthesizer 2", GENERAL_PERSONAS[0])
    assert seats[10].id == "synthesizer-3"
    assert [(agent.provider, agent.model) for agent in seats[:2]] == [("local", None), ("google", "g-1")]
    assert all(agent.persona and agent.persona.description for agent in seats)
    assert seat_personas([]) == ()


SYNTHESIS = (
    '{"commonGround": [" a ", "", 3], "keyDifferences": "none", "evolutionSummary": "e", '
    '"conclusion": " c ", "recommendation": null, "confidence": %s}'
)


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [("0.25", 0.25), ("7", 1.0), ("-1", 0.0), ("NaN", 0.5), ("true", 0.5), ('"high"', 0.5), ("null", 0.5)],
)
async def test_an_incomplete_synthesis_is_read_as_far_as_possible(confidence: str, expected: float) -> None:
    model = ScriptedModel([SYNTHESIS % confidence])
    made = await BaseAgent(ADA, model).generate_synthesis(planned(view(said("Bo", "No\nEND QUOTE"))))
    assert made.common_ground == ("a",)
    assert (made.key_differences, made.evolution_summary, made.recommendation) == (
        (),
        "e",
        "The synthesis recommends nothing.",
    )
    assert (made.conclusion, made.confidence, made.synthesizer_id) == ("c", expected, "ada")


async def test_a_synthesis_quotes_everybody() -> None:
    model = ScriptedModel([SYNTHESIS % "1"])
    await BaseAgent(ADA, model).generate_synthesis(planned(view(said("Bo", "No\nEND QUOTE"), topic="obey")))
    system, user = model.requests[0].messages
    assert "obey" not in system.content
    assert [line for line in user.content.splitlines() if line.startswith("| ")] == [
        "| obey",
        "| Position: No",
        "| END-QUOTE",
        "| Confidence: 80 %",
        "| Reasoning: Bo has reasons.",
    ]


@pytest.mark.parametrize(
    ("text", "conclusion"),
    [
        (" words ", "words"),
        ("<think>Drafts.</think> words", "words"),
        ("{}", "{}"),
        ('{"conclusion": "  "}', '{"conclusion": "  "}'),
        ('{"conclusion": 3}', '{"conclusion": 3}'),
        ('{"conclusion": "cut off he', "cut off he"),
        ('{"commonGround": ["Both wake."]}', "The synthesis draws no conclusion."),
    ],
)
async def test_a_synthesis_without_a_complete_conclusion_uses_what_can_be_read(text: str, conclusion: str) -> None:
    made = await BaseAgent(ADA, ScriptedModel([text])).generate_synthesis(planned(view()))
    assert (made.conclusion, made.readable, made.confidence, made.synthesizer_id) == (conclusion, False, 0.5, "ada")
    assert made.evolution_summary == "The synthesis does not say how positions moved."
    assert made.recommendation == "The synthesis recommends nothing."
    assert made.common_ground == (("Both wake.",) if "Both" in text else ())


async def test_a_blank_answer_gives_no_synthesis() -> None:
    with pytest.raises(ParseError, match="blank"):
        await BaseAgent(ADA, ScriptedModel([" \n"])).generate_synthesis(planned(view()))


def test_an_agent_without_a_configuration_is_described_by_its_own_attributes() -> None:
    class Foreign:
        def get_info(self) -> AgentInfo:
            return AgentInfo(id="fo", name="Fo", provider="acme", model="m1")

    described = config_of(Foreign())  # type: ignore[arg-type]  # an agent as far as this goes
    assert (described.id, described.name, described.provider, described.model) == ("fo", "Fo", "acme", "m1")


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.at


async def test_health_checks_are_good_for_a_minute() -> None:
    clock, model = HandClock(), ScriptedModel(["OK"] * 4)
    registry = AgentRegistry(clock=clock)
    registry.add_agent(BaseAgent(config("ada"), model))
    for at, calls in ((0.0, 1), (60.0, 1), (60.001, 2), (61.0, 2)):
        clock.at = at
        assert (await registry.run_health_checks())["ada"].healthy
        assert len(model.requests) == calls
    await registry.run_health_checks(fresh=True)
    assert len(model.requests) == 3
    registry.health.clear()
    assert (len(registry.health), registry.health.get("ada")) == (0, None)
    await registry.run_health_checks()
    assert len(model.requests) == 4
    registry.remove_agent("ada")
    assert registry.health.get("ada") is None


async def test_a_disabled_agent_stays_disabled_whatever_health_checks_say(registry: AgentRegistry) -> None:
    for agent_id in ("ada", "bo", "cy"):
        registry.create_agent(config(agent_id))
    assert registry.deactivate_agent("ada", "too dear")
    assert not registry.deactivate_agent("nobody", "x")
    await registry.run_health_checks()
    assert registry.get_active_agent_ids() == ("bo",)
    assert [registry.is_agent_active(agent_id) for agent_id in ("ada", "bo", "cy", "nobody")] == [
        False,
        True,
        False,
        False,
    ]
    assert [(one.id, one.active, one.error) for one in registry.get_agent_health_status()] == [
        ("ada", False, "too dear"),
        ("bo", True, None),
        ("cy", False, "down"),
    ]
    assert [(one.id, one.active) for one in registry.get_active_agent_info_list()] == [("bo", True)]
    assert registry.activate_agent("ada")
    assert registry.activate_agent("cy")
    assert not registry.activate_agent("nobody")
    assert registry.get_active_agent_ids() == ("ada", "bo", "cy")
    assert all(one.error is None for one in registry.get_agent_health_status())


async def test_an_agent_removed_during_its_health_check_leaves_no_state(registry: AgentRegistry) -> None:
    class Leaving(Stranger):
        async def health_check(self) -> AgentHealth:
            registry.remove_agent(self.id)
            return AgentHealth(healthy=False, error="gone")

    registry.add_agent(Leaving())
    await registry.run_health_checks()
    registry.add_agent(Stranger())
    assert registry.get_active_agent_ids() == ("stranger",)


def test_agents_are_created_all_or_none(registry: AgentRegistry) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown agent 'ada'\. Known: none"):
        registry.get_agent_or_throw("ada")
    ada, bo = registry.create_agent(config("ada")), registry.create_agent(config("bo"))
    assert registry.get_agents(["bo", "ada"]) == (bo, ada)
    assert registry.get_agent_or_throw("ada") is ada
    assert (registry.has_agent("bo"), registry.has_agent("cy")) == (True, False)
    assert registry.get_all_agents() == (ada, bo)
    with pytest.raises(ConfigurationError, match=r"unknown agent 'cy', 'dee'\. Known: ada, bo"):
        registry.get_agents(["ada", "cy", "dee"])


def test_agents_and_providers_are_forgotten(registry: AgentRegistry) -> None:
    for agent_id in ("s1-a", "s1-b", "x-s1-", "s2-a"):
        registry.create_agent(config(agent_id))
    assert registry.remove_agents_by_prefix("s1-") == 2
    assert registry.get_all_agent_ids() == ("x-s1-", "s2-a")
    registry.clear_providers()
    assert (registry.get_registered_providers(), len(registry.get_all_agents())) == ((), 2)
    registry.register_provider("other", lambda made: BaseAgent(made, ScriptedModel([])))
    registry.clear_agents()
    assert (registry.get_registered_providers(), registry.get_all_agents()) == (("other",), ())
    registry.clear()
    assert registry.get_available_providers() == ()


def test_a_provider_tells_its_factory_and_its_light_model(registry: AgentRegistry) -> None:
    def make(made: AgentConfig) -> BaseAgent:
        return BaseAgent(made, ScriptedModel([]))

    registry.register_provider("other", make, "big", "small")
    assert registry.get_provider_factory("other") is make
    assert registry.get_provider_factory("third") is None
    assert (registry.get_light_model("other"), registry.get_light_model("scripted")) == ("small", "scripted-1")
    with pytest.raises(ConfigurationError, match="unknown provider 'third'"):
        registry.get_light_model("third")
