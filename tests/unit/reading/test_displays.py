"""Formulas over several lines: they are read like formulas in one line, and no further than that."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.displays import with_displays_in_line

NUMBER, OPEN, FORMULA = Asked("number"), Asked("open"), Asked("formula")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The answer is:\n\\[\n25\n\\]", "25"),
        ("$$\n25\n$$", "25"),
        ("Therefore, the total is:\n\n\\[\n20 + 5 = 25\n\\]", "25"),
        ("So\n\n$$\nx = 25\n$$\n", "25"),
        ("So the total number of apples is\n\\[\n25\n\\]\n", "25"),
        ("First:\n\\[\n5 \\times 5 = 25\n\\]\nThen we add 5:\n\\[\n25 + 5 = 30\n\\]\n", "30"),
        ("The answer is:\n\n$$\n25 \\text{ apples}\n$$\n\nSo that's it.", "25"),
        ("**Final Answer:**\n\n\\[\n25\n\\]", "25"),
        ("### Final Answer\n\\[\n\\boxed{25}\n\\]", "25"),
        ("The total cost is:\n\\[\n\\$25\n\\]", "25"),
        ("\\begin{equation}\nx = 25\n\\end{equation}", "25"),
        ("\\[\n\\begin{aligned}\nx &= 20 + 5 \\\\\n&= 25\n\\end{aligned}\n\\]", "25"),
        ("$$\n25\n$$\n\n$$\n26\n$$", None),
        ("We know:\n\\[\nx = 5\n\\]\nWhat is y?", None),
        ("The answer is\n\n\\[\n25 \\text{ or } 26\n\\]", None),
        ("Therefore, the total is:\n\\[\n20 + 5\n\\]", None),
        ("The total is at least:\n\\[\n25\n\\]", None),
    ],
)
def test_a_number_in_a_formula_over_several_lines_is_read(text: str, value: str | None) -> None:
    reading = read_answer(text, NUMBER)
    assert (reading.value if reading.certainty == "certain" else None) == value


@pytest.mark.parametrize("text", ["$$\nx^2 + 1\n$$", "The answer is:\n\n\\[\nx^2 + 1\n\\]"])
@pytest.mark.parametrize("asked", [OPEN, FORMULA])
def test_a_formula_over_several_lines_is_read(text: str, asked: Asked) -> None:
    assert read_answer(text, asked).value == "x^2 + 1"


@pytest.mark.parametrize(
    "text",
    [
        "no formula\nat all",
        "\\[\n\n5",
        "$$\n5\n\\]\n",
        "\\[\n" + "1 + " * 300 + "\n\\]",
        "\\]\n\\[",
    ],
)
def test_text_that_is_not_a_formula_of_several_lines_is_unchanged(text: str) -> None:
    assert with_displays_in_line(text, 0) == text


def test_the_place_of_an_answer_stays_the_same() -> None:
    text = "The answer is:\n\\[\n25\n\\]"
    span = read_answer(text, NUMBER).span
    assert span is not None
    assert text[slice(*span)] == "25"
