"""The agents of a table: the caller's agents, or default agents of the providers that have keys in the environment."""

from __future__ import annotations

import copy
import logging
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeGuard

from roundtable.agents import BaseAgent, config_of, seat_personas
from roundtable.api.checks import check_list
from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.base import RoleBasedModeStrategy
from roundtable.core.protocols import Agent
from roundtable.core.types.agents import AgentConfig, ModelProfile
from roundtable.logs import ROOT
from roundtable.providers import split_model_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import ChatModel, DebateModeStrategy
    from roundtable.core.types.agents import Persona, RetryPolicy
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.plugins import Catalog
    from roundtable.settings import Settings

__all__ = ["AgentLike", "Offer", "Seated", "default_seats", "offers", "seat_agents", "with_persona"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

AgentLike: TypeAlias = "str | AgentConfig | Agent | ChatModel"
"""The forms in which callers pass an agent: `"provider:model"`, a configuration, an agent, or a chat model."""

STAND_IN_SEATS: Final = 3
"""Number of agents if only stand-ins are usable: the embedded model, for example, answers one request at a time."""


class WrapModel(Protocol):
    """Wraps a model in the gateway, with the given retry policy or the gateway's own."""

    def __call__(self, model: ChatModel, /, *, retry: RetryPolicy | None = None) -> ChatModel:
        """Return the guarded model."""


class _AgentWithModel(Agent, Protocol):
    chat_model: ChatModel


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider that the environment makes available."""

    provider: str
    """Name under which the provider is registered."""
    because: str
    """Variable or model that makes it available; never a secret."""
    usable: bool = True
    """Whether this installation can use it."""
    fix: str | None = None
    """How to make it usable."""


@dataclass(frozen=True, slots=True)
class Seated:
    """One agent of a debate."""

    config: AgentConfig
    """Configuration of the agent, as it is stored."""
    agent: Agent | None = None
    """The agent, if the caller passed an agent or a model; if `None`, it is created from the configuration."""
    is_object: bool = False
    """Whether the caller passed an object, which cannot be created again by name."""
    has_own_agent: bool = True
    """Whether the caller passed `agent` itself; if not, and `agent` is set, the caller passed only its model."""


def offers(settings: Settings, catalog: Catalog) -> tuple[Offer, ...]:
    """List the providers that the environment makes available, in order of preference.

    Args:
        settings: Settings of the environment.
        catalog: Providers of this installation.
    """
    available: list[Offer] = []
    for variables, infos in catalog.providers_by_key().items():
        if not infos[0].key_required or not any(map(settings.get, variables)):
            continue
        because = f"{variables[0]} is set"
        name = next((info.name for info in infos if info.name in catalog.providers), None)
        if name is not None:
            available.append(Offer(name, because))
        else:
            fix = f"provider {infos[0].name!r} is not installed"
            available.append(Offer(infos[0].name, because, usable=False, fix=fix))
    declared = catalog.provider_infos()
    available += [offer for info in declared if (offer := _offer_at_address(info, settings)) is not None]
    for info in declared:
        if info.stand_in:
            install = None if info.is_installed else info.install_hint or f"install the module {info.needs_module}"
            available.append(Offer(info.name, info.stand_in, usable=install is None, fix=install))
    return tuple(available)


def _offer_at_address(info: ProviderInfo, settings: Settings) -> Offer | None:
    """Return the offer of a provider without a key or an address of its own, if the environment names a server."""
    if info.base_url is not None or (info.key_env and info.key_required):
        return None
    # This address takes precedence over a host. Only a host uses the first listed model by default.
    if info.base_url_env is not None and settings.get(info.base_url_env):
        if info.default_model is not None:
            return Offer(info.name, f"{info.base_url_env} is set")
        if info.model_env is not None and settings.get(info.model_env):
            return Offer(info.name, f"{info.base_url_env} and {info.model_env} are set")
        fix = "name a model" if info.model_env is None else f"set {info.model_env}"
        return Offer(info.name, f"{info.base_url_env} is set", usable=False, fix=fix)
    if info.host_env is not None and settings.get(info.host_env):
        return Offer(info.name, f"{info.host_env} is set")
    return None


def default_seats(
    settings: Settings, offered: Sequence[Offer], catalog: Catalog, mode: DebateModeStrategy | None = None
) -> tuple[Seated, ...]:
    """Create the default number of agents; if there are fewer providers, agents with different personas share one."""
    usable = [offer for offer in offered if offer.usable]
    remote = [offer.provider for offer in usable if not catalog.provider_info(offer.provider).stand_in]
    if not usable:
        problems = "; ".join(f"{offer.because}: {offer.fix}" for offer in offered)
        msg = f"no model to debate with ({problems})"
        *keys, last = (names[0] for names, infos in catalog.providers_by_key().items() if infos[0].key_required)
        raise ConfigurationError(
            msg,
            hint=f"Do one of these: set {', '.join(keys)} or {last}; set OLLAMA_HOST; set both "
            "ROUNDTABLE_BASE_URL and ROUNDTABLE_MODEL; install the embedded model with: "
            "pip install 'roundtable-sdk[local]'.",
        )
    unusable = [f"{offer.because}: {offer.fix}" for offer in offered if not offer.usable]
    if unusable and not remote:
        stand_ins = " and ".join(offer.because for offer in usable)
        logger.warning("%s debates, because no other model is usable (%s)", stand_ins, "; ".join(unusable))
    count = settings.default_agent_count if remote else min(STAND_IN_SEATS, settings.default_agent_count)
    providers = (remote or [offer.provider for offer in usable])[:count]
    if len(providers) == count:
        labels = {provider: catalog.provider_info(provider).label for provider in providers}
        return tuple(Seated(_make_config(provider, None, provider, label)) for provider, label in labels.items())
    seats = [(providers[index % len(providers)], None) for index in range(count)]
    return tuple(Seated(config) for config in seat_personas(seats, mode))


def seat_agents(
    agents: Sequence[AgentLike], guard: WrapModel, catalog: Catalog, mode: DebateModeStrategy | None = None
) -> tuple[Seated, ...]:
    """Return the agents of a list, ready for a debate; several agents with the same model get different personas.

    An agent with a `chat_model` is replaced by a shallow copy with the guarded model. An agent without a `chat_model`
    is used unchanged; limits and deadlines of the table do not apply to it.

    Args:
        agents: The agents, in speaking order.
        guard: Wraps a model in the gateway; called for each model that the caller passed, alone or in an agent.
        catalog: Providers of this installation, for the names of agents.
        mode: The mode of the debate; needed so that no persona contradicts a role of the mode.

    Raises:
        ConfigurationError: The list is empty, an entry has the wrong type, or two agents share an id.
    """
    check_list("agents", agents)
    if not agents:
        msg = "agents must be a list with at least one entry"
        raise ConfigurationError(
            msg, hint="Pass agents=['provider:model', ...], or leave it out to use the environment."
        )
    model_counts = Counter(_model_name(item) for item in agents if not _is_agent(item))
    duplicates = [
        (index, item)
        for index, item in enumerate(agents)
        if not _is_agent(item) and model_counts[_model_name(item)] > 1
    ]
    personas = _personas(duplicates, len(agents), mode)
    seated = tuple(_seat(item, personas.get(index), guard, catalog) for index, item in enumerate(agents))
    id_counts = Counter(seat.config.id for seat in seated)
    duplicate_ids = sorted(agent_id for agent_id, count in id_counts.items() if count > 1)
    if duplicate_ids:
        msg = f"several agents have the same id: {', '.join(map(repr, duplicate_ids))}"
        raise ConfigurationError(msg, hint="Give every agent its own id.")
    return seated


def with_persona(config: AgentConfig, personas: Registry[Persona]) -> AgentConfig:
    """Return a configuration; if it only names a persona, add the registered persona of that name.

    Raises:
        ConfigurationError: Several plugins register a persona with this name.
        PluginError: The plugin with this persona could not be loaded.
    """
    persona = config.persona
    if persona is None or persona.description:
        return config
    registered = personas.find(persona.name)
    return config if registered is None else config.model_copy(update={"persona": registered.thing})


def _personas(
    duplicates: Sequence[tuple[int, AgentLike]], count: int, mode: DebateModeStrategy | None
) -> dict[int, AgentConfig]:
    """Return a persona for each agent that shares its model with other agents, by position in the list."""
    indexes = [index for index, _ in duplicates]
    models = [split_model_name(_model_name(item)) for _, item in duplicates]
    if not isinstance(mode, RoleBasedModeStrategy):
        return dict(zip(indexes, seat_personas(models, mode), strict=True))
    # Roles depend on the position among all agents, so personas must depend on it too.
    table = seat_personas([("somebody", None)] * count, mode)
    return {
        index: table[index].model_copy(update={"provider": provider, "model": model})
        for index, (provider, model) in zip(indexes, models, strict=True)
    }


def _is_agent(item: object) -> bool:
    return isinstance(item, AgentConfig) or _takes_turns(item)


def _model_name(item: object) -> str:
    if isinstance(item, str):
        return item
    provider, model = getattr(item, "provider", None), getattr(item, "model", None)
    return f"{provider}:{model}"


def _make_config(provider: str, model: str | None, agent_id: str, name: str) -> AgentConfig:
    return AgentConfig(id=agent_id, name=name, provider=provider, model=model)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[:100] or "agent"


def _config_from_model(provider: str, model: str | None, label: str) -> AgentConfig:
    leaf = model.rsplit("/", 1)[-1] if model else None
    name = f"{label} ({leaf})" if leaf else label
    return _make_config(provider, model, _slug(f"{provider}-{leaf}" if leaf else provider), name)


def _seat(item: AgentLike, persona: AgentConfig | None, guard: WrapModel, catalog: Catalog) -> Seated:
    if isinstance(item, AgentConfig):
        return Seated(item)
    if isinstance(item, str):
        provider, model = split_model_name(item)
        catalog.providers.find(provider)  # loads the plugin that the name belongs to
        return Seated(persona or _config_from_model(provider, model, catalog.provider_info(provider).label))
    if isinstance(item, type):
        msg = f"an agent must be an object, not the class {item.__name__}"
        raise ConfigurationError(msg, hint=f"Pass an instance: {item.__name__}(...).")
    if _takes_turns(item):
        return Seated(config_of(item), _with_guarded_model(item, guard), is_object=True)
    if _is_chat_model(item):
        profile: object = getattr(item, "profile", None)
        if not isinstance(profile, ModelProfile):
            msg = f"the profile of the chat model {type(item).__name__} must be a ModelProfile, not {profile!r}"
            raise ConfigurationError(msg, hint="Write profile = ModelProfile() in its class.")
        label = catalog.provider_info(item.provider).label
        config = persona or _config_from_model(item.provider, item.model, label)
        return Seated(config, BaseAgent(config, guard(item)), has_own_agent=False, is_object=True)
    msg = f"an agent must be 'provider:model', an AgentConfig, an agent or a chat model, not {type(item).__name__}"
    raise ConfigurationError(msg)


def _takes_turns(item: object) -> TypeGuard[Agent]:
    return callable(getattr(item, "take_turn", None))


def _is_chat_model(item: object) -> TypeGuard[ChatModel]:
    return callable(getattr(item, "complete", None))


def _with_guarded_model(agent: Agent, guard: WrapModel) -> Agent:
    """Return a copy of an agent with its model wrapped in the gateway; the caller's agent is not changed."""
    if not _has_model(agent):
        return agent
    guarded = guard(agent.chat_model, retry=config_of(agent).retry)
    if guarded is agent.chat_model:
        return agent
    guarded_agent = copy.copy(agent)
    try:
        guarded_agent.chat_model = guarded
    except AttributeError as error:
        msg = f"the chat_model of agent {agent.id!r} cannot be replaced, so no limit would apply to it"
        raise ConfigurationError(
            msg,
            cause=error,
            hint="Make chat_model a settable attribute. Or keep the model in an attribute with another name; then the "
            "table's limits do not apply to its calls.",
        ) from error
    return guarded_agent


def _has_model(agent: Agent) -> TypeGuard[_AgentWithModel]:
    return _is_chat_model(getattr(agent, "chat_model", None))
