"""Rules that give points for places: Borda, Dowdall."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from roundtable.scoring.electorate import Electorate
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.pairwise import pairwise_matrix, table
from roundtable.scoring.readings import order
from roundtable.scoring.rules.choices import highest
from roundtable.scoring.words import amount

__all__ = ["POSITIONAL_RULES"]


def _positional(ballots: Electorate, points: Callable[[int, int], Weight], *, unranked: bool) -> Outcome:
    """Give each option the points of its place; tied options share theirs equally.

    Args:
        ballots: The ballots.
        points: From place (1 is best) and number of options to points.
        unranked: Whether unranked options share the places that are left, or get nothing.
    """
    profile = ballots.read(order)
    roll = profile.roll
    size = len(roll.options)
    scores: dict[str, Weight] = dict.fromkeys(roll.options, 0)
    everyone = frozenset(roll.options)
    for vote in profile.votes:
        groups = vote.form
        if unranked and (rest := everyone.difference(*groups)):
            groups = (*groups, tuple(rest))
        place = 1
        for group in groups:
            after = place + len(group)
            each = Fraction(sum(points(taken, size) for taken in range(place, after))) * vote.weight / len(group)
            for option in group:
                scores[option] += each
            place = after
    best = max(scores.values(), default=0)
    leaders = highest(scores) if roll.cast else ()
    each_of_them = " each" if len(leaders) > 1 else ""
    why = f"{amount(best)} points from {amount(roll.weight)} votes{each_of_them}" if leaders else "nobody voted"
    return Outcome(roll, scores, leaders, why, pairwise=table(roll, pairwise_matrix(profile)))


def _borda(ballots: Electorate, _: Parameters) -> Outcome:
    return _positional(ballots, lambda place, size: size - place, unranked=True)


def _dowdall(ballots: Electorate, _: Parameters) -> Outcome:
    return _positional(ballots, lambda place, _: Fraction(1, place), unranked=False)


POSITIONAL_RULES = (
    Rule("borda", _borda, "m - 1 points for the first of m places down to 0 for the last"),
    Rule("dowdall", _dowdall, "1, 1/2, 1/3, ... points for the places, none for unranked options", aliases=("nauru",)),
)
"""The rules of this module."""
