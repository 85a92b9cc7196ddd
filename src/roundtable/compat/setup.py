"""Set-up of agents from the keys in the environment, and agents with light models for auxiliary work."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.agents.registry import AgentRegistry
from roundtable.compat.agents import ChatGPTAgent, ClaudeAgent, GeminiAgent, PerplexityAgent
from roundtable.core.types.agents import AgentConfig
from roundtable.gateway import Gateway
from roundtable.logs import ROOT
from roundtable.modes.registry import ModeRegistry
from roundtable.settings import Settings
from roundtable.vendors import VENDORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.agents.base import BaseAgent
    from roundtable.agents.health import AgentStatus
    from roundtable.core.protocols import Agent

__all__ = [
    "AgentSetup",
    "ModelTiers",
    "ProviderAvailability",
    "check_provider_availability",
    "create_default_agents",
    "create_light_model_agent",
    "get_availability_report",
    "get_global_mode_registry",
    "get_global_registry",
    "reset_global_mode_registry",
    "reset_global_registry",
    "select_preferred_agent",
    "setup_agents",
    "setup_providers",
]

logger: logging.Logger = logging.getLogger(f"{ROOT}.agents")

_AGENT_CLASSES: Final[Mapping[str, type[BaseAgent]]] = {
    kind.vendor: kind for kind in (ClaudeAgent, ChatGPTAgent, GeminiAgent, PerplexityAgent)
}


class ModelTiers(NamedTuple):
    """The two models of a provider."""

    heavy: str
    """Model that debates."""
    light: str
    """Model for auxiliary work, such as finding key points."""


class ProviderAvailability(NamedTuple):
    """Whether a provider can be used in this environment."""

    provider: str
    """Name of the provider."""
    available: bool
    """Whether its key is set."""
    reason: str | None = None
    """Why it is not available."""


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """Result of `setup_agents`."""

    providers: tuple[ProviderAvailability, ...]
    """The providers, in the order in which they are tried."""
    agents: tuple[AgentStatus, ...]
    """The agents in the registry, whether they are active, and if not, why."""
    warnings: tuple[str, ...]
    """Warnings about missing keys and failed checks."""


def check_provider_availability(settings: Settings | None = None) -> tuple[ProviderAvailability, ...]:
    """Return, for each provider that needs a key, whether the key is set.

    Args:
        settings: The settings; read from the environment when left out.

    Example:
        >>> check_provider_availability(Settings(openai_api_key="sk-1"))[:2]  # doctest: +NORMALIZE_WHITESPACE
        (ProviderAvailability(provider='anthropic', available=False, reason='ANTHROPIC_API_KEY is not set'),
         ProviderAvailability(provider='openai', available=True, reason=None))
    """
    settings = Settings.from_env() if settings is None else settings
    availability: list[ProviderAvailability] = []
    for provider in _AGENT_CLASSES:
        variables = VENDORS[provider].key_env
        is_set = any(map(settings.get, variables))
        availability.append(ProviderAvailability(provider, is_set, None if is_set else f"{variables[0]} is not set"))
    return tuple(availability)


def setup_providers(
    registry: AgentRegistry, settings: Settings | None = None, *, tiers: Mapping[str, ModelTiers] | None = None
) -> tuple[ProviderAvailability, ...]:
    """Register the providers whose keys are set: anthropic, openai, google, perplexity, in this order.

    The providers' agents share one gateway, so they share its circuit breakers and limits.

    Args:
        registry: Registry in which the providers are registered.
        settings: The settings; read from the environment when left out.
        tiers: Models in place of the providers' own, by provider.

    Returns:
        All four providers, and whether each is available.

    Raises:
        ConfigurationError: A variable of the environment has a value that is not allowed.
    """
    settings = Settings.from_env() if settings is None else settings
    gateway = Gateway()
    availability = check_provider_availability(settings)
    for provider, is_available, _ in availability:
        if not is_available:
            continue
        vendor, tier, agent_class = VENDORS[provider], (tiers or {}).get(provider), _AGENT_CLASSES[provider]
        heavy, light = tier or (vendor.default_model, vendor.light_model)
        registry.register_provider(provider, partial(_make_agent, agent_class, gateway, settings, heavy), heavy, light)
    return availability


def _make_agent(
    agent_class: type[BaseAgent], gateway: Gateway, settings: Settings, default_model: str | None, config: AgentConfig
) -> BaseAgent:
    from roundtable.providers import chat_model

    config = config if config.model else config.model_copy(update={"model": default_model})
    model = chat_model(f"{config.provider}:{config.model}", settings=settings)
    return agent_class(config, gateway.guard(model, retry=config.retry))


def create_default_agents(registry: AgentRegistry) -> tuple[Agent, ...]:
    """Create one agent, with the id `<provider>-default`, for each of the four providers that is registered.

    If an agent with this id exists, it is kept.
    """
    agents: list[Agent] = []
    for provider in _AGENT_CLASSES:
        agent_id = f"{provider}-default"
        if not registry.has_provider(provider):
            continue
        if registry.has_agent(agent_id):
            logger.debug("there already is an agent with the id %r", agent_id)
            continue
        model = registry.get_default_model(provider)
        agents.append(
            registry.create_agent(
                AgentConfig(id=agent_id, name=VENDORS[provider].label, provider=provider, model=model)
            )
        )
    return tuple(agents)


async def setup_agents(
    registry: AgentRegistry,
    settings: Settings | None = None,
    *,
    tiers: Mapping[str, ModelTiers] | None = None,
    run_health_check: bool = True,
) -> AgentSetup:
    """Register the providers whose keys are set, create an agent for each, and check whether the agents answer.

    `registry.aclose()` closes the agents' connections.

    Args:
        registry: Registry in which providers and agents are stored.
        settings: The settings, including the keys; read from the environment when left out.
        tiers: Models in place of the providers' own, by provider.
        run_health_check: Whether to check each agent with a small paid call; agents that fail are stored but not
            active.

    Example:
        >>> import anyio
        >>> from roundtable.agents import AgentRegistry
        >>> async def main():
        ...     return await setup_agents(AgentRegistry(), Settings(openai_api_key="sk-1"), run_health_check=False)
        >>> [agent.id for agent in anyio.run(main).agents]
        ['openai-default']
    """
    providers = setup_providers(registry, settings, tiers=tiers)
    warnings = [f"{provider.provider}: {provider.reason}" for provider in providers if not provider.available]
    create_default_agents(registry)
    if not registry.get_all_agent_ids():
        warnings.append("there are no agents: no key is set")
    elif run_health_check:
        results = await registry.run_health_checks()
        failed = [f"{agent_id}: {health.error}" for agent_id, health in results.items() if not health.healthy]
        warnings += failed
        if len(failed) == len(results):
            warnings.append("all agents failed their health checks")
    for warning in warnings:
        logger.warning("%s", warning)
    return AgentSetup(providers, registry.get_agent_health_status(), tuple(warnings))


def get_availability_report(setup: AgentSetup) -> str:
    """Render the result of `setup_agents` as text for people.

    Example:
        >>> print(get_availability_report(AgentSetup((ProviderAvailability("openai", True),), (), ())))
        Providers:
          ✓ openai
        Agents:
          none
    """
    lines = ["Providers:"]
    lines += [
        f"  {'✓' if provider.available else '✗'} {provider.provider}"
        + (f" ({provider.reason})" if provider.reason else "")
        for provider in setup.providers
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
    """Create an agent with the light model of the same provider; the registry does not store the new agent.

    Args:
        base: The agent whose provider and configuration the new agent uses.
        registry: Registry that has the provider and its light model.
        id_suffix: Purpose of the new agent, such as `"consensus"`; the id becomes `<base>-light-<suffix>`.
        max_tokens: Maximum tokens of one completion; the base agent's limit when left out.

    Returns:
        The light agent; `base` itself if the registry does not know its provider, or knows no light model of it.

    Raises:
        ConfigurationError: The provider cannot create the agent, for example because its key is missing.
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
    """Return the first active agent of a provider, else the first active agent, else `None`."""
    active = registry.get_active_agents()
    preferred = (agent for agent in active if agent.get_info().provider == preferred_provider)
    return next(preferred, active[0] if active else None)


@cache
def get_global_registry() -> AgentRegistry:
    """Return the shared registry of agents, for code without a registry of its own."""
    return AgentRegistry()


def reset_global_registry() -> None:
    """Discard the shared registry of agents; the next call of `get_global_registry` creates a new one."""
    get_global_registry.cache_clear()


@cache
def get_global_mode_registry() -> ModeRegistry:
    """Return the shared registry of modes, for code without a registry of its own."""
    return ModeRegistry()


def reset_global_mode_registry() -> None:
    """Discard the shared registry of modes; the next call of `get_global_mode_registry` creates a new one."""
    get_global_mode_registry.cache_clear()
