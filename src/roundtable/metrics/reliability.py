"""Agreement of raters, corrected for chance, as defined by Krippendorff, Fleiss, Cohen and Gwet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Sized
from fractions import Fraction
from typing import Literal, TypeAlias

from roundtable.core.base.words import quoted
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import Measure, exact

__all__ = ["Rating", "cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"]

Rating: TypeAlias = str | int | float | Fraction | None
"""A label or a number; `None` or NaN for a missing rating."""

Units: TypeAlias = list[Counter[Hashable]]
"""For each unit, how often each value was given."""

NO_PAIRS = Measure(None, "no unit has two ratings")
NO_VARIATION = Measure(None, "all ratings are equal, so agreement cannot be told apart from chance")


def _units(ratings: Sequence[Sequence[Rating]], normalise: Normalise, *, numeric: bool = False) -> Units:
    """Count the values of each unit, from one row of ratings per rater."""
    key_of = normaliser(normalise)
    for row in ratings:
        # A data frame yields the names of its columns, and a name would be read as one rating per letter.
        if isinstance(row, str) or not isinstance(row, Sized):
            raise ConfigurationError(
                f"the ratings of a rater must be a list, not {quoted(row)} ({type(row).__name__})",
                hint="Pass one list per rater; for a data frame with a column per rater, frame.T.values.tolist().",
            )
    sizes = {len(row) for row in ratings}
    if len(sizes) > 1:
        raise ConfigurationError(f"each rater needs one rating or None for each unit, not rows of {sorted(sizes)}")
    units: Units = [Counter() for _ in range(max(sizes, default=0))]
    for row in ratings:
        for unit, rating in zip(units, row, strict=True):
            if _is_missing(rating):
                continue
            label = key_of(rating) if isinstance(rating, str) else rating
            unit[exact(rating, "a rating") if numeric else label] += 1
    return units


def _is_missing(rating: Rating) -> bool:
    return rating is None or (isinstance(rating, float) and math.isnan(rating))


def krippendorff_alpha(
    ratings: Sequence[Sequence[Rating]],
    *,
    level: Literal["nominal", "ordinal", "interval"] = "nominal",
    normalise: Normalise = "casefold",
) -> Measure:
    """Measure agreement of any number of raters, with missing data: `alpha = 1 - D_o / D_e`.

    D_o is the observed and D_e the expected disagreement over pairable values. The squared distance of two values
    depends on the level: nominal 0 or 1; ordinal `(sum of n_g from c to k - (n_c + n_k) / 2)^2`; interval `(c - k)^2`.
    Range: at most 1 (perfect); 0 is the agreement of chance, below 0 is worse than chance; exact, no unit. Undefined if
    no unit has two ratings, and if all ratings are equal: without variation, agreement cannot be told apart from
    chance. Source: K. Krippendorff, Content Analysis (2004), chapter 11.

    Args:
        ratings: One row per rater, one column per unit; `None` and NaN are missing. The ordinal and interval levels
            need numbers.
        level: The scale of the ratings.
        normalise: How labels are compared to find out which are the same; only for text at the nominal level.

    Raises:
        ConfigurationError: Rows differ in length or aren't lists, or a rating is not a number where one is needed.

    Example:
        >>> krippendorff_alpha([["a", "a", "b"], ["a", "b", "b"]]).value
        Fraction(4, 9)
        >>> krippendorff_alpha([["a", "a"], ["a", "a"]]).reason
        'all ratings are equal, so agreement cannot be told apart from chance'
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise ConfigurationError(f"level must be 'nominal', 'ordinal' or 'interval', not {level!r}")
    units = [unit for unit in _units(ratings, normalise, numeric=level != "nominal") if unit.total() > 1]
    if not units:
        return NO_PAIRS
    totals = _totals(units)
    scale = _scale(totals, level)
    expected = _disagreement(totals, scale)
    if not expected:
        return NO_VARIATION
    observed = sum(_disagreement(unit, scale) / (unit.total() - 1) for unit in units)
    return Measure(1 - (totals.total() - 1) * observed / expected)


def _totals(units: Units) -> Counter[Hashable]:
    totals: Counter[Hashable] = Counter()
    for unit in units:
        totals.update(unit)
    return totals


def _scale(totals: Counter[Hashable], level: str) -> dict[Hashable, Fraction] | None:
    """Return for each value a number, so that the distance of two values is that of their numbers; `None` for labels.

    For the ordinal level, the numbers are middle ranks: their difference is the distance in Krippendorff's definition.
    """
    if level == "nominal":
        return None
    numbers = {value: exact(value) for value in totals}
    if level == "interval":
        return numbers
    ranks: dict[Hashable, Fraction] = {}
    below = 0
    for value in sorted(totals, key=numbers.__getitem__):
        ranks[value] = below + Fraction(totals[value], 2)
        below += totals[value]
    return ranks


def _disagreement(counts: Counter[Hashable], scale: Mapping[Hashable, Fraction] | None) -> Fraction:
    """Return the sum of the squared distances of all pairs of ratings, in one pass over the different values."""
    size = counts.total()
    if scale is None:
        return Fraction(size**2 - sum(count**2 for count in counts.values()), 2)
    total = sum(count * scale[value] for value, count in counts.items())
    return size * sum((count * scale[value] ** 2 for value, count in counts.items()), Fraction(0)) - total**2


def fleiss_kappa(ratings: Sequence[Sequence[Rating]], *, normalise: Normalise = "casefold") -> Measure:
    """Measure agreement of a fixed number of raters on labels: `kappa = (P - P_e) / (1 - P_e)`.

    P is the mean share of agreeing pairs per unit, and P_e is the sum of squared shares of the labels. Range: [-1, 1],
    exact, no unit. Undefined if units differ in their number of ratings (use `krippendorff_alpha` for those), with
    fewer than two ratings per unit, and if all ratings are equal. Source: J. Fleiss, Psychological Bulletin 76 (1971).

    Args:
        ratings: One row per rater, one column per unit; not a table of counts with one row per unit.
        normalise: How labels are compared to find out which are the same.

    Raises:
        ConfigurationError: Rows differ in length.

    Example:
        >>> fleiss_kappa([["a", "a", "b"], ["a", "b", "b"]]).value
        Fraction(1, 3)
    """
    units = _units(ratings, normalise)
    sizes = {unit.total() for unit in units}
    if len(sizes) > 1:
        return Measure(None, "units differ in their number of ratings; krippendorff_alpha allows that")
    size = max(sizes, default=0)
    if size < 2:
        return NO_PAIRS
    pairs = sum(count * (count - 1) for unit in units for count in unit.values())
    observed = Fraction(pairs, len(units) * size * (size - 1))
    totals = _totals(units)
    expected = sum(Fraction(count, totals.total()) ** 2 for count in totals.values())
    return _beyond_chance(observed, Fraction(expected))


def _beyond_chance(observed: Fraction, expected: Fraction) -> Measure:
    if expected == 1:
        return NO_VARIATION
    figures = {"observed": observed, "expected": expected}
    return Measure((observed - expected) / (1 - expected), figures=figures)


def cohen_kappa(one: Sequence[Rating], other: Sequence[Rating], *, normalise: Normalise = "casefold") -> Measure:
    """Measure agreement of two raters on labels: `kappa = (p_o - p_e) / (1 - p_e)`.

    p_o is the share of equal ratings, and p_e is the sum over labels of the product of both raters' shares. Units
    without a rating by either rater are left out. Range: [-1, 1], exact, no unit. Undefined if no unit has both
    ratings, and if both raters give the same single label to all units. Source: J. Cohen, Educ. Psychol. Meas. 20
    (1960).

    Args:
        one: The ratings of one rater, one per unit.
        other: The ratings of another rater, in the same order of units.
        normalise: How labels are compared to find out which are the same.

    Raises:
        ConfigurationError: The raters differ in their number of units.

    Example:
        >>> cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"]).value
        Fraction(1, 2)
    """
    if len(one) != len(other):
        raise ConfigurationError(f"both raters need the same units, not {len(one)} and {len(other)}")
    pairs = [pair for pair in zip(one, other, strict=True) if not any(map(_is_missing, pair))]
    if not pairs:
        return NO_PAIRS
    columns = [_units([column], normalise) for column in zip(*pairs, strict=True)]
    first, second = map(_totals, columns)
    equal = sum(rating == other_rating for rating, other_rating in zip(*columns, strict=True))
    chance = Fraction(sum(first[label] * second[label] for label in first), len(pairs) ** 2)
    return _beyond_chance(Fraction(equal, len(pairs)), chance)


def gwet_ac1(
    ratings: Sequence[Sequence[Rating]], categories: Sequence[Rating], *, normalise: Normalise = "casefold"
) -> Measure:
    """Measure agreement of raters on labels, robust to skew: `AC1 = (p_a - p_e) / (1 - p_e)`.

    p_a is the mean share of agreeing pairs over units with two ratings or more. In `p_e = sum pi_k (1 - pi_k) / (q -
    1)`, pi_k is the mean share of label k over units, and q is the number of categories. Range: [-1, 1], exact, no
    unit. Undefined if no unit has two ratings. If all ratings are equal, it is 1, since the categories are declared.
    Source: K. Gwet, Br. J. Math. Stat. Psychol. 61 (2008).

    Args:
        ratings: One row per rater, one column per unit; `None` and NaN are missing.
        categories: All labels, used or not; at least two.
        normalise: How labels are compared to find out which are the same.

    Raises:
        ConfigurationError: Rows differ in length, there are fewer than two categories, or a rating is not in any of
            them.

    Example:
        >>> gwet_ac1([["a", "a", "b"], ["a", "b", "b"]], ["a", "b"]).value
        Fraction(1, 3)
        >>> gwet_ac1([["a", "a"], ["a", "a"]], ["a", "b"]).value
        Fraction(1, 1)
    """
    labels = {label for unit in _units([[*categories]], normalise) for label in unit}
    if len(labels) < 2:
        raise ConfigurationError("AC1 needs at least two categories; declare those that were not used as well")
    units = [unit for unit in _units(ratings, normalise) if unit]
    stray = [label for unit in units for label in unit if label not in labels]
    if stray:
        raise ConfigurationError(f"the rating {quoted(stray[0])} is in none of the categories")
    paired = [unit for unit in units if unit.total() > 1]
    if not paired:
        return NO_PAIRS
    agreeing = (
        Fraction(sum(count * (count - 1) for count in unit.values()), unit.total() * (unit.total() - 1))
        for unit in paired
    )
    sums = dict.fromkeys(labels, Fraction(0))
    for unit in units:
        size = unit.total()
        for label, count in unit.items():
            sums[label] += Fraction(count, size)
    shares = [total / len(units) for total in sums.values()]
    chance = sum(share * (1 - share) for share in shares) / (len(labels) - 1)
    return _beyond_chance(sum(agreeing, Fraction(0)) / len(paired), Fraction(chance))
