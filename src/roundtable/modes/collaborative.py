"""Collaborative: all agents answer at once, see all earlier rounds, and look for common ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import Step, parallel

if TYPE_CHECKING:
    from roundtable.core.types.debate import DebateContext

__all__ = ["CollaborativeMode"]


class CollaborativeMode(BaseModeStrategy):
    """All agents speak in parallel; from the second round on, each sees every earlier position.

    Example:
        >>> from roundtable.types import DebateContext, Seat
        >>> seats = (Seat(id="ada", name="Ada"), Seat(id="bo", name="Bo"))
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="collaborative", agents=seats)
        >>> [turn.agent for turn in CollaborativeMode().next_stage(view).turns]
        ['ada', 'bo']
    """

    name: str = "collaborative"
    summary: str = "All at once, looking for common ground."
    use_when: str = "You want one answer that all can support, or many ideas combined."

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round: a position of every agent."""
        return parallel(view, lambda seat, sees: self.ask(view, seat, sees))
