"""Socratic: agents speak one after another, and ask questions rather than answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.mode.base import SEQUENTIAL_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, sequential
from roundtable.core.types.agents import Persona

if TYPE_CHECKING:
    from roundtable.core.types.debate import DebateContext

__all__ = ["SocraticMode"]


class SocraticMode(BaseModeStrategy):
    """Agents question what was said, one after another; each sees everything that was said before.

    A position is the answer that an agent prefers for now, worded as a hypothesis.
    """

    name: str = "socratic"
    summary: str = "One after another, with questions rather than answers."
    use_when: str = "The question itself is unclear, or depends on assumptions that nobody has examined."
    personas: tuple[Persona | None, ...] = (
        Persona(name="Questioner", description="You ask what words mean and what they rest on."),
        Persona(name="Examiner", description="You follow an answer to where it leads and ask whether that holds."),
    )
    needs_groupthink_detection: bool = False
    role: str = "questioner"
    tools = SEQUENTIAL_TOOLS

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker."""
        return sequential(view, lambda seat, sees: self.ask(view, seat, sees))
