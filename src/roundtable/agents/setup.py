"""Agents from the keys that are set, and light ones for the work beside a debate."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.agents.vendors import ChatGPTAgent, ClaudeAgent, GeminiAgent, PerplexityAgent
from roundtable.gateway import Gateway
from roundtable.logs import ROOT
from roundtable.settings import Settings
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.agents.base import BaseAgent
    from roundtable.agents.health import AgentStatus
    from roundtable.agents.registry import AgentRegistry
    from roundtable.protocols import Agent

__all__ = [
    "AgentSetup",
    "ModelTiers",
    "ProviderAvailability",
    "check_provider_availability",
    "create_default_agents",
    "create_light_model_agent",
    "get_availability_report",
    "select_preferred_agent",
    "setup_agents",
    "setup_providers",
]

logger: logging.Logger = logging.getLogger(f"{ROOT}.agents")


class ModelTiers(NamedTuple):
    """The two models of a provider."""

    heavy: str
    """Debates."""
    light: str
    """Does the work beside a debate, such as finding key points."""


class ProviderAvailability(NamedTuple):
    """Whether the environment offers a provider."""

    provider: str
    """Name of the provider."""
    available: bool
    """Whether its key is set."""
    reason: str | None = None
    """Why it is not available."""


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What `setup_agents` found and made."""

    providers: tuple[ProviderAvailability, ...]
    """The providers, in the order they are tried."""
    agents: tuple[AgentStatus, ...]
    """The agents kept by the registry, with whether they are active and why not."""
    warnings: tuple[str, ...]
    """What the caller should know: keys that are missing, checks that failed."""


_VENDORS: Final = (
    ("anthropic", "Claude", ClaudeAgent, "anthropic_api_key"),
    ("openai", "ChatGPT", ChatGPTAgent, "openai_api_key"),
    ("google", "Gemini", GeminiAgent, "google_api_key"),
    ("perplexity", "Perplexity", PerplexityAgent, "perplexity_api_key"),
)


def check_provider_availability(settings: Settings | None = None) -> tuple[ProviderAvailability, ...]:
    """Say which of the providers with a key of their own the environment offers.

    Args:
        settings: What the environment says; read now when left out.

    Example:
        >>> check_provider_availability(Settings(openai_api_key="sk-1"))[:2]  # doctest: +NORMALIZE_WHITESPACE
        (ProviderAvailability(provider='anthropic', available=False, reason='ANTHROPIC_API_KEY is not set'),
         ProviderAvailability(provider='openai', available=True, reason=None))
    """
    settings = Settings.from_env() if settings is None else settings
    found: list[ProviderAvailability] = []
    for provider, _, _, key in _VENDORS:
        is_set = bool(getattr(settings, key))
        found.append(
            ProviderAvailability(provider, is_set, None if is_set else f"{Settings.variables(key)[0]} is not set")
        )
    return tuple(found)


def setup_providers(
    registry: AgentRegistry, settings: Settings | None = None, *, tiers: Mapping[str, ModelTiers] | None = None
) -> tuple[ProviderAvailability, ...]:
    """Register the providers whose keys are set: anthropic, openai, google, perplexity, in this order.

    Their agents share one gateway, and with it breakers and limits.

    Args:
        registry: Where they are registered.
        settings: What the environment says; read now when left out.
        tiers: Models in place of the providers' own, by provider.

    Returns:
        All four, with whether they are available.

    Raises:
        ConfigurationError: A variable of the environment has a value that is not allowed.
    """
    # Late: whoever imports agents need not load every dialect.
    from roundtable.providers import BUILTIN_SPECS

    settings = Settings.from_env() if settings is None else settings
    gateway = Gateway()
    offered = check_provider_availability(settings)
    for (provider, _, kind, _), offer in zip(_VENDORS, offered, strict=True):
        if not offer.available:
            continue
        spec, own = BUILTIN_SPECS[provider], (tiers or {}).get(provider)
        heavy, light = own or (spec.default_model, spec.light_model)
        registry.register_provider(provider, partial(_make, kind, gateway, settings, heavy), heavy, light)
    return offered


def _make(
    kind: type[BaseAgent], gateway: Gateway, settings: Settings, default_model: str | None, config: AgentConfig
) -> BaseAgent:
    from roundtable.providers import chat_model

    config = config if config.model else config.model_copy(update={"model": default_model})
    bare = chat_model(f"{config.provider}:{config.model}", settings=settings)
    return kind(config, gateway.guard(bare, retry=config.retry))


def create_default_agents(registry: AgentRegistry) -> tuple[Agent, ...]:
    """Make one agent for each of the four providers that is registered, with the id `<provider>-default`.

    An id that is taken is left to who has it.
    """
    made: list[Agent] = []
    for provider, name, _, _ in _VENDORS:
        agent_id = f"{provider}-default"
        if not registry.has_provider(provider):
            continue
        if registry.has_agent(agent_id):
            logger.debug("there already is an agent with the id %r", agent_id)
            continue
        model = registry.get_default_model(provider)
        made.append(registry.create_agent(AgentConfig(id=agent_id, name=name, provider=provider, model=model)))
    return tuple(made)


async def setup_agents(
    registry: AgentRegistry,
    settings: Settings | None = None,
    *,
    tiers: Mapping[str, ModelTiers] | None = None,
    run_health_check: bool = True,
) -> AgentSetup:
    """Register the providers whose keys are set, make an agent of each, and see whether they answer.

    `registry.aclose()` closes their connections.

    Args:
        registry: Where they are kept.
        settings: What the environment says, keys included; read now when left out.
        tiers: Models in place of the providers' own, by provider.
        run_health_check: Whether to ask each agent for a word, which is a small paid call; those that fail are
            kept but not active.

    Example:
        >>> import anyio
        >>> from roundtable.agents import AgentRegistry
        >>> async def main():
        ...     return await setup_agents(AgentRegistry(), Settings(openai_api_key="sk-1"), run_health_check=False)
        >>> [agent.id for agent in anyio.run(main).agents]
        ['openai-default']
    """
    providers = setup_providers(registry, settings, tiers=tiers)
    warnings = [f"{one.provider}: {one.reason}" for one in providers if not one.available]
    create_default_agents(registry)
    if not registry.get_all_agent_ids():
        warnings.append("there are no agents: no key is set")
    elif run_health_check:
        found = await registry.run_health_checks()
        failed = [f"{agent_id}: {health.error}" for agent_id, health in found.items() if not health.healthy]
        warnings += failed
        if len(failed) == len(found):
            warnings.append("all agents failed their health checks")
    for warning in warnings:
        logger.warning("%s", warning)
    return AgentSetup(providers, registry.get_agent_health_status(), tuple(warnings))


def get_availability_report(setup: AgentSetup) -> str:
    """Render what `setup_agents` found for people.

    Example:
        >>> print(get_availability_report(AgentSetup((ProviderAvailability("openai", True),), (), ())))
        Providers:
          ✓ openai
        Agents:
          none
    """
    lines = ["Providers:"]
    lines += [
        f"  {'✓' if one.available else '✗'} {one.provider}" + (f" ({one.reason})" if one.reason else "")
        for one in setup.providers
    ]
    lines.append("Agents:")
    lines += [
        f"  {'✓' if agent.active else '✗'} {agent.name} ({agent.id}, {agent.model})"
        + (f": {agent.error}" if agent.error else "")
        for agent in setup.agents
    ] or ["  none"]
    if setup.warnings:
        lines += ["Warnings:", *(f"  {warning}" for warning in setup.warnings)]
    return "\n".join(lines)


def create_light_model_agent(
    base: Agent, registry: AgentRegistry, *, id_suffix: str, max_tokens: int | None = None
) -> Agent:
    """Make an agent of the same provider that speaks through its light model; the registry does not keep it.

    Args:
        base: The agent it stands beside.
        registry: Knows the provider and its light model.
        id_suffix: What it is for, such as `"consensus"`; the id becomes `<base>-light-<suffix>`.
        max_tokens: Most tokens of one completion; as the base agent when left out.

    Returns:
        The light agent; `base` itself when the registry does not know its provider, or no model of it.

    Raises:
        ConfigurationError: The provider cannot make the agent, such as for want of a key.
    """
    from roundtable.agents.registry import config_of

    config = config_of(base)
    light = registry.get_light_model(config.provider) if registry.has_provider(config.provider) else None
    if light is None:
        return base
    return registry.build(
        config.model_copy(
            update={
                "id": f"{config.id}-light-{id_suffix}",
                "name": f"{config.name} (Light)",
                "model": light,
                "max_tokens": config.max_tokens if max_tokens is None else max_tokens,
            }
        )
    )


def select_preferred_agent(registry: AgentRegistry, preferred_provider: str | None = None) -> Agent | None:
    """Give the first active agent of a provider, else the first active one, else `None`."""
    active = registry.get_active_agents()
    preferred = (agent for agent in active if agent.get_info().provider == preferred_provider)
    return next(preferred, active[0] if active else None)
