from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.base.text import well_formed
from roundtable.storage.rules import from_micros, json_text, searchable, span_end, to_micros, value_text
from roundtable.types import AgentResponse, JsonValue, ToolCallRecord

ANY_TEXT = st.text(st.characters(), max_size=30)
"""Any Python text, lone surrogates included."""


@given(ANY_TEXT)
def test_cleaned_text_can_be_encoded_and_only_surrogates_change(text: str) -> None:
    cleaned = well_formed(text)
    assert cleaned.encode().decode() == cleaned
    assert well_formed(cleaned) == cleaned
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert cleaned == text


def test_a_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    assert well_formed("\ud83d\ude00 \ude00\ud83d") == "\U0001f600 \ufffd\ufffd"


@given(
    st.dictionaries(ANY_TEXT, st.lists(st.none() | st.booleans() | st.integers() | ANY_TEXT, max_size=3), max_size=3)
)
def test_json_text_stays_the_same_when_it_is_written_again(value: JsonValue) -> None:
    text = json_text(value)
    assert text.encode()
    assert json_text(json.loads(text)) == text


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_survive_exactly_and_in_order(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert (to_micros(moment) < 0) == (moment.year < 1970)


def test_topics_are_compared_without_case_or_form() -> None:
    assert searchable("CAFE\u0301 \uff11\ud800") == searchable("caf\u00e9 1\ufffd")


@pytest.mark.parametrize("seconds", [-0.001, float("nan"), float("-inf")])
def test_a_negative_time_span_is_an_error(seconds: float) -> None:
    with pytest.raises(ValueError, match="zero seconds or more"):
        span_end(datetime.now(UTC), seconds)


def test_an_infinite_time_span_ends_with_the_calendar() -> None:
    assert span_end(datetime.now(UTC), float("inf")) == datetime.max.replace(tzinfo=UTC)


def test_a_surrogate_deep_inside_a_value_is_replaced_and_nothing_else() -> None:
    # Types refuse such text; a copy with changed fields is not checked.
    calls = (ToolCallRecord(tool_name="t").model_copy(update={"input": {"\ud800": [1, "\udfff"]}}),)
    value = AgentResponse(agent_id="ada", agent_name="Ada", position="Tea", tool_calls=calls)
    cleaned = AgentResponse.from_json(value_text(value))
    assert cleaned.tool_calls[0].input == {"\ufffd": [1, "\ufffd"]}
    assert cleaned.model_copy(update={"tool_calls": calls}) == value
