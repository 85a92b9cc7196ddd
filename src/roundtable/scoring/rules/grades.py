"""Rules that read grades, approvals and points: approval, score, median, STAR, cumulative."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from typing import TypeAlias

from roundtable.core.base.scale import is_on_scale
from roundtable.core.base.words import amount, listing
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.ballot_forms import Grades, approvals, grades, points
from roundtable.scoring.ballots import Ballot
from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Reading, Weight
from roundtable.scoring.outcome import POINTS, Outcome, Parameters, Rule, ScoreMeaning
from roundtable.scoring.rules.choice import HALF, highest, leading, standing

__all__ = ["GRADE_RULES"]

Graded: TypeAlias = Mapping[str, list[tuple[Fraction, Weight]]]
"""For each option, its grades with their weights, lowest grade first."""


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
    if low is not None and high is not None and low >= high:
        scale = f"not from {parameters.values['low']!r} to {parameters.values['high']!r}"
        raise ConfigurationError(
            f"the scale of the rule {parameters.rule!r} must rise from low to high, {scale}",
            hint="Set low to the worst grade and high to the best, such as low=0, high=5.",
        )

    def within(ballot: Ballot, key_of: KeyOf) -> Grades | None:
        by_option = grades(ballot, key_of)
        for grade in (by_option or {}).values():
            if not is_on_scale(grade, low, high):
                raise InvalidBallot(f"the grade {amount(grade)} is off the scale")
        return by_option

    return within


def _by_option(profile: Profile[Grades]) -> Graded:
    by_option: dict[str, list[tuple[Fraction, Weight]]] = {option: [] for option in profile.roll.options}
    for vote in profile.votes:
        for option, grade in vote.form.items():
            by_option[option].append((grade, vote.weight))
    return {option: sorted(grades_given) for option, grades_given in by_option.items() if grades_given}


def _score(ballots: Electorate, parameters: Parameters) -> Outcome:
    by = parameters.one_of("by", "mean", "sum")
    profile = ballots.read(_grades_within(parameters))
    scores = {
        option: sum((grade * weight for grade, weight in option_grades), Fraction(0))
        / (sum(weight for _, weight in option_grades) if by == "mean" else 1)
        for option, option_grades in _by_option(profile).items()
    }
    leaders = highest(scores)
    if not leaders:
        return Outcome(profile.roll, scores, (), "nobody graded an option")
    figure = "mean grade" if by == "mean" else "sum of grades"
    return Outcome(profile.roll, scores, leaders, f"{figure} {amount(scores[leaders[0]])}")


def _median(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(_grades_within(parameters))
    graded = _by_option(profile)
    if not graded:
        return Outcome(profile.roll, {}, (), "nobody graded an option")
    spreads = {option: _GradeSpread(option_grades) for option, option_grades in graded.items()}
    distances = sorted({Fraction(0), HALF}.union(*(spread.distances() for spread in spreads.values())))
    middles = [(low + high) / 2 for low, high in pairwise(distances)]
    values = {option: [spread.around(middle) for middle in middles] for option, spread in spreads.items()}
    best = max(values.values())
    leaders = highest(values)
    scores = {option: value[0][0] for option, value in values.items()}
    level_options = [option for option, score in scores.items() if score == best[0][0] and option not in leaders]
    why = f"median grade {amount(best[0][0])}"
    if level_options:
        why += f", the same as {listing(profile.roll.names(level_options))}, with better grades around the median"
    return Outcome(profile.roll, scores, leaders, why)


class _GradeSpread:
    """The grades of one option, by share of the ballots that grade it, from 0 (lowest grade) to 1.

    Majority judgment removes medians one by one, from the middle outwards, and the lower one first. This class works
    with shares instead of numbers of ballots. So the order depends neither on how many ballots graded the option nor on
    the unit of weights.
    """

    def __init__(self, option_grades: Sequence[tuple[Fraction, Weight]]) -> None:
        total = Fraction(sum(weight for _, weight in option_grades))
        self.grades = [grade for grade, _ in option_grades]
        self.ends = [end / total for end in accumulate(weight for _, weight in option_grades)]

    def distances(self) -> list[Fraction]:
        """Return the distances from the middle at which the grade changes."""
        return [abs(end - HALF) for end in self.ends]

    def around(self, distance: Fraction) -> tuple[Fraction, Fraction]:
        """Return the grade at this distance below the middle, and the grade at this distance above it."""
        return self._at(HALF - distance), self._at(HALF + distance)

    def _at(self, share: Fraction) -> Fraction:
        return self.grades[bisect_right(self.ends, share)]


def _star(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(_grades_within(parameters))
    roll = profile.roll
    totals: dict[str, Fraction] = dict.fromkeys(roll.options, Fraction(0))
    if not roll.cast:
        return Outcome(roll, totals, (), "nobody graded an option")
    for vote in profile.votes:
        for option, grade in vote.form.items():
            totals[option] += grade * vote.weight
    if len(totals) < 2:
        return Outcome(roll, totals, tuple(totals), "the only option")
    runs = [_run_off(profile, totals, *pair) for pair in _finalists(totals)]
    winners = {option for _, won in runs for option in won}
    leaders = tuple(option for option in roll.options if option in winners)
    tally = runs[0][0]
    first_option, second_option = tally
    why = (
        f"run-off of the highest totals: {roll.labels[first_option]} {amount(tally[first_option])},"
        f" {roll.labels[second_option]} {amount(tally[second_option])}"
    )
    if len(runs) > 1:
        why += f" (one of {len(runs)} possible run-offs, as totals are equal)"
    elif tally[first_option] == tally[second_option]:
        why += ", level, so the higher total counts"
    return Outcome(roll, totals, leaders, why, rounds=(totals, tally))


def _finalists(totals: Mapping[str, Fraction]) -> list[tuple[str, str]]:
    """Return each pair of options that can be the finalists, which are the two highest totals."""
    highest, second = sorted(totals.values(), reverse=True)[:2]
    first = [option for option, total in totals.items() if total == highest]
    if highest == second:
        return list(combinations(first, 2))
    return [(first[0], option) for option, total in totals.items() if total == second]


def _run_off(
    profile: Profile[Grades], totals: Mapping[str, Fraction], first: str, second: str
) -> tuple[dict[str, Weight], tuple[str, ...]]:
    """Count the votes that grade one option above the other; a missing grade is 0.

    On a tie, the option with the higher total wins; if the totals are equal, both win.
    """
    tally: dict[str, Weight] = {first: 0, second: 0}
    for vote in profile.votes:
        lead = vote.form.get(first, 0) - vote.form.get(second, 0)
        if lead:
            tally[first if lead > 0 else second] += vote.weight
    ranked = {option: (votes, totals[option]) for option, votes in tally.items()}
    return tally, highest(ranked)


def _cumulative(ballots: Electorate, parameters: Parameters) -> Outcome:
    budget, spend = parameters.number("points"), parameters.one_of("spend", "at-most", "exactly")

    def within_budget(ballot: Ballot, key_of: KeyOf) -> Grades | None:
        by_option = points(ballot, key_of)
        spent = sum((by_option or {}).values())
        if spent > budget:
            raise InvalidBallot(f"it spends {amount(spent)} of {amount(budget)} points")
        if by_option is not None and spend == "exactly" and spent < budget:
            raise InvalidBallot(f"it spends {amount(spent)} of {amount(budget)} points, but all must be spent")
        return by_option

    profile = ballots.read(within_budget)
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option, points_given in vote.form.items():
            scores[option] += points_given * vote.weight
    leaders = leading(scores)
    spent = sum(scores.values())
    if not leaders:
        return Outcome(profile.roll, scores, (), "nobody gave any points")
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, spent, "points"))


SCALE = {"low": None, "high": None}

GRADE_RULES = (
    Rule(
        "approval",
        _approval,
        "most approvals",
        form="approval",
        score_meaning=ScoreMeaning("its approvals", share_of="ballots"),
    ),
    Rule(
        "score",
        _score,
        "highest mean grade among the voters who graded the option, or highest sum",
        {**SCALE, "by": "mean"},
        ("range", "mean"),
        form="scores",
        score_meaning=ScoreMeaning("the mean or the sum of its grades"),
    ),
    Rule(
        "median",
        _median,
        "highest lower median grade, then the grades around it (majority judgment)",
        SCALE,
        ("majority-judgment", "majority-judgement"),
        form="scores",
        score_meaning=ScoreMeaning("its lower median grade"),
    ),
    Rule(
        "star",
        _star,
        "the two highest totals of grades, then head to head",
        SCALE,
        form="scores",
        score_meaning=ScoreMeaning("the sum of its grades, which selects the two options of the final comparison"),
    ),
    Rule(
        "cumulative",
        _cumulative,
        "most points, when each voter has the same number to spend",
        {"points": 10, "spend": "at-most"},
        ("points",),
        score_meaning=POINTS,
    ),
)
"""Rules on grades, approvals and points."""
