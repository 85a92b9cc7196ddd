"""The agents and modes that servers offer to their callers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count as count_from
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.base import NativeSearch, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.assembly import TableParts
    from roundtable.api.options import DebateOptions
    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import AgentLike, Seated
    from roundtable.api.table import Roundtable
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.request import DebateRequest, ForkRequest, SearchRequest
    from roundtable.plugins import Catalog

__all__ = [
    "AgentOffer",
    "ModeOffer",
    "agents_of_table",
    "chosen_agents",
    "debate_options",
    "offered_agents",
    "offered_modes",
    "offered_search",
]


_MOST_AGENTS: Final = 100
"""Largest number of agents of a mode that states none; see `BaseModeStrategy.agent_counts`."""


class ModeOffer(Value):
    """A mode that the table knows."""

    name: str
    """Name of the mode."""
    summary: str
    """One line that describes it."""
    use_when: str = ""
    """When to use it."""
    min_rounds: int
    """Minimum number of rounds that it can run."""
    max_rounds: int
    """Maximum number of rounds that it can run here."""
    min_agents: int
    """Minimum number of agents that it needs."""
    max_agents: int
    """Maximum number of agents that it takes."""
    options: Mapping[str, str]
    """Options that can be set after the mode's name, as in `adversarial:visibility=predecessor`, with their values."""
    assigns_stances: bool
    """Whether the mode assigns sides to agents, so that agreement means little."""
    source: str
    """Distribution that provides the mode."""

    @property
    def agents_in_words(self) -> str:
        """The numbers of agents that it takes, such as `"5 agents"`, `"2 to 4 agents"` or `"2 agents or more"`."""
        least = counted(self.min_agents, "agent")
        if self.max_agents >= _MOST_AGENTS:
            return f"{least} or more"
        return least if self.max_agents == self.min_agents else f"{self.min_agents} to {self.max_agents} agents"


def offered_modes(catalog: Catalog, max_rounds: int) -> tuple[ModeOffer, ...]:
    """List the modes of a catalog; none runs more than `max_rounds` rounds."""
    return tuple(
        ModeOffer(
            name=entry.name,
            summary=entry.summary,
            use_when=getattr(entry.thing, "use_when", ""),
            min_rounds=entry.thing.rounds.start,
            max_rounds=min(entry.thing.rounds.stop - 1, max_rounds),
            min_agents=(agents := _agent_counts(entry.thing)).start,
            max_agents=agents.stop - 1,
            options=_option_values(entry.thing),
            assigns_stances=entry.thing.assigns_stances,
            source=entry.source,
        )
        for entry in catalog.modes
    )


def _agent_counts(mode: DebateModeStrategy) -> range:
    counts = getattr(mode, "agent_counts", None)
    return counts if isinstance(counts, range) else range(1, _MOST_AGENTS + 1)


def _option_values(mode: DebateModeStrategy) -> dict[str, str]:
    readers = getattr(mode, "options", {})
    return {name: getattr(reader, "takes", "VALUE") for name, reader in readers.items()}


class AgentOffer(NamedTuple):
    """An agent of a table, and whether it is usable."""

    config: AgentConfig
    """Configuration of the agent, with the model that it uses."""
    trouble: str | None
    """Why the agent is not usable now, according to its last call or check; `None` if no problem is known."""


def offered_agents(wiring: TableParts) -> tuple[AgentOffer, ...]:
    """List the agents of a table.

    Raises:
        ConfigurationError: The table has no usable agents.
    """
    return tuple(AgentOffer(_with_model(seat), wiring.problem_of(seat)) for seat in wiring.seats(None))


def _with_model(seat: Seated) -> AgentConfig:
    # Imported here on purpose: servers list what they offer before anything is loaded.
    from roundtable.api.changes import effective_config
    from roundtable.providers.http_model import FIRST_LISTED

    config = effective_config(seat)
    # The first model that a local server lists is known only after a call.
    return config.model_copy(update={"model": None}) if config.model == FIRST_LISTED else config


def debate_options(
    table: Roundtable,
    request: DebateRequest | ForkRequest,
    *,
    count: int | None = None,
    models: Collection[str] | None = None,
) -> DebateOptions:
    """Return the options of a debate that a server's caller requested; options that the caller left out stay out.

    Args:
        table: The server's table.
        request: The caller's request.
        count: How many agents debate, instead of their names; see `chosen_agents`.
        models: Models that callers may request; see `chosen_agents`.

    Raises:
        ConfigurationError: An agent is not offered, the search is not allowed, or `exit_when` cannot be read.
    """
    options = request.given_options()
    if count is not None or "agents" in options:
        options["agents"] = chosen_agents(table, request.agents, count, models=models)
    if "search" in options:
        options["search"] = offered_search(table, request.search)
    if isinstance(request.exit_when, Mapping):
        # Imported here on purpose: listing what a server offers does not need the criteria.
        from roundtable.exits import exit_from_spec

        options["exit_when"] = exit_from_spec(request.exit_when, table.catalog.exits)
    # A request has the same option names as `Roundtable.debate`; a test compares the two.
    return cast("DebateOptions", options)


def chosen_agents(
    table: Roundtable,
    names: Sequence[str] | None,
    count: int | None = None,
    *,
    models: Collection[str] | None = None,
) -> Sequence[AgentLike] | None:
    """Return the agents that a server's caller chose from the offered agents; `None` means the table's agents.

    Callers have only this choice, because the server's owner decides what is spent and where, which programs are
    started, and which files are read.

    Args:
        table: The server's table.
        names: Ids or names of the table's agents, or names of models that callers may request.
        count: How many agents debate, instead of names; at most `ROUNDTABLE_MAX_AGENTS`. If the table has fewer agents,
            its models are used several times under different personas, and configured agents are copied.
        models: Models that callers may request as `"provider:model"`. `None` allows all models of the providers of the
            table's agents, except for programs and files of this machine.

    Raises:
        ConfigurationError: A name is unknown (the code is `AGENT_NOT_FOUND`), or there are not enough agents.
    """
    if names is None and count is None:
        return None
    seats = _seats(table)
    if names is not None:
        providers = _named_providers(table.catalog, seats)
        return [_find_agent(seats, name, models, providers) for name in names]
    max_agents = table.settings.max_agents
    wanted = len(seats) if count is None else min(count, max_agents)
    agents = [agent for _, agent in seats[:wanted]]
    if wanted <= len(seats):
        return agents
    if any(not isinstance(agent, AgentConfig) for _, agent in seats):
        msg = f"this server has {counted(len(seats), 'agent')}, not {count}"
        raise ConfigurationError(msg, hint=f"Request at most {counted(len(seats), 'agent')}.")
    given = table.given_agents
    if given is None or all(isinstance(item, str) for item in given):
        models_in_turn = cycle(
            f"{config.provider}:{config.model}" if config.model else config.provider for config, _ in seats
        )
        return [*islice(models_in_turn, wanted)]
    configs = [agent for _, agent in seats if isinstance(agent, AgentConfig)]
    return [*agents, *_copies(configs, wanted - len(seats))]


def _copies(configs: Sequence[AgentConfig], wanted: int) -> list[AgentConfig]:
    """Return copies of the agents in turn, each with its own id and name."""
    ids = {config.id for config in configs}
    copies: list[AgentConfig] = []
    for config in islice(cycle(configs), wanted):
        number = next(number for number in count_from(2) if f"{config.id}-{number}" not in ids)
        copy = config.model_copy(update={"id": f"{config.id}-{number}", "name": f"{config.name} ({number})"})
        ids.add(copy.id)
        copies.append(copy)
    return copies


def offered_search(table: Roundtable, search: SearchRequest | None) -> SearchLike | None:
    """Return the search setting for a caller's debate; `None` means the table's setting.

    A caller cannot get more than the server's owner allows: the table's options take precedence over the caller's.

    Raises:
        ConfigurationError: The server's agents do not use their providers' own search.
    """
    table_search = table.native_search
    if search is None or search is False:
        return search
    if table_search is False:
        msg = f"search={search!r:.80}: this server does not let agents search the web with their providers' own search"
        raise ConfigurationError(msg, hint="Leave `search` out, or set it to false.")
    wanted = search if isinstance(search, NativeSearch) else NativeSearch()
    if isinstance(table_search, NativeSearch):
        return table_search.over(wanted)
    return wanted if wanted.asked else "auto"


def agents_of_table(table: Roundtable, agents: Sequence[AgentConfig]) -> Sequence[AgentLike]:
    """Return the agents of a stored session in a form that a table accepts; the table's own agents are used unchanged.

    Args:
        table: The table.
        agents: The session's agents.
    """
    table_agents = {config.id: agent for config, agent in _seats(table)}
    return [table_agents.get(config.id, config) for config in agents]


def _seats(table: Roundtable) -> list[tuple[AgentConfig, AgentLike]]:
    """List the agents of a table as they were passed; an agent passed by name appears as a configuration."""
    agents = table.given_agents
    return [
        (config, _without_search(config) if agents is None or isinstance(agents[index], str) else agents[index])
        for index, config in enumerate(table.agents())
    ]


def _without_search(config: AgentConfig) -> AgentConfig:
    """Return a configuration without the table's search setting, which a debate may replace."""
    return config.model_copy(update={"search": None})


def _named_providers(catalog: Catalog, seats: Sequence[tuple[AgentConfig, AgentLike]]) -> list[str]:
    """Return the providers of agents configured by name; callers may request all models of these providers."""
    providers = sorted({config.provider for config, agent in seats if isinstance(agent, AgentConfig)})
    return [name for name in providers if not _is_of_machine(catalog, name)]


def _is_of_machine(catalog: Catalog, provider: str) -> bool:
    """Check whether the models of a provider are programs or files of this machine."""
    factory = catalog.providers.get(provider)
    return bool(getattr(factory, "runs_programs", False) or getattr(factory, "reads_files", False))


def _find_agent(
    seats: Sequence[tuple[AgentConfig, AgentLike]], name: str, models: Collection[str] | None, providers: Sequence[str]
) -> AgentLike:
    """Return the agent with an id or a name, or a model that callers may request.

    Args:
        seats: The table's agents.
        name: The name that the caller requests.
        models: Models that callers may request; `None` allows all models of `providers`.
        providers: Providers of the table's agents.

    Raises:
        ConfigurationError: There is no such agent or model; the code is `AGENT_NOT_FOUND`.
    """
    for config, agent in seats:
        if name in {config.id, config.name}:
            return agent
    if name in models if models is not None else name.partition(":")[0] in providers:
        return name
    for config, agent in seats:
        if config.provider in providers and name == f"{config.provider}:{config.model}":
            return agent
    agents = ", ".join(repr(config.id) for config, _ in seats)
    shown_models = [f"{provider}:MODEL" for provider in providers] if models is None else models
    models_hint = f"; or a model: {', '.join(shown_models)}" if shown_models else ""
    msg = f"this server offers no agent {name!r}"
    raise ConfigurationError(msg, code="AGENT_NOT_FOUND", hint=f"Agents: {agents}{models_hint}.")
