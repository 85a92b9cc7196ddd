"""What servers offer their callers: who may be seated, and in which modes they may debate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.types import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.seats import AgentLike
    from roundtable.api.table import Roundtable
    from roundtable.api.wiring import Wiring
    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import AgentConfig

__all__ = ["ModeOffer", "chosen_agents", "offered_agents", "offered_modes", "seated_again"]


class ModeOffer(Value):
    """A mode that a table knows."""

    name: str
    """Name it is asked for by."""
    summary: str
    """What it is, in a line."""
    use_when: str = ""
    """What it is good for."""
    min_rounds: int
    """Fewest rounds it can hold."""
    max_rounds: int
    """Most rounds it can hold here."""
    min_agents: int
    """Fewest agents it needs."""
    options: Mapping[str, str]
    """What can be set behind its name, as in `delphi:final=median`, with what may stand there."""
    assigns_stances: bool
    """Whether sides are assigned, so that agreement says little."""
    source: str
    """Distribution that brings it."""


def offered_modes(wiring: Wiring) -> tuple[ModeOffer, ...]:
    """List the modes that a table knows."""
    most = wiring.settings.max_rounds
    return tuple(
        ModeOffer(
            name=entry.name,
            summary=entry.summary,
            use_when=getattr(entry.thing, "use_when", ""),
            min_rounds=entry.thing.rounds.start,
            max_rounds=min(entry.thing.rounds.stop - 1, most),
            min_agents=_fewest(entry.thing),
            options=_settable(entry.thing),
            assigns_stances=entry.thing.assigns_stances,
            source=entry.source,
        )
        for entry in wiring.catalog.modes
    )


def _fewest(mode: DebateModeStrategy) -> int:
    counts = getattr(mode, "agent_counts", None)
    return counts.start if isinstance(counts, range) else 1


def _settable(mode: DebateModeStrategy) -> dict[str, str]:
    readers = getattr(mode, "options", {})
    return {name: getattr(reader, "takes", "VALUE") for name, reader in readers.items()}


def offered_agents(table: Roundtable) -> tuple[AgentConfig, ...]:
    """List who sits at a table.

    Raises:
        ConfigurationError: Nobody can.
    """
    return tuple(seat.config for seat in table.wiring.seats(None))


def chosen_agents(
    table: Roundtable,
    names: Sequence[str] | None,
    count: int | None = None,
    *,
    models: Collection[str] | None = None,
) -> Sequence[AgentLike] | None:
    """Give who debates among those that a server offers its callers; `None` leaves it to the table.

    It is the server's owner who decides what is spent and where, which programs are started, and which files are read.

    Args:
        table: The server's table.
        names: Ids or names of its agents, or names of models that may be asked for.
        count: How many agents are to debate, instead of names; they share models where there are fewer.
        models: Models that may be asked for as `"provider:model"`; `None` allows any of the providers of the table's
            agents, but for programs and files of this machine.

    Raises:
        ConfigurationError: A name is unknown (its code is `AGENT_NOT_FOUND`), or there are not so many agents.
    """
    if names is None and count is None:
        return None
    seats = _seats(table)
    if names is not None:
        allowed = _Models(table.wiring, seats) if models is None else models
        return [_named(seats, name, allowed) for name in names]
    wanted = count or len(seats)
    if wanted <= len(seats):
        return [taken for _, taken in seats[:wanted]]
    if any(taken is not config for config, taken in seats):
        msg = f"this server has {len(seats)} agents, not {wanted}"
        raise ConfigurationError(msg, hint=f"Ask for at most {len(seats)} agents.")
    shared = [f"{config.provider}:{config.model}" if config.model else config.provider for config, _ in seats]
    return [shared[place % len(shared)] for place in range(wanted)]


def seated_again(table: Roundtable, agents: Sequence[AgentConfig]) -> Sequence[AgentLike]:
    """Give who debated in a stored session as a table takes them: those who sit there as they are.

    Args:
        table: The table.
        agents: The session's agents.
    """
    own = {config.id: taken for config, taken in _seats(table)}
    return [own.get(config.id, config) for config in agents]


def _seats(table: Roundtable) -> list[tuple[AgentConfig, AgentLike]]:
    """List who sits at a table, each as the table was given them; by configuration where that was a name."""
    given = table.wiring.options.agents
    return [
        (seat.config, seat.config if given is None or isinstance(given[place], str) else given[place])
        for place, seat in enumerate(table.wiring.seats(None))
    ]


class _Models(Collection[str]):
    """All models of the providers that a table's agents are made of by name."""

    def __init__(self, wiring: Wiring, seats: Sequence[tuple[AgentConfig, AgentLike]]) -> None:
        named = sorted({config.provider for config, taken in seats if taken is config})
        self._providers = [name for name in named if not _is_of_machine(wiring, name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.partition(":")[0] in self._providers

    def __iter__(self) -> Iterator[str]:
        return (f"{name}:MODEL" for name in self._providers)

    def __len__(self) -> int:
        return len(self._providers)


def _is_of_machine(wiring: Wiring, provider: str) -> bool:
    """Tell whether the models of a provider are programs or files of this machine."""
    factory = wiring.catalog.providers.get(provider)
    return bool(getattr(factory, "runs_programs", False) or getattr(factory, "reads_files", False))


def _named(seats: Sequence[tuple[AgentConfig, AgentLike]], name: str, models: Collection[str]) -> AgentLike:
    for config, taken in seats:
        if name in {config.id, config.name}:
            return taken
    if name in models:
        return name
    offered = ", ".join(repr(config.id) for config, _ in seats)
    more = f"; or a model: {', '.join(models)}" if models else ""
    msg = f"this server offers no agent {name!r}"
    raise ConfigurationError(msg, code="AGENT_NOT_FOUND", hint=f"Agents: {offered}{more}.")
