"""Intervals of shares: statsmodels finds the same, and what is no share is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from statsmodels.stats.proportion import proportion_confint

from roundtable.errors import ConfigurationError
from roundtable.metrics.intervals import tail_of, wilson_interval


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(("right", "questions"), [(0, 1), (1, 1), (1, 2), (3, 7), (0, 10), (10, 10), (40, 50)])
def test_an_interval_is_that_of_statsmodels(right: int, questions: int, level: float) -> None:
    low, high = wilson_interval(right, questions, level=level)
    expected = proportion_confint(right, questions, alpha=1 - level, method="wilson")
    assert (low, high) == pytest.approx(expected, abs=1e-12)
    assert 0 <= low <= right / questions <= high <= 1


@pytest.mark.parametrize(("right", "questions"), [(0, 0), (1, 0), (-1, 5), (6, 5), (0, -1)])
def test_what_is_no_share_is_refused(right: int, questions: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{right} of {questions} is not a share"):
        wilson_interval(right, questions)


@pytest.mark.parametrize("level", [0, 1])
def test_a_level_lies_between_0_and_1(level: int) -> None:
    with pytest.raises(ConfigurationError, match="must lie between 0 and 1"):
        tail_of(level)


def test_a_tail_is_half_of_what_lies_outside() -> None:
    assert tail_of("0.95") == Fraction(1, 40)
