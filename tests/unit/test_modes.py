"""Modes by name, and a round run from a plan without any engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from snapshots.prompt_views import said, view

from roundtable.agents import BaseAgent
from roundtable.errors import AgentError, ConfigurationError
from roundtable.modes import (
    BUILTIN_MODES,
    BaseModeStrategy,
    CollaborativeMode,
    ModeRegistry,
    get_global_mode_registry,
    reset_global_mode_registry,
)
from roundtable.protocols import Agent, AgentToolkit, TurnListener
from roundtable.providers.scripted import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentConfig,
    AgentHealth,
    AgentInfo,
    AgentResponse,
    AgentTool,
    DebateContext,
    EndDebate,
    EndRound,
    JsonObject,
    Plan,
    Stage,
    ToolResult,
    TurnResult,
    TurnSpec,
    Visible,
)

QUESTION = DebateContext(session_id="s", topic="Tea?", mode="collaborative")


class Foreign:
    """A mode written without our base class: the protocol and nothing more."""

    name = "foreign"
    needs_groupthink_detection = False
    assigns_stances = True
    rounds = range(1, 2)

    def next_stage(self, view: DebateContext) -> Plan:
        return EndDebate()

    def build_agent_prompt(self, context: DebateContext) -> str:
        return ""


class Relay(BaseModeStrategy):
    """One after the other; each sees those before it."""

    name = "relay"

    def next_stage(self, view: DebateContext) -> Plan:
        spoken = self.turns_of_round(view)
        if len(spoken) == len(view.agents):
            return EndRound()
        sees = tuple(Visible(turn=turn.key, shown_as=turn.agent_name) for turn in spoken if turn.outcome == "answered")
        spec = TurnSpec(slot=0, agent=view.agents[len(spoken)].id, task="Speak.", sees=sees)
        return Stage(name=f"speaker {len(spoken)}", turns=(spec,))


class Stuck(BaseModeStrategy):
    """Plans one stage for ever."""

    name = "stuck"

    def next_stage(self, view: DebateContext) -> Plan:
        return Stage(name="again", turns=(TurnSpec(slot=0, agent=view.agents[0].id),))


class Empty(BaseModeStrategy):
    """Plans a stage of nobody."""

    name = "empty"

    def next_stage(self, view: DebateContext) -> Plan:
        return Stage(name="nobody", turns=())


class Kit:
    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="look", description="Looks."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)


class Plain:
    """An agent that takes no tools."""

    id, name = "plain", "Plain"

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        return TurnResult(answer=AgentResponse(agent_id="plain", agent_name="Plain", position="Plainly"))

    async def health_check(self) -> AgentHealth:
        return AgentHealth(healthy=True)

    def get_info(self) -> AgentInfo:
        return AgentInfo(id=self.id, name=self.name, provider="none", model="none")


async def test_a_round_runs_without_an_engine_and_leaves_out_failed_agents() -> None:
    agents = scripted_agents({"ada": "Yes", "bo": AgentError("down"), "cy": "No"})
    responses = await CollaborativeMode().execute_round(agents, QUESTION)
    assert [(answer.agent_id, answer.position) for answer in responses] == [("ada", "Yes"), ("cy", "No")]


async def test_a_round_without_agents_is_empty() -> None:
    assert await CollaborativeMode().execute_round([], QUESTION) == ()


async def test_a_round_sees_the_rounds_before_it() -> None:
    model = ScriptedModel({"ada": {"position": "Yes"}})
    ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), model)
    context = view(said("Bo", "No"), agents=({"id": "ada", "name": "Ada"},))
    await CollaborativeMode().execute_round([ada], context)
    assert "(round 1, answer of Bo)" in model.requests[0].messages[1].content


async def test_stages_of_a_round_run_in_order_and_see_earlier_ones() -> None:
    agents = scripted_agents({"ada": "one", "bo": "two", "cy": "three"})
    responses = await Relay().execute_round(agents, QUESTION)
    assert [answer.position for answer in responses] == ["one", "two", "three"]
    prompts = [agent.chat_model.requests[0].messages[1].content for agent in agents]  # type: ignore[attr-defined]
    assert ["answer of Ada" in prompt for prompt in prompts] == [False, True, True]
    assert ["answer of Bo" in prompt for prompt in prompts] == [False, False, True]


async def test_tools_of_a_round_reach_every_agent_that_takes_tools() -> None:
    (ada,) = scripted_agents({"ada": "Yes"})
    mixed: Sequence[Agent] = (ada, Plain())
    kit: AgentToolkit = Kit()
    responses = await CollaborativeMode().execute_round(mixed, QUESTION, kit)
    assert [answer.position for answer in responses] == ["Yes", "Plainly"]
    assert [tool.name for tool in ada.chat_model.requests[0].tools] == ["look"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", [Stuck(), Empty()], ids=lambda mode: mode.name)
async def test_a_plan_that_would_never_end_is_refused(mode: BaseModeStrategy) -> None:
    with pytest.raises(ConfigurationError, match=r"a second time in one round|without any turn"):
        await mode.execute_round(scripted_agents({"ada": "Yes"}), QUESTION)


async def test_an_unknown_agent_is_an_error_of_the_caller() -> None:
    context = QUESTION.model_copy(update={"agents": view().agents})
    with pytest.raises(ConfigurationError, match="not in the debate: bo, cy, dee"):
        await CollaborativeMode().execute_round(scripted_agents({"ada": "Yes"}), context)


def test_overriding_the_round_without_a_plan_is_refused_with_the_reason() -> None:
    async def execute_round(
        self: BaseModeStrategy, agents: Sequence[Agent], context: DebateContext, toolkit: AgentToolkit | None = None
    ) -> tuple[AgentResponse, ...]:
        return ()

    with pytest.raises(TypeError, match=r"Old overrides execute_round but not next_stage: .* stages in next_stage"):
        type("Old", (BaseModeStrategy,), {"execute_round": execute_round})
    both = type("Both", (CollaborativeMode,), {"execute_round": execute_round})
    assert both().rounds == range(1, 101)


def test_a_mode_without_hooks_has_defaults_for_all_but_its_plan() -> None:
    bare = type("Bare", (BaseModeStrategy,), {})()
    assert (bare.needs_groupthink_detection, bare.assigns_stances, bare.rounds) == (True, False, range(1, 101))
    assert bare.build_agent_prompt(QUESTION) == ""
    assert bare.get_agent_role(Plain(), 0, QUESTION) == "participant"
    with pytest.raises(ConfigurationError, match=r"Bare plans no stages: override next_stage\(view\)"):
        bare.next_stage(QUESTION)


@pytest.mark.parametrize("steps", [None, "x", [1]])
def test_steps_of_a_wrong_type_are_named(steps: object) -> None:
    forgetful = type("Forgetful", (BaseModeStrategy,), {"steps": lambda self, view: steps})()
    with pytest.raises(ConfigurationError, match="steps of Forgetful must return a tuple of steps, not ") as refused:
        forgetful.next_stage(QUESTION)
    assert "`return parallel(...)`" in str(refused.value.hint)


def test_the_prompt_of_a_mode_depends_on_earlier_answers() -> None:
    mode = CollaborativeMode()
    later = QUESTION.model_copy(update={"previous_responses": (said("Bo", "No").answer,), "focus_question": "Why?"})
    assert "MY PERSPECTIVE" in mode.build_agent_prompt(QUESTION)
    assert "POINTS OF AGREEMENT" in mode.build_agent_prompt(later)
    assert mode.build_agent_prompt(later).count("FOCUS") == 1


def test_the_registry_starts_with_the_built_in_modes_and_can_be_reset() -> None:
    registry = ModeRegistry()
    shipped = tuple(name for name, _, _ in BUILTIN_MODES)
    assert registry.get_available_modes() == shipped
    registry.register_mode("relay", Relay(), summary="One by one.")
    registry.register_mode("foreign", Foreign())
    assert registry.get_available_modes() == (*shipped, "relay", "foreign")
    assert registry.registry.entry("relay").summary == "One by one."
    assert registry.has_mode("relay")
    assert registry.remove_mode("relay")
    assert not registry.remove_mode("relay")
    registry.clear()
    assert registry.get_available_modes() == ()
    registry.reset()
    assert registry.get_available_modes() == shipped
    assert ModeRegistry(builtin=False).get_available_modes() == ()


def test_a_mode_of_the_same_name_takes_the_place_of_the_first() -> None:
    registry, own = ModeRegistry(), Relay()
    registry.register_mode("collaborative", own)
    assert registry.get_mode("collaborative") is own


def test_an_unknown_mode_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown mode 'colaborative'\. Did you mean 'collaborative'"):
        ModeRegistry().get_mode("colaborative")


def test_an_object_without_a_plan_is_not_a_mode() -> None:
    registry = ModeRegistry()
    for thing in (object(), type("Half", (), {"next_stage": lambda self, view: EndRound()})()):
        with pytest.raises(ConfigurationError, match=r"has no .*rounds.*; a mode plans its stages in next_stage"):
            registry.register_mode("half", thing)  # type: ignore[arg-type]  # what a careless author would give
    with pytest.raises(ConfigurationError, match=r"give an instance, Relay\(\), not the class"):
        registry.register_mode("relay", Relay)  # type: ignore[arg-type]  # as above
    assert not registry.has_mode("half")


def test_the_shared_registry_is_one_until_it_is_reset() -> None:
    reset_global_mode_registry()
    first = get_global_mode_registry()
    assert get_global_mode_registry() is first
    reset_global_mode_registry()
    assert get_global_mode_registry() is not first
