"""Whole replies: the form, JSON of other forms and prose are read by the same rules."""

from __future__ import annotations

import json

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked

CITIES = Asked("choice", ("A) Lisbon", "B) Porto", "C) Braga"))
NUMBER, OPEN, YES_NO = Asked("number"), Asked(), Asked("yes_no")


def value_of(text: str, asked: Asked) -> str | None:
    """Return what is read for certain."""
    reading = read_reply(text, asked)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"position": "It is cheap.", "choice": "B"}', id="the form"),
        pytest.param('Here it is:\n```json\n{"position": "It is cheap.", "choice": "b) porto"}\n```', id="a fence"),
        pytest.param('{"position": "It is cheap.", "choice": "Porto", "confidence": 0.', id="a form cut off"),
        pytest.param("{'position': 'It is cheap.', 'choice': 'Porto',}", id="the syntax of Python"),
        pytest.param('{"position": "The answer is Porto."}', id="a position alone"),
        pytest.param("The answer is Porto.", id="prose"),
        pytest.param("<think>Lisbon?</think>Porto", id="prose behind thoughts"),
        pytest.param('<think>{"choice": "A"}</think>{"position": "x", "choice": "B"}', id="a form behind thoughts"),
        pytest.param('{"answer": "B"}', id="another name"),
        pytest.param('{"result": {"Answer": "B) Porto"}}', id="an object within an object"),
        pytest.param('[{"vote": "Porto"}]', id="a list of one"),
        pytest.param('{"finalAnswer": "(B)", "reason": "A is dear"}', id="a name in camel case"),
        pytest.param('{"antwort": "B", "begründung": "A ist teuer"}', id="German names"),
        pytest.param('{"答案": "B", "理由": "A很贵"}', id="Chinese names"),
        pytest.param('{"output": "{\\"answer\\": \\"B\\"}"}', id="JSON within a text"),
        pytest.param('{"answer": {"label": "B", "confidence": 0.9}}', id="a label with its confidence"),
        pytest.param('{"answer": "{B}"}', id="braces that are not JSON"),
        pytest.param("\ud800 The answer is Porto.", id="a surrogate"),
    ],
)
def test_a_choice_is_read_in_any_form(text: str) -> None:
    assert value_of(text, CITIES) == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="a brace"),
        pytest.param("[]", id="an empty list"),
        pytest.param("null", id="null"),
        pytest.param('{"answer": null}', id="an answer of null"),
        pytest.param('{"answer": ["A", "B"]}', id="a list of two"),
        pytest.param('{"answer": "A", "vote": "B"}', id="two members that differ"),
        pytest.param('{"answer": "A"} {"answer": "B"}', id="two objects that differ"),
        pytest.param('{"a": "A", "b": "B"}', id="members without such names"),
        pytest.param('{"options": ["A"], "confidence": 0.9}', id="members that are no answers"),
        pytest.param('{"reason": "B is cheap"}', id="a reason alone"),
        pytest.param('{"answer": "A or B"}', id="two options in one member"),
        pytest.param('{"position": "It is cheap.", "choice": "A", "choice": "B"}', id="a choice given twice"),
        pytest.param('{"answer": ' * 50 + '"B"' + "}" * 50, id="an answer too deep"),
        pytest.param("[" * 5_000, id="endless lists"),
        pytest.param('{"answer": "B", "x": "' + "y" * 30_000 + '"}', id="a long object"),
        pytest.param('{"answer": "\ud800"}', id="a surrogate in JSON"),
    ],
)
def test_a_text_without_a_single_answer_is_not_read(text: str) -> None:
    assert value_of(text, CITIES) is None


@pytest.mark.parametrize(
    ("text", "asked", "value"),
    [
        ('{"result": {"number": "37"}}', NUMBER, "37"),
        ('{"result": {"seats-left": "37"}}', NUMBER, None),
        ('{"answer": 37}', NUMBER, "37"),
        ('{"answer": 37.5}', NUMBER, "37.5"),
        ('{"total": 37}', NUMBER, "37"),
        ("37", NUMBER, "37"),
        ('{"position": "It is 37.", "bottom_line": "37"}', NUMBER, "37"),
        ('{"answer": true}', YES_NO, "yes"),
        ('{"answer": false}', YES_NO, "no"),
        ('{"answer": "no"}', YES_NO, "no"),
        ('{"answer": "Lisbon"}', OPEN, "Lisbon"),
        ('{"position": "It is Lisbon.", "bottom_line": "Lisbon"}', OPEN, "Lisbon"),
        ('{"answer": "I don\'t know."}', OPEN, "ABSTAIN"),
    ],
)
def test_other_answers_are_read_in_json_too(text: str, asked: Asked, value: str | None) -> None:
    assert value_of(text, asked) == value


def test_only_a_limited_number_of_members_and_objects_is_read() -> None:
    many = {f"answer{number}": "A" for number in range(100)} | {"vote": "B"}
    assert value_of(json.dumps(many), CITIES) == "A) Lisbon"
    assert value_of('{"answer": "A"} ' + '{"answer": "B"} ' * 16, CITIES) == "B) Porto"
