"""Confidence intervals of a share."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

from roundtable.errors import ConfigurationError
from roundtable.scoring import Number, share

__all__ = ["Interval", "tail_of", "wilson_interval"]


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
    if questions < 1 or not 0 <= right <= questions:
        raise ConfigurationError(f"{right} of {questions} is not a share of successes")
    z = NormalDist().inv_cdf(1 - float(tail_of(level)))
    p, spread = right / questions, z * z / questions
    middle = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / questions + spread / (4 * questions)) / (1 + spread)
    # The interval always contains the share itself. If all or none succeeded, rounding errors could otherwise exclude
    # it.
    return Interval(min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half)))
