"""Options that are numbers, in short replies that count, and numbers in words, in fences and beside marks."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

COUNTS = Asked("choice", ("A) 3", "B) 5", "C) 7"))
NUMBER = Asked("number")


@pytest.mark.parametrize(
    "text",
    [
        "There are 5 primes.",
        "So there are 5.",
        "That makes 5.",
        "The total is 5.",
        "It is **5**.",
        "five",
        "Five.",
        "fünf",
        "cinq",
        "五",
        "Es sind 5.",
        "Es gibt 5 Primzahlen.",
        "Il y en a 5.",
        "Hay 5 primos.",
        "Ci sono 5 numeri.",
        "Er zijn 5.",
    ],
)
def test_a_short_reply_that_counts_chooses_the_option(text: str) -> None:
    reading = read_answer(text, COUNTS)
    assert (reading.certainty, reading.value) == ("certain", "B) 5")
    assert reading.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "There are 4 primes.",
        "four",
        "There are 5 options.",
        "There are 5 agents.",
        "There are 5 of us.",
        "There are 3 reasons.",
        "There are 5 primes, or 7.",
        "There are 5 primes?",
        "There are not 5.",
        "At least 5.",
        "I rejected 5.",
        "Skip 5.",
        "Round 5.",
        "Level 5 confidence",
        "I agree with 5.",
        "It was 5 before.",
        "two or five",
        "There are 5 bags. Each holds some.",
        "",
        "x" * 100,
    ],
)
def test_other_replies_with_a_number_choose_nothing(text: str) -> None:
    assert read_answer(text, COUNTS).certainty != "certain"


@pytest.mark.parametrize("options", [("1) 3", "2) 5"), ("3", "five"), ("A) 5", "B) 5.0")])
def test_options_that_are_not_plain_numbers_are_not_counted(options: tuple[str, ...]) -> None:
    assert read_answer("There are 5 primes.", Asked("choice", options)).rule != "closing"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Die Antwort ist minus fünf.", "-5"),
        ("The answer is minus five.", "-5"),
        ("```\n42\n```", "42"),
        ("```text\n42\n```\n", "42"),
        (r"The answer is \frac{3}{4} (or 0.75).", "0.75"),
        ("The answer is 0.5 (or 1/2).", "0.5"),
        ("<<20-12=8>>8", "8"),
        ("6*7=<<6*7=42>>42 apples in total.", "42"),
    ],
)
def test_numbers_in_words_and_next_to_marks_are_read(text: str, value: str) -> None:
    reading = read_answer(text, NUMBER)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize("text", ["minus five", "negative five", "moins cinq", "menos cinco"])
def test_a_lone_negative_number_in_words_is_likely(text: str) -> None:
    reading = read_answer(text, NUMBER)
    assert (reading.certainty, reading.value) == ("likely", "-5")


@pytest.mark.parametrize(
    "text",
    [
        "nineteen",
        "forty-two",
        "one",
        "Catch twenty-two",
        "Blink-182",
        "The answer is 5 (or 6).",
        "The answer is 0.5 (or 1/3).",
        "The answer is 5 (or 5 or 6).",
        "```\n42\n43\n```",
        "1.5M",
        "In 2024, there were 42 apples.",
        "Initially I thought 40, but it is 42.",
    ],
)
def test_other_numbers_are_not_certain(text: str) -> None:
    assert read_answer(text, NUMBER).certainty != "certain"
