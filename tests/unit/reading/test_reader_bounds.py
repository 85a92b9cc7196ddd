"""Forms at the bounds of the reader's rules: choices that are taken back, ratings, marks, numerals, and adjectives."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.number_words import worded_number
from roundtable.reading.owners import belongs_to_others

CITIES = Asked("choice", ("Lisbon", "Porto", "Faro"))


@pytest.mark.parametrize(
    "text",
    [
        "Ich würde Porto wählen, wenn es billiger wäre.",
        "\u2705 Porto\n\u274c Lisbon\nFaro",
        "Porto is cheap, so that's my choice, unless Lisbon gets cheaper.",
        "Porto is cheap, so that's my choice. Lisbon is near, so that's my choice, with Faro.",
    ],
)
def test_a_choice_that_something_else_limits_is_not_certain(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


def test_a_rating_names_the_highest_one_without_choosing_it() -> None:
    assert read_answer("I choose 3 out of 5.", Asked("choice", ("3", "4", "5"))).value in {"3", None}


@pytest.mark.parametrize(
    ("text", "value"), [("三万", 30_000), ("一万二千", 12_000), ("万", 10_000), ("两亿", 200_000_000)]
)
def test_numerals_of_myriads_are_read(text: str, value: int) -> None:
    assert worded_number(text) == value


def test_only_a_limited_number_of_adjectives_is_skipped() -> None:
    assert belongs_to_others("小明的" + "最终" * 9)


@pytest.mark.parametrize("count", [39, 45, 90, 200])
@pytest.mark.parametrize(
    "unit",
    [
        r"So it may be \boxed{Lisbon} here. ",
        "#### Lisbon\n",
        "<answer>Lisbon</answer>\n",
        "**Final answer:** Lisbon\n\n",
        "I choose Lisbon. ",
        "**Lisbon** ",
        "Lisbon is the answer. ",
    ],
)
def test_the_last_of_very_many_matches_counts_too(unit: str, count: int) -> None:
    for end in ("#### Porto", "The answer is Porto.", r"\boxed{Porto}", "Porto is the answer."):
        reading = read_answer(f"Words about it.\n{unit * count}\n{end}", CITIES)
        assert reading.certainty != "certain" or reading.value == "Porto"


@pytest.mark.parametrize(
    "unit", [r"\boxed{Lisbon}, ", "#### Lisbon\n", "<answer>Lisbon</answer>\n", "**Final answer:** Lisbon\n\n"]
)
def test_a_match_in_the_middle_of_very_many_counts_too(unit: str) -> None:
    text = f"{unit * 60}{unit.replace('Lisbon', 'Porto')}{unit * 60}"
    assert read_answer(text, CITIES).certainty != "certain"


def test_the_last_of_fifty_boxes_is_read() -> None:
    steps = "".join(rf"Step {step} gives \boxed{{{step}}}, so we go on with the rest of it. " for step in range(50))
    assert read_answer(rf"{steps}Hence the answer is \boxed{{99}}.", Asked("number")).value == "99"


def test_an_option_in_bold_is_not_chosen_after_a_hundred_bold_words() -> None:
    text = "**x** " * 120 + "\nIn conclusion, Lisbon is large, **Porto** is near, and I like both."
    assert read_answer(text, CITIES).certainty != "certain"
