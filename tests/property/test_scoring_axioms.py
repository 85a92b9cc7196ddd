"""The voting axioms, for every rule to which they apply; where a rule breaks one, the known counter-example."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.scoring_strategies import (
    BALLOTS,
    EFFORT,
    EVERY_RULE,
    OPTIONS,
    accurate,
    approvals,
    confident,
    distributions,
    full_grades,
    holds,
    linear,
    points,
    predictions,
    profiles,
    rankings,
    renamed,
    verdicts,
)

from roundtable.scoring import (
    BUILTIN_RULES,
    Approval,
    Ballot,
    Choice,
    Distribution,
    Electorate,
    Points,
    Prediction,
    Ranking,
    Scores,
    Trajectory,
    Verdict,
    decide,
    exact,
    order,
)
from roundtable.scoring.pairwise import condorcet_winner, margins_of, pairwise_matrix
from roundtable.types import Decision

CONDORCET = ("condorcet", "copeland", "schulze", "ranked-pairs", "kemeny-young")
ON_RANKINGS = ("plurality", "borda", "dowdall", "irv", "coombs", *CONDORCET)


def outcome(decision: Decision) -> tuple[set[str], bool, bool]:
    return set(decision.winners), decision.is_tie, decision.passed


def test_every_built_in_rule_is_held_to_the_axioms() -> None:
    assert set(BALLOTS) == {rule.name for rule in BUILTIN_RULES}


@EFFORT
@EVERY_RULE
def test_the_order_of_ballots_never_matters(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], shuffler: random.Random) -> None:
        shuffled = shuffler.sample(ballots, len(ballots))
        one = decide(ballots, rule=rule).model_copy(update={"invalid": {}, "abstained": (), "why": ""})
        other = decide(shuffled, rule=rule).model_copy(update={"invalid": {}, "abstained": (), "why": ""})
        assert one.to_json() == other.to_json()

    holds(effort, check, profiles(rule), st.randoms(use_true_random=False))


@EFFORT
@pytest.mark.parametrize("rule", [rule for rule in BALLOTS if rule != "random-dictator"])
def test_the_names_of_options_never_matter(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], names: Sequence[str]) -> None:
        name = dict(zip(OPTIONS, names, strict=True))
        before = decide(ballots, rule=rule)
        after = decide([renamed(ballot, name) for ballot in ballots], rule=rule)
        assert set(after.winners) == {name[winner] for winner in before.winners}
        assert (after.is_tie, after.passed) == (before.is_tie, before.passed)
        if rule not in ("irv", "coombs"):  # their counts follow one of several orders, by name
            assert after.scores == pytest.approx({name[option]: score for option, score in before.scores.items()})

    holds(effort, check, profiles(rule), st.permutations(("w", "x", "y", "z")))


@EFFORT
@pytest.mark.parametrize("rule", [rule for rule in BALLOTS if rule != "random-dictator"])
def test_options_with_equal_support_tie_or_lose_together(rule: str, effort: int) -> None:
    swap = {"a": "b", "b": "a", "c": "c", "d": "d"}

    def check(ballots: list[Ballot]) -> None:
        winners = decide([*ballots, *(renamed(ballot, swap) for ballot in ballots)], rule=rule).winners
        assert ("a" in winners) == ("b" in winners)

    holds(effort, check, profiles(rule, 4))


@EFFORT
@pytest.mark.parametrize("rule", [rule for rule in BALLOTS if rule != "hybrid"])
def test_copying_every_ballot_changes_no_outcome(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], copies: int) -> None:
        assert outcome(decide(ballots * copies, rule=rule)) == outcome(decide(ballots, rule=rule))

    holds(effort, check, profiles(rule), st.integers(2, 3))


def test_copying_ballots_can_leave_the_small_group_of_the_hybrid_rule() -> None:
    ballots = ["a", "a", "a", "b"]
    assert not decide(ballots[1:], rule="hybrid", turn=9).passed
    assert decide(ballots[1:] * 2, rule="hybrid", turn=9, q="2/3").passed


@EFFORT
@EVERY_RULE
def test_scaling_all_weights_changes_no_outcome(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], raw: list[int], factor: Fraction) -> None:
        weights = [Fraction(raw[place % len(raw)]) for place in range(len(ballots))]
        one = decide(ballots, rule=rule, weights=weights)
        other = decide(ballots, rule=rule, weights=[weight * factor for weight in weights])
        assert outcome(one) == outcome(other)

    factors = st.sampled_from([Fraction(1, 3), Fraction(7), Fraction(1, 1024), Fraction(2, 7)])
    holds(effort, check, profiles(rule), st.lists(st.integers(0, 3), min_size=1, max_size=6), factors)


@EFFORT
@pytest.mark.parametrize("rule", [rule for rule in BALLOTS if rule != "hybrid"])
def test_a_weight_equals_a_number_of_copies_and_zero_equals_absence(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], raw: list[int]) -> None:
        weights = [raw[place % len(raw)] for place in range(len(ballots))]
        copies = [ballot for ballot, weight in zip(ballots, weights, strict=True) for _ in range(weight)]
        weighted, copied = decide(ballots, rule=rule, weights=weights), decide(copies, rule=rule)
        assert outcome(weighted) == outcome(copied)
        assert weighted.scores == pytest.approx(copied.scores)

    holds(effort, check, profiles(rule), st.lists(st.integers(0, 3), min_size=1, max_size=6))


@EFFORT
@EVERY_RULE
def test_abstaining_changes_nothing_but_the_quorum(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], abstentions: int) -> None:
        without = decide(ballots, rule=rule)
        with_them = decide([*ballots, *[None] * abstentions], rule=rule, quorum=len(ballots) + 1)
        assert with_them.scores == without.scores
        assert with_them.cast == without.cast
        assert not with_them.quorum_met

    holds(effort, check, profiles(rule), st.integers(1, 3))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_a_float_is_read_as_a_simple_number_that_rounds_to_it(number: float) -> None:
    """So that different floats stay different, in the same order, and a printed float is the float."""
    found = exact(number)
    assert float(found) == number
    assert exact(str(number)) == exact(Decimal(str(number))) == found == -exact(-number)


@given(st.integers(1, 10**6).flatmap(lambda parts: st.tuples(st.integers(0, parts), st.just(parts))))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_a_share_computed_as_a_float_equals_the_exact_share(share: tuple[int, int]) -> None:
    part, parts = share
    assert exact(part / parts) == Fraction(part, parts)


@given(st.integers(-(10**12), 10**12), st.integers(0, 9))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_a_typed_decimal_is_read_exactly(digits: int, places: int) -> None:
    typed = Decimal(digits).scaleb(-places)
    assert exact(float(typed)) == Fraction(typed)


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_floats_keep_their_order(one: float, other: float) -> None:
    assert (exact(one) < exact(other)) == (one < other)


@EVERY_RULE
def test_without_votes_nobody_wins(rule: str) -> None:
    for options, ballots in product([None, ["a"], ["a", "b"]], [[], [None], [None, None], [{}], [object()]]):
        decision = decide(ballots, rule=rule, options=options)
        assert (decision.winners, decision.tied, decision.cast) == ((), (), 0), (options, ballots)
        assert [decision.is_tie, decision.passed, decision.is_unanimous] == [False] * 3, (options, ballots)


@EFFORT
@EVERY_RULE
def test_a_decision_is_consistent_in_itself(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot]) -> None:
        decision = decide(ballots, rule=rule, options=[*OPTIONS, "nobody's"])
        assert set(decision.winners) <= {*OPTIONS, "nobody's"}
        assert decision.is_tie == (len(decision.tied) > 1)
        assert set(decision.winners) in ((set(), set(decision.tied)) if decision.is_tie else (set(decision.winners),))
        assert decision.passed == (len(decision.winners) == 1) == (decision.winner is not None)
        assert decision.cast + len(decision.abstained) + len(decision.invalid) == len(ballots)
        assert set(decision.margins) in (set(), set(decision.scores))
        assert decision.why.endswith(".")
        assert Decision.from_json(decision.to_json()) == decision
        for option, margin in decision.margins.items():
            others = [score for other, score in decision.scores.items() if other != option]
            assert margin == pytest.approx(decision.scores[option] - max(others))

    holds(effort, check, profiles(rule))


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@EFFORT
@EVERY_RULE
def test_no_ballot_can_break_a_rule(rule: str, effort: int) -> None:
    def check(good: list[Ballot], bad: list[Ballot]) -> None:
        decision = decide([*good, *bad], rule=rule)
        assert decision.cast + len(decision.abstained) + len(decision.invalid) == len(good) + len(bad)

    holds(effort, check, profiles(rule, 3), st.lists(junk, max_size=4))


# ---------------------------------------------------------------- monotonicity


def raised(ballot: Ballot, winner: str) -> Ballot:
    """Return a ballot that puts the winner higher, and else is the same."""
    match ballot:
        case Ranking():
            others = (tuple(option for option in group if option != winner) for group in ballot.groups)
            return Ranking(((winner,), *(group for group in others if group)))
        case Approval():
            return Approval({*ballot.options, winner})
        case Scores():
            return Scores({**ballot.scores, winner: 5})
        case Points():
            return Points({**ballot.points, winner: Fraction(str(ballot.points.get(winner, 0))) + 1})
        case Choice():
            return Choice(winner, ballot.confidence, ballot.accuracy)
        case Distribution():
            return Distribution({**dict.fromkeys(ballot.probabilities, 0), winner: 1})
        case Prediction():
            return Prediction(winner, ballot.predicted)
        case Verdict():
            return Verdict(winner)
        case _:
            raise AssertionError(ballot)


MONOTONE = {
    **{rule: rankings() for rule in BALLOTS if BALLOTS[rule] is BALLOTS["plurality"] and rule not in ("irv", "coombs")},
    "approval": approvals,
    "score": full_grades,
    "median": full_grades,
    "star": full_grades,
    "cumulative": points,
    "confidence-weighted": confident,
    "reconcile": confident,
    "log-odds": accurate.filter(lambda ballot: ballot.accuracy > Fraction(1, 2)),  # type: ignore[union-attr, operator]
    "linear-pool": distributions,
    "log-pool": distributions,
    "soft-vote": distributions,
    "surprisingly-popular": predictions,
    "judge": verdicts,
    "judge-panel": verdicts,
}
"""Rules for which more support never hurts a winner, with ballots that have something to raise."""


def test_all_rules_but_three_are_monotone() -> None:
    assert set(BALLOTS) - set(MONOTONE) == {"irv", "coombs", "free-mad"}


@EFFORT
@pytest.mark.parametrize("rule", MONOTONE)
def test_more_support_never_hurts_a_winner(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot], place: int) -> None:
        before = decide(ballots, rule=rule, options=OPTIONS)
        for winner in before.winners:
            changed = list(ballots)
            changed[place % len(ballots)] = raised(ballots[place % len(ballots)], winner)
            after = decide(changed, rule=rule, options=OPTIONS)
            assert winner in after.winners
            assert after.passed >= before.passed

    holds(effort, check, st.lists(MONOTONE[rule], min_size=1, max_size=6), st.integers(0, 5))


def counted(*groups: tuple[int, str]) -> list[Ballot]:
    return [list(ranking) for count, ranking in groups for _ in range(count)]


def test_instant_runoff_can_punish_support() -> None:
    before = counted((6, "abc"), (2, "bac"), (4, "bca"), (5, "cab"))
    assert decide(before, rule="irv").winners == ("a",)
    after = counted((8, "abc"), (4, "bca"), (5, "cab"))
    assert decide(after, rule="irv").winners == ("c",)


def test_coombs_can_punish_support() -> None:
    before = counted((2, "bac"), (1, "abc"), (3, "bca"), (4, "cab"))
    assert decide(before, rule="coombs").winners == ("c",)
    after = counted((1, "abc"), (5, "bca"), (4, "cab"))
    assert decide(after, rule="coombs").winners == ("b",)


def test_free_mad_can_punish_support() -> None:
    """An answer's score is divided by its supporters, so that a late convert lowers it."""
    early, rival = Trajectory(("a", "a", "a", "a")), Trajectory(("d", "d", "d"))
    before: list[Ballot] = [early, rival, Trajectory(("b", "c", "b", "c"))]
    assert decide(before, rule="free-mad").winners == ("a",)
    after: list[Ballot] = [early, rival, Trajectory(("b", "c", "b", "a"))]
    assert decide(after, rule="free-mad").winners == ("d",)


# ---------------------------------------------------------------- Condorcet, majority, Pareto


@EFFORT
@pytest.mark.parametrize("rule", CONDORCET)
def test_an_option_that_beats_all_others_wins(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot]) -> None:
        profile = Electorate(ballots).read(order)
        margins = margins_of(pairwise_matrix(profile))
        winner = condorcet_winner(margins) if profile.votes else None
        if winner is not None:
            assert decide(ballots, rule=rule).winners == (profile.roll.options[winner],)

    holds(effort, check, profiles(rule))


MISSED = {
    "plurality": (counted((4, "abc"), (3, "bca"), (3, "cba")), "b", "a"),
    "borda": (counted((3, "abc"), (2, "bca")), "a", "b"),
    "dowdall": (counted((1, "cdab"), (1, "bdca"), (1, "adcb")), "d", "c"),
    "irv": (counted((2, "abc"), (1, "bac"), (2, "cba")), "b", "a"),
    "coombs": (
        counted(
            *((1, ranking) for ranking in ("dcab", "dbca", "dacb", "cbad", "bdca", "bdac", "badc", "bacd", "adcb"))
        ),
        "b",
        "d",
    ),
}
"""Ballots, the option that beats all others, and the one that the rule chooses."""


@pytest.mark.parametrize("rule", MISSED)
def test_positional_and_eliminating_rules_can_miss_the_condorcet_winner(rule: str) -> None:
    ballots, best, chosen = MISSED[rule]
    assert decide(ballots, rule="condorcet").winners == (best,)
    assert decide(ballots, rule=rule).winners == (chosen,)


@EFFORT
@pytest.mark.parametrize("rule", ["plurality", "majority", "irv", "coombs", *CONDORCET])
def test_an_option_that_more_than_half_put_first_wins(rule: str, effort: int) -> None:
    def check(ballots: list[Ballot]) -> None:
        decision = decide(ballots, rule="majority")
        if decision.passed:
            assert decide(ballots, rule=rule).winners == decision.winners

    holds(effort, check, st.lists(linear, min_size=1, max_size=5))


def test_scoring_rules_can_overrule_a_majority() -> None:
    ballots = counted((3, "abcd"), (2, "bcda"))
    assert decide(ballots, rule="majority").winners == ("a",)
    assert decide(ballots, rule="borda").winners == ("b",)
    graded: list[Ballot] = [{"a": 5, "b": 4}, {"a": 5, "b": 4}, {"a": 0, "b": 5}]
    assert decide(graded, rule="majority").winners == ("a",)
    assert decide(graded, rule="score").winners == ("b",)
    approved: list[Ballot] = [{"a", "b"}, {"a", "b"}, {"a"}, {"b"}, {"b"}]
    assert decide(approved, rule="approval").winners == ("b",)


@EFFORT
@pytest.mark.parametrize("rule", [*ON_RANKINGS, "score", "median", "star", "linear-pool", "log-pool", "cumulative"])
def test_an_option_that_every_voter_ranks_below_another_never_wins(rule: str, effort: int) -> None:
    grades: dict[str, st.SearchStrategy[Ballot]] = {
        **dict.fromkeys(ON_RANKINGS, linear),
        **dict.fromkeys(("score", "median", "star", "cumulative"), full_grades),
    }

    def better(ballot: Ballot, one: str, other: str) -> bool:
        read = Electorate([ballot]).read(order)
        places = {option: place for place, group in enumerate(read.votes[0].form) for option in group}
        return places.get(one, 9) < places.get(other, 9)

    def check(ballots: list[Ballot]) -> None:
        given = [Points(ballot.scores) for ballot in ballots] if rule == "cumulative" else ballots  # type: ignore[union-attr]
        winners = decide(given, rule=rule, **({"points": 20} if rule == "cumulative" else {})).winners
        for one in OPTIONS:
            for other in OPTIONS:
                if all(better(ballot, one, other) for ballot in ballots):
                    assert other not in winners

    holds(effort, check, st.lists(grades.get(rule, distributions), min_size=1, max_size=3))


def test_a_cycle_beats_nobody_and_the_resolving_rules_tie() -> None:
    cycle = counted((1, "abc"), (1, "bca"), (1, "cab"))
    assert decide(cycle, rule="condorcet").winners == ()
    for rule in CONDORCET[1:]:
        decision = decide(cycle, rule=rule)
        assert decision.winners == ("a", "b", "c")
        assert decision.is_tie
    assert "a > b > c > a" in decide(cycle, rule="schulze").why
