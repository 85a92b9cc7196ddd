"""A call whose answer was cut off counts as unreported: the provider may bill more than it had reported by then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from roundtable.errors import RoundtableError
from roundtable.gateway.prices import usage_of_failure
from roundtable.providers.anthropic import AnthropicMessages
from roundtable.providers.google import GoogleGenerate
from roundtable.providers.openai_chat import OpenAIChat
from roundtable.providers.openai_responses import OpenAIResponses
from roundtable.types import Usage

if TYPE_CHECKING:
    from roundtable.providers.spec import Dialect
    from roundtable.types import JsonObject

HEADERS = {"content-type": "text/event-stream"}
BROKEN = {"error": {"type": "overloaded_error", "code": 503, "message": "Overloaded"}}


def sse(*events: JsonObject) -> bytes:
    return "".join(f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


START: JsonObject = {
    "type": "message_start",
    "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}},
}
CHUNK: JsonObject = {
    "choices": [{"index": 0, "delta": {"content": "Te"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1},
}
CANDIDATE: JsonObject = {
    "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Te"}]}}],
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11},
}

CUT = [
    pytest.param(AnthropicMessages(), (START, {"type": "error", **BROKEN}), id="anthropic"),
    pytest.param(OpenAIChat("compatible"), (CHUNK, BROKEN), id="openai-chat"),
    pytest.param(GoogleGenerate(), (CANDIDATE, BROKEN), id="google"),
]


def error_of(dialect: Dialect, *events: JsonObject) -> RoundtableError:
    decoder = dialect.stream_decoder(HEADERS)

    def read() -> None:
        decoder.feed(sse(*events))
        decoder.finish()

    with pytest.raises(RoundtableError) as caught:
        read()
    return caught.value


@pytest.mark.parametrize(("dialect", "events"), CUT)
def test_the_usage_of_an_interrupted_answer_is_unreported_beyond_the_reported_part(
    dialect: Dialect, events: tuple[JsonObject, ...]
) -> None:
    error = error_of(dialect, *events)
    assert error.usage == Usage(input_tokens=10, output_tokens=1, calls=1, unreported_calls=1)
    assert usage_of_failure(error, begun=True) == error.usage


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        pytest.param(AnthropicMessages(), START, id="anthropic"),
        pytest.param(OpenAIChat("compatible"), CHUNK, id="openai-chat"),
        pytest.param(GoogleGenerate(), CANDIDATE, id="google"),
    ],
)
def test_the_usage_of_a_stream_that_ends_too_early_is_unreported(dialect: Dialect, event: JsonObject) -> None:
    usage = usage_of_failure(error_of(dialect, event), begun=True)
    assert (usage.calls, usage.unreported_calls) == (1, 1)


def test_the_usage_of_a_failed_response_is_reported_if_it_is_complete() -> None:
    failed: JsonObject = {
        "type": "response.failed",
        "response": {
            "status": "failed",
            "error": {"code": "server_error", "message": "Broken"},
            "usage": {"input_tokens": 10, "output_tokens": 4},
        },
    }
    assert error_of(OpenAIResponses(), failed).usage == Usage(input_tokens=10, output_tokens=4, calls=1)
