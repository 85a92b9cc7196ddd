"""The options that a caller sets on a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from roundtable.api.profiles import ProfileLike
    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.tools import ToolLike
    from roundtable.core.protocols import ChatModel, ConsensusMeter, Observer, Storage
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.events import Event
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.providers import Cassette
    from roundtable.settings import Settings
    from roundtable.tools.approval import Approver

__all__ = ["SeatLike", "TableOptions"]


SeatLike: TypeAlias = "str | ChatModel"
"""A model for an auxiliary role (seat): `"provider:model"`, or a chat model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """Options of a table."""

    agents: Sequence[AgentLike] | None = None
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    storage: str | Storage | None = None
    tools: Sequence[ToolLike] = ()
    tool_dependencies: object = None
    approve_tools: Approver | None = None
    profiles: Sequence[ProfileLike] = ()
    analyzer: str | ConsensusMeter = "auto"
    search: SearchLike = "auto"
    seats: Mapping[str, SeatLike | Sequence[SeatLike]] = field(default_factory=dict)
    quorum: int | None = None
    concurrency: int = 8
    timeout_s: float | None = None
    turn_timeout_s: float | None = None
    seed: int = 0
    observers: Sequence[str | Observer | Callable[[Event], None]] = ()
    plugins: PluginChoice = None
    prices: Mapping[str, PriceLike] | None = None
    budget: Budget | None = None
    cassette: str | PathLike[str] | Cassette | None = None
    tenant: str = "default"
    settings: Settings | None = None

    @property
    def shown(self) -> str:
        """The main options as text, for the `repr` of a table; a storage address is shown without user and password."""
        storage = self.storage
        if isinstance(storage, str):
            from roundtable.http import masked_url

            storage = masked_url(storage)
        return f"agents={self.agents!r}, storage={storage!r}, tenant={self.tenant!r}"

    def provider_names(self, agents: Sequence[AgentLike] | None) -> set[str]:
        """Return the names of the providers whose models a debate may need.

        Args:
            agents: The agents of the debate, if it does not use the agents of the table.
        """
        from roundtable.vendors import VENDORS, WITHOUT_HTTP

        debate_agents = self.agents if agents is None else agents
        infos = WITHOUT_HTTP.values()
        names = set[str]() if debate_agents is not None else {*VENDORS, *(info.name for info in infos if info.stand_in)}
        # Values that cannot be an agent or a model are refused later, with the other checks.
        models = list[object](debate_agents) if isinstance(debate_agents, Sequence) else []
        for seat in self.seats.values() if isinstance(self.seats, Mapping) else ():
            models += seat if isinstance(seat, (list, tuple)) else [seat]
        for model in models:
            name = model if isinstance(model, str) else getattr(model, "provider", "")
            names.add(str(name).partition(":")[0].strip())
        return names if self.cassette is None else names.union(info.name for info in infos if info.replays)
