"""Freeform: an open table, one after another, with no role to play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.base import SEQUENTIAL_TOOLS, BaseModeStrategy
from roundtable.modes.shapes import Step, sequential

if TYPE_CHECKING:
    from roundtable.types import DebateContext

__all__ = ["FreeformMode"]


class FreeformMode(BaseModeStrategy):
    """Agents speak in turn and see everything said before; the mode asks nothing else of them."""

    name: str = "freeform"
    summary: str = "One after another, with no role to play."
    use_when: str = "You want to see what agents make of a question without roles, or you define the roles yourself."
    role: str = "speaker"
    tools = SEQUENTIAL_TOOLS

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker."""
        return sequential(view, lambda seat, sees: self.ask(view, seat, sees))
