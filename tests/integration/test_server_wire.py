"""What clients can do wrong on the wire, over raw sockets: refused in the format of all errors, fast, never a 500."""

from __future__ import annotations

import json
import socket
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute
from anyio.from_thread import start_blocking_portal
from fastapi import Request
from integration.server_kit import served, served_table, token_for
from starlette.responses import Response, StreamingResponse

from roundtable.auth import LocalUser
from roundtable.errors import StorageError
from roundtable.server import create_app
from roundtable.server.serving import WireProtocol
from roundtable.server.state import Reader
from roundtable.server.streams import WRITE

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from fastapi import FastAPI

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
    pytest.mark.slow,
]

PATH = "/api/chat/multi"
HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


class Quick(WireProtocol):
    """Waits less, and notes which clients have no connection any more."""

    drain_s = 0.2
    stall_s = 0.3
    gone: ClassVar[set[int]] = set()
    """Ports of clients."""

    def connection_lost(self, exc: Exception | None) -> None:
        if self.client is not None:
            self.gone.add(self.client[1])
        super().connection_lost(exc)


class Hasty(Quick):
    """Waits for a head no longer than a test can."""

    header_s = 0.3


class Patient(Quick):
    """Waits for a reader as long as a busy machine may hold it up."""

    stall_s = 5.0


class Unpaused(Quick):
    """Buffers every response whole, as the response of a few kilobytes is that the system does not take at once."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=100_000_000)


class Full(WireProtocol):
    """Has room for one connection."""

    most_connections = 1


def wild_app(**options: Any) -> FastAPI:
    """Return a server with some endpoints that fail."""
    app = create_app(served_table(), auth=options.pop("auth", LocalUser()), **options)

    @app.get("/api/fails")
    async def fails(caller: Reader) -> Response:
        raise RuntimeError("/home/ann/secret.py sk-ant-secret")

    @app.get("/api/breaks")
    async def breaks(caller: Reader) -> Response:
        async def half() -> AsyncIterator[bytes]:
            yield b"half of it"
            raise RuntimeError("secret")

        return StreamingResponse(half(), media_type="text/plain")

    @app.get("/api/stores")
    async def stores(caller: Reader) -> Response:
        raise StorageError("cannot open /home/ann/debates.db")

    @app.get("/api/large")
    async def large(caller: Reader) -> Response:
        return Response(b"x" * 50_000_000)

    @app.post("/api/echo")
    async def echo(request: Request) -> Response:
        return Response(str(len(await request.body())))

    return app


@asynccontextmanager
async def port_of(app: FastAPI | None = None, http: type[WireProtocol] = Quick, idle_s: int = 5) -> AsyncIterator[int]:
    async with served(app or wild_app(), http, idle_s) as url:
        yield int(url.rpartition(":")[2])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Yield the port of a server for all tests that leave it as it was."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(served(wild_app(), Quick)) as url,
    ):
        yield int(url.rpartition(":")[2])


async def said(port: int, *pieces: bytes, close: bool = False, wait_s: float = 20) -> bytes:
    """Send pieces, then read until the server closes or says nothing more for a moment."""
    got = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as wire:
        try:
            for piece in pieces:
                await wire.send(piece)
            if close:
                await wire.send_eof()
            with anyio.fail_after(wait_s):
                while True:
                    got += await wire.receive()
                    head, _, body = got.partition(b"\r\n\r\n")
                    if f"content-length: {len(body)}\r\n".encode() in head + b"\r\n":
                        return got
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return got


def posted(body: bytes, path: str = PATH) -> bytes:
    return HEAD.format(path=path).encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def read(got: bytes) -> tuple[int, str]:
    """Return status and code of a refusal, which has to be whole."""
    head, _, body = got.partition(b"\r\n\r\n")
    told = json.loads(body)
    assert {"error", "code", "timestamp", "requestId"} <= set(told), told
    assert f"x-request-id: {told['requestId']}".encode() in head
    assert not any(word in got for word in (b"Traceback", b"/home/", b"secret", b'.py"'))
    return int(head.split()[1]), told["code"]


ASKED = {"agents": ["nobody"], "rounds": 1, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'"text"', id="text"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"a":' * 900 + b"1" + b"}" * 900, id="deep-but-whole"),
        pytest.param(json.dumps(ASKED).replace("1", "NaN").encode(), id="nan"),
        pytest.param(json.dumps(ASKED).replace("1", "Infinity").encode(), id="infinity"),
        pytest.param(json.dumps(ASKED).replace("1", "1e999").encode(), id="1e999"),
        pytest.param(json.dumps(ASKED).replace("1", "9" * 10_000).encode(), id="big-int"),
        pytest.param(json.dumps(ASKED).replace("1", '1, "rounds": 2').encode(), id="twice"),
        pytest.param(json.dumps(ASKED).replace("Hi", "\\ud800").encode(), id="surrogate"),
        pytest.param(json.dumps(ASKED).encode("utf-16"), id="utf-16"),
        pytest.param(b'{"agents": "\xff"}', id="no-utf-8"),
        pytest.param(json.dumps(ASKED).encode() + b"x", id="more"),
        pytest.param(json.dumps({**ASKED, "rounds": {}}).encode(), id="wrong-type"),
        pytest.param(json.dumps({**ASKED, "x" * 1000: 1}).encode(), id="unknown-name"),
    ],
)
async def test_an_invalid_request_is_a_400(port: int, body: bytes) -> None:
    assert read(await said(port, posted(body)))[0] == 400


async def test_refusals_take_no_time(port: int) -> None:
    took = []
    for body in (b"[" * 500_000, b"9" * 900_000, b'{"a":' * 150_000):
        began = time.process_time()
        assert read(await said(port, posted(body)))[0] == 400
        took.append(time.process_time() - began)
    assert min(took) < 0.5


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]
)
async def test_only_json_is_read(port: int, kind: str) -> None:
    asked = posted(json.dumps(ASKED).encode()).replace(b"application/json", kind.encode())
    assert read(await said(port, asked)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(b"GARBAGE\r\n\r\n", id="garbage"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", id="tls"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no-host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\n\r\n", id="two-hosts"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rb\r\n\r\n", id="cr"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n", id="nul"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX y: z\r\n\r\n", id="space-in-name"),
        pytest.param(b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", id="space-before-colon"),
        pytest.param(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n", id="long-path"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 20_000, id="many-headers"),
        pytest.param(
            HEAD.format(path=PATH).encode() + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="two-lengths"
        ),
        pytest.param(HEAD.format(path=PATH).encode() + b"Content-Length: -1\r\n\r\n", id="negative-length"),
        pytest.param(HEAD.format(path=PATH).encode() + b"Content-Length: 0x2\r\n\r\n{}", id="hex-length"),
        pytest.param(
            HEAD.format(path=PATH).encode() + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="length-and-chunked",
        ),
        pytest.param(HEAD.format(path=PATH).encode() + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", id="bad-chunk"),
    ],
)
async def test_a_request_that_is_not_http_is_a_400(port: int, asked: bytes) -> None:
    assert read(await said(port, asked)) == (400, "VALIDATION_ERROR")


async def test_an_unknown_coding_of_the_body_is_refused(port: int) -> None:
    got = await said(port, HEAD.format(path=PATH).encode() + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    assert got.split()[1] in {b"400", b"501"}


@pytest.mark.parametrize(
    "path",
    [
        "/api/..%2f..%2fetc/passwd",
        "//api//sessions",
        "/api/sessions/%00",
        "/api/sessions/..",
        "/static/..%2f..%2fapp.py",
        "/static/../app.py",
        "/api/sessions/" + "a" * 5_000,
        "/api/sessions/%0d%0aX-Injected:%20yes",
        "/api/sessions/",
        "/api/%2e%2e/secret",
        "/%ff",
    ],
)
async def test_path_tricks_find_no_file_and_inject_no_header(port: int, path: str) -> None:
    got = await said(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = got.partition(b"\r\n\r\n")[0].lower()
    assert read(got)[0] in {400, 404}
    assert b"x-injected" not in head
    assert b"location" not in head


async def test_a_body_has_a_largest_size_however_it_is_sent(port: int) -> None:
    large = HEAD.format(path=PATH).encode() + b"Content-Length: 99999999\r\n\r\n"
    assert read(await said(port, large)) == (413, "PAYLOAD_TOO_LARGE")
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    chunked = HEAD.format(path=PATH).encode() + b"Transfer-Encoding: chunked\r\n\r\n"
    assert read(await said(port, chunked, *[chunk] * 17)) == (413, "PAYLOAD_TOO_LARGE")
    fits = HEAD.format(path="/api/echo").encode() + f"Content-Length: {1024 * 1024}\r\n\r\n".encode()
    assert (await said(port, fits, b"x" * 1024 * 1024)).endswith(b"\r\n\r\n1048576")


async def test_a_body_that_never_ends_is_dropped() -> None:
    async with port_of(wild_app(read_s=0.2)) as port:
        slow = HEAD.format(path=PATH).encode() + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
        assert read(await said(port, slow)) == (408, "REQUEST_TIMEOUT")
        short = HEAD.format(path=PATH).encode() + b"Content-Length: 10\r\n\r\n{}"
        assert read(await said(port, short)) == (408, "REQUEST_TIMEOUT")
        assert await said(port, short, close=True) == b""  # who left is not answered


async def test_a_client_that_keeps_sending_a_refused_body_is_disconnected(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(HEAD.format(path="/api/nowhere").encode() + b"Content-Length: 99999999\r\n\r\n")
        with anyio.fail_after(20):
            await until_cut(lambda: wire.send(b"x"))


async def until_cut(act: Callable[[], Awaitable[Any]]) -> None:
    """Do something again and again until the connection is gone."""
    while True:
        try:
            await act()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
async def test_a_head_that_never_ends_is_dropped(begun: bytes) -> None:
    async with port_of(http=Hasty) as port:
        began = time.monotonic()
        got = await said(port, *([begun] if begun else []))
    assert time.monotonic() - began >= 0.25
    assert read(got) == (408, "REQUEST_TIMEOUT") if begun else got == b""


@pytest.mark.slow
async def test_a_slow_head_is_dropped_also_on_a_connection_in_use() -> None:
    class Seconds(Quick):
        header_s = 2.0

    async with port_of(http=Seconds) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        first = b""
        while not first.endswith(b"}"):
            first += await wire.receive()
        assert b" 200 " in first
        got = b""
        with anyio.fail_after(20):
            try:
                while not got:
                    await wire.send(b"G")
                    with anyio.move_on_after(0.05):
                        got = await wire.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
        assert b" 408 " in got


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [Quick, Unpaused])
@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
async def test_a_client_that_does_not_read_is_disconnected(keeps: type[Quick], more: bytes) -> None:
    async with port_of(http=keeps, idle_s=1) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        own = wire.extra(SocketAttribute.local_port)
        Quick.gone.discard(own)
        await wire.send(b"GET /api/large HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + b"\r\n")
        with anyio.fail_after(30):
            while own not in Quick.gone:  # noqa: ASYNC110  (the server is on a thread of its own)
                await anyio.sleep(0.01)
        pieces: list[int] = []

        async def receive() -> None:
            pieces.append(len(await wire.receive()))

        await until_cut(receive)
        assert sum(pieces) < 50_000_000


@pytest.mark.slow
@pytest.mark.parametrize("more", [b"G", b"\0\r\n\r\n"])
async def test_a_client_that_does_not_read_but_sends_another_request_is_disconnected(more: bytes) -> None:
    class HastyUnpaused(Unpaused):
        header_s = 0.3

    async with port_of(http=HastyUnpaused) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        own = wire.extra(SocketAttribute.local_port)
        Quick.gone.discard(own)
        await wire.send(b"GET /api/large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with anyio.fail_after(15), suppress(anyio.BrokenResourceError):
            while own not in Quick.gone:
                await anyio.sleep(0.3)  # the response is complete on the server before more arrives
                await wire.send(more)


@pytest.mark.slow
async def test_a_client_that_reads_slowly_may_take_longer_than_one_that_does_not_read() -> None:
    class Seconds(Quick):
        stall_s = 1.5

    async with port_of(http=Seconds) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(b"GET /api/large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        pieces: list[int] = []

        async def receive() -> None:
            pieces.append(len(await wire.receive(5_000_000)))
            await anyio.sleep(0.03)

        began = time.monotonic()
        await until_cut(receive)
        assert time.monotonic() - began > Seconds.stall_s
        assert sum(pieces) > 50_000_000


async def test_a_client_that_reads_slowly_gets_everything() -> None:
    async with port_of(http=Patient) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(b"GET /api/large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        await anyio.sleep(0.1)
        pieces: list[int] = []

        async def receive() -> None:
            pieces.append(len(await wire.receive(1_000_000)))

        await until_cut(receive)
        assert sum(pieces) > 50_000_000


async def test_data_that_is_not_http_after_an_answer_ends_the_connection(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(b"POST / HTTP/1.1\r\nHost: evil.test\r\nTransfer-Encoding: chunked\r\n\r\n")
        first = b""
        while not first.endswith(b"}"):
            first += await wire.receive()
        assert b" 421 " in first
        await wire.send(b"zz\r\n")
        with anyio.fail_after(20), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await wire.receive()


async def test_a_connection_beyond_the_limit_is_a_503_at_once() -> None:
    async with port_of(http=Full) as port, await anyio.connect_tcp("127.0.0.1", port):
        got = await said(port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 503 " in got
        assert b"SERVER_BUSY" in got
        assert b"retry-after: 5" in got


async def test_two_requests_at_once_are_answered_in_turn(port: int) -> None:
    ask = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    got = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as wire:
        await wire.send(ask + ask)
        with anyio.fail_after(20):
            while got.count(b'"status"') < 2:
                got += await wire.receive()
        assert got.count(b"200 OK") == 2


@pytest.mark.parametrize(
    ("path", "status", "code"), [("fails", 500, "INTERNAL_ERROR"), ("stores", 503, "STORAGE_ERROR")]
)
async def test_an_internal_error_shows_only_its_request_id(
    path: str, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with port_of() as port:
        got = await said(port, f"GET /api/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert read(got) == (status, code)
        number = json.loads(got.partition(b"\r\n\r\n")[2])["requestId"]
        assert number in [getattr(record, "request", "") for record in caplog.records]
        # The server is as it was.
        assert b"200 OK" in await said(port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


async def test_an_answer_that_breaks_off_does_not_look_whole(port: int) -> None:
    got = await said(port, b"GET /api/breaks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b"half of it" in got
    assert not got.endswith(b"0\r\n\r\n")
    assert b"secret" not in got


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1", None, 200),
        ("127.0.0.1:99", None, 200),
        ("LOCALHOST", None, 200),
        ("[::1]:80", None, 200),
        ("localhost.evil.test", None, 421),
        ("evil.test", None, 421),
        ("127.0.0.1@evil.test", None, 421),
        ("", None, 421),
        ("0.0.0.0", None, 421),
        ("127.0.0.1", "null", 403),
        ("127.0.0.1", "http://evil.test", 403),
        ("127.0.0.1", "http://127.0.0.1.evil.test", 403),
        ("127.0.0.1:99", "http://127.0.0.1:98", 403),
        ("127.0.0.1:99", "http://127.0.0.1:99", 200),
    ],
)
async def test_host_and_origin_are_checked(port: int, host: str, origin: str | None, status: int) -> None:
    more = "" if origin is None else f"Origin: {origin}\r\n"
    got = await said(port, f"GET /health HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    assert int(got.split()[1]) == status


SHOWN = (
    "",
    "Bearer",
    "Bearer wrong",
    "Basic x",
    "Bearer {token}x",
    "Bearer {head}",
    "bearer: {token}",
    "Bearer t\u00f6ken",
)


async def test_every_request_without_a_valid_token_gets_the_same_answer() -> None:
    table = served_table()
    token = await token_for(table, "ann")
    async with port_of(create_app(table)) as port:
        for shown in SHOWN:
            given = f"Authorization: {shown.format(token=token, head=token[:-1])}\r\n" if shown else ""
            ask = f"GET /api/sessions?token={token} HTTP/1.1\r\nHost: 127.0.0.1\r\n{given}\r\n"
            got = await said(port, ask.encode("latin-1"))
            assert read(got) == (401, "UNAUTHORIZED"), shown
            assert json.loads(got.partition(b"\r\n\r\n")[2])["error"] == "Authentication required"


CLIENTS: tuple[tuple[Any, Any, int], ...] = (
    (("127.0.0.1", 1), [], 200),
    (("127.8.0.1", 1), [], 200),
    (("::1", 1), [], 200),
    (("::ffff:127.0.0.1", 1), [], 200),
    (("192.168.1.7", 1), [], 403),
    (("::ffff:10.0.0.1", 1), [], 403),
    (("testclient", 1), [], 403),
    (None, [], 403),
    (("127.0.0.1", 1), [(b"x-forwarded-for", b"127.0.0.1")], 403),
    (("127.0.0.1", 1), [(b"forwarded", b"for=10.0.0.1")], 403),
)


async def test_remote_clients_are_refused_without_a_token() -> None:
    app = create_app(served_table(), auth=LocalUser())
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health",
        "raw_path": b"/health",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", 80),
    }
    async with app.router.lifespan_context(app):
        for client, headers, status in CLIENTS:
            del told[:]
            await app(
                {**scope, "client": client, "headers": [(b"host", b"127.0.0.1"), *headers]}, anyio.sleep_forever, send
            )
            assert told[0]["status"] == status, (client, headers)


async def test_a_part_is_sent_at_once_only_while_its_answer_is_under_way_and_nothing_waits() -> None:
    did: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        write = scope["extensions"][WRITE]
        did.append(write(b"early"))
        counted = [(b"content-length", b"15")] if scope["path"] == "/counted" else []
        await send({"type": "http.response.start", "status": 200, "headers": counted})
        did.append(write(b"part, "))
        did.append(write(b"more, "))
        did.append(write(b""))
        if scope["path"] == "/large":
            did.append(write(b"x" * 10_000_000))
            did.append(write(b"waits, "))
        await send({"type": "http.response.body", "body": b"end"})
        did.append(write(b"late"))

    async with port_of(cast("FastAPI", app), WireProtocol) as at:
        asked = "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        for method, path, http, sent, body in (
            ("GET", "/", "1.1", "-xx--", b"\r\n\r\n6\r\npart, \r\n6\r\nmore, \r\n3\r\nend\r\n0\r\n\r\n"),
            ("GET", "/", "1.0", "-xx--", b"\r\n\r\npart, more, end"),
            ("GET", "/counted", "1.1", "-xx--", b"\r\n\r\npart, more, end"),
            ("HEAD", "/", "1.1", "-----", b"\r\n\r\n"),
            ("GET", "/large", "1.1", "-xx-x--", b"\r\n3\r\nend\r\n0\r\n\r\n"),
        ):
            did.clear()
            async with await anyio.connect_tcp("127.0.0.1", at) as wire:
                await wire.send(asked.format(method, path).replace("1.1", http).encode())
                got = [piece async for piece in wire]
            assert ("".join("-x"[one] for one in did), b"".join(got)[-len(body) :]) == (sent, body)


async def test_the_second_half_of_an_answer_does_not_wait_for_the_first_to_be_acknowledged() -> None:
    """The listening socket does not say that it speaks TCP, and asyncio then leaves it to the system."""
    lines: list[socket.socket] = []

    class Seen(Quick):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            lines.append(transport.get_extra_info("socket"))

    async with port_of(http=Seen) as at, await anyio.connect_tcp("127.0.0.1", at):
        with anyio.fail_after(20):
            while not lines:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.01)
        assert lines[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
