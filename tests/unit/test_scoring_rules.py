"""Every rule on small elections whose outcome was worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import pytest

from roundtable.errors import ConfigurationError
from roundtable.scoring import (
    Abstention,
    Approval,
    Ballot,
    Choice,
    Distribution,
    Outcome,
    Points,
    Prediction,
    Ranking,
    Rule,
    Scores,
    Trajectory,
    Verdict,
    decide,
    find_rule,
    first_places,
    kemeny_scores,
    rule_registry,
    schulze_paths,
    schulze_winners,
)
from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.outcome import Parameters
from roundtable.scoring.rules import ranked
from roundtable.scoring.rules.pools import reconcile_weight


def counted(*groups: tuple[int, str]) -> list[Ballot]:
    return [list(ranking) for count, ranking in groups for _ in range(count)]


TENNESSEE = counted((42, "mncx"), (26, "ncxm"), (15, "cxnm"), (17, "xcnm"))
"""The usual example of four cities: Memphis, Nashville, Chattanooga, Knoxville (x)."""


@pytest.mark.parametrize(
    ("rule", "winner"),
    [
        ("plurality", "m"),
        ("borda", "n"),
        ("irv", "x"),
        ("coombs", "n"),
        ("condorcet", "n"),
        ("copeland", "n"),
        ("schulze", "n"),
        ("ranked-pairs", "n"),
        ("kemeny-young", "n"),
    ],
)
def test_the_rules_give_the_expected_winners_for_the_four_cities(rule: str, winner: str) -> None:
    decision = decide(TENNESSEE, rule=rule)
    assert decision.winner == winner
    if rule == "borda":
        assert decision.scores == {"m": 126, "n": 194, "c": 173, "x": 107}
    if rule == "irv":
        assert [dict(count) for count in decision.rounds] == [
            {"m": 42, "n": 26, "c": 15, "x": 17},
            {"m": 42, "n": 26, "x": 32},
            {"m": 42, "x": 58},
        ]
        assert decision.scores == {"m": 42, "n": 26, "c": 15, "x": 58}
        assert decision.why == "x wins: count 1 drops c, count 2 drops n, count 3 leaves a majority."
    if rule == "copeland":
        assert decision.scores == {"m": -3, "n": 3, "c": 1, "x": -1}
        assert decision.pairwise["n"] == {"m": 58, "c": 68, "x": 68}


@pytest.mark.parametrize(
    ("q", "passed"),
    [("2/3", True), (2 / 3, True), (0.66, True), ("0.6667", False), (Fraction(2, 3), True), (1, False), (0, True)],
)
def test_a_supermajority_is_compared_exactly(q: str | float | Fraction, passed: bool) -> None:
    assert decide(["a", "a", "b"], rule="supermajority", q=q).passed == passed
    assert decide(["a", "a", "b"], rule=f"supermajority({q})").passed == passed


def test_a_supermajority_needs_two_thirds_unless_told_otherwise() -> None:
    assert decide(["a", "a", "b"], rule="supermajority").passed
    decision = decide(["a"] * 666 + ["b"] * 334, rule="supermajority")
    assert not decision.passed
    assert decision.parameters == {"q": "2/3", "of": "cast"}
    assert decision.why == "no decision: a leads with 666 of 1000 votes (66.6 %), not at least 2/3."
    with pytest.raises(ConfigurationError, match="q of the rule 'supermajority' must lie in"):
        decide([], rule="supermajority", q=66)


def test_a_share_can_be_taken_of_all_seats() -> None:
    ballots: list[Ballot] = ["a", "a", None, Scores({"a": "bad"})]  # type: ignore[dict-item]  # on purpose
    assert decide(ballots, rule="majority").passed
    decision = decide(ballots, rule="majority", of="seats")
    assert (decision.winner, decision.parameters) == (None, {"of": "seats"})
    assert decision.why.startswith("no decision: a leads with 2 of 4 seats (50 %), not more than half; 1 abstained;")
    assert decide(["a", "a", None], rule="majority(seats)").why == (
        "a wins: 2 of 3 seats (66.7 %), more than half; 1 abstained."
    )
    assert decide(["a"] * 5 + [None], rule="supermajority", q=5 / 6, of="seats").passed
    assert not decide(["a"] * 4 + [None], rule="supermajority", q=5 / 6, of="seats").passed
    assert not decide(["a", None], rule="unanimity", of="seats").passed
    assert not decide(["a", "a", "a", None], rule="hybrid", of="seats").passed
    assert not decide([Verdict("a"), None], rule="judge-panel", of="seats").passed
    assert decide(["a", None], rule="majority", of="seats", weights=[3, 2]).passed
    assert decide([None, None], rule="majority", of="seats").why == "no decision: nobody voted; 2 abstained."
    with pytest.raises(ConfigurationError, match="the rule 'majority' takes of='cast' or of='seats', not 'all'"):
        decide(["a"], rule="majority", of="all")


def test_scores_can_be_summed() -> None:
    ballots: list[Ballot] = [{"a": 5}, {"b": 4}, {"b": 3}]
    assert decide(ballots, rule="score").winner == "a"
    decision = decide(ballots, rule="score", by="sum")
    assert (decision.winner, decision.scores) == ("b", {"a": 5, "b": 7})
    assert decision.why == "b wins: sum of grades 7."
    assert decide([{"a": "1/3"}] * 3, rule="score", by="sum").scores == {"a": 1}
    assert decide(ballots, rule="score(by=sum)", weights=[2, 1, 1], options=["a", "b", "c"]).scores == {"a": 10, "b": 7}
    with pytest.raises(ConfigurationError, match="the rule 'score' takes by='mean' or by='sum', not 'median'"):
        decide(ballots, rule="score", by="median")


@pytest.mark.parametrize("rule", ["score", "median", "star"])
@pytest.mark.parametrize(("low", "high"), [(5, 0), (3, 3)])
def test_a_scale_has_to_rise(rule: str, low: int, high: int) -> None:
    with pytest.raises(ConfigurationError, match=f"rule '{rule}' must rise from low to high, not from {low} to {high}"):
        decide([{"a": 5}, {"b": 4}], rule=rule, low=low, high=high)


def test_points_can_be_required_to_be_spent_completely() -> None:
    ballots: list[Ballot] = [{"a": 6, "b": 4}, {"b": 9}, {"a": "10/3", "b": "20/3"}, {"a": 11}, {"a": 0}, {}]
    decision = decide(ballots, rule="cumulative", spend="exactly")
    assert decision.cast == 2
    assert decision.invalid == {
        1: "it spends 9 of 10 points, but all must be spent",
        3: "it spends 11 of 10 points",
        4: "it spends 0 of 10 points, but all must be spent",
    }
    assert decision.abstained == (5,)
    with pytest.raises(ConfigurationError, match="takes spend='at-most' or spend='exactly'"):
        decide(ballots, rule="cumulative", spend="all")


@pytest.mark.parametrize("rule", ["schulze", "ranked-pairs"])
def test_head_to_head_wins_can_be_weighed_by_the_votes_of_the_winner(rule: str) -> None:
    """a beats c by 5 to 4, c beats b by 4 to 2, b beats a by 6 to 3: the weakest is 5:4 by margin, 4:2 by votes."""
    ballots = counted((3, "a"), (2, "bac"), (4, "cba"))
    assert decide(ballots, rule=rule).winner == decide(ballots, rule=f"{rule}(margins)").winner == "c"
    decision = decide(ballots, rule=rule, strength="winning-votes")
    assert (decision.winner, decision.parameters) == ("b", {"strength": "winning-votes"})
    assert decision.pairwise == decide(ballots, rule=rule).pairwise
    assert "a > c > b > a" in decision.why
    assert decide(ballots, rule=rule, strength="winning-votes", weights=["1/7"] * 9).winner == "b"
    level = decide([["a"], ["b"]], rule=rule, strength="winning-votes")
    assert (level.is_tie, level.winners) == (True, ("a", "b"))
    with pytest.raises(ConfigurationError, match="takes strength='margins' or strength='winning-votes', not 'ratio'"):
        decide(ballots, rule=rule, strength="ratio")


def test_unanimity_counts_only_cast_votes() -> None:
    assert decide(["a", "a", None], rule="unanimity").passed
    assert not decide(["a", "a", "b"], rule="unanimity").passed
    assert not decide(["a", None, None, None], rule="unanimity", quorum=2).passed
    assert decide(["a", "b"], rule="unanimity").is_tie


def test_the_hybrid_rule_needs_less_agreement_after_some_turns() -> None:
    most = ["a", "a", "a", "b"]
    assert not decide(most, rule="hybrid").passed
    assert not decide(most, rule="hybrid", turn=5).passed
    late = decide(most, rule="hybrid", turn=6)
    assert late.passed
    assert late.why == "a wins: 3 of 4 votes (75 %), at least 3/4 (from turn 6 on)."
    assert "all of them (required until turn 5)" in decide(most, rule="hybrid", turn=5).why
    assert decide(["a"] * 4, rule="hybrid").why == (
        "a wins: 4 of 4 votes (100 %), all of them (required until turn 5)."
    )
    few = decide(["a", "a", "b"], rule="hybrid", turn=6, q=0.5)
    assert not few.passed
    assert "all of them (required for at most 3 voters)" in few.why
    assert decide(["a", "a", "b"], rule="hybrid", turn=6, q=0.5, small=2).passed
    with pytest.raises(ConfigurationError, match="turn of the rule 'hybrid' must be a whole number of at least 1"):
        decide(most, rule="hybrid", turn=0)
    with pytest.raises(ConfigurationError, match="must be a whole number"):
        decide(most, rule="hybrid", turn="1.5")


def test_the_random_dictator_draws_by_share_and_seed() -> None:
    ballots = ["a"] * 3 + ["b"]
    drawn = [decide(ballots, rule="random-dictator", seed=seed).winner for seed in range(400)]
    assert 0.65 < drawn.count("a") / 400 < 0.85
    assert set(drawn) == {"a", "b"}
    assert drawn == [decide(ballots[::-1], rule="lottery", seed=seed).winner for seed in range(400)]
    assert decide(["a"], rule="random-dictator").why == "a wins: drawn at random with seed 0, for 1 vote, the only one."
    assert decide([], rule="random-dictator").why == "no decision: nobody voted."


def test_approval_counts_every_approved_option() -> None:
    decision = decide([{"a", "b"}, {"b"}, Approval(["A", "c"]), "b", Choice("c")], rule="approval")
    assert decision.scores == {"A": 2, "b": 3, "c": 2}
    assert decision.winner == "b"
    assert decision.why == "b wins: 3 of 5 approvals (60 %)."


def test_nobody_approved_is_no_decision() -> None:
    decision = decide([set(), set()], rule="approval", options=["a", "b"])
    assert (decision.winners, decision.is_tie, decision.cast) == ((), False, 2)
    assert decision.why == "no decision: no option has any approvals."
    assert decide([["a", "b"]], rule="approval").invalid == {0: "it does not say which options it approves; use a set"}
    assert decide([None, Choice(None)], rule="approval").abstained == (0, 1)


def test_score_is_the_mean_of_those_who_scored() -> None:
    decision = decide([{"a": 5, "b": 3}, {"b": 4}, {"a": 0}], rule="score")
    assert decision.scores == {"a": 2.5, "b": 3.5}
    assert decision.why == "b wins: mean grade 3.5."
    assert decide([{"a": 1}, {"b": 1}], rule="score", weights=[5, 1]).is_tie
    assert decide([{"a": 1}, {"a": 4}], rule="range", weights=[2, 1]).scores == {"a": 2}
    assert decide([{}, None], rule="score").why == "no decision: nobody graded an option; 2 abstained."
    assert decide(["a"], rule="score").invalid == {0: "it has no number for each option; use a dict"}


def test_grades_off_the_scale_are_named() -> None:
    ballots: list[Ballot] = [{"a": 0}, {"a": 5}, {"a": 5.01}, {"a": "-0.1"}]
    decision = decide(ballots, rule="score", low=0, high=5)
    assert decision.invalid == {2: "the grade 5.01 is off the scale", 3: "the grade -0.1 is off the scale"}
    assert decide(ballots, rule="score", low=0).cast == 3
    assert decide(ballots, rule="score", high=5).cast == 3
    assert decide(ballots, rule="score").cast == 4


def grades_of(**columns: list[float]) -> list[Ballot]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_median_is_the_lower_one_and_ties_look_around_it() -> None:
    assert decide(grades_of(a=[1, 2, 3, 4]), rule="median").scores == {"a": 2}
    assert decide(grades_of(a=[1, 3, 5], b=[2, 2, 5]), rule="median").winner == "a"
    below = decide(grades_of(a=[2, 3, 4], b=[1, 3, 5]), rule="median")
    assert below.winner == "a"
    assert below.why == "a wins: median grade 3, the same as b, with better grades around the median."
    assert decide(grades_of(a=[2, 3, 4], b=[2, 3, 5]), rule="median").winner == "b"
    assert decide(grades_of(a=[2, 3], b=[2, 4]), rule="median").winner == "b"
    assert decide(grades_of(a=[2, 3, 4], b=[4, 3, 2]), rule="majority_judgment").is_tie
    assert decide([{"a": 3}, {"a": 3, "b": 3}, {"b": 3}, {"b": 3}], rule="median").is_tie
    assert decide([{"a": 1}, {"a": 2}], rule="median", weights=[1, 3]).scores == {"a": 2}
    assert decide([], rule="median").why == "no decision: nobody graded an option."


def brute_median(grades: list[int]) -> list[int]:
    """Take the lower median away, again and again."""
    left, value = sorted(grades), []
    while left:
        value.append(left.pop((len(left) - 1) // 2))
    return value


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_median_rule_is_iterated_removal(size: int) -> None:
    from itertools import combinations_with_replacement

    columns = list(combinations_with_replacement(range(3), size))
    for one in columns:
        for other in columns:
            winners = decide(grades_of(a=list(one), b=list(other)), rule="median").winners
            mine, yours = brute_median(list(one)), brute_median(list(other))
            assert winners == (("a", "b") if mine == yours else ("a",) if mine > yours else ("b",))


def test_star_has_a_run_off_between_the_two_best() -> None:
    decision = decide(grades_of(a=[5, 5, 0], b=[4, 4, 4], c=[0, 0, 5]), rule="star")
    assert decision.scores == {"a": 10, "b": 12, "c": 5}
    assert decision.winner == "a"
    assert [dict(count) for count in decision.rounds] == [{"a": 10, "b": 12, "c": 5}, {"b": 1, "a": 2}]
    assert decision.why == "a wins: run-off of the highest totals: b 1, a 2."


def test_star_resolves_ties_as_documented() -> None:
    level = decide(grades_of(a=[5, 0], b=[3, 1]), rule="star")
    assert level.winner == "a"
    assert level.why == "a wins: run-off of the highest totals: a 1, b 1, level, so the higher total counts."
    assert decide(grades_of(a=[5, 0], b=[0, 5]), rule="star").is_tie
    three = decide(grades_of(a=[3, 0, 1], b=[1, 3, 0], c=[0, 1, 3]), rule="star")
    assert three.winners == ("a", "b", "c")
    assert "one of 3 possible run-offs, as totals are equal" in three.why
    second = decide(grades_of(a=[5, 5, 1], b=[2, 0, 3], c=[0, 2, 3]), rule="star")
    assert second.winner == "a"
    assert "one of 2" in second.why
    assert decide([{"a": 0}], rule="star").why == "a wins: the only option."
    assert decide([], rule="star").why == "no decision: nobody graded an option."
    assert decide([None], rule="star", options=["a"]).why == "no decision: nobody graded an option; 1 abstained."
    assert decide([{"a": 1}, {"b": 2}], rule="star").winner == "b"


def test_cumulative_points_share_one_budget() -> None:
    ballots: list[Ballot] = [{"a": 6, "b": 4}, Points({"b": 10}), {"a": 11}, {"a": 3}, {"a": -1}, "a"]
    decision = decide(ballots, rule="cumulative")
    assert decision.scores == {"a": 9, "b": 14}
    assert decision.invalid == {
        2: "it spends 11 of 10 points",
        4: "it gives an option fewer than 0 points",
        5: "it has no number for each option; use a dict",
    }
    assert decide(ballots, rule="cumulative", points=11).cast == 4
    assert decide([{"a": 0}], rule="cumulative").why == "no decision: nobody gave any points."
    assert decide([{}], rule="cumulative").abstained == (0,)


def test_borda_shares_places() -> None:
    assert decide([["a", ["b", "c"], "d"]], rule="borda").scores == {"a": 3, "b": 1.5, "c": 1.5, "d": 0}
    unranked = decide([["a"], ["b", "c", "d", "a"]], rule="borda")
    assert unranked.scores == {"a": 3, "b": 4, "c": 3, "d": 2}
    assert unranked.why == "b wins: 4 points from 2 votes."
    assert decide(["a", "b"], rule="borda").why == "tie between a and b: 1 point from 2 votes each."
    assert decide([], rule="borda").why == "no decision: nobody voted."


def test_dowdall_gives_unranked_options_nothing() -> None:
    decision = decide([["a", "b"], ["a", ["b", "c"]]], rule="dowdall", options=["a", "b", "c", "d"])
    assert decision.scores == pytest.approx({"a": 2, "b": 1 / 2 + 5 / 12, "c": 5 / 12, "d": 0})


def test_elimination_ties_are_followed_on_all_paths() -> None:
    ballots = counted((2, "abc"), (1, "bca"), (1, "cba"))
    assert decide(ballots, rule="irv").winners == ("a", "b", "c")
    assert decide(["a", "b"], rule="irv").why == (
        "tie between a and b: count 1 drops b, the order in which tied options are dropped decides between them."
    )
    dropped = decide(["a", "a", "a", "b", "c"], rule="irv")
    assert dropped.winner == "a"
    batch = decide(counted((4, "ax"), (3, "bx"), (1, "ca"), (1, "db")), rule="irv")
    assert [set(count) for count in batch.rounds] == [set("abcdx"), set("abcd"), set("ab")]
    assert batch.winner == "a"


def test_exhausted_ballots_stop_counting() -> None:
    assert decide(counted((3, "a"), (3, "b"), (1, "cb")), rule="irv").winner == "b"
    decision = decide(counted((3, "a"), (2, "b"), (1, "c")), rule="irv")
    assert decision.winner == "a"
    assert decision.rounds == ({"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 2})
    assert decide([["a"], ["b"], ["c"]], rule="irv").is_tie
    assert decide([["a"]], rule="irv", options=["a", "b", "c"]).winner == "a"


def test_too_many_tied_paths_give_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "MOST_ELIMINATION_STATES", 10)
    decision = decide(["a", "b", "c", "d"], rule="irv")
    assert decision.winners == ()
    assert decision.why == "no decision: ties can be broken in too many ways to count them all: undecided."
    assert decision.scores == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert decide(["a", "b", "c"], rule="irv").is_tie


def test_coombs_drops_the_most_disliked_and_stops_at_a_majority() -> None:
    assert decide(counted((3, "abc"), (2, "cba")), rule="coombs").rounds == ({"a": 3, "b": 0, "c": 2},)
    decision = decide(counted((2, "abc"), (2, "cab"), (2, "bca"), (1, "bac")), rule="coombs")
    assert [set(count) for count in decision.rounds] == [set("abc"), set("ab")]
    shared = decide([["a"], ["b", "a"], [["a", "b"], "c"]], rule="coombs")
    assert shared.winners == ("a", "b")
    assert shared.rounds[:2] == ({"a": 1.5, "b": 1.5, "c": 0}, {"a": 1.5, "b": 1.5})
    assert decide([], rule="coombs").why == "no decision: nobody voted."


def test_condorcet_says_why_there_is_no_winner() -> None:
    cycle = decide(counted((1, "abc"), (1, "bca"), (1, "cab")), rule="condorcet")
    assert cycle.why == "no decision: no option beats all others head to head: a > b > c > a."
    assert cycle.scores == {"a": 1, "b": 1, "c": 1}
    level = decide(["a", "b"], rule="condorcet")
    assert level.why == "no decision: no option beats all others head to head, and a and b lose to none."
    assert decide([], rule="condorcet").why == "no decision: nobody voted."
    longer = decide(counted((3, "abcd"), (3, "bcda"), (3, "cdab"), (3, "dabc")), rule="condorcet")
    assert "a > b > c > d > a" in longer.why


def test_copeland_counts_wins_less_losses() -> None:
    decision = decide(counted((2, "abc"), (1, "cab"), (1, "bca")), rule="copeland")
    assert decision.scores == {"a": 1, "b": 0, "c": -1}
    assert decision.winner == "a"
    assert "head-to-head wins minus losses: +1" in decision.why


SCHULZE_45 = counted(
    (5, "acbed"), (5, "adecb"), (8, "bedac"), (3, "cabed"), (7, "caebd"), (2, "cbade"), (7, "dceba"), (8, "ebadc")
)
"""The example of 45 voters in Schulze's paper."""


def test_schulze_follows_the_strongest_paths() -> None:
    decision = decide(SCHULZE_45, rule="schulze")
    assert decision.winner == "e"
    assert decision.scores == {"a": 3, "b": 1, "c": 2, "d": 0, "e": 4}
    assert decision.why.endswith("the strongest paths put one option first.")
    assert decide(SCHULZE_45, rule="ranked pairs").winner == "a"
    assert decide(SCHULZE_45, rule="beatpath").rule == "schulze"


def test_schulze_paths_are_computed_from_a_matrix() -> None:
    assert schulze_paths([[0, 3, 0], [1, 0, 5], [4, 0, 0]]) == [[0, 1, 1], [2, 0, 3], [2, 1, 0]]
    assert schulze_winners([[0, 3, 0], [1, 0, 5], [4, 0, 0]]) == [1]
    assert schulze_winners([[0, 1], [1, 0]]) == [0, 1]
    assert schulze_winners([]) == []


def test_ranked_pairs_tries_all_orders_of_equal_margins() -> None:
    cycle = decide(counted((1, "abc"), (1, "bca"), (1, "cab")), rule="ranked-pairs")
    assert cycle.winners == ("a", "b", "c")
    assert cycle.scores == {"a": 1, "b": 1, "c": 1}
    between = "locking the widest margins first, the order of equal margins decides between them."
    assert cycle.why.endswith(between)
    assert decide([["a", "b"], ["b", "a"]], rule="ranked-pairs").why.endswith(between)
    single = decide(counted((4, "abc"), (3, "bca"), (2, "cab")), rule="ranked-pairs")
    assert single.winner == "a"
    assert single.scores == {"a": 1, "b": 0, "c": 0}
    assert single.why.endswith("locking the widest margins first, it stays unbeaten.")
    assert decide(["a", "b"], rule="tideman").is_tie


def test_ranked_pairs_says_when_there_are_too_many_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = [list(row) for row in ("bacde", "debac", "cbdea", "cdabe", "dabce")]
    assert decide(hard, rule="ranked-pairs").winners == ("b", "c", "d")
    monkeypatch.setattr(ranked, "MOST_STATES", 1)
    decision = decide(hard, rule="ranked-pairs")
    assert decision.winners == ()
    assert decision.why.endswith("too many orders to try them all: undecided.")


def test_kemeny_maximises_shared_preferences() -> None:
    decision = decide(TENNESSEE, rule="kemeny")
    assert decision.scores["n"] == 393
    assert decision.why == "n wins: the best ranking that puts it first shares 393 of 600 pairwise preferences."
    assert kemeny_scores([]) == []
    level = decide(["a", "b"], rule="kemeny")
    assert (
        level.why
        == "tie between a and b: for each, the best ranking that puts it first shares 1 of 2 pairwise preferences."
    )
    assert decide([], rule="kemeny").why == "no decision: nobody voted."
    many = decide([f"o{number}" for number in range(13)], rule="kemeny")
    assert many.why == "no decision: exact for at most 12 options, and there are 13: undecided."
    assert len(many.pairwise) == 13
    assert decide([f"o{number}" for number in range(12)], rule="kemeny").is_tie


def test_confidence_weighs_votes() -> None:
    ballots: list[Ballot] = [Choice("a", 0.9), Choice("b", 0.5), Choice("b", "0.3"), "b", Choice("a"), Choice(None)]
    decision = decide(ballots, rule="confidence-weighted")
    assert decision.winner == "a"
    assert decision.scores == {"a": 0.9, "b": 0.8}
    assert decision.invalid == {3: "it reports no confidence", 4: "it reports no confidence"}
    assert decision.abstained == (5,)
    assert decision.why.startswith("a wins: 0.9 of 1.7 weight (52.9 %)")
    assert decide([Choice("a", 0)], rule="confidence").why == "no decision: all weights are 0."
    assert decide(["a"], rule="confidence").why.startswith("no decision: nobody voted with a confidence; 1 ballot")
    assert decide([Choice("a", 1.1)], rule="confidence").invalid == {0: "its confidence must lie in [0, 1], not be 1.1"}
    assert decide([Choice("a", "high")], rule="confidence").invalid == {0: "its confidence is not a number: 'high'"}


@pytest.mark.parametrize(
    ("confidence", "weight"),
    [
        ("0", "0.1"),
        ("0.6", "0.1"),
        ("0.600001", "0.3"),
        ("0.799999", "0.3"),
        ("0.8", "0.5"),
        ("0.899999", "0.5"),
        ("0.9", "0.8"),
        ("0.999999", "0.8"),
        ("1", "1"),
    ],
)
def test_the_steps_of_reconcile_are_applied(confidence: str, weight: str) -> None:
    assert reconcile_weight(Fraction(confidence)) == Fraction(weight)
    assert decide([Choice("a", confidence)], rule="reconcile").scores == {"a": float(weight)}


@pytest.mark.parametrize("order", list(permutations(["0.4", "0.6", "0.25", "0.75"])))
def test_odds_that_cancel_out_sum_to_zero_in_any_order(order: tuple[str, ...]) -> None:
    ballots = [Choice("a", accuracy=0.9), *(Choice("b", accuracy=Fraction(number)) for number in order)]
    assert decide(ballots, rule="log-odds").scores["b"] == 0.0


def test_log_odds_weigh_by_accuracy() -> None:
    ballots: list[Ballot] = [Choice("a", accuracy=0.9), Choice("b", accuracy=0.7), Choice("b", accuracy=0.7)]
    decision = decide(ballots, rule="log-odds")
    assert decision.winner == "a"
    assert decision.scores == pytest.approx({"a": 2.1972245773362196, "b": 1.6945957207744073})
    assert decision.why == "a wins: log-odds 2.19722."
    exact: list[Ballot] = [Choice("a", accuracy="4/5"), Choice("b", accuracy="2/3"), Choice("b", accuracy="2/3")]
    assert decide(exact, rule="log-odds").is_tie
    assert decide([Choice("a", accuracy=0.3)], rule="log-odds", options=["a", "b"]).winner == "b"
    assert decide([Choice("a", accuracy=0.5)], rule="log-odds").why == "no decision: all weights are 0."
    unknown = decide(["a", Choice("a"), Choice("a", accuracy=1), Choice("a", accuracy=0), None], rule="log-odds")
    assert unknown.invalid == {
        0: "its voter's accuracy is not known",
        1: "its voter's accuracy is not known",
        2: "its voter's accuracy must lie strictly between 0 and 1, not be 1",
        3: "its voter's accuracy must lie strictly between 0 and 1, not be 0",
    }
    assert unknown.abstained == (4,)
    assert unknown.why.startswith("no decision: nobody with a known accuracy voted;")


def test_the_linear_pool_is_the_mean() -> None:
    ballots: list[Ballot] = [{"a": 0.9, "b": 0.1}, Distribution({"b": 1}), {"a": "0.5", "b": "0.5"}]
    decision = decide(ballots, rule="linear-pool")
    assert decision.scores == pytest.approx({"a": 1.4 / 3, "b": 1.6 / 3})
    assert decision.winner == "b"
    assert decision.why == "b wins: pooled probability 0.533333."
    assert decide(ballots, rule="linear-pool", weights=[2, 1, 1]).winner == "a"
    assert decide([], rule="linear-pool").why == "no decision: nobody gave a distribution."
    assert decide([{}, None], rule="linear-pool").abstained == (0, 1)


@pytest.mark.parametrize(
    ("ballot", "reason"),
    [
        ({"a": 0.5, "b": 0.3}, "its shares must be at least 0 and sum to 1, not to 0.8"),
        ({"a": 1.5, "b": -0.5}, "its shares must be at least 0 and sum to 1, not to 1"),
        ({"a": 60, "b": 40}, "its shares must be at least 0 and sum to 1, not to 100"),
        ({"a": 1.021}, "its shares must be at least 0 and sum to 1, not to 1.021"),
        ("a", "it has no probability for each option; use a dict"),
    ],
)
def test_an_invalid_distribution_is_named(ballot: Ballot, reason: str) -> None:
    assert decide([ballot], rule="linear-pool").invalid == {0: reason}


def test_rounded_distributions_are_normed() -> None:
    assert decide([{"a": 0.33, "b": 0.33, "c": 0.33}], rule="linear-pool").scores["a"] == pytest.approx(1 / 3)
    assert decide([{"a": 1.02}], rule="linear-pool").scores == {"a": 1.0}


def test_the_log_pool_is_the_geometric_mean() -> None:
    ballots: list[Ballot] = [{"a": 0.9, "b": 0.1}, {"a": 0.5, "b": 0.5}]
    decision = decide(ballots, rule="log-pool")
    assert decision.scores == pytest.approx({"a": 0.75, "b": 0.25})
    vetoed = decide([{"a": 0.9, "b": 0.1}, {"b": 1}], rule="log-pool")
    assert vetoed.winner == "b"
    assert vetoed.scores == {"a": 0.0, "b": 1.0}
    nobody = decide([{"a": 1}, {"b": 1}], rule="log-pool")
    assert nobody.why == "no decision: every option is ruled out by somebody."
    assert nobody.scores == {"a": 0.0, "b": 0.0}
    assert decide([], rule="log-pool").why == "no decision: nobody gave a distribution."
    assert decide([{"a": 0.2, "b": 0.8}, {"a": 0.8, "b": 0.2}], rule="log-pool").is_tie
    assert decide([{"a": 0.2, "b": 0.8}, {"a": 0.7, "b": 0.3}], rule="log-pool", weights=[1, 3]).winner == "a"


def test_the_soft_vote_distributes_the_remaining_confidence_of_a_voter() -> None:
    decision = decide([Choice("a", 0.6), Choice("b", 0.8), {"c": 1}], rule="soft-vote")
    assert decision.scores == pytest.approx({"a": 0.7 / 3, "b": 1.0 / 3, "c": 1.3 / 3})
    assert decide([Choice("a", 0.4)], rule="soft-vote").scores == {"a": 1.0}
    assert decide([Choice("a"), Choice("a", 2), Choice(None)], rule="soft-vote").invalid == {
        0: "it reports no confidence",
        1: "its confidence must lie in [0, 1], not be 2",
    }


def test_the_surprisingly_popular_answer_wins() -> None:
    ballots: list[Ballot] = [Prediction("yes", {"yes": 0.9, "no": 0.1})] * 3 + [
        Prediction("no", {"yes": 0.8, "no": 0.2}),
        Prediction("no", {"yes": 0.9, "no": 0.1}),
    ]
    decision = decide(ballots, rule="surprisingly-popular")
    assert decision.winner == "no"
    assert decision.scores == pytest.approx({"no": 0.4 - 0.12, "yes": 0.6 - 0.88})
    assert decision.why == "no wins: share of votes minus predicted share +0.28."
    level = decide([Prediction("a", {"a": 1})], rule="surprisingly-popular", options=["a", "b"])
    assert level.winners == ("a",)
    bare = decide(["a", None], rule="surprisingly-popular")
    assert bare.invalid == {0: "it does not predict the others' votes"}
    assert bare.why.startswith("no decision: nobody voted with a prediction; 1 abstained")


def test_free_mad_scores_paths() -> None:
    ballots: list[Ballot] = [Trajectory(("a", "a")), ["b", "a"], ("b", None, "b"), "b", [None], {"a": 1}, [1]]  # type: ignore[list-item]
    decision = decide(ballots, rule="free-mad")
    # a: 20 + 20/2 + 30/2 over two supporters; b: 20 - 25/2 + 20 + 20/3 + 20 over three.
    assert decision.scores == pytest.approx({"a": 45 / 2, "b": (20 - 12.5 + 20 + 20 / 3 + 20) / 3})
    assert decision.winner == "a"
    assert decision.abstained == (4,)
    assert decision.invalid == {
        5: "it is not a list with one answer per round",
        6: "1 is not the name of an option",
    }
    assert decide([["b", "a"]], rule="free-mad", leave=0, adopt=40).scores == {"a": 20, "b": 20}
    assert decide([None], rule="free-mad", options=["a"]).why.startswith("no decision: nobody answered")
    assert decide([["a"]], rule="free-mad", options=["a", "b"]).scores == {"a": 20}


def test_a_judge_decides_alone_and_several_verdicts_must_agree() -> None:
    assert decide([Verdict("a")], rule="judge").winner == "a"
    assert decide(["a", Choice("a")], rule="judge").winner == "a"
    assert not decide(["a", "a", "b"], rule="judge").passed
    assert decide(["a", "a", "b"], rule="judge-panel").winner == "a"
    assert decide(["a", "b"], rule="jury").is_tie
    assert decide([Verdict(None), Choice(None)], rule="judge").abstained == (0, 1)
    assert decide([["a"]], rule="judge").invalid == {0: "it is not a verdict"}


def test_a_verdict_that_changes_with_the_order_does_not_count() -> None:
    decision = decide([Verdict("a", swapped="b"), Verdict("a", swapped="A.")], rule="judge-panel")
    assert decision.invalid == {0: "the verdict changes with the order in which the options are shown"}
    assert decision.mapping == {"A.": "A.", "a": "A."}
    assert decision.winner == "A."


def test_a_verdict_for_the_model_family_of_the_judge_does_not_count() -> None:
    verdicts: list[Ballot] = [Verdict("a", own=["a"]), Verdict("b", own={"A"}), Verdict("b")]
    decision = decide(verdicts, rule="judge-panel")
    assert decision.invalid == {0: "the judge chose an option of its own family"}
    assert decision.cast == 2
    recused = decide(verdicts, rule="judge-panel", recuse="judge")
    assert set(recused.invalid.values()) == {"the judge's own family wrote one of the options"}
    assert recused.cast == 1
    with pytest.raises(ConfigurationError, match="the rule 'judge' takes recuse='vote' or recuse='judge', not 'never'"):
        decide([], rule="judge", recuse="never")
    with pytest.raises(ConfigurationError, match="takes "):
        decide([], rule="judge", recuse=1)


def test_rules_take_parameters_in_brackets() -> None:
    rule, parameters = find_rule("Hybrid (6, turns=5, q=1/2)")
    assert (rule.name, parameters) == ("hybrid", {"turn": "6", "turns": "5", "q": "1/2"})
    assert decide(["a"] * 3 + ["b"] * 3 + ["a"], rule="hybrid(6, q=1/2)").winner == "a"
    assert decide(["a"], rule="plurality()").winner == "a"
    with pytest.raises(ConfigurationError, match="the rule 'plurality' has 0 parameters, not 1"):
        find_rule("plurality(3)")
    with pytest.raises(ConfigurationError, match="has no parameter 'p'"):
        decide(["a"], rule="supermajority(p=1)")
    with pytest.raises(ConfigurationError, match="unknown rule 'nothing'"):
        find_rule("nothing(1)")
    for twice in ("supermajority(q=1/2, q=3/4)", "supermajority(3/4, q=1/2)"):
        with pytest.raises(ConfigurationError, match="gets its parameter 'q' twice"):
            find_rule(twice)


def test_ties_in_places_work_with_a_ranking_of_one_group() -> None:
    assert decide([Ranking([{"a", "b"}])], rule="schulze").is_tie


def test_a_judge_who_abstains_gives_no_verdict() -> None:
    decision = decide(["a", None, Verdict(None), Abstention()], rule="judge")
    assert (decision.winner, decision.abstained) == ("a", (1, 2, 3))


def test_a_voter_who_grades_both_finalists_alike_does_not_count_in_the_run_off() -> None:
    decision = decide([{"a": 5, "b": 5}, {"a": 1, "b": 0}, {"a": 2, "b": 2}], rule="star")
    assert decision.winner == "a"
    assert decision.rounds[-1] == {"a": 1, "b": 0}


def test_half_a_panel_of_judges_is_not_more_than_half() -> None:
    decision = decide(["a", "a", "b", "c"], rule="judge-panel")
    assert (decision.winners, decision.is_tie) == ((), False)
    assert decide(["a", "a", "b"], rule="judge-panel").winner == "a"


def test_two_options_can_tie_by_their_strongest_paths() -> None:
    decision = decide([["a", "b", "c"], ["b", "a", "c"]], rule="schulze")
    assert decision.winners == ("a", "b")
    assert decision.why.endswith("the strongest paths leave them level.")


def with_margins(margins: Sequence[Sequence[int]]) -> list[Ballot]:
    """Return rankings with twice these margins (McGarvey 1953): two for each pair, equal in all else."""
    names = "abcdefgh"[: len(margins)]
    ballots: list[Ballot] = []
    for one, row in enumerate(margins):
        for other, margin in enumerate(row):
            rest = [name for name in names if name not in {names[one], names[other]}]
            pair = [names[one], names[other]]
            ballots += [[*pair, *rest], [*reversed(rest), *pair]] * max(margin, 0)
    return ballots


@pytest.mark.parametrize(
    "margins",
    [
        pytest.param([[0, -2, -1, 1], [2, 0, -2, -2], [1, 2, 0, -1], [-1, 2, 1, 0]], id="a beaten option"),
        pytest.param([[0, 1, 1, -2], [-1, 0, -1, 2], [-1, 1, 0, 2], [2, -2, -2, 0]], id="a beaten favourite"),
    ],
)
def test_ranked_pairs_tries_the_orders_of_equal_margins_without_a_shortcut(margins: list[list[int]]) -> None:
    edges = [(m, i, j) for i, row in enumerate(margins) for j, m in enumerate(row) if m > 0]
    winners = set()
    for order in permutations(edges):
        if [edge[0] for edge in order] != sorted((edge[0] for edge in edges), reverse=True):
            continue
        below: dict[int, set[int]] = {option: set() for option in range(len(margins))}
        for _, one, other in order:
            if one not in below[other]:
                for option, under in below.items():
                    if option == one or one in under:
                        under.update(below[other], {other})
        winners |= {"abcd"[option] for option, under in below.items() if len(under) == len(margins) - 1}
    assert set(decide(with_margins(margins), rule="ranked-pairs").winners) == winners


def test_the_reason_of_a_median_names_the_lower_of_the_middle_grades() -> None:
    assert "median grade 2" in decide([{"a": grade} for grade in (1, 2, 5, 9)], rule="median").why


_WRONG: dict[str, Callable[[Roll], object]] = {
    "nothing": lambda roll: None,
    "no roll": lambda roll: Outcome(None, {}, (), "x"),  # type: ignore[arg-type]
    "no reason": lambda roll: Outcome(roll, {}, (), None),  # type: ignore[arg-type]
    "no scores": lambda roll: Outcome(roll, None, (), "x"),  # type: ignore[arg-type]
    "a score in words": lambda roll: Outcome(roll, {"a": "two"}, (), "x"),  # type: ignore[dict-item]
    "a score of yes": lambda roll: Outcome(roll, {"a": True}, (), "x"),
    "a mapping of rounds": lambda roll: Outcome(roll, {}, (), "x", rounds={"a": 1}),  # type: ignore[arg-type]
    "pairs of a stranger": lambda roll: Outcome(roll, {}, (), "x", pairwise={"a": {"zzz": 1}}),
    "a leader twice": lambda roll: Outcome(roll, {}, ("a", "a"), "x"),
    "a stranger": lambda roll: Outcome(roll, {}, ("zzz",), "x"),
    "a score of a stranger": lambda roll: Outcome(roll, {"zzz": 1}, (), "x"),
    "a text": lambda roll: Outcome(roll, {}, "a", "x"),  # type: ignore[arg-type]
    "a list": lambda roll: Outcome(roll, {}, ([],), "x"),  # type: ignore[arg-type]
    "a score that is no number": lambda roll: Outcome(roll, {"a": float("nan")}, (), "x"),
}


def _broken(returned: str) -> Rule:
    """Return a rule that returns what it must not."""

    def count(ballots: Electorate, parameters: Parameters) -> Outcome:
        roll = ballots.read(first_places).roll
        if returned in _WRONG:
            return _WRONG[returned](roll)  # type: ignore[return-value]
        return Outcome(roll, {}, (), f"{parameters.number('least')}")

    return Rule("odd", count)


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("nothing", "the rule 'odd' must return an Outcome with a roll and a reason, not None"),
        ("no roll", "must return an Outcome with a roll and a reason"),
        ("no reason", "must return an Outcome with a roll and a reason"),
        ("no scores", "must return its figures as mappings of options to numbers"),
        ("a score in words", "must return its figures as mappings of options to numbers"),
        ("a score of yes", "must return its figures as mappings of options to numbers"),
        ("a mapping of rounds", "must return its figures as mappings of options to numbers"),
        ("pairs of a stranger", "the rule 'odd' names 'zzz', which is not an option"),
        ("a leader twice", "must be a tuple of different options"),
        ("a list", "must be a tuple of different options"),
        ("a score that is no number", "must return its figures as mappings of options to numbers"),
        ("a stranger", "the rule 'odd' names 'zzz', which is not an option"),
        ("a score of a stranger", "the rule 'odd' names 'zzz', which is not an option"),
        ("a text", "the leaders of the rule 'odd' must be a tuple of different options, not 'a'"),
        ("a parameter", "reads the parameter 'least', but does not declare it"),
    ],
)
def test_a_faulty_custom_rule_is_named_with_its_fault(returned: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        decide(["a", "a"], rule=_broken(returned))


def test_only_rules_can_be_found_as_rules() -> None:
    rules = rule_registry()
    rules.add("odd", lambda ballots, parameters: None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="the rule 'odd' must be a Rule"):
        decide(["a"], rule="odd", rules=rules)
    with pytest.raises(ConfigurationError, match="the rule 'odd' is already registered"):
        rules.add("odd", _broken("nothing"))
    assert decide(["a"], rules=rules).winner == "a"


@pytest.mark.parametrize("rule", ["majority", "supermajority", "unanimity", "hybrid"])
def test_without_votes_no_threshold_is_passed(rule: str) -> None:
    decision = decide([None, None], rule=rule)
    assert (decision.passed, decision.winners) == (False, ())
    assert "nobody voted" in decision.why


DEFAULTS: dict[str, dict[str, object]] = {
    **{name: {"of": "cast"} for name in ("majority", "unanimity")},
    "supermajority": {"q": Fraction(2, 3), "of": "cast"},
    "hybrid": {"turn": 1, "turns": 5, "small": 3, "q": Fraction(3, 4), "of": "cast"},
    "random-dictator": {"seed": 0},
    "score": {"low": None, "high": None, "by": "mean"},
    **{name: {"low": None, "high": None} for name in ("median", "star")},
    "cumulative": {"points": 10, "spend": "at-most"},
    **{name: {"strength": "margins"} for name in ("schulze", "ranked-pairs")},
    "free-mad": {"initial": 20, "leave": 25, "adopt": 30, "keep": 20},
    "judge": {"recuse": "vote"},
    "judge-panel": {"recuse": "vote", "of": "cast"},
}
"""What sessions that name no parameters are decided by: a change would decide stored debates in another way."""


@pytest.mark.parametrize("name", rule_registry().names())
def test_the_parameters_of_a_rule_keep_their_defaults(name: str) -> None:
    rule, _ = find_rule(name)
    assert rule.parameters == DEFAULTS.get(name, {})


def shuffled(options: int, voters: int) -> list[list[str]]:
    names = [f"o{number}" for number in range(options)]
    return [random.Random(seed).sample(names, options) for seed in range(voters)]


@pytest.mark.parametrize("rule", ["condorcet", "copeland", "schulze", "ranked-pairs", "kemeny-young"])
def test_rules_that_compare_pairs_say_how_many_options_they_count(rule: str) -> None:
    most = find_rule(rule)[0].most_options
    assert most is not None
    decision = decide([f"o{number}" for number in range(3)], rule=rule, options=[f"o{n}" for n in range(most + 1)])
    assert decision.winners == ()
    assert decision.why == f"no decision: exact for at most {most} options, and there are {most + 1}: undecided."
    assert decide(["o1"], rule=rule, options=[f"o{number}" for number in range(min(most, 40))]).winner == "o1"


@pytest.mark.parametrize("rule", ["borda", "dowdall", "irv"])
def test_rules_that_add_up_places_count_thousands_of_options_without_a_table_of_pairs(rule: str) -> None:
    options = [f"o{number}" for number in range(2_000)]
    decision = decide([["o1", "o2"], ["o1"], ["o3"]], rule=rule, options=options)
    assert (decision.winner, decision.pairwise) == ("o1", {})
    assert decide(["o1"], rule=rule, options=options[:20]).pairwise


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "options"), [("ranked-pairs", 50), ("coombs", 50), ("coombs", 400)])
def test_ties_in_too_many_orders_are_undecided(rule: str, options: int) -> None:
    decision = decide(shuffled(options, 6), rule=rule)
    assert decision.winners == ()
    assert "too many" in decision.why
