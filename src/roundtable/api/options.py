"""The keyword arguments of a debate, for the methods that pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.seats import AgentLike
    from roundtable.exits import Exit
    from roundtable.types import Budget, JsonValue

__all__ = ["DebateOptions"]


class DebateOptions(TypedDict, total=False):
    """What may be said about a debate besides its topic; `Roundtable.debate` explains each."""

    mode: str
    rounds: int
    options: Sequence[str] | None
    decide: str
    exit_when: Exit | None
    focus_question: str | None
    agents: Sequence[AgentLike] | None
    budget: Budget | None
    deadline_s: float | None
    metadata: Mapping[str, JsonValue] | None
