"""Signs, without a model, that the agents of a round agreed too easily."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final

from roundtable.scoring import casefold
from roundtable.types import GroupthinkWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AgentResponse

__all__ = ["detect_groupthink"]

_SURE: Final = Fraction(8, 10)
_MEAN_SURE: Final = Fraction(85, 100)
_ALIKE: Final = 0.5
_NEEDED: Final = 2
_WORD: Final = re.compile(r"[^\W\d_]+")
_ADVICE: Final = "Ask for the strongest case against the common position, or seat agents of another provider."


def detect_groupthink(responses: Sequence[AgentResponse]) -> GroupthinkWarning:
    """Look for three signs; two of them are a warning.

    The signs: everybody is at least 80 % sure, and 85 % on average; all stances given are the same; the wordings of
    the positions have half of their longer words in common, on average over pairs.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(
        ...         agent_id=name, agent_name=name, position="We should ship it", stance="YES", confidence=0.9
        ...     )
        ...     for name in ("ada", "bo")
        ... ]
        >>> detect_groupthink(said).detected
        True
    """
    if len(responses) < 2:
        return GroupthinkWarning(detected=False)
    found = tuple(sign for sign in (_sure(responses), _one_side(responses), _one_wording(responses)) if sign)
    detected = len(found) >= _NEEDED
    return GroupthinkWarning(detected=detected, indicators=found, recommendation=_ADVICE if detected else "")


def _sure(responses: Sequence[AgentResponse]) -> str | None:
    claimed = [Fraction(str(response.confidence)) for response in responses]
    mean = sum(claimed, Fraction(0)) / len(claimed)
    if min(claimed) < _SURE or mean < _MEAN_SURE:
        return None
    return f"everybody is sure: {float(mean):.0%} on average"


def _one_side(responses: Sequence[AgentResponse]) -> str | None:
    stances = [response.stance for response in responses if response.stance]
    if len(stances) < 2 or len(set(stances)) > 1:
        return None
    return f"every stance given is {stances[0]}"


def _one_wording(responses: Sequence[AgentResponse]) -> str | None:
    words = [frozenset(_longer_words(response.position)) for response in responses]
    shares = [len(one & other) / len(one | other) if one | other else 0.0 for one, other in combinations(words, 2)]
    mean = math.fsum(shares) / len(shares)
    return f"the wordings are alike: {mean:.0%} of the longer words in common" if mean >= _ALIKE else None


def _longer_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(casefold(text)) if len(word) >= 4]
