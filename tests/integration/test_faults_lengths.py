"""Answers without an end, answers of many pieces, and servers that cannot be reached at all, on every wire.

The numbers are those of the table of faults that the documentation of outcomes follows.
"""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import pytest
from integration.test_faults import RULE, scene
from integration.test_providers_http import ASK, HEAD, KEY
from integration.wires import WIRES, Said, frame

from roundtable.errors import AgentError, APINetworkError
from roundtable.gateway import Gateway
from roundtable.providers import BUILTIN_SPECS, chat_model
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, WireReply, sse_reply

pytestmark = pytest.mark.slow

CERTIFICATE = Path(__file__).parent / "loopback.pem"
LIMIT = 32 * 2**20
"""Most bytes of an answer."""
HEAD_SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EITHER = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
EACH = pytest.mark.parametrize(
    "wire",
    [pytest.param(wire, marks=() if name == "openai-chat" else pytest.mark.slow) for name, wire in WIRES.items()],
    ids=WIRES,
)
"""Every day on one wire, in CI on all of them."""


@pytest.fixture
def anyio_backend():
    """The wires are pure; what waits is tried on both backends elsewhere."""
    return "asyncio"


def deltas(wire, text, count):
    """The frames of a stream that says a text again and again, up to its end."""
    events = wire.events(Said(text * 2))
    place = len(events) - wire.tail - 1

    def numbered(number, event):
        return frame(event | {"sequence_number": number} if "sequence_number" in event else event)

    same = None if "sequence_number" in events[place] else frame(events[place])
    for number in range(place - 1 + count):
        if number < place - 1:
            yield numbered(number, events[number])
        else:
            yield same or numbered(number, events[place])
    for number, event in enumerate(wire.events(Said(text * count))[-wire.tail :], place - 1 + count):
        yield numbered(number, event)
    yield from wire.done


class Endless:
    """The parts of a reply that goes on until the client hangs up; remembers how much was sent."""

    def __init__(self, head, pieces):
        self.head, self.pieces, self.sent = head, pieces, 0

    def __iter__(self):
        yield self.head
        for piece in self.pieces():
            self.sent += len(piece)
            yield b"%x\r\n%b\r\n" % (len(piece), piece)

    def __len__(self):
        return 1


def forever(piece):
    while True:
        yield piece


def of_length(wire, text):
    return lambda: deltas(wire, text, 10**6)


ENDLESS = {
    "deltas": (True, lambda wire: of_length(wire, "tea " * 16_000)),
    "comments": (True, lambda _: lambda: forever(b": " + b"x" * 64_000 + b"\n\n")),
    "space": (True, lambda _: lambda: forever(b" " * 64_000)),
    "a document": (True, lambda _: lambda: forever(b'{"a": "' + b"x" * 64_000)),
    "a plain document": (False, lambda _: lambda: forever(b'{"a": "' + b"x" * 64_000)),
    "plain space": (False, lambda _: lambda: forever(b" " * 64_000)),
}


@EACH
@pytest.mark.parametrize(
    ("streamed", "pieces"),
    [
        pytest.param(*row, marks=() if name in {"deltas", "space"} else pytest.mark.slow, id=name)
        for name, row in ENDLESS.items()
    ],
)
async def test_p79_an_endless_answer_is_refused_at_the_limit_and_its_connection_is_closed(wire, streamed, pieces):
    parts = Endless(HEAD_SSE if streamed else HEAD + b"transfer-encoding: chunked\r\n\r\n", pieces(wire))
    async with scene(WireReply(parts), name=f"{wire.name}:m", timeout_s=60) as fault:
        with pytest.raises(AgentError, match=r"too large|larger than") as caught:
            await fault.call(streamed=streamed, told=True)
        assert len(fault.server.seen) == 1
        assert len(str(caught.value.to_dict(debug=True))) < 10_000
        assert KEY[:12] not in str(caught.value.to_dict(debug=True))
    # What is behind the cap lies in the buffers of the sockets.
    assert parts.sent < LIMIT + 16 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
@pytest.mark.parametrize("start", [b"", b'{"a": "'], ids=["space", "a document"])
def test_p79_reading_an_answer_that_is_not_a_stream_takes_linear_time(wire, start):
    def seconds(chunks):
        decoder = BUILTIN_SPECS[wire.name].dialect.stream_decoder({})
        began = time.thread_time()
        decoder.feed(start)
        for _ in range(chunks):
            decoder.feed(b" " * 4_096)
        return time.thread_time() - began

    few, many = min(seconds(250) for _ in range(3)), min(seconds(2_000) for _ in range(3))
    # Eight times as much; in proportion to the square it takes 64 times as long.
    assert many < 24 * few + 0.01


@EACH
async def test_p82_thousands_of_small_events_cost_little_each(wire):
    count = 5_000
    reply = sse_reply([b"".join(deltas(wire, "tea ", count))])
    async with scene(reply, timeout_s=60, name=f"{wire.name}:m") as fault:
        await fault.call(streamed=True)
        began = time.thread_time()
        answer = await fault.call(streamed=True)
        took = time.thread_time() - began
        assert answer.text == "tea " * count
        assert len(fault.server.seen) == 2
    # 60 us each, on a machine that does nothing else; ten times as much is a fault on any.
    assert took / count < 600e-6


@EACH
@EITHER
async def test_p68_an_unknown_host_name_fails_after_four_attempts(wire, streamed):
    inner = chat_model(f"{wire.name}:m", base_url="https://nowhere.invalid/v1", api_key=KEY, settings=Settings())
    model = Gateway(retry=RULE).guard(inner)
    with pytest.raises(APINetworkError, match=r"could not connect.*\(after 4 attempts\)") as caught:
        _ = [piece async for piece in model.stream(ASK)] if streamed else await model.complete(ASK)
    assert (caught.value.provider, caught.value.usage) == (wire.name, None)
    await inner.aclose()


@EACH
@EITHER
async def test_p68_an_untrusted_certificate_is_tried_once(wire, streamed):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with LoopbackServer(tls=context) as server:
        inner = chat_model(f"{wire.name}:m", base_url=server.url, api_key=KEY, settings=Settings())
        model = Gateway(retry=RULE).guard(inner)
        with pytest.raises(APINetworkError, match="certificate") as caught:
            _ = [piece async for piece in model.stream(ASK)] if streamed else await model.complete(ASK)
        assert (caught.value.retryable, server.seen, server.connections) == (False, [], 1)
        await inner.aclose()
