"""Faults of answers and of streams on every wire, in its own words: outcome, requests, text, and nothing left.

The numbers are those of the table of faults that the documentation of outcomes follows.
"""

from __future__ import annotations

import gzip
import json
import time

import anyio
import pytest
from integration.test_faults import TIMEOUT_S, scene
from integration.test_providers_http import ASK, HEAD, KEY
from integration.wires import WIRES, Said, frame

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    RoundtableError,
)
from roundtable.testing.servers import WireReply, http_reply, sse_reply
from roundtable.types import Usage

pytestmark = pytest.mark.slow

WORDS = Said("Zoë says: 你好 🙂, twice.")
EACH = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
EITHER = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@pytest.fixture
def anyio_backend():
    """The wires are pure; what waits is tried on both backends elsewhere."""
    return "asyncio"


def cut(wire, keep):
    """The events of a stream up to some place in the middle of its text."""
    return wire.open_frames(WORDS)[:keep] if keep else wire.open_frames(WORDS)


def doubled(wire):
    return [event for event in wire.frames(WORDS) for _ in "ab"]


def own_words(wire, was, becomes):
    return [event.replace(was, becomes) for event in wire.frames(WORDS)]


STREAMS = {
    # name: (reply of a wire, error, requests if the listener is told of retries)
    "P69 clean end": (lambda wire: sse_reply(cut(wire, -1)), APINetworkError, 4),
    "P69 reset": (lambda wire: WireReply([*sse_reply(cut(wire, 0), whole=False).parts], "reset"), APINetworkError, 4),
    "P69 cut": (lambda wire: sse_reply(cut(wire, 0), whole=False), APINetworkError, 4),
    "P69 half an event": (lambda wire: sse_reply([*cut(wire, 0), b'data: {"cho']), APINetworkError, 4),
    "P70 no terminator": (lambda wire: sse_reply(wire.open_frames(WORDS)), APINetworkError, 4),
    "P71 overload late": (lambda wire: sse_reply([*cut(wire, 0), wire.failed("overload")]), APINetworkError, 4),
    "P71 overload first": (lambda wire: sse_reply([wire.failed("overload")]), APINetworkError, 4),
    "P71 rate limit": (lambda wire: sse_reply([*cut(wire, 0), wire.failed("rate limit")]), APIRateLimitError, 4),
    "P75 only heartbeats": (lambda wire: sse_reply([b": ping\n\n"] * 5), AgentError, 2),
    "P75 nothing": (lambda wire: sse_reply([]), AgentError, 2),
    "P76 bad JSON": (lambda wire: sse_reply([*cut(wire, 0), b"data: {bad}\n\n"]), AgentError, 2),
    "P76 bad UTF-8": (lambda wire: sse_reply([*cut(wire, 0), b'data: {"\xff": 1}\n\n']), AgentError, 2),
    "P79 huge event": (lambda wire: sse_reply([b"data: " + b"x" * 5_000_000 + b"\n\n"]), AgentError, 1),
    "P79 endless line": (lambda wire: sse_reply([b"x" * 65536] * 100), AgentError, 1),
    "P80 page": (lambda wire: sse_reply([b"<html>log in</html>"]), APINetworkError, 4),
    "P63 bad chunk": (
        lambda wire: WireReply([HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"], "close"),
        APINetworkError,
        4,
    ),
}


@EACH
@pytest.mark.parametrize(("reply", "kind", "requests"), STREAMS.values(), ids=STREAMS)
async def test_a_failed_stream_ends_with_its_typed_error(wire, reply, kind, requests, caplog):
    caplog.set_level("DEBUG", "roundtable")
    async with scene(reply(wire), name=f"{wire.name}:m") as fault:
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=True, told=True)
        assert (type(caught.value), len(fault.server.seen)) == (kind, requests)
        assert caught.value.provider == wire.name
        assert KEY[:12] not in str(caught.value.to_dict(debug=True)) + caplog.text


@EACH
async def test_shown_pieces_are_kept_in_the_error_when_no_listener_can_be_told(wire):
    """P69: without a listener a stream that showed something is not tried again."""
    async with scene(sse_reply(wire.open_frames(WORDS)), name=f"{wire.name}:m") as fault:
        with pytest.raises(APINetworkError) as caught:
            await fault.call(streamed=True)
        assert len(fault.server.seen) == 1
        assert caught.value.details["partial_answer"] == WORDS.text


WHOLE = {
    "P74 as usual": lambda wire: sse_reply(wire.frames(WORDS)),
    "P74 heartbeats": lambda wire: sse_reply([part for one in wire.frames(WORDS) for part in (b": ping\n\n", one)]),
    "P74 fields": lambda wire: sse_reply([b"id: 7\nretry: 3\nfoo: bar\n" + one for one in wire.frames(WORDS)]),
    "P74 BOM": lambda wire: sse_reply([b"\xef\xbb\xbf", *wire.frames(WORDS)]),
    "P74 unknown event": lambda wire: sse_reply([b'event: new\ndata: {"type": "new"}\n\n', *wire.frames(WORDS)]),
    "P74 no space": lambda wire: sse_reply(own_words(wire, b"data: ", b"data:")),
    "P74 CRLF": lambda wire: sse_reply(own_words(wire, b"\n", b"\r\n")),
    "P74 CR": lambda wire: sse_reply(own_words(wire, b"\n", b"\r")),
    "P74 many lines": lambda wire: sse_reply(own_words(wire, b', "', b',\ndata:  "')),
    "P74 bytes": lambda wire: sse_reply([bytes([byte]) for byte in b"".join(wire.frames(WORDS))]),
    "P74 one chunk": lambda wire: sse_reply([b"".join(wire.frames(WORDS))]),
    "P74 gzip": lambda wire: sse_reply(
        [gzip.compress(b"".join(wire.frames(WORDS)))],
        headers={"content-type": "text/event-stream", "content-encoding": "gzip"},
    ),
    "P74 label": lambda wire: sse_reply(wire.frames(WORDS), headers={"content-type": "text/plain"}),
    "P78 slow": lambda wire: sse_reply(wire.frames(WORDS), pause_s=0.02),
    "P80 a document": lambda wire: http_reply(wire.body(WORDS)),
    "P66 HTTP/1.0": lambda wire: WireReply(
        [b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(wire.frames(WORDS))], "close"
    ),
}


@EACH
@pytest.mark.parametrize("reply", WHOLE.values(), ids=WHOLE)
async def test_a_stream_reads_the_same_however_it_is_written(wire, reply):
    async with scene(reply(wire), name=f"{wire.name}:m") as fault:
        answer = await fault.call(streamed=True)
        assert (answer.text, len(fault.server.seen)) == (WORDS.text, 1)
        assert answer.usage == Usage(input_tokens=11, output_tokens=7, calls=1)


@EACH
async def test_text_after_the_end_is_ignored(wire):
    """P77. Google's wire has no terminator: there, a piece without its own reason to end makes the answer unusable."""
    more = wire.open_frames(Said("no"))[1:2]
    async with scene(sse_reply([*wire.frames(WORDS), *more]), name=f"{wire.name}:m") as fault:
        if wire.name == "google":
            with pytest.raises(AgentError, match="goes on after the end"):
                await fault.call(streamed=True, told=True)
            return
        answer = await fault.call(streamed=True)
    assert answer.text == WORDS.text


@EACH
async def test_events_that_come_twice_never_double_the_text(wire):
    """P72: numbers tell where there are some; elsewhere the stream is refused."""
    async with scene(sse_reply(doubled(wire)), name=f"{wire.name}:m") as fault:
        if wire.name == "openai":
            assert (await fault.call(streamed=True)).text == WORDS.text
            return
        with pytest.raises(AgentError, match="repeats itself"):
            await fault.call(streamed=True, told=True)
        assert len(fault.server.seen) == 2


async def test_events_out_of_order_are_noticed_where_they_are_numbered():
    """P73."""
    wire = WIRES["openai"]
    first, second, *rest = wire.frames(WORDS)
    async with scene(sse_reply([second, first, *rest]), name="openai:m") as fault:
        with pytest.raises(AgentError, match="out of order"):
            await fault.call(streamed=True, told=True)


@EACH
@pytest.mark.parametrize("stall", ["P61 silence", "P78 stall", "P75 heartbeats"])
async def test_a_stream_ends_at_the_deadline(wire, stall):
    reply = {
        "P61 silence": WireReply([60.0]),
        "P78 stall": WireReply([*sse_reply(cut(wire, 0), whole=False).parts, 60.0]),
        "P75 heartbeats": sse_reply([b": ping\n\n"] * 500, pause_s=0.02),
    }[stall]
    async with scene(reply, timeout_s=TIMEOUT_S, name=f"{wire.name}:m") as fault:
        began = time.monotonic()
        with pytest.raises(APITimeoutError):
            await fault.call(streamed=True)
        assert TIMEOUT_S - 0.01 <= time.monotonic() - began < TIMEOUT_S + 2
        assert len(fault.server.seen) == 1


@EACH
async def test_leaving_a_stream_closes_its_connection(wire):
    """P81."""
    endless = [*wire.open_frames(WORDS), *[b": ping\n\n"] * 500]
    async with scene(sse_reply(endless, pause_s=0.02), timeout_s=30, name=f"{wire.name}:m") as fault:
        stream = fault.model.stream(ASK)
        await anext(stream)
        await stream.aclose()
        with anyio.fail_after(8):
            while not fault.server.hang_ups:  # noqa: ASYNC110
                await anyio.sleep(0.01)


BODIES = {
    # name: (body of a wire, error, requests)
    "P21 cut JSON": (lambda wire: wire.body(WORDS)[:-9], AgentError, 2),
    "P30 bad UTF-8": (lambda wire: wire.body(Said("XX")).replace(b"XX", b"\xff"), AgentError, 2),
    "P30 UTF-16": (lambda wire: wire.body(WORDS).decode().encode("utf-16"), AgentError, 2),
    "P34 nothing said": (lambda wire: wire.body(Said(None)), AgentError, 2),
    "P35 empty": (lambda wire: wire.body(Said("")), AgentError, 2),
    "P35 blank": (lambda wire: wire.body(Said(" \n")), AgentError, 2),
}


@EACH
@pytest.mark.parametrize(("body", "kind", "requests"), BODIES.values(), ids=BODIES)
async def test_a_useless_answer_is_retried_and_its_usage_counted(wire, body, kind, requests):
    async with scene(http_reply(body(wire)), name=f"{wire.name}:m") as fault:
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=False)
        assert (type(caught.value), len(fault.server.seen)) == (kind, requests)
        assert caught.value.usage is not None
        assert caught.value.usage.calls == requests


@EACH
@pytest.mark.parametrize("text", [None, "", " \n"], ids=["P34 none", "P35 empty", "P35 blank"])
async def test_a_stream_without_text_is_retried_once(wire, text):
    async with scene(sse_reply(wire.frames(Said(text))), name=f"{wire.name}:m") as fault:
        with pytest.raises(AgentError, match="empty"):
            await fault.call(streamed=True, told=True)
        assert len(fault.server.seen) == 2


ODD = {
    "P25 label": (lambda wire: http_reply(wire.body(WORDS), headers={"content-type": "text/plain"}), WORDS.text),
    "P30 BOM": (lambda wire: http_reply(b"\xef\xbb\xbf" + wire.body(WORDS)), WORDS.text),
    "P31 surrogate": (lambda wire: http_reply(wire.body(Said("a\ud800b"))), "a\ufffdb"),
    "P32 gzip": (
        lambda wire: http_reply(
            gzip.compress(wire.body(WORDS)), headers={"content-type": "application/json", "content-encoding": "gzip"}
        ),
        WORDS.text,
    ),
    "P65 many headers": (
        lambda wire: http_reply(
            wire.body(WORDS), headers={"content-type": "application/json"} | {f"x-{n}": "y" for n in range(1500)}
        ),
        WORDS.text,
    ),
    "P66 HTTP/1.0": (lambda wire: WireReply([b"HTTP/1.0 200 OK\r\n\r\n" + wire.body(WORDS)], "close"), WORDS.text),
}


@EACH
@pytest.mark.parametrize(("reply", "text"), ODD.values(), ids=ODD)
async def test_an_odd_answer_is_read(wire, reply, text):
    async with scene(reply(wire), name=f"{wire.name}:m") as fault:
        assert (await fault.call(streamed=False)).text == text


INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s"}
RETRY_INFO = json.dumps({"error": {"code": 429, "details": [INFO]}}).encode()
TELLS = {
    "P10 seconds": ({"retry-after": "0.2"}, b"{}", 429, 0.2),
    "P10 milliseconds": ({"retry-after-ms": "100"}, b"{}", 429, 0.1),
    "P12 words": ({"retry-after": "soon"}, b"{}", 429, 0.0),
    "P13 body": (
        {},
        RETRY_INFO,
        429,
        0.2,
    ),
    "P14 true on 400": ({"x-should-retry": "true"}, b"{}", 400, 0.0),
    "P15 500": ({}, b"{}", 500, 0.0),
    "P15 504": ({}, b"{}", 504, 0.0),
}


@EACH
@EITHER
@pytest.mark.parametrize(("headers", "body", "status", "least_s"), TELLS.values(), ids=TELLS)
async def test_a_call_waits_as_long_as_the_provider_asks(wire, streamed, headers, body, status, least_s):
    async with scene(
        wire.reply(WORDS, streamed=streamed),
        first=[http_reply(body, status=status, headers=headers)],
        name=f"{wire.name}:m",
    ) as fault:
        assert (await fault.call(streamed=streamed)).text == WORDS.text
        (gap,) = fault.gaps
        assert gap >= least_s


ECHO = json.dumps({"error": {"message": f"no such key: {KEY}", "code": "invalid_api_key"}}).encode()
REFUSALS = {
    # Each is a status, headers, a body, and the error they stand for.
    "P3 key": (401, {}, b"{}", APIAuthError),
    "P4 credit": (402, {}, b"{}", APIAuthError),
    "P5 model": (404, {}, b"{}", AgentError),
    "P11 a day": (429, {"retry-after": "86400"}, b"{}", APIRateLimitError),
    "P11 400 nines": (429, {"retry-after": "9" * 400}, b"{}", APIRateLimitError),
    "P14 false on 500": (500, {"x-should-retry": "false"}, b"{}", APINetworkError),
    "P16 501": (501, {}, b"{}", APINetworkError),
    "P19 key repeated": (401, {"x-request-id": KEY}, ECHO, APIAuthError),
    "P20 redirect": (307, {"location": "/trap"}, b"", APINetworkError),
}


@EACH
@EITHER
@pytest.mark.parametrize(("status", "headers", "body", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_costs_one_request(wire, streamed, status, headers, body, kind, caplog):
    caplog.set_level("DEBUG", "roundtable")
    async with scene(http_reply(body, status=status, headers=headers), name=f"{wire.name}:m") as fault:
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=streamed)
        assert (type(caught.value), len(fault.server.seen)) == (kind, 1)
        assert KEY[:12] not in str(caught.value.to_dict(debug=True)) + caplog.text


SLOW = {
    "P61 silence": WireReply([60.0]),
    "P62 slow headers": WireReply([b"HTTP/1.1 200 OK\r\n", *[0.05, b"x: y\r\n"] * 100]),
    "P62 dripping body": WireReply([HEAD + b"content-length: 9999\r\n\r\n", *[0.02, b" "] * 500]),
    "P62 stalled body": WireReply([HEAD + b"content-length: 9\r\n\r\n", 60.0]),
}


@EACH
@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW)
async def test_a_plain_call_ends_at_its_deadline(wire, reply):
    async with scene(reply, timeout_s=TIMEOUT_S, name=f"{wire.name}:m") as fault:
        began = time.monotonic()
        with pytest.raises(APITimeoutError):
            await fault.call(streamed=False)
        assert TIMEOUT_S - 0.01 <= time.monotonic() - began < TIMEOUT_S + 2
        assert len(fault.server.seen) == 1


BROKEN = {
    "P63 no last chunk": WireReply([HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"], "close"),
    "P64 reset": WireReply([HEAD + b"content-length: 99\r\n\r\n{"], "reset"),
    "P65 huge header": WireReply([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 262_144], "close"),
}


@EACH
@EITHER
@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
async def test_a_broken_connection(wire, streamed, reply):
    async with scene(reply, name=f"{wire.name}:m") as fault:
        with pytest.raises(APINetworkError):
            await fault.call(streamed=streamed)
        assert len(fault.server.seen) == 4


@EACH
@EITHER
async def test_a_kept_connection_that_was_dropped_costs_no_try(wire, streamed):
    """P67."""
    closing = WireReply(wire.reply(WORDS, streamed=streamed).parts, "close")
    async with scene(wire.reply(WORDS, streamed=streamed), first=[closing], name=f"{wire.name}:m") as fault:
        await fault.call(streamed=streamed)
        await anyio.sleep(0.05)
        await fault.call(streamed=streamed)
        assert fault.model.endpoint_state.breaker.failures == 0


CALLS = {
    # P50 and P54: arguments and ids, as they come to the one who runs the tool
    "no JSON": ((("a", '{"q": '),), [("a", {}, True)]),
    "list": ((("a", "[1]"),), [("a", {}, True)]),
    "null": ((("a", "null"),), [("a", {}, False)]),
    "object": ((("a", '{"q": 1}'),), [("a", {"q": 1}, False)]),
    "no id": ((("", "{}"), ("", "{}")), None),
    "same id": ((("a", "{}"), ("a", "{}")), None),
}


def can_say(wire, streamed, calls):
    """Whether a wire can write half an object: not where arguments are one of its own."""
    return calls[0][1] != '{"q": ' or (streamed if wire.name == "anthropic" else wire.name != "google")


TOOL_CASES = {
    f"{wire.name} {'streamed' if streamed else 'plain'} {name}": (wire, streamed, calls, expected)
    for wire in WIRES.values()
    for streamed in (False, True)
    for name, (calls, expected) in CALLS.items()
    if can_say(wire, streamed, calls)
}


@pytest.mark.parametrize(("wire", "streamed", "calls", "expected"), TOOL_CASES.values(), ids=TOOL_CASES)
async def test_tool_calls_are_read_from_every_wire(wire, streamed, calls, expected):
    async with scene(wire.reply(Said(None, calls=calls), streamed=streamed), name=f"{wire.name}:m") as fault:
        answer = await fault.call(streamed=streamed)
    assert answer.finish_reason == "tool_calls"
    assert len({call.id for call in answer.tool_calls}) == len(calls) == len(answer.tool_calls)
    assert all(call.id for call in answer.tool_calls)
    if expected is not None:
        found = [(call.id, dict(call.arguments), call.invalid is not None) for call in answer.tool_calls]
        assert found == expected


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_sources_without_a_text_are_an_empty_answer_that_is_tried_again(streamed):
    wire = WIRES["perplexity"]
    found = {"search_results": [{"url": "https://a.example", "title": "A"}]}
    empty = wire.whole(Said("")) | found
    events = [wire.events(Said("x"))[-1] | found]
    reply = sse_reply([*map(frame, events), *wire.done]) if streamed else http_reply(json.dumps(empty).encode())
    async with scene(wire.reply(WORDS, streamed=streamed), first=[reply], name="perplexity:m") as fault:
        answer = await fault.call(streamed=streamed, told=True)
    assert (answer.text, len(fault.server.seen)) == (WORDS.text, 2)
    assert answer.usage.calls == 2
