"""Agreement of choices and of rankings, from counts alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, cast

from roundtable.core.errors import ConfigurationError
from roundtable.scoring.ballot_forms import Order, order
from roundtable.scoring.ballots import Ballot, Tied
from roundtable.scoring.electorate import Electorate, Profile
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import Measure, Number, exact

__all__ = [
    "Ranks",
    "basic_agreement",
    "entropy",
    "entropy_agreement",
    "jensen_shannon",
    "kendall_w",
    "lead_margin",
    "mean_spearman",
    "modal_share",
    "pairwise_agreement",
    "ranks",
    "tally",
    "total_variation",
]


NOTHING = Measure(None, "there are no positions")


def tally(positions: Iterable[str | None], normalise: Normalise = "casefold") -> Counter[str]:
    """Count positions by their keys; `None` is not a position and is left out.

    Example:
        >>> tally(["Yes", "yes.", None, "no"])
        Counter({'yes': 2, 'no': 1})
    """
    key_of = normaliser(normalise)
    return Counter(key_of(position) for position in positions if position is not None)


def basic_agreement(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Fraction:
    """Measure agreement by the number of different positions: `1 - (distinct - 1) / n`.

    Range: 0 without positions, else from 1/n (all differ) to 1 (all equal, or only one position); exact, no unit. It
    ignores meaning, and it rises if every position occurs twice as often. For shares, prefer `modal_share` or
    `pairwise_agreement`. Source: the first version of this product.

    Args:
        positions: One per agent; `None` for an agent without a position.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> basic_agreement(["yes", "Yes.", "no"])
        Fraction(2, 3)
        >>> basic_agreement([])
        Fraction(0, 1)
    """
    counts = tally(positions, normalise)
    total = counts.total()
    return 1 - Fraction(len(counts) - 1, total) if total else Fraction(0)


def modal_share(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Measure:
    """Measure the share of the most frequent position: `max(n_k) / n`.

    Range: (0, 1], exact, no unit. Undefined without positions.

    Args:
        positions: One per agent; `None` for an agent without a position.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> modal_share(["a", "a", "b", None]).value
        Fraction(2, 3)
    """
    counts = tally(positions, normalise)
    if not counts:
        return NOTHING
    return Measure(Fraction(max(counts.values()), counts.total()))


def lead_margin(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Measure:
    """Measure the lead of the most frequent position over the second: `(n_1 - n_2) / n`.

    Range: [0, 1], exact, no unit; 0 is a tie, 1 is unanimity. Undefined without positions.

    Args:
        positions: One per agent; `None` for an agent without a position.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> lead_margin(["a", "a", "b"]).value
        Fraction(1, 3)
    """
    counts = tally(positions, normalise)
    if not counts:
        return NOTHING
    first, second = (*sorted(counts.values(), reverse=True), 0)[:2]
    return Measure(Fraction(first - second, counts.total()))


def pairwise_agreement(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Measure:
    """Measure the share of pairs of agents that agree (Simpson): `sum n_k (n_k - 1) / (n (n - 1))`.

    Range: [0, 1], exact, no unit. Undefined with fewer than two positions. Not corrected for chance: see
    `krippendorff_alpha` for that. Source: E. Simpson, Nature 163 (1949).

    Args:
        positions: One per agent; `None` for an agent without a position.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> pairwise_agreement(["a", "a", "b"]).value
        Fraction(1, 3)
    """
    counts = tally(positions, normalise)
    total = counts.total()
    if total < 2:
        return Measure(None, "agreement between agents needs two positions")
    return Measure(Fraction(sum(count * (count - 1) for count in counts.values()), total * (total - 1)))


def entropy(counts: Iterable[int]) -> float:
    """Return the Shannon entropy of counts: `H = -sum p_k log2 p_k`.

    Range: [0, log2 of the number of counts above 0], in bits; a float, exact to about 1e-15.

    Raises:
        ConfigurationError: A count is below 0.

    Example:
        >>> entropy([2, 2]), entropy([4, 0])
        (1.0, 0.0)
    """
    positive = [count for count in counts if count]
    if any(count < 0 for count in positive):
        raise ConfigurationError(f"a count must be at least 0, not {min(positive)!r}")
    total = sum(positive)
    # Summed in a fixed order, so that the order of counts cannot change the last digit. Adding 0.0 avoids -0.0.
    return math.fsum(sorted(count / total * math.log2(total / count) for count in positive)) + 0.0


def entropy_agreement(
    positions: Iterable[str | None], *, options: Collection[str] | None = None, normalise: Normalise = "casefold"
) -> Measure:
    """Measure agreement by normalised entropy: `1 - H(p) / log2(min(n, m))`, with H in bits.

    Range: [0, 1], a float, no unit; 0 if the n agents are spread as evenly as the m options allow, 1 if all agree. By
    convention, it is 1.0 for a single position. Undefined without positions, and with a single option.

    Args:
        positions: One per agent; `None` for an agent without a position.
        options: All options; `None` if agents word their own positions, so that min(n, m) = n.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> entropy_agreement(["a", "a", "b", "b"]).value
        0.5
        >>> entropy_agreement(["a", "a", "b", "b"], options=["a", "b"]).value
        0.0
    """
    counts = tally(positions, normalise)
    total = counts.total()
    if not counts:
        return NOTHING
    if total == 1:
        return Measure(1.0)
    most = total if options is None else min(total, len(tally(options, normalise)))
    if most < 2:
        return Measure(None, "with one option there is nothing to agree on")
    return Measure(max(0.0, 1.0 - entropy(counts.values()) / math.log2(most)))


def _shares(counts: Mapping[str, int]) -> dict[str, Fraction]:
    total = sum(counts.values())
    return {key: Fraction(count, total) for key, count in counts.items()}


def jensen_shannon(
    before: Iterable[str | None], after: Iterable[str | None], *, normalise: Normalise = "casefold"
) -> Measure:
    """Measure how far apart two distributions of positions are: Jensen-Shannon divergence, base 2.

    `H((p + q) / 2) - (H(p) + H(q)) / 2`. Range: [0, 1], in bits, a float; 0 if they are equal, 1 if they have no
    position in common. Undefined if either round has no positions. Source: J. Lin, IEEE Trans. Inf. Theory 37 (1991).

    Args:
        before: Positions of one round.
        after: Positions of another round.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> jensen_shannon(["a", "b"], ["b", "a"]).value, jensen_shannon(["a"], ["b"]).value
        (0.0, 1.0)
    """
    first, second = tally(before, normalise), tally(after, normalise)
    if not first or not second:
        return NOTHING
    p, q = _shares(first), _shares(second)
    zero = Fraction(0)
    middle = {key: (p.get(key, zero) + q.get(key, zero)) / 2 for key in p.keys() | q.keys()}
    terms = [float(part) * math.log2(part / middle[key]) / 2 for shares in (p, q) for key, part in shares.items()]
    return Measure(min(1.0, max(0.0, math.fsum(sorted(terms)))))


def total_variation(
    before: Iterable[str | None], after: Iterable[str | None], *, normalise: Normalise = "casefold"
) -> Measure:
    """Measure how far apart two distributions of positions are: `sum |p_k - q_k| / 2`.

    For unordered options, this is also the Kolmogorov-Smirnov distance: the widest gap between the cumulative shares
    over all orders of the options. Range: [0, 1], exact, no unit. Undefined if either round has no positions.

    Args:
        before: Positions of one round.
        after: Positions of another round.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> total_variation(["a", "a", "b"], ["a", "b", "b"]).value
        Fraction(1, 3)
    """
    first, second = tally(before, normalise), tally(after, normalise)
    if not first or not second:
        return NOTHING
    p, q = _shares(first), _shares(second)
    zero = Fraction(0)
    return Measure(sum((abs(p.get(key, zero) - q.get(key, zero)) for key in p.keys() | q.keys()), zero) / 2)


Ranks: TypeAlias = Sequence[Sequence[Number] | Sequence[Tied]]
"""One row per rater: numbers for the same items in the same order, or options from best to worst."""


def ranks(raters: Ranks) -> list[list[Fraction]]:
    """Return each rater's ranks, 1 for the lowest number or the first option; tied items share the mean of their ranks.

    In rankings by name, options left out are tied last.

    Raises:
        ConfigurationError: Rows differ in length, or cannot be read.

    Example:
        >>> ranks([[10, 20, 20], [3, 1, 2]])
        [[Fraction(1, 1), Fraction(5, 2), Fraction(5, 2)], [Fraction(3, 1), Fraction(1, 1), Fraction(2, 1)]]
    """
    if any(isinstance(item, str | list | tuple | set | frozenset) for row in raters for item in row):
        return _ranks_by_name(cast("Sequence[Ballot]", raters))
    rows = [[exact(number, "a rank") for number in row] for row in cast("Sequence[Sequence[Number]]", raters)]
    if len({len(row) for row in rows}) > 1:
        raise ConfigurationError("each rater needs one number for each item")
    return [_middle_ranks(row) for row in rows]


def _ranks_by_name(rankings: Sequence[Ballot]) -> list[list[Fraction]]:
    orders: list[Order] = []
    for index, ranking in enumerate(rankings):
        profile: Profile[Order] = Electorate([ranking]).read(order)
        if not profile.votes:
            reason = profile.roll.invalid.get(0, "it names nothing")
            raise ConfigurationError(f"ranking {index} cannot be read: {reason}")
        orders.append(profile.votes[0].form)
    options = sorted({option for ranking in orders for group in ranking for option in group})
    rows: list[list[Fraction]] = []
    for ranking in orders:
        place_of = {option: Fraction(number) for number, group in enumerate(ranking) for option in group}
        rows.append(_middle_ranks([place_of.get(option, Fraction(len(ranking))) for option in options]))
    return rows


def _middle_ranks(row: Sequence[Fraction]) -> list[Fraction]:
    counts = Counter(row)
    rank_of: dict[Fraction, Fraction] = {}
    below = 0
    for number in sorted(counts):
        rank_of[number] = below + Fraction(counts[number] + 1, 2)
        below += counts[number]
    return [rank_of[number] for number in row]


def kendall_w(raters: Ranks) -> Measure:
    """Measure how much n raters agree in ranking m items: `W = 12 S / (n^2 (m^3 - m) - n sum T)`.

    S is the sum of squared deviations of the items' rank sums from their mean; `T = sum (t^3 - t)` over each rater's
    groups of t tied items. Range: [0, 1], exact, no unit; 1 if all raters rank alike, 0 if the rank sums are equal, as
    for two opposite rankings. Undefined with fewer than two raters or items, and if every rater ties every item.
    Figures: `chi_square = n (m - 1) W` with `df = m - 1`. Source: M. Kendall and B. Babington Smith (1939).

    Args:
        raters: One row per rater: numbers for the same items, or options from best to worst, with ties as inner lists.

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
    maximum = count**2 * (items**3 - items) - count * ties
    if not maximum:
        return Measure(None, "every rater ties every item")
    mean = Fraction(count * (items + 1), 2)
    spread = sum(((sum(column, Fraction(0)) - mean) ** 2 for column in zip(*rows, strict=True)), Fraction(0))
    value = 12 * spread / maximum
    return Measure(value, figures={"chi_square": count * (items - 1) * value, "df": items - 1})


def _tie_term(row: Sequence[Fraction]) -> int:
    return sum(size**3 - size for size in Counter(row).values())


def mean_spearman(raters: Ranks) -> Measure:
    """Measure how much raters agree in ranking: the mean of Spearman's rank correlation over all pairs of raters.

    Range: [-1/(n - 1), 1] without ties, [-1, 1] with ties; a float, no unit. Without ties it is `(n W - 1) / (n - 1)`.
    Undefined with fewer than two raters or items, and if a rater ties every item.

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


def _correlation(first: Sequence[Fraction], second: Sequence[Fraction], spreads: Fraction) -> float:
    product = sum((x * y for x, y in zip(first, second, strict=True)), Fraction(0))
    size = math.sqrt(product * product / spreads)
    return size if product > 0 else -size
