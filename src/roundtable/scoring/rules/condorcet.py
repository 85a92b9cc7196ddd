"""Rules that compare options head to head: Condorcet, Copeland, Schulze."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Rule
from roundtable.scoring.pairwise import (
    Matrix,
    beaten,
    condorcet_winner,
    cycle,
    margins_of,
    pairwise_matrix,
    table,
)
from roundtable.scoring.readings import order
from roundtable.scoring.words import listing

__all__ = ["CONDORCET_RULES", "Margins", "head_to_head", "schulze_paths", "schulze_winners", "strongest_paths"]

Margins: TypeAlias = Sequence[Sequence[int]]

Resolve: TypeAlias = Callable[[Margins], tuple[Sequence[Weight], Sequence[int], str]]
"""Turns margins into scores, leaders and words on how a cycle or tie was resolved."""


def head_to_head(ballots: Electorate, resolve: Resolve) -> Outcome:
    """Read ballots as orders and let a rule resolve their margins; say first whether one option beats all others."""
    profile = ballots.read(order)
    roll = profile.roll
    matrix = pairwise_matrix(profile)
    margins = margins_of(matrix)
    scores, leaders, words = resolve(margins)
    parts = [_situation(roll, margins), words] if roll.cast else ["nobody voted"]
    return Outcome(
        roll,
        dict(zip(roll.options, scores, strict=True)),
        tuple(roll.options[place] for place in leaders) if roll.cast else (),
        "; ".join(part for part in parts if part),
        pairwise=table(roll, matrix),
    )


def _situation(roll: Roll, margins: Margins) -> str:
    labels = [roll.labels[option] for option in roll.options]
    winner = condorcet_winner(margins)
    if winner is not None:
        return f"{labels[winner]} beats all others head to head"
    ring = cycle(margins)
    if ring is None:
        unbeaten = [label for label, row in zip(labels, margins, strict=True) if min(row) >= 0]
        return f"no option beats all others head to head, and {listing(unbeaten)} lose to none"
    return f"no option beats all others head to head: {' > '.join(labels[place] for place in [*ring, ring[0]])}"


def _condorcet(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    winner = condorcet_winner(margins)
    return [len(beaten(margins, one)) for one in range(len(margins))], [] if winner is None else [winner], ""


def _copeland(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    scores = [sum((margin > 0) - (margin < 0) for margin in row) for row in margins]
    best = max(scores, default=0)
    leaders = [one for one, score in enumerate(scores) if score == best]
    return scores, leaders, f"head-to-head wins less losses: {best:+d}"


def schulze_paths(matrix: Matrix) -> list[list[int]]:
    """Give the rank of the strength of the strongest path between each pair, 0 for no path.

    A path is as strong as its weakest margin. Equal strengths have equal ranks; larger is stronger.

    Args:
        matrix: Row i, column j: the weight of the ballots that put option i above option j.

    Source: M. Schulze, Social Choice and Welfare 36 (2011), with margins.

    Example:
        >>> schulze_paths([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
        [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    return strongest_paths(margins_of(matrix))


def strongest_paths(margins: Margins) -> list[list[int]]:
    """Let margins in from the widest down; a pair is as strong as the margin that first connects it."""
    size = range(len(margins))
    pairs = [(margin, one, other) for one, row in enumerate(margins) for other, margin in enumerate(row) if margin > 0]
    ranks = {margin: rank for rank, margin in enumerate(sorted({margin for margin, _, _ in pairs}), 1)}
    paths = [[0 for _ in size] for _ in size]
    reached = [0 for _ in size]
    for margin, one, other in sorted(pairs, reverse=True):
        if reached[one] >> other & 1:
            continue
        beyond = reached[other] | 1 << other
        for start in size:
            if start != one and not reached[start] >> one & 1:
                continue
            new = beyond & ~reached[start] & ~(1 << start)
            reached[start] |= new
            while new:
                lowest = new & -new
                paths[start][lowest.bit_length() - 1] = ranks[margin]
                new ^= lowest
    return paths


def schulze_winners(matrix: Matrix) -> list[int]:
    """Give the options whose strongest path to every other one is at least as strong as the way back.

    Example:
        >>> schulze_winners([[0, 2, 2], [1, 0, 2], [1, 1, 0]])
        [0]
    """
    return _unbeaten(schulze_paths(matrix))


def _unbeaten(paths: Sequence[Sequence[int]]) -> list[int]:
    size = range(len(paths))
    return [one for one in size if all(paths[one][other] >= paths[other][one] for other in size)]


def _schulze(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    paths = strongest_paths(margins)
    size = range(len(paths))
    scores = [sum(paths[one][other] > paths[other][one] for other in size) for one in size]
    leaders = _unbeaten(paths)
    if condorcet_winner(margins) is not None:
        return scores, leaders, ""
    level = "leave them level" if len(leaders) > 1 else "put one option first"
    return scores, leaders, f"the strongest paths {level}"


CONDORCET_RULES = (
    Rule(
        "condorcet",
        lambda ballots, _: head_to_head(ballots, _condorcet),
        "the option that beats all others head to head, if there is one",
    ),
    Rule(
        "copeland",
        lambda ballots, _: head_to_head(ballots, _copeland),
        "most head-to-head wins less losses",
    ),
    Rule(
        "schulze",
        lambda ballots, _: head_to_head(ballots, _schulze),
        "strongest paths of head-to-head margins",
        aliases=("beatpath", "beat-path"),
    ),
)
"""The rules of this module."""
