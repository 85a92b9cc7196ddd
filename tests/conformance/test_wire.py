"""Every recorded answer is read as a reader that shares no code with the library reads it."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from typing import Any

import pytest
from conformance.recordings import APIS, DIALECTS, headers_of, needs_recordings, of_api, pieces, recordings, streams
from conformance.wire_reader import Reading, read

from roundtable.errors import ContextTooLong, RoundtableError
from roundtable.types import ChatDelta, ChatResponse

pytestmark = needs_recordings

DIFFERENCES = {
    "oac-399fc6600f": "no finish reason, but calls: the answer ended to have them made",
    "oac-b1efe77011": "as above",
    "oar-b4ae2bcaef": "the body counts -9 output tokens, which is read as none",
}
"""Recordings that are read otherwise on purpose; never in their text, their calls or the class of their error."""

TRIMMED = {"oar-6991565206": "a fixture cut by hand: its pieces of text are not those of its last event"}
"""Streams whose deltas cannot say what their last event says."""


def answer_of(record: dict[str, Any], chunks: list[bytes] | None = None) -> tuple[ChatResponse, list[ChatDelta]]:
    """Read an answer with its dialect.

    Raises:
        RoundtableError: It is an error.
    """
    dialect, answer, headers = DIALECTS[record["api"]], record["response"], headers_of(record)
    body = answer["body"].encode()
    if answer["status"] >= 400:
        raise dialect.parse_error(answer["status"], headers, body)
    if not record["stream"]:
        return dialect.parse_response(answer["status"], headers, body), []
    decoder = dialect.stream_decoder(headers)
    deltas = [delta for chunk in chunks or [body] for delta in decoder.feed(chunk)]
    return decoder.finish(), deltas


def differences(record: dict[str, Any], found: ChatResponse | RoundtableError, wanted: Reading) -> list[str]:
    """Return the differences between an answer as the library reads it and as the reader does."""
    if isinstance(found, RoundtableError) or wanted.error:
        # A prompt that is too long is an AgentError of its own kind.
        name = "AgentError" if isinstance(found, ContextTooLong) else type(found).__name__
        return [] if name == wanted.error else [f"error: {found!r}, not {wanted.error}"]
    calls = [(call.name, None if call.invalid else dict(call.arguments)) for call in found.tool_calls]
    pairs = {
        "text": (found.text, wanted.text),
        "calls": (calls, wanted.calls),
        "citations": ([link.url for link in found.citations], wanted.citations),
        "usage": ((found.usage.input_tokens, found.usage.output_tokens), wanted.tokens),
        "finish": (found.finish_reason, wanted.finish),
    }
    return [f"{name}: {ours!r}, not {theirs!r}" for name, (ours, theirs) in pairs.items() if ours != theirs]


def read_by_us(record: dict[str, Any]) -> ChatResponse | RoundtableError:
    """Read an answer; an error is a result too, any other exception is a crash."""
    try:
        return answer_of(record)[0]
    except RoundtableError as error:
        return error


@pytest.mark.parametrize("api", APIS)
def test_every_recording_is_read_as_the_reader_reads_it(api: str) -> None:
    found = {record["id"]: differences(record, read_by_us(record), read(record)) for record in of_api(api)}
    surprises = {name: what for name, what in found.items() if what and name not in DIFFERENCES}
    assert surprises == {}


def test_few_recordings_are_deliberately_read_in_another_way() -> None:
    assert len(DIFFERENCES) <= len(recordings()) // 100
    known = {record["id"]: record for record in recordings()}
    stale = [
        name
        for name in DIFFERENCES
        if name in known and not differences(known[name], read_by_us(known[name]), read(known[name]))
    ]
    assert stale == []
    told = {
        what.partition(":")[0]
        for name in DIFFERENCES.keys() & known.keys()
        for what in differences(known[name], read_by_us(known[name]), read(known[name]))
    }
    assert told <= {"usage", "finish", "citations"}


def folded(deltas: list[ChatDelta]) -> dict[str, Any]:
    """Put deltas together without the library's help."""
    arguments: dict[int, str] = defaultdict(str)
    names: dict[int, str] = defaultdict(str)
    for delta in deltas:
        for piece in delta.tool_calls:
            arguments[piece.index] += piece.arguments
            names[piece.index] += piece.name
    return {
        "text": "".join(delta.text for delta in deltas),
        "reasoning": "".join(delta.reasoning for delta in deltas),
        "calls": [(names[index], arguments[index]) for index in sorted(names)],
        "citations": tuple(link for delta in deltas for link in delta.citations),
        "usage": next((delta.usage for delta in reversed(deltas) if delta.usage is not None), None),
    }


def said(response: ChatResponse, deltas: list[ChatDelta]) -> list[str]:
    """Return the differences between the deltas and the response."""
    sums = folded(deltas)
    wrong = [name for name in ("text", "reasoning", "citations") if sums[name] != getattr(response, name)]
    calls = zip(sums["calls"], response.tool_calls, strict=True)
    wrong += [
        call.name
        for (name, text), call in calls
        if name != call.name or (not call.invalid and json.loads(text or "{}") != dict(call.arguments))
    ]
    if sums["usage"] not in {response.usage, None}:
        wrong.append("usage")
    return wrong


def outcome_of(record: dict[str, Any], chunks: list[bytes]) -> tuple[ChatResponse, list[ChatDelta]] | RoundtableError:
    """Read a stream that comes in these pieces; an error is an outcome too."""
    try:
        return answer_of(record, chunks)
    except RoundtableError as error:
        return error


def told(outcome: object) -> object:
    """Return all facts of an error, and anything else as it is."""
    return (type(outcome), outcome.to_dict()) if isinstance(outcome, RoundtableError) else outcome


@pytest.mark.parametrize("cuts", [pytest.param(2, id="everyday"), pytest.param(20, id="ci", marks=pytest.mark.slow)])
@pytest.mark.parametrize("api", APIS)
def test_streams_give_the_same_answer_however_they_are_cut(api: str, cuts: int) -> None:
    for record in streams(api):
        body = record["response"]["body"].encode()
        whole = outcome_of(record, [body])
        if isinstance(whole, tuple) and record["id"] not in TRIMMED:
            assert said(*whole) == [], record["id"]
        for seed in range(cuts):
            again = outcome_of(record, list(pieces(body, f"{record['id']}-{seed}")))
            if isinstance(whole, RoundtableError) or isinstance(again, RoundtableError):
                assert told(again) == told(whole), (record["id"], seed)
                continue
            assert again[0] == whole[0], (record["id"], seed)
            assert folded(again[1]) == folded(whole[1]), (record["id"], seed)


ENDS = {
    "anthropic.messages": rb'"type"\s*:\s*"message_stop"',
    "openai.responses": rb'"type"\s*:\s*"response\.(?:completed|incomplete|failed)"',
    "google.generate_content": rb'"finishReason"\s*:',
    "openai.chat": rb'"finish_reason"\s*:\s*"',
    "perplexity.chat": rb'"finish_reason"\s*:\s*"',
}


def last_safe(record: dict[str, Any]) -> int:
    """Return the offset before which a cut leaves no complete answer: the event that says the answer is complete."""
    body = record["response"]["body"].encode()
    found = re.search(ENDS[record["api"]], body)
    place = found.start() if found else len(body)
    return max(0, body.rfind(b"data:", 0, place + 1)) if b"data:" in body else place


@pytest.mark.parametrize("api", APIS)
def test_a_truncated_stream_is_never_accepted_as_an_answer(api: str) -> None:
    missed = []
    for record in streams(api):
        body = record["response"]["body"].encode()
        end = last_safe(record)
        chance = random.Random(record["id"])
        for place in {0, end, *(chance.randint(0, end) for _ in range(6))} if end > 0 else ():
            decoder = DIALECTS[api].stream_decoder(headers_of(record))
            try:
                decoder.feed(body[:place])
                decoder.finish()
            except RoundtableError:
                continue
            missed.append((record["id"], place, end))
    assert missed == []


def searches_in(record: dict[str, Any]) -> int:
    """Count the searches that an answer tells of, from its bare documents."""
    body, api = record["response"]["body"], record["api"]
    if api == "anthropic.messages":
        return max(map(int, re.findall(r'"web_search_requests"\s*:\s*(\d+)', body)), default=0)
    lines = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    events = [json.loads(line) for line in lines if line != "[DONE]"] if lines else json.loads(body)
    events = events if isinstance(events, list) else [events]
    if api == "openai.responses":
        done = [event.get("response", event) for event in events if event.get("type") in {None, "response.completed"}]
        items = done[-1].get("output", []) if done else []
        calls = [item for item in items if item.get("type") == "web_search_call" and item.get("status") != "failed"]
        return sum((call.get("action") or {}).get("type", "search") == "search" for call in calls)
    if api == "perplexity.chat":
        return int(any(event.get("search_results") or event.get("citations") for event in events))
    found = [one.get("groundingMetadata", {}) for event in events for one in event.get("candidates", [])]
    return len({json.dumps(query) for grounding in found for query in grounding.get("webSearchQueries", [])})


@pytest.mark.parametrize(
    ("api", "least"),
    [("anthropic.messages", 5), ("openai.responses", 5), ("google.generate_content", 5), ("perplexity.chat", 15)],
)
def test_searches_of_providers_are_counted_and_recorded(api: str, least: int) -> None:
    wrong, done = {}, 0
    for record in of_api(api):
        features = set(record["features"])
        if not features & {"web_search", "citations"} or record["response"]["status"] >= 400:
            continue
        found = read_by_us(record)
        if isinstance(found, RoundtableError):
            continue
        told = searches_in(record)
        done += bool(told)
        names = {call.name for call in found.server_calls}
        if found.usage.searches != told or (told and not names & SEARCHES_BY_NAME):
            wrong[record["id"]] = (found.usage.searches, told, sorted(names))
    assert wrong == {}
    assert done >= least


SEARCHES_BY_NAME = {"web_search", "google_search", "perplexity_search"}
