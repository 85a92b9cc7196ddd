"""Lists of options, options under foreign labels, and options that are denied behind their names."""

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked

PLAIN = Asked("choice", ("Lisbon", "Porto", "Braga"))
LABELLED = Asked("choice", ("A) Lisbon", "B) Porto", "C) Braga"))


@pytest.mark.parametrize(
    "text",
    [
        "**Answer:** B) Porto\n\nIt is cheap, and near.",
        "Answer: B) Porto",
        "The answer is B) Porto.",
        "B) Porto",
        "Final answer: (B) Porto.",
        "2. Porto",
        "A) Lisbon\nB) Porto\nC) Braga\n\nPorto",
    ],
)
def test_a_label_that_only_the_writer_gives_does_not_hide_an_option(text: str) -> None:
    assert read_reply(text, PLAIN).value == "Porto"


@pytest.mark.parametrize("asked", [PLAIN, LABELLED])
@pytest.mark.parametrize(
    "text",
    [
        "1. Lisbon\n2. Porto\n3. Braga",
        "Lisbon\nPorto\nBraga",
        "Ranking: 1. Porto 2. Lisbon 3. Braga",
        "Pros:\n- Porto\nCons:\n- Braga",
        "\u2611 Porto\n\u2610 Lisbon",
        "Lisbon is not; Braga is not.",
        "Lisbon is not better than Porto.",
    ],
)
def test_a_list_and_a_denial_choose_no_option(text: str, asked: Asked) -> None:
    assert read_reply(text, asked).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "(A) (B) (C)",
        "(A) is not correct; (B) is not.",
        "A is not true, B is true, C is not true.",
        "None of A, B or C is right.",
        "Ich w\u00e4hle Porto nicht.",
    ],
)
def test_labels_that_are_denied_or_listed_choose_no_option(text: str) -> None:
    assert read_reply(text, LABELLED).certainty != "certain"


def test_an_option_after_a_list_and_a_blank_line_is_the_choice() -> None:
    assert read_reply("A) Lisbon\nB) Porto\nC) Braga\n\nB", LABELLED).value == "B) Porto"
