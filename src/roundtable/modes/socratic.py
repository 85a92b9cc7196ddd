"""Socratic: one after another, by questions rather than answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.base import SEQUENTIAL_TOOLS, BaseModeStrategy
from roundtable.modes.shapes import Step, sequential

if TYPE_CHECKING:
    from roundtable.types import DebateContext

__all__ = ["SocraticMode"]


class SocraticMode(BaseModeStrategy):
    """Agents question what was said, one after another; each sees everything said before.

    A position is the answer that an agent leans towards for now, worded as a hypothesis.
    """

    name: str = "socratic"
    summary: str = "One after another, by questions rather than answers."
    use_when: str = "The question itself is unclear, or rests on assumptions nobody has looked at."
    needs_groupthink_detection: bool = False
    role: str = "questioner"
    tools = SEQUENTIAL_TOOLS

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker."""
        return sequential(view, lambda seat, sees: self.ask(view, seat, sees))
