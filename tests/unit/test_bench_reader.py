"""How studies count answers, of which some were not read."""

from __future__ import annotations

import pytest

from roundtable.bench import Question, extract_last
from roundtable.bench.arms import Reader
from roundtable.types import AgentResponse, Reading, Usage

UNREAD = Reading(certainty="unread", rule="none")
SURE = Reading(certainty="certain", rule="whole", place="bottom_line")
NO_ANSWER = Reading(certainty="certain", rule="abstention", value="ABSTAIN")


def said(line: str | None, reading: Reading = SURE, choice: str | None = None) -> AgentResponse:
    return AgentResponse(
        agent_id="a", agent_name="A", position=line or "Either", bottom_line=line, reading=reading, choice=choice
    )


def winner(reader: Reader, *responses: AgentResponse) -> str | None:
    return reader.count("arm", responses, Usage()).answer


DRINK = Question(id="1", question="Which drink?", gold="Tea")
OF_TWO = Question(id="2", question="Which drink?", gold="Tea", options=("Tea", "Milk"))
NUMBER = Question(id="3", question="How many?", gold="4")


@pytest.mark.parametrize(("others", "expected"), [(UNREAD, None), (NO_ANSWER, "Tea")])
def test_unread_answers_may_overturn_a_winner_and_abstentions_may_not(others: Reading, expected: str | None) -> None:
    line = others.value
    assert winner(Reader(DRINK), said("Tea"), said(line, others), said(line, others)) == expected
    chosen = said("Tea", choice="Tea")
    assert winner(Reader(OF_TWO), chosen, said(line, others), said(line, others)) == expected


def test_one_unread_answer_next_to_two_equal_ones_overturns_nothing() -> None:
    assert winner(Reader(DRINK), said("Tea"), said("tea"), said(None, UNREAD)) == "Tea"


def test_texts_without_a_number_are_unread_if_a_number_is_requested() -> None:
    reader = Reader(NUMBER, extract=extract_last("number"))
    assert winner(reader, said("4"), said("Hard to tell"), said("Many")) is None
    assert winner(reader, said("4"), said("I don't know"), said("I don't know")) == "4"


def test_an_answer_that_a_pattern_finds_counts_even_if_the_position_is_unread() -> None:
    reader = Reader(DRINK, extract=extract_last("(tea|milk)"))
    unclear = AgentResponse(agent_id="b", agent_name="B", position="Maybe tea", reading=UNREAD)
    assert winner(reader, said("Tea"), unclear, said(None, UNREAD)) == "Tea"
    assert winner(reader, said("Tea"), said(None, UNREAD), said(None, UNREAD)) is None
