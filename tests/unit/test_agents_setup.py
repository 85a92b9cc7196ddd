"""Agents from the keys that are set, light agents, and the report on what is there."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable

import pytest

from roundtable.agents import (
    AgentRegistry,
    BaseAgent,
    ModelTiers,
    check_provider_availability,
    create_chatgpt_agent,
    create_claude_agent,
    create_default_agents,
    create_gemini_agent,
    create_light_model_agent,
    create_perplexity_agent,
    get_availability_report,
    select_preferred_agent,
    setup_agents,
    setup_providers,
)
from roundtable.api.assembly import TableParts
from roundtable.api.table_options import TableOptions
from roundtable.errors import APINetworkError
from roundtable.gateway import FallbackModel, Gateway, GuardedModel
from roundtable.providers import Delay, chat_model
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply, http_reply
from roundtable.types import AgentConfig, ProviderConfig

ALL = Settings(anthropic_api_key="sk-ant-1", openai_api_key="sk-1", google_api_key="g-1", perplexity_api_key="pplx-1")


def refuse(seen: Seen) -> WireReply:
    return http_reply(b"{}", status=401)


def test_availability_names_the_variable_that_is_missing() -> None:
    assert list(map(tuple, check_provider_availability(Settings(google_api_key="g")))) == [
        ("anthropic", False, "ANTHROPIC_API_KEY is not set"),
        ("openai", False, "OPENAI_API_KEY is not set"),
        ("google", True, None),
        ("perplexity", False, "PERPLEXITY_API_KEY is not set"),
    ]


def test_the_environment_is_read_when_no_settings_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", "pplx-1")
    assert check_provider_availability()[3].available
    registry = AgentRegistry()
    setup_providers(registry)
    assert "perplexity" in registry.get_registered_providers()


def test_providers_come_with_both_of_their_models_which_the_caller_may_replace() -> None:
    registry = AgentRegistry()
    setup_providers(registry, ALL, tiers={"google": ModelTiers("gemini-big", "gemini-small")})
    names = registry.get_registered_providers()
    assert [(name, registry.get_default_model(name), registry.get_light_model(name)) for name in names] == [
        ("anthropic", "claude-sonnet-4-5", "claude-haiku-4-5"),
        ("openai", "gpt-5.2", "gpt-5-mini"),
        ("google", "gemini-big", "gemini-small"),
        ("perplexity", "sonar-pro", "sonar"),
    ]
    own = registry.build(AgentConfig(id="g", name="G", provider="google", model="gemini-mine"))
    assert own.model == "gemini-mine"
    assert registry.build(AgentConfig(id="h", name="H", provider="google")).model == "gemini-big"


def test_default_agents_share_one_gateway_and_avoid_used_ids() -> None:
    registry = AgentRegistry()
    setup_providers(registry, ALL)
    made = create_default_agents(registry)
    assert [(agent.id, agent.name, agent.get_info().model) for agent in made] == [
        ("anthropic-default", "Claude", "claude-sonnet-4-5"),
        ("openai-default", "ChatGPT", "gpt-5.2"),
        ("google-default", "Gemini", "gemini-3-flash-preview"),
        ("perplexity-default", "Perplexity", "sonar-pro"),
    ]
    models = [agent.chat_model for agent in made if isinstance(agent, BaseAgent)]
    assert len({model.gateway for model in models if isinstance(model, GuardedModel)}) == 1
    assert create_default_agents(registry) == ()


async def test_agents_that_do_not_answer_are_kept_and_not_active(caplog: pytest.LogCaptureFixture) -> None:
    with LoopbackServer(refuse) as down:
        settings = Settings(
            anthropic_api_key="sk-ant-1", openai_api_key="sk-1", anthropic_base_url=down.url, openai_base_url=down.url
        )
        registry = AgentRegistry()
        with caplog.at_level(logging.WARNING, "roundtable.agents"):
            found = await setup_agents(registry, settings)
        await registry.aclose()
    assert registry.get_active_agents() == ()
    assert [agent.active for agent in found.agents] == [False, False]
    assert found.warnings[:2] == ("google: GOOGLE_API_KEY is not set", "perplexity: PERPLEXITY_API_KEY is not set")
    assert found.warnings[-1] == "all agents failed their health checks"
    assert tuple(record.message for record in caplog.records) == found.warnings
    report = get_availability_report(found)
    assert "  ✓ openai\n  ✗ google (GOOGLE_API_KEY is not set)" in report
    assert "  ✗ Claude (anthropic-default, claude-sonnet-4-5): " in report
    assert report.endswith("Warnings:\n  " + "\n  ".join(found.warnings))
    assert "sk-ant-1" not in report


async def test_one_agent_that_answers_is_enough() -> None:
    with LoopbackServer(lambda seen: chat_reply("OK")) as well, LoopbackServer(refuse) as down:
        settings = Settings(
            perplexity_api_key="p", openai_api_key="sk-1", perplexity_base_url=well.url, openai_base_url=down.url
        )
        registry = AgentRegistry()
        found = await setup_agents(registry, settings)
        await registry.aclose()
    assert registry.get_active_agent_ids() == ("perplexity-default",)
    assert "all agents failed their health checks" not in found.warnings
    assert any(warning.startswith("openai-default: ") for warning in found.warnings)


async def test_without_keys_there_are_warnings_and_no_agents() -> None:
    found = await setup_agents(AgentRegistry(), Settings())
    assert (found.agents, found.warnings[-1], len(found.warnings)) == ((), "there are no agents: no key is set", 5)


def table_registry(**providers: ProviderConfig) -> AgentRegistry:
    return TableParts(TableOptions(settings=ALL, storage="memory://", providers=providers)).agents


def test_a_light_agent_is_created_next_to_its_base() -> None:
    registry = table_registry()
    base = registry.create_agent(AgentConfig(id="ada", name="Ada", provider="anthropic", max_tokens=100))
    light = create_light_model_agent(base, registry, id_suffix="consensus", max_tokens=8192)
    assert isinstance(light, BaseAgent)
    assert (light.id, light.name, light.model) == ("ada-light-consensus", "Ada (Light)", "claude-haiku-4-5")
    assert (light.config.max_tokens, registry.get_all_agent_ids()) == (8192, ("ada",))
    same = create_light_model_agent(base, registry, id_suffix="keypoints")
    assert isinstance(same, BaseAgent)
    assert same.config.max_tokens == 100


def test_the_models_of_a_table_are_data_of_its_callers() -> None:
    registry = table_registry(openai=ProviderConfig(model="gpt-mine", light_model="gpt-tiny"))
    base = registry.build(AgentConfig(id="ada", name="Ada", provider="openai"))
    assert base.model == registry.get_default_model("openai") == "gpt-mine"
    light = create_light_model_agent(base, registry, id_suffix="x")
    assert light.get_info().model == registry.get_light_model("openai") == "gpt-tiny"
    assert registry.build(AgentConfig(id="b", name="B", provider="openai", model="gpt-5.2")).model == "gpt-5.2"
    assert table_registry().get_light_model("scripted") is None


def test_an_agent_without_a_light_model_is_used_itself() -> None:
    (stranger,) = scripted_agents({"ada": "Tea"})
    registry = AgentRegistry()
    assert create_light_model_agent(stranger, registry, id_suffix="x") is stranger
    registry.register_provider("scripted", lambda made: BaseAgent(made, ScriptedModel([])))
    assert create_light_model_agent(stranger, registry, id_suffix="x") is stranger


def test_the_preferred_agent_is_active_and_of_the_preferred_provider_if_possible() -> None:
    registry = AgentRegistry()
    assert select_preferred_agent(registry) is None
    setup_providers(registry, ALL)
    create_default_agents(registry)
    chosen = [select_preferred_agent(registry, name) for name in (None, "google", "nobody")]
    assert [agent.id for agent in chosen if agent] == ["anthropic-default", "google-default", "anthropic-default"]
    registry.deactivate_agent("google-default")
    assert select_preferred_agent(registry, "google") is registry.get_agent("anthropic-default")


def test_a_model_by_name_uses_the_model_of_its_configuration() -> None:
    own = ProviderConfig(api_key="sk-1", model="gpt-mine")
    assert [chat_model(name, config=own, settings=Settings()).model for name in ("openai", "openai:gpt-5.2")] == [
        "gpt-mine",
        "gpt-5.2",
    ]


async def test_a_health_check_tries_each_model_once() -> None:
    with LoopbackServer(lambda seen: http_reply(b"{}", status=503)) as down:
        registry = AgentRegistry()
        found = await setup_agents(registry, Settings(openai_api_key="sk-1", openai_base_url=down.url))
        await registry.aclose()
        assert len(down.seen) == 1
    assert "attempts" not in (found.agents[0].error or "")


async def test_a_health_check_asks_the_next_model_of_a_fallback() -> None:
    gateway, asked = Gateway(), []
    dead, well = ScriptedModel([APINetworkError()] * 2), ScriptedModel(["OK"])
    ada = AgentConfig(id="ada", name="Ada", provider="scripted")
    for model, healthy in (
        (gateway.guard(dead), False),
        (FallbackModel(gateway.guard(dead), gateway.guard(well)), True),
    ):
        assert (await BaseAgent(ada, model).health_check()).healthy is healthy
        asked.append(len(dead.requests))
    assert asked == [1, 2]


async def test_a_health_check_has_a_short_time_limit() -> None:
    silent = ScriptedModel([Delay(60, "late")])
    guarded = Gateway(timeout_s=0.05).guard(silent)
    health = await BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), guarded).health_check()
    assert health.error == "no complete answer within 0.05 s"
    assert [Gateway(timeout_s=of).guard(silent).without_retries(15).guard.timeout_s for of in (None, 5, 120)] == [
        15,
        5,
        15,
    ]


@pytest.mark.parametrize(
    "create", [create_claude_agent, create_chatgpt_agent, create_gemini_agent, create_perplexity_agent]
)
def test_a_missing_key_is_named_with_the_place_to_set_it(create: Callable[..., BaseAgent]) -> None:
    kinds = {name: parameter.kind for name, parameter in inspect.signature(create).parameters.items()}
    assert kinds.pop("config") == kinds.pop("toolkit") == inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}
