"""Thoughts before an answer: drafts in them are never the answer."""

from __future__ import annotations

import pytest

from roundtable.analysis.ai import read_analysis
from roundtable.parsing import Parsed, ParseFailure, parse_answer, parse_prose
from roundtable.reading.thoughts import answer_start, without_thoughts

DRAFT = '{"position": "Porto", "reasoning": "d", "confidence": 0.3}'
ANSWER = '{"position": "Lisbon", "reasoning": "r", "confidence": 0.8}'
SLOPPY = "{'position': 'Lisbon', 'reasoning': 'It's the capital', 'confidence': 0.8,}"
AROUND = [
    ("<think>Perhaps {}? Hm.</think>\n", ""),
    ("<THINK>Perhaps {}? Hm.</THINK>\n", ""),
    ("\n<thinking>\nPerhaps {}\n</thinking>", ""),
    ("<thought>{}</thought>", ""),
    ("<seed:think>{}</seed:think>", ""),
    ("<think></think><think>{}</think>", ""),
    ("[THINK]Perhaps {}?[/THINK]", ""),
    ("<|channel>thought\n{}<channel|>", ""),
    ("Perhaps {}? Hm.\n</think>\n\n", ""),
    ("<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>", "<|return|>"),
    ("<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>", ""),
]


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_drafts_in_thoughts_are_not_the_answer(before: str, after: str) -> None:
    thoughts = before.replace("{}", DRAFT)
    for answer in (ANSWER, SLOPPY):
        parsed = parse_answer(f"{thoughts}{answer}{after}")
        assert isinstance(parsed, Parsed), parsed
        assert (parsed.position, parsed.confidence) == ("Lisbon", 0.8)
    failure = parse_answer(f"{thoughts}Lisbon.{after}")
    assert isinstance(failure, ParseFailure)
    assert failure.reason == 'no JSON object with "position" was found'
    for parsed in (parse_prose(f"{thoughts}Lisbon.{after}"), parse_answer(f"{thoughts}Lisbon.{after}", "text")):
        assert isinstance(parsed, Parsed), parsed
        assert "Lisbon." in (parsed.position, parsed.text)


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_a_vote_in_thoughts_is_not_the_vote(before: str, after: str) -> None:
    text = f'{before.replace("{}", """{"choice": "A"}""")}B{after}'
    ballot = parse_answer(text, "ballot", options=("A", "B"))
    assert isinstance(ballot, Parsed), ballot
    assert ballot.choice == "B"


@pytest.mark.parametrize(
    "text", [f"<think>Perhaps {DRAFT}? No, since", f"<think>{DRAFT}</think>", f"<think>{DRAFT[:40]}"]
)
def test_thoughts_alone_contain_no_answer(text: str) -> None:
    failure = parse_answer(text)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == "there were thoughts and no answer behind them"


@pytest.mark.parametrize(
    "text",
    [f"<think>Hm.\n```json\n{ANSWER}\n```\n", f"{ANSWER}\n</think>\n", f"<|channel|>analysis<|message|>{ANSWER}"],
)
def test_an_answer_at_the_end_counts_without_a_proper_end_of_the_thoughts(text: str) -> None:
    parsed = parse_answer(text)
    assert isinstance(parsed, Parsed), parsed
    assert parsed.position == "Lisbon"


@pytest.mark.parametrize(
    "text",
    [
        '{"position": "Cut everything before </think>.", "confidence": 1}',
        "Some models write </think> after their thoughts.",
        "A template ends like this:\n<think>\n</think>\nThen the answer follows.",
        "The channel <|channel|>final<|message|> has the answer.",
    ],
)
def test_tags_that_an_answer_mentions_are_part_of_it(text: str) -> None:
    assert answer_start(text) == 0
    assert without_thoughts(text) == text


def test_a_level_in_the_thoughts_of_a_reader_does_not_count() -> None:
    reading = read_analysis('<think>Perhaps</think>"agreementLevel": 0.9', (), groupthink=False)
    assert reading is not None
    assert reading.agreement_level == 0.9
    assert read_analysis('<think>"agreementLevel": 0.2</think>They differ.', (), groupthink=False) is None
    assert read_analysis('<think>{"agreementLevel": 0.2}</think>They differ.', (), groupthink=False) is None
