"""Freeform: agents speak one after another, without roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.mode.base import SEQUENTIAL_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, sequential

if TYPE_CHECKING:
    from roundtable.core.types.debate import DebateContext

__all__ = ["FreeformMode"]


class FreeformMode(BaseModeStrategy):
    """Agents speak one after another, and see everything that was said before; they have no roles."""

    name: str = "freeform"
    summary: str = "One after another, without roles."
    use_when: str = "You want agents to answer a question without roles, or you define the roles yourself."
    role: str = "speaker"
    tools = SEQUENTIAL_TOOLS

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker."""
        return sequential(view, lambda seat, sees: self.ask(view, seat, sees))
