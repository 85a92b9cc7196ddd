"""The options that Python callers can set for a debate; values may be objects.

Written by `tools/generate.py` from `roundtable.core.types.request`; change it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import AgentLike
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.agents import AgentProfile, Perspective
    from roundtable.core.types.attachments import AttachmentLike
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import ModeName, RuleName
    from roundtable.core.types.teams import TeamOrder
    from roundtable.exits import Exit
    from roundtable.scoring import Rule

__all__ = ["CallerRequest", "ConverseOptions", "DebateOptions", "Perspectives"]

Perspectives: TypeAlias = "Sequence[str | Perspective] | Literal['auto'] | None"
"""Perspectives of an expert panel: names or values; with `"auto"`, a model writes them."""


class DebateOptions(TypedDict, total=False):
    """Options of a debate besides its topic; `Roundtable.debate` explains each option."""

    mode: ModeName | DebateModeStrategy
    rounds: int
    agents: Sequence[AgentLike] | None
    options: Sequence[str] | None
    attachments: Sequence[AttachmentLike]
    decide: RuleName | Rule | None
    vote: bool | Literal["every"]
    exit_when: str | Exit | None
    exit_on_consensus: bool | None
    quorum: int | None
    focus_question: str | None
    perspectives: Perspectives
    search: SearchLike | None
    baseline: bool
    synthesize: bool
    claims: bool
    answer_schema: Mapping[str, JsonValue] | type | None
    skip_rounds_when: float | None
    budget: Budget | None
    deadline_s: float | None
    metadata: Mapping[str, JsonValue] | None


class ConverseOptions(TypedDict, total=False):
    """Options of a conversation; `Roundtable.converse` explains each option."""

    rounds: int
    order: TeamOrder
    initiator: AgentProfile | None
    summarizer: AgentProfile | None
    timeout_s: float | None
    budget: Budget | None
    metadata: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerRequest:
    """The request of a caller for one debate, with the defaults of omitted options."""

    topic: str
    mode: ModeName | DebateModeStrategy = "collaborative"
    rounds: int = 3
    agents: Sequence[AgentLike] | None = None
    options: Sequence[str] | None = None
    attachments: Sequence[AttachmentLike] = ()
    decide: RuleName | Rule | None = None
    vote: bool | Literal["every"] = False
    exit_when: str | Exit | None = None
    exit_on_consensus: bool | None = None
    quorum: int | None = None
    focus_question: str | None = None
    perspectives: Perspectives = None
    search: SearchLike | None = None
    baseline: bool = False
    synthesize: bool = False
    claims: bool = False
    answer_schema: Mapping[str, JsonValue] | type | None = None
    skip_rounds_when: float | None = None
    budget: Budget | None = None
    deadline_s: float | None = None
    metadata: Mapping[str, JsonValue] | None = None
