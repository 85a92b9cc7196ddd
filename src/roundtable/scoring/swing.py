"""How votes change from the vote before the speeches to the vote that decides, in modes that plan both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundtable.core.types.answers import BallotAnswer
from roundtable.core.types.plan import FIRST_VOTE_STAGE, LAST_VOTE_STAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundtable.core.types.debate import AnyTurn

__all__ = ["VoteSwing", "decides", "first_votes", "last_votes", "vote_swing"]


@dataclass(frozen=True, slots=True)
class VoteSwing:
    """How the votes changed between the first and the last vote."""

    before: Mapping[str, int]
    """Votes before the speeches, by option."""
    after: Mapping[str, int]
    """Votes after the speeches, by option."""
    swing: Mapping[str, int]
    """Votes gained or lost, by option."""
    winners: tuple[str, ...]
    """Options that gained the most votes; several on a tie, none if no option gained votes."""


def vote_swing(turns: Sequence[AnyTurn]) -> VoteSwing:
    """Count the first and the last votes of a debate. Only agents that voted both times are counted.

    Args:
        turns: The turns of the debate.

    Example:
        >>> vote_swing([]).swing
        {}
    """
    before, after = first_votes(turns), last_votes(turns)
    both = [agent_id for agent_id in before if agent_id in after]
    first, last = Counter(before[agent_id] for agent_id in both), Counter(after[agent_id] for agent_id in both)
    options = sorted({*first, *last} - {None}, key=str)
    swing = {option: last[option] - first[option] for option in options if option is not None}
    most = max(swing.values(), default=0)
    return VoteSwing(
        before={option: first[option] for option in swing},
        after={option: last[option] for option in swing},
        swing=swing,
        winners=tuple(option for option, gained in swing.items() if gained == most and most > 0),
    )


def first_votes(turns: Iterable[AnyTurn]) -> dict[str, str | None]:
    """Return what each agent voted for before the speeches; `None` is an abstention, and failed votes are left out.

    Args:
        turns: The turns of the debate.
    """
    return _votes(turn for turn in turns if turn.stage == FIRST_VOTE_STAGE)


def last_votes(turns: Iterable[AnyTurn]) -> dict[str, str | None]:
    """Return what each agent last voted for in a vote of the mode that decides, in the same form as `first_votes`.

    Args:
        turns: The turns of the debate.
    """
    return _votes(turn for turn in turns if decides(turn) and turn.stage != FIRST_VOTE_STAGE)


def decides(turn: AnyTurn) -> bool:
    """Check whether a turn is a vote of the mode itself that decides.

    Stored turns of older Oxford debates are not marked as deciding; they are recognised by the name of their stage.
    """
    return turn.decides or turn.stage == LAST_VOTE_STAGE


def _votes(turns: Iterable[AnyTurn]) -> dict[str, str | None]:
    return {
        turn.agent_id: turn.answer.choice
        for turn in turns
        if turn.outcome == "answered" and isinstance(turn.answer, BallotAnswer)
    }
