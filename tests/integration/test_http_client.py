"""The client against a real server: deadlines, limits, connections, and whose address gets the key."""

from __future__ import annotations

import gzip
import logging
import ssl
import threading
import time
import tracemalloc
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import anyio
import httpx
import pytest

from roundtable.errors import AgentError, APINetworkError, APITimeoutError, ConfigurationError
from roundtable.http import HttpClient, HttpLimits, HttpRequest
from roundtable.http import client as http_client
from roundtable.http import transport as transport_module
from roundtable.http.transport import CONNECTIONS_PER_SHARD
from roundtable.testing.servers import LoopbackServer, WireReply, http_reply, sse_reply

SLACK_S = 2.0

pytestmark = pytest.mark.both_loops

SECRET = "sk-canary-0123456789"
CERTIFICATE = Path(__file__).parent / "loopback.pem"
"""Key and self-signed certificate of 127.0.0.1, good for nothing else."""


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


@pytest.fixture
async def client():
    made = HttpClient("acme")
    yield made
    await made.aclose()


def post(server, path="/v1/x?token=" + SECRET, body=b"{}"):
    return HttpRequest("POST", server.origin + path, {"authorization": f"Bearer {SECRET}"}, body)


async def until(condition):
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_a_request_and_its_answer_arrive_whole(server, client):
    server.queue(http_reply(b"body", status=201, headers={"X-Request-Id": "r1"}))
    answer = await client.send(post(server, body="é".encode()), timeout_s=5)
    assert (answer.status, answer.body, answer.headers["x-request-id"]) == (201, b"body", "r1")
    (seen,) = server.seen
    assert (seen.method, seen.body) == ("POST", "é".encode())
    assert seen.headers["accept-encoding"] == "gzip, identity"
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert seen.headers["user-agent"].startswith("roundtable-sdk/")


async def test_connections_are_kept_and_used_again(server, client):
    for _ in range(5):
        await client.send(post(server), timeout_s=5)
    assert server.connections == 1


@pytest.mark.slow
async def test_idle_connections_are_kept_by_time_and_not_by_count(server, client, monkeypatch):
    all_called = threading.Event()

    def answer(_):
        if server.connections == 100:
            all_called.set()
        assert all_called.wait(20)
        return sse_reply([b"x"])

    server._answer = answer
    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(lambda: client.send(post(server), timeout_s=60))
        assert server.connections == server.open_connections == 100
    monkeypatch.setattr("roundtable.http.transport.KEEPALIVE_S", 0)
    await client.send(post(server), timeout_s=5)
    await until(lambda: server.open_connections <= CONNECTIONS_PER_SHARD)
    await client.send(post(server), timeout_s=5)
    assert server.connections == 100


@pytest.mark.slow
async def test_a_later_call_on_a_connection_has_its_own_deadline(server, client):
    server.queue(sse_reply([b"x"] * 3, pause_s=0.01), WireReply([0.5, *http_reply(b"late").parts]))
    async with client.stream(post(server), timeout_s=0.4) as answer:
        assert await answer.read() == b"xxx"
    assert (await client.send(post(server), timeout_s=5)).body == b"late"
    assert server.connections == 1


async def test_a_connection_the_server_dropped_is_replaced(server, client):
    server.queue(WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"], "close"))
    await client.send(post(server), timeout_s=5)
    await until(lambda: server.open_connections == 0)
    assert (await client.send(post(server), timeout_s=5)).status == 200
    assert server.connections == 2


async def test_a_connection_dropped_while_the_loop_was_busy_is_replaced(server, client):
    server.queue(WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"], "close"))
    await client.send(post(server), timeout_s=5)
    while server.open_connections:
        time.sleep(0.001)  # noqa: ASYNC251  (the loop must not notice before the next call)
    assert (await client.send(post(server), timeout_s=5)).status == 200
    assert server.connections == 2


async def test_closing_frees_everything_can_be_repeated_and_is_not_final(server, client):
    await client.aclose()
    await client.send(post(server), timeout_s=5)
    await client.aclose()
    await client.aclose()
    await until(lambda: server.open_connections == 0)
    assert (await client.send(post(server), timeout_s=5)).status == 200


def test_event_loops_never_share_connections(server):
    client = HttpClient("acme")

    async def call():
        for _ in range(2):
            await client.send(post(server), timeout_s=5)
        await client.aclose()

    for turn, backend in enumerate(["asyncio", "trio", "asyncio"], 1):
        anyio.run(call, backend=backend)
        assert server.connections == turn


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(WireReply([60.0]), id="silence"),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\n", 60.0]), id="half a head"),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", 60.0]), id="half a body"),
        pytest.param(sse_reply([b"x"] * 200, pause_s=0.02), id="dripping"),
    ],
)
async def test_a_call_ends_at_its_total_deadline_whatever_it_waits_for(server, client, reply):
    server.queue(reply)
    start = time.monotonic()
    with pytest.raises(APITimeoutError, match=r"no complete answer within 0\.5 s") as caught:
        await client.send(post(server), timeout_s=0.5)
    assert 0.5 <= time.monotonic() - start < 0.5 + 2
    assert caught.value.retryable
    await until(lambda: server.hang_ups)
    assert (await client.send(post(server), timeout_s=5)).status == 200


async def test_leaving_a_stream_early_closes_its_connection(server, client):
    server.queue(sse_reply([b"x" * 100] * 1000, pause_s=0.01))
    async with client.stream(post(server), timeout_s=60) as answer:
        async for piece in answer:
            assert piece == b"x" * 100
            break
    await until(lambda: server.hang_ups)


async def test_cancelling_closes_the_connection(server, client):
    server.queue(WireReply([60.0]))
    with anyio.move_on_after(0.1) as scope:
        await client.send(post(server), timeout_s=60)
    assert scope.cancelled_caught
    await until(lambda: server.hang_ups)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
async def test_redirects_are_never_followed(server, client, status):
    server.queue(http_reply(b"", status=status, headers={"location": f"{server.origin}/trap"}))
    with pytest.raises(APINetworkError, match="redirect") as caught:
        await client.send(post(server), timeout_s=5)
    assert not caught.value.retryable
    assert server.traps == 0


async def test_redirects_are_not_followed_even_if_the_client_of_the_caller_would_follow_them(server):
    async with httpx.AsyncClient(follow_redirects=True) as own:
        server.queue(http_reply(b"", status=302, headers={"location": f"{server.origin}/trap"}))
        with pytest.raises(APINetworkError, match="redirect"):
            await HttpClient("acme", client=own).send(post(server), timeout_s=5)
    assert server.traps == 0


async def test_proxies_of_the_environment_are_not_used(server, client, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await client.send(post(server), timeout_s=5)).status == 200


async def test_a_client_of_the_callers_is_used_as_it_is_and_stays_open(server):
    async with httpx.AsyncClient(headers={"x-mine": "1"}) as own:
        ours = HttpClient("acme", client=own)
        assert (await ours.send(post(server), timeout_s=5)).status == 200
        async with ours.stream(post(server), timeout_s=5) as answer:
            assert b"ok" in await answer.read()
        await ours.aclose()
        assert not own.is_closed
        assert {seen.headers["x-mine"] for seen in server.seen} == {"1"}
    with pytest.raises(AgentError, match="could not be used"):
        await ours.send(post(server), timeout_s=5)


async def test_a_client_may_bring_any_transport():
    def reply(request):
        return httpx.Response(200, content=b"faked")

    async with httpx.AsyncClient(transport=httpx.MockTransport(reply)) as own:
        answer = await HttpClient("acme", client=own).send(HttpRequest("GET", "https://h.example/"), timeout_s=5)
    assert answer.body == b"faked"


async def test_a_client_of_another_kind_is_refused():
    with pytest.raises(ConfigurationError, match="not Client"), httpx.Client() as own:
        HttpClient("acme", client=own)


@pytest.mark.slow
async def test_gzip_is_decompressed_and_a_compression_bomb_is_refused(server, client):
    coded = {"content-encoding": "gzip"}
    server.queue(http_reply(gzip.compress(b"packed"), headers=coded))
    assert (await client.send(post(server), timeout_s=5)).body == b"packed"
    bomb = gzip.compress(b"\0" * 60_000_000)
    server.queue(http_reply(bomb, headers=coded))
    tracemalloc.start()
    with pytest.raises(AgentError, match="too large"):
        await client.send(post(server), timeout_s=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20


async def test_a_body_beyond_the_limit_is_refused_and_the_connection_closed(server):
    client = HttpClient("acme", limits=HttpLimits(body_bytes=1000))
    server.queue(sse_reply([b"x" * 100] * 1000, pause_s=0.001))
    with pytest.raises(AgentError, match="too large: more than 1000 bytes"):
        await client.send(post(server), timeout_s=5)
    await until(lambda: server.open_connections == 0)
    await client.aclose()


async def test_only_a_part_of_an_error_body_is_read(server):
    client = HttpClient("acme", limits=HttpLimits(error_bytes=1000))
    server.queue(http_reply(b"x" * 5_000_000, status=500))
    assert (await client.send(post(server), timeout_s=5)).body == b"x" * 1000
    await client.aclose()


@pytest.mark.parametrize(
    ("reply", "again"),
    [
        pytest.param(WireReply([], "close"), True, id="closed at once"),
        pytest.param(WireReply([], "reset"), True, id="reset at once"),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\ncontent-le"], "close"), True, id="half a head"),
        pytest.param(WireReply([b"garbage garbage\r\n\r\n"], "close"), True, id="not HTTP"),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"], "close"), True, id="short body"),
        pytest.param(
            WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", 0.05], "reset"), True, id="reset body"
        ),
        pytest.param(sse_reply([b"x"], whole=False), True, id="no last chunk"),
        pytest.param(
            WireReply([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"], "close"), True, id="bad chunk"
        ),
        pytest.param(
            WireReply([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000 + b"\r\n\r\n"], "close"), True, id="huge header"
        ),
        pytest.param(
            http_reply(gzip.compress(b"x" * 999)[:-9], headers={"content-encoding": "gzip"}), True, id="cut gzip"
        ),
        pytest.param(http_reply(b"plain", headers={"content-encoding": "gzip"}), True, id="no gzip"),
        pytest.param(http_reply(b"plain", headers={"content-encoding": "br"}), False, id="another coding"),
    ],
)
async def test_a_broken_answer_is_a_network_error_without_its_bytes(server, client, reply, again, caplog):
    caplog.set_level(logging.DEBUG, "roundtable")
    server.queue(reply)
    with pytest.raises(APINetworkError) as caught:
        await client.send(post(server), timeout_s=5)
    assert caught.value.retryable is again
    assert caught.value.provider == "acme"
    assert "garbage" not in str(caught.value.to_dict())
    assert SECRET not in str(caught.value.to_dict(debug=True)) + caplog.text
    await client.aclose()
    await until(lambda: server.open_connections == 0)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(WireReply([b"HTTP/1.0 200 OK\r\n\r\nold"], "close"), id="HTTP/1.0"),
        pytest.param(
            WireReply([b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 900 + b"content-length: 3\r\n\r\nold"]), id="many headers"
        ),
        pytest.param(WireReply([b"HTTP/1.1 200 OK\r\n", 0.05, b"content-length: 3\r\n\r\n", 0.05, b"old"]), id="slow"),
        pytest.param(sse_reply([b"o", b"l", b"d"]), id="chunks"),
    ],
)
async def test_an_odd_but_whole_answer_is_read(server, client, reply):
    server.queue(reply)
    assert (await client.send(post(server), timeout_s=5)).body == b"old"


async def test_a_port_nobody_listens_on(client):
    with LoopbackServer() as gone:
        request = post(gone)
    with pytest.raises(APINetworkError, match="could not connect") as caught:
        await client.send(request, timeout_s=5)
    assert caught.value.retryable


async def test_an_unknown_host_name_is_a_network_error(client):
    with pytest.raises(APINetworkError):
        await client.send(HttpRequest("GET", "https://nowhere.invalid/v1"), timeout_s=20)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http:///x", "127.0.0.1/x"])
async def test_an_invalid_address_is_refused(client, url):
    with pytest.raises((ConfigurationError, APINetworkError)):
        await client.send(HttpRequest("GET", url), timeout_s=5)


async def test_a_header_that_cannot_be_sent_is_not_quoted(server, client):
    request = HttpRequest("GET", f"{server.origin}/x", {"authorization": f"Bearer {SECRET}\nx"})
    with pytest.raises(ConfigurationError) as caught:
        await client.send(request, timeout_s=5)
    assert SECRET not in str(caught.value.to_dict())


@pytest.fixture
def https():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with LoopbackServer(tls=context) as running:
        yield running


async def test_a_certificate_nobody_vouches_for_is_refused_for_good(https, client):
    with pytest.raises(APINetworkError, match="certificate") as caught:
        await client.send(post(https), timeout_s=5)
    assert not caught.value.retryable
    assert https.seen == []


async def test_a_certificate_of_the_systems_store_is_trusted(https, client, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    for _ in range(2):
        assert (await client.send(post(https), timeout_s=5)).status == 200
    assert https.connections == 1


class Buffered(httpx.AsyncByteStream):
    """A body that is there already: reading it never waits."""

    def __init__(self, piece, count):
        self.piece, self.count, self.read = piece, count, 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.read == self.count:
            raise StopAsyncIteration
        self.read += 1
        return self.piece


@pytest.mark.parametrize("packed", [False, True], ids=["many reads", "many pieces of one read"])
async def test_the_deadline_holds_for_a_client_that_never_waits(packed):
    """A cancel scope ends what waits, and nothing else; the clock is looked at with each piece."""
    text = b"data: tea\n\n" * 400_000
    piece, coding = (gzip.compress(text), "gzip") if packed else (text[:1000], "identity")
    body = Buffered(piece, 1 if packed else 10**6)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-encoding": coding}, stream=body))
    limits = HttpLimits(ratio=10**6)

    async def take(answer):
        async for _ in answer:
            if not packed and body.read == 3:
                time.sleep(0.35)  # noqa: ASYNC251  (a consumer that holds the loop)
            elif packed:
                time.sleep(0.1)  # noqa: ASYNC251

    async with httpx.AsyncClient(transport=transport) as own:
        ours = HttpClient("acme", client=own, limits=limits)
        asked = HttpRequest("GET", "https://h.example/")
        async with ours.stream(asked, timeout_s=0.3) as answer:
            with pytest.raises(APITimeoutError, match=r"within 0\.3 s"):
                await take(answer)
    assert body.read <= 4


async def test_calls_that_start_together_share_one_tls_context(https, monkeypatch):
    made = []
    create = httpx.create_ssl_context
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **options: made.append(1) or create(**options))
    http_client._tls_context_of.cache_clear()

    async def refused(number):
        client = HttpClient(f"acme {number}")
        with pytest.raises(APINetworkError, match="certificate"):
            await client.send(post(https), timeout_s=20)
        await client.aclose()

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(refused, number)
    http_client._tls_context_of.cache_clear()
    assert len(made) == 1


@pytest.mark.parametrize(("installed", "used"), [("3.12.15", False), ("3.14.0", True), ("4.0", True), (None, False)])
def test_an_aiohttp_that_is_too_old_is_not_used(monkeypatch, installed, used):
    def version(_name):
        if installed is None:
            raise PackageNotFoundError
        return installed

    monkeypatch.setattr("importlib.metadata.version", version)
    assert http_client._has_fast.__wrapped__() is used


@pytest.mark.slow
async def test_a_body_of_a_custom_client_that_does_not_close_blocks_no_call():
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"x"
            await anyio.sleep(60)

        async def aclose(self):
            await anyio.sleep(60)

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    async with httpx.AsyncClient(transport=transport) as own:
        client = HttpClient("acme", client=own)
        began = time.monotonic()
        with pytest.raises(APITimeoutError):
            await client.send(HttpRequest("POST", "https://api.example.org/v1"), timeout_s=0.5)
        assert time.monotonic() - began < 0.5 + 1.0 + SLACK_S


async def test_an_idle_pool_that_does_not_close_costs_no_answer(server, client, monkeypatch):
    await client.send(post(server), timeout_s=5)
    (pools,) = client._transports.get().transport._shards.values()
    (old,) = pools
    pools.append(transport_module._Shard(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)))

    async def broken():
        raise OSError("the socket is gone")

    close = pools[1].transport.aclose
    monkeypatch.setattr(pools[1].transport, "aclose", broken)
    monkeypatch.setattr(transport_module, "KEEPALIVE_S", -60.0)
    assert (await client.send(post(server), timeout_s=5)).status == 200
    assert pools == []
    await close()
    await old.transport.aclose()
