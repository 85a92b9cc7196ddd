"""What no recording shows: answers made by hand from the shapes the providers document, none of them recorded."""

from __future__ import annotations

import json

import pytest

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ContextTooLong,
    RoundtableError,
)
from roundtable.providers import BUILTIN_SPECS

DIALECTS = {name: spec.dialect for name, spec in BUILTIN_SPECS.items()}


def sse(*events):
    return b"".join(
        f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def decode(name, body):
    decoder = DIALECTS[name].stream_decoder({})
    deltas = [delta for start in range(0, len(body), 7) for delta in decoder.feed(body[start : start + 7])]
    return decoder.finish(), deltas


ANTHROPIC_START = {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}}
ANTHROPIC_TEXT = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
]


@pytest.mark.parametrize(
    ("status", "kind", "headers", "error", "wait"),
    [
        (429, "rate_limit_error", {"retry-after": "17"}, APIRateLimitError, 17.0),
        (529, "overloaded_error", {}, APINetworkError, None),
        (500, "api_error", {}, APINetworkError, None),
        (504, "timeout_error", {}, APITimeoutError, None),
        (402, "billing_error", {}, APIAuthError, None),
        (403, "permission_error", {}, APIAuthError, None),
        (413, "request_too_large", {}, AgentError, None),
    ],
)
def test_errors_of_anthropic_are_mapped(status, kind, headers, error, wait):
    details = {"type": kind, "message": "No.", "details": None}
    body = json.dumps({"type": "error", "error": details, "request_id": "req_9"}).encode()
    found = DIALECTS["anthropic"].parse_error(status, headers, body)
    assert type(found) is error
    assert (found.retry_after_s, found.request_id, "No." in str(found)) == (wait, "req_9", True)
    assert found.retryable is (status in {429, 529, 500, 504})


@pytest.mark.parametrize("request_id", [None, "req_1"])
def test_an_error_of_anthropic_in_the_middle_of_a_stream_is_raised(request_id):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": request_id}
    with pytest.raises(APINetworkError, match="Overloaded") as caught:
        decode("anthropic", sse(ANTHROPIC_START, *ANTHROPIC_TEXT, error))
    assert (caught.value.retryable, caught.value.request_id) == (True, request_id)


def test_a_paused_turn_of_anthropic_asks_to_be_continued():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    events = [
        ANTHROPIC_START,
        {"type": "content_block_start", "index": 0, "content_block": search},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query": "x"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    found, _ = decode("anthropic", sse(*events))
    assert (found.finish_reason, found.text) == ("pause", "")
    assert found.to_message().native.items == ({**search, "input": {"query": "x"}},)
    assert found.server_calls[0].input == {"query": "x"}


def test_a_failed_search_of_anthropic_is_shown_and_cites_nothing():
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    content = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": failed},
        {"type": "text", "text": "I could not search."},
    ]
    body = json.dumps({"type": "message", "content": content, "stop_reason": "end_turn", "usage": {}}).encode()
    found = DIALECTS["anthropic"].parse_response(200, {}, body)
    assert (found.citations, found.server_calls[0].output) == ((), failed)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([ANTHROPIC_START, ANTHROPIC_START], "repeats"),
        ([ANTHROPIC_START, *ANTHROPIC_TEXT, *ANTHROPIC_TEXT], "repeats"),
        ([ANTHROPIC_START, *ANTHROPIC_TEXT, ANTHROPIC_TEXT[1]], "not belong to an open block"),
    ],
)
def test_a_stream_of_anthropic_that_repeats_itself_is_refused(events, problem):
    with pytest.raises(AgentError, match=problem):
        decode("anthropic", sse(*events))


def test_events_of_openai_are_distinguished_by_their_numbers():
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    answer = {"status": "completed", "output": [message], "usage": {}}
    events = [
        {"type": "response.output_text.delta", "delta": "H", "sequence_number": 0},
        {"type": "response.output_text.delta", "delta": "i", "sequence_number": 1},
        {"type": "response.completed", "response": answer, "sequence_number": 2},
    ]
    doubled = [event for event in events for _ in range(2)]
    found, deltas = decode("openai", sse(*doubled))
    assert (found.text, "".join(delta.text for delta in deltas)) == ("Hi", "Hi")
    with pytest.raises(AgentError, match="out of order"):
        decode("openai", sse(events[1], events[0], events[2]))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("server_error", APINetworkError),
        ("rate_limit_exceeded", APIRateLimitError),
        ("insufficient_quota", APIAuthError),
        ("invalid_prompt", AgentError),
    ],
)
def test_a_failed_response_of_openai_is_an_error(code, error):
    answer = {"status": "failed", "error": {"code": code, "message": "No."}, "output": []}
    with pytest.raises(RoundtableError) as caught:
        decode("openai", sse({"type": "response.failed", "response": answer}))
    assert type(caught.value) is error
    with pytest.raises(error):
        DIALECTS["openai"].parse_response(200, {}, json.dumps(answer).encode())


def test_a_rate_limit_of_openai_and_its_remainder_are_read():
    headers = {"retry-after-ms": "1500", "x-request-id": "req_1"}
    error = {"message": "Rate limit reached", "type": "tokens", "param": None, "code": "rate_limit_exceeded"}
    found = DIALECTS["openai"].parse_error(429, headers, json.dumps({"error": error}).encode())
    assert (type(found), found.retry_after_s) == (APIRateLimitError, 1.5)
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    answer = json.dumps({"status": "completed", "output": [message]}).encode()
    left = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
    }
    limit = DIALECTS["openai"].parse_response(200, left, answer).rate_limit
    assert (limit.requests_limit, limit.requests_remaining, limit.requests_reset_s) == (500, 499, 0.12)


def test_the_remaining_limits_of_anthropic_are_read():
    headers = {
        "anthropic-ratelimit-tokens-remaining": "1000",
        "anthropic-ratelimit-tokens-reset": "2026-01-02T03:04:15Z",
        "date": "Fri, 02 Jan 2026 03:04:05 GMT",
    }
    content = [{"type": "text", "text": "Hi"}]
    body = json.dumps({"type": "message", "content": content, "stop_reason": "end_turn"}).encode()
    limit = DIALECTS["anthropic"].parse_response(200, headers, body).rate_limit
    assert (limit.tokens_remaining, limit.tokens_reset_s) == (1000, 10.0)


@pytest.mark.parametrize(
    ("status", "word", "error"),
    [
        (503, "UNAVAILABLE", APINetworkError),
        (500, "INTERNAL", APINetworkError),
        (504, "DEADLINE_EXCEEDED", APITimeoutError),
        (401, "UNAUTHENTICATED", APIAuthError),
    ],
)
def test_errors_of_google_are_mapped(status, word, error):
    body = json.dumps([{"error": {"code": status, "message": "No.", "status": word}}]).encode()
    assert type(DIALECTS["google"].parse_error(status, {}, body)) is error
    with pytest.raises(error):
        decode("google", body)


def test_a_wait_in_the_body_is_read():
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [info]}
    found = DIALECTS["google"].parse_error(429, {}, json.dumps({"error": error}).encode())
    assert (type(found), found.retry_after_s) == (APIRateLimitError, 34.5)


def test_bare_json_in_a_stream_of_google_is_read_as_an_error():
    chunk = {"candidates": [{"content": {"parts": [{"text": "Hal"}]}}]}
    error = json.dumps({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}, indent=2)
    body = b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" + error.encode()
    with pytest.raises(APINetworkError, match="Overloaded"):
        decode("google", body)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("PROHIBITED_CONTENT", "content_filter"), (8, "content_filter"), (2, "length"), ("NEW", "other"), (99, "other")],
)
def test_finish_reasons_of_google_are_read_by_name_and_number(reason, finish):
    body = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": reason}]}
    assert DIALECTS["google"].parse_response(200, {}, json.dumps(body).encode()).finish_reason == finish


def test_a_prompt_that_is_too_long_has_its_own_error():
    body = b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8"}}'
    assert type(DIALECTS["anthropic"].parse_error(400, {}, body)) is ContextTooLong


@pytest.mark.parametrize("status", [429, 500, 503])
def test_errors_of_perplexity_are_mapped(status):
    body = json.dumps({"error": {"message": "No.", "type": "x", "code": status}}).encode()
    found = DIALECTS["perplexity"].parse_error(status, {}, body)
    assert type(found) is (APIRateLimitError if status == 429 else APINetworkError)


def test_images_and_related_questions_of_perplexity_are_read():
    body = {
        "choices": [{"index": 0, "message": {"content": "See [2, 1]."}, "finish_reason": "stop"}],
        "search_results": [{"title": "One", "url": "https://1.example", "snippet": "s"}, {"url": "https://2.example"}],
        "images": [{"image_url": "https://i.example/a.png", "title": "A"}, "https://i.example/b.png", {}],
        "related_questions": ["Why?", ""],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": {"total_cost": 0.006}},
    }
    found = DIALECTS["perplexity"].parse_response(200, {}, json.dumps(body).encode())
    assert [link.url for link in found.citations] == ["https://1.example", "https://2.example"]
    assert [image.url for image in found.images] == ["https://i.example/a.png", "https://i.example/b.png"]
    assert (found.related_questions, found.usage.cost_usd) == (("Why?",), 0.006)


PAID = {
    "anthropic": {"input_tokens": 500, "output_tokens": 4000},
    "openai": {"input_tokens": 500, "output_tokens": 4000},
    "openai-chat": {"prompt_tokens": 500, "completion_tokens": 4000},
    "google": {"promptTokenCount": 500, "candidatesTokenCount": 4000},
}
UNUSABLE = {
    "anthropic": [
        {"type": "message", "content": [], "stop_reason": "end_turn"},
        {"type": "message"},
        {"type": "error", "error": {"message": "No."}},
    ],
    "openai": [
        {"status": "completed", "output": []},
        {"status": "completed"},
        {"status": "failed", "error": {"message": "No."}},
    ],
    "openai-chat": [
        {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]},
        {"choices": []},
        {"error": {"message": "No."}},
    ],
    "google": [
        {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]},
        {"candidates": []},
        {"error": {"message": "No."}},
    ],
}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param(name, answer, id=f"{name} {place}")
        for name in UNUSABLE
        for place, answer in enumerate(UNUSABLE[name])
    ],
)
def test_a_useless_answer_states_its_usage(name, answer):
    field = "usageMetadata" if name == "google" else "usage"
    body = json.dumps({**answer, field: PAID[name]}).encode()
    with pytest.raises(RoundtableError) as caught:
        DIALECTS[name].parse_response(200, {}, body)
    usage = caught.value.usage
    assert usage is not None
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 500, 4000)


@pytest.mark.parametrize(
    ("name", "events"),
    [
        pytest.param(
            "openai-chat",
            [{"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": PAID["openai-chat"]}],
            id="an empty answer",
        ),
        pytest.param(
            "openai-chat", [{"choices": [], "error": {"message": "No."}, "usage": PAID["openai-chat"]}], id="an error"
        ),
        pytest.param(
            "openai",
            [{"type": "response.failed", "response": {"error": {"message": "No."}, "usage": PAID["openai"]}}],
            id="a failure",
        ),
    ],
)
def test_a_useless_stream_states_its_usage(name, events):
    with pytest.raises(RoundtableError) as caught:
        decode(name, sse(*events) + b"data: [DONE]\n\n")
    usage = caught.value.usage
    assert usage is not None
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 500, 4000)
