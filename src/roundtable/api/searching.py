"""Web search of each agent, according to the settings of the table, the debate, the provider and the agent."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pydantic import ValidationError

from roundtable.agents import BaseAgent
from roundtable.agents.native_search import SEARCH_REFUSED
from roundtable.core.capabilities import SearchingAgent
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import NativeSearch, first_error

if TYPE_CHECKING:
    from roundtable.api.seats import Seated
    from roundtable.core.protocols import Agent
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.agents import AgentConfig, ProviderConfig
    from roundtable.core.types.base import SearchProfile

__all__ = [
    "SearchLike",
    "SearchSetting",
    "check_provider_search",
    "read_search",
    "restore_refusals",
    "restore_search",
    "seat_search",
]

SearchLike: TypeAlias = "bool | str | NativeSearch | Mapping[str, object]"
"""A search setting: `"auto"`, `True` or `False`, the name of a search service, or options."""

_HINT: Final = (
    "Use 'auto' for the providers' own search, False for none, the name of a service such as 'brave', or "
    "NativeSearch(max_uses=3, allowed_domains=(...), ...)."
)


class SearchSetting(NamedTuple):
    """The search setting of a table or a debate."""

    native: NativeSearch | bool = True
    """Whether agents use their provider's own search, or options of that search."""
    service: str | None = None
    """Search service that provides search tools to the agents instead."""


def read_search(search: object, label: str = "search") -> SearchSetting:
    """Read a search setting.

    Raises:
        ConfigurationError: The setting has the wrong type, or an option is out of range.

    Example:
        >>> read_search("auto"), read_search(False).native, read_search("brave").service
        (SearchSetting(native=True, service=None), False, 'brave')
    """
    if isinstance(search, NativeSearch):
        _check_domains(search, label)
    if isinstance(search, bool | NativeSearch):
        return SearchSetting(search)
    if isinstance(search, str) and search.strip():
        return SearchSetting() if search == "auto" else SearchSetting(native=False, service=search.strip())
    if not isinstance(search, Mapping):
        msg = f"{label} must be 'auto', True, False, a search service or options, not {search!r:.80}"
        raise ConfigurationError(msg, hint=_HINT)
    try:
        options = NativeSearch.model_validate(dict(search))
    except ValidationError as error:
        field, reason = first_error(error)
        msg = f"{label}.{field}: {reason}" if field else f"{label}: {reason}"
        raise ConfigurationError(msg, cause=error, hint=_HINT) from None
    _check_domains(options, label)
    return SearchSetting(options)


def _check_domains(options: NativeSearch, label: str) -> None:
    """Refuse an explicit empty list of domains, because it would allow the whole web."""
    if "allowed_domains" in options.model_fields_set and not options.allowed_domains:
        msg = f"{label}.allowed_domains must name a domain, not {options.allowed_domains!r}"
        raise ConfigurationError(msg, hint="Leave allowed_domains out for no limit, or set search=False for no search.")


def check_provider_search(name: str, config: ProviderConfig) -> None:
    """Check the search setting of a provider.

    Raises:
        ConfigurationError: `search` has the wrong type.
    """
    if isinstance(config.search, NativeSearch):
        _check_domains(config.search, f"providers[{name!r}].search")
    if config.search is not None and not isinstance(config.search, bool | NativeSearch):
        msg = f"providers[{name!r}].search must be a NativeSearch, True or False, not {config.search!r:.80}"
        raise ConfigurationError(
            msg,
            hint="To use a search service instead, set it for the whole table: Roundtable(search='brave'), or "
            "--search brave.",
        )


def seat_search(
    config: AgentConfig,
    profile: SearchProfile | None,
    wish: SearchSetting,
    configured: ProviderConfig | None = None,
) -> tuple[AgentConfig, tuple[str, ...]]:
    """Determine how one agent searches the web.

    The agent's own search setting decides whether it searches. Without such a setting, the agent searches unless its
    provider, the debate or the table is set to `False`. Options of the agent take precedence over options of its
    provider. If the provider has no search, the agent is not changed.

    Args:
        config: Configuration of the agent.
        profile: What the search of its model supports; `None` if the model has no search.
        wish: Search setting of the debate or the table.
        configured: Configuration of its provider.

    Returns:
        The configuration with the search that applies, and warnings about options that this search does not support.

    Raises:
        ConfigurationError: The agent or its provider is configured to search in a way that the model does not support.
    """
    own, provider = config.search, None if configured is None else configured.search
    if profile is None:
        if own or (own is None and isinstance(provider, NativeSearch)):
            raise _no_search_error(config)
        return config, ()
    settings = (own, provider, wish.native)
    if False in settings[: 1 if own is not None else 3]:
        return config.model_copy(update={"search": False}), ()
    if own is None and not provider and wish.native is True and not profile.by_default:
        return config, ()
    configured_search = _merge([setting for setting in settings[:-1] if isinstance(setting, NativeSearch)])
    if unsupported := profile.misfits(configured_search):
        raise _unsupported_error(config, unsupported)
    search = _merge([configured_search, *([wish.native] if isinstance(wish.native, NativeSearch) else [])])
    unsupported, fitted = profile.misfits(search), profile.fitted(search)
    if fitted is None:
        note = f"{config.provider!r} cannot limit its web search to these domains, so this agent does not search"
        return config.model_copy(update={"search": False}), (note,)
    notes = tuple(
        f"the web search of {config.provider!r} does not support {name}; it searches without this"
        for name in unsupported
    )
    return config.model_copy(update={"search": fitted}), notes


def restore_search(agent: Agent, seat: Seated, config: AgentConfig) -> Agent:
    """Return the agent of a seat; if it was created here, use the search setting of the stored session."""
    if isinstance(agent, BaseAgent) and not seat.has_own_agent:
        return agent.with_search_config(agent.config.model_copy(update={"search": config.search}))
    return agent


def restore_refusals(fold: Fold, agents: Mapping[str, Agent]) -> None:
    """Turn the search off for agents whose provider refused to search in a stored session."""
    for turn in chain.from_iterable(round_record.in_order() for round_record in fold.rounds):
        agent = agents.get(turn.agent_id)
        if turn.outcome != "answered" or not isinstance(agent, SearchingAgent):
            continue
        if any(warning.startswith(SEARCH_REFUSED) for warning in turn.result.warnings):
            agent.search_refused(fold.record.id)


def _merge(layers: list[NativeSearch]) -> NativeSearch:
    """Merge search options; if several layers set an option, the first layer counts."""
    search = NativeSearch()
    for layer in reversed(layers):
        search = layer.over(search)
    return search


def _no_search_error(config: AgentConfig) -> ConfigurationError:
    model = f"{config.provider}:{config.model}" if config.model else config.provider
    return ConfigurationError(
        f"agent {config.id!r} is set to search the web, but {model!r} has no web search of its own",
        hint="Leave `search` out for this agent, or use a search service for all agents: Roundtable(search='brave').",
    )


def _unsupported_error(config: AgentConfig, unsupported: tuple[str, ...]) -> ConfigurationError:
    names = ", ".join(unsupported)
    return ConfigurationError(
        f"agent {config.id!r}: the web search of {config.provider!r} does not support {names} as set here",
        hint="Leave these options out or change them; the guide on searching lists what providers support.",
    )
