"""Specialised agents, described once and used by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AgentProfile", "ErrorAction"]

ErrorAction: TypeAlias = Literal["skip", "retry", "abort"]
"""What follows when an agent's turn fails: go on without it, let it try once more and then go on, or end the run."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST_STEPS: Final = 50


@dataclass(frozen=True)
class AgentProfile:
    """A specialised agent of a team: what it is for, which tools it has, how long it may work.

    Args:
        name: What it is asked for by; letters, digits, `.`, `_` and `-`, 100 at most.
        instructions: Who it is and what it does; trusted text, the opening of its system prompt.
        model: `"provider:model"`, or a chat model; left out, a model of the table.
        tools: What it can do besides speaking: names of tools of the table or of plugins, typed functions, or tools. A
            session is stored with their names; to go on elsewhere, that table needs tools of the same names.
        max_steps: Most model calls of one turn, 1 to 50.
        on_error: What follows when its turn fails: go on without it (`"skip"`), let it try once more and then go on
            (`"retry"`), or end the conversation (`"abort"`).
        temperature: Sampling temperature in [0, 2]; `None` sends none.
        max_tokens: Most tokens of one answer.

    Raises:
        ConfigurationError: A value is out of range.

    Example:
        >>> AgentProfile("data-steward", instructions="You know the customer database.").max_steps
        4
    """

    name: str
    instructions: str = ""
    model: object | None = None
    tools: Sequence[object] = ()
    max_steps: int = 4
    on_error: ErrorAction = "skip"
    temperature: float | None = 0.7
    max_tokens: int = 4096

    def __post_init__(self) -> None:
        """Refuse what cannot be an agent."""
        fault = _fault(self)
        if fault is not None:
            raise ConfigurationError(f"profile {self.name!r}: {fault}")


def _fault(profile: AgentProfile) -> str | None:
    """Say what is wrong with a profile."""
    steps, actions = profile.max_steps, get_args(ErrorAction)
    if not isinstance(profile.name, str) or not _NAME.fullmatch(profile.name):
        return "a name has 1 to 100 letters, digits, '.', '_' and '-', and begins with a letter or digit"
    if not isinstance(profile.instructions, str):
        return "instructions must be a text"
    if isinstance(profile.tools, str) or not hasattr(profile.tools, "__iter__"):
        return "tools must be a list"
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= _MOST_STEPS:
        return f"max_steps must be a whole number from 1 to {_MOST_STEPS}, not {steps!r}"
    if profile.on_error not in actions:
        return f"on_error must be one of {', '.join(map(repr, actions))}, not {profile.on_error!r}"
    return None
