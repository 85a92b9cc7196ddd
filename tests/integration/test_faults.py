"""The faults of a provider through the gateway: typed outcome, number of requests, time, and nothing left behind."""

from __future__ import annotations

import contextlib
import email.utils
import gzip
import json
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from integration.test_providers_http import ASK, BOTH, KEY, STREAMS, content, told
from sniffio import current_async_library

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    RoundtableError,
)
from roundtable.gateway import Gateway, RetryRule
from roundtable.http import HttpClient
from roundtable.providers import chat_model
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, WireReply, chat_chunks, chat_reply, http_reply, sse_reply
from roundtable.types import ChatResponse, Usage

pytestmark = pytest.mark.slow

RULE = RetryRule(base_delay_s=0.001)
TIMEOUT_S = 1.0
SLACK_S = 2.0
"""What a busy machine may add to a limit; alone it is some hundredths of a second."""
OK = chat_reply("ok")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


class Scene:
    """A server that plays a fault, and a guarded model that calls it."""

    def __init__(self, server, model):
        self.server = server
        self.model = model
        self.notices = []
        self.read = threading.Event()
        """Whether the first piece of a stream has been read, or never will be."""

    async def call(self, *, streamed, told=False):
        model = self.model.asking(self._wanted, self._hear) if told else self.model
        if not streamed:
            return await model.complete(ASK)
        pieces = []
        try:
            async for piece in model.stream(ASK):
                pieces.append(piece)
                self.read.set()
        finally:
            self.read.set()
        return pieces[-1]

    async def _wanted(self):
        pass

    async def _hear(self, notice):
        self.notices.append(notice)

    @property
    def gaps(self):
        """Seconds between the requests, as they arrived."""
        return [later - earlier for earlier, later in pairwise(self.server.times)]


class Apart(list):
    """The parts of a reply; what follows the first piece of text waits until that was read.

    In one read with it, a fault would be met before anything was shown, and tried again.
    """

    def __init__(self, parts, read):
        super().__init__(parts)
        self._read = read

    def __iter__(self):
        for part in super().__iter__():
            yield part
            if isinstance(part, bytes) and b'"content": "t"' in part:
                self._read.wait(10)


class TimedServer(LoopbackServer):
    """Remembers when requests came; answers all of them like this once the queue is empty."""

    def __init__(self, reply=None):
        super().__init__(self._play)
        self.times = []
        self.reply = reply

    def _choose_reply(self, seen):
        self.times.append(time.monotonic())
        return super()._choose_reply(seen)

    def _play(self, seen):
        return self.reply or chat_reply("ok", stream=seen.wants_stream)


@contextlib.asynccontextmanager
async def scene(reply=None, *, first: Sequence[WireReply] = (), timeout_s=5.0, rule=RULE, name="compatible:m"):
    """Yield a scene, and check that nothing of it is left when the block is over."""
    tasks, files = len(anyio.get_running_tasks()), None
    with TimedServer(reply) as server:
        server.queue(*first)
        inner = chat_model(name, base_url=server.url, api_key=KEY, settings=Settings(), timeout_s=timeout_s)
        files = open_files()
        yield Scene(server, Gateway(retry=rule, timeout_s=timeout_s).guard(inner))
        await inner.aclose()
        with anyio.fail_after(20):
            while server.open_connections:  # noqa: ASYNC110
                await anyio.sleep(0.002)
        assert open_files() <= files
    assert len(anyio.get_running_tasks()) == tasks
    assert server.traps == 0


def open_files():
    """How many files and sockets this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def tries(kind, retryable, timed_out):
    """How many requests a fault that lasts takes."""
    if not retryable or timed_out:
        return 1
    return 2 if kind is AgentError else 4


def lasting(reply):
    """Whether the fault is silence, which takes all the time there is."""
    return any(isinstance(part, float) and part > 1 for part in reply.parts) or len(reply.parts) > 1500


@pytest.mark.parametrize(("reply", "kind", "retryable"), BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_lasting_fault(reply, kind, retryable, streamed):
    silent = lasting(reply)
    async with scene(reply, timeout_s=TIMEOUT_S if silent else 5) as fault:
        began = time.monotonic()
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=streamed)
        took = time.monotonic() - began
        assert type(caught.value) is kind
        expected = tries(
            kind, retryable or (streamed and kind is AgentError and reply.parts[-1] in {b"null", b"42"}), silent
        )
        assert len(fault.server.seen) == expected
        if silent:
            assert TIMEOUT_S <= took < TIMEOUT_S + SLACK_S
        assert caught.value.provider == "compatible"
        assert KEY[:12] not in str(caught.value.to_dict(debug=True))


@pytest.mark.parametrize(("reply", "kind", "retryable"), STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("told", [False, True], ids=["unheard", "heard"])
async def test_a_lasting_fault_of_a_stream(reply, kind, retryable, told):
    silent = lasting(reply)
    async with scene(timeout_s=TIMEOUT_S if silent else 5) as fault:
        fault.server.reply = WireReply(Apart(reply.parts, fault.read), reply.end)
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=True, told=told)
        assert type(caught.value) is kind
        shown = "partial_answer" in (caught.value.details or {})
        assert len(fault.server.seen) == (1 if shown and not told else tries(kind, retryable, silent))
        # Whoever reads a stream with its pieces voided has been told as often.
        assert len(fault.notices) == (len(fault.server.seen) - 1 if told else 0)
        if shown:
            assert caught.value.usage is not None
            assert caught.value.usage.unreported_calls >= 1


@pytest.mark.parametrize("name", ["error late", "bad JSON", "bad UTF-8"])
async def test_a_fault_in_one_read_with_the_first_pieces_comes_before_anything_is_shown_and_is_tried_again(name):
    reply, kind, retryable = STREAMS[name]
    body = b"".join(part[part.index(b"\r\n") + 2 : -2] for part in reply.parts[1:-1])
    reply = WireReply([b"".join(http_reply(body, headers={"content-type": "text/event-stream"}).parts)])
    async with scene(reply) as fault:
        with pytest.raises(kind) as caught:
            await fault.call(streamed=True)
        assert "partial_answer" not in (caught.value.details or {})
        assert len(fault.server.seen) == tries(kind, retryable, timed_out=False)


PASSING = {name: row for name, row in BOTH.items() if row[2] and not lasting(row[0])}


@pytest.mark.parametrize(("reply", "kind", "retryable"), PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_fault_that_passes_leaves_no_trace_in_the_answer(reply, kind, retryable, streamed):
    async with scene(first=[reply]) as fault:
        answer = await fault.call(streamed=streamed)
        assert (answer.text, len(fault.server.seen)) == ("ok", 2)
        charged = 1 if kind is AgentError else 0
        assert answer.usage == Usage(input_tokens=11, output_tokens=7, calls=1 + charged, unreported_calls=charged)
        assert fault.server.seen[0].body == fault.server.seen[1].body


@dataclass(frozen=True)
class Told:
    """A row about waiting: what the server says once, and the least and most seconds until the next request."""

    headers: dict = field(default_factory=dict)
    status: int = 429
    least_s: float = 0.0
    most_s: float = 1.0
    body: bytes = told()


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(Told({"retry-after": "1"}, least_s=1, most_s=2.5), id="P10 seconds", marks=pytest.mark.slow),
        pytest.param(Told({"retry-after-ms": "50"}, least_s=0.05), id="P10 milliseconds"),
        pytest.param(Told({"retry-after": "inf"}), id="P12 inf"),
        pytest.param(Told({"retry-after": "nan"}), id="P12 nan"),
        pytest.param(Told({"retry-after": "-5"}), id="P12 negative"),
        pytest.param(Told({"retry-after": "soon"}), id="P12 words"),
        pytest.param(Told({"x-should-retry": "true"}, status=400), id="P14 true on 400"),
        pytest.param(Told(status=500), id="P15 500"),
        pytest.param(Told(status=502), id="P15 502"),
        pytest.param(Told(status=503), id="P15 503"),
        pytest.param(Told(status=504), id="P15 504"),
        pytest.param(Told(status=529), id="P15 529"),
    ],
)
async def test_a_call_waits_as_long_as_the_provider_asks(row):
    async with scene(first=[http_reply(row.body, status=row.status, headers=row.headers)]) as fault:
        assert (await fault.call(streamed=False)).text == "ok"
        (gap,) = fault.gaps
        assert row.least_s <= gap < row.most_s + SLACK_S


@pytest.mark.slow
async def test_a_date_is_waited_for():
    """P10."""
    at = time.time()
    headers = {
        "date": email.utils.formatdate(at, usegmt=True),
        "retry-after": email.utils.formatdate(at + 1, usegmt=True),
    }
    async with scene(first=[http_reply(told(), status=429, headers=headers)]) as fault:
        await fault.call(streamed=False)
        assert 1 <= fault.gaps[0] < 2.5 + SLACK_S


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        pytest.param(429, {"retry-after": "86400"}, APIRateLimitError, id="P11 a day"),
        pytest.param(429, {"retry-after": "9" * 400}, APIRateLimitError, id="P11 400 nines"),
        pytest.param(500, {"x-should-retry": "false"}, APINetworkError, id="P14 false on 500"),
        pytest.param(501, {}, APINetworkError, id="P16 501"),
        pytest.param(418, {}, AgentError, id="P16 418"),
        pytest.param(402, {}, APIAuthError, id="P4 402"),
    ],
)
async def test_a_final_error_takes_a_single_request(status, headers, kind):
    async with scene(http_reply(told(), status=status, headers=headers)) as fault:
        began = time.monotonic()
        with pytest.raises(kind) as caught:
            await fault.call(streamed=False)
        assert (len(fault.server.seen), time.monotonic() - began < SLACK_S) == (1, True)
        if "retry-after" in headers:
            assert caught.value.retry_after_s >= 86400


async def test_a_permanent_rate_limit_is_charged_to_the_budget():
    """P9."""
    async with scene(http_reply(told(), status=429)) as fault:
        with pytest.raises(APIRateLimitError, match="after 4 attempts"):
            await fault.call(streamed=False)
        assert len(fault.server.seen) == 4
        assert fault.model.endpoint_state.budget.available == 485


@pytest.mark.slow
async def test_a_compressed_answer_is_read_and_a_bomb_is_not():
    """P32 and P33."""
    zipped = {"content-type": "application/json", "content-encoding": "gzip"}
    async with scene(http_reply(gzip.compress(content("zipped")), headers=zipped)) as fault:
        assert (await fault.call(streamed=False)).text == "zipped"
    for body, kind, count in (
        (gzip.compress(content("zipped"))[:-12], APINetworkError, 4),
        (b"\x1f\x8b" + b"x" * 50, APINetworkError, 4),
        (gzip.compress(b" " * 50_000_000), AgentError, 1),
    ):
        async with scene(http_reply(body, headers=zipped)) as fault:
            with pytest.raises(kind):
                await fault.call(streamed=False)
            assert len(fault.server.seen) == count


async def test_a_port_nobody_listens_on():
    """P60."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    inner = chat_model("compatible:m", base_url=f"http://127.0.0.1:{port}/v1", settings=Settings())
    with pytest.raises(APINetworkError, match=r"could not connect \(after 4 attempts\)") as caught:
        await Gateway(retry=RULE).guard(inner).complete(ASK)
    assert caught.value.usage is None
    await inner.aclose()


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\n", *[0.05, b"x: y\r\n"] * 100]), id="P62 slow headers"),
        pytest.param(WireReply([HEAD + b"content-length: 9999\r\n\r\n", *[0.02, b" "] * 500]), id="P62 dripping body"),
        pytest.param(WireReply([HEAD + b"content-length: 9\r\n\r\n", 60.0]), id="P62 stall"),
        pytest.param(WireReply([60.0]), id="P61 silence"),
        pytest.param(sse_reply([b": ping\n\n"] * 500, pause_s=0.02), id="P75 heartbeats"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_the_deadline_is_that_of_the_whole_call(reply, streamed):
    async with scene(reply, timeout_s=TIMEOUT_S) as fault:
        began = time.monotonic()
        with pytest.raises(APITimeoutError):
            await fault.call(streamed=streamed)
        assert TIMEOUT_S - 0.01 <= time.monotonic() - began < TIMEOUT_S + SLACK_S
        assert len(fault.server.seen) == 1
        with anyio.fail_after(8):
            while not fault.server.hang_ups:  # noqa: ASYNC110
                await anyio.sleep(0.002)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(WireReply([HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"], "close"), id="P63 bad chunk"),
        pytest.param(WireReply([HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"], "close"), id="P63 no end"),
        pytest.param(WireReply([HEAD + b"content-length: 99\r\n\r\n{"], "reset"), id="P64 reset in the body"),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 262_144], "close"), id="P65 a huge header"),
    ],
)
async def test_a_broken_connection(reply):
    async with scene(reply) as fault:
        with pytest.raises(APINetworkError):
            await fault.call(streamed=False)
        assert len(fault.server.seen) == 4


CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "wrong", [b"zz\r\n", b"3\r\n{}xx\r\n", b"1\r\n}\r\nnonsense\r\n"], ids=["a size", "an end", "after a good one"]
)
@pytest.mark.parametrize("before", [b"", b"2\r\n{ \r\n"], ids=["first", "later"])
async def test_a_broken_chunk_that_comes_by_itself_ends_the_call_at_once(before, wrong):
    """P63: the connection stays open behind it."""
    reply = WireReply([CHUNKED, 0.05, before, 0.05, wrong, 60.0])
    async with scene(reply, timeout_s=20, rule=RetryRule(on=frozenset())) as fault:
        began = time.monotonic()
        with pytest.raises(APINetworkError, match="broke off"):
            await fault.call(streamed=False)
        assert time.monotonic() - began < SLACK_S
        assert len(fault.server.seen) == 1


class Ahead(list):
    """The parts of a reply without an end, sent as fast as the connection takes them."""

    def __iter__(self):
        yield from super().__iter__()
        piece = b"".join(chat_chunks("x" * 50, pieces=50, done=False, finish=None))
        while True:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)


async def test_the_deadline_holds_where_data_comes_faster_than_it_is_taken():
    head = HEAD.replace(b"application/json", b"text/event-stream") + b"transfer-encoding: chunked\r\n\r\n"
    async with scene(WireReply(Ahead([head])), timeout_s=0.3) as fault, fault.model.stream(ASK) as pieces:
        began = time.monotonic()

        async def take_slowly():
            async for _ in pieces:
                await anyio.sleep(0.001)
                assert time.monotonic() - began < 0.3 + SLACK_S

        with pytest.raises(APITimeoutError):
            await take_slowly()


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_the_gateways_deadline_ends_a_call_whose_model_has_more_time(streamed):
    head = HEAD + b"content-length: 9999\r\n\r\n"
    async with scene(WireReply([head + chat_chunks("tea")[0], 60.0]), timeout_s=30) as fault:
        fault.model = fault.model.without_retries(TIMEOUT_S)
        began = time.monotonic()
        with pytest.raises(APITimeoutError, match=f"within {TIMEOUT_S:g} s") as caught:
            await fault.call(streamed=streamed)
        assert TIMEOUT_S - 0.01 <= time.monotonic() - began < TIMEOUT_S + SLACK_S
        assert caught.value.details["deadline_s"] == TIMEOUT_S
        assert caught.value.provider == "compatible"
        assert fault.model.endpoint_state.breaker.failures == 1


async def test_no_piece_needs_more_than_one_cancel_scope(monkeypatch):
    """Two for each piece were 40 % of its cost. What aiohttp has received already needs none."""
    scopes, scope = [], anyio.CancelScope
    monkeypatch.setattr(anyio, "CancelScope", lambda **options: scopes.append(options) or scope(**options))
    head = HEAD.replace(b"application/json", b"text/event-stream") + b"transfer-encoding: chunked\r\n\r\n"
    burst = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in chat_chunks("x" * 500, pieces=500))
    async with scene(WireReply([head + burst + b"0\r\n\r\n"])) as fault:
        pieces = [piece async for piece in fault.model.stream(ASK)]
        assert "".join(piece.text for piece in pieces[:-1]) == "x" * 500
        assert len(scopes) < (30 if HttpClient.fast and current_async_library() == "asyncio" else 530)


async def test_many_headers_are_read():
    """P65."""
    many = {f"x-{number}": "y" for number in range(1500)}
    async with scene(http_reply(content("fine"), headers={"content-type": "application/json", **many})) as fault:
        assert (await fault.call(streamed=False)).text == "fine"


async def test_a_kept_connection_that_was_dropped_costs_no_try():
    """P67."""
    closing = WireReply(chat_reply("first").parts, "close")
    async with scene(first=[closing]) as fault:
        await fault.call(streamed=False)
        with anyio.fail_after(20):
            while fault.server.open_connections:  # noqa: ASYNC110
                await anyio.sleep(0.002)
        assert (await fault.call(streamed=False)).text == "ok"
        assert fault.model.endpoint_state.breaker.failures == 0


async def test_many_small_events_cost_little():
    """P82."""
    async with scene(sse_reply([b"".join(chat_chunks("x" * 5000, pieces=5000))]), timeout_s=60) as fault:
        answer = await fault.call(streamed=True)
        assert answer.text == "x" * 5000


async def test_a_consumer_that_leaves_hangs_up():
    """P81."""
    async with scene(sse_reply(chat_chunks("x" * 500, pieces=500), pause_s=0.02), timeout_s=30) as fault:
        stream = fault.model.stream(ASK)
        assert not isinstance(await anext(stream), ChatResponse)
        await stream.aclose()
        with anyio.fail_after(8):
            while not fault.server.hang_ups:  # noqa: ASYNC110
                await anyio.sleep(0.002)
        assert fault.model.endpoint_state.breaker.failures == 0


async def test_a_cancelled_call_hangs_up_and_is_nobodys_failure():
    async with scene(WireReply([60.0])) as fault:
        with anyio.move_on_after(0.1):
            await fault.call(streamed=False)
        with anyio.fail_after(8):
            while not fault.server.hang_ups:  # noqa: ASYNC110
                await anyio.sleep(0.002)
        assert fault.model.endpoint_state.breaker.failures == 0


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(None, Usage(calls=1, unreported_calls=1), id="missing"),
        pytest.param({"prompt_tokens": -3, "completion_tokens": "many"}, Usage(calls=1, unreported_calls=1), id="odd"),
        pytest.param({"prompt_tokens": 3}, Usage(input_tokens=3, calls=1), id="half"),
    ],
)
async def test_missing_usage_is_unknown_and_not_zero(usage, expected):
    """P46."""
    message = {"role": "assistant", "content": "fine"}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})
    async with scene(http_reply(body.encode())) as fault:
        assert (await fault.call(streamed=False)).usage == expected
