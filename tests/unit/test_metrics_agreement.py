"""Agreement metrics on examples worked out by hand or published."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from roundtable.errors import ConfigurationError
from roundtable.metrics import (
    basic_agreement,
    coefficient_of_variation,
    cohen_kappa,
    cv_change,
    entropy,
    entropy_agreement,
    fleiss_kappa,
    gwet_ac1,
    interquartile_range,
    jensen_shannon,
    kendall_w,
    krippendorff_alpha,
    lead_margin,
    mean_spearman,
    median,
    modal_share,
    pairwise_agreement,
    quantile,
    ranks,
    share_near_median,
    stability,
    tally,
    tastle_wierman,
    total_variation,
    van_der_eijk_a,
)
from roundtable.scoring import Measure


@pytest.mark.parametrize(
    ("metric", "positions", "value"),
    [
        (modal_share, "aabc", Fraction(1, 2)),
        (lead_margin, "aabc", Fraction(1, 4)),
        (lead_margin, "aa", Fraction(1)),
        (lead_margin, "aabb", Fraction(0)),
        (pairwise_agreement, "aabc", Fraction(1, 6)),
        (pairwise_agreement, "aaa", Fraction(1)),
        (pairwise_agreement, "ab", Fraction(0)),
        (entropy_agreement, "aabc", 0.25),
        (entropy_agreement, "abcd", 0.0),
        (entropy_agreement, "aaa", 1.0),
        (entropy_agreement, "a", 1.0),
        (basic_agreement, "aabc", Fraction(1, 2)),
    ],
)
def test_agreement_of_positions_is_measured_as_documented(
    metric: Callable[[Iterable[str]], Measure | Fraction], positions: str, value: Fraction | float
) -> None:
    found = metric(list(positions))
    assert (found if isinstance(found, Fraction) else found.value) == value


@pytest.mark.parametrize("metric", [modal_share, lead_margin, pairwise_agreement, entropy_agreement])
def test_agreement_of_nobody_is_undefined(metric: Callable[[Iterable[str | None]], Measure]) -> None:
    found = metric([None])
    assert found.value is None
    assert found.reason


def test_entropy_agreement_is_normed_by_options_or_agents() -> None:
    assert entropy_agreement("aabb", options=["a", "b"]).value == 0
    assert entropy_agreement("ab", options=["a", "b", "c"]).value == 0
    assert entropy_agreement("aabb", options=["a", "b", "c", "A"]).value == pytest.approx(1 - 1 / math.log2(3))
    assert entropy_agreement(["a", "a"], options=["a"]).reason == "with one option there is nothing to agree on"
    assert pairwise_agreement(["a"]).reason == "agreement between agents needs two positions"


def test_entropy_is_in_bits_and_free_of_order() -> None:
    assert entropy([1, 1, 2]) == 1.5
    assert entropy([]) == 0
    assert math.copysign(1, entropy([3])) == 1
    assert entropy([3, 5, 7, 11]) == entropy([11, 7, 5, 3])
    assert tally(["a", "A.", None]) == {"a": 2}


def test_the_distance_of_distributions_is_measured_as_documented() -> None:
    assert jensen_shannon("ab", "ab").value == 0
    assert jensen_shannon("aa", "bb").value == 1
    assert jensen_shannon("aaab", "ab").value == pytest.approx(0.04879494069539847)
    assert total_variation("aab", "abc").value == Fraction(1, 3)
    assert total_variation("a", "b").value == 1
    for apart in (jensen_shannon, total_variation):
        assert apart([], ["a"]).value is None
        assert apart(["a"], [None]).reason == "there are no positions"


KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four observers, twelve units, five values and missing data: Krippendorff's own example."""


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_example_of_krippendorff_is_correct(level: str, published: float) -> None:
    alpha = krippendorff_alpha(KRIPPENDORFF, level=level)  # type: ignore[arg-type]
    assert isinstance(alpha.value, Fraction)
    assert float(alpha) == pytest.approx(published, abs=5e-4)


MANY = 4_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        pytest.param(krippendorff_alpha, 0, id="alpha"),
        pytest.param(partial(krippendorff_alpha, level="ordinal"), None, id="ordinal alpha"),
        pytest.param(partial(krippendorff_alpha, level="interval"), None, id="interval alpha"),
        pytest.param(fleiss_kappa, Fraction(-1, 2 * MANY - 1), id="Fleiss"),
        pytest.param(lambda rows: cohen_kappa(*rows), 0, id="Cohen"),
        pytest.param(lambda rows: gwet_ac1(rows, [*rows[0], *rows[1]]), Fraction(-1, 2 * MANY - 1), id="Gwet"),
        pytest.param(kendall_w, None, id="Kendall"),
    ],
)
def test_many_ratings_that_all_differ_are_measured_quickly(
    metric: Callable[[list[list[int]]], Measure], value: Fraction | int | None
) -> None:
    """Debates measure labels that agents word themselves, so hardly two of them are equal."""
    began = time.process_time()
    found = metric([[*range(MANY)], [*range(2 * MANY, MANY, -1)]])
    assert time.process_time() - began < 3.0
    assert found.value is not None
    if value is not None:
        assert found.value == value


def test_alpha_is_undefined_without_variation_or_pairs() -> None:
    assert krippendorff_alpha([["a", "a"], ["a", "A."]]).reason == (
        "all ratings are equal, so agreement cannot be told apart from chance"
    )
    assert krippendorff_alpha([["a", None], [None, "b"]]).reason == "no unit has two ratings"
    assert krippendorff_alpha([]).value is None
    assert krippendorff_alpha([[2, 2], [2, 2]], level="interval").value is None
    with pytest.raises(ConfigurationError, match="level must be"):
        krippendorff_alpha([[1], [1]], level="ratio")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"not rows of \[1, 2\]"):
        krippendorff_alpha([["a"], ["a", "b"]])
    with pytest.raises(ConfigurationError, match="a rating must be a finite number"):
        krippendorff_alpha([["x"], ["y"]], level="ordinal")
    assert krippendorff_alpha([["1", "2"], [1, "2.0"]], level="interval").value == 1
    assert krippendorff_alpha([["a", "A"], ["A", "a"]], normalise="exact").value == Fraction(-1, 2)


@pytest.mark.parametrize("frame", [{"u1": [1, 2], "u2": [1, 2]}, {0: [1, 2], 1: [1, 2]}])
def test_a_table_whose_columns_have_names_is_refused(frame: Any) -> None:
    """Iterating over it yields the names, whose letters would count as ratings."""
    for metric in (krippendorff_alpha, fleiss_kappa):
        with pytest.raises(ConfigurationError, match=r"must be a list, not ('u1' \(str\)|0 \(int\))") as refused:
            metric(frame)
        assert "frame.T.values.tolist()" in str(refused.value.hint)


def test_fleiss_kappa_of_the_standard_example_is_correct() -> None:
    counts = [
        *((0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1)),
        *((7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)),
    ]
    columns = [[label for label, count in enumerate(row) for _ in range(count)] for row in counts]
    kappa = fleiss_kappa([list(row) for row in zip(*columns, strict=True)])
    assert float(kappa) == pytest.approx(0.2099, abs=5e-5)
    assert float(kappa.figures["observed"]) == pytest.approx(0.378, abs=5e-4)


def test_fleiss_kappa_is_undefined_without_pairs_or_variation() -> None:
    assert fleiss_kappa([["a", "b"], ["a", None]]).reason == (
        "units differ in their number of ratings; krippendorff_alpha allows that"
    )
    assert fleiss_kappa([["a", "b"]]).reason == "no unit has two ratings"
    assert fleiss_kappa([]).value is None
    assert fleiss_kappa([["a"], ["a"]]).reason == "all ratings are equal, so agreement cannot be told apart from chance"


def test_cohen_kappa_has_the_expected_values() -> None:
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(one, other).value == Fraction(2, 5)
    assert cohen_kappa(one, other).figures == {"observed": Fraction(7, 10), "expected": Fraction(1, 2)}
    assert cohen_kappa(["a", None, "b"], ["a", "b", None]).value is None
    assert cohen_kappa([None], ["a"]).reason == "no unit has two ratings"
    assert cohen_kappa(["a", "b", None], ["A.", "b", "b"]).value == 1
    with pytest.raises(ConfigurationError, match="the same units, not 1 and 2"):
        cohen_kappa(["a"], ["a", "b"])


def test_gwet_ac1_has_the_expected_values() -> None:
    ratings = [["a"] * 9 + ["b"], ["a"] * 9 + ["a"]]
    assert gwet_ac1(ratings, ["a", "b"]).value == Fraction(161, 181)
    assert gwet_ac1([["a", "b"], ["a", None]], ["a", "b", "c"]).value == 1
    assert gwet_ac1([["a"], ["A"]], ["a", "b"]).value == 1
    # Two pairs of four raters agree: 2/6 of the pairs, where half is due to chance.
    assert gwet_ac1([["a"], ["a"], ["b"], ["b"]], ["a", "b"]).value == Fraction(-1, 3)
    assert gwet_ac1([["a", None]], ["a", "b"]).reason == "no unit has two ratings"
    assert gwet_ac1([[1, 2], [1, 3]], [1, 2, 3]).figures["expected"] == Fraction(5, 16)
    with pytest.raises(ConfigurationError, match="at least two categories"):
        gwet_ac1([["a"], ["a"]], ["a", "A"])
    with pytest.raises(ConfigurationError, match="the rating 'z' is in none of the categories"):
        gwet_ac1([["a", "z"], ["a", "z"]], ["a", "b"])


def test_kendall_w_is_given_with_its_test_statistic() -> None:
    judges = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 2, 4, 3], [6, 3, 2, 5, 4, 1]]
    found = kendall_w(judges)
    assert found.value == Fraction(67, 315)
    assert found.figures == {"chi_square": 15 * found.value, "df": 5}


def test_kendall_w_corrects_for_ties() -> None:
    tied = [[1, 2, 2, 4], [1, 2, 3, 4], [2, 1, 3, 3]]
    assert ranks(tied)[0] == [1, Fraction(5, 2), Fraction(5, 2), 4]
    rows = ranks(tied)
    sums = [sum(column) for column in zip(*rows, strict=True)]
    spread = sum((total - Fraction(15, 2)) ** 2 for total in sums)
    assert kendall_w(tied).value == 12 * spread / (9 * 60 - 3 * 12)
    assert kendall_w([[1, 1], [2, 2]]).reason == "every rater ties every item"
    assert kendall_w([[1, 1], [1, 2]]).value == Fraction(1, 2)
    assert kendall_w([[1, 2]]).reason == "concordance needs two raters and two items"
    assert kendall_w([[1], [1]]).value is None
    assert kendall_w([]).value is None


def test_rankings_by_name_count_what_is_left_out_as_tied_last() -> None:
    assert ranks([["b", "a"], ["a"], [["a", "c"], "B."]]) == [
        [2, 1, 3],
        [1, Fraction(5, 2), Fraction(5, 2)],
        [Fraction(3, 2), 3, Fraction(3, 2)],
    ]
    with pytest.raises(ConfigurationError, match="ranking 1 cannot be read: it ranks 'a' twice"):
        ranks([["a"], ["a", "A"]])
    with pytest.raises(ConfigurationError, match="ranking 0 cannot be read: it names nothing"):
        ranks([[], ["a"]])
    with pytest.raises(ConfigurationError, match="each rater needs one number for each item"):
        ranks([[1], [1, 2]])


def test_the_mean_of_spearman_has_the_expected_values() -> None:
    judges = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 2, 4, 3], [6, 3, 2, 5, 4, 1]]
    w = float(kendall_w(judges))
    assert float(mean_spearman(judges)) == pytest.approx((3 * w - 1) / 2)
    assert mean_spearman([[1, 2], [1, 2]]).value == 1.0
    assert mean_spearman([[1, 2, 3], [2, 2, 2]]).reason == "rater 1 ties every item"
    assert mean_spearman([[1, 2]]).reason == "correlation needs two raters and two items"
    assert mean_spearman([[1], [2]]).value is None


def test_quantiles_are_those_of_type_7() -> None:
    assert [quantile([1, 2, 4, 8], q).value for q in (0, "1/3", 0.5, 0.9, 1)] == [1, 2, 3, Fraction(34, 5), 8]
    assert quantile([5], 0.3).value == 5
    assert median([1, None, 3]).value == 2
    assert median([]).reason == "there are no ratings"
    assert interquartile_range([1, 2, 3, 4]).value == Fraction(3, 2)
    assert interquartile_range([None]).value is None
    with pytest.raises(ConfigurationError, match="q must lie in"):
        quantile([1], 1.5)
    with pytest.raises(ConfigurationError, match="q must lie in"):
        quantile([1], -1)
    with pytest.raises(ConfigurationError, match="a rating must be a finite number"):
        median(["x"])


def test_the_coefficient_of_variation_uses_the_sample() -> None:
    assert coefficient_of_variation([2, 4, 4, 4, 5, 5, 7, 9]).value == pytest.approx(math.sqrt(32 / 7) / 5)
    assert coefficient_of_variation([-1, -2, -3]).value == 0.5
    assert coefficient_of_variation([3]).reason == "spread needs two ratings"
    assert coefficient_of_variation([-1, 1]).reason == "the mean is 0"
    assert cv_change([1, 2, 3], [2, 2]).figures == {"before": 0.5, "after": 0.0}
    assert cv_change([2, 2], [1, 2, 3]).value == 0.5
    assert cv_change([1], [1, 2]).reason == "one of the rounds has no CV: spread needs two ratings"
    assert cv_change([1, 2], [1, -1]).reason == "one of the rounds has no CV: the mean is 0"


def test_shares_near_the_median_and_unchanged_are_counted() -> None:
    assert share_near_median([1, 2, 3, 9]).value == Fraction(1, 2)
    assert share_near_median([1, 2, 3, 9], distance=0.5).value == Fraction(1, 2)
    assert share_near_median([1, 2, 4], distance=2).value == 1
    assert share_near_median([]).value is None
    assert stability({"a": 3, "b": "Yes", "c": None, "d": 1}, {"a": 3.0, "b": "no", "c": "x"}).value == Fraction(1, 2)
    assert stability({"a": "x"}, {"b": "x"}).reason == "no agent answered in both rounds"


def test_tastle_wierman_has_the_expected_values() -> None:
    assert tastle_wierman([1, 1, 5, 5], 1, 5).value == 0
    assert tastle_wierman([3], 1, 5).value == 1
    mean = 2.25
    terms = [math.log2(1 - abs(x - mean) / 4) for x in (1, 2, 2, 4)]
    assert tastle_wierman([1, 2, 2, 4, None], 1, 5).value == pytest.approx(1 + sum(terms) / 4)
    assert tastle_wierman([], 1, 5).value is None
    for bad in ([0, 3], [6]):
        with pytest.raises(ConfigurationError, match=f"ratings must lie between 1 and 5, not at {bad[0]}"):
            tastle_wierman(bad, 1, 5)
    with pytest.raises(ConfigurationError, match="must rise"):
        tastle_wierman([1], 1, 1)


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        pytest.param([30, 40, 210, 130, 530, 50, 10], Fraction(917, 1500), id="the example of the R package agrmt"),
        pytest.param([1, 0, 0, 0, 1], Fraction(-1), id="polarised"),
        pytest.param([2, 2, 2, 2], Fraction(0), id="spread evenly"),
        pytest.param([0, 0, 3], Fraction(1), id="in one category"),
        pytest.param([1, 1, 0, 0, 0], Fraction(3, 4), id="two neighbours"),
        pytest.param([0, 1, 0, 1, 0], Fraction(1, 6), id="two apart"),
    ],
)
def test_van_der_eijk_has_the_expected_values(counts: list[int], value: Fraction) -> None:
    assert van_der_eijk_a(counts).value == value


def test_van_der_eijk_is_undefined_without_ratings_or_a_middle() -> None:
    assert van_der_eijk_a([1, 2]).reason == "polarisation needs three categories"
    assert van_der_eijk_a([0, 0, 0]).reason == "there are no ratings"
    for bad in (-1, 1.5, True):
        with pytest.raises(ConfigurationError, match="a count must be a"):
            van_der_eijk_a([bad, 1, 1])  # type: ignore[list-item]


NAN = float("nan")


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_a_rating_that_is_not_a_number_is_missing(level: Any) -> None:
    missing = krippendorff_alpha([[1, 1, 2, None], [1, 2, 2, 1]], level=level)
    assert krippendorff_alpha([[1, 1, 2, NAN], [1, 2, 2, 1]], level=level) == missing
    assert cohen_kappa([1, 1, 2, NAN], [1, 2, 2, 1]) == cohen_kappa([1, 1, 2], [1, 2, 2])


def test_a_count_below_0_has_no_entropy() -> None:
    with pytest.raises(ConfigurationError, match="a count must be at least 0, not -1"):
        entropy([2, -1])


def test_numbers_of_numpy_are_ratings() -> None:
    assert median(np.array([1, 2, 4])).value == 2
    assert kendall_w([np.array([1, 2, 3]), np.array([1, 2, 3])]).value == 1
