"""Laws of the agreement metrics, exact where the metrics are."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import strategies as st
from property.scoring_strategies import EFFORT, holds

from roundtable.metrics import (
    basic_agreement,
    cohen_kappa,
    conformity,
    entropy_agreement,
    fleiss_kappa,
    flip_rate,
    gwet_ac1,
    jensen_shannon,
    kendall_w,
    krippendorff_alpha,
    lead_margin,
    mean_spearman,
    modal_share,
    obstinacy,
    pairwise_agreement,
    ranks,
    tastle_wierman,
    total_variation,
    van_der_eijk_a,
)
from roundtable.scoring import Measure, casefold, exact, normalise

Metric = Callable[[Sequence[str | None]], Measure]

METRICS: dict[str, Metric] = {
    "basic": lambda positions: Measure(basic_agreement(positions)),
    "modal": modal_share,
    "pairwise": pairwise_agreement,
    "margin": lead_margin,
    "entropy": entropy_agreement,
}
EVERY = pytest.mark.parametrize("name", METRICS)

positions = st.lists(st.sampled_from("abcd"), min_size=2, max_size=9)
words = st.text(max_size=12)


def value(metric: Metric, given: Sequence[str | None]) -> float | Fraction:
    found = metric(given).value
    assert found is not None
    return found


@EFFORT
@EVERY
def test_agreement_is_a_finite_share_for_any_text(name: str, effort: int) -> None:
    def check(given: list[str | None]) -> None:
        found = METRICS[name](given)
        if found.value is None:
            assert found.reason
        else:
            assert 0 <= found.value <= 1
            assert math.isfinite(found.value)

    holds(effort, check, st.lists(words | st.none(), max_size=6))


@EFFORT
@EVERY
def test_order_and_names_do_not_matter(name: str, effort: int) -> None:
    def check(given: list[str], order: Iterable[int]) -> None:
        shuffled = [given[place % len(given)] for place in order if place < len(given)]
        relabelled = [{"a": "Zebra", "b": "a", "c": "7", "d": "é"}[position] for position in shuffled]
        if len(shuffled) == len(given):
            assert METRICS[name](shuffled) == METRICS[name](given) == METRICS[name](relabelled)

    holds(effort, check, positions, st.permutations(range(9)))


@EFFORT
@EVERY
def test_agreement_is_one_exactly_if_all_positions_are_equal(name: str, effort: int) -> None:
    def check(given: list[str]) -> None:
        assert (value(METRICS[name], given) == 1) == (len(set(given)) == 1)

    holds(effort, check, positions)


@EFFORT
@EVERY
def test_joining_the_largest_group_never_lowers_agreement(name: str, effort: int) -> None:
    def check(given: list[str], place: int) -> None:
        largest = max(sorted(set(given)), key=given.count)
        moved = [largest if at == place % len(given) else position for at, position in enumerate(given)]
        before = value(METRICS[name], given)
        assert value(METRICS[name], moved) >= before - 1e-12
        assert value(METRICS[name], [*given, largest]) >= before - 1e-12

    holds(effort, check, positions, st.integers(0, 8))


@EFFORT
@pytest.mark.parametrize("name", [name for name in METRICS if name != "margin"])
def test_splitting_a_group_never_raises_agreement(name: str, effort: int) -> None:
    def check(given: list[str], place: int) -> None:
        split = [f"{position}2" if at == place % len(given) else position for at, position in enumerate(given)]
        assert value(METRICS[name], split) <= value(METRICS[name], given) + 1e-12

    holds(effort, check, positions, st.integers(0, 8))


def test_splitting_the_second_group_raises_the_margin_of_the_first() -> None:
    assert (lead_margin("aabb").value, lead_margin("aabc").value) == (0, Fraction(1, 4))


@EFFORT
def test_copying_every_voice_keeps_shares(effort: int) -> None:
    def check(given: list[str], copies: int) -> None:
        assert modal_share(given * copies) == modal_share(given)
        assert lead_margin(given * copies) == lead_margin(given)
        many = [*"abcd", *given]
        assert entropy_agreement(many * copies, options=[*"abcd"]).value == pytest.approx(
            entropy_agreement(many, options=[*"abcd"]).value
        )

    holds(effort, check, positions, st.integers(2, 3))


def test_copying_every_voice_raises_the_basic_and_the_pairwise_measure() -> None:
    """By construction: one counts positions against voices, the other leaves out pairs of a voice with itself."""
    assert (basic_agreement("ab"), basic_agreement("abab")) == (Fraction(1, 2), Fraction(3, 4))
    assert (pairwise_agreement("ab").value, pairwise_agreement("abab").value) == (0, Fraction(1, 3))


@EFFORT
def test_spelling_does_not_matter(effort: int) -> None:
    def check(text: str, form: str, end: str) -> None:
        spelled = f"  {unicodedata.normalize(form, text).upper()} {end}"  # type: ignore[arg-type]
        if casefold(text.upper()) == casefold(text) and casefold(text) not in ("", casefold(end)):
            assert basic_agreement([text, spelled]) == 1

    letters = st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=8)
    holds(effort * 5, check, letters, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.sampled_from(["", ".", "!?"]))


@EFFORT
def test_normalising_a_key_changes_nothing(effort: int) -> None:
    def check(text: str) -> None:
        for how in ("casefold", "numeric", "exact"):
            key = normalise(text, how)  # type: ignore[arg-type]
            assert normalise(key, how) == key  # type: ignore[arg-type]

    holds(effort * 10, check, st.text(max_size=10) | st.floats(allow_nan=False).map(str) | st.fractions().map(str))


@EFFORT
def test_numbers_are_read_exactly(effort: int) -> None:
    def check(number: float, fraction: Fraction) -> None:
        assert float(exact(number)) == number
        assert exact(str(fraction)) == exact(fraction) == fraction

    holds(effort * 5, check, st.floats(allow_nan=False, allow_infinity=False), st.fractions())


ratings = st.integers(2, 4).flatmap(
    lambda units: st.lists(
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=units, max_size=units), min_size=2, max_size=4
    )
)
full = st.integers(1, 4).flatmap(
    lambda units: st.lists(st.lists(st.sampled_from("abc"), min_size=units, max_size=units), min_size=2, max_size=4)
)


@EFFORT
def test_chance_corrected_agreement_is_bounded_and_free_of_order(effort: int) -> None:
    def check(rows: list[list[str | None]], numbers: dict[str, int]) -> None:
        graded = [[None if rating is None else numbers[rating] for rating in row] for row in rows]
        turned = [row[::-1] for row in graded]
        for found, again in (
            (krippendorff_alpha(rows), krippendorff_alpha(rows[::-1])),
            (krippendorff_alpha(graded, level="ordinal"), krippendorff_alpha(turned, level="ordinal")),
            (krippendorff_alpha(graded, level="interval"), krippendorff_alpha(graded[::-1], level="interval")),
            (fleiss_kappa(rows), fleiss_kappa(rows[::-1])),
            (gwet_ac1(rows, "abc"), gwet_ac1(rows[::-1], "cab")),
            (cohen_kappa(rows[0], rows[1]), cohen_kappa(rows[1], rows[0])),
        ):
            assert found == again
            assert (found.value is None) == (found.reason is not None)
            assert found.value is None or found.value <= 1

    holds(effort, check, ratings, st.just({"a": 1, "b": 2, "c": 4}))


@EFFORT
def test_perfect_agreement_is_one_when_there_is_variation(effort: int) -> None:
    def check(row: list[str], raters: int) -> None:
        rows = [row] * raters
        varied = len(set(row)) > 1
        for found in (krippendorff_alpha(rows), fleiss_kappa(rows), cohen_kappa(row, row)):
            assert found.value == (1 if varied else None)
        assert gwet_ac1(rows, "abc").value == 1

    holds(effort, check, st.lists(st.sampled_from("abc"), min_size=1, max_size=5), st.integers(2, 4))


def alpha_by_pairs(ratings: Sequence[Sequence[int | None]], level: str) -> Fraction | None:
    """Compute alpha as Krippendorff defines it, over all pairs of values; `None` where it is undefined."""
    columns = [Counter(rating for rating in column if rating is not None) for column in zip(*ratings, strict=True)]
    units = [unit for unit in columns if unit.total() > 1]
    totals = sum(units, Counter[int]())

    def square(low: int, high: int) -> Fraction:
        if level == "nominal":
            return Fraction(1)
        if level == "interval":
            return Fraction(high - low) ** 2
        between = sum(count for value, count in totals.items() if low <= value <= high)
        return (between - Fraction(totals[low] + totals[high], 2)) ** 2

    squares = {(low, high): square(low, high) for low, high in combinations(sorted(totals), 2)}
    expected = sum(totals[low] * totals[high] * apart for (low, high), apart in squares.items())
    observed = sum(
        Fraction(unit[low] * unit[high], unit.total() - 1) * apart
        for unit in units
        for (low, high), apart in squares.items()
    )
    return 1 - (totals.total() - 1) * observed / expected if expected else None


@EFFORT
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_what_its_definition_over_all_pairs_gives(level: Any, effort: int) -> None:
    def check(columns: list[list[int | None]]) -> None:
        rows = [list(row) for row in zip(*columns, strict=True)]
        assert krippendorff_alpha(rows, level=level).value == alpha_by_pairs(rows, level)

    rating = st.none() | st.integers(-3, 9)
    holds(effort, check, st.lists(st.lists(rating, min_size=4, max_size=4), min_size=1, max_size=6))


@EFFORT
def test_a_middle_rank_is_one_plus_those_below_plus_half_of_the_other_ties(effort: int) -> None:
    def check(row: list[int]) -> None:
        expected = [1 + sum(other < number for other in row) + Fraction(row.count(number) - 1, 2) for number in row]
        assert ranks([row]) == [expected]

    holds(effort, check, st.lists(st.integers(0, 5), max_size=9))


@EFFORT
def test_interval_alpha_ignores_origin_and_unit(effort: int) -> None:
    def check(rows: list[list[str]], origin: int, unit: int) -> None:
        graded = [["abc".index(rating) for rating in row] for row in rows]
        moved = [[origin + unit * rating for rating in row] for row in graded]
        assert krippendorff_alpha(moved, level="interval") == krippendorff_alpha(graded, level="interval")

    holds(effort, check, full, st.integers(-3, 3), st.integers(1, 4))


rank_rows = st.integers(2, 4).flatmap(
    lambda items: st.lists(st.lists(st.integers(1, 4), min_size=items, max_size=items), min_size=2, max_size=4)
)


@EFFORT
def test_concordance_is_bounded_and_needs_only_order(effort: int) -> None:
    def check(rows: list[list[int]]) -> None:
        found = kendall_w(rows)
        assert found == kendall_w([[number * number for number in row] for row in rows[::-1]])
        if found.value is not None:
            assert 0 <= found.value <= 1
            assert found.figures["chi_square"] == len(rows) * (len(rows[0]) - 1) * found.value
        spearman = mean_spearman(rows).value
        assert spearman is None or -1 - 1e-12 <= spearman <= 1 + 1e-12

    holds(effort, check, rank_rows)


@EFFORT
def test_without_ties_w_and_spearman_say_the_same(effort: int) -> None:
    def check(rows: list[list[int]]) -> None:
        count, w = len(rows), kendall_w(rows).value
        assert w is not None
        assert mean_spearman(rows).value == pytest.approx(float((count * w - 1) / (count - 1)), abs=1e-12)

    holds(effort, check, st.lists(st.permutations([1, 2, 3, 4]), min_size=2, max_size=5))


@EFFORT
def test_distances_between_rounds_are_distances(effort: int) -> None:
    def check(one: list[str], other: list[str]) -> None:
        for apart in (jensen_shannon, total_variation):
            there, back = apart(one, other).value, apart(other, one).value
            assert there == back
            assert there is not None
            assert 0 <= there <= 1
            assert apart(one, one).value == 0
            assert (there == 1) == (not set(one) & set(other))

    holds(effort, check, positions, positions)


@EFFORT
def test_ordered_scales_are_symmetric(effort: int) -> None:
    def check(counts: list[int]) -> None:
        found = van_der_eijk_a(counts)
        assert found == van_der_eijk_a(counts[::-1])
        assert found.value is None or -1 <= found.value <= 1
        graded = [place for place, count in enumerate(counts) for _ in range(count)]
        top = len(counts) - 1
        one = tastle_wierman(graded, 0, top).value
        other = tastle_wierman([top - grade for grade in graded], 0, top).value
        assert one == pytest.approx(other)
        assert one is None or 0 <= one <= 1

    holds(effort, check, st.lists(st.integers(0, 4), min_size=3, max_size=6))


rounds = st.lists(st.fixed_dictionaries({agent: st.sampled_from(["x", "y", "z", None]) for agent in "pqr"}), max_size=4)


@EFFORT
def test_keeping_and_adopting_exclude_each_other(effort: int) -> None:
    def check(given: list[dict[str, str | None]]) -> None:
        adopted, kept, flipped = conformity(given).value, obstinacy(given).value, flip_rate(given).value
        assert (adopted is None) == (kept is None)
        if adopted is not None and kept is not None:
            assert adopted + kept <= 1
        assert flipped is None or 0 <= flipped <= 1
        renamed = [{agent * 2: position for agent, position in one.items()} for one in given]
        assert conformity(renamed).value == adopted

    holds(effort, check, rounds)
