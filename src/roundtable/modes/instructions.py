"""Instructions of a mode for one turn, and the tool calls turns may make."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.prompts import render_layers
from roundtable.types import ToolPolicy

if TYPE_CHECKING:
    from roundtable.prompts import PromptLibrary

__all__ = ["NO_TOOLS", "PARALLEL_TOOLS", "SEQUENTIAL_TOOLS", "Instructions", "instructed"]

PARALLEL_TOOLS: Final = ToolPolicy(min=1, max=10)
"""Calls of a turn whose agent speaks at the same time as others, and so cannot use what they find."""
SEQUENTIAL_TOOLS: Final = ToolPolicy(min=1, max=5)
"""Calls of a turn whose agent has the evidence of those before it."""
NO_TOOLS: Final = ToolPolicy(max=0)
"""For votes, rankings and the like, which rest on what was said."""


class Instructions(NamedTuple):
    """A role's instructions in both forms, with their version."""

    task: str
    brief: str
    prompt_id: str


@lru_cache(maxsize=512)
def instructed(prompts: PromptLibrary, mode: str, role: str, *, opening: bool, focused: bool) -> Instructions:
    """Write the instructions of a role once, however many turns they are for."""
    texts = prompts.load(mode)
    own = texts.role(role)
    return Instructions(
        render_layers(own, opening=opening, focused=focused, headings=texts.headings),
        own.compact(opening=opening),
        texts.prompt_id(role, opening=opening),
    )
