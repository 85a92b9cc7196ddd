"""What the rounds say, as exits compare it: one basis for all of them, and texts in any script."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from roundtable.protocols import ExitRound
from roundtable.scoring.spelling import casefold
from roundtable.types import AgentResponse, AnyTurn, FailedTurn, Turn

__all__ = ["Answers", "Basis", "answers_of", "held", "turns_of", "words"]

Basis: TypeAlias = Literal["choice", "stance", "position"]
"""What answers are compared by: the option chosen, the side taken, or the wording."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of some rounds, comparable with each other."""

    basis: Basis
    """What they are compared by."""
    rounds: tuple[dict[str, str], ...]
    """For each round the answer of each agent, the latest one where it spoke twice."""


def answers_of(rounds: Sequence[ExitRound]) -> Answers:
    """Read the answers of some rounds: by choice when every response has one, else by stance, else by wording."""
    responses = [response for one in rounds for response in one.responses]
    basis: Basis = "position"
    if responses and all(response.choice is not None for response in responses):
        basis = "choice"
    elif responses and all(response.stance is not None for response in responses):
        basis = "stance"
    return Answers(
        basis, tuple({response.agent_id: _answer(response, basis) for response in one.responses} for one in rounds)
    )


def _answer(response: AgentResponse, basis: Basis) -> str:
    said = {"choice": response.choice, "stance": response.stance, "position": response.position}[basis]
    return casefold(said or "")


def turns_of(one: ExitRound) -> tuple[AnyTurn, ...]:
    """Give the turns of a round that keeps them, as `RoundRecord` does; none for one that does not."""
    found: object = getattr(one, "turns", ())
    return tuple(turn for turn in found if isinstance(turn, Turn | FailedTurn)) if isinstance(found, tuple) else ()


# Scripts written without spaces between words: compared by pairs of characters.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR")
# Scripts in which words of one or two letters are mostly articles and prepositions.
_SHORT_WORDS = ("LATIN", "CYRILLIC", "GREEK")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATING_WORDS = frozenset(
    {
        *("no", "not", "never", "none", "nor", "cannot", "without", "neither", "nobody", "nothing"),
        *("nicht", "kein", "keine", "nie", "ne", "pas", "non", "jamais", "nunca"),
    }
)
_NEGATING_SIGNS = ("n't", "不", "没", "沒", "未", "ない", "ません", "않", "아니", "못")


def words(text: str) -> frozenset[str]:
    """Give the words of a text that can be compared, in any script.

    Latin, Cyrillic and Greek words need three letters, unless there are no longer ones; scripts without spaces give
    pairs of neighbouring characters; all other words count whole.

    Example:
        >>> sorted(words("It is an open question")), sorted(words("贊成提案"))
        (['open', 'question'], ['成提', '提案', '贊成'])
    """
    found: set[str] = set()
    short: set[str] = set()
    for token in re.findall(r"\w+", casefold(text)):
        script = unicodedata.name(token[0], "")
        if script.startswith(_UNSPACED):
            found.update(token[place : place + 2] for place in range(max(1, len(token) - 1)))
        elif script.startswith(_SHORT_WORDS) and len(token) < 3:
            short.add(token)
        else:
            found.add(token)
    return frozenset(found or short)


def _negations(text: str) -> int:
    folded = casefold(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    spoken = sum(token in _NEGATING_WORDS for token in re.findall(r"\w+", folded))
    return spoken + sum(folded.count(sign) for sign in _NEGATING_SIGNS)


def held(before: AgentResponse, after: AgentResponse, similarity: Fraction) -> bool:
    """Tell whether an agent kept its position.

    By choice where both have one. Else both stances, where given, must be equal, and the wording too, up to `casefold`;
    or the words must overlap (Jaccard) by the similarity, with the same numbers and as many negations.

    Example:
        >>> def says(text):
        ...     return AgentResponse(agent_id="ada", agent_name="Ada", position=text)
        >>> held(says("We should adopt it now"), says("We should adopt it, now!"), Fraction(7, 10))
        True
        >>> held(says("We should adopt it now"), says("We should not adopt it now"), Fraction(7, 10))
        False
    """
    if before.choice is not None and after.choice is not None:
        return casefold(before.choice) == casefold(after.choice)
    if before.stance and after.stance and before.stance != after.stance:
        return False
    one, other = casefold(before.position), casefold(after.position)
    if one == other:
        return True
    if Counter(_NUMBER.findall(one)) != Counter(_NUMBER.findall(other)) or _negations(one) != _negations(other):
        return False
    mine, yours = words(one), words(other)
    return bool(mine | yours) and Fraction(len(mine & yours), len(mine | yours)) >= similarity
