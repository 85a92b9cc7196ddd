"""Head-to-head comparisons: the matrix that Condorcet rules read, and what can be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from roundtable.scoring.electorate import Profile, Roll
from roundtable.scoring.grouping import Weight
from roundtable.scoring.readings import Order

__all__ = ["Matrix", "beaten", "condorcet_winner", "cycle", "margins_of", "pairwise_matrix", "table"]

Matrix: TypeAlias = Sequence[Sequence[Weight]]
"""Square; row i, column j: the weight of the ballots that put option i above option j."""


def pairwise_matrix(profile: Profile[Order]) -> list[list[Weight]]:
    """Count who is put above whom; unranked options are tied below all ranked ones."""
    places = {option: place for place, option in enumerate(profile.roll.options)}
    size = len(places)
    matrix: list[list[Weight]] = [[0] * size for _ in range(size)]
    for vote in profile.votes:
        below = set(range(size))
        for group in vote.form:
            members = [places[option] for option in group]
            below.difference_update(members)
            for one in members:
                row = matrix[one]
                for other in below:
                    row[other] += vote.weight
    return matrix


def table(roll: Roll, matrix: Matrix) -> Mapping[str, Mapping[str, Weight]]:
    """Give the matrix by option, without its diagonal."""
    options = roll.options
    return {one: {other: matrix[i][j] for j, other in enumerate(options) if i != j} for i, one in enumerate(options)}


def margins_of(matrix: Matrix) -> list[list[int]]:
    """Give each pair's margin as an integer: weights are scaled alike, so comparisons stay exact and fast."""
    scale = math.lcm(*{cell.denominator for row in matrix for cell in row})
    whole = [[int(cell * scale) for cell in row] for row in matrix]
    return [[cell - whole[j][i] for j, cell in enumerate(row)] for i, row in enumerate(whole)]


def condorcet_winner(margins: Sequence[Sequence[int]]) -> int | None:
    """Give the option that beats every other one head to head, if there is one."""
    for one, row in enumerate(margins):
        if all(margin > 0 for other, margin in enumerate(row) if other != one):
            return one
    return None


def beaten(margins: Sequence[Sequence[int]], one: int) -> list[int]:
    """Give the options that one option beats head to head."""
    return [other for other, margin in enumerate(margins[one]) if margin > 0]


def cycle(margins: Sequence[Sequence[int]]) -> list[int] | None:
    """Give a shortest cycle of options that beat each other in turn; of equally short ones the first by order."""
    best: list[int] | None = None
    for start in range(len(margins)):
        found = _way_back(margins, start)
        if found is not None and (best is None or len(found) < len(best)):
            best = found
    return best


def _way_back(margins: Sequence[Sequence[int]], start: int) -> list[int] | None:
    before: dict[int, int] = {}
    queue = [start]
    for one in queue:
        for other in beaten(margins, one):
            if other == start:
                path = [one]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if other not in before:
                before[other] = one
                queue.append(other)
    return None
