"""Kemeny–Young: the rankings that agree with the most pairwise preferences."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.scoring.electorate import Electorate
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.pairwise import Matrix, pairwise_matrix, table
from roundtable.scoring.readings import order
from roundtable.scoring.rules.choices import highest
from roundtable.scoring.words import amount

__all__ = ["KEMENY_RULES", "MOST_OPTIONS", "kemeny_scores"]

MOST_OPTIONS = 12
"""Exact up to this many options; beyond, the rule decides nothing and says so."""


def kemeny_scores(matrix: Matrix) -> list[Weight]:
    """Give for each option the agreement of the best ranking that puts it first.

    The agreement of a ranking is the weight of all pairwise preferences it shares with the ballots; a ranking with
    the highest agreement has the least total Kendall distance. Dynamic programming over sets of options, exact.

    Source: J. Kemeny, Daedalus 88 (1959); M. Held and R. Karp (1962) for the programme.

    Example:
        >>> kemeny_scores([[0, 2, 2], [1, 0, 2], [1, 1, 0]])
        [6, 5, 4]
    """
    size = len(matrix)
    everyone = (1 << size) - 1
    best: list[Weight] = [0] * (1 << size)
    for members in range(1, 1 << size):
        inside = [one for one in range(size) if members >> one & 1]
        best[members] = max(_first(matrix, one, inside) + best[members & ~(1 << one)] for one in inside)
    inside = list(range(size))
    return [_first(matrix, one, inside) + best[everyone & ~(1 << one)] for one in range(size)]


def _first(matrix: Matrix, one: int, inside: Sequence[int]) -> Weight:
    """Give the weight that puts one option above all others of a set; the diagonal is 0."""
    row = matrix[one]
    return sum(row[other] for other in inside)


def _kemeny(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(order)
    roll = profile.roll
    matrix = pairwise_matrix(profile)
    pairs = table(roll, matrix)
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody voted")
    if len(roll.options) > MOST_OPTIONS:
        why = f"exact for at most {MOST_OPTIONS} options, and there are {len(roll.options)}: undecided"
        return Outcome(roll, {}, (), why, pairwise=pairs)
    scores = dict(zip(roll.options, kemeny_scores(matrix), strict=True))
    best = max(scores.values())
    leaders = highest(scores)
    total = sum(sum(row) for row in matrix)
    several = "rankings" if len(leaders) > 1 else "a ranking"
    why = f"{several} with it on top share {amount(best)} of {amount(total)} pairwise preferences"
    return Outcome(roll, scores, leaders, why, pairwise=pairs)


KEMENY_RULES = (
    Rule(
        "kemeny-young",
        _kemeny,
        "the ranking that shares the most pairwise preferences",
        aliases=("kemeny",),
    ),
)
"""The rules of this module."""
