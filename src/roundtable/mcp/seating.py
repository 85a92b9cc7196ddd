"""Who sits at the table: everybody this server offers, some of them, or as many as asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.mcp.outputs import AgentEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api import Roundtable
    from roundtable.api.seats import AgentLike
    from roundtable.types import AgentConfig

__all__ = ["chosen_agents", "offered_agents"]


def offered_agents(table: Roundtable) -> tuple[AgentEntry, ...]:
    """List who can debate.

    Raises:
        ConfigurationError: Nobody can.
    """
    return tuple(
        AgentEntry(id=seat.config.id, name=seat.config.name, provider=seat.config.provider, model=seat.config.model)
        for seat in table.wiring.seats(None)
    )


def chosen_agents(table: Roundtable, names: Sequence[str] | None, count: int | None) -> Sequence[AgentLike] | None:
    """Give who debates; `None` leaves it to the table.

    Only providers that the server offers can be named: it is its owner who decides what is spent, and where.

    Raises:
        ConfigurationError: A name is unknown, or there are not so many agents.
    """
    if names is None and count is None:
        return None
    given = table.wiring.options.agents
    seats = [
        (seat.config, seat.config if given is None or isinstance(given[place], str) else given[place])
        for place, seat in enumerate(table.wiring.seats(None))
    ]
    if names is not None:
        return [_named(seats, name) for name in names]
    wanted = count or len(seats)
    if wanted <= len(seats):
        return [taken for _, taken in seats[:wanted]]
    if any(taken is not config for config, taken in seats):
        msg = f"this server has {len(seats)} agents, not {wanted}"
        raise ConfigurationError(msg, hint=f"Leave agentCount out, or ask for at most {len(seats)}.")
    models = [f"{config.provider}:{config.model}" if config.model else config.provider for config, _ in seats]
    return [models[place % len(models)] for place in range(wanted)]


def _named(seats: Sequence[tuple[AgentConfig, AgentLike]], name: str) -> AgentLike:
    for config, taken in seats:
        if name in {config.id, config.name}:
            return taken
    providers = {config.provider for config, taken in seats if taken is config}
    if name.partition(":")[0] in providers:
        return name
    offered = ", ".join(repr(config.id) for config, _ in seats)
    more = f'; or "provider:model" of {", ".join(sorted(providers))}' if providers else ""
    raise ConfigurationError(f"this server offers no agent {name!r}", hint=f"Agents: {offered}{more}.")
