"""What a prompt holds, what is left out when it does not fit, and when that is too much."""

from __future__ import annotations

from itertools import pairwise

import pytest
from snapshots.prompt_views import ADA, COMPACT, FULL, NONCE, SKEPTIC, TOPIC, ask, planned, said, view

from roundtable.errors import ConfigurationError, ContextTooLong
from roundtable.prompts import (
    Fence,
    Quotation,
    answer_example,
    answer_schema,
    compose_system,
    compose_user,
    estimate_tokens,
    load_mode_prompt,
    render_layers,
)
from roundtable.types import AgentResponse, ContextPolicy, DebateContext, ModelProfile, Note, Turn, Visible

SMALL = ModelProfile(context_tokens=3_000)


def rounds(count: int, words: int = 100) -> list[Turn]:
    """Make answers of two others over some rounds, each recognisable by its first word."""
    return [
        said(name, f"{name}-{number} " + "word " * words, round_=number, slot=slot, reasoning="")
        for number in range(1, count + 1)
        for slot, name in enumerate(("Bo", "Cy"), start=1)
    ]


def user(profile: ModelProfile, context: DebateContext) -> str:
    return ask(ADA.model_copy(update={"max_tokens": 100}), profile, context)[-1].content


def shown(text: str, count: int) -> list[str]:
    names = [f"{name}-{number}" for number in range(1, count + 1) for name in ("Bo", "Cy")]
    return [name for name in names if f"{name} word" in text]


def test_all_earlier_answers_are_shown_in_order_when_they_fit() -> None:
    text = user(FULL, planned(view(*rounds(5))))
    names = shown(text, 5)
    assert len(names) == 10
    assert all(text.index(one) < text.index(two) for one, two in pairwise(names))
    assert "left out" not in text


def test_the_oldest_answers_are_left_out_first_and_their_number_is_stated() -> None:
    text = user(SMALL, planned(view(*rounds(9))))
    names = shown(text, 9)
    left_out = 18 - len(names)
    assert 0 < left_out < 18
    assert names == shown(user(FULL, planned(view(*rounds(9)))), 9)[left_out:]
    assert f"Answers given so far ({left_out} left out for length):" in text


def test_the_newest_answers_are_left_out_first_if_the_policy_says_so() -> None:
    policy = ContextPolicy(keep="earliest")
    names = shown(user(SMALL, planned(view(*rounds(9)), context=policy)), 9)
    assert names[:2] == ["Bo-1", "Cy-1"]
    assert "Cy-9" not in names


def test_a_policy_can_allow_fewer_tokens_than_the_window_has() -> None:
    policy = ContextPolicy(max_tokens=300)
    assert shown(user(FULL, planned(view(*rounds(9)), context=policy)), 9) == ["Cy-9"]
    generous = ContextPolicy(max_tokens=100_000)
    assert len(shown(user(SMALL, planned(view(*rounds(9)), context=generous)), 9)) < 18


def test_a_note_is_shown_even_if_no_answer_fits() -> None:
    text = user(FULL, planned(view(*rounds(1)), context=ContextPolicy(max_tokens=1)))
    assert "Answers given so far (2 left out for length):" in text


@pytest.mark.parametrize("profile", [ModelProfile(context_tokens=600), COMPACT], ids=["full", "compact"])
def test_a_question_that_does_not_fit_is_refused_before_any_call(profile: ModelProfile) -> None:
    with pytest.raises(ContextTooLong, match=f"context window of {profile.context_tokens}") as raised:
        user(profile, planned(view(topic="word " * 1_900)))
    assert raised.value.hint


def test_the_answer_and_the_system_prompt_count_against_the_window() -> None:
    def compose(**more: object) -> str:
        asked: dict[str, object] = {"max_tokens": 100, "system": ""} | more
        return compose_user(view(), ModelProfile(context_tokens=500), Fence(NONCE), [], **asked)  # type: ignore[arg-type]

    assert TOPIC in compose()
    with pytest.raises(ContextTooLong):
        compose(max_tokens=400)
    with pytest.raises(ContextTooLong):
        compose(system="word " * 300)


def test_the_estimate_for_other_scripts_is_at_least_one_token_for_two_bytes() -> None:
    assert estimate_tokens("") == 1
    assert estimate_tokens("a" * 350) == 101
    assert estimate_tokens("я" * 100) == 101
    assert estimate_tokens("日" * 100) == 151
    assert estimate_tokens("\U0001f600" * 100) == 201
    assert estimate_tokens("\ud800") >= 1


def test_a_compact_prompt_shows_the_latest_line_of_each_other_speaker() -> None:
    turns = [*rounds(3, words=2), said("Ada", "mine", round_=3)]
    lines = [line for line in user(COMPACT, planned(view(*turns))).splitlines() if " says: " in line]
    assert lines == ['Bo says: "Bo-3 word word"', 'Cy says: "Cy-3 word word"']


def test_a_compact_prompt_asks_its_question_after_its_context() -> None:
    note = Note(label="your perspective", text="Technical, at length", brief="Technical.")
    lines = user(COMPACT, planned(view(), notes=(note,))).splitlines()
    assert lines[0] == 'Your perspective: "Technical."'
    assert lines[1].startswith("Question: ")


def test_a_compact_prompt_shows_the_earliest_lines_if_the_policy_says_so() -> None:
    policy = ContextPolicy(keep="earliest")
    text = user(COMPACT, planned(view(*rounds(3, words=2)), context=policy))
    assert "Bo-1" in text
    assert "Bo-3" not in text


def test_two_speakers_with_the_same_name_are_distinct() -> None:
    turns = [said("Bo", "first"), said("Cy", "second", slot=1).model_copy(update={"agent_name": "Bo"})]
    text = user(COMPACT, planned(view(*turns)))
    assert 'Bo says: "first"\nBo 2 says: "second"' in text


def test_a_compact_prompt_stays_within_its_length_for_any_answers() -> None:
    speakers = [said(f"S{number}", "longer " * 60, slot=number) for number in range(9)]
    context = view(*speakers, agents=view().agents)
    messages = ask(SKEPTIC, COMPACT, planned(context))
    assert estimate_tokens("\n".join(message.content for message in messages)) <= 350
    assert messages[-1].content.count(" says: ") >= 2
    longer = planned(view(*speakers, topic="word " * 250))
    assert " says: " not in ask(SKEPTIC, COMPACT, longer)[-1].content


def test_quotation_marks_in_a_compact_prompt_close_nothing() -> None:
    context = planned(view(said("Bo", 'He said "obey"', slot=1), topic='Is "it" so?'))
    assert user(COMPACT, context).startswith("Question: \"Is 'it' so?\"\nBo says: \"He said 'obey'\"\n")


def test_long_names_and_facts_are_cut_in_a_compact_prompt() -> None:
    turn = said("Bo", "p").model_copy(update={"agent_name": "B" * 200})
    results = ({"request_id": "r", "success": True, "result": "fact " * 200},)
    text = user(COMPACT, planned(view(turn, context_results=results)))
    assert f'{"B" * 39}… says: "p"' in text
    assert max(map(len, text.splitlines())) <= 310


def test_a_custom_system_prompt_replaces_only_the_opening() -> None:
    context = planned(view(mode_prompt="Extra."))
    own = SKEPTIC.model_copy(update={"system_prompt": "You are a notary."})
    text = compose_system(own, context, FULL, Fence(NONCE))
    assert text.startswith("You are a notary.\n\nYou speak as the Skeptic. You look for")
    assert "\n\nExtra.\n\n" in text
    assert text.endswith(Fence(NONCE).rule)
    assert compose_system(own, context, COMPACT, Fence(NONCE)).startswith("You are a notary. You look for")


def test_a_persona_without_a_description_is_named() -> None:
    named = ADA.model_copy(update={"persona": SKEPTIC.persona.model_copy(update={"description": ""})})  # type: ignore[union-attr]
    assert "You speak as the Skeptic. Stay" in compose_system(named, view(), FULL, Fence(NONCE))
    assert compose_system(named, view(), COMPACT, Fence(NONCE)).startswith("You are Ada. Skeptic Text in quotes")


def test_a_turn_without_a_plan_still_has_a_prompt() -> None:
    bare = view(topic="Tea?")
    assert "ROLE" not in compose_system(ADA, bare, FULL, Fence(NONCE))
    quotation = Quotation("Bo", 1, own=False, response=AgentResponse(agent_id="bo", agent_name="Bo", position="Yes"))
    text = compose_user(bare, FULL, Fence(NONCE), [quotation], max_tokens=10, system="")
    assert "(round 1, answer of Bo)" in text
    assert "Reasoning" not in text


def test_the_task_replaces_a_missing_brief() -> None:
    context = planned(view(), brief="", task="Say yes or no.")
    assert "You are Ada. Say yes or no. Text" in compose_system(ADA, context, COMPACT, Fence(NONCE))


def test_instructions_of_the_opening_differ_from_later_ones() -> None:
    prompt = load_mode_prompt("collaborative").role("participant")
    opening, later = (render_layers(prompt, opening=opening) for opening in (True, False))
    assert "MY PERSPECTIVE" in opening
    assert "MY PERSPECTIVE" not in later
    assert "SYNTHESIS PROPOSAL" in later
    assert "FOCUS" not in later
    assert render_layers(prompt, opening=False, focused=True).endswith(f"FOCUS\n{prompt.focus}")
    with pytest.raises(ConfigurationError, match="mode 'no such mode' has no file with instructions"):
        load_mode_prompt("no such mode")


def test_a_schema_asks_for_the_same_as_the_prompt() -> None:
    def definition(profile: ModelProfile, **changes: object) -> dict[str, object]:
        schema = answer_schema(planned(view(options=changes.pop("options", None)), **changes), profile)
        assert schema is not None
        assert schema.definition["required"] == list(schema.definition["properties"])
        assert schema.definition["additionalProperties"] is False
        return schema.definition["properties"]

    full = definition(FULL)
    assert list(full) == ["position", "reasoning", "bottom_line", "confidence", "stance"]
    assert full["confidence"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert definition(FULL, options=("a", "b"))["choice"] == {"type": "string", "enum": ["a", "b"]}
    compact = definition(COMPACT, options=("a", "b"))
    assert list(compact) == ["choice", "position", "reasoning", "confidence"]
    assert compact["confidence"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert list(definition(FULL, answer="ballot", options=("a",))) == ["choice", "reasoning"]
    assert definition(FULL, answer="ranking")["ranking"] == {"type": "array", "items": {"type": "string"}}
    options = {"type": "string", "enum": ["a", "b"]}
    ranked = definition(COMPACT, answer="ranking", options=("a", "b"))["ranking"]
    assert ranked == {"type": "array", "items": options, "minItems": 1}
    assert definition(FULL, answer="scores")["scores"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert definition(FULL, answer="scores", options=("a",))["scores"]["required"] == ["a"]
    assert list(definition(FULL, answer="plan")) == ["goal", "strategy", "successCriteria"]
    assert answer_schema(planned(view(), answer="text"), FULL) is None


@pytest.mark.parametrize("topic", ["Ist Fernarbeit möglich?", "Нужны ли микросервисы?", "क्या यह सही है?"])
def test_a_compact_answer_may_be_in_any_script_with_spaces(topic: str) -> None:
    import re

    schema = answer_schema(planned(view(topic=topic)), COMPACT)
    assert schema is not None
    pattern = schema.definition["properties"]["position"]["pattern"]
    for sentence in ("Ja, für kleine Gruppen.", "Да, они нужны всем.", "हाँ, यह सही है.", "Yes, 5% of us do!"):
        assert re.search(pattern, sentence), sentence
    others = ("Yes.", "yes, we do it.", "Yes, we do", 'Yes, we "do" it.', "Yes, we do it. And more.", "Is it so?")
    for other in (*others, "Yes, we do it,.", "Yes, we do it-!", "Yes, we - do it.", "Yes, we do -it."):
        assert not re.search(pattern, other), other


def test_a_compact_answer_in_a_script_without_spaces_is_held_to_a_length() -> None:
    schema = answer_schema(planned(view(topic="マイクロサービスは必要ですか")), COMPACT)
    assert schema is not None
    assert schema.definition["properties"]["position"] == {"type": "string", "minLength": 2, "maxLength": 96}


def test_only_a_tiny_model_asked_for_a_position_is_shown_an_example() -> None:
    assert answer_example(planned(view()), FULL) is None
    assert answer_example(planned(view(), answer="ballot"), COMPACT) is None
    assert answer_example(planned(view()), COMPACT) is not None


def test_own_answers_are_marked_and_rounds_follow_the_visible_answers() -> None:
    turns = [said("Ada", "one", round_=1), said("Bo", "two", round_=2, slot=1)]
    backwards = [Visible(turn=turn.key, shown_as=turn.agent_name) for turn in reversed(turns)]
    text = user(FULL, planned(view(*turns), sees=backwards))
    assert text.index("(round 2, answer of Bo)\n| Position: two") < text.index(
        "(round 1, answer of you)\n| Position: one"
    )
