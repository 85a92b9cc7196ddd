"""The form in lines without JSON, and JSON that lacks quotes or its position."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.parsing.answers import Parsed, ParseFailure, parse_answer
from roundtable.parsing.lines_form import form_in_lines
from roundtable.reading import Asked, read_answer

OPTIONS = ("A) Lisbon", "B) Porto")
CITIES, OPEN = Asked("choice", OPTIONS), Asked()


@pytest.mark.parametrize(
    ("text", "position", "line"),
    [
        (
            "Position: There are 42 apples.\nReasoning: 6*7.\nBottom line: 42\nConfidence: 0.9",
            "There are 42 apples.",
            "42",
        ),
        (
            "**Position:** There are 42 apples.\n**Reasoning:** 6*7.\n\n**Bottom line:** 42\n**Confidence:** 0.9",
            "There are 42 apples.",
            "42",
        ),
        (
            "- **Position**: It is Canberra.\n- **Bottom line**: Canberra\n- **Confidence**: 0.9",
            "It is Canberra.",
            "Canberra",
        ),
        (
            "<think>Sydney?</think>position: It is Canberra.\nbottom_line: Canberra\nstance: null\nconfidence: 0.9",
            "It is Canberra.",
            "Canberra",
        ),
        ("bottom_line: 42\nconfidence: 0.9", "42", "42"),
    ],
)
def test_a_form_in_lines_is_read(text: str, position: str, line: str) -> None:
    parsed = parse_answer(text, "position")
    assert isinstance(parsed, Parsed)
    assert (parsed.position, parsed.bottom_line, parsed.confidence) == (position, line, 0.9)
    assert parsed.repaired
    assert read_reply(text, OPEN).value == line


@pytest.mark.parametrize("text", ["bottom_line: 42", '{"bottom_line": "42"}', '```json\n{"Bottom-Line": 42}\n```'])
def test_a_bottom_line_alone_is_an_answer(text: str) -> None:
    parsed = parse_answer(text, "position")
    assert isinstance(parsed, Parsed)
    assert (parsed.position, parsed.bottom_line) == ("42", "42")


def test_parts_of_a_form_in_lines_contradict_each_other_as_in_json() -> None:
    text = "Position: The capital is Canberra.\nBottom line: Sydney\nConfidence: 0.9"
    assert read_reply(text, OPEN).certainty == "likely"
    chosen = "Position: The answer is Lisbon.\nChoice: B) Porto\nConfidence: 0.9"
    assert read_reply(chosen, CITIES).certainty == "likely"
    assert read_reply(chosen.replace("Lisbon", "Porto"), CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        "Bottom line: Lisbon is warm.",
        "Position: Lisbon is warm.",
        "Position: Lisbon.\nPosition: Porto.\nBottom line: Lisbon",
        "I think so.\nPosition: Lisbon.\nBottom line: Lisbon",
        "Bottom line: Lisbon\nBut Porto is cheaper.",
        "Lisbon",
        "",
        "Position: " + "Lisbon. " * 3000 + "\nBottom line: Lisbon",
    ],
)
def test_other_lines_are_not_a_form(text: str) -> None:
    assert form_in_lines(text) is None


def test_reasons_may_have_several_lines() -> None:
    text = "Reasoning: Rents decide.\n- Porto is cheaper.\nBottom line: Porto"
    assert form_in_lines(text) == {
        "position": None,
        "reasoning": "Rents decide.\n- Porto is cheaper.",
        "bottom_line": "Porto",
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"choice": A) Lisbon}',
        '```json\n{"choice": A) Lisbon}\n```',
        '{"vote": Lisbon}',
        "<choice>A) Lisbon</choice>",
        "Rents decide.\n<choice>Lisbon</choice>",
    ],
)
def test_a_choice_without_quotes_or_in_tags_is_read(text: str) -> None:
    reading = read_reply(text, CITIES)
    assert (reading.certainty, reading.value) == ("certain", "A) Lisbon")
    parsed = parse_answer(text, "position", options=OPTIONS)
    assert isinstance(parsed, Parsed)
    assert parsed.choice == "A) Lisbon"


@pytest.mark.parametrize(
    "text",
    [
        '{"rejected": A) Lisbon}',
        '{"choice": not A}',
        '{"choice": A or B}',
        '{"choice": A) Lisbon, "why": warm}',
        "<choice>A) Lisbon or B) Porto</choice>",
        "<choice>A</choice>\n<choice>B</choice>",
        '{"bottom_line": "Lis',
        '{"bottom_line": "A", "rejected": true}',
    ],
)
def test_other_texts_without_quotes_stay_unread(text: str) -> None:
    parsed = parse_answer(text, "position", options=OPTIONS)
    assert isinstance(parsed, ParseFailure) or parsed.choice is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Final Answer: The final answer is 42. I hope it is correct.", "42"),
        ("Final Answer: The final answer is $42$. I hope it is correct.", "42"),
        ("Final Answer: The final answer is Canberra. I hope it is correct.", "Canberra"),
        ("Answer: My answer is Canberra.", "Canberra"),
        ("Antwort: Die richtige Antwort ist Canberra.", "Canberra"),
    ],
)
def test_a_statement_within_a_statement_counts_once(text: str, value: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: 40. The answer is 42.",
        "Answer: 40, so the answer is 42.",
        "Answer: Sydney. Final answer: Canberra",
    ],
)
def test_two_statements_contradict_each_other(text: str) -> None:
    assert read_answer(text, OPEN).certainty != "certain"
