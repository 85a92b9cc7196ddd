"""Confidence intervals and tests for right and wrong answers, question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Final

from roundtable.core.errors import ConfigurationError
from roundtable.metrics.intervals import Interval, normal_reach, tail_of, wilson_interval
from roundtable.scoring import Number, share
from roundtable.scoring.numbers import LARGEST, exact, exact_or_none, whole

__all__ = [
    "Interval",
    "check_resamples",
    "exact_mean",
    "holm_correction",
    "mcnemar_test",
    "paired_bootstrap",
    "questions_needed",
    "questions_to_see",
    "smallest_difference",
    "wilson_interval",
]

_MOST_RESAMPLES: Final = 1_000_000


def check_resamples(resamples: object) -> int:
    """Check that a number of resamples is neither too small for an interval nor too slow, and return it.

    Raises:
        ConfigurationError: It is not a whole number from 100 to 1,000,000.
    """
    number = exact_or_none(resamples)
    if number is None or number.denominator != 1 or not 100 <= number <= _MOST_RESAMPLES:
        raise ConfigurationError(f"resamples must be a whole number from 100 to {_MOST_RESAMPLES:,}, not {resamples!r}")
    return int(number)


def exact_mean(numbers: Sequence[float]) -> float:
    """Return the mean of at least one number without rounding errors, so that the mean of three times 0.7 is 0.7."""
    return float(sum(map(exact, numbers), Fraction(0)) / len(numbers))


def paired_bootstrap(
    differences: Sequence[float], *, resamples: int = 10_000, level: Number = 0.95, seed: int = 0
) -> Interval:
    """Return the percentile interval of the mean of paired differences, by resampling the questions.

    Questions are resampled, not answers, since both arms answered the same questions. The same seed gives the same
    interval. Source: B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.

    Args:
        differences: For each question, the score of one arm minus the score of the other.
        resamples: Number of resamples, 100 to 1,000,000.
        level: Confidence level, between 0 and 1: the share of such intervals that contain the true difference.
        seed: Seed of the resampling.

    Raises:
        ConfigurationError: There are no differences, or a number is out of range or not finite.

    Example:
        >>> paired_bootstrap([1.0] * 10), paired_bootstrap([0.0] * 10)
        (Interval(low=1.0, high=1.0), Interval(low=0.0, high=0.0))
    """
    values = [_difference(value) for value in differences]
    if not values:
        raise ConfigurationError(
            "the list of differences is empty", hint="Pass the difference of at least one question."
        )
    times = check_resamples(resamples)
    tail, draw, size = float(tail_of(level)), Random(seed), len(values)
    means = sorted(math.fsum(draw.choices(values, k=size)) / size for _ in range(times))
    cut = int(tail * times)
    return Interval(means[cut], means[times - 1 - cut])


def _difference(value: float) -> float:
    if abs(exact(value, "a difference")) > LARGEST:
        raise ConfigurationError(f"a difference must be from -1e100 to 1e100, not {value!r}")
    return float(value)


def mcnemar_test(gained: int, lost: int) -> Fraction:
    """Test whether two arms are equally often right, by the questions that only one of them got right.

    The test is exact and two-sided. The p-value is `min(1, 2 P(X <= min(gained, lost)))`, with X binomial for `gained +
    lost` trials at 1/2; without such questions, it is 1. Source: Q. McNemar, Psychometrika 12 (1947), exact form.

    Args:
        gained: Questions that only the second arm got right.
        lost: Questions that only the first arm got right.

    Returns:
        The p-value, exact.

    Raises:
        ConfigurationError: A count is not a whole number of at least 0.

    Example:
        >>> mcnemar_test(12, 2), mcnemar_test(0, 0)
        (Fraction(53, 4096), Fraction(1, 1))
    """
    gained, lost = whole(gained, "gained", 0), whole(lost, "lost", 0)
    either = gained + lost
    below = sum(math.comb(either, count) for count in range(min(gained, lost) + 1))
    return min(Fraction(1), Fraction(2 * below, 2**either))


def holm_correction(p_values: Sequence[Number]) -> list[Fraction]:
    """Correct p-values for the number of comparisons, so that the chance of any false finding stays within the level.

    For the m p-values in ascending order, it is `p'(i) = max over j <= i of min(1, (m - j + 1) p(j))`. This is valid
    even if the comparisons depend on each other. Source: S. Holm, Scand. J. Stat. 6 (1979).

    Args:
        p_values: P-values in [0, 1].

    Returns:
        The corrected p-values, exact, in the given order.

    Raises:
        ConfigurationError: A p-value is out of range.

    Example:
        >>> [float(p) for p in holm_correction([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    values = [share(p, "a p-value") for p in p_values]
    corrected = [Fraction(0)] * len(values)
    highest = Fraction(0)
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(Fraction(1), (len(values) - rank) * values[index]))
        corrected[index] = highest
    return corrected


def questions_needed(
    gained: Number, lost: Number, *, level: Number = 0.95, power: Number = 0.8, comparisons: int = 1
) -> int | None:
    """Return how many questions a study needs to detect a gain of this size.

    The number is `n = (z_a sqrt(d) + z_b sqrt(d - g^2))^2 / g^2`, with `d = gained + lost` and `g = gained - lost`;
    this is a normal approximation. Source: R. Connor, Biometrics 43 (1987).

    Args:
        gained: Share of questions that only the new arm gets right, in [0, 1].
        lost: Share of questions that only the old arm gets right, in [0, 1].
        level: Confidence level, between 0 and 1.
        power: Share of such studies that detect the gain, between 0 and 1.
        comparisons: Number of comparisons that the study makes, at least 1; with several, each is tested at the
            strictest level of Holm's method.

    Returns:
        The number of questions, or `None` if there is no difference to detect.

    Raises:
        ConfigurationError: A number is out of range.

    Example:
        >>> questions_needed(0.2, 0.1), questions_needed(0.1, 0.1)
        (234, None)
    """
    more, less = share(gained, "gained"), share(lost, "lost")
    tail, exact_power = tail_of(level) / whole(comparisons, "comparisons", 1), share(power, "power")
    if more + less > 1:
        raise ConfigurationError(f"gained and lost together must be at most 1, not {gained!r} and {lost!r}")
    if not 0 < exact_power < 1:
        raise ConfigurationError(f"power must lie between 0 and 1, not {power!r}")
    apart, change = more + less, more - less
    if not change:
        return None
    # The formula, divided by d, so that the square of a tiny share is not rounded to 0.
    reach = normal_reach(tail, "level")
    reach += normal_reach(1 - exact_power, "power") * math.sqrt(1 - change**2 / apart)
    return math.ceil(Fraction(reach) ** 2 * apart / change**2)


def questions_to_see(
    difference: Number, disagreement: Number, *, level: Number = 0.95, power: Number = 0.8, comparisons: int = 1
) -> int:
    """Return how many questions a study needs to detect a difference in accuracy between two arms.

    Args:
        difference: The difference, above 0; `0.03` is three percentage points.
        disagreement: Share of questions that only one of the two arms gets right, at least `difference`. A pilot study
            measures it: `gained + lost`, divided by the number of its questions.
        level: Confidence level, between 0 and 1.
        power: Share of such studies that detect the difference, between 0 and 1.
        comparisons: Number of comparisons that the study makes, at least 1; with several, each is tested at the
            strictest level of Holm's method.

    Raises:
        ConfigurationError: A number is out of range.

    Example:
        >>> questions_to_see(0.03, 0.2), questions_to_see(0.03, 0.1)
        (1742, 870)
    """
    change, apart = share(difference, "difference"), share(disagreement, "disagreement")
    if not 0 < change <= apart:
        raise ConfigurationError(f"difference must be more than 0 and at most disagreement, not {difference!r}")
    return (
        questions_needed((apart + change) / 2, (apart - change) / 2, level=level, power=power, comparisons=comparisons)
        or 0
    )


def smallest_difference(
    questions: int, disagreement: Number, *, level: Number = 0.95, power: Number = 0.8, comparisons: int = 1
) -> Fraction | None:
    """Return the smallest difference in accuracy that a study of this size detects, in steps of 0.001.

    Args:
        questions: Number of questions, at least 1.
        disagreement: Share of questions that only one of the two arms gets right, in [0, 1].
        level: Confidence level, between 0 and 1.
        power: Share of such studies that detect the difference, between 0 and 1.
        comparisons: Number of comparisons that the study makes, at least 1; with several, each is tested at the
            strictest level of Holm's method.

    Returns:
        The difference; `None` if even a difference as large as the disagreement would not be detected.

    Raises:
        ConfigurationError: A number is out of range.

    Example:
        >>> smallest_difference(100, 0.2), smallest_difference(10, 0.2)
        (Fraction(31, 250), None)
    """
    questions = whole(questions, "questions", 1)
    apart = share(disagreement, "disagreement")

    def is_seen(thousandths: int) -> bool:
        change = Fraction(thousandths, 1000)
        return questions_to_see(change, apart, level=level, power=power, comparisons=comparisons) <= questions

    low, high = 0, int(apart * 1000)
    if high == 0 or not is_seen(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_seen(middle) else (middle, high)
    return Fraction(high, 1000)
