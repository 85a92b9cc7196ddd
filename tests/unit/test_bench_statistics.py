"""Intervals and tests against independent implementations, and against what they promise."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from roundtable.bench import (
    mcnemar_test,
    paired_bootstrap,
    questions_needed,
    smallest_difference,
    wilson_interval,
)
from roundtable.bench.statistics import exact_mean
from roundtable.errors import ConfigurationError


@pytest.mark.parametrize(("right", "questions"), [(0, 1), (1, 1), (0, 50), (7, 50), (40, 50), (50, 50), (499, 1000)])
@pytest.mark.parametrize("level", ["0.9", "0.95", 0.99])
def test_the_score_interval_is_that_of_statsmodels(right: int, questions: int, level: Any) -> None:
    from statsmodels.stats.proportion import proportion_confint  # takes a second, and each process finds all tests

    low, high = wilson_interval(right, questions, level=level)
    wanted = proportion_confint(right, questions, alpha=1 - float(level), method="wilson")
    assert (low, high) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (5, 5), (12, 2), (2, 12), (30, 11), (200, 160)])
def test_the_exact_test_is_that_of_statsmodels(gained: int, lost: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    wanted = mcnemar([[3, lost], [gained, 4]], exact=True).pvalue if gained + lost else 1.0
    assert float(mcnemar_test(gained, lost)) == pytest.approx(wanted, abs=1e-12)
    assert mcnemar_test(gained, lost) == mcnemar_test(lost, gained) <= 1


def test_the_bootstrap_is_close_to_the_normal_interval_and_repeats_itself() -> None:
    differences = [1.0] * 15 + [-1.0] * 5 + [0.0] * 30
    low, high = paired_bootstrap(differences, resamples=4000)
    spread = ((20 / 50 - 0.2**2) / 50) ** 0.5
    assert (low, high) == pytest.approx((0.2 - 1.96 * spread, 0.2 + 1.96 * spread), abs=0.025)
    assert paired_bootstrap(differences, resamples=4000) == (low, high)
    wider = paired_bootstrap(differences, resamples=4000, level="0.99")
    assert wider.low < low < high < wider.high


@pytest.mark.slow
def test_19_of_20_intervals_contain_the_true_value() -> None:
    draw, held = Random(7), 0
    for seed in range(100):
        sample = draw.choices([1.0, -1.0, 0.0], weights=[0.3, 0.1, 0.6], k=60)
        low, high = paired_bootstrap(sample, resamples=300, seed=seed)
        held += low <= 0.2 <= high
    assert 88 <= held <= 99


def test_a_study_of_the_stated_size_finds_the_difference_four_times_in_five() -> None:
    size = questions_needed("0.25", "0.1")
    assert size == 120
    draw, seen = Random(3), 0
    for _ in range(400):
        sample = draw.choices([(1, 0), (0, 1), (0, 0)], weights=[0.25, 0.1, 0.65], k=size)
        gained, lost = (sum(pair[place] for pair in sample) for place in (0, 1))
        seen += (gained - lost) ** 2 > 3.84146 * (gained + lost)
    assert seen / 400 == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: wilson_interval(3, 2), id="more right than asked"),
        pytest.param(lambda: wilson_interval(0, 0), id="nothing asked"),
        pytest.param(lambda: wilson_interval(1, 2, level=1), id="certain"),
        pytest.param(lambda: paired_bootstrap([]), id="no differences"),
        pytest.param(lambda: paired_bootstrap([1.0], resamples=99), id="few draws"),
        pytest.param(lambda: paired_bootstrap([1.0], resamples=100.5), id="half a draw"),  # type: ignore[arg-type]
        pytest.param(lambda: paired_bootstrap([1.0, float("nan")]), id="not a number"),
        pytest.param(lambda: paired_bootstrap([1e308] * 3), id="too large"),
        pytest.param(lambda: paired_bootstrap(["a"]), id="text"),  # type: ignore[list-item]
        pytest.param(lambda: mcnemar_test(-1, 0), id="negative"),
        pytest.param(lambda: mcnemar_test(2.5, 0), id="half a question"),  # type: ignore[arg-type]
        pytest.param(lambda: smallest_difference(10.5, 0.2), id="half a study"),  # type: ignore[arg-type]
        pytest.param(lambda: questions_needed("0.8", "0.3"), id="more than all"),
        pytest.param(lambda: questions_needed("0.2", "0.1", power=1), id="always"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call: Any) -> None:
    with pytest.raises(ConfigurationError):
        call()


def test_the_p_value_is_exact() -> None:
    assert mcnemar_test(3, 0) == Fraction(1, 4)


def test_counts_of_numpy_and_lists_of_pandas_are_read() -> None:
    # 2**63 does not fit into an integer of numpy, so that the p-value was negative.
    assert mcnemar_test(np.int64(30), np.int64(33)) == mcnemar_test(30, 33) > 0
    values = [1.0, 0.0, -1.0, 1.0]
    assert paired_bootstrap(pd.Series(values), resamples=100) == paired_bootstrap(values, resamples=100)
    assert type(wilson_interval(np.int64(4), np.int64(5)).low) is float


def test_tiny_shares_and_levels_close_to_1_need_many_questions() -> None:
    assert (questions_needed("1e-399", 0) or 0) // 10**396 == 7848
    assert (questions_needed("0.2", "0.1", level=1 - 1e-16) or 0) > (questions_needed("0.2", "0.1") or 0)
    assert (questions_needed("0.2", "0.1", power="0." + "9" * 40) or 0) > (questions_needed("0.2", "0.1") or 0)


@pytest.mark.parametrize(
    ("gained", "lost", "power", "message"),
    [
        ("0.8", "0.3", 0.8, "together must be at most 1, not '0.8' and '0.3'"),
        ("0.2", "0.1", 1, "power must lie between 0 and 1, not 1"),
        ("0.2", "0.1", "1e-399", "power is too close to 0 or 1"),
    ],
)
def test_the_number_that_makes_no_sense_is_named(gained: str, lost: str, power: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        questions_needed(gained, lost, power=power)


@pytest.mark.parametrize("confidence", [0.1, 0.2, 0.4, 0.7, 0.8])
@pytest.mark.parametrize("count", [1, 3, 6, 10])
def test_the_mean_of_equal_numbers_is_this_number(confidence: float, count: int) -> None:
    assert exact_mean([confidence] * count) == confidence


def test_an_interval_holds_the_share_itself_to_the_last_digit() -> None:
    for questions in range(1, 200):
        for right in {0, 1, questions // 2, questions}:
            low, high = wilson_interval(right, questions)
            assert 0 <= low <= right / questions <= high <= 1
