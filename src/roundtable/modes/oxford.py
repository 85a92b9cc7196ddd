"""Oxford: two sides speak in turn, and all agents vote before and after the speeches."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from roundtable.core.mode.base import NO_TOOLS, RoleBasedModeStrategy, RoleConfig
from roundtable.core.mode.shapes import Step, Visibility, everything, flag, nothing, parallel, sequential
from roundtable.core.types.agents import Persona
from roundtable.core.types.plan import FIRST_VOTE_STAGE, LAST_VOTE_STAGE, VOTE_SIDES, Note
from roundtable.scoring.swing import VoteSwing, vote_swing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.types.debate import AnyTurn, DebateContext, Seat
    from roundtable.core.types.plan import TurnSpec, Visible

__all__ = ["OxfordMode", "OxfordSwing", "oxford_swing"]

OxfordSwing = VoteSwing
"""How the votes changed between the first and the last vote."""


def oxford_swing(turns: Sequence[AnyTurn]) -> OxfordSwing:
    """Count the votes before and after the speeches. Only agents that voted both times are counted.

    Args:
        turns: The turns of the debate, such as those of all rounds of a result.

    Example:
        >>> oxford_swing([]).winners
        ()
    """
    return vote_swing(turns)


class OxfordMode(RoleBasedModeStrategy):
    """Agents in seats with an even index (from 0) speak for the proposition, the others against it.

    All agents vote in private: the first vote takes place before the first round, the second after the last planned
    round, or after the round in which an exit criterion ends the debate. A debate with options must have exactly two:
    the proposition speaks for the first option, the opposition for the second. The second vote decides; `oxford_swing`
    counts how many votes each side gained or lost.

    Args:
        reask: Whether a speaker is asked once more at the end of the round if its answer took another side.
        prompts: Source of the instructions.
    """

    name: str = "oxford"
    summary: str = "Two sides in turn, with a vote before and after."
    use_when: str = "You want to know which side's arguments change minds, not which side had more supporters before."
    needs_groupthink_detection: bool = False
    assigns_stances: bool = True
    agent_counts: range = range(2, 101)
    has_own_vote: bool = True
    vote_options: tuple[str, ...] = VOTE_SIDES
    option_counts: range = range(2, 3)
    role: str = "proposition"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"reask": flag}
    role_configs: tuple[RoleConfig, ...] = (
        RoleConfig(
            "proposition",
            "Proposition",
            "YES",
            Persona(name="Proponent", description="You speak for the motion."),
        ),
        RoleConfig(
            "opposition",
            "Opposition",
            "NO",
            Persona(name="Opponent", description="You speak against the motion."),
        ),
    )

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan the speeches, with one vote before the first round and another at the end of the debate."""
        steps = sequential(view, lambda seat, sees: self._speech(view, seat, sees)) + self.reask_steps(view)
        if view.current_round == 1:
            steps = self._vote(view, FIRST_VOTE_STAGE, nothing, counts="inform") + steps
        if view.current_round == view.total_rounds or view.ends:
            steps += self._vote(view, LAST_VOTE_STAGE, everything, counts="decide")
        return steps

    def _speech(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
        if not view.options:
            return self.ask_role(view, seat, sees)
        side = view.options[self.role_of(view, seat).stance == "NO"]
        note = Note(label="the side you speak for", text=side)
        return self.ask_role(view, seat, sees, notes=(note,), stance=None, opening=not sees)

    def _vote(self, view: DebateContext, name: str, sees: Visibility, *, counts: str) -> tuple[Step, ...]:
        options = view.options or self.vote_options
        facts = {"role": "voter", "answer": "ballot", "counts": counts, "options": options, "tools": NO_TOOLS}
        return parallel(view, lambda seat, visible: self.ask(view, seat, visible, **facts), sees=sees, name=name)
