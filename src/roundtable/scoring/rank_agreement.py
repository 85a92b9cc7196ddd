"""Agreement of rankings: Kendall's W and the mean of Spearman's correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, cast

from roundtable.errors import ConfigurationError
from roundtable.scoring.ballots import Ballot, Tied
from roundtable.scoring.electorate import Electorate, Profile
from roundtable.scoring.measure import Measure
from roundtable.scoring.precise import Number, exact
from roundtable.scoring.readings import Order, order

__all__ = ["Ranks", "kendall_w", "mean_spearman", "ranks"]

Ranks: TypeAlias = Sequence[Sequence[Number] | Sequence[Tied]]
"""One row per rater: numbers for the same items in the same order, or options from best to worst."""


def ranks(raters: Ranks) -> list[list[Fraction]]:
    """Give each rater's ranks, 1 for the lowest number or the first option; tied items share the mean of their ranks.

    In rankings by name, options left out are tied last.

    Raises:
        ConfigurationError: Rows differ in length, or cannot be read.

    Example:
        >>> ranks([[10, 20, 20], [3, 1, 2]])
        [[Fraction(1, 1), Fraction(5, 2), Fraction(5, 2)], [Fraction(3, 1), Fraction(1, 1), Fraction(2, 1)]]
    """
    if any(isinstance(item, str | list | tuple | set | frozenset) for row in raters for item in row):
        return _named(cast("Sequence[Ballot]", raters))
    rows = [[exact(number, "a rank") for number in row] for row in cast("Sequence[Sequence[Number]]", raters)]
    if len({len(row) for row in rows}) > 1:
        raise ConfigurationError("each rater needs one number for each item")
    return [_middle_ranks(row) for row in rows]


def _named(rankings: Sequence[Ballot]) -> list[list[Fraction]]:
    found: list[Order] = []
    for place, ranking in enumerate(rankings):
        profile: Profile[Order] = Electorate([ranking]).read(order)
        if not profile.votes:
            why = profile.roll.invalid.get(0, "it names nothing")
            raise ConfigurationError(f"ranking {place} cannot be read: {why}")
        found.append(profile.votes[0].form)
    options = sorted({option for ranking in found for group in ranking for option in group})
    rows: list[list[Fraction]] = []
    for ranking in found:
        places = {option: Fraction(number) for number, group in enumerate(ranking) for option in group}
        rows.append(_middle_ranks([places.get(option, Fraction(len(ranking))) for option in options]))
    return rows


def _middle_ranks(row: Sequence[Fraction]) -> list[Fraction]:
    ordered = sorted(row)
    first = {number: place for place, number in reversed(list(enumerate(ordered, 1)))}
    return [first[number] + Fraction(ordered.count(number) - 1, 2) for number in row]


def kendall_w(raters: Ranks) -> Measure:
    """Measure how far n raters rank m items alike: `W = 12 S / (n^2 (m^3 - m) - n sum T)`.

    S is the sum of squared deviations of the items' rank sums from their mean; `T = sum (t^3 - t)` over each rater's
    groups of t tied items. Range: [0, 1], exact, no unit; 1 when all rank alike, 0 when rank sums are equal, as for two
    opposite rankings. Undefined with fewer than two raters or items, and when everybody ties everything.
    Figures: `chi_square = n (m - 1) W` with `df = m - 1`. Source: M. Kendall and B. Babington Smith (1939).

    Args:
        raters: One row per rater: numbers for the same items, or options from best to worst, ties as inner lists.

    Raises:
        ConfigurationError: Rows differ in length, or cannot be read.

    Example:
        >>> kendall_w([["a", "b"], ["b", "a"]]).value
        Fraction(0, 1)
        >>> kendall_w([[1, 2, 3], [1, 2, 3]]).value
        Fraction(1, 1)
    """
    rows = ranks(raters)
    count, items = len(rows), len(rows[0]) if rows else 0
    if count < 2 or items < 2:
        return Measure(None, "concordance needs two raters and two items")
    ties = sum(_tie_term(row) for row in rows)
    room = count**2 * (items**3 - items) - count * ties
    if not room:
        return Measure(None, "every rater ties every item")
    mean = Fraction(count * (items + 1), 2)
    spread = sum(((sum(column, Fraction(0)) - mean) ** 2 for column in zip(*rows, strict=True)), Fraction(0))
    value = 12 * spread / room
    return Measure(value, figures={"chi_square": count * (items - 1) * value, "df": items - 1})


def _tie_term(row: Sequence[Fraction]) -> int:
    return sum(size**3 - size for size in (row.count(rank) for rank in set(row)))


def mean_spearman(raters: Ranks) -> Measure:
    """Measure how far raters rank alike: the mean of Spearman's rank correlation over all pairs of raters.

    Range: [-1/(n - 1), 1] without ties, [-1, 1] with ties; a float, no unit. Without ties it is `(n W - 1) / (n - 1)`.
    Undefined with fewer than two raters or items, and when a rater ties every item.

    Args:
        raters: As for `kendall_w`.

    Raises:
        ConfigurationError: Rows differ in length, or cannot be read.

    Example:
        >>> mean_spearman([[1, 2, 3], [3, 2, 1]]).value
        -1.0
    """
    rows = ranks(raters)
    if len(rows) < 2 or len(rows[0]) < 2:
        return Measure(None, "correlation needs two raters and two items")
    middle = Fraction(len(rows[0]) + 1, 2)
    centred = [[rank - middle for rank in row] for row in rows]
    spreads = [sum((value * value for value in row), Fraction(0)) for row in centred]
    if not all(spreads):
        return Measure(None, f"rater {spreads.index(Fraction(0))} ties every item")
    pairs = list(combinations(range(len(rows)), 2))
    total = math.fsum(_correlation(centred[i], centred[j], spreads[i] * spreads[j]) for i, j in pairs)
    return Measure(total / len(pairs))


def _correlation(one: Sequence[Fraction], other: Sequence[Fraction], spreads: Fraction) -> float:
    product = sum((mine * yours for mine, yours in zip(one, other, strict=True)), Fraction(0))
    size = math.sqrt(product * product / spreads)
    return size if product > 0 else -size
