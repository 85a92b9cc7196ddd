"""How far positions agree, from their counts alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction

from roundtable.scoring.measure import Measure
from roundtable.scoring.spelling import Normalise, normaliser

__all__ = [
    "basic_agreement",
    "entropy",
    "entropy_agreement",
    "jensen_shannon",
    "lead_margin",
    "modal_share",
    "pairwise_agreement",
    "tally",
    "total_variation",
]

NOTHING = Measure(None, "there are no positions")


def tally(positions: Iterable[str | None], normalise: Normalise = "casefold") -> Counter[str]:
    """Count positions under their keys; `None` is no position and is left out.

    Example:
        >>> tally(["Yes", "yes.", None, "no"])
        Counter({'yes': 2, 'no': 1})
    """
    key_of = normaliser(normalise)
    return Counter(key_of(position) for position in positions if position is not None)


def basic_agreement(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Fraction:
    """Measure agreement by the number of different positions: `1 - (distinct - 1) / n`.

    Range: 0 without positions, else from 1/n (all differ) to 1 (all equal, also a single one); exact, no unit. It
    sees no meaning, and doubling every voice raises it: prefer `modal_share` or `pairwise_agreement` where shares
    matter. Source: the first version of this product.

    Args:
        positions: One per agent; `None` where an agent gave none.
        normalise: When two spellings are one position.

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
        positions: One per agent; `None` where an agent gave none.
        normalise: When two spellings are one position.

    Example:
        >>> modal_share(["a", "a", "b", None]).value
        Fraction(2, 3)
    """
    counts = tally(positions, normalise)
    if not counts:
        return NOTHING
    return Measure(Fraction(max(counts.values()), counts.total()))


def lead_margin(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Measure:
    """Measure the lead of the most frequent position over the next: `(n_1 - n_2) / n`.

    Range: [0, 1], exact, no unit; 0 is a tie, 1 is unanimity. Undefined without positions.

    Args:
        positions: One per agent; `None` where an agent gave none.
        normalise: When two spellings are one position.

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
        positions: One per agent; `None` where an agent gave none.
        normalise: When two spellings are one position.

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
    """Give the Shannon entropy of counts: `H = -sum p_k log2 p_k`.

    Range: [0, log2 of the number of counts above 0], in bits; a float, exact to about 1e-15.

    Example:
        >>> entropy([2, 2]), entropy([4, 0])
        (1.0, 0.0)
    """
    given = [count for count in counts if count]
    total = sum(given)
    # Summed in one order, so that the order of counts cannot move the last digit; and never -0.0.
    return math.fsum(sorted(count / total * math.log2(total / count) for count in given)) + 0.0


def entropy_agreement(
    positions: Iterable[str | None], *, options: Collection[str] | None = None, normalise: Normalise = "casefold"
) -> Measure:
    """Measure agreement by normalised entropy: `1 - H(p) / log2(min(n, m))`, with H in bits.

    Range: [0, 1], a float, no unit; 0 when the n agents spread as evenly as the m options allow, 1 when all agree.
    One position is 1.0 by convention. Undefined without positions, and where one option is all there is.

    Args:
        positions: One per agent; `None` where an agent gave none.
        options: The options there are; `None` when they are open, which leaves min(n, m) = n.
        normalise: When two spellings are one position.

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
    """Measure how far two distributions of positions are apart: Jensen-Shannon divergence, base 2.

    `H((p + q) / 2) - (H(p) + H(q)) / 2`. Range: [0, 1], in bits, a float; 0 when equal, 1 when nothing is shared.
    Undefined when either side has no positions. Source: J. Lin, IEEE Trans. Inf. Theory 37 (1991).

    Args:
        before: Positions of one round.
        after: Positions of another.
        normalise: When two spellings are one position.

    Example:
        >>> jensen_shannon(["a", "b"], ["b", "a"]).value, jensen_shannon(["a"], ["b"]).value
        (0.0, 1.0)
    """
    one, other = tally(before, normalise), tally(after, normalise)
    if not one or not other:
        return NOTHING
    p, q = _shares(one), _shares(other)
    zero = Fraction(0)
    middle = {key: (p.get(key, zero) + q.get(key, zero)) / 2 for key in p.keys() | q.keys()}
    terms = [float(part) * math.log2(part / middle[key]) / 2 for given in (p, q) for key, part in given.items()]
    return Measure(min(1.0, max(0.0, math.fsum(sorted(terms)))))


def total_variation(
    before: Iterable[str | None], after: Iterable[str | None], *, normalise: Normalise = "casefold"
) -> Measure:
    """Measure how far two distributions of positions are apart: `sum |p_k - q_k| / 2`.

    It is also the Kolmogorov-Smirnov distance of unordered options: the widest gap between the cumulated shares,
    over every order of the options. Range: [0, 1], exact, no unit. Undefined when either side has no positions.

    Args:
        before: Positions of one round.
        after: Positions of another.
        normalise: When two spellings are one position.

    Example:
        >>> total_variation(["a", "a", "b"], ["a", "b", "b"]).value
        Fraction(1, 3)
    """
    one, other = tally(before, normalise), tally(after, normalise)
    if not one or not other:
        return NOTHING
    p, q = _shares(one), _shares(other)
    zero = Fraction(0)
    return Measure(sum((abs(p.get(key, zero) - q.get(key, zero)) for key in p.keys() | q.keys()), zero) / 2)
