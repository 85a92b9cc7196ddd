"""Whatever a server answers, an error of ours comes out."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from roundtable.errors import RoundtableError
from roundtable.providers.failures import redact, retry_after_of
from roundtable.providers.openai_chat import OpenAIChat
from roundtable.types import ChatResponse

DIALECT = OpenAIChat("acme")
ERROR_NAMES = ["error", "message", "code", "type", "detail", "msg", "metadata", "raw"]
ANSWER_NAMES = ["choices", "delta", "content", "finish_reason", "index", "usage", "prompt_tokens", "refusal", "audio"]
CALL_NAMES = [
    "tool_calls",
    "function_call",
    "function",
    "name",
    "arguments",
    "id",
    "annotations",
    "url_citation",
    "url",
]
NAMES = [*ERROR_NAMES, *ANSWER_NAMES, *CALL_NAMES, "citations", "transcript"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
BODIES = st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode("utf-8", "replace"))
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "date", "x-request-id", "x-should-retry", "content-type"]),
    st.text(max_size=30) | st.integers().map(str),
    max_size=4,
)


@given(status=st.integers(100, 999), headers=HEADERS, body=BODIES)
def test_parse_error_gives_an_error_and_never_raises(status, headers, body):
    error = DIALECT.parse_error(status, headers, body)
    assert isinstance(error, RoundtableError)
    assert len(str(error)) <= 2048
    json.dumps(error.to_dict())


@given(headers=HEADERS, body=BODIES)
def test_parse_response_gives_a_response_or_an_error_of_the_library(headers, body):
    try:
        response = DIALECT.parse_response(200, headers, body)
    except RoundtableError:
        return
    assert isinstance(response, ChatResponse)
    assert ChatResponse.from_json(response.to_json()) == response


@given(headers=HEADERS, bodies=st.lists(BODIES, max_size=6), cut=st.integers(1, 60))
def test_a_stream_gives_a_response_or_an_error_of_the_library(headers, bodies, cut):
    stream = b"".join(b"data: " + body.replace(b"\n", b" ") + b"\n\n" for body in bodies)
    decoder = DIALECT.stream_decoder(headers)
    text = ""
    try:
        for at in range(0, len(stream), cut):
            text += "".join(delta.text for delta in decoder.feed(stream[at : at + cut]))
        response = decoder.finish()
    except RoundtableError:
        return
    assert response.text == text


@given(body=st.binary(max_size=200), cut=st.integers(1, 60))
def test_bytes_that_are_not_a_stream_give_an_error_of_the_library(body, cut):
    decoder = DIALECT.stream_decoder({})
    try:
        for at in range(0, len(body), cut):
            decoder.feed(body[at : at + cut])
        decoder.finish()
    except RoundtableError:
        return


@given(value=st.text(max_size=40), date=st.text(max_size=40))
def test_any_header_text_gives_a_wait_or_none(value, date):
    found = retry_after_of({"retry-after": value, "date": date})
    assert found is None or 0 < found < float("inf")


@given(key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60), data=st.data())
def test_redaction_removes_any_key_anywhere(key, data):
    words = data.draw(st.lists(st.just(key) | st.text("abc ", max_size=10), max_size=5))
    error = redact(RoundtableError("-".join(words) or "x"), key)
    assert key not in error.message
    assert error.message == redact(error, key).message
