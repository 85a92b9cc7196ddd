"""Free-MAD: agents answer alone, then look for errors in all answers instead of following the majority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import Step, parallel
from roundtable.core.types.answers import AgentResponse
from roundtable.modes.context import key_position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.debate import AnyTurn, DebateContext

__all__ = ["FreeMadMode", "trajectories"]


def trajectories(turns: Sequence[AnyTurn]) -> dict[str, tuple[str, ...]]:
    """Return each agent's answers in order, in the short form of `key_position`.

    Example:
        >>> trajectories([])
        {}
    """
    answers_of: dict[str, tuple[str, ...]] = {}
    for turn in turns:
        if turn.outcome == "answered" and isinstance(turn.answer, AgentResponse):
            answers_of[turn.agent_id] = (*answers_of.get(turn.agent_id, ()), key_position(turn.answer))
    return answers_of


class FreeMadMode(BaseModeStrategy):
    """Agents answer alone; from the second round on, each looks for errors in all answers, including its own.

    The instructions say that agreement proves nothing, and that an agent should change its answer only because of an
    error that it can name. The published method has two rounds; further rounds repeat the second. `trajectories` lists
    the answers of each agent in order.
    """

    name: str = "free-mad"
    summary: str = "Agents answer alone, then look for errors in all answers instead of following the majority."
    use_when: str = "The question has a right answer, and the majority may be wrong."
    rounds: range = range(2, 101)
    agent_counts: range = range(2, 101)
    role: str = "answerer"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round."""
        role = "answerer" if view.current_round == 1 else "dissenter"
        return parallel(view, lambda seat, sees: self.ask(view, seat, sees, role=role))
