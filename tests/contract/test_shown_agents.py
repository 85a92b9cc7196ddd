"""Agents and modes as the seeds tell them: who speaks through which provider, in which order, and who sees what."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from contract.showing import shows
from integration.mode_kit import LABEL, hold
from snapshots.prompt_views import ADA, NOON, TOPIC, planned, said, view

from roundtable import Roundtable
from roundtable.agents import (
    AgentFactory,
    AgentRegistry,
    BaseAgent,
    ChatGPTAgent,
    ClaudeAgent,
    GeminiAgent,
    PerplexityAgent,
    PerplexitySearchOptions,
    create_chatgpt_agent,
    create_claude_agent,
    create_gemini_agent,
    create_light_model_agent,
    create_perplexity_agent,
    setup_agents,
)
from roundtable.errors import APIAuthError, ConfigurationError
from roundtable.modes import (
    AdversarialMode,
    AnonymizationProcessor,
    BaseModeStrategy,
    CollaborativeMode,
    ConfidenceRangeValidator,
    DevilsAdvocateMode,
    ModeRegistry,
    RequiredFieldsValidator,
    StanceValidator,
    StatisticsProcessor,
)
from roundtable.protocols import DebateModeStrategy
from roundtable.providers import BUILTIN_SPECS
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    EndRound,
    NativeSearch,
    ProviderConfig,
    RoleViolation,
    Stage,
    TurnSpec,
)

YES = '{"position": "Yes", "reasoning": "It scales.", "confidence": 0.9}'
LINK = {"title": "Tea", "url": "https://tea.example", "snippet": "Hot."}
WIRES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": YES}], "usage": {"input_tokens": 3, "output_tokens": 5},
    },
    "openai": {
        "id": "r", "object": "response", "status": "completed", "model": "m",
        "output": [{"type": "message", "id": "o", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": YES, "annotations": []}]}],
        "usage": {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8},
    },
    "google": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": YES}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8},
    },
    "perplexity": {
        "id": "p", "model": "sonar", "search_results": [LINK],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"{YES} [1]"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
    },
}  # fmt: skip
"""An answer of each provider, as its reference has it."""


class Wire:
    """A client of one provider that answers as the provider does, and remembers what it was sent."""

    def __init__(self, provider: str, status: int = 200) -> None:
        self.sent: list[httpx.Request] = []
        self._reply = httpx.Response(status, json=WIRES[provider] if status == 200 else {})
        self.client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer), trust_env=False, verify=False)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        return httpx.Response(self._reply.status_code, content=self._reply.content, headers=self._reply.headers)


async def asked(create: Any, provider: str, kind: type[BaseAgent], **options: Any) -> tuple[AgentResponse, Any]:
    """Make an agent of a provider with its factory, ask it, and return its answer and what it sent."""
    wire = Wire(provider)
    config = AgentConfig(id="a", name="A", provider=provider, temperature=None)
    agent = create(config, api_key="sk-secret", client=wire.client, **options)
    assert type(agent) is kind
    assert agent.model == BUILTIN_SPECS[provider].default_model
    answer = await agent.generate_response(view())
    (request,) = wire.sent
    assert "sk-secret" in str(request.headers.raw)
    assert (answer.position, answer.confidence) == ("Yes", 0.9)
    await wire.client.aclose()
    return answer, json.loads(request.content)


@shows(0, "class", "ClaudeAgent")
@shows(0, "type", "ClaudeAgentOptions")
async def test_a_claude_agent_speaks_with_anthropic() -> None:
    _, sent = await asked(create_claude_agent, "anthropic", ClaudeAgent)
    assert sent["model"] == "claude-sonnet-4-5"
    assert "web_search" in json.dumps(sent["tools"])


@shows(0, "class", "ChatGPTAgent")
@shows(0, "type", "ChatGPTAgentOptions")
async def test_a_chatgpt_agent_speaks_with_openai() -> None:
    _, sent = await asked(create_chatgpt_agent, "openai", ChatGPTAgent)
    assert sent["model"] == "gpt-5.2"
    assert "web_search" in json.dumps(sent["tools"])


@shows(0, "class", "GeminiAgent")
@shows(0, "type", "GeminiAgentOptions")
async def test_a_gemini_agent_speaks_with_google() -> None:
    _, sent = await asked(create_gemini_agent, "google", GeminiAgent)
    assert "googleSearch" in json.dumps(sent["tools"])


@shows(0, "class", "PerplexityAgent")
@shows(0, "type", "PerplexityAgentOptions", "PerplexitySearchOptions")
async def test_a_perplexity_agent_searches_as_its_options_say() -> None:
    options = PerplexitySearchOptions(recency_filter="week", domain_filter=("tea.example",), return_images=True)
    answer, sent = await asked(create_perplexity_agent, "perplexity", PerplexityAgent, search_options=options)
    assert (sent["search_recency_filter"], sent["search_domain_filter"]) == ("week", ["tea.example"])
    assert sent["return_images"] is True
    assert [(link.title, link.url) for link in answer.citations] == [("Tea", "https://tea.example")]
    agent = PerplexityAgent(ADA, ScriptedModel([]), search_options=options)
    assert agent.get_search_options() == options
    agent.set_search_options(PerplexitySearchOptions(recency_filter="day"))
    assert agent.get_search_options().recency_filter == "day"


async def searched(provider: str, **options: Any) -> tuple[AgentResponse, dict[str, Any]]:
    """Hold a debate of one agent at a table, and return its answer and what its provider was sent."""
    wire, search = Wire(provider), options.pop("provider_search", None)
    config = ProviderConfig(api_key="sk-secret", client=wire.client, search=search)
    table = Roundtable([provider], providers={provider: config}, storage="memory://", analyzer="basic", **options)
    async with table:
        result = await table.debate(TOPIC, rounds=1)
    await wire.client.aclose()
    (answer,) = result.rounds[0].responses
    return answer, json.loads(wire.sent[0].content)


@shows(3, "behaviour", "native search")
@pytest.mark.parametrize(
    ("provider", "asks"),
    [("anthropic", '"web_search"'), ("openai", '"web_search"'), ("google", '"googleSearch"')],
)
async def test_agents_of_a_table_use_the_search_of_their_provider(provider: str, asks: str) -> None:
    assert asks in json.dumps((await searched(provider))[1])
    assert asks not in json.dumps((await searched(provider, search=False))[1])


@shows(3, "behaviour", "native search: max uses, domains, context size, recency")
async def test_each_provider_gets_search_options_in_its_own_format() -> None:
    few = NativeSearch(max_uses=2, allowed_domains=("tea.example",))
    _, sent = await searched("anthropic")
    assert [tool["max_uses"] for tool in sent["tools"]] == [5]
    _, sent = await searched("anthropic", search=few)
    assert [(tool["max_uses"], tool["allowed_domains"]) for tool in sent["tools"]] == [(2, ["tea.example"])]
    _, sent = await searched("openai", provider_search=few)
    (tool,) = sent["tools"]
    assert (tool["search_context_size"], tool["filters"]) == ("medium", {"allowed_domains": ["tea.example"]})
    answer, sent = await searched("perplexity", provider_search=NativeSearch(recency="week"))
    assert sent["search_recency_filter"] == "week"
    assert [(call.tool_name, len(answer.citations)) for call in answer.tool_calls] == [("perplexity_search", 1)]


@shows(3, "behaviour", "grounding with the light model, then functions")
async def test_an_older_gemini_searches_before_it_calls_tools() -> None:
    wire = Wire("google")
    providers = {"google": ProviderConfig(api_key="sk-secret", client=wire.client)}
    tools = ["fact_check"]
    table = Roundtable(
        ["google:gemini-2.5-pro"], providers=providers, storage="memory://", analyzer="basic", tools=tools
    )
    async with table:
        await table.debate(TOPIC, rounds=1)
    await wire.client.aclose()
    models = [request.url.path.rpartition("/")[2].partition(":")[0] for request in wire.sent]
    assert models == ["gemini-2.5-flash-lite", "gemini-2.5-pro"]
    kinds = [sorted(tool) for request in wire.sent for tool in json.loads(request.content)["tools"]]
    assert kinds == [["googleSearch"], ["functionDeclarations"]]


@shows(3, "behaviour", "tool loop: 10 iterations")
@pytest.mark.parametrize(("config", "rounds"), [(ADA, 10), (ADA.model_copy(update={"max_tool_rounds": 2}), 2)])
async def test_a_model_may_ask_for_tools_ten_times_or_as_often_as_is_set(config: AgentConfig, rounds: int) -> None:
    wishes = [{"toolCalls": [{"name": "fact_check", "args": {"claim": f"Claim {n}"}}]} for n in range(rounds)]
    model = ScriptedModel([*wishes, YES])
    table = Roundtable([BaseAgent(config, model)], storage="memory://", analyzer="basic", tools=["fact_check"])
    async with table:
        result = await table.debate(TOPIC, rounds=1)
    assert [bool(request.tools) for request in model.requests] == [True] * rounds + [False]
    assert len(result.rounds[0].responses[0].tool_calls) == rounds


@shows(3, "function", "error-converter")
async def test_a_refusal_of_any_provider_is_an_error_of_the_library() -> None:
    for provider, create in (("anthropic", create_claude_agent), ("google", create_gemini_agent)):
        wire = Wire(provider, status=401)
        agent = create(AgentConfig(id="a", name="A", provider=provider), api_key="sk-secret", client=wire.client)
        with pytest.raises(APIAuthError) as error:
            await agent.generate_response(view())
        assert (error.value.provider, "sk-secret" in str(error.value)) == (provider, False)
        await wire.client.aclose()


@shows(0, "class", "BaseAgent")
async def test_an_agent_asks_its_model_and_reads_the_answer() -> None:
    model = ScriptedModel([YES])
    agent = BaseAgent(ADA.model_copy(update={"system_prompt": "You are terse."}), model)
    later = planned(view(said("Bo", "Never.")))
    answer = await agent.generate_response(later)
    assert (answer.agent_id, answer.agent_name, answer.position) == ("ada", "Ada", "Yes")
    system, user = (message.content for message in model.requests[0].messages)
    assert "You are terse." in system
    assert "You are terse." in agent.build_system_prompt(later)
    assert TOPIC in user
    assert "Never." in user
    assert TOPIC in agent.build_user_message(later)
    assert agent.parse_response(YES, view()).position == "Yes"
    assert (agent.id, agent.name, agent.provider) == ("ada", "Ada", "scripted")


def registered() -> AgentRegistry:
    registry = AgentRegistry()
    factory: AgentFactory = lambda config: BaseAgent(config, ScriptedModel([YES], model=config.model or "acme-big"))  # noqa: E731
    registry.register_provider("acme", factory, "acme-big", "acme-small")
    return registry


@shows(0, "class", "AgentRegistry")
@shows(0, "type", "AgentFactory", "AIProvider")
async def test_a_registry_makes_agents_of_any_provider() -> None:
    registry = registered()
    assert (registry.get_available_providers(), registry.has_provider("openai")) == (("acme",), False)
    assert registry.get_default_model("acme") == "acme-big"
    agent = registry.create_agent(AgentConfig(id="ada", name="Ada", provider="acme"))
    assert (await agent.generate_response(view())).position == "Yes"
    assert agent.model == "acme-big"
    assert registry.get_agent("ada") is agent
    with pytest.raises(ConfigurationError, match="acmee"):
        registry.create_agent(AgentConfig(id="bo", name="Bo", provider="acmee"))


@shows(3, "method", "AgentRegistry.getActiveAgents")
def test_agents_that_are_switched_off_are_not_active() -> None:
    registry = registered()
    made = [registry.create_agent(AgentConfig(id=name, name=name, provider="acme")) for name in ("ada", "bo")]
    assert registry.get_active_agents() == tuple(made)
    registry.deactivate_agent("ada")
    assert registry.get_active_agents() == (made[1],)


@shows(3, "function", "setup")
async def test_agents_are_set_up_from_the_keys_that_are_there() -> None:
    registry = AgentRegistry()
    await setup_agents(registry, Settings(openai_api_key="sk-1", google_api_key="g-1"), run_health_check=False)
    assert registry.get_available_providers() == ("openai", "google")
    assert [(agent.provider, agent.model) for agent in registry.get_all_agents()] == [
        ("openai", "gpt-5.2"),
        ("google", BUILTIN_SPECS["google"].default_model),
    ]


@shows(3, "function", "light-model-factory")
def test_a_light_agent_is_created_next_to_a_heavy_one() -> None:
    registry = registered()
    light = create_light_model_agent(
        registry.create_agent(AgentConfig(id="ada", name="Ada", provider="acme")), registry, id_suffix="consensus"
    )
    assert (light.id, light.model) == ("ada-light-consensus", "acme-small")
    assert registry.get_agent(light.id) is None


# ---------------------------------------------------------------- modes


async def order(mode: str, agents: int = 3) -> list[tuple[str, str]]:
    """Return who saw whose answer of the same round, in the first round of a mode."""
    held = await hold(mode, names=("ada", "bo", "cy", "dee")[:agents], rounds=1)
    words = {turn.answer.position: turn.agent_id for turn in held.turns() if turn.outcome == "answered"}
    text = {turn.agent_id: held.request_of(turn).messages[-1].content for turn in held.turns()}
    return [(reader, speaker) for reader, shown in text.items() for word, speaker in words.items() if word in shown]


BEFORE = [("bo", "ada"), ("cy", "ada"), ("cy", "bo")]


@shows(0, "class", "CollaborativeMode", "ExpertPanelMode")
@pytest.mark.parametrize("mode", ["collaborative", "expert-panel"])
async def test_all_agents_speak_at_once(mode: str) -> None:
    assert await order(mode) == []


@shows(0, "class", "AdversarialMode", "SocraticMode")
@shows(3, "class", "DevilsAdvocateMode")
@pytest.mark.parametrize("mode", ["adversarial", "socratic", "devils-advocate"])
async def test_one_speaks_after_another(mode: str) -> None:
    seen = await order(mode)
    assert ("bo", "ada") in seen
    assert ("cy", "bo") in seen
    assert set(seen) <= set(BEFORE)


@shows(3, "class", "DelphiMode")
async def test_delphi_shows_participants_without_their_names() -> None:
    held = await hold("delphi", names=("ada", "bo"))
    first, second = (held.request_of(turn).messages[-1].content for turn in held.turns() if turn.round == 2)
    assert "answer of Participant 2" in first
    assert "answer of Participant 1" in second
    assert "Participants: 2" in first
    assert not any(name in text for text in (first, second) for name in ("Ada", "Bo"))


@shows(3, "class", "RedTeamBlueTeamMode")
async def test_even_places_attack_and_odd_places_defend_each_among_themselves() -> None:
    held = await hold("red-team-blue-team")
    roles = {turn.agent_id: turn.role for turn in held.turns()}
    assert roles == {"ada": "red", "bo": "blue", "cy": "red", "dee": "blue"}
    for turn in held.turns():
        if turn.round == 2:
            shown = {word[1] for word in LABEL.findall(held.request_of(turn).messages[-1].content)}
            own = [name.title() for name, role in roles.items() if role == turn.role and name != turn.agent_id]
            assert shown == {"you", *own}


@shows(3, "class", "BaseModeStrategy")
@shows(0, "class", "DebateModeStrategy", "ModeRegistry")
@shows(0, "type", "DebateMode")
async def test_a_custom_mode_runs_under_its_own_name() -> None:
    class Relay(BaseModeStrategy):
        name = "relay"

        def next_stage(self, view: Any) -> Any:
            if self.stage_done(view, "relay"):
                return EndRound()
            return Stage(name="relay", turns=(TurnSpec(slot=0, agent=view.agents[-1].id, task="Run."),))

    strategy: DebateModeStrategy = Relay()
    modes = ModeRegistry()
    modes.register_mode("relay", strategy)
    assert (modes.has_mode("relay"), modes.get_mode("relay")) == (True, strategy)
    assert {"collaborative", "delphi", "relay"} <= set(modes.get_available_modes())
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Coffee"}), storage="memory://")
    result = await table.debate("Tea?", mode=Relay(), rounds=1)
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["bo"]
    assert modes.remove_mode("relay")
    assert not modes.has_mode("relay")
    modes.clear()
    assert modes.get_available_modes() == ()
    modes.reset()
    assert modes.has_mode("socratic")


@shows(3, "behaviour", "custom or generated perspectives")
async def test_perspectives_go_round() -> None:
    held = await hold("expert-panel", rounds=1, perspectives=["Technical", "Economic"])
    text = [held.request_of(turn).messages[-1].content for turn in held.turns()]
    assert [re.findall(r"\| (Technical|Economic)$", one, re.MULTILINE)[0] for one in text] == [
        "Technical",
        "Economic",
    ] * 2


@shows(3, "class", "AnonymizationProcessor")
def test_answers_lose_their_names() -> None:
    hidden = AnonymizationProcessor().process(view(said("Ada", "Yes"), said("Bo", "No", slot=1)))
    assert [turn.agent_name for turn in hidden.transcript] == ["Participant 1", "Participant 2"]


@shows(3, "class", "StatisticsProcessor")
def test_answers_are_counted() -> None:
    turns = said("Ada", "Yes", stance="YES"), said("Bo", "No", slot=1, stance="NO")
    counted = StatisticsProcessor().process(planned(view(*turns)))
    assert counted.turn is not None
    assert "Participants: 2" in str(counted.turn.notes)
    assert "mean 80.0 %" in str(counted.turn.notes)


@shows(3, "class", "StanceValidator", "ConfidenceRangeValidator", "RequiredFieldsValidator")
def test_answers_are_checked() -> None:
    answer = AgentResponse(agent_id="ada", agent_name="Ada", position="Yes", stance="YES", timestamp=NOON)
    marked = StanceValidator("NO").validate(answer, view())
    assert marked.role_violation == RoleViolation(expected="NO", actual="YES")
    wild = answer.model_copy(update={"confidence": 7.0})
    assert ConfidenceRangeValidator().validate(wild, view()).confidence == 1.0
    empty = answer.model_copy(update={"position": "", "reasoning": ""})
    assert RequiredFieldsValidator().validate(empty, view()).position


def test_modes_say_whether_they_look_for_groupthink() -> None:
    assert CollaborativeMode().needs_groupthink_detection
    assert not AdversarialMode().needs_groupthink_detection
    assert not DevilsAdvocateMode().needs_groupthink_detection
