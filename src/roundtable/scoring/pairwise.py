"""Head-to-head comparisons: the matrix that Condorcet rules use, and its margins, winner and cycles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from roundtable.scoring.ballot_forms import Order
from roundtable.scoring.electorate import Profile, Roll, Weight
from roundtable.scoring.outcome import Parameters

__all__ = [
    "Matrix",
    "beaten",
    "condorcet_winner",
    "cycle",
    "margins_of",
    "pairwise_matrix",
    "strengths_by",
    "table",
    "winning_votes_of",
]

Matrix: TypeAlias = Sequence[Sequence[Weight]]
"""A square matrix; row i, column j holds the weight of the ballots that put option i above option j."""


def pairwise_matrix(profile: Profile[Order]) -> list[list[Weight]]:
    """Sum, for each pair, the weight of the ballots that put one option above the other.

    On a ballot, unranked options are tied below all ranked ones.
    """
    index_of = {option: index for index, option in enumerate(profile.roll.options)}
    size = len(index_of)
    matrix: list[list[Weight]] = [[0] * size for _ in range(size)]
    for vote in profile.votes:
        below = set(range(size))
        for group in vote.form:
            members = [index_of[option] for option in group]
            below.difference_update(members)
            for member in members:
                row = matrix[member]
                for other in below:
                    row[other] += vote.weight
    return matrix


def table(roll: Roll, matrix: Matrix) -> Mapping[str, Mapping[str, Weight]]:
    """Return the matrix by option, without its diagonal."""
    options = roll.options
    return {
        above: {below: matrix[i][j] for j, below in enumerate(options) if i != j} for i, above in enumerate(options)
    }


def margins_of(matrix: Matrix) -> list[list[int]]:
    """Return each pair's margin as an integer, for exact and fast comparisons; all weights are scaled alike."""
    scaled = _scaled(matrix)
    return [[cell - scaled[j][i] for j, cell in enumerate(row)] for i, row in enumerate(scaled)]


def winning_votes_of(matrix: Matrix) -> list[list[int]]:
    """Return each pair's winning votes as an integer: positive for the winner, negative for the loser, 0 on a tie.

    Example:
        >>> winning_votes_of([[0, 3], [1, 0]])
        [[0, 3], [-3, 0]]
    """
    scaled = _scaled(matrix)
    return [
        [cell if cell > scaled[j][i] else -scaled[j][i] if cell < scaled[j][i] else 0 for j, cell in enumerate(row)]
        for i, row in enumerate(scaled)
    ]


def strengths_by(parameters: Parameters) -> Callable[[Matrix], list[list[int]]]:
    """Return the function that measures the strength of head-to-head wins: by margin, or by the winner's votes."""
    by = parameters.one_of("strength", "margins", "winning-votes")
    return margins_of if by == "margins" else winning_votes_of


def _scaled(matrix: Matrix) -> list[list[int]]:
    scale = math.lcm(*{cell.denominator for row in matrix for cell in row})
    return [[int(cell * scale) for cell in row] for row in matrix]


def condorcet_winner(margins: Sequence[Sequence[int]]) -> int | None:
    """Return the option that beats every other one head to head, if there is one."""
    for option, row in enumerate(margins):
        if all(margin > 0 for other, margin in enumerate(row) if other != option):
            return option
    return None


def beaten(margins: Sequence[Sequence[int]], option: int) -> list[int]:
    """Return the options that one option beats head to head."""
    return [other for other, margin in enumerate(margins[option]) if margin > 0]


def cycle(margins: Sequence[Sequence[int]]) -> list[int] | None:
    """Return a shortest cycle of options that beat each other in turn; of equally short cycles, the first by order."""
    best: list[int] | None = None
    for start in range(len(margins)):
        path = _shortest_cycle_from(margins, start)
        if path is not None and (best is None or len(path) < len(best)):
            best = path
    return best


def _shortest_cycle_from(margins: Sequence[Sequence[int]], start: int) -> list[int] | None:
    previous: dict[int, int] = {}
    queue = [start]
    for option in queue:
        for other in beaten(margins, option):
            if other == start:
                path = [option]
                while path[-1] != start:
                    path.append(previous[path[-1]])
                return path[::-1]
            if other not in previous:
                previous[other] = option
                queue.append(other)
    return None
