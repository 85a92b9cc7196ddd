"""Rules that count first places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from roundtable.scoring.electorate import Electorate, Profile, Roll
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.readings import Tops, first_places
from roundtable.scoring.words import amount, percent

__all__ = ["CHOICE_RULES", "leading", "tally_first_places", "threshold_outcome"]

HALF = Fraction(1, 2)


def tally_first_places(profile: Profile[Tops]) -> dict[str, Weight]:
    """Count the weight that puts each option first; options tied on a ballot share its vote equally."""
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        part = vote.weight if len(vote.form) == 1 else Fraction(vote.weight) / len(vote.form)
        for option in vote.form:
            scores[option] += part
    return scores


def leading(scores: Mapping[str, Weight]) -> tuple[str, ...]:
    """Give the options with the highest score; none when no score is above 0."""
    best = max(scores.values(), default=0)
    return tuple(option for option, score in scores.items() if score == best) if best > 0 else ()


def _plurality(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    leaders = leading(scores)
    return Outcome(profile.roll, scores, leaders, _standing(profile.roll, scores, leaders))


def _majority(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    return threshold_outcome(profile.roll, scores, lambda part: part > HALF, "more than half")


def threshold_outcome(
    roll: Roll, scores: Mapping[str, Weight], enough: Callable[[Fraction], bool], asked: str
) -> Outcome:
    """Let the leader pass when its share of the votes cast is enough."""
    leaders = leading(scores)
    words = _standing(roll, scores, leaders)
    if not leaders:
        return Outcome(roll, scores, leaders, words, passes=False)
    first, *others = leaders
    if enough(Fraction(scores[first]) / roll.weight):
        return Outcome(roll, scores, leaders, f"{words}, {asked}")
    lead = words if others else f"{roll.labels[first]} leads with {words}"
    return Outcome(roll, scores, leaders, f"{lead}, not {asked}", passes=False)


def _standing(roll: Roll, scores: Mapping[str, Weight], leaders: tuple[str, ...]) -> str:
    if not leaders:
        return "nobody voted"
    score, total = scores[leaders[0]], roll.weight
    each = " each" if len(leaders) > 1 else ""
    return f"{amount(score)} of {amount(total)} votes ({percent(Fraction(score) / total)}){each}"


CHOICE_RULES = (
    Rule("plurality", _plurality, "most first places"),
    Rule("majority", _majority, "more than half of the first places"),
)
"""The rules of this module."""
