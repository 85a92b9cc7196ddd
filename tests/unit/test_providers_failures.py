"""What a refusal means: one table, whatever the provider's way of putting it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

import pytest

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ContextTooLong,
)
from roundtable.gateway.retry import kind_of
from roundtable.providers.failures import error_for, read_refusal, redact, request_id_of, retry_after_of


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = error_for(
        "acme", status, {name.replace("_", "-"): value for name, value in headers.items()}, read_refusal(body)
    )
    assert found.provider == "acme"
    assert len(str(found)) < 2048
    json.dumps(found.to_dict())
    return found


def told(message="No.", **more):
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, told(), AgentError, False),
        (400, told(code="context_length_exceeded"), ContextTooLong, False),
        (400, told("This model's maximum context length is 8192 tokens."), ContextTooLong, False),
        (400, told("prompt is too long: 210000 tokens > 200000"), ContextTooLong, False),
        (400, told("request (2009 tokens) exceeds the available context size (512 tokens)"), ContextTooLong, False),
        (413, told("the input is too long"), ContextTooLong, False),
        (400, told("max_tokens is too large: 99999"), AgentError, False),
        (400, told("Incorrect API key provided", code="invalid_api_key"), APIAuthError, False),
        (401, told(), APIAuthError, False),
        (402, told("Insufficient Balance"), APIAuthError, False),
        (403, told(), APIAuthError, False),
        (403, told(code="insufficient_quota"), APIAuthError, False),
        (404, told(code="model_not_found"), AgentError, False),
        (405, b"", AgentError, False),
        (408, b"", APITimeoutError, True),
        (409, b"", APINetworkError, True),
        (413, b"", AgentError, False),
        (418, b"", AgentError, False),
        (422, told(), AgentError, False),
        (425, b"", APINetworkError, True),
        (429, told(), APIRateLimitError, True),
        (429, told(code="insufficient_quota"), APIAuthError, False),
        (429, told(type="insufficient_quota"), APIAuthError, False),
        (500, b"", APINetworkError, True),
        (501, b"", APINetworkError, False),
        (502, b"<html><body>Bad gateway</body></html>", APINetworkError, True),
        (503, told(), APINetworkError, True),
        (504, b"", APITimeoutError, True),
        (505, b"", APINetworkError, False),
        (524, b"", APINetworkError, True),
        (529, told(type="overloaded_error"), APINetworkError, True),
        (599, b"", APINetworkError, True),
        (999, b"", APINetworkError, False),
    ],
)
def test_each_status_has_its_error(status, body, kind, retryable):
    found = error(status, body)
    assert type(found) is kind
    assert found.retryable is retryable
    assert found.details == {"status": status}
    assert str(status) in str(found)


TOO_LONG = {
    "anthropic": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "google": "The input token count (1189828) exceeds the maximum number of tokens allowed (1048576).",
    "vertex": "Unable to submit request because the input token count is 9 but model only supports up to 8.",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "groq": "Please reduce the length of the messages or completion.",
    "mistral": "Prompt contains 40961 tokens, too large for model with 32768 maximum context length",
    "moonshot": "Invalid request: Your request exceeded model token limit: 262144",
    "kimi": "Input token length too long",
    "zai": "Prompt exceeds max length",
    "minimax": "invalid params, context window exceeds limit (2013)",
    "copilot": "prompt token count of 134000 exceeds the limit of 128000",
    "qwen": "Range of input length should be [1, 129024]",
    "together": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "ollama": "prompt too long; exceeded max context length by 5 tokens",
    "lmstudio": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "vllm": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "tgi": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    "cohere": "too many tokens: the prompt cannot exceed 128000",
}


@pytest.mark.parametrize("message", TOO_LONG.values(), ids=TOO_LONG)
def test_a_prompt_that_does_not_fit_is_recognised_by_the_words_of_each_vendor(message):
    for found in (error(400, told(message, type="invalid_request_error")), error(200, told(message))):
        assert (type(found), found.retryable) == (ContextTooLong, False)
    assert type(error(429, told(message))) is APIRateLimitError


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
        "Invalid search context size 'huge'",
        "Unsupported value for `search_context_size`",
        "The name is too long",
    ],
)
def test_other_limits_are_not_taken_for_the_context(message):
    assert type(error(400, told(message))) is AgentError


@pytest.mark.parametrize("status", [400, 429])
def test_a_used_up_balance_is_recognised_by_its_words(status):
    found = error(status, told("Your credit balance is too low to access the API.", type="invalid_request_error"))
    assert (type(found), found.retryable) == (APIAuthError, False)
    assert "billing" in (found.hint or "")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        # MiniMax, with its address for the format of OpenAI and for that of Anthropic.
        (429, told("insufficient balance (1008)", type="insufficient_balance_error", http_code="429")),
        (500, told("insufficient balance (1008)", type="api_error")),
        # Z.AI and Moonshot
        (429, told("Insufficient balance or no resource package. Please recharge.", code="1113")),
        (429, told("Your account is suspended, check your plan.", type="exceeded_current_quota_error")),
    ],
)
def test_a_used_up_balance_is_not_a_rate_limit_or_a_fault(status, body):
    found = error(status, body)
    assert (type(found), found.retryable) == (APIAuthError, False)
    assert "billing" in (found.hint or "")


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    ("code", "message", "kind", "retryable"),
    [
        (1000, "unknown error", APINetworkError, True),
        (1001, "request timeout", APINetworkError, True),
        (1002, "rate limit", APIRateLimitError, True),
        (1004, "login fail: Please carry the API secret key", APIAuthError, False),
        (1008, "insufficient balance", APIAuthError, False),
        (1026, "input new_sensitive", AgentError, False),
        (1027, "output new_sensitive", AgentError, False),
        (1033, "system error", APINetworkError, True),
        (1039, "token limit", APIRateLimitError, True),
        (2013, "invalid params, max_tokens type error", AgentError, False),
        (2013, "invalid params, context window exceeds limit", ContextTooLong, False),
        (2049, "invalid api key", APIAuthError, False),
        (2056, "usage limit exceeded", APIAuthError, False),
    ],
)
def test_the_error_codes_of_minimax_are_mapped(status, code, message, kind, retryable):
    found = error(status, {"id": "1", "choices": None, "base_resp": {"status_code": code, "status_msg": message}})
    assert message in str(found)
    if status == 200:
        assert (type(found), found.retryable) == (kind, retryable)
        assert not any(f"error {number}" in str(found) for number in (400, 401, 402, 429))


MODERATED = {
    "openrouter": (
        403,
        told(
            "Your chosen model requires moderation and your input was flagged",
            code=403,
            metadata={"reasons": ["violence"], "flagged_input": "canary", "provider_name": "x", "model_slug": "m"},
        ),
    ),
    "openrouter typed": (403, told("Blocked.", code=403, metadata={"error_type": "content_policy_violation"})),
    "openrouter late": (200, told("Blocked.", code=403, metadata={"reasons": [], "flagged_input": "canary"})),
    "xai": (403, {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: BIO"}),
    "anthropic": (400, told("Output blocked by content filtering policy", type="invalid_request_error")),
    "anthropic late": (200, told("Output blocked by content filtering policy", type="invalid_request_error")),
    "qwen itself": (400, {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}),
    "azure": (400, told("The response was filtered.", code="content_filter", status=400)),
    "qwen": (400, told("Input data may contain inappropriate content.", code="data_inspection_failed")),
    "kimi": (400, told("The request was rejected because it was considered high risk", type="content_filter")),
    "openai biology": (200, {"status": "failed", "error": {"code": "bio_policy", "message": "Blocked."}}),
    "openai security": (400, told("Blocked.", type="invalid_request_error", code="cyber_policy")),
    "openai image": (200, {"status": "failed", "error": {"code": "image_content_policy_violation", "message": ""}}),
    "openai prompt": (
        400,
        told(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again.",
            type="invalid_request_error",
            code="invalid_prompt",
        ),
    ),
}


@pytest.mark.parametrize(("status", "body"), MODERATED.values(), ids=MODERATED)
def test_rejected_content_is_not_a_refused_key(status, body):
    found = error(status, body)
    assert (type(found), found.retryable, kind_of(found)) == (AgentError, False, None)
    assert "content" in (found.hint or "")
    assert "canary" not in str(found.to_dict(debug=True))


@pytest.mark.parametrize("code", ["1113", "1304", "1308", "1309", "1310", "1311"])
def test_a_limit_of_a_subscription_is_not_a_limit_of_the_rate(code):
    body = told("Usage limit reached for 5 hour. Your limit will reset at 2026-11-30 03:00:00", code=code)
    assert (type(error(429, body)), error(429, body).retryable) == (APIAuthError, False)
    assert type(error(429, told("Too many concurrent requests.", code="1302"))) is APIRateLimitError


@pytest.mark.parametrize(("ahead_s", "wait_s"), [(90, 90), (-5, None), (None, None)])
def test_openrouter_states_in_the_body_when_a_limit_is_reset(ahead_s, wait_s):
    reset = "soon" if ahead_s is None else str(int((datetime.now(UTC).timestamp() + ahead_s) * 1000))
    headers = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    found = error(429, told("Rate limit exceeded: free-models-per-min.", code=429, metadata={"headers": headers}))
    assert type(found) is APIRateLimitError
    assert found.retry_after_s == (None if wait_s is None else pytest.approx(wait_s, abs=5))


def test_a_request_for_another_region_is_not_made_again():
    found = error(200, {"status": "failed", "error": {"code": "data_residency_mismatch", "message": "No."}})
    assert (type(found), found.retryable) == (AgentError, False)


def test_an_error_deep_inside_errors_is_not_searched():
    body = told("Behind.")
    for _ in range(5000):
        body = told("Provider returned error", metadata={"raw": body})
    assert read_refusal(body).message == "Provider returned error"


def test_a_missing_permission_is_not_a_content_error():
    for metadata in ({}, {"error_type": "permission_denied"}, {"reasons": []}):
        assert type(error(403, told("Key limit exceeded.", code=403, metadata=metadata))) is APIAuthError


@pytest.mark.parametrize(("status", "code"), [(400, "tool_use_failed"), (200, "json_validate_failed")])
def test_an_error_in_the_output_of_a_model_is_a_useless_answer(status, code):
    found = error(status, told("Failed to call a function.", type="invalid_request_error", code=code))
    assert (type(found), kind_of(found)) == (AgentError, "answer")


def test_headers_of_an_answer_that_began_well_ask_for_no_wait():
    overloaded = told("Overloaded", type="overloaded_error")
    found = error(200, overloaded, retry_after="49", x_should_retry="false")
    assert (found.retryable, found.retry_after_s) == (True, None)
    assert error(529, overloaded, retry_after="49").retry_after_s == 49


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (told(code="context_length_exceeded"), ContextTooLong, 400),
        (told(code="invalid_image_url"), AgentError, 400),
        (told(code="failed_to_download_image"), APINetworkError, 503),
        (told(type="request_too_large"), AgentError, 400),
        (told(type="billing_error"), APIAuthError, 402),
        (told(code=429), APIRateLimitError, 429),
        (told(code="401"), APIAuthError, 401),
        (told(status=404), AgentError, 404),
        (told(type="insufficient_quota"), APIAuthError, 402),
        (told(type="authentication_error"), APIAuthError, 401),
        (told(code="rate_limit_exceeded"), APIRateLimitError, 429),
        (told(type="invalid_request_error"), AgentError, 400),
        (told(type="server_error"), APINetworkError, 503),
        (told(code=True), APINetworkError, 503),
        (told(code=200), APINetworkError, 503),
        ({"error": "out of luck"}, APINetworkError, 503),
    ],
)
def test_an_error_under_status_200_is_mapped_by_its_content(body, kind, status):
    found = error(200, body)
    assert (type(found), found.details) == (kind, {"status": status})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (told("No."), "acme reported an error: No."),
        (told("No.", code=429), "acme reported an error 429: No."),
    ],
)
def test_a_status_that_was_not_sent_is_not_reported(body, message):
    assert str(error(200, body)) == message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (told("Plain."), "Plain."),
        ({"error": "A text."}, "A text."),
        ({"code": "400", "error": "Beside a code."}, "Beside a code."),
        ({"message": "On top.", "object": "error"}, "On top."),
        ({"detail": "In detail."}, "In detail."),
        ({"detail": [{"msg": "One", "loc": []}, {"msg": "Two"}, 3]}, "One; Two"),
        ({"message": {"detail": [{"msg": "Nested"}]}}, "Nested"),
        ({"success": False, "errors": [{"code": 7, "message": "One"}, {"message": "Two"}, 3]}, "One; Two"),
        ([told("First of a list.")], "First of a list."),
        (told("Provider returned error", metadata={"raw": '{"error": {"message": "Behind."}}'}), "error: Behind."),
        (told("Provider returned error", metadata={"raw": {"error": {"message": "Behind."}}}), "error: Behind."),
        (told("Provider returned error", metadata={"raw": [{"error": {"message": "Behind."}}]}), "error: Behind."),
        (told("Provider returned error", metadata={"raw": "rate-limited upstream"}), "error: rate-limited upstream"),
        (b"upstream connect error", "upstream connect error"),
        (b"\xff\xfe plain", "plain"),
        (told("Line\none\x00\x1b[31m <b>bold</b> two"), "Line one [31m bold two"),
    ],
)
def test_the_message_of_a_provider_is_found_in_every_known_shape(body, words):
    assert words in str(error(400, body))


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"42", b'"x"', b"{}", b'{"error": null}', b'{"error": [1]}', b"[[]]"]
)
def test_a_body_without_a_message_gives_only_the_status(body):
    assert str(error(500, body)).startswith("acme answered with status 500")


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><script>alert(1)</script></html>",
        b"\xef\xbb\xbf\n <html><p>x</p></html>",
        told("<html><a href='x'>go</a>"),
        b"oops <script src=x",
    ],
)
def test_no_markup_is_passed_on(body):
    message = str(error(502, body))
    assert "<" not in message
    assert len(message) < 200


@pytest.mark.parametrize("body", [told("long " * 10**6), b"long " * 10**6, told("<" * 10**5)])
def test_long_words_are_cut(body):
    assert len(str(error(500, body))) < 2048


def test_the_provider_decides_whether_a_call_is_retried():
    assert error(400, x_should_retry="true").retryable
    assert not error(500, x_should_retry="false").retryable
    assert error(500, x_should_retry="perhaps").retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "50"}, 0.05),
        ({"retry-after-ms": "50", "retry-after": "20"}, 0.05),
        ({"retry-after-ms": "x", "retry-after": "20"}, 20.0),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "9" * 400}, 1e12),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"date": "Tue, 15 Nov 1994 08:12:31 GMT", "retry-after": "Tue, 15 Nov 1994 08:12:33 GMT"}, 2.0),
        ({"date": "Tue, 15 Nov 1994 08:12:31 GMT", "retry-after": "Tue, 15 Nov 1994 08:12:30 GMT"}, None),
        ({"date": "never", "retry-after": "Tue, 15 Nov 1994 08:12:30 GMT"}, None),
        ({"date": "Tue, 15 Nov 1994 08:12:31 -0000", "retry-after": "Tue, 15 Nov 1994 08:12:33 GMT"}, None),
    ],
)
def test_the_requested_wait_is_read(headers, seconds):
    assert retry_after_of(headers) == seconds


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 11.054s. Visit the dashboard.", 11.054),
        ("Limit 30, used 30. Please try again in 898ms.", 0.898),
        ("Please try again in 7m12.5s.", 432.5),
        ("Quota exceeded. Please retry in 34.07s.", 34.07),
        ("Please retry after 26 seconds.", 26),
        ("Please retry after 1 second.", 1),
        ("Please retry shortly.", None),
        ("Please try again in 0s.", None),
        ("Please try again in 5 attempts.", None),
    ],
)
def test_a_wait_in_the_message_counts_if_no_header_states_one(message, seconds):
    body = told(message, code="rate_limit_exceeded")
    for status in (200, 429):
        assert error(status, body).retry_after_s == (seconds if seconds is None else pytest.approx(seconds))
    assert error(429, body, retry_after="3").retry_after_s == 3
    info = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "4s"}]
    assert error(429, told(message, details=info)).retry_after_s == 4


def test_a_date_without_the_clock_of_the_server_is_compared_with_the_local_clock():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    found = retry_after_of({"retry-after": later})
    assert found is not None
    assert 25 < found <= 30
    assert error(429, retry_after="7").retry_after_s == 7.0


def test_request_ids_are_kept_if_they_are_plausible():
    assert request_id_of({"x-request-id": "req_1"}) == "req_1"
    assert request_id_of({"request-id": "req_2", "x-request-id": " "}) == "req_2"
    assert request_id_of({"x-amzn-requestid": "a"}) == "a"
    assert request_id_of({"x-request-id": "a" * 201}) is None
    assert request_id_of({"x-request-id": "a\x00"}) is None
    assert error(500, x_request_id="req_9").request_id == "req_9"


ECHOES = {
    "as it is": lambda key: key,
    "in a URL": lambda key: quote(key, safe=""),
    "in base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "in base64 with its scheme": lambda key: base64.b64encode(b"Bearer " + key.encode()).decode(),
    "its beginning": lambda key: key[:12] + "...",
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_a_key_that_the_provider_repeats_is_removed(echo):
    key = "sk-canary+/=0123456789?"
    found = redact(error(401, told(f"Bad key {echo(key)} given"), x_request_id=f"id-{key}"), key)
    assert "canary" not in str(found.to_dict())
    assert key[:12] not in repr(found)
    assert echo(key)[:12] not in str(found)
    assert "Bad key " in str(found)
    assert "***" in str(found)
    assert str(redact(found, key)) == str(found)


@pytest.mark.parametrize("key", [None, "", "ollama"])
def test_placeholder_keys_are_not_removed(key):
    assert "ollama" in str(redact(error(404, told("ollama has no such model")), key))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            403,
            {
                "error": {
                    "code": "unsupported_country_region_territory",
                    "message": "Country, region, or territory not supported",
                }
            },
        ),
        (
            400,
            {"error": {"status": "FAILED_PRECONDITION", "message": "User location is not supported for the API use."}},
        ),
        (403, {"error": {"type": "forbidden", "message": "Claude is not available in your country."}}),
    ],
)
def test_a_refusal_of_a_region_does_not_blame_the_key(status, body):
    error = error_for("openai", status, {}, read_refusal(json.dumps(body).encode()))
    assert not isinstance(error, APIAuthError)
    assert not error.retryable
    assert error.hint == "The provider does not serve this country or region; use another provider."


def test_a_key_without_a_permission_is_still_about_the_key():
    error = error_for(
        "openai", 403, {}, read_refusal(b'{"error": {"message": "Your key has no access to this project"}}')
    )
    assert "region" not in (error.hint or "")
