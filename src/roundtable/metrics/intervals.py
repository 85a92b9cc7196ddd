"""Confidence intervals of a share."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

from roundtable.core.errors import ConfigurationError
from roundtable.scoring import Number, share
from roundtable.scoring.numbers import whole

__all__ = ["Interval", "normal_reach", "tail_of", "wilson_interval"]


class Interval(NamedTuple):
    """An interval from a lower to an upper bound."""

    low: float
    """Lower bound."""
    high: float
    """Upper bound."""


def tail_of(level: Number) -> Fraction:
    """Return the share outside an interval on each side, in (0, 1/2).

    Raises:
        ConfigurationError: The level is not between 0 and 1.
    """
    inside = share(level, "the level of an interval")
    if not 0 < inside < 1:
        raise ConfigurationError(f"the level of an interval must lie between 0 and 1, not {level}")
    return (1 - inside) / 2


def normal_reach(tail: Fraction, what: str) -> float:
    """Return the standard normal quantile above which this share lies; negative if it is more than half.

    Args:
        tail: The share, in (0, 1).
        what: Name of the number from which the share was computed, for the error message.

    Raises:
        ConfigurationError: The share is too close to 0 or 1 for floats.
    """
    # The smaller share is used, as floats are finest near 0.
    smaller = float(min(tail, 1 - tail))
    if not smaller:
        raise ConfigurationError(f"{what} is too close to 0 or 1", hint="Use a number such as 0.95.")
    reach = -NormalDist().inv_cdf(smaller)
    return reach if 2 * tail <= 1 else -reach


def wilson_interval(right: int, questions: int, *, level: Number = 0.95) -> Interval:
    """Return the Wilson score interval of a share of successes; it stays in [0, 1] and works for few questions.

    Source: E. Wilson, J. Am. Stat. Assoc. 22 (1927).

    Args:
        right: Successes.
        questions: Trials, at least 1.
        level: Confidence level, between 0 and 1: the share of such intervals that contain the true share.

    Raises:
        ConfigurationError: A number is out of range.

    Example:
        >>> low, high = wilson_interval(40, 50)
        >>> round(low, 3), round(high, 3)
        (0.67, 0.888)
    """
    right, questions = whole(right, "right", 0), whole(questions, "questions", 1)
    if right > questions:
        raise ConfigurationError(f"{right} of {questions} is not a share of successes")
    z = normal_reach(tail_of(level), "the level of an interval")
    # Numbers that are too large for floats are divided as fractions.
    p, spread = right / questions, float(Fraction(z * z) / questions)
    middle = (p + spread / 2) / (1 + spread)
    variance = float(Fraction(p * (1 - p)) / questions) + float(Fraction(spread) / (4 * questions))
    half = z * math.sqrt(variance) / (1 + spread)
    # The interval always contains the share itself. If all or none succeeded, rounding errors could otherwise exclude
    # it.
    return Interval(min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half)))
