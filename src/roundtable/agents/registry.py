"""The registry of agents and of the providers that create them, with the method names of the TypeScript API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import anyio

from roundtable.agents.health import AgentStatus, HealthCache
from roundtable.agents.synthesis import Synthesizer
from roundtable.core.base.registry import Registry
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentConfig, AgentHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roundtable.agents.base import BaseAgent
    from roundtable.core.protocols import Agent, AgentToolkit, ChatModel, Clock
    from roundtable.core.types.agents import AgentInfo

__all__ = [
    "AgentFactory",
    "AgentRegistry",
    "config_of",
    "first_synthesizer",
]

AgentFactory: TypeAlias = "Callable[[AgentConfig], BaseAgent]"
"""A function that creates an agent from its configuration."""


@dataclass(frozen=True, slots=True)
class _ProviderEntry:
    factory: AgentFactory
    default_model: str | None
    light_model: str | None


def _family(model: str) -> str:
    """Return the first word of a model's name, such as `gpt` of `gpt-5.2`; empty if it has fewer than three letters."""
    word = re.match("[a-z]{3,}", model.lower())
    return "" if word is None else word[0]


class AgentRegistry:
    """Registry that creates agents of each provider, and stores the agents that `create_agent` creates.

    Args:
        clock: Source of time; results of health checks are valid for 60 s.

    Example:
        >>> from roundtable.agents import BaseAgent
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentConfig
        >>> registry = AgentRegistry()
        >>> registry.register_provider("scripted", lambda config: BaseAgent(config, ScriptedModel([])), "scripted")
        >>> registry.create_agent(AgentConfig(id="ada", name="Ada", provider="scripted")).name
        'Ada'
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._providers: Registry[_ProviderEntry] = Registry("provider")
        self._providers.suggests = self.suggest_name
        self._agents: dict[str, Agent] = {}
        self._created: dict[str, BaseAgent] = {}
        self._deactivated: dict[str, str | None] = {}
        self._failed: dict[str, str | None] = {}
        self._toolkit: AgentToolkit | None = None
        self.health: HealthCache = HealthCache(clock=clock)
        """Results of the health checks of the last 60 s."""

    def register_provider(
        self,
        provider: str,
        factory: AgentFactory,
        default_model: str | None = None,
        light_model: str | None = None,
    ) -> None:
        """Add a provider; it replaces a provider with the same name.

        Args:
            provider: Name of the provider.
            factory: Function that creates the agents of the provider.
            default_model: Model of agents whose configuration names no model.
            light_model: Small model for auxiliary work such as analysis; if left out, the default model.
        """
        self._providers.add(provider, _ProviderEntry(factory, default_model, light_model), replace=True)

    def find_with(self, finder: Callable[[str], None]) -> None:
        """Set a function that is called with the name of an unknown provider, and may register it."""
        self._providers.finder = finder

    def suggest_name(self, name: str) -> str:
        """Return how to write an unknown name that looks like a model, such as `openai:gpt-5.2`; empty if unknown."""
        for provider in self._providers.names():
            entry = self._providers.get(provider)
            models = [model for model in (entry.default_model, entry.light_model) if model is not None]
            if _family(name) and _family(name) in map(_family, models):
                return f"{provider}:{name}"
        return ""

    def has_provider(self, provider: str) -> bool:
        """Check whether a provider is known."""
        return provider in self._providers

    def get_available_providers(self) -> tuple[str, ...]:
        """List the providers in the order they were added."""
        return self._providers.names()

    def get_registered_providers(self) -> tuple[str, ...]:
        """List the providers in the order they were added; an alias of `get_available_providers`."""
        return self.get_available_providers()

    def get_provider_factory(self, provider: str) -> AgentFactory | None:
        """Return the function that creates the agents of a provider; `None` if the provider is unknown."""
        return self._providers.get(provider).factory if provider in self._providers else None

    def get_default_model(self, provider: str) -> str | None:
        """Return the model that a provider uses if a configuration names no model.

        Raises:
            ConfigurationError: The provider is unknown.
        """
        return self._providers.get(provider).default_model

    def get_light_model(self, provider: str) -> str | None:
        """Return the small model for auxiliary work such as analysis; if there is none, the default model.

        Raises:
            ConfigurationError: The provider is unknown.
        """
        entry = self._providers.get(provider)
        return entry.light_model or entry.default_model

    def build(self, config: AgentConfig) -> BaseAgent:
        """Create an agent without storing it.

        Raises:
            ConfigurationError: The provider is unknown, or cannot create this agent.
        """
        agent = self._providers.get(config.provider).factory(config)
        if self._toolkit is not None:
            agent.set_toolkit(self._toolkit)
        return agent

    def create_agent(self, config: AgentConfig) -> BaseAgent:
        """Create an agent and store it under its id.

        Raises:
            ConfigurationError: The provider is unknown, or the id is taken.
        """
        self._check_free(config.id)
        agent = self.build(config)
        self._agents[config.id] = self._created[config.id] = agent
        return agent

    def add_agent(self, agent: Agent) -> None:
        """Store an agent that was created elsewhere.

        Raises:
            ConfigurationError: The id is taken.
        """
        self._check_free(agent.id)
        self._agents[agent.id] = agent

    def _check_free(self, agent_id: str) -> None:
        if agent_id in self._agents:
            msg = f"there already is an agent with the id {agent_id!r}"
            raise ConfigurationError(msg, hint="Give every agent its own id.")

    def resolve(self, configs: Iterable[AgentConfig]) -> dict[str, Agent]:
        """Return an agent for each configuration: the stored agent with the same id, else a new one, not stored."""
        return {config.id: self._agents.get(config.id) or self.build(config) for config in configs}

    def get_agent(self, agent_id: str) -> Agent | None:
        """Return a stored agent; `None` if there is none with this id."""
        return self._agents.get(agent_id)

    def get_agent_or_throw(self, agent_id: str) -> Agent:
        """Return a stored agent.

        Raises:
            ConfigurationError: No agent has this id; the message lists the stored agents.
        """
        return self.get_agents([agent_id])[0]

    def get_agents(self, agent_ids: Sequence[str]) -> tuple[Agent, ...]:
        """Return the stored agents with these ids.

        Raises:
            ConfigurationError: One of the ids is unknown; the message lists the stored agents.
        """
        missing = [agent_id for agent_id in agent_ids if agent_id not in self._agents]
        if missing:
            known = ", ".join(self._agents) or "none"
            msg = f"unknown agent {', '.join(map(repr, missing))}. Known: {known}"
            raise ConfigurationError(msg, hint="Create the agent first, with create_agent or add_agent.")
        return tuple(self._agents[agent_id] for agent_id in agent_ids)

    def has_agent(self, agent_id: str) -> bool:
        """Check whether an agent with this id is stored."""
        return agent_id in self._agents

    def get_all_agent_ids(self) -> tuple[str, ...]:
        """List the ids of all stored agents."""
        return tuple(self._agents)

    def get_all_agents(self) -> tuple[Agent, ...]:
        """List all stored agents, in the order they were added."""
        return tuple(self._agents.values())

    def get_active_agent_ids(self) -> tuple[str, ...]:
        """List the ids of the agents that are active."""
        return tuple(filter(self.is_agent_active, self._agents))

    def get_active_agents(self) -> tuple[Agent, ...]:
        """List the agents that are not deactivated and whose last health check, if any, succeeded."""
        return tuple(self._agents[agent_id] for agent_id in self.get_active_agent_ids())

    def is_agent_active(self, agent_id: str) -> bool:
        """Check whether an agent is stored, is not deactivated, and did not fail its last health check."""
        return agent_id in self._agents and agent_id not in self._deactivated and agent_id not in self._failed

    def activate_agent(self, agent_id: str) -> bool:
        """Activate an agent again, and discard the reason why it was inactive. Return whether the agent is stored."""
        self._forget_state(agent_id)
        return agent_id in self._agents

    def deactivate_agent(self, agent_id: str, error: str | None = None) -> bool:
        """Deactivate an agent until `activate_agent` is called, even if health checks succeed.

        Return whether the agent is stored.
        """
        if agent_id not in self._agents:
            return False
        self._deactivated[agent_id] = error
        return True

    def get_agent_info_list(self) -> tuple[AgentInfo, ...]:
        """Describe all stored agents."""
        return tuple(agent.get_info() for agent in self._agents.values())

    def get_agent_health_status(self) -> tuple[AgentStatus, ...]:
        """Describe all stored agents: whether they are active and, if not, why."""
        return tuple(self._status(agent) for agent in self._agents.values())

    def get_active_agent_info_list(self) -> tuple[AgentStatus, ...]:
        """Describe the agents that are active."""
        return tuple(self._status(agent) for agent in self.get_active_agents())

    def _status(self, agent: Agent) -> AgentStatus:
        info = agent.get_info()
        error = self._deactivated.get(agent.id) or self._failed.get(agent.id)
        return AgentStatus(
            id=info.id,
            name=info.name,
            provider=info.provider,
            model=info.model,
            active=self.is_agent_active(agent.id),
            error=error,
        )

    def _forget_state(self, agent_id: str) -> None:
        self._deactivated.pop(agent_id, None)
        self._failed.pop(agent_id, None)
        self.health.forget(agent_id)

    def remove_agent(self, agent_id: str) -> bool:
        """Remove an agent; return whether it was stored."""
        self._forget_state(agent_id)
        self._created.pop(agent_id, None)
        return self._agents.pop(agent_id, None) is not None

    def remove_agents_by_prefix(self, prefix: str) -> int:
        """Remove the agents whose ids start with a prefix; return the number of removed agents."""
        matches = [agent_id for agent_id in self._agents if agent_id.startswith(prefix)]
        for agent_id in matches:
            self.remove_agent(agent_id)
        return len(matches)

    def clear_agents(self) -> None:
        """Remove all agents."""
        self.remove_agents_by_prefix("")

    def clear_providers(self) -> None:
        """Remove all providers; agents that were already created stay."""
        self._providers.clear()

    def clear(self) -> None:
        """Remove all agents and providers."""
        self.clear_agents()
        self.clear_providers()

    def set_toolkit(self, toolkit: AgentToolkit) -> None:
        """Set the tools of all stored agents, and of all agents that are created from now on."""
        self._toolkit = toolkit
        for agent in self._agents.values():
            set_toolkit = getattr(agent, "set_toolkit", None)
            if set_toolkit is not None:
                set_toolkit(toolkit)

    async def aclose(self) -> None:
        """Close the models of the stored agents that `create_agent` created; idempotent."""
        for agent in self._created.values():
            await agent.chat_model.aclose()

    async def run_health_checks(self, *, fresh: bool = False) -> dict[str, AgentHealth]:
        """Check all agents at the same time. An agent that fails is missing in `get_active_agents` until it succeeds.

        A check is a small call that costs money, so a result of the last 60 s is used again.

        Args:
            fresh: Whether to check every agent again, even if it was just checked.
        """
        agents = list(self._agents.values())
        results: dict[str, AgentHealth] = {}

        async def check(agent: Agent) -> None:
            results[agent.id] = await _check_health(agent)
            self.health.set(agent.id, results[agent.id])

        async with anyio.create_task_group() as group:
            for agent in agents:
                cached = None if fresh else self.health.get(agent.id)
                if cached is None:
                    group.start_soon(check, agent)
                else:
                    results[agent.id] = cached
        self._failed = {
            agent_id: health.error
            for agent_id, health in results.items()
            if not health.healthy and agent_id in self._agents
        }
        return {agent.id: results[agent.id] for agent in agents}


async def _check_health(agent: Agent) -> AgentHealth:
    try:
        return await agent.health_check()
    except Exception as error:  # noqa: BLE001  (agents are foreign code; the failure of one must not hide the others)
        return AgentHealth(healthy=False, error=error_text(error) or type(error).__name__)


def config_of(agent: Agent) -> AgentConfig:
    """Return the configuration that an agent was created from, or a configuration built from its `get_info`.

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


def first_synthesizer(agents: Iterable[Agent]) -> Synthesizer | None:
    """Return a synthesizer with the model of the first agent that has one; `None` if no agent has a model.

    Example:
        >>> from roundtable.testing import scripted_agents
        >>> first_synthesizer(scripted_agents({"ada": "Tea", "bo": "Tea"})).id
        'ada'
    """
    for agent in agents:
        model: ChatModel | None = getattr(agent, "chat_model", None)
        if callable(getattr(model, "complete", None)) and model is not None:
            return Synthesizer(model, config_of(agent))
    return None
