"""Numbers in texts: exact values in all usual notations, and nothing where digits are part of a name or a date."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roundtable.reading.numbers import find_numbers, plain, whole_number

NOT_SINGLE = "not single"
AMBIGUOUS = "ambiguous"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("42", 42, id="digits"),
        pytest.param("-5", -5, id="a minus sign"),
        pytest.param("−5", -5, id="a minus sign of Unicode"),
        pytest.param("+5", 5, id="a plus sign"),
        pytest.param("0.5", Fraction(1, 2), id="a decimal"),
        pytest.param(".5", Fraction(1, 2), id="a decimal without a zero"),
        pytest.param("0,5", Fraction(1, 2), id="a decimal comma"),
        pytest.param("1,000", 1000, id="thousands with a comma"),
        pytest.param("1,234,567.8", Fraction(12345678, 10), id="thousands with commas and a decimal"),
        pytest.param("1.234.567", 1234567, id="thousands with points"),
        pytest.param("1.234.567,8", Fraction(12345678, 10), id="thousands with points and a decimal comma"),
        pytest.param("1.234,5", Fraction(12345, 10), id="thousands with a point and a decimal comma"),
        pytest.param("1 234 567", 1234567, id="thousands with spaces"),
        pytest.param("1 234,5", Fraction(12345, 10), id="thousands with a space and a decimal comma"),
        pytest.param("1'234.5", Fraction(12345, 10), id="thousands with an apostrophe"),
        pytest.param("12,34,567", 1234567, id="Indian groups"),
        pytest.param("1{,}000", 1000, id="a comma of a formula"),
        pytest.param(r"1\,000", 1000, id="a thin space of a formula"),
        pytest.param("3.5e6", 3_500_000, id="a power with e"),
        pytest.param("1.2E-3", Fraction(12, 10_000), id="a negative power with E"),
        pytest.param("3 x 10^4", 30_000, id="times ten to a power"),
        pytest.param(r"1.2 \times 10^{-3}", Fraction(12, 10_000), id="a power in a formula"),
        pytest.param("5 × 10³", 5000, id="a raised power"),
        pytest.param("5·10⁻²", Fraction(5, 100), id="a raised negative power"),
        pytest.param("3/4", Fraction(3, 4), id="a fraction"),
        pytest.param("-3/4", Fraction(-3, 4), id="a negative fraction"),
        pytest.param(r"\frac{3}{4}", Fraction(3, 4), id="a fraction of a formula"),
        pytest.param(r"\dfrac{3}{4}", Fraction(3, 4), id="a shown fraction"),
        pytest.param(r"\frac34", Fraction(3, 4), id="a fraction without braces"),
        pytest.param(r"-\frac{3}{4}", Fraction(-3, 4), id="a negative fraction of a formula"),
        pytest.param("½", Fraction(1, 2), id="a sign for a half"),
        pytest.param("2½", Fraction(5, 2), id="a mixed number with a sign"),
        pytest.param("2 1/2", Fraction(5, 2), id="a mixed number"),
        pytest.param("2-1/2", Fraction(5, 2), id="a mixed number with a hyphen"),
        pytest.param(r"2\frac{1}{2}", Fraction(5, 2), id="a mixed number of a formula"),
        pytest.param("$5", 5, id="a dollar"),
        pytest.param("-$5", -5, id="a negative dollar"),
        pytest.param("$-5", -5, id="a dollar and a minus sign"),
        pytest.param("€1.50", Fraction(3, 2), id="euros"),
        pytest.param("٤٢", 42, id="Arabic digits"),
        pytest.param("４２", 42, id="full-width digits"),
    ],
)
def test_a_notation_has_its_exact_value(written: str, value: Fraction | int) -> None:
    (found,) = find_numbers(written)
    assert (found.value, found.is_single, found.is_ambiguous) == (value, True, False)
    (within,) = find_numbers(f"It is {written} now.")
    assert within.value == value


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("A4", id="a name"),
        pytest.param("x_1", id="an index"),
        pytest.param("x^2", id="a power"),
        pytest.param("10^3", id="a bare power"),
        pytest.param("m²", id="a raised digit"),
        pytest.param("3.10.2", id="a version"),
        pytest.param("12/05/2024", id="a date"),
        pytest.param("2024-05-12", id="a date with hyphens"),
        pytest.param("12:30", id="a time"),
        pytest.param("3rd", id="a place"),
        pytest.param("COVID-19", id="a name with a hyphen"),
        pytest.param("covid-19-like", id="a part of a word"),
        pytest.param("1/0", id="a fraction without a value"),
        pytest.param(r"\frac{1}{0}", id="a formula without a value"),
        pytest.param("2 1/0", id="a mixed number without a value"),
        pytest.param("1e999", id="an endless power"),
        pytest.param("9" * 301, id="endless digits"),
        pytest.param("no digits", id="words"),
        pytest.param("", id="an empty text"),
    ],
)
def test_digits_that_are_not_a_number_are_left_out(written: str) -> None:
    assert [found.value for found in find_numbers(written)] == []


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("at least 5", id="a lower bound"),
        pytest.param("more than 5", id="more than"),
        pytest.param("> 5", id="a sign of more"),
        pytest.param("≤5", id="a sign of at most"),
        pytest.param("not 5", id="a negation"),
        pytest.param("5-7", id="a range"),
        pytest.param("5 to 7", id="a range in words"),
        pytest.param("5 or 7", id="two numbers"),
        pytest.param("between 5 and 7", id="between"),
        pytest.param("5 bis 7", id="a German range"),
        pytest.param("5 或 7", id="two numbers in Chinese"),
        pytest.param("mindestens 5", id="a German bound"),
        pytest.param("au moins 5", id="a French bound"),
        pytest.param("至少5", id="a Chinese bound"),
        pytest.param("±5", id="an error"),
    ],
)
def test_bounds_ranges_and_negations_are_not_single_numbers(written: str) -> None:
    assert not any(found.is_single for found in find_numbers(written))


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("5 km", "km"),
        ("5km/h", "km/h"),
        ("5%", "%"),
        (r"5\%", "%"),
        ("5 ‰", "‰"),
        ("$5", "$"),
        ("5 €", "€"),
        ("EUR 5", "EUR"),
        ("20 °C", "°C"),
        (r"5 \text{ km}", "km"),
        ("5 square metres", "square metres"),
        ("5", ""),
        ("5 and more", ""),
        ("5 because", ""),
        ("$5$", ""),
        ("$5 note", "$"),
        ("5 \\", ""),
    ],
)
def test_the_unit_after_a_number_is_kept(written: str, unit: str) -> None:
    (found,) = find_numbers(written)
    assert found.unit == unit


def test_a_point_before_three_digits_may_separate_thousands() -> None:
    assert [found.is_ambiguous for found in find_numbers("1.234")] == [True]
    assert [found.is_ambiguous for found in find_numbers("0.234 and 1.23 and 1.2345")] == [False] * 3


def test_the_numbers_of_a_list_are_not_its_contents() -> None:
    assert [int(found.value) for found in find_numbers("1. 50 apples\n2. 60 pears\n**3**. 70 plums")] == [50, 60, 70]
    assert [int(found.value) for found in find_numbers("8.")] == [8]


def test_spans_hold_the_number_and_ends_the_unit() -> None:
    text = "It costs $1,250.50 per 3 apples."
    assert [text[slice(*found.span)] for found in find_numbers(text)] == ["$1,250.50", "3"]
    assert [text[found.span[0] : found.end] for found in find_numbers(text)] == ["$1,250.50", "3 apples"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("42", 42),
        (" 42. ", 42),
        ("3 apples", 3),
        ("$1,250.50", Fraction(2501, 2)),
        ("50%", 50),
        ("3 of 4", None),
        ("about 3", None),
        ("3 and 4", None),
        ("three", None),
        ("", None),
    ],
)
def test_a_whole_text_may_be_one_number(written: str, value: Fraction | int | None) -> None:
    found = whole_number(written)
    assert (found and found.value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(42), "42"),
        (Fraction(0), "0"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 50), "0.02"),
        (Fraction(-1, 3), "-1/3"),
        (Fraction(10**20), "100000000000000000000"),
        (Fraction(1, 10**20), "0.00000000000000000001"),
    ],
)
def test_a_value_is_shown_as_a_plain_decimal_or_in_lowest_terms(value: Fraction, shown: str) -> None:
    assert plain(value) == shown
