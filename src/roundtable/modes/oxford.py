"""Oxford: two sides speak in turn, and all agents vote before and after the speeches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from roundtable.modes.base import NO_TOOLS, RoleBasedModeStrategy, RoleConfig
from roundtable.modes.shapes import Step, Visibility, everything, flag, nothing, parallel, sequential
from roundtable.types import BallotAnswer, Note, Persona

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from roundtable.types import AnyTurn, DebateContext, Seat, TurnSpec, Visible

__all__ = ["FIRST_VOTE", "LAST_VOTE", "SIDES", "OxfordMode", "OxfordSwing", "oxford_swing", "votes_by_agent"]

FIRST_VOTE: Final = "vote-before"
"""Stage of the vote before the first speech."""
LAST_VOTE: Final = "vote-after"
"""Stage of the vote that decides."""
SIDES: Final = ("For", "Against")
"""Options of the vote if the debate has none."""


@dataclass(frozen=True, slots=True)
class OxfordSwing:
    """How the votes changed between the first and the last vote."""

    before: Mapping[str, int]
    """Votes before the speeches, by option."""
    after: Mapping[str, int]
    """Votes after the speeches, by option."""
    swing: Mapping[str, int]
    """Votes gained or lost, by option."""
    winners: tuple[str, ...]
    """Options that gained the most votes; several on a tie, none if no option gained votes."""


def oxford_swing(turns: Sequence[AnyTurn]) -> OxfordSwing:
    """Count the votes before and after the speeches. Only agents that voted both times are counted.

    Args:
        turns: The turns of the debate, such as those of all rounds of a result.

    Example:
        >>> oxford_swing([]).winners
        ()
    """
    before, after = votes_by_agent(turns, FIRST_VOTE), votes_by_agent(turns, LAST_VOTE)
    both = [agent_id for agent_id in before if agent_id in after]
    first, last = Counter(before[agent_id] for agent_id in both), Counter(after[agent_id] for agent_id in both)
    options = sorted({*first, *last} - {None}, key=str)
    swing = {option: last[option] - first[option] for option in options if option is not None}
    most = max(swing.values(), default=0)
    return OxfordSwing(
        before={option: first[option] for option in swing},
        after={option: last[option] for option in swing},
        swing=swing,
        winners=tuple(option for option, gained in swing.items() if gained == most and most > 0),
    )


def votes_by_agent(turns: Iterable[AnyTurn], stage: str) -> dict[str, str | None]:
    """Return what each agent voted for in a stage; `None` is an abstention, and agents without a ballot are left out.

    Args:
        turns: The turns of the debate.
        stage: `FIRST_VOTE` or `LAST_VOTE`.
    """
    return {
        turn.agent_id: turn.answer.choice
        for turn in turns
        if turn.stage == stage and turn.outcome == "answered" and isinstance(turn.answer, BallotAnswer)
    }


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
            steps = self._vote(view, FIRST_VOTE, nothing, counts="inform") + steps
        if view.current_round == view.total_rounds or view.ends:
            steps += self._vote(view, LAST_VOTE, everything, counts="decide")
        return steps

    def _speech(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
        if not view.options:
            return self.ask_role(view, seat, sees)
        side = view.options[self.role_of(view, seat).stance == "NO"]
        note = Note(label="the side you speak for", text=side)
        return self.ask_role(view, seat, sees, notes=(note,), stance=None, opening=not sees)

    def _vote(self, view: DebateContext, name: str, sees: Visibility, *, counts: str) -> tuple[Step, ...]:
        options = view.options or SIDES
        facts = {"role": "voter", "answer": "ballot", "counts": counts, "options": options, "tools": NO_TOOLS}
        return parallel(view, lambda seat, visible: self.ask(view, seat, visible, **facts), sees=sees, name=name)
