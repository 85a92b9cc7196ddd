"""What registries, agents, modes, toolkits and gateways do: the public names that stand beside those of the seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration.engine_kit import engine_of, seated
from snapshots.prompt_views import ADA, ROUND_ONE, SEATS, planned, said, view

from roundtable.agents import (
    AgentRegistry,
    BaseAgent,
    check_provider_availability,
    create_default_agents,
    first_synthesizer,
    get_availability_report,
    get_global_registry,
    reset_global_registry,
    select_preferred_agent,
    setup_agents,
    setup_providers,
)
from roundtable.analysis import AIConsensusAnalyzer
from roundtable.auth import Identity, LocalUser, until_invalid
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    CircuitOpen,
    ConfigurationError,
    RoundtableError,
    StorageError,
    error_kinds,
)
from roundtable.exits import AnyOf, ConsensusReached, MaxRounds, members
from roundtable.gateway import CircuitBreaker, Gateway, RetryRule
from roundtable.modes import (
    AdversarialMode,
    BaseModeStrategy,
    CollaborativeMode,
    DelphiMode,
    DevilsAdvocateMode,
    ExpertPanelMode,
    ModeRegistry,
    StatisticsProcessor,
    Step,
    answers_by_name,
    check_config,
    check_supported,
    fan_in,
    fit_perspectives,
    get_global_mode_registry,
    last_only,
    nothing,
    oxford_swing,
    plan_table,
    reset_global_mode_registry,
    two_phase,
    with_baseline,
    with_facilitator,
    with_judge,
)
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings, process_environment
from roundtable.storage import SQLiteStorage
from roundtable.testing import ManualClock
from roundtable.tools import DefaultAgentToolkit, ToolDefinition, bound, create_default_toolkit, from_mcp
from roundtable.types import (
    AgentConfig,
    DebateConfig,
    ModelProfile,
    NativeSearch,
    RetryPolicy,
    SearchProfile,
    TurnSpec,
    utc_now,
)

YES = {"position": "Yes", "reasoning": "It scales.", "confidence": 0.9}


def registry_of(*names: str) -> AgentRegistry:
    registry = AgentRegistry()
    registry.register_provider("acme", lambda config: BaseAgent(config, ScriptedModel({"*": YES})), "big", "small")
    for name in names:
        registry.create_agent(AgentConfig(id=name, name=name.title(), provider="acme"))
    return registry


async def test_a_registry_keeps_agents_and_their_health() -> None:
    registry = registry_of("ada", "bo", "cy")
    assert registry.get_all_agent_ids() == ("ada", "bo", "cy") == registry.get_active_agent_ids()
    assert (registry.has_agent("ada"), registry.has_agent("dee")) == (True, False)
    assert registry.get_agent_or_throw("ada") is registry.get_agent("ada") is registry.get_agents(["ada"])[0]
    assert [one.id for one in registry.get_agent_info_list()] == ["ada", "bo", "cy"]
    assert registry.deactivate_agent("bo", "down")
    assert not registry.is_agent_active("bo")
    assert [one.id for one in registry.get_active_agent_info_list()] == ["ada", "cy"]
    assert [one.active for one in registry.get_agent_health_status()] == [True, False, True]
    assert registry.activate_agent("bo")
    assert registry.is_agent_active("bo")
    assert {name: one.healthy for name, one in (await registry.run_health_checks()).items()}["ada"]
    toolkit = create_default_toolkit()
    registry.set_toolkit(toolkit)
    assert registry.get_agent("ada").toolkit is toolkit  # type: ignore[union-attr]  # it was made here
    made = registry.build(AgentConfig(id="eve", name="Eve", provider="acme"))
    assert made.toolkit is toolkit
    assert set(registry.resolve([AgentConfig(id="ada", name="Ada", provider="acme")])) == {"ada"}
    assert registry.remove_agent("ada")
    assert registry.remove_agents_by_prefix("b") == 1
    registry.clear_agents()
    assert registry.get_all_agents() == ()
    registry.clear_providers()
    assert registry.get_registered_providers() == ()


async def test_a_registry_looks_up_unknown_providers_and_closes_the_models_it_created() -> None:
    closed: list[str] = []

    class Closing(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self.model)

    registry, asked = registry_of(), list[str]()
    registry.register_provider("late", lambda config: BaseAgent(config, Closing({"*": YES})), "m")
    registry.find_with(asked.append)
    with pytest.raises(ConfigurationError):
        registry.build(AgentConfig(id="x", name="X", provider="nowhere"))
    assert asked == ["nowhere"]
    assert (registry.get_default_model("acme"), registry.get_light_model("acme")) == ("big", "small")
    assert registry.get_provider_factory("acme") is not None
    registry.create_agent(AgentConfig(id="x", name="X", provider="late"))
    registry.add_agent(BaseAgent(ADA, ScriptedModel({"*": YES})))
    assert registry.has_agent("ada")
    await registry.aclose()
    assert closed
    registry.clear()
    assert not registry.has_provider("late")


async def test_keys_make_agents() -> None:
    settings = Settings(openai_api_key="sk-1")
    assert [one.available for one in check_provider_availability(settings)] == [False, True, False, False]
    registry = AgentRegistry()
    assert [one.provider for one in setup_providers(registry, settings) if one.available] == ["openai"]
    assert [agent.id for agent in create_default_agents(registry)] == ["openai-default"]
    report = get_availability_report(await setup_agents(AgentRegistry(), settings, run_health_check=False))
    assert "openai" in report
    several = registry_of("ada", "bo")
    assert select_preferred_agent(several, "acme") is several.get_agent("ada")
    assert first_synthesizer(several.get_all_agents()) is not None
    shared = get_global_registry()
    assert shared is get_global_registry()
    reset_global_registry()
    assert get_global_registry() is not shared
    assert process_environment()["PATH"]


async def test_an_agent_does_more_than_answer() -> None:
    plain = {"conclusion": "Tea.", "recommendation": "Brew.", "confidence": 0.8}
    model = ScriptedModel(["Hello.", plain, "no answer at all {", YES, "ok"])
    agent = BaseAgent(ADA, model)
    assert await agent.generate_raw_completion("Say hello.") == "Hello."
    assert (await agent.generate_synthesis(view(*ROUND_ONE))).recommendation == "Brew."
    assert (agent.get_info().id, agent.provider, agent.toolkit) == ("ada", "scripted", None)
    answer = await agent.generate_response(planned(view()))
    assert (answer.position, len(model.requests)) == ("Yes", 4)
    unread, again = model.requests[-1].messages[-2:]
    assert (unread.role, unread.content) == ("assistant", "no answer at all {")
    assert (again.role, again.content[:33]) == ("user", "Your answer could not be used: no")
    assert (await agent.health_check()).healthy
    toolkit = create_default_toolkit()
    agent.set_toolkit(toolkit)
    agent.set_search(NativeSearch())
    assert (agent.toolkit, agent.search) == (toolkit, NativeSearch())
    assert agent.first_request(planned(view())).messages[-1].role == "user"
    assert not (await BaseAgent(ADA, ScriptedModel([APIAuthError("no key")])).health_check()).healthy


async def test_an_agent_whose_search_was_refused_searches_no_more_in_that_session() -> None:
    model = ScriptedModel({"*": YES}, profile=ModelProfile(search=SearchProfile()))
    agent = BaseAgent(ADA.model_copy(update={"search": True}), model)
    agent.search_refused("refusing")
    for session in ("refusing", "other"):
        await agent.generate_response(planned(view(session_id=session)))
    assert [request.search for request in model.requests] == [None, NativeSearch()]


async def test_an_analyzer_says_why_it_fell_back() -> None:
    analyzer = AIConsensusAnalyzer(ScriptedModel([AgentError("no")] * 4))
    held = [turn.answer for turn in ROUND_ONE]
    await analyzer.analyze_consensus(held, "Tea?")
    assert analyzer.get_diagnostics().available
    assert not AIConsensusAnalyzer().get_diagnostics().available


class Shaped(BaseModeStrategy):
    """A mode of one shape."""

    name = "shaped"

    def __init__(self, shape: Any) -> None:
        self._shape = shape

    def steps(self, view: Any) -> tuple[Step, ...]:
        found: tuple[Step, ...] = self._shape(view, lambda seat, sees: TurnSpec(slot=0, agent=seat.id, sees=sees))
        return found


def stages(shape: Any) -> list[tuple[str, str]]:
    """Return who speaks in which stage of a shape."""
    lines = plan_table(Shaped(shape), agents=3, rounds=1).splitlines()[1:]
    return [(line.split(" | ")[1], line.split(" | ")[3]) for line in lines]


def test_modes_are_made_of_shapes() -> None:
    one, two, three = "agent-1", "agent-2", "agent-3"
    assert stages(last_only) == [("first", one), ("first", two), ("last", three)]
    assert stages(lambda seen, ask: fan_in(seen, ask, seen.agents[0]))[-1] == ("chair", one)
    phases = stages(lambda seen, ask: two_phase(seen, ask, seen.agents[:1], seen.agents[1:]))
    assert phases == [("first-phase", one), ("second-phase", two), ("second-phase", three)]
    assert nothing(view(), SEATS[0]) == ()


async def test_modes_show_themselves_and_run_by_themselves() -> None:
    assert len(AdversarialMode().diagram(agents=2, rounds=1).splitlines()) > 3
    agents = seated(ScriptedModel({"*": YES}), "ada", "bo")
    answers = await AdversarialMode().execute_round(agents, view(agents=SEATS[:2]))
    assert [answer.agent_id for answer in answers] == ["ada", "bo"]
    assert AdversarialMode().get_agent_role(SEATS[0], 0, view())
    assert DevilsAdvocateMode().get_agent_role(SEATS[1], 1, view()) != DevilsAdvocateMode().get_agent_role(
        SEATS[0], 0, view()
    )
    assert AdversarialMode().stage_done(view(said("Ada", "Yes"), current_round=1), "positions")
    assert not AdversarialMode().stage_done(view(), "positions")
    assert len(AdversarialMode().earlier_positions(view(said("Ada", "Yes"), current_round=2))) == 1
    assert len(fit_perspectives((), 2)) == 2
    assert with_facilitator(ExpertPanelMode()).facilitated
    assert with_judge(CollaborativeMode(), ["one"]).judges == ("one",)
    assert with_baseline(CollaborativeMode()).name
    assert len(answers_by_name(ROUND_ONE, 0)) == 4
    assert oxford_swing(ROUND_ONE).winners == ()
    shared = get_global_mode_registry()
    shared.remove_mode("socratic")
    reset_global_mode_registry()
    assert get_global_mode_registry().has_mode("socratic")


def test_a_debate_that_makes_no_sense_in_a_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs 2 to"):
        check_supported(DelphiMode(), "delphi", agents=1, rounds=2)
    with pytest.raises(ConfigurationError, match="does not use perspectives"):
        check_config(DelphiMode(), DebateConfig(topic="Tea?", agents=("ada", "bo"), perspectives=({"name": "Cost"},)))


def test_a_mode_that_plans_nothing_is_named() -> None:
    class Idle(BaseModeStrategy):
        name = "idle"

    with pytest.raises(ConfigurationError, match="Idle plans no stages"):
        plan_table(Idle(), agents=2, rounds=1)


def test_a_value_that_is_not_a_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        ModeRegistry().register_mode("court", object())  # type: ignore[arg-type]  # a slip
    assert StatisticsProcessor.calculate_stats([turn.answer for turn in ROUND_ONE]) is not None


async def test_a_toolkit_is_bound_to_turns_and_joined_with_others() -> None:
    kit = DefaultAgentToolkit(standard=False)
    other = DefaultAgentToolkit(standard=False)
    other.register_tool(ToolDefinition("weigh", "Weighs.", {"type": "object"}, lambda given: 3))
    kit.include(other)
    assert [tool.name for tool in kit.get_tools()] == ["weigh"]
    turn = planned(view())
    for made in (kit.for_turn(turn), bound(kit, turn)):
        assert made.turn is not None
        assert made.turn.context == turn
        assert (await made.execute_tool("weigh", {})).data == 3
    assert kit.over(lambda model: model) is not kit
    assert [tool.name for tool in kit.over(lambda model: model).get_tools()] == ["weigh"]
    assert kit.asks() == ()
    assert from_mcp("python server.py", prefix="x_").get_tools() == ()


def test_a_gateway_counts_and_a_rule_waits() -> None:
    clock = ManualClock()
    breaker = CircuitBreaker("acme", clock=clock, threshold=1)
    breaker.record_failure(probe=breaker.enter())
    assert 0 < breaker.wait_s <= 60
    clock.move(60)
    assert breaker.enter()
    with pytest.raises(CircuitOpen, match="one call is trying it now"):
        breaker.enter()
    breaker.record_nothing(probe=True)
    assert breaker.enter()
    breaker.reset()
    assert (breaker.state, breaker.failures) == ("closed", 0)
    rule = RetryRule.of(RetryPolicy(max_attempts=3, base_delay_ms=200))
    assert (rule.max_retries, rule.base_delay_s, rule.most_tries >= 3) == (2, 0.2, True)
    assert rule.backoff_s(2, 0.0) == pytest.approx(0.4)
    error = APINetworkError("reset")
    assert rule.wait_s(error, 1, 0.0) == pytest.approx(0.2)
    assert RetryRule().allows(error, 1)
    assert not RetryRule().allows(APIAuthError("no key"), 1)


async def test_a_gateway_lists_the_models_it_guards() -> None:
    gateway = Gateway()
    await BaseAgent(ADA, gateway.guard(ScriptedModel([YES]))).generate_response(planned(view()))
    assert "scripted:scripted" in repr(gateway.endpoint_states)


async def test_an_engine_keeps_its_sessions(tmp_path: Path) -> None:
    engine = engine_of(SQLiteStorage(tmp_path / "a.db"), seated(ScriptedModel({"*": YES}), "ada", "bo"))
    made = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=1))
    assert await engine.sessions.is_run(made.id) is False
    await engine.run_round(made.id)
    assert [hit.session_id for hit in await engine.sessions.search("scales", limit=1)] == [made.id]
    await engine.sessions.backup(tmp_path / "b.db")
    copy = engine_of(SQLiteStorage(tmp_path / "b.db"), [])
    assert [one.id for one in await copy.list_sessions()] == [made.id]
    writer = first_synthesizer(seated(ScriptedModel({"*": {"conclusion": "Tea.", "recommendation": "Brew."}}), "ada"))
    assert writer is not None
    assert (await engine.synthesize(made.id, writer)).recommendation == "Brew."
    for kept in (engine, copy):
        kept.sessions.storage.close()  # type: ignore[attr-defined]
        with pytest.raises(StorageError, match="closed"):
            await kept.list_sessions()


async def test_a_user_may_stay_until_their_token_expires() -> None:
    class Once(LocalUser):
        looks = 0

        async def still_valid(self, identity: Identity) -> bool:
            self.looks += 1
            return self.looks < 2

    user = Once()
    clock = ManualClock()
    before = clock.monotonic()
    await until_invalid(user, await user.authenticate(None), clock)
    assert user.looks == 2
    assert clock.monotonic() > before


def test_errors_and_criteria_are_listed() -> None:
    assert error_kinds()[0] is RoundtableError
    assert AgentError in error_kinds()
    joined = MaxRounds(3) | ConsensusReached(0.9)
    assert isinstance(joined, AnyOf)
    assert members(joined) == (MaxRounds(3), ConsensusReached(0.9))
    assert utc_now().tzinfo is not None
