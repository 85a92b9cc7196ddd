"""Recorded answers of real servers, read by the dialect and by a small reader of its own, must say the same.

The reader below knows the wire format and nothing of the library. The recordings lie where
`$ROUNDTABLE_SHARED_DATA` says.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

from roundtable.errors import AgentError, APIAuthError, APINetworkError, APIRateLimitError, RoundtableError
from roundtable.providers import OpenAIChat

FOLDER = Path(os.environ.get("ROUNDTABLE_SHARED_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
FILE = FOLDER / "wire" / "dev.jsonl"
CHUNKINGS = [pytest.param(1, id="everyday"), pytest.param(6, id="ci", marks=pytest.mark.slow)]

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="$ROUNDTABLE_SHARED_DATA has no recordings")

FINISH = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


@pytest.fixture(scope="module")
def recordings():
    with FILE.open("rb") as lines:
        found = [record for line in lines if (record := json.loads(line))["api"] == "openai.chat"]
    assert len(found) > 100
    return found


def dialect_of(record):
    official = record["provider"] in {"openai", "azure_openai"}
    return OpenAIChat(record["provider"], openai=official), official


# ---------------------------------------------------------------- the other reader


def text_in(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return json.dumps(content, ensure_ascii=False) if isinstance(content, dict) else content or ""


class Reading:
    """What a body says, gathered message by message."""

    def __init__(self):
        self.text = ""
        self.refusal = ""
        self.reasons = False
        self.calls = {}
        self.finish = None
        self.usage = {}
        self.error = None

    def take(self, piece):
        if piece.get("error"):
            self.error = piece["error"]
        self.usage = piece.get("usage") or self.usage
        for choice in piece.get("choices") or []:
            if choice.get("index", 0) == 0:
                self.message(choice.get("delta") or choice.get("message") or {})
                self.finish = choice.get("finish_reason") or self.finish

    def message(self, message):
        self.text += text_in(message.get("content")) or (message.get("audio") or {}).get("transcript") or ""
        self.reasons = self.reasons or bool(message.get("reasoning_content") or message.get("reasoning"))
        self.refusal += message.get("refusal") or ""
        calls = list(message.get("tool_calls") or [])
        if any((message.get("function_call") or {}).values()):
            calls.append({"function": message["function_call"]})
        for place, call in enumerate(calls):
            known = self.calls.setdefault(call.get("index", place), ["", ""])
            known[0] = call["function"].get("name") or known[0]
            known[1] += call["function"].get("arguments") or ""

    def facts(self):
        calls = [(name, json.loads(arguments or "{}")) for _, (name, arguments) in sorted(self.calls.items())]
        finish = "refusal" if self.refusal else FINISH.get(self.finish, "other")
        sent, received = self.usage.get("prompt_tokens") or 0, self.usage.get("completion_tokens") or 0
        reasoning = (self.usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
        if (self.usage.get("total_tokens") or 0) == sent + received + reasoning:  # xAI counts reasoning apart
            received += reasoning
        return {
            "text": self.text + self.refusal,
            "finish": "tool_calls" if calls and finish in {"stop", "other"} else finish,
            "calls": calls,
            "input": sent,
            "output": received,
            "cached": (self.usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
            "reasoning": reasoning,
        }

    def is_empty(self):
        says_nothing = not (self.text + self.refusal).strip() and not self.calls and not self.reasons
        return says_nothing and FINISH.get(self.finish, "other") in {"stop", "other"}


def error_class(status, error):
    said = json.dumps(error)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if status == 200 and isinstance(code, int) else status
    if "violates usage guidelines" in said:
        return AgentError
    if status in {401, 402, 403} or "insufficient_quota" in said:
        return APIAuthError
    if status == 429:
        return APIRateLimitError
    if status == 200:
        return AgentError if "invalid_request_error" in said else APINetworkError
    return APINetworkError if status >= 500 else AgentError


def events_of(body):
    for block in re.split(r"\r?\n\r?\n", body):
        data = "\n".join(line[5:].removeprefix(" ") for line in re.split(r"\r?\n", block) if line.startswith("data:"))
        if data:
            yield data


def expected(record, official):
    """Return the facts that an answer states, or the class of its error."""
    response, reading = record["response"], Reading()
    if response["status"] != 200:
        return error_class(response["status"], json.loads(response["body"]).get("error"))
    done = False
    if response["format"] == "json":
        reading.take(json.loads(response["body"]))
        done = True
    for event in events_of(response["body"]) if response["format"] == "sse" else ():
        if event == "[DONE]":
            done = True
            break
        reading.take(json.loads(event))
    if reading.error:
        return error_class(200, reading.error)
    if not done and (official or reading.finish is None):
        return APINetworkError
    return AgentError if reading.is_empty() else reading.facts()


# ---------------------------------------------------------------- the dialect


def facts_of(response):
    usage = response.usage
    assert usage.calls == 1
    return {
        "text": response.text,
        "finish": response.finish_reason,
        "calls": [(call.name, dict(call.arguments)) for call in response.tool_calls],
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.cache_read_tokens,
        "reasoning": usage.reasoning_tokens,
    }


def outcome(call):
    try:
        return call()
    except RoundtableError as error:
        return error


def differences(record, found, wanted):
    if isinstance(wanted, type):
        return [] if isinstance(found, wanted) else [f"{record['id']}: {found!r} instead of {wanted.__name__}"]
    if isinstance(found, RoundtableError):
        return [f"{record['id']}: raised {found!r}"]
    return [
        f"{record['id']}: {name} {found[name]!r} is not {wanted[name]!r}"
        for name in wanted
        if found[name] != wanted[name]
    ]


def plain(dialect, response):
    headers, body = response["headers"], response["body"].encode()
    if response["status"] != 200:
        raise dialect.parse_error(response["status"], headers, body)
    return facts_of(dialect.parse_response(200, headers, body))


def streamed(dialect, response, draw):
    decoder, body, text = dialect.stream_decoder(response["headers"]), response["body"].encode(), ""
    most = draw.choice([1, 5, 24, 500, 500, 10_000])
    while body:
        size = draw.randint(1, most)
        text += "".join(delta.text for delta in decoder.feed(body[:size]))
        body = body[size:]
    answer = decoder.finish()
    if response["format"] == "sse":
        assert text == answer.text, "the fold of the pieces is not the answer"
    return facts_of(answer)


def test_plain_answers_are_read_as_the_official_sdk_reads_them(recordings):
    found, count = [], 0
    for record in recordings:
        if record["response"]["format"] == "json":
            dialect, official = dialect_of(record)
            got = outcome(lambda dialect=dialect, record=record: plain(dialect, record["response"]))
            found += differences(record, got, expected(record, official))
            count += 1
    assert not found, "\n".join(found)
    assert count > 50


@pytest.mark.slow
@pytest.mark.parametrize("chunkings", CHUNKINGS)
def test_streamed_answers_are_the_same_however_they_are_cut(recordings, chunkings):
    found, count = [], 0
    for record in recordings:
        if record["response"]["status"] != 200 or not record["stream"]:
            continue
        dialect, official = dialect_of(record)
        wanted = expected(record, official)
        for seed in range(chunkings):
            draw = random.Random(f"{record['id']} {seed}")
            got = outcome(lambda d=dialect, r=record, draw=draw: streamed(d, r["response"], draw))
            found += differences(record, got, wanted)
            count += 1
    assert not found, "\n".join(sorted(set(found)))
    assert count > 80 * chunkings


@pytest.mark.slow
def test_a_truncated_stream_is_never_accepted_as_an_answer(recordings):
    found = []
    for record in recordings:
        response = record["response"]
        dialect, official = dialect_of(record)
        if response["format"] != "sse" or not official or "[DONE]" not in response["body"]:
            continue
        whole = response["body"].encode()
        end = whole.index(b"data: [DONE]")
        draw = random.Random(record["id"])
        for cut in {0, end, *(draw.randrange(end) for _ in range(5))}:
            part = {**response, "body": whole[:cut].decode("utf-8", "ignore")}
            got = outcome(lambda d=dialect, part=part, draw=draw: streamed(d, part, draw))
            if not isinstance(got, RoundtableError):
                found.append(f"{record['id']}: taken for whole after {cut} of {len(whole)} bytes")
    assert not found, "\n".join(found)


def test_errors_are_short_and_name_what_the_server_said(recordings):
    for record in recordings:
        response = record["response"]
        if response["status"] != 200:
            dialect, _ = dialect_of(record)
            error = dialect.parse_error(response["status"], response["headers"], response["body"].encode())
            assert len(str(error)) <= 2048
            assert len(str(error)) > len(f"{record['provider']} answered with status 400: "), record["id"]
            assert error.provider == record["provider"]
