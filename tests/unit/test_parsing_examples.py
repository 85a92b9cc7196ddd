"""Objects that a text shows only as an example or as a template of the form."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.parsing.answers import Parsed, ParseFailure, parse_answer, parse_prose
from roundtable.parsing.examples import without_examples
from roundtable.reading import Asked

OPTIONS = ("A) Lisbon", "B) Porto")
CITIES = Asked("choice", OPTIONS)


@pytest.mark.parametrize(
    "text",
    [
        'For instance, an answer might look like this:\n```json\n{"choice": "A) Lisbon"}\n```',
        'As an example: {"choice": "A) Lisbon"}',
        'For example, {"choice": "A) Lisbon"}',
        'Example output: {"position": "x", "choice": "B) Porto"}',
        '**Example:**\n\n```json\n{"position": "x", "choice": "B) Porto"}\n```',
        'Sample response:\n{"position": "x", "choice": "B) Porto"}',
        'The JSON should look like {"choice": "A) Lisbon", "position": "..."}',
        'The answer could look like this:\n{"position": "x", "choice": "A) Lisbon"}',
        'Your reply must be as follows: {"position": "x", "choice": "A) Lisbon"}',
        'Here is the format: {"position": "...", "reasoning": "...", "choice": "A) Lisbon"}',
        'The required format:\n{"position": "", "choice": "A) Lisbon"}',
        'Zum Beispiel: {"position": "x", "choice": "B) Porto"}',
        'Die Antwort könnte so aussehen:\n{"position": "x", "choice": "B) Porto"}',
        'Par exemple : {"position": "x", "choice": "B) Porto"}',
        'Por ejemplo: {"position": "x", "choice": "B) Porto"}',
        'Ad esempio: {"position": "x", "choice": "B) Porto"}',
        '例如:{"position": "x", "choice": "B) Porto"}',
        'Example 1: {"position": "x", "choice": "A) Lisbon"}\nExample 2: {"position": "x", "choice": "B) Porto"}',
        'As an example: {"position": "x", "choice": "A) Lisbon',
    ],
)
def test_an_announced_example_is_not_an_answer(text: str) -> None:
    parsed = parse_answer(text, "position", options=OPTIONS)
    assert isinstance(parsed, ParseFailure)
    assert parsed.text == text
    assert read_reply(text, CITIES).certainty == "unread"
    last = parse_prose(text, OPTIONS)
    assert not isinstance(last, Parsed) or last.choice is None


@pytest.mark.parametrize(
    "text",
    [
        'Here is my answer in the requested format: {"position": "x", "choice": "B) Porto"}',
        'Here is the JSON output: {"position": "x", "choice": "B) Porto"}',
        'Here is the format: {"position": "x", "choice": "B) Porto"}',
        'JSON format:\n```json\n{"position": "x", "choice": "B) Porto"}\n```',
        'My answer should look like this: {"position": "x", "choice": "B) Porto"}',
        'As an example of my view, I vote so: {"position": "x", "choice": "B) Porto"}',
        'For example, Lisbon is warm.\n{"position": "x", "choice": "B) Porto"}',
        'Examples show it.\n\n{"position": "x", "choice": "B) Porto"}',
        'For example, Lisbon is warm\n{"position": "x", "choice": "B) Porto"}',
        'As an example: {"position": "x", "choice": "A) Lisbon"}\nMy answer: {"position": "y", "choice": "B) Porto"}',
        '{"position": "For example: it is near the sea.", "choice": "B) Porto"}',
    ],
)
def test_an_answer_is_not_an_example(text: str) -> None:
    parsed = parse_answer(text, "position", options=OPTIONS)
    assert isinstance(parsed, Parsed)
    assert parsed.choice == "B) Porto"
    assert read_reply(text, CITIES).value == "B) Porto"


def test_an_example_of_a_ballot_is_not_a_ballot() -> None:
    text = 'For example: {"ranking": ["A) Lisbon", "B) Porto"]}'
    assert isinstance(parse_answer(text, "ranking", options=OPTIONS), ParseFailure)
    assert isinstance(parse_answer(text.removeprefix("For example: "), "ranking", options=OPTIONS), Parsed)


def test_a_text_without_a_form_keeps_its_examples() -> None:
    text = 'As an example: {"choice": "A) Lisbon"}'
    parsed = parse_answer(text, "text")
    assert isinstance(parsed, Parsed)
    assert parsed.text == text
    assert without_examples("For example, tea.") == "For example, tea."
