"""What may be said about a table and about a debate, for those who pass it on. Light: loaded with the facade."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from roundtable.api.profiles import ProfileLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.tools import ToolLike
    from roundtable.exits import Exit
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.protocols import ChatModel, ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.providers import Cassette
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.types import Budget, Event, JsonValue, Perspective, ProviderConfig

__all__ = ["DebateOptions", "Options", "Perspectives", "SeatLike"]

Perspectives: TypeAlias = "Sequence[str | Perspective] | Literal['auto'] | None"
"""Perspectives of an expert panel: names or values; `"auto"` has them written for the question."""


SeatLike: TypeAlias = "str | ChatModel"
"""A model beside the debate: `"provider:model"`, or a chat model."""


class DebateOptions(TypedDict, total=False):
    """What may be said about a debate besides its topic; `Roundtable.debate` explains each."""

    mode: str | DebateModeStrategy
    rounds: int
    options: Sequence[str] | None
    decide: str | Rule
    exit_when: Exit | None
    exit_on_consensus: bool | None
    focus_question: str | None
    perspectives: Perspectives
    agents: Sequence[AgentLike] | None
    budget: Budget | None
    baseline: bool
    synthesize: bool
    skip_rounds_when: float | None
    deadline_s: float | None
    metadata: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller set on a table."""

    agents: Sequence[AgentLike] | None = None
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    storage: str | Storage | None = None
    tools: Sequence[ToolLike] = ()
    profiles: Sequence[ProfileLike] = ()
    analyzer: str | ConsensusMeter = "auto"
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
        """What tells tables apart, in words; an address without user and password."""
        storage = self.storage
        if isinstance(storage, str):
            from roundtable.http import shown_url

            storage = shown_url(storage)
        return f"agents={self.agents!r}, storage={storage!r}, tenant={self.tenant!r}"
