"""Collaborative: everybody answers at once, sees all earlier rounds, and looks for shared ground."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from roundtable.modes.base import BaseModeStrategy
from roundtable.prompts import load_mode_prompt, render_layers
from roundtable.types import EndRound, Stage, TurnSpec

if TYPE_CHECKING:
    from roundtable.types import DebateContext, Plan

__all__ = ["CollaborativeMode"]

_TEXTS = "collaborative"
"""Its instructions; a subclass of another name speaks the same unless it overrides them."""


class CollaborativeMode(BaseModeStrategy):
    """All agents speak in parallel; from the second round on each sees every earlier position.

    Example:
        >>> from roundtable.types import DebateContext, Seat
        >>> seats = (Seat(id="ada", name="Ada"), Seat(id="bo", name="Bo"))
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="collaborative", agents=seats)
        >>> [turn.agent for turn in CollaborativeMode().next_stage(view).turns]
        ['ada', 'bo']
    """

    name: str = "collaborative"

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan one stage a round: a position of every agent."""
        if not view.agents or self.stage_done(view, "positions"):
            return EndRound()
        seen = self.earlier_positions(view)
        task = self._task(opening=not seen, focused=bool(view.focus_question))
        brief = load_mode_prompt(_TEXTS).brief
        return Stage(
            name="positions",
            turns=tuple(
                TurnSpec(slot=slot, agent=seat.id, task=task, brief=brief, sees=seen, options=view.options)
                for slot, seat in enumerate(view.agents)
            ),
        )

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the mode's instructions; they differ while nobody has spoken."""
        return self._task(opening=not context.previous_responses, focused=bool(context.focus_question))

    def _task(self, *, opening: bool, focused: bool) -> str:
        return _task(opening, focused)


@cache
def _task(opening: bool, focused: bool) -> str:  # noqa: FBT001  (a key of the cache)
    return render_layers(load_mode_prompt(_TEXTS), opening=opening, focused=focused)
