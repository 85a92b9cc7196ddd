"""Metrics of how positions move, and of what that does to right answers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import pytest

from roundtable.errors import ConfigurationError
from roundtable.metrics import (
    Transitions,
    brier_score,
    conformity,
    cv_change,
    disagreement_collapse,
    expected_calibration_error,
    flip_rate,
    influence_matrix,
    jury_bound,
    modal_adoption,
    obstinacy,
    oracle_gap,
    position_drift,
    share_near_median,
    transitions,
    van_der_eijk_a,
)

ROUNDS = [
    {"ada": "x", "bo": "x", "cy": "y", "di": "z", "ed": None},
    {"ada": "X.", "bo": "y", "cy": "x", "di": "w", "ed": "x"},
    {"ada": "x", "bo": "y", "cy": "x"},
]


def test_flips_are_counted_with_who_follows_whom() -> None:
    assert flip_rate(ROUNDS).value == Fraction(3, 7)
    assert flip_rate(ROUNDS).figures == {"of": 7}
    # All seven moves had a differing peer: bo and cy adopted one, di left for something new.
    assert conformity(ROUNDS).value == Fraction(2, 7)
    assert obstinacy(ROUNDS).value == Fraction(4, 7)


def test_nobody_moves_without_two_rounds() -> None:
    assert flip_rate(ROUNDS[:1]).reason == "no agent answered in two rounds in a row"
    assert flip_rate([{"a": "x"}, {"b": "x"}]).value is None
    agreed = [{"a": "x", "b": "x"}, {"a": "x", "b": "y"}]
    assert conformity(agreed).reason == "no agent had a peer with a different position"
    assert obstinacy(agreed).value is None
    assert modal_adoption(agreed).reason == "no agent was in a minority against a single most frequent position"


def test_minorities_that_adopt_the_most_frequent_answer_are_counted() -> None:
    # First move: x leads, cy adopts it and di does not. Second: x leads, bo keeps y.
    assert modal_adoption(ROUNDS).value == Fraction(1, 3)
    assert modal_adoption([{"a": "x", "b": "y"}, {"a": "y", "b": "y"}]).value is None


def test_drift_is_a_distance() -> None:
    assert position_drift(ROUNDS).value == Fraction(3, 7)
    assert position_drift([{"a": "10", "b": "5"}, {"a": "12.5", "b": "5.0"}]).value == Fraction(5, 4)
    assert position_drift([{"a": "10"}, {"a": "ten"}]).value == 1
    assert position_drift(ROUNDS, distance=lambda one, other: 2.5).value == 2.5
    assert position_drift([{"a": None}, {"a": "x"}]).value is None
    assert position_drift([{"a": "A"}, {"a": "a"}], normalise="exact").value == 1


def test_the_influence_matrix_counts_adopted_answers() -> None:
    matrix = influence_matrix(ROUNDS)
    assert set(matrix) == {"ada", "bo", "cy", "di", "ed"}
    assert "ada" not in matrix["ada"]
    assert matrix["cy"]["bo"].value == Fraction(1, 2)
    assert matrix["ada"]["cy"].value == 1
    assert matrix["ada"]["bo"].value == 0
    assert matrix["di"]["ada"].value == 0
    assert matrix["ada"]["ed"].reason == "they never differed"


def test_a_collapse_of_disagreement_is_measured() -> None:
    split = {"a": "x", "b": "y"}
    agreed, alone = {"a": "x", "b": "X"}, {"a": "x", "b": None}
    debates = [[split, agreed], [split, split], [agreed, agreed], [split, alone], []]
    assert disagreement_collapse(debates).value == Fraction(1, 3)
    assert disagreement_collapse(debates).figures == {"debates": 3, "collapsed": 1}
    assert disagreement_collapse([[split, agreed], *debates]).value == Fraction(2, 4)
    assert disagreement_collapse(debates, gold=["x", "x", "x", "x", "x"]).value == 0
    assert disagreement_collapse(debates, gold=["Y.", None, None, None, None]).value == 1
    assert disagreement_collapse([[agreed]]).reason == "no debate began in disagreement"
    with pytest.raises(ConfigurationError, match="each debate needs one gold answer: 1 debate, but 2 gold answers"):
        disagreement_collapse([[split]], gold=["x", "y"])


def test_changes_between_right_and_wrong_answers_are_counted() -> None:
    before = {"a": "4", "b": "5", "c": "5", "d": "4", "e": None, "f": "4"}
    after = {"a": "4.0", "b": "4", "c": "6", "d": "5", "e": "4"}
    found = transitions(before, after, "4", normalise="numeric")
    assert found == Transitions(1, 1, 1, 1)
    assert found + found == Transitions(2, 2, 2, 2)
    before, after = dict(zip("abcdef", "445555", strict=True)), dict(zip("abcdef", "444555", strict=True))
    assert transitions(before, after, "4") == Transitions(kept_right=2, wrong_to_right=1, kept_wrong=3)
    assert transitions(after, before, "4") == Transitions(kept_right=2, right_to_wrong=1, kept_wrong=3)
    assert transitions(before, dict.fromkeys("abcdef", "5"), "4") == Transitions(right_to_wrong=2, kept_wrong=4)
    assert found.vulnerability.value == Fraction(1, 2)
    assert found.correction.value == Fraction(1, 2)
    assert Transitions(right_to_wrong=1).vulnerability.value == 1
    assert Transitions(wrong_to_right=1, kept_wrong=3).correction.value == Fraction(1, 4)
    assert Transitions().vulnerability.reason == "nobody was right before"
    assert Transitions().correction.reason == "nobody was wrong before"


def test_the_oracle_gap_is_measured() -> None:
    answers = [["4", "5", "5"], ["7", "7.", "8"], ["1", "2", None], [None]]
    found = oracle_gap(answers, ["4", "7", "2", "3"])
    assert found.value == Fraction(1, 2)
    assert found.figures == {"oracle": Fraction(3, 4), "vote": Fraction(1, 4)}
    assert oracle_gap([["4", "5", "5"]], ["4"]).figures == {"oracle": 1, "vote": 0}
    assert oracle_gap([["7", "7", "8"]], ["7"]).figures == {"oracle": 1, "vote": 1}
    assert oracle_gap([], []).reason == "there are no questions"
    with pytest.raises(ConfigurationError, match="each question needs one gold answer: 1 question, but 0"):
        oracle_gap([["a"]], [])


def test_the_brier_score_is_measured() -> None:
    assert brier_score([1, 0, "0.5"], [True, False, 1]).value == Fraction(1, 12)
    assert brier_score([], []).reason == "there are no forecasts"
    with pytest.raises(ConfigurationError, match="each probability needs one outcome: 1 probability, but 2"):
        brier_score([1], [True, False])
    with pytest.raises(ConfigurationError, match="an outcome must be True or False"):
        brier_score([1], [2])
    with pytest.raises(ConfigurationError, match="a probability must lie in"):
        brier_score([1.1], [True])


def test_calibration_bins_are_closed_below() -> None:
    # 0.1 opens the second of ten bins and 1 closes the last: three bins.
    assert expected_calibration_error([0.05, 0.1, 1, 0.9], [0, 1, 1, 1]).value == Fraction(1, 4) * (
        Fraction(1, 20) + Fraction(9, 10) + Fraction(1, 10)
    )
    assert expected_calibration_error([0.05, 0.1, 1, 0.9], [0, 1, 1, 1]).figures == {"bins": 3}
    assert expected_calibration_error([0.2, 0.8], [1, 0], bins=1).value == 0
    assert expected_calibration_error([0.2, 0.8], [1, 0], bins=2).value == Fraction(4, 5)
    assert expected_calibration_error([], []).value is None
    for bins in (0, True):
        with pytest.raises(ConfigurationError, match="the number of bins must be a whole number of at least 1"):
            expected_calibration_error([0.5], [1], bins=bins)


@pytest.mark.parametrize("correlation", [Fraction(0), Fraction(1, 7), Fraction(2, 3)])
@pytest.mark.parametrize("accuracy", [Fraction(0), Fraction(1, 3), Fraction(3, 5), Fraction(1)])
@pytest.mark.parametrize("voters", [1, 2, 5, 8])
def test_the_jury_is_the_sum_of_its_terms(voters: int, accuracy: Fraction, correlation: Fraction) -> None:
    def rising(start: Fraction, count: int) -> Fraction:
        return math.prod((start + number * correlation for number in range(count)), start=Fraction(1))

    right, wrong = accuracy * (1 - correlation), (1 - accuracy) * (1 - correlation)
    terms = (
        math.comb(voters, k) * rising(right, k) * rising(wrong, voters - k) for k in range(voters // 2 + 1, voters + 1)
    )
    whole = rising(right + wrong, voters)
    assert jury_bound(voters, accuracy, correlation=correlation).value == sum(terms, Fraction(0)) / whole


def test_a_jury_of_thousands_can_be_shown() -> None:
    assert repr(jury_bound(10_001, 0.501)) == "Measure(value=about 0.57927, reason=None)"


def test_the_condorcet_jury_has_the_expected_values() -> None:
    assert jury_bound(1, 0.6).value == Fraction(3, 5)
    assert jury_bound(3, "2/3").value == Fraction(20, 27)
    assert jury_bound(2, 0.5).value == Fraction(1, 4)
    assert jury_bound(5, 0.5).value == Fraction(1, 2)
    assert jury_bound(3, 0.6, correlation=1).value == Fraction(3, 5)
    assert jury_bound(3, 1).value == 1
    # Beta-binomial with a = 0.6 and b = 0.4: P(3) = 0.416 and P(2) = 0.192.
    assert jury_bound(3, 0.5, correlation=0.5).value == Fraction(1, 2)
    assert jury_bound(3, 0.6, correlation=0.5).value == Fraction(76, 125)
    assert float(jury_bound(1001, 0.51)) == pytest.approx(0.7366, abs=1e-4)
    for voters in (0, True):
        with pytest.raises(ConfigurationError, match="the number of voters must be a whole number of at least 1"):
            jury_bound(voters, 0.5)
    with pytest.raises(ConfigurationError, match="correlation must lie in"):
        jury_bound(3, 0.5, correlation=-0.1)


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert van_der_eijk_a(cast("Any", [1.0, 2.0, 0])) == van_der_eijk_a([1, 2, 0])
    assert jury_bound(cast("Any", 3.0), 0.5) == jury_bound(3, 0.5)
    with pytest.raises(ConfigurationError, match=r"bins must be a whole number of at least 1, not 2\.5"):
        expected_calibration_error([0.5], [True], bins=cast("Any", 2.5))


def test_ratings_are_near_the_median_within_one_unless_another_distance_is_given() -> None:
    assert share_near_median([1, 3, 3, 5]).value == Fraction(1, 2)
    assert share_near_median([1, 3, 3, 5], distance=2).value == 1


def test_a_change_of_variation_is_the_difference_of_both_rounds() -> None:
    measure = cv_change([1, 2, 3], [2, 3, 4])
    before, after = measure.figures["before"], measure.figures["after"]
    assert measure.value == pytest.approx(abs(float(after) - float(before)))
