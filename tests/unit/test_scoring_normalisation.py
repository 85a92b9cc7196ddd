"""Exact numbers, spellings, words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from roundtable.core.base.words import amount, listing, percent, quoted
from roundtable.errors import ConfigurationError
from roundtable.metrics import basic_agreement, modal_share
from roundtable.scoring import Measure, casefold, exact, normalise, share
from roundtable.scoring.normalisation import match_option
from roundtable.scoring.numbers import exact_or_none


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (3, Fraction(3)),
        ("2/3", Fraction(2, 3)),
        (" 0.75 ", Fraction(3, 4)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-1.5E2", Fraction(-150)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        pytest.param(f"1{'0' * 399}.00000000001", 10**399 + Fraction(1, 10**11), id="beyond every float"),
        pytest.param(f"{'9' * 400}/10000000007", Fraction(10**400 - 1, 10**10 + 7), id="fraction beyond every float"),
    ],
)
def test_numbers_are_read_as_they_are_written(value: object, expected: Fraction) -> None:
    assert exact(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "x",
        "",
        "1/0",
        "1e9999",
        "1_0",
        "0x1",
        True,
        None,
        [1],
        Decimal("NaN"),
        "1/2/3",
        "- 1",
    ],
)
def test_a_value_that_is_not_a_finite_number_is_refused(value: object) -> None:
    assert exact_or_none(value) is None
    with pytest.raises(ConfigurationError, match="the number must be a finite number"):
        exact(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, "101%"])
def test_a_share_lies_between_0_and_1(value: object) -> None:
    with pytest.raises(ConfigurationError, match="q must"):
        share(value, "q")
    assert (share(0), share(1)) == (0, 1)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Alpha", "alpha"),
        ("  alpha.  ", "alpha"),
        ("**Alpha!**", "alpha"),
        ("(A)", "a"),
        ("`A`", "a"),
        ("« Oui »", "oui"),
        ("Straße", "strasse"),
        ("\uff21\uff22\uff23", "abc"),
        ("a\t\n b", "a b"),
        ("ﬁne", "fine"),
        ("C#", "c#"),
        ("C#.", "c#"),
        ("5%", "5%"),
        ("5 ‰!", "5 ‰"),
        ("-5", "-5"),
        ("--5", "-5"),
        ("- 5", "5"),
        ("\N{EN DASH}5", "\N{EN DASH}5"),
        ("-5 km", "-5 km"),
        ("-.5", "-.5"),
        (".5", ".5"),
        ("-x", "x"),
        (".", "."),
        (".NET", "net"),
        ("-", "-"),
        ("-.", "-."),
        ("- -", "- -"),
        ("++", "++"),
        ("찬성한다.", "찬성한다"),
        ("反対です。", "反対です"),
        ("", ""),
        ("\u039f\u03a3", "\u03bf\u03c3"),
    ],
)
def test_case_width_white_space_and_outer_punctuation_do_not_matter(text: str, key: str) -> None:
    assert casefold(text) == key
    assert casefold(key) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("4", "4"),
        ("4.0", "4"),
        ("+4", "4"),
        ("4e0", "4"),
        ("8/2", "4"),
        ("400%", "4"),
        ("400 %", "4"),
        ("(4)", "4"),
        ("1,234.50", "2469/2"),
        ("1,23", "1,23"),
        ("0,125", "0,125"),
        ("-2", "-2"),
        ("\N{MINUS SIGN}2", "-2"),
        ("\N{EN DASH}2", "-2"),
        ("Four", "four"),
        ("5%%", "5%%"),
        ("", ""),
    ],
)
def test_numbers_compare_by_value(text: str, key: str) -> None:
    assert normalise(text, "numeric") == key


@pytest.mark.parametrize(
    ("text", "option"),
    [(" CO ", "CO"), ("co", None), ("tea.", "Tea"), ("4.0", "4"), ("coffee", None), ("N!", "n!"), ("n", "n!")],
)
def test_an_option_is_matched_by_its_exact_spelling_or_as_the_only_alike_one(text: str, option: str | None) -> None:
    assert match_option(text, ("CO", "Co", "Tea", "4", "n!"), "numeric") == option


def test_exact_normalisation_changes_nothing() -> None:
    assert normalise(" A. ", "exact") == " A. "
    assert normalise("abc", str.upper) == "ABC"


def test_basic_agreement_is_one_minus_distinct_over_n() -> None:
    assert basic_agreement(["a", "A.", "b", "c"]) == Fraction(1, 2)
    assert basic_agreement(["a"]) == 1
    assert basic_agreement([]) == 0
    assert basic_agreement([None, None]) == 0
    assert basic_agreement(["a", None, "a"]) == 1
    assert basic_agreement(["a", "A"], normalise="exact") == Fraction(1, 2)


def test_the_modal_share_is_exact_and_undefined_without_positions() -> None:
    assert modal_share(["a", "A", "b", None]) == Measure(Fraction(2, 3))
    assert modal_share([None]) == Measure(None, "there are no positions")
    assert modal_share(["1", "1.0"], normalise="numeric").value == 1


def test_a_measure_without_a_value_is_not_a_number() -> None:
    assert float(Measure(0.25)) == 0.25
    with pytest.raises(ValueError, match="undefined: nobody voted"):
        float(Measure(None, "nobody voted"))


def test_lists_amounts_and_percentages_are_written_in_words() -> None:
    assert (listing([]), listing(["a"]), listing(["a", "b"])) == ("", "a", "a and b")
    assert (amount(2), amount(Fraction(5, 2)), amount(0.25)) == ("2", "2.5", "0.25")
    assert [percent(Fraction(n, 10**4)) for n in (0, 1, 5000, 9999, 10000)] == [
        "0 %",
        "0.1 %",
        "50 %",
        "99.9 %",
        "100 %",
    ]


def test_a_long_spelling_is_cut() -> None:
    assert quoted("a" * 78) == f"'{'a' * 78}'"
    assert quoted("a" * 79) == f"'{'a' * 78}…"
    assert len(quoted("a" * 500)) == 80
