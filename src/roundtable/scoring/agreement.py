"""How far positions agree, from their counts alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from roundtable.scoring.measure import Measure
from roundtable.scoring.spelling import Normalise, normaliser

__all__ = ["basic_agreement", "modal_share", "tally"]


def tally(positions: Iterable[str | None], normalise: Normalise = "casefold") -> Counter[str]:
    """Count positions under their keys; `None` is no position and is left out."""
    key_of = normaliser(normalise)
    return Counter(key_of(position) for position in positions if position is not None)


def basic_agreement(positions: Iterable[str | None], *, normalise: Normalise = "casefold") -> Fraction:
    """Measure agreement by the number of different positions: `1 - (distinct - 1) / n`.

    Range: 0 without positions, else from 1/n (all differ) to 1 (all equal, also a single one). No unit. It sees
    no meaning, and doubling every voice raises it: prefer `modal_share` or `pairwise_agreement` where shares matter.
    Source: the first version of this product.

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

    Range: (0, 1], exact. No unit. Undefined without positions.

    Args:
        positions: One per agent; `None` where an agent gave none.
        normalise: When two spellings are one position.

    Example:
        >>> modal_share(["a", "a", "b", None]).value
        Fraction(2, 3)
    """
    counts = tally(positions, normalise)
    if not counts:
        return Measure(None, "there are no positions")
    return Measure(Fraction(max(counts.values()), counts.total()))
