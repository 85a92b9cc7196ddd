"""What prompts ask for so that answers can be compared by what they mean."""

from __future__ import annotations

import gc
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snapshots.prompt_views import COMPACT, FULL, NONCE, planned, said, view

from roundtable.core.prompts.compose import _quote_with_tokens as quote_with_tokens
from roundtable.core.prompts.compose import _rendered_answers
from roundtable.prompts import (
    Fence,
    Quotation,
    answer_example,
    answer_format,
    answer_schema,
    comparable,
    estimate_tokens,
    label_quotations,
    quote_answer,
    resolve_comparisons,
)
from roundtable.types import AgentResponse, TurnKey


def quoted(agent: str, number: int = 1, *, shown_as: str = "", own: bool = False, slot: int = 0) -> Quotation:
    response = AgentResponse(agent_id=agent, agent_name=agent.title(), position="So.")
    return Quotation(shown_as or agent.title(), number, own, response, TurnKey(number, "positions", slot))


def test_speakers_with_the_same_name_get_numbers_and_only_the_agent_itself_is_you() -> None:
    named = label_quotations(
        [
            quoted("ada", shown_as="Alex"),
            quoted("bo", shown_as="Alex", slot=1),
            quoted("cy", shown_as="alex", slot=2),
            quoted("dee", shown_as="You", slot=3),
            quoted("eve", own=True, slot=4),
            quoted("ada", 2, shown_as="Alex"),
        ]
    )
    assert [quotation.shown_as for quotation in named] == ["Alex", "Alex 2", "alex 3", "You 2", "Eve", "Alex"]
    assert named[4].label == "round 1, answer of you"
    assert list(comparable(named)) == ["Alex_2", "alex_3", "You_2", "Alex", "you"]


def test_the_last_answers_of_at_most_twelve_others_are_compared_whatever_their_seats() -> None:
    def of(reader: str, seats: list[int]) -> set[str]:
        said = [
            replace(it, response=it.response.model_copy(update={"position": f"{it.response.agent_id}, {it.round}."}))
            for it in (quoted(f"a{place}", number, slot=slot) for number in (1, 2) for slot, place in enumerate(seats))
        ]
        own = quoted("me", own=True, slot=20)
        own = replace(own, response=own.response.model_copy(update={"position": reader}))
        found = comparable(label_quotations([*said, own]))
        assert {quotation.round for label, quotation in found.items() if label != "you"} == {2}
        return {label for label in found if label != "you"}

    seats = list(range(20))
    assert len(of("Tea", seats)) == 12
    assert of("Tea", seats) == of("Tea", seats[::-1])
    assert len({frozenset(of(text, seats)) for text in ("Tea", "Milk", "Mate")}) == 3


def test_labels_are_resolved_to_turns_if_their_answers_were_shown() -> None:
    quotations = [quoted("bo"), quoted("bo", 2), quoted("cy", slot=1), quoted("ada", own=True, slot=2)]
    fence = Fence(NONCE)
    prompt = "\n".join(fence.quote("So.", label=quotation.label) for quotation in quotations if quotation.round == 2)
    prompt += "\n| (round 1, answer of Cy)\n"  # a quoted line is no label
    kept, dropped = resolve_comparisons([("BO", "same"), ("Cy", "same"), ("Zoe", "different")], quotations, prompt)
    assert [(found.turn, found.verdict) for found in kept] == [(TurnKey(2, "positions", 0), "same")]
    assert [text.split("'")[1] for text in dropped] == ["Cy", "Zoe"]
    assert resolve_comparisons([], quotations, prompt) == ((), ())


def test_a_strict_schema_has_a_verdict_or_null_for_every_label() -> None:
    schema = answer_schema(planned(view()), FULL, ("Bo", "you"))
    assert schema is not None
    compared = schema.definition["properties"]["compared"]  # type: ignore[index, call-overload]
    assert compared["required"] == ["Bo", "you"]
    assert compared["additionalProperties"] is False
    assert compared["properties"]["Bo"]["anyOf"] == [
        {"type": "string", "enum": ["same", "different"]},
        {"type": "null"},
    ]


@pytest.mark.parametrize("changes", [{"options": ("a", "b")}, {"stance": "YES"}, {"answer": "text"}])
def test_no_comparison_is_requested_where_it_has_no_meaning(changes: dict[str, Any]) -> None:
    context = planned(view(options=changes.pop("options", None)), **changes)
    text = answer_format(context, FULL, Fence(NONCE), compared={"Bo": "Bo", "you": "you"})
    assert "bottom_line" not in text
    assert "compared" not in text


def test_the_additional_instructions_are_short() -> None:
    context = planned(view())
    full = answer_format(context, FULL, Fence(NONCE), compared={"Bo": "Bo", "you": "you"})
    without = "\n".join(line for line in full.splitlines() if '"bottom_line"' not in line and '"compared"' not in line)
    assert 0 < estimate_tokens(full) - estimate_tokens(without) <= 110


@pytest.mark.parametrize("topic", ["Should we adopt it?", "is 91 a prime number?", "Can robots dream?"])
def test_a_tiny_model_cannot_contradict_its_own_yes_or_no(topic: str) -> None:
    context = planned(view(topic=topic))
    schema = answer_schema(context, COMPACT)
    assert schema is not None
    yes, no = schema.definition["anyOf"]  # type: ignore[misc]
    for side, text in ((yes, "Yes"), (no, "No")):
        assert list(side["properties"]) == ["bottom_line", "position", "reasoning", "confidence"]  # type: ignore[index, call-overload]
        assert side["properties"]["bottom_line"] == {"const": text}  # type: ignore[index, call-overload]
        pattern = side["properties"]["position"]["pattern"]  # type: ignore[index, call-overload]
        assert re.search(pattern, f"{text}, it is a good idea.")  # type: ignore[arg-type]
        assert not re.search(pattern, f"{'No' if text == 'Yes' else 'Yes'}, it is a good idea.")  # type: ignore[arg-type]
    example = answer_example(context, COMPACT)
    assert example is not None
    assert list(json.loads(example[1]))[:2] == ["bottom_line", "position"]


@pytest.mark.parametrize(
    "topic",
    [
        *(
            "What is best?",
            "Is it tea or coffee?",
            "Ist es gut?",
            "Which city?",
            "Can you name the capital of Portugal?",
        ),
        *("May 2024: which films came out?", "Have a look: what is 2+2?", "Do list three risks", "Is it tea/coffee?"),
        *("Could it be told what is best?", "Is it 55, or, 56?", "Is it so? Name one."),
    ],
)
def test_a_tiny_model_answers_other_questions_in_five_words_first(topic: str) -> None:
    context = planned(view(topic=topic))
    schema = answer_schema(context, COMPACT)
    assert schema is not None
    properties: Any = schema.definition["properties"]
    assert next(iter(properties)) == "bottom_line"
    pattern = properties["bottom_line"]["pattern"]
    for line in ("Lisbon", "42 km", "New York City", "a b c d e", "Größe", "3.14", "-5", "1,000", "10:30", "C++", "A*"):
        assert re.search(pattern, line), line
    for line in ("", "a b c d e f", "Lisbon.", 'say "x"', " Lisbon"):
        assert not re.search(pattern, line), line
    assert "bottom_line" in (answer_example(context, COMPACT) or ("", ""))[1]


def test_a_tiny_model_without_a_schema_is_told_to_write_it() -> None:
    loose = COMPACT.model_copy(update={"structured_output": False})
    assert '"bottom_line" (the answer in at most five words)' in answer_format(planned(view()), loose, Fence(NONCE))


def test_a_bottom_line_is_shown_to_the_others_unless_an_option_was_chosen() -> None:
    from roundtable.prompts import quote_answer

    turn = said("Bo", "It is Lisbon.", bottom_line="Lisbon")
    response = turn.answer
    assert isinstance(response, AgentResponse)
    shown = quote_answer(Quotation("Bo", 1, own=False, response=response), Fence(NONCE))
    assert "| Bottom line: Lisbon" in shown
    chosen = response.model_copy(update={"choice": "a"})
    assert "Bottom line" not in quote_answer(Quotation("Bo", 1, own=False, response=chosen), Fence(NONCE))


def test_keys_of_comparisons_are_plain_and_the_prompt_says_for_whom() -> None:
    names = label_quotations(
        [
            quoted("a", shown_as="Ada Lovelace"),
            quoted("b", shown_as="Грета", slot=1),
            quoted("c", shown_as="()", slot=2),
        ]
    )
    by_key = comparable(names)
    assert list(by_key) == ["Ada_Lovelace", "speaker_2", "speaker_3"]
    text = answer_format(planned(view()), FULL, Fence(NONCE), compared={key: q.shown_as for key, q in by_key.items()})
    assert "Write Ada_Lovelace for Ada Lovelace, speaker_2 for Грета" in text
    prompt = "\n".join(Fence(NONCE).quote("So.", label=quotation.label) for quotation in names)
    for label in ("Ada_Lovelace", "Ada Lovelace", "speaker_2", "Грета"):
        kept, dropped = resolve_comparisons([(label, "same")], names, prompt)
        assert (len(kept), dropped) == (1, ()), label


def test_two_answers_of_a_speaker_in_a_round_have_separate_labels() -> None:
    first, second = label_quotations([quoted("ada"), quoted("ada", slot=3)])
    assert (first.label, second.label) == ("round 1, answer of Ada", "round 1, answer 2 of Ada")
    shown = Fence(NONCE).quote("So.", label=first.label)
    kept, dropped = resolve_comparisons([("Ada", "same")], [first, second], shown)
    assert (kept, len(dropped)) == ((), 1)  # the second was cut


def test_a_conclusion_of_a_chair_is_not_compared() -> None:
    response = AgentResponse(agent_id="ada", agent_name="Ada", position="So.")
    own = Quotation("Ada", 1, own=True, response=response, turn=TurnKey(1, "positions", 0))
    chair = Quotation("Ada", 1, own=True, response=response, turn=TurnKey(1, "chair", 0))
    assert comparable([own, chair])["you"] is own


@pytest.mark.parametrize("topic", ["Is “this” a good idea?", "Is 5 € too much?", "Is it good? 🙂"])
def test_signs_in_a_question_change_no_script(topic: str) -> None:
    schema = answer_schema(planned(view(topic=topic)), COMPACT)
    assert "minLength" not in json.dumps(schema and schema.definition)


def test_a_bottom_line_in_a_script_without_spaces_is_held_to_a_length() -> None:
    schema = answer_schema(planned(view(topic="首都はどこですか")), COMPACT)
    assert schema is not None
    properties: Any = schema.definition["properties"]
    assert properties["bottom_line"] == {"type": "string", "minLength": 1, "maxLength": 30}


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.text(max_size=200),
    st.sampled_from(["", "Tea", "q\nEND QUOTE x"]),
    st.integers(1, 9),
)
def test_a_quotation_and_its_tokens_are_the_same_for_every_reader(name, position, reasoning, line, number):
    answer = AgentResponse(
        agent_id="ada", agent_name="Ada", position=position, reasoning=reasoning, bottom_line=line or None
    )
    quotation = Quotation(name, number, own=False, response=answer)
    for nonce in (NONCE, "0" * 16):
        fence = Fence(nonce)
        text = quote_answer(quotation, fence)
        assert text == fence.quote(
            "\n".join(
                part
                for part in (
                    f"Position: {position}",
                    f"Bottom line: {line}" if line else "",
                    "Confidence: 50 %",
                    f"Reasoning: {reasoning}" if reasoning else "",
                )
                if part
            ),
            label=quotation.label,
        )
        assert quote_with_tokens(quotation, fence) == (text, estimate_tokens(text))


def test_the_cached_text_of_an_answer_is_freed_with_the_answer():
    answer = AgentResponse(agent_id="ada", agent_name="Ada", position="Tea")
    gc.collect()
    before = len(_rendered_answers)
    text = quote_answer(Quotation("Ada", 1, own=False, response=answer), Fence(NONCE))
    assert "| Position: Tea" in text
    changed = answer.model_copy(update={"position": "Milk"})
    assert "| Position: Milk" in quote_answer(Quotation("Ada", 1, own=False, response=changed), Fence(NONCE))
    assert len(_rendered_answers) == before + 2
    del answer, changed
    gc.collect()
    assert len(_rendered_answers) == before


def test_if_the_prompt_was_cut_only_the_shown_answers_are_compared():
    def of(place: int) -> Quotation:
        return replace(
            quoted(f"a{place}", slot=place),
            response=quoted(f"a{place}").response.model_copy(update={"position": f"It is {place}."}),
        )

    quotations = label_quotations([*(of(place) for place in range(40)), quoted("me", own=True, slot=40)])
    fence = Fence(NONCE)
    prompt = "\n".join(quote_answer(quotation, fence) for quotation in quotations[18:])
    asked = comparable(quotations, prompt)
    assert len(asked) == 13
    kept, dropped = resolve_comparisons([(key, "same") for key in asked], quotations, prompt)
    assert (len(kept), dropped) == (13, ())
    everybody = [(f"A{place}", "different") for place in range(40)]
    kept, dropped = resolve_comparisons(everybody, quotations, prompt)
    assert (len(kept), len(dropped)) == (22, 18)  # also of those that it was not asked about, if they were shown


def test_answers_with_equal_positions_are_drawn_without_seats():
    def of(place: int, slot: int) -> Quotation:
        said = quoted(f"a{place}").response.model_copy(update={"bottom_line": f"B{place}"})
        return replace(quoted(f"a{place}", slot=slot), response=said)

    seatings = [list(range(20)), list(range(20))[::-1], [*range(10, 20), *range(10)]]
    drawn = [
        set(comparable(label_quotations([of(place, slot) for slot, place in enumerate(seats)]))) for seats in seatings
    ]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(drawn[0]) == 12


def test_an_agent_that_compares_its_own_answer_by_name_is_told_what_it_is_called():
    quotations = label_quotations([quoted("ada"), quoted("bo", own=True, slot=1)])
    prompt = "\n".join(quote_answer(quotation, Fence(NONCE)) for quotation in quotations)
    kept, dropped = resolve_comparisons([("you", "same")], quotations, prompt)
    assert ([found.turn for found in kept], dropped) == ([TurnKey(1, "positions", 1)], ())
    kept, dropped = resolve_comparisons([("Bo", "same")], quotations, prompt)
    assert (kept, dropped) == ((), ("the answer compared as 'Bo' is the agent's own, which is called 'you'",))


def test_a_key_equal_to_the_name_of_a_speaker_means_only_that_speaker():
    quotations = label_quotations(
        [quoted("bo", shown_as="Bo X"), quoted("cy", shown_as="Bo_X", slot=1), quoted("dee", shown_as="bo x.", slot=2)]
    )
    prompt = "\n".join(quote_answer(quotation, Fence(NONCE)) for quotation in quotations)
    asked = comparable(quotations, prompt)
    assert {key: quotation.response.agent_id for key, quotation in asked.items()} == {
        "speaker_1": "bo",
        "Bo_X": "cy",
        "bo_x.": "dee",
    }
    for label, slot in (("Bo X", 0), ("Bo_X", 1), ("bo x.", 2), ("speaker_1", 0)):
        kept, dropped = resolve_comparisons([(label, "same")], quotations, prompt)
        assert ([found.turn.slot for found in kept], dropped) == ([slot], ())


def test_a_number_in_a_key_is_not_a_speaker_with_that_name():
    quotations = [quoted("ada", shown_as="speaker_2"), quoted("bo", shown_as="\u6771", slot=1)]
    assert {key: it.response.agent_id for key, it in comparable(quotations).items()} == {
        "speaker_2": "ada",
        "speaker_2_": "bo",
    }
