"""Scales of scores: one rule for parsers, counts and people."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

__all__ = ["DEFAULT_SCALE", "is_on_scale", "scale_in_words", "scale_problem"]

DEFAULT_SCALE: Final = (0.0, 10.0)
"""Lowest and highest score of a vote whose rule sets no scale."""


def is_on_scale(number: float | Fraction, low: float | Fraction | None, high: float | Fraction | None) -> bool:
    """Check whether a number is on a scale; an end that is `None` is open.

    Example:
        >>> is_on_scale(10, 0, 10), is_on_scale(11, 0, 10), is_on_scale(11, 0, None)
        (True, False, True)
    """
    return (low is None or number >= low) and (high is None or number <= high)


def scale_in_words(low: float | None, high: float | None) -> str:
    """Return the words that follow "a number" for numbers on a scale; an empty text if both ends are open.

    Example:
        >>> scale_in_words(0, 10), scale_in_words(1, None), scale_in_words(None, 5)
        (' from 0 to 10', ' of at least 1', ' of at most 5')
    """
    if high is None:
        return "" if low is None else f" of at least {low:.15g}"
    return f" of at most {high:.15g}" if low is None else f" from {low:.15g} to {high:.15g}"


def scale_problem(scores: Iterable[float | None], low: float | None, high: float | None) -> str:
    """Return why a ballot with these scores is invalid as a whole; an empty text if all scores are on the scale.

    A ballot without its invalid score could put another option first than the voter did.

    Args:
        scores: The scores; `None` for a value that is not a number.
        low: Lowest score; `None` for no limit.
        high: Highest score; `None` for no limit.

    Example:
        >>> scale_problem([11, 10], 0, 10)
        'the score 11 is off the scale: each score must be a number from 0 to 10'
        >>> scale_problem([0, 10], 0, 10)
        ''
    """
    wanted = f"each score must be a number{scale_in_words(low, high)}"
    for score in scores:
        if score is None:
            return f"a score is not a number: {wanted}"
        if not is_on_scale(score, low, high):
            return f"the score {score:.15g} is off the scale: {wanted}"
    return ""
