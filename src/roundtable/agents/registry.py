"""Agents and the providers they can be made from, with the TypeScript API's method names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import anyio

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.types import AgentConfig, AgentHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.agents.base import BaseAgent
    from roundtable.protocols import Agent, AgentToolkit
    from roundtable.types import AgentInfo

__all__ = ["AgentFactory", "AgentRegistry", "config_of", "get_global_registry", "reset_global_registry"]

AgentFactory: TypeAlias = "Callable[[AgentConfig], BaseAgent]"
"""Makes an agent from its configuration."""


@dataclass(frozen=True, slots=True)
class _Provider:
    factory: AgentFactory
    default_model: str | None


class AgentRegistry:
    """Knows how to make agents of each provider, and keeps those made by `create_agent`.

    Example:
        >>> from roundtable.agents import BaseAgent
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentConfig
        >>> registry = AgentRegistry()
        >>> registry.register_provider("scripted", lambda config: BaseAgent(config, ScriptedModel([])), "scripted")
        >>> registry.create_agent(AgentConfig(id="ada", name="Ada", provider="scripted")).name
        'Ada'
    """

    def __init__(self) -> None:
        self._providers: Registry[_Provider] = Registry("provider")
        self._agents: dict[str, Agent] = {}
        self._inactive: dict[str, str | None] = {}
        self._toolkit: AgentToolkit | None = None

    def register_provider(self, provider: str, factory: AgentFactory, default_model: str | None = None) -> None:
        """Add a provider, replacing one of the same name."""
        self._providers.add(provider, _Provider(factory, default_model), replace=True)

    def find_with(self, finder: Callable[[str], None]) -> None:
        """Ask this function about a provider nobody knows, before it is refused; it may register it."""
        self._providers.finder = finder

    def has_provider(self, provider: str) -> bool:
        """Tell whether a provider is known."""
        return provider in self._providers

    def get_available_providers(self) -> tuple[str, ...]:
        """List the providers in the order they were added."""
        return self._providers.names()

    def get_default_model(self, provider: str) -> str | None:
        """Give the model used when a configuration names none.

        Raises:
            ConfigurationError: The provider is unknown.
        """
        return self._providers.get(provider).default_model

    def build(self, config: AgentConfig) -> BaseAgent:
        """Make an agent without keeping it.

        Raises:
            ConfigurationError: The provider is unknown, or cannot make this agent.
        """
        agent = self._providers.get(config.provider).factory(config)
        if self._toolkit is not None:
            agent.set_toolkit(self._toolkit)
        return agent

    def create_agent(self, config: AgentConfig) -> BaseAgent:
        """Make an agent and keep it under its id.

        Raises:
            ConfigurationError: The provider is unknown, or the id is taken.
        """
        if config.id in self._agents:
            msg = f"there already is an agent with the id {config.id!r}"
            raise ConfigurationError(msg, hint="Give every agent its own id.")
        agent = self.build(config)
        self._agents[config.id] = agent
        return agent

    def add_agent(self, agent: Agent) -> None:
        """Keep an agent made elsewhere.

        Raises:
            ConfigurationError: The id is taken.
        """
        if agent.id in self._agents:
            msg = f"there already is an agent with the id {agent.id!r}"
            raise ConfigurationError(msg, hint="Give every agent its own id.")
        self._agents[agent.id] = agent

    def resolve(self, configs: Iterable[AgentConfig]) -> dict[str, Agent]:
        """Give an agent for each configuration: the one kept under its id, else a new one that is not kept."""
        return {config.id: self._agents.get(config.id) or self.build(config) for config in configs}

    def get_agent(self, agent_id: str) -> Agent | None:
        """Give an agent that was kept."""
        return self._agents.get(agent_id)

    def get_all_agent_ids(self) -> tuple[str, ...]:
        """List the ids of all agents kept."""
        return tuple(self._agents)

    def get_active_agents(self) -> tuple[Agent, ...]:
        """List the agents whose last health check, if any, succeeded."""
        return tuple(agent for agent in self._agents.values() if agent.id not in self._inactive)

    def get_agent_info_list(self) -> tuple[AgentInfo, ...]:
        """Describe all agents kept."""
        return tuple(agent.get_info() for agent in self._agents.values())

    def remove_agent(self, agent_id: str) -> bool:
        """Forget an agent; tell whether it was known."""
        self._inactive.pop(agent_id, None)
        return self._agents.pop(agent_id, None) is not None

    def set_toolkit(self, toolkit: AgentToolkit) -> None:
        """Offer these tools to agents made from now on and to those kept."""
        self._toolkit = toolkit
        for agent in self._agents.values():
            accept = getattr(agent, "set_toolkit", None)
            if accept is not None:
                accept(toolkit)

    async def run_health_checks(self) -> dict[str, AgentHealth]:
        """Check all agents at once; those that fail are left out of `get_active_agents` until they pass."""
        agents = list(self._agents.values())
        found: dict[str, AgentHealth] = {}

        async def check(agent: Agent) -> None:
            try:
                found[agent.id] = await agent.health_check()
            except Exception as error:  # noqa: BLE001  (an agent is foreign code; one must not hide the others)
                found[agent.id] = AgentHealth(healthy=False, error=str(error) or type(error).__name__)

        async with anyio.create_task_group() as group:
            for agent in agents:
                group.start_soon(check, agent)
        self._inactive = {agent_id: health.error for agent_id, health in found.items() if not health.healthy}
        return {agent.id: found[agent.id] for agent in agents}


def config_of(agent: Agent) -> AgentConfig:
    """Give the configuration an agent was made from, or what it says about itself.

    Example:
        >>> from roundtable.testing import scripted_agents
        >>> config_of(scripted_agents({"ada": "Tea"})[0]).name
        'Ada'
    """
    config = getattr(agent, "config", None)
    if isinstance(config, AgentConfig):
        return config
    info = agent.get_info()
    return AgentConfig(id=info.id, name=info.name, provider=info.provider, model=info.model)


@cache
def get_global_registry() -> AgentRegistry:
    """Give the registry shared by code that was handed none. The library itself never uses it."""
    return AgentRegistry()


def reset_global_registry() -> None:
    """Forget the shared registry; the next call makes a fresh one."""
    get_global_registry.cache_clear()
