"""Random ballots of every kind, and what can be done to them without a rule noticing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roundtable.scoring import (
    Approval,
    Ballot,
    Choice,
    Distribution,
    Points,
    Prediction,
    Ranking,
    Scores,
    Trajectory,
    Verdict,
)

OPTIONS = ("a", "b", "c", "d")

EFFORT = pytest.mark.parametrize(
    "effort",
    [
        pytest.param(5, id="everyday"),
        pytest.param(40, id="ci", marks=pytest.mark.slow),
        pytest.param(1500, id="deep", marks=pytest.mark.deep),
    ],
)
"""How many random cases a law is tried on."""


def holds(effort: int, check: Callable[..., None], *cases: st.SearchStrategy[object]) -> None:
    """Try a law on random cases."""
    settings(max_examples=effort, deadline=None, derandomize=True, database=None)(given(*cases)(check))()


def law(price: int = 1, /, **cases: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Turn a check into a test: 20 random cases every day, 500 in CI, 20,000 in the deep run, divided by the price.

    Args:
        price: How many times as much a case costs as one count of ballots; 5 for a debate that is recounted.
        cases: What is drawn.
    """

    def decorate(check: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize(
            "draws",
            [
                pytest.param(20 // price, id="everyday"),
                pytest.param(500 // price, id="ci", marks=pytest.mark.slow),
                pytest.param(20_000 // price, id="deep", marks=pytest.mark.deep),
            ],
        )
        def test(draws: int) -> None:
            slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
            settings(max_examples=draws, deadline=None, suppress_health_check=slow)(given(**cases)(check))()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


@st.composite
def rankings(draw: st.DrawFn) -> Ballot:
    """Rankings with ties and gaps; one that ranks nothing abstains."""
    places = draw(st.tuples(*[st.integers(0, len(OPTIONS))] * len(OPTIONS)))
    groups = [[option for option, place in zip(OPTIONS, places, strict=True) if place == at] for at in range(4)]
    return Ranking(tuple(tuple(group) for group in groups if group))


linear = st.permutations(OPTIONS).map(lambda order: Ranking(tuple(order)))
"""Rankings without ties and gaps."""

choices = st.sampled_from(OPTIONS).map(Choice)
approvals = st.frozensets(st.sampled_from(OPTIONS)).map(Approval)
tenths = st.integers(0, 10).map(lambda number: Fraction(number, 10))


def by_option(values: st.SearchStrategy[Fraction]) -> st.SearchStrategy[dict[str, Fraction]]:
    return st.dictionaries(st.sampled_from(OPTIONS), values, min_size=1)


grades = by_option(st.integers(0, 5).map(Fraction)).map(Scores)
full_grades = st.tuples(*[st.integers(0, 5)] * 4).map(lambda row: Scores(dict(zip(OPTIONS, row, strict=True))))
points = by_option(st.integers(0, 2).map(Fraction)).map(Points)


def normed(parts: Sequence[int]) -> dict[str, Fraction]:
    return {option: Fraction(part, sum(parts)) for option, part in zip(OPTIONS, parts, strict=True) if part}


shares = st.tuples(*[st.integers(0, 3)] * 4).filter(any).map(normed)
distributions = shares.map(Distribution)
confident = st.builds(Choice, st.sampled_from(OPTIONS), confidence=tenths)
accurate = st.builds(Choice, st.sampled_from(OPTIONS), accuracy=st.integers(1, 9).map(lambda n: Fraction(n, 10)))
soft = st.one_of(distributions, confident)
predictions = st.builds(Prediction, st.sampled_from(OPTIONS), shares)
paths = st.lists(st.sampled_from((*OPTIONS, None)), min_size=1, max_size=4).map(lambda path: Trajectory(tuple(path)))
verdicts = st.builds(
    Verdict,
    st.sampled_from(OPTIONS),
    swapped=st.sampled_from((*OPTIONS, None)),
    own=st.frozensets(st.sampled_from(OPTIONS), max_size=1),
)

BALLOTS: Mapping[str, st.SearchStrategy[Ballot]] = {
    **dict.fromkeys(
        (
            "plurality",
            "majority",
            "supermajority",
            "unanimity",
            "hybrid",
            "random-dictator",
            "borda",
            "dowdall",
            "irv",
            "coombs",
            "condorcet",
            "copeland",
            "schulze",
            "ranked-pairs",
            "kemeny-young",
        ),
        rankings(),
    ),
    "approval": approvals,
    "score": grades,
    "median": grades,
    "star": grades,
    "cumulative": points,
    "confidence-weighted": confident,
    "reconcile": confident,
    "log-odds": accurate,
    "linear-pool": distributions,
    "log-pool": distributions,
    "soft-vote": soft,
    "surprisingly-popular": predictions,
    "free-mad": paths,
    "judge": verdicts,
    "judge-panel": verdicts,
}
"""For each built-in rule the ballots it is made for."""

EVERY_RULE = pytest.mark.parametrize("rule", BALLOTS)


def profiles(rule: str, most: int = 6) -> st.SearchStrategy[list[Ballot]]:
    """Generate lists of ballots that a rule is made for."""
    return st.lists(BALLOTS[rule], max_size=most)


def renamed(ballot: Ballot, name: Mapping[str, str]) -> Ballot:
    """Return a ballot with its options renamed."""
    match ballot:
        case Choice():
            return Choice(name[str(ballot.option)], ballot.confidence, ballot.accuracy)
        case Ranking():
            return Ranking(tuple(tuple(name[option] for option in group) for group in ballot.groups))
        case Approval():
            return Approval(frozenset(name[option] for option in ballot.options))
        case Scores():
            return Scores({name[option]: value for option, value in ballot.scores.items()})
        case Points():
            return Points({name[option]: value for option, value in ballot.points.items()})
        case Distribution():
            return Distribution({name[option]: value for option, value in ballot.probabilities.items()})
        case Prediction():
            predicted = {name[option]: value for option, value in ballot.predicted.items()}
            return Prediction(name[ballot.option], predicted)
        case Trajectory():
            return Trajectory(tuple(option and name[option] for option in ballot.options))
        case Verdict():
            swapped = ballot.swapped and name[ballot.swapped]
            return Verdict(name[str(ballot.option)], swapped, frozenset(name[option] for option in ballot.own))
        case _:
            raise AssertionError(ballot)
