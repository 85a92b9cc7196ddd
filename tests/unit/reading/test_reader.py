"""The reader as a whole: thoughts, refusals and references are told from answers, and nothing is cut."""

from __future__ import annotations

import pytest

from roundtable.reading import ABSTAIN, READER_VERSION, Asked, read_answer

CITIES = Asked("choice", ("Lisbon", "Porto"))
KINDS = [CITIES, Asked("number"), Asked("yes_no"), Asked("formula"), Asked()]


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
@pytest.mark.parametrize("text", ["<think>The answer is Porto.", "<|channel|>analysis<|message|>The answer is Porto."])
def test_thoughts_without_an_end_hold_no_answer(asked: Asked, text: str) -> None:
    reading = read_answer(text, asked)
    assert (reading.certainty, reading.rule, reading.value) == ("unread", "thoughts", None)


@pytest.mark.parametrize(
    "text",
    [
        "<think>Lisbon? The answer is Lisbon.</think>Porto",
        "<think>The answer is Lisbon.</think>\n\nThe answer is Porto.",
        "The answer is Lisbon? No.\n</think>\nPorto",
        "<|channel|>analysis<|message|>The answer is Lisbon.<|end|><|start|>assistant<|channel|>final<|message|>Porto",
    ],
)
def test_drafts_in_thoughts_do_not_count_and_the_span_is_in_the_whole_text(text: str) -> None:
    reading = read_answer(text, CITIES)
    assert reading.value == "Porto"
    assert reading.span is not None
    assert text[slice(*reading.span)] == "Porto"


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
@pytest.mark.parametrize(
    "text",
    [
        "ABSTAIN",
        "I don't know.",
        "I'm sorry, but I can't help with that.",
        "Ich kann dabei nicht helfen.",
        "我不知道。",
    ],
)
def test_a_refusal_is_an_abstention(asked: Asked, text: str) -> None:
    reading = read_answer(text, asked)
    assert (reading.certainty, reading.rule, reading.value) == ("certain", "abstention", ABSTAIN)


def test_a_refusal_that_also_answers_is_an_answer() -> None:
    assert read_answer("I can't say much about it. The answer is Porto.", CITIES).value == "Porto"
    assert read_answer("I don't know for sure. The answer is 42.", Asked("number")).value == "42"


def test_a_stated_refusal_is_an_abstention_too() -> None:
    reading = read_answer("My answer is: I don't know.", Asked())
    assert (reading.certainty, reading.value) == ("certain", ABSTAIN)


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
@pytest.mark.parametrize(
    ("text", "name"),
    [("I stand by my answer.", "you"), ("No change.", "you"), ("I agree with Ada.", "Ada"), ("同上", "you")],
)
def test_an_answer_that_only_points_back_is_unread_and_says_where(asked: Asked, text: str, name: str) -> None:
    reading = read_answer(text, asked)
    assert (reading.certainty, reading.rule, reading.points_to) == ("unread", "reference", name)


def test_an_answer_that_points_back_and_answers_is_read() -> None:
    assert read_answer("I agree with Ada: the answer is Porto.", CITIES).value == "Porto"
    assert read_answer("I stand by my answer. The answer is 42.", Asked("number")).value == "42"


def test_each_reading_carries_the_version_of_the_rules() -> None:
    assert read_answer("Porto", CITIES).version == READER_VERSION


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
def test_a_blank_text_is_unread(asked: Asked) -> None:
    for text in ("", " ", "\n\t"):
        assert read_answer(text, asked).certainty == "unread"


def test_the_end_of_a_very_long_text_is_read() -> None:
    text = "We weigh one more point. " * 20_000
    assert read_answer(f"{text}\n\nThe answer is Porto.", CITIES).value == "Porto"
    assert read_answer(f"{text}\n\nThe answer is 42.", Asked("number")).value == "42"
