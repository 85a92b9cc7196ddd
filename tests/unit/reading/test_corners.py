"""Rare turns of a reply, each of which has its own branch in the reader."""

import pytest

from roundtable.parsing import Parsed, parse_prose, read_reply
from roundtable.reading import Asked
from roundtable.reading.options import option_table

CITIES = Asked("choice", ("A) Lisbon", "B) Porto"))
NUMBER = Asked("number")


def test_a_kind_of_question_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="yes_no"):
        Asked("words")


def test_a_statement_in_prose_is_the_position() -> None:
    parsed = parse_prose("I weighed both. The answer is Lisbon. It is warm.")
    assert isinstance(parsed, Parsed)
    assert parsed.bottom_line == "Lisbon"


def test_a_repeated_member_with_different_values_is_not_read() -> None:
    assert read_reply('{"choice": "A", "choice": "B"}', CITIES).value is None
    assert read_reply('{"choice": "B", "choice": "B"}', CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    ["\u7b54\u3048\u306fA\u3067\u306f\u306a\u304fB\u3067\u3059", "\u7b54\u3048\u306fA\u3067\u306f\u306a\u304f\u3066B"],
)
def test_an_option_that_is_replaced_by_another_is_not_the_choice(text: str) -> None:
    assert read_reply(text, CITIES).value != "A) Lisbon"


def test_only_a_limited_number_of_scale_words_counts() -> None:
    assert read_reply("5" + " thousand" * 9, NUMBER).value == "5000000000"


def test_a_pair_without_its_opening_bracket_is_a_number() -> None:
    assert read_reply("3,5)", NUMBER).value == "3.5"


def test_an_option_after_a_sign_is_not_read() -> None:
    assert option_table(("5", "10")).leading("-5", 1, 2) is None


def test_the_last_syllable_of_a_word_is_not_a_label() -> None:
    table = option_table(("\uac00) tea", "\ub098) milk"))
    assert table.mentions("\ud68c\uac00 \uc815\ub2f5\uc774\ub2e4", 0, 9) == []


@pytest.mark.parametrize("words", ["Correction: the", "Scratch that. The", "Wait, no. Hm. The"])
def test_an_answer_that_is_repeated_after_its_retraction_counts(words: str) -> None:
    assert read_reply(f"The answer is B. {words} answer is B.", CITIES).value == "B) Porto"


@pytest.mark.parametrize("text", ["The answer is 5; 6.", "So the answer is 5; 6 is too many."])
def test_a_second_number_after_a_semicolon_is_a_second_answer(text: str) -> None:
    assert read_reply(text, NUMBER).certainty != "certain"


@pytest.mark.parametrize("text", ["I choose B?", "The answer is B?"])
def test_a_question_is_not_a_choice(text: str) -> None:
    assert read_reply(text, CITIES).certainty != "certain"


@pytest.mark.parametrize("asked", [NUMBER, Asked()])
def test_a_box_inside_a_sum_is_not_an_answer(asked: Asked) -> None:
    assert read_reply(r"First \boxed{5} + 3 and then more of them, as shown above.", asked).value != "5"
