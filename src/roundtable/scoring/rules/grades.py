"""Rules that read grades, approvals and points: approval, score, median, STAR, cumulative."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from typing import TypeAlias

from roundtable.scoring.ballots import Ballot
from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Reading
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.readings import Grades, approvals, grades, points
from roundtable.scoring.rules.choices import HALF, highest, leading, standing
from roundtable.scoring.words import amount, listing

__all__ = ["GRADE_RULES"]

Graded: TypeAlias = Mapping[str, list[tuple[Fraction, Weight]]]
"""For each option its grades with their weight, lowest first."""


def _approval(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(approvals)
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option in vote.form:
            scores[option] += vote.weight
    leaders = leading(scores)
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, profile.roll.weight, "approvals"))


def _grades_within(parameters: Parameters) -> Reading[Grades]:
    low, high = parameters.optional("low"), parameters.optional("high")

    def within(ballot: Ballot, key_of: KeyOf) -> Grades | None:
        found = grades(ballot, key_of)
        for grade in (found or {}).values():
            if (low is not None and grade < low) or (high is not None and grade > high):
                raise InvalidBallot(f"the grade {amount(grade)} is off the scale")
        return found

    return within


def _by_option(profile: Profile[Grades]) -> Graded:
    found: dict[str, list[tuple[Fraction, Weight]]] = {option: [] for option in profile.roll.options}
    for vote in profile.votes:
        for option, grade in vote.form.items():
            found[option].append((grade, vote.weight))
    return {option: sorted(given) for option, given in found.items() if given}


def _score(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(_grades_within(parameters))
    scores = {
        option: sum(grade * weight for grade, weight in given) / Fraction(sum(weight for _, weight in given))
        for option, given in _by_option(profile).items()
    }
    leaders = highest(scores)
    if not leaders:
        return Outcome(profile.roll, scores, (), "nobody graded an option")
    return Outcome(profile.roll, scores, leaders, f"mean grade {amount(scores[leaders[0]])}")


def _median(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(_grades_within(parameters))
    graded = _by_option(profile)
    if not graded:
        return Outcome(profile.roll, {}, (), "nobody graded an option")
    ladders = {option: _Ladder(given) for option, given in graded.items()}
    steps = sorted({Fraction(0), HALF}.union(*(ladder.steps() for ladder in ladders.values())))
    middles = [(one + other) / 2 for one, other in pairwise(steps)]
    values = {option: [ladder.around(middle) for middle in middles] for option, ladder in ladders.items()}
    best = max(values.values())
    leaders = highest(values)
    scores = {option: value[0][0] for option, value in values.items()}
    level = [option for option, score in scores.items() if score == best[0][0] and option not in leaders]
    why = f"median grade {amount(best[0][0])}"
    if level:
        why += f", as {listing(profile.roll.names(level))}, but better grades around it"
    return Outcome(profile.roll, scores, leaders, why)


class _Ladder:
    """The grades of one option on a scale of ballots from 0 (lowest) to 1.

    Taking medians away one by one walks from the middle outwards, the lower side first. On shares instead of
    ballots that walk does not depend on how many ballots graded the option, nor on the unit of weights.
    """

    def __init__(self, given: Sequence[tuple[Fraction, Weight]]) -> None:
        total = Fraction(sum(weight for _, weight in given))
        self.grades = [grade for grade, _ in given]
        self.ends = [end / total for end in accumulate(weight for _, weight in given)]

    def steps(self) -> list[Fraction]:
        """Give the distances from the middle at which a grade changes."""
        return [abs(end - HALF) for end in self.ends]

    def around(self, distance: Fraction) -> tuple[Fraction, Fraction]:
        """Give the grades at this distance below and above the middle."""
        return self._at(HALF - distance), self._at(HALF + distance)

    def _at(self, place: Fraction) -> Fraction:
        return self.grades[bisect_right(self.ends, place)]


def _star(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(_grades_within(parameters))
    roll = profile.roll
    totals: dict[str, Fraction] = dict.fromkeys(roll.options, Fraction(0))
    for vote in profile.votes:
        for option, grade in vote.form.items():
            totals[option] += grade * vote.weight
    if len(totals) < 2:
        why = "the only option" if totals else "nobody graded an option"
        return Outcome(roll, totals, tuple(totals), why)
    runs = [_run_off(profile, totals, *pair) for pair in _finalists(totals)]
    winners = {option for _, won in runs for option in won}
    leaders = tuple(option for option in roll.options if option in winners)
    first = runs[0][0]
    one, other = first
    why = (
        f"run-off of the highest totals: {roll.labels[one]} {amount(first[one])},"
        f" {roll.labels[other]} {amount(first[other])}"
    )
    if len(runs) > 1:
        why += f" (one of {len(runs)} that equal totals allow)"
    elif first[one] == first[other]:
        why += ", level, so the higher total counts"
    return Outcome(roll, totals, leaders, why, rounds=(totals, first))


def _finalists(totals: Mapping[str, Fraction]) -> list[tuple[str, str]]:
    """Give each pair of options that the two highest totals allow."""
    highest, second = sorted(totals.values(), reverse=True)[:2]
    first = [option for option, total in totals.items() if total == highest]
    if highest == second:
        return list(combinations(first, 2))
    return [(first[0], option) for option, total in totals.items() if total == second]


def _run_off(
    profile: Profile[Grades], totals: Mapping[str, Fraction], one: str, other: str
) -> tuple[dict[str, Weight], tuple[str, ...]]:
    """Count who is graded higher, an ungraded option as 0; on a tie the higher total wins, else both do."""
    tally: dict[str, Weight] = {one: 0, other: 0}
    for vote in profile.votes:
        lead = vote.form.get(one, 0) - vote.form.get(other, 0)
        if lead:
            tally[one if lead > 0 else other] += vote.weight
    ranked = {option: (votes, totals[option]) for option, votes in tally.items()}
    return tally, highest(ranked)


def _cumulative(ballots: Electorate, parameters: Parameters) -> Outcome:
    purse = parameters.number("points")

    def within_purse(ballot: Ballot, key_of: KeyOf) -> Grades | None:
        found = points(ballot, key_of)
        spent = sum((found or {}).values())
        if spent > purse:
            raise InvalidBallot(f"it spends {amount(spent)} of {amount(purse)} points")
        return found

    profile = ballots.read(within_purse)
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option, given in vote.form.items():
            scores[option] += given * vote.weight
    leaders = leading(scores)
    spent = sum(scores.values())
    if not leaders:
        return Outcome(profile.roll, scores, (), "nobody gave any points")
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, spent, "points"))


SCALE = {"low": None, "high": None}

GRADE_RULES = (
    Rule("approval", _approval, "most approvals"),
    Rule("score", _score, "highest mean grade of those who graded the option", SCALE, ("range", "mean")),
    Rule(
        "median",
        _median,
        "highest lower median grade, then the grades around it (majority judgment)",
        SCALE,
        ("majority-judgment", "majority-judgement"),
    ),
    Rule("star", _star, "the two highest totals of grades, then head to head", SCALE),
    Rule("cumulative", _cumulative, "most points out of equal purses", {"points": 10}, ("points",)),
)
"""The rules of this module."""
