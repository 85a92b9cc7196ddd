"""Agents and the providers they can be made from, with the TypeScript API's method names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import anyio

from roundtable._foreign import error_text
from roundtable._registry import Registry
from roundtable.agents.health import AgentStatus, HealthCache
from roundtable.agents.synthesis import Synthesizer
from roundtable.errors import ConfigurationError
from roundtable.types import AgentConfig, AgentHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roundtable.agents.base import BaseAgent
    from roundtable.protocols import Agent, AgentToolkit, ChatModel, Clock
    from roundtable.types import AgentInfo

__all__ = [
    "AgentFactory",
    "AgentRegistry",
    "config_of",
    "first_writer",
    "get_global_registry",
    "reset_global_registry",
]

AgentFactory: TypeAlias = "Callable[[AgentConfig], BaseAgent]"
"""Makes an agent from its configuration."""


@dataclass(frozen=True, slots=True)
class _Provider:
    factory: AgentFactory
    default_model: str | None
    light_model: str | None


class AgentRegistry:
    """Knows how to make agents of each provider, and keeps those made by `create_agent`.

    Args:
        clock: Where time comes from; health checks are good for 60 s.

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
        self._providers: Registry[_Provider] = Registry("provider")
        self._agents: dict[str, Agent] = {}
        self._made: dict[str, BaseAgent] = {}
        self._switched_off: dict[str, str | None] = {}
        self._failed: dict[str, str | None] = {}
        self._toolkit: AgentToolkit | None = None
        self.health: HealthCache = HealthCache(clock=clock)
        """What health checks found in the last 60 s."""

    def register_provider(
        self,
        provider: str,
        factory: AgentFactory,
        default_model: str | None = None,
        light_model: str | None = None,
    ) -> None:
        """Add a provider, replacing one of the same name.

        Args:
            provider: Name it is asked for by.
            factory: Makes its agents.
            default_model: Model of agents that name none.
            light_model: Small model for work beside the debate; the default model where there is none.
        """
        self._providers.add(provider, _Provider(factory, default_model, light_model), replace=True)

    def find_with(self, finder: Callable[[str], None]) -> None:
        """Ask this function about a provider nobody knows, before it is refused; it may register it."""
        self._providers.finder = finder

    def has_provider(self, provider: str) -> bool:
        """Tell whether a provider is known."""
        return provider in self._providers

    def get_available_providers(self) -> tuple[str, ...]:
        """List the providers in the order they were added."""
        return self._providers.names()

    def get_registered_providers(self) -> tuple[str, ...]:
        """List the providers in the order they were added; the other name of `get_available_providers`."""
        return self.get_available_providers()

    def get_provider_factory(self, provider: str) -> AgentFactory | None:
        """Give what makes the agents of a provider, if it is known."""
        return self._providers.get(provider).factory if provider in self._providers else None

    def get_default_model(self, provider: str) -> str | None:
        """Give the model used when a configuration names none.

        Raises:
            ConfigurationError: The provider is unknown.
        """
        return self._providers.get(provider).default_model

    def get_light_model(self, provider: str) -> str | None:
        """Give the small model for work beside the debate; the default model where there is none.

        Raises:
            ConfigurationError: The provider is unknown.
        """
        known = self._providers.get(provider)
        return known.light_model or known.default_model

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
        self._check_free(config.id)
        agent = self.build(config)
        self._agents[config.id] = self._made[config.id] = agent
        return agent

    def add_agent(self, agent: Agent) -> None:
        """Keep an agent made elsewhere.

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
        """Give an agent for each configuration: the one kept under its id, else a new one that is not kept."""
        return {config.id: self._agents.get(config.id) or self.build(config) for config in configs}

    def get_agent(self, agent_id: str) -> Agent | None:
        """Give an agent that was kept."""
        return self._agents.get(agent_id)

    def get_agent_or_throw(self, agent_id: str) -> Agent:
        """Give an agent that was kept.

        Raises:
            ConfigurationError: There is none of this id; the message lists those there are.
        """
        return self.get_agents([agent_id])[0]

    def get_agents(self, agent_ids: Sequence[str]) -> tuple[Agent, ...]:
        """Give agents that were kept, all of them or none.

        Raises:
            ConfigurationError: One is not kept; the message lists those there are.
        """
        missing = [agent_id for agent_id in agent_ids if agent_id not in self._agents]
        if missing:
            known = ", ".join(self._agents) or "none"
            msg = f"unknown agent {', '.join(map(repr, missing))}. Known: {known}"
            raise ConfigurationError(msg, hint="Create the agent first, with create_agent or add_agent.")
        return tuple(self._agents[agent_id] for agent_id in agent_ids)

    def has_agent(self, agent_id: str) -> bool:
        """Tell whether an agent of this id is kept."""
        return agent_id in self._agents

    def get_all_agent_ids(self) -> tuple[str, ...]:
        """List the ids of all agents kept."""
        return tuple(self._agents)

    def get_all_agents(self) -> tuple[Agent, ...]:
        """List all agents kept, in the order they came."""
        return tuple(self._agents.values())

    def get_active_agent_ids(self) -> tuple[str, ...]:
        """List the ids of the agents that are active."""
        return tuple(filter(self.is_agent_active, self._agents))

    def get_active_agents(self) -> tuple[Agent, ...]:
        """List the agents that are not switched off and whose last health check, if any, succeeded."""
        return tuple(self._agents[agent_id] for agent_id in self.get_active_agent_ids())

    def is_agent_active(self, agent_id: str) -> bool:
        """Tell whether an agent is kept, not switched off, and did not fail its last health check."""
        return agent_id in self._agents and agent_id not in self._switched_off and agent_id not in self._failed

    def activate_agent(self, agent_id: str) -> bool:
        """Let an agent take part again and forget why it did not; tell whether it is known."""
        self._forget_state(agent_id)
        return agent_id in self._agents

    def deactivate_agent(self, agent_id: str, error: str | None = None) -> bool:
        """Keep an agent out until `activate_agent`, whatever health checks say; tell whether it is known."""
        if agent_id not in self._agents:
            return False
        self._switched_off[agent_id] = error
        return True

    def get_agent_info_list(self) -> tuple[AgentInfo, ...]:
        """Describe all agents kept."""
        return tuple(agent.get_info() for agent in self._agents.values())

    def get_agent_health_status(self) -> tuple[AgentStatus, ...]:
        """Describe all agents kept, with whether they are active and why not."""
        return tuple(self._status(agent) for agent in self._agents.values())

    def get_active_agent_info_list(self) -> tuple[AgentStatus, ...]:
        """Describe the agents that are active."""
        return tuple(self._status(agent) for agent in self.get_active_agents())

    def _status(self, agent: Agent) -> AgentStatus:
        info = agent.get_info()
        error = self._switched_off.get(agent.id) or self._failed.get(agent.id)
        return AgentStatus(
            id=info.id,
            name=info.name,
            provider=info.provider,
            model=info.model,
            active=self.is_agent_active(agent.id),
            error=error,
        )

    def _forget_state(self, agent_id: str) -> None:
        self._switched_off.pop(agent_id, None)
        self._failed.pop(agent_id, None)
        self.health.forget(agent_id)

    def remove_agent(self, agent_id: str) -> bool:
        """Forget an agent; tell whether it was known."""
        self._forget_state(agent_id)
        self._made.pop(agent_id, None)
        return self._agents.pop(agent_id, None) is not None

    def remove_agents_by_prefix(self, prefix: str) -> int:
        """Forget the agents whose ids begin so; give how many."""
        found = [agent_id for agent_id in self._agents if agent_id.startswith(prefix)]
        for agent_id in found:
            self.remove_agent(agent_id)
        return len(found)

    def clear_agents(self) -> None:
        """Forget all agents."""
        self.remove_agents_by_prefix("")

    def clear_providers(self) -> None:
        """Forget all providers; agents already made stay."""
        self._providers.clear()

    def clear(self) -> None:
        """Forget all agents and providers."""
        self.clear_agents()
        self.clear_providers()

    def set_toolkit(self, toolkit: AgentToolkit) -> None:
        """Offer these tools to agents made from now on and to those kept."""
        self._toolkit = toolkit
        for agent in self._agents.values():
            accept = getattr(agent, "set_toolkit", None)
            if accept is not None:
                accept(toolkit)

    async def aclose(self) -> None:
        """Close the models of the agents kept that `create_agent` made; idempotent."""
        for agent in self._made.values():
            await agent.chat_model.aclose()

    async def run_health_checks(self, *, fresh: bool = False) -> dict[str, AgentHealth]:
        """Check all agents at once; those that fail are left out of `get_active_agents` until they pass.

        A check is a small paid call, so an answer of the last 60 s is given again.

        Args:
            fresh: Ask every agent, however lately it was asked.
        """
        agents = list(self._agents.values())
        found: dict[str, AgentHealth] = {}

        async def check(agent: Agent) -> None:
            found[agent.id] = await _health(agent)
            self.health.set(agent.id, found[agent.id])

        async with anyio.create_task_group() as group:
            for agent in agents:
                known = None if fresh else self.health.get(agent.id)
                if known is None:
                    group.start_soon(check, agent)
                else:
                    found[agent.id] = known
        self._failed = {
            agent_id: health.error
            for agent_id, health in found.items()
            if not health.healthy and agent_id in self._agents
        }
        return {agent.id: found[agent.id] for agent in agents}


async def _health(agent: Agent) -> AgentHealth:
    try:
        return await agent.health_check()
    except Exception as error:  # noqa: BLE001  (an agent is foreign code; one must not hide the others)
        return AgentHealth(healthy=False, error=error_text(error) or type(error).__name__)


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


def first_writer(agents: Iterable[Agent]) -> Synthesizer | None:
    """Let the first agent that speaks through a model put the debate together; `None` where none does.

    Example:
        >>> from roundtable.testing import scripted_agents
        >>> first_writer(scripted_agents({"ada": "Tea", "bo": "Tea"})).id
        'ada'
    """
    for agent in agents:
        model: ChatModel | None = getattr(agent, "chat_model", None)
        if callable(getattr(model, "complete", None)) and model is not None:
            return Synthesizer(model, config_of(agent))
    return None


@cache
def get_global_registry() -> AgentRegistry:
    """Give the registry shared by code that was handed none. The library itself never uses it."""
    return AgentRegistry()


def reset_global_registry() -> None:
    """Forget the shared registry; the next call makes a fresh one."""
    get_global_registry.cache_clear()
