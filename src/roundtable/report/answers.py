"""Answers of any kind in words: a vote, a ranking or a plan reads like a sentence, not like JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, assert_never

if TYPE_CHECKING:
    from roundtable.types import Answer

__all__ = ["Words", "in_words"]


class Words(NamedTuple):
    """An answer as it is told."""

    says: str
    """What was answered, in a line."""
    why: str
    """The reasons, of any number of lines."""


def in_words(answer: Answer) -> Words:
    """Say what an answer says, and why.

    Example:
        >>> from roundtable.types import BallotAnswer, RankingAnswer
        >>> in_words(BallotAnswer(choice="Tea", reasoning="It keeps."))
        Words(says='votes: Tea', why='It keeps.')
        >>> in_words(RankingAnswer(ranking=(("Tea",), ("Mate", "Milk")))).says
        'ranks: Tea > Mate = Milk'
    """
    match answer.kind:
        case "position":
            return Words(answer.position, answer.reasoning)
        case "ballot":
            return Words("abstains" if answer.choice is None else f"votes: {answer.choice}", answer.reasoning)
        case "ranking":
            return Words(f"ranks: {' > '.join(' = '.join(group) for group in answer.ranking)}", answer.reasoning)
        case "scores":
            scores = ", ".join(f"{option} {score:g}" for option, score in answer.scores.items())
            return Words(f"scores: {scores}", answer.reasoning)
        case "plan":
            criteria = "".join(f"\n- {criterion}" for criterion in answer.success_criteria)
            return Words(f"plans: {answer.goal}", f"{answer.strategy}{criteria}".strip())
        case "text":
            first, _, rest = answer.text.strip().partition("\n")
            return Words(first, rest.strip())
        case _:
            assert_never(answer)
