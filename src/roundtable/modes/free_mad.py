"""Free-MAD: answers given alone, then a round that resists the majority; the whole trajectory is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.shapes import Step, parallel
from roundtable.modes.statistics import key_position
from roundtable.types import AgentResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AnyTurn, DebateContext

__all__ = ["FreeMadMode", "trajectories"]


def trajectories(turns: Sequence[AnyTurn]) -> dict[str, tuple[str, ...]]:
    """Give each agent's answers in order, as the option chosen or the first sentence of its position.

    Example:
        >>> trajectories([])
        {}
    """
    found: dict[str, tuple[str, ...]] = {}
    for turn in turns:
        if turn.outcome == "answered" and isinstance(turn.answer, AgentResponse):
            found[turn.agent_id] = (*found.get(turn.agent_id, ()), key_position(turn.answer))
    return found


class FreeMadMode(BaseModeStrategy):
    """Everybody answers alone; from the second round on everybody looks for errors in all answers, its own included.

    Agents are told that agreement proves nothing and to change their answer only for an error they can name. Two
    rounds are the published method; further ones repeat the second. `trajectories` reads how answers moved.
    """

    name: str = "free-mad"
    summary: str = "Answers given alone, then a round that resists the majority."
    use_when: str = "The question has a right answer, and a majority may be wrong together."
    rounds: range = range(2, 101)
    agent_counts: range = range(2, 101)
    role: str = "answerer"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage a round."""
        role = "answerer" if view.current_round == 1 else "dissenter"
        return parallel(view, lambda seat, sees: self.ask(view, seat, sees, role=role))
