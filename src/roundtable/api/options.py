"""The keyword arguments of a debate, for the methods that pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.seats import AgentLike
    from roundtable.exits import Exit
    from roundtable.protocols import DebateModeStrategy
    from roundtable.scoring import Rule
    from roundtable.types import JsonValue, Perspective

__all__ = ["DebateOptions", "Perspectives"]

Perspectives: TypeAlias = "Sequence[str | Perspective] | Literal['auto'] | None"
"""Perspectives of an expert panel: names or values; `"auto"` has them written for the question."""


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
    deadline_s: float | None
    metadata: Mapping[str, JsonValue] | None
