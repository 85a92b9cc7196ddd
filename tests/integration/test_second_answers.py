"""What counts of a first answer that was not read for certain, and of the answer to the question that follows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.engine_kit import table_of

import roundtable as rt
from roundtable.testing import ScriptedModel
from roundtable.types import AgentResponse, Budget

LABELLED = ["A) Lisbon", "B) Porto", "C) Faro"]


async def debated(replies: dict[str, list[str]], rounds: int = 1, **more: Any) -> rt.DebateResult:
    table_options = {name: more.pop(name) for name in ("budget",) if name in more}
    async with table_of(ScriptedModel(replies), *replies, **table_options) as table:
        return await table.debate("Which city?", rounds=rounds, **more)


def form(position: str, line: str | None = None, **more: object) -> str:
    return json.dumps({"position": position, "bottom_line": line, "confidence": 0.8, **more})


def of(result: rt.DebateResult, name: str) -> AgentResponse:
    return next(response for response in result.rounds[-1].responses if response.agent_id == name)


@pytest.mark.parametrize("second", ["68", "**68**", "The answer is 68.", form("It is 68.", "68")])
async def test_the_answer_to_a_second_question_is_the_answer(second: str) -> None:
    result = await debated({"ada": [form("So the answer is 68", "408"), second], "bo": [form("68", "68")]})
    assert (of(result, "ada").bottom_line, result.answer) == ("68", "68")
    assert of(result, "ada").reading.asked_again


async def test_an_answer_that_points_back_is_counted_as_what_it_points_to() -> None:
    result = await debated(
        {
            "ada": [form("Lisbon", "Lisbon"), form("My position is unchanged.", "No change.")],
            "bo": [form("Porto", "Porto"), form("I agree with Ada.", "I agree with Ada")],
            "cy": [form("Lisbon", "Lisbon"), form("Lisbon", "Lisbon")],
        },
        rounds=2,
    )
    assert [response.bottom_line for response in result.rounds[-1].responses] == ["Lisbon"] * 3
    assert result.answer == "Lisbon"


async def test_the_letters_of_a_second_question_are_accepted_in_a_full_form_too() -> None:
    replies = {"ada": ["Lisbon or Porto, both are fine.", form("x", choice="B")], "bo": ["Porto"]}
    result = await debated(replies, options=["Lisbon", "Porto", "Faro"])
    assert (of(result, "ada").choice, result.answer) == ("Porto", "Porto")


async def test_a_paid_answer_counts_as_unread_if_the_agent_cannot_be_asked_again() -> None:
    replies = {"ada": ["Both A and C"], "bo": ["Both A and C"], "cy": ["B"]}
    result = await debated(replies, options=LABELLED, budget=Budget(max_calls=3))
    assert (result.answer, result.decision.withheld, sorted(result.decision.unread)) == (
        None,
        "B) Porto",
        ["ada", "bo"],
    )


@pytest.mark.parametrize("text", ['{"choice":"A"}\n{"choice":"C"}', form("x", choice=["A", "C"])])
async def test_two_choices_stay_unread_and_withhold_a_winner(text: str) -> None:
    result = await debated({"ada": [text, text], "bo": [text, text], "cy": ["B"]}, options=LABELLED)
    assert (result.answer, sorted(result.decision.unread)) == (None, ["ada", "bo"])


@pytest.mark.parametrize("position", ["", None, [], {}])
async def test_a_clear_choice_counts_without_a_position(position: object) -> None:
    text = json.dumps({"choice": "A", "position": position})
    result = await debated({"ada": [text], "bo": [text], "cy": ["B"]}, options=LABELLED)
    assert (result.answer, of(result, "ada").position) == ("A) Lisbon", "A")


async def test_a_choice_in_a_list_of_one_is_the_choice() -> None:
    result = await debated({"ada": [form("x", choice=["Porto"])], "bo": ["Porto"]}, options=LABELLED)
    assert result.answer == "B) Porto"


@pytest.mark.parametrize("vote", ["the northern one", ["Lisbon", "Porto"]])
async def test_a_ballot_without_an_option_is_cast_and_unread(vote: object) -> None:
    ballot = json.dumps({"choice": vote})
    replies = {"ada": ["A", ballot, ballot], "bo": ["B", "B"], "cy": ["A", ballot, ballot]}
    result = await debated(replies, options=LABELLED, vote=True, decide="plurality")
    assert (result.answer, sorted(result.decision.unread)) == (None, ["ada", "cy"])


async def test_a_second_answer_can_confirm_the_first_one() -> None:
    text = "By the river. Rents are low there, and it is near."
    result = await debated({"ada": [text, "No change."], "bo": [form("By the river", "By the river")]})
    assert of(result, "ada").position == text


async def test_a_warning_about_a_replaced_choice_is_dropped() -> None:
    replies = {"ada": ["B", "No change."], "bo": ["A", "I agree with Ada."]}
    result = await debated(replies, rounds=2, options=LABELLED)
    notes = [note for turn in result.rounds[-1].turns for note in turn.result.warnings]
    assert not [note for note in notes if "no option" in note]


async def test_marks_of_a_chat_template_are_not_part_of_an_answer() -> None:
    result = await debated({"ada": ["By the river</s>"] * 2, "bo": [form("By the river", "By the river")]})
    assert of(result, "ada").position == "By the river"
