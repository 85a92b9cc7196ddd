"""Whether a text has the words of a quote: nothing is found that does not stand there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.results.evidence import has_words

PAGE = (
    "The report\u2019s \u201cmain\u201d finding: tea\u00a0keeps for a year\u2014if it is dry.\n"
    "Caf\u00e9s sell 40\u202f% more."
)


@pytest.mark.parametrize(
    "quote",
    [
        'the report\'s "main" finding',
        "TEA KEEPS\n for a year",
        "keeps for a year-if it is dry.",
        "\u201ctea keeps for a year\u201d",
        "tea keeps ... if it is dry",
        "tea keeps [\u2026] caf\u00e9s sell",
        "Cafe\u0301s sell 40 % more",
    ],
)
def test_spelling_makes_no_difference(quote: str) -> None:
    assert has_words(PAGE, quote)


@pytest.mark.parametrize(
    "quote",
    [
        "tea keeps for two years",
        "ea keeps for a yea",
        "caf\u00e9s sell ... tea keeps",  # in another order
        "tea keeps for a year if it is wet",
        "tea ... keeps ... tea",
        "",
        "...",
        " . ",
    ],
)
def test_other_words_are_not_found(quote: str) -> None:
    assert not has_words(PAGE, quote)


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("In 2020, 1,500 people died", "500 people died"),
        ("In 2020, 1.500 people died", "500 people died"),
        ("In 2020, 1'500 people died", "500 people died"),
        ("In 2020, 1\u202f500 people died", "500 people died"),
        ("In 2020, 1,500 people died", ",500 people died"),
        ("prices rose by 3.5 million", "prices rose by 3"),
        ("prices rose by 3.5 million", "prices rose by 3."),
        ("prices rose to 12 500 euros", "prices rose to 12"),
        ("prices rose by 3\u20135 million", "prices rose by 3"),
        ("0.5 % of all visitors", "5 % of all visitors"),
        (".5 % of all visitors", "5 % of all visitors"),
        ("5 % of all visitors", ".5 % of all visitors"),
        ("3/4 of all visitors", "4 of all visitors"),
        ("it was \u22125 degrees in winter", "5 degrees in winter"),
        ("it was 3-5 degrees in winter", "-5 degrees in winter"),
        ("it is known that non-smokers die early", "smokers die early"),
        ("it is known that they die early-ish", "they die early"),
    ],
)
def test_a_part_of_a_number_or_of_a_hyphenated_word_is_not_found(page: str, quote: str) -> None:
    assert not has_words(page, quote)
    assert not has_words(f"Tea. {page} Tea.", quote)


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("In 2020, 500 people died", "500 people died"),
        ("In 2020 500 people died", "500 people died"),
        ("In 2020,1500 people died.500 were saved", "500 were saved"),
        ("the year 2020, 500 people died", "the year 2020"),
        ("prices rose by 3.", "prices rose by 3"),
        ("prices rose by 3, 5 times", "prices rose by 3,"),
        ("1,500 people died", "1,500 people died"),
        (".5 % of all visitors", ".5 % of all visitors"),
        ("it was \u22125 degrees in winter", "-5 degrees in winter"),
        ("they smoke\u2014smokers die early\u2014and know it", "smokers die early"),
        ("they smoke--smokers die early--and know it", "smokers die early"),
        ("they smoke \u2013 smokers die early", "they smoke \u2014 smokers die early"),
    ],
)
def test_whole_numbers_and_words_next_to_dashes_are_found(page: str, quote: str) -> None:
    assert has_words(page, quote)


def test_scripts_without_spaces_have_no_edges_of_words() -> None:
    thai = "\u0e0a\u0e32\u0e40\u0e01\u0e47\u0e1a\u0e44\u0e14\u0e49\u0e2b\u0e19\u0e36\u0e48\u0e07\u0e1b\u0e35"
    assert has_words(thai, thai[2:-2])
    assert has_words("\u1780" * 12, "\u1780" * 9)
    assert has_words("\u1000" * 12, "\u1000" * 9)
    assert has_words("\u8336\u53ef\u4ee5\u4fdd\u5b58\u4e00\u5e74", "\u53ef\u4ee5\u4fdd\u5b58")


@pytest.mark.parametrize(
    "quote",
    [
        " " * 200_000 + "tea keeps for a year",
        "tea keeps for a year" + " " * 200_000 + ".",
        ";" * 200_000 + "tea keeps for a year" + ";" * 200_000,
        "tea keeps" + " [ ... ] " * 50_000 + "for a year",
    ],
)
def test_very_many_punctuation_marks_take_linear_time(quote: str) -> None:
    began = time.perf_counter()
    assert has_words(PAGE, quote)
    assert not has_words(PAGE, quote.replace("year", "year;" + ";" * 200_000 + "x"))
    assert time.perf_counter() - began < 5


WORDS = st.lists(st.text(st.characters(categories=["L"], max_codepoint=0x24F), min_size=1, max_size=6), min_size=3)


@given(WORDS, WORDS, WORDS)
def test_a_passage_is_found_in_its_text_and_not_in_the_rest(
    before: list[str], words: list[str], after: list[str]
) -> None:
    quote = " ".join(words)
    assert has_words(" ".join([*before, *words, *after]), quote)
    rest = " ".join(before)
    assert has_words(rest, quote) == has_words(f" {rest} ", quote)
    assert has_words("", quote) is False


def test_a_short_part_of_a_quote_is_found_after_thousands_of_words_that_contain_it() -> None:
    page = "information nation " * 6_000 + " The ion drifted."
    assert has_words(page, "ion ... drifted")
    assert not has_words(page, "ion ... stood")
