"""Delphi statistics: the centre and the spread of a panel's numbers, and whether they still change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from roundtable.core.errors import ConfigurationError
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import Measure, Number, exact, whole

__all__ = [
    "coefficient_of_variation",
    "cv_change",
    "interquartile_range",
    "median",
    "quantile",
    "share_near_median",
    "stability",
    "tastle_wierman",
    "van_der_eijk_a",
]

HALF = Fraction(1, 2)
NO_RATINGS = Measure(None, "there are no ratings")


def _numbers(ratings: Iterable[Number | None]) -> list[Fraction]:
    return sorted(exact(rating, "a rating") for rating in ratings if rating is not None)


def quantile(ratings: Iterable[Number | None], q: Number) -> Measure:
    """Return the q-quantile of type 7: place `1 + (n - 1) q` among the n sorted ratings, interpolated linearly.

    Range and unit: those of the ratings; exact. Undefined without ratings.
    Source: R. Hyndman and Y. Fan, Am. Stat. 50 (1996), definition 7.

    Args:
        ratings: Numbers; `None` is left out.
        q: A share in [0, 1].

    Raises:
        ConfigurationError: A rating is not a number, or `q` is not in [0, 1].

    Example:
        >>> quantile([1, 2, 3, 4], 0.25).value
        Fraction(7, 4)
    """
    numbers = _numbers(ratings)
    share = exact(q, "q")
    if not 0 <= share <= 1:
        raise ConfigurationError(f"q must lie in [0, 1], not {q!r}")
    return Measure(_quantile(numbers, share)) if numbers else NO_RATINGS


def _quantile(numbers: Sequence[Fraction], share: Fraction) -> Fraction:
    index = (len(numbers) - 1) * share
    low = int(index)
    high = min(low + 1, len(numbers) - 1)
    return numbers[low] + (index - low) * (numbers[high] - numbers[low])


def median(ratings: Iterable[Number | None]) -> Measure:
    """Return the median: the middle rating, or the mean of the two middle ratings.

    Range and unit: those of the ratings; exact. Undefined without ratings.

    Raises:
        ConfigurationError: A rating is not a number.

    Example:
        >>> median([3, 1, None, 2, 10]).value
        Fraction(5, 2)
    """
    return quantile(ratings, HALF)


def interquartile_range(ratings: Iterable[Number | None]) -> Measure:
    """Measure the spread of the middle half: the third quartile minus the first quartile, both of type 7.

    Range: at least 0, in the unit of the ratings; exact. Undefined without ratings. Usual limits for consensus are 1 on
    a scale of 5 grades, and 2 on a scale of 9 or 10.

    Raises:
        ConfigurationError: A rating is not a number.

    Example:
        >>> interquartile_range([1, 2, 3, 4, 5]).value
        Fraction(2, 1)
    """
    numbers = _numbers(ratings)
    if not numbers:
        return NO_RATINGS
    return Measure(_quantile(numbers, Fraction(3, 4)) - _quantile(numbers, Fraction(1, 4)))


def coefficient_of_variation(ratings: Iterable[Number | None]) -> Measure:
    """Measure spread relative to the mean: `CV = s / |mean|`, with the sample standard deviation (n - 1).

    Range: at least 0, a float, no unit. Undefined with fewer than two ratings, and if their mean is 0.

    Raises:
        ConfigurationError: A rating is not a number.

    Example:
        >>> coefficient_of_variation([1, 2, 3]).value
        0.5
    """
    numbers = _numbers(ratings)
    if len(numbers) < 2:
        return Measure(None, "spread needs two ratings")
    mean = sum(numbers, Fraction(0)) / len(numbers)
    if not mean:
        return Measure(None, "the mean is 0")
    variance = sum(((rating - mean) ** 2 for rating in numbers), Fraction(0)) / (len(numbers) - 1)
    return Measure(math.sqrt(variance / mean**2))


def cv_change(before: Iterable[Number | None], after: Iterable[Number | None]) -> Measure:
    """Measure how much the coefficient of variation changed between two rounds: `|CV_after - CV_before|`.

    Range: at least 0, a float, no unit. Values up to 0.1 or 0.2 usually count as stable. Undefined if either CV is
    undefined.
    Source: J. Dajani, M. Sincoff and W. Talley, Technol. Forecast. Soc. Change 13 (1979).

    Raises:
        ConfigurationError: A rating is not a number.

    Example:
        >>> cv_change([1, 2, 3], [2, 2, 2]).value
        0.5
    """
    earlier, later = coefficient_of_variation(before), coefficient_of_variation(after)
    if earlier.value is None or later.value is None:
        return Measure(None, f"one of the rounds has no CV: {earlier.reason or later.reason}")
    return Measure(abs(float(later) - float(earlier)), figures={"before": earlier.value, "after": later.value})


def share_near_median(ratings: Iterable[Number | None], *, distance: Number = 1) -> Measure:
    """Measure the share of ratings that are within a distance of their median.

    Range: [0, 1], exact, no unit. Undefined without ratings.

    Args:
        ratings: Numbers; `None` is left out.
        distance: Largest distance from the median that counts, in the unit of the ratings.

    Raises:
        ConfigurationError: A rating or the distance is not a number.

    Example:
        >>> share_near_median([1, 4, 5, 5, 6]).value
        Fraction(4, 5)
    """
    numbers = _numbers(ratings)
    if not numbers:
        return NO_RATINGS
    middle, limit = _quantile(numbers, HALF), exact(distance, "distance")
    near = sum(abs(rating - middle) <= limit for rating in numbers)
    return Measure(Fraction(near, len(numbers)))


def stability(
    before: Mapping[str, str | Number | None],
    after: Mapping[str, str | Number | None],
    *,
    normalise: Normalise = "casefold",
) -> Measure:
    """Measure the share of agents whose answer did not change between two rounds.

    Range: [0, 1], exact, no unit. Values from 0.8 or 0.85 usually count as stable. Agents without an answer in one of
    the rounds are left out. Undefined if no agent answered in both rounds. Numbers are compared by value, text by
    `normalise`.

    Args:
        before: Agent to answer in one round.
        after: Agent to answer in a later round.
        normalise: How spellings are compared to find out which are the same answer.

    Example:
        >>> stability({"ada": "yes", "bo": "no"}, {"ada": "Yes.", "bo": "yes"}).value
        Fraction(1, 2)
    """
    key_of = normaliser(normalise)
    unchanged: list[bool] = []
    for agent, old in before.items():
        new = after.get(agent)
        if old is not None and new is not None:
            unchanged.append(_answer_key(old, key_of) == _answer_key(new, key_of))
    if not unchanged:
        return Measure(None, "no agent answered in both rounds")
    return Measure(Fraction(sum(unchanged), len(unchanged)))


def _answer_key(answer: str | Number, key_of: Callable[[str], str]) -> str | Fraction:
    return key_of(answer) if isinstance(answer, str) else exact(answer)


def tastle_wierman(ratings: Iterable[Number | None], low: Number, high: Number) -> Measure:
    """Measure consensus on an ordered scale: `Cns = 1 + sum p_i log2(1 - |x_i - mean| / d)`, with `d = high - low`.

    Range: [0, 1], a float, no unit; 1 when all ratings are equal, 0 when they split evenly between both ends.
    Undefined without ratings. Source: W. Tastle and M. Wierman, Int. J. Approx. Reasoning 45 (2007).

    Args:
        ratings: Numbers on the scale; `None` is left out.
        low: Lowest value of the scale.
        high: Highest value of the scale.

    Raises:
        ConfigurationError: A rating is not a number or is outside the scale, or `high` is not above `low`.

    Example:
        >>> tastle_wierman([1, 1, 5, 5], 1, 5).value, tastle_wierman([4, 4], 1, 5).value
        (0.0, 1.0)
    """
    numbers = _numbers(ratings)
    bottom, top = exact(low, "low"), exact(high, "high")
    if bottom >= top:
        raise ConfigurationError(f"the scale must rise from low to high, not from {low!r} to {high!r}")
    if not numbers:
        return NO_RATINGS
    if outside := [number for number in (numbers[0], numbers[-1]) if not bottom <= number <= top]:
        raise ConfigurationError(f"ratings must lie between {low!r} and {high!r}, not at {outside[0]}")
    mean = sum(numbers, Fraction(0)) / len(numbers)
    terms = [math.log2(1 - abs(rating - mean) / (top - bottom)) for rating in numbers]
    return Measure(min(1.0, max(0.0, 1 + math.fsum(terms) / len(numbers))))


def van_der_eijk_a(counts: Sequence[int]) -> Measure:
    """Measure agreement on an ordered scale: -1 is polarised, 0 is spread evenly, 1 is all in one category.

    The counts are cut into horizontal layers, within which each category is either filled or empty. A layer that fills
    S of the K categories has `A = U (1 - (S - 1) / (K - 1))`, with
    `U = ((K - 2) TU - (K - 1) TDU) / ((K - 2) (TU + TDU))`. TDU is the number of triples of categories with only the
    middle one empty, and TU is the number of triples with only one end empty. The result is the mean of A over layers,
    weighted by their numbers of ratings. Exact, no unit. Undefined without ratings, and with fewer than three
    categories. Source: C. van der Eijk, Quality and Quantity 35 (2001).

    Args:
        counts: Ratings in each category, in the order of the scale.

    Raises:
        ConfigurationError: A count is not a whole number of at least 0.

    Example:
        >>> van_der_eijk_a([5, 0, 0, 0, 5]).value, van_der_eijk_a([1, 1, 1]).value, van_der_eijk_a([0, 7, 0]).value
        (Fraction(-1, 1), Fraction(0, 1), Fraction(1, 1))
    """
    counts = [whole(count, "a count", 0) for count in counts]
    if len(counts) < 3:
        return Measure(None, "polarisation needs three categories")
    total = sum(counts)
    if not total:
        return NO_RATINGS
    agreement, floor = Fraction(0), 0
    for height in sorted(set(counts) - {0}):
        layer = [count >= height for count in counts]
        agreement += _layer_agreement(layer) * Fraction((height - floor) * sum(layer), total)
        floor = height
    return Measure(agreement)


def _layer_agreement(filled: Sequence[bool]) -> Fraction:
    size, full = len(filled), sum(filled)
    if full == 1:
        return Fraction(1)
    if full == size:
        return Fraction(0)
    unimodal = disrupted = 0
    for left in range(size):
        for middle in range(left + 1, size):
            for right in range(middle + 1, size):
                triple = filled[left], filled[middle], filled[right]
                disrupted += triple == (True, False, True)
                unimodal += triple in ((True, True, False), (False, True, True))
    shape = Fraction((size - 2) * unimodal - (size - 1) * disrupted, (size - 2) * (unimodal + disrupted))
    return shape * (1 - Fraction(full - 1, size - 1))
