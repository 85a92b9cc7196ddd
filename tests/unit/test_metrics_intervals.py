"""Intervals of shares: statsmodels finds the same, and what is no share is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from roundtable.errors import ConfigurationError
from roundtable.metrics.intervals import normal_reach, tail_of, wilson_interval


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(("right", "questions"), [(0, 1), (1, 1), (1, 2), (3, 7), (0, 10), (10, 10), (40, 50)])
def test_an_interval_is_that_of_statsmodels(right: int, questions: int, level: float) -> None:
    low, high = wilson_interval(right, questions, level=level)
    expected = proportion_confint(right, questions, alpha=1 - level, method="wilson")
    assert (low, high) == pytest.approx(expected, abs=1e-12)
    assert 0 <= low <= right / questions <= high <= 1


@pytest.mark.parametrize(
    ("right", "questions", "message"),
    [
        (0, 0, "questions must be a whole number of at least 1, not 0"),
        (-1, 5, "right must be a whole number of at least 0, not -1"),
        (2.5, 5, "right must be a whole number of at least 0, not 2.5"),
        (None, 5, "right must be a whole number of at least 0, not None"),
        (6, 5, "6 of 5 is not a share"),
    ],
)
def test_an_invalid_share_is_refused(right: Any, questions: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        wilson_interval(right, questions)


def test_an_interval_of_a_huge_number_of_questions_is_narrow() -> None:
    low, high = wilson_interval(10**400, 10**401)
    assert low == high == pytest.approx(0.1)


@pytest.mark.parametrize("level", [1 - 1e-16, "0." + "9" * 40])
def test_a_level_close_to_1_gives_a_wide_interval(level: Any) -> None:
    low, high = wilson_interval(5, 10, level=level)
    reach = float(norm.isf(float(tail_of(level))))
    assert (low, high) == pytest.approx(
        (0.5 - reach / (10 + reach**2) ** 0.5 / 2, 0.5 + reach / (10 + reach**2) ** 0.5 / 2)
    )
    with pytest.raises(ConfigurationError, match="the level of an interval is too close to 0 or 1"):
        wilson_interval(5, 10, level="0." + "9" * 350)


def test_a_quantile_of_the_normal_distribution_is_that_of_scipy() -> None:
    for tail in (Fraction(1, 10**30), Fraction(1, 40), Fraction(1, 2), Fraction(4, 5), 1 - Fraction(1, 10**30)):
        expected = norm.isf(float(tail)) if tail < 1 - Fraction(1, 10**9) else -norm.isf(float(1 - tail))
        assert normal_reach(tail, "power") == pytest.approx(float(expected), abs=1e-9)


@pytest.mark.parametrize("level", [0, 1])
def test_a_level_lies_between_0_and_1(level: int) -> None:
    with pytest.raises(ConfigurationError, match="must lie between 0 and 1"):
        tail_of(level)


def test_a_tail_is_half_of_what_lies_outside() -> None:
    assert tail_of("0.95") == Fraction(1, 40)
