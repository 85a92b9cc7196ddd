"""The MCP server over HTTP: who may connect, whose debates they see, and when an open answer ends."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import uvicorn
from integration.mcp_kit import ERAS, PLACELESS, call, connected, held_talkers, refused, server_of, talkers
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore
from roundtable.auth.guard import AccessGuard
from roundtable.errors import ConfigurationError, StorageError
from roundtable.mcp import create_mcp_server
from roundtable.storage import MemoryStorage
from roundtable.types import SessionFilter

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""The web server knows no other."""


class StillClock:
    """A clock that moves when it is waited on."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        await anyio.sleep(0.01)


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Serve an application on a free port of this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1))
        async with anyio.create_task_group() as group:
            group.start_soon(server._serve, [taken])
            with anyio.fail_after(20):
                while not server.started:  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
            server.should_exit = True


@asynccontextmanager
async def client_of(url: str, token: str | None = None, era: str = "auto") -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False, verify=False) as web:
        client = Client(streamable_http_client(url, http_client=web), mode=era)
        async with client:
            yield client


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """Answer as a server that lets everybody in."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"in"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8765"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "LOCALHOST:9"}, 200),
        ({"host": "[::1]:8765"}, 200),
        ({"host": "localhost.evil.test"}, 421),
        ({"host": "127.0.0.1.evil.test"}, 421),
        ({"host": "127.0.0.1:80.evil.test"}, 421),
        ({"host": "evil.test"}, 421),
        ({"host": "[::2]"}, 421),
        ({"host": ""}, 421),
        ({"host": "localhost, evil.test"}, 421),
        ({"host": "localhost:8765", "origin": "http://localhost:8765"}, 200),
        ({"host": "localhost:8765", "origin": "https://app.example"}, 200),
        ({"host": "localhost:8765", "origin": "null"}, 403),
        ({"host": "localhost:8765", "origin": "http://localhost:3000"}, 403),
        ({"host": "localhost:8765", "origin": "http://localhost.evil.test"}, 403),
        ({"host": "localhost:8765", "origin": "https://app.example.evil.test"}, 403),
        ({"host": "localhost:8765", "origin": ""}, 403),
    ],
)
async def test_requests_from_foreign_origins_are_refused(headers: dict[str, str], status: int) -> None:
    app = AccessGuard(nothing, LocalUser(), origins=("https://app.example/",))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        assert (await web.post("/mcp", headers=headers, content=b"{}")).status_code == status


@pytest.mark.parametrize(
    "wanted",
    [
        "authorization,content-type,mcp-protocol-version,mcp-session-id,last-event-id",
        "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name",
    ],
)
async def test_pages_of_an_admitted_origin_are_let_in_by_preflight_and_request_alike(wanted: str) -> None:
    with pytest.raises(ConfigurationError, match=r"not '\*'"):
        create_mcp_server().http_app(LocalUser(), origins=["*"])
    app = create_mcp_server().http_app(LocalUser(), origins=["https://app.example"])
    asked = {"access-control-request-method": "POST", "access-control-request-headers": wanted}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        for page, status in (("https://app.example", 200), ("https://evil.test", 400)):
            first = await web.options("/mcp", headers={"origin": page, **asked})
            assert first.status_code == status
            assert (first.headers.get("access-control-allow-origin") == page) is (status == 200)


async def test_callers_need_a_valid_token() -> None:
    tokens = TokenStore.of(MemoryStorage())
    right = (await tokens.create("ada", audience="mcp")).secret
    other = (await tokens.create("ada", audience="api")).secret
    gone = await tokens.create("ada")
    await tokens.revoke(gone.info.id)
    app = AccessGuard(nothing, TokenAuthenticator(tokens, audience="mcp"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        bodies = set()
        wrong = ("Bearer rt_wrong", f"Bearer {right}x", f"Bearer {right[:-1]}", f"Bearer {other}")
        for shown in (None, "", "Bearer", f"Basic {right}", *wrong, f"Bearer {gone.secret}", "Bearer \u00fc"):
            headers = {} if shown is None else {"Authorization": shown.encode()}
            answer = await web.post("/mcp", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="ai-roundtable"')
            bodies.add(answer.text)
        assert len(bodies) == 1
        assert (await web.post(f"/mcp?token={right}")).status_code == 401
        assert (await web.post("/mcp", headers={"Authorization": f"bearer {right}"})).status_code == 200


class NamingStorage(MemoryStorage):
    """Fails as a storage in a file does, which names it."""

    async def list(self, filter: SessionFilter) -> Any:
        file = "/srv/ada/debates.db"
        raise StorageError(f"{file!r} is locked", retryable=True, hint=f"Close {file}.", details={"path": file})


async def test_remote_users_see_no_file_names(caplog: pytest.LogCaptureFixture) -> None:
    tokens = TokenStore.of(MemoryStorage())
    ada = (await tokens.create("ada")).secret
    server = server_of(storage=NamingStorage())
    async with serving(server.http_app(TokenAuthenticator(tokens))) as url, client_of(url, ada, "auto") as client:
        error = await refused(client, "list_sessions")
        with pytest.raises(MCPError) as caught:
            await client.read_resource("roundtable://sessions")
    assert (error["code"], error["message"], error["retryable"]) == ("STORAGE_ERROR", "The storage failed", True)
    assert "/srv" not in f"{error}{caught.value.error}"
    assert "'/srv/ada/debates.db' is locked" in caplog.text
    async with connected(server) as here:
        assert "/srv/ada/debates.db" in (await refused(here, "list_sessions"))["message"]


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_every_user_has_their_own_debates(era: str) -> None:
    storage = MemoryStorage()
    tokens = TokenStore.of(storage)
    ada, bo = [(await tokens.create(name)).secret for name in ("ada", "bo")]
    looks = (await tokens.create("ada", scopes=("read",))).secret
    server = server_of(storage=storage)
    async with serving(server.http_app(TokenAuthenticator(tokens, audience="mcp"))) as url:
        async with client_of(url, ada, era) as first, client_of(url, bo, era) as second:
            done = await call(first, "start_roundtable", topic="Tea?", rounds=1)
            named = {"sessionId": done["sessionId"]}
            assert (await call(second, "list_sessions"))["count"] == 0
            for tool, arguments in PLACELESS:
                foreign = await refused(second, tool, **named, **arguments)
                unknown = await refused(second, tool, sessionId="0" * 32, **arguments)
                assert foreign["name"] == "SessionNotFound"
                assert str(foreign).replace(named["sessionId"], "0" * 32) == str(unknown)
            for page in ("", "/json", "/rounds/1"):
                told = []
                for session in (named["sessionId"], "0" * 32):
                    with pytest.raises(MCPError) as caught:
                        await second.read_resource(f"roundtable://sessions/{session}{page}")
                    told.append(str(caught.value.error).replace(session, ""))
                assert told[0] == told[1]
        async with client_of(url, looks, era) as reader:
            assert (await call(reader, "get_consensus", **named))["status"] == "completed"
            error = await refused(reader, "start_roundtable", topic="Tea?")
            assert (error["code"], "'write'" in error["message"]) == ("FORBIDDEN", True)
        async with httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as web:
            large = await web.post(
                url, headers={"Authorization": f"Bearer {ada}"}, content=b"x" * (4 * 1024 * 1024 + 1)
            )
            assert large.status_code in {400, 413}


async def test_a_connection_belongs_to_the_user_who_opened_it() -> None:
    tokens = TokenStore.of(MemoryStorage())
    ada, bo = [(await tokens.create(name)).secret for name in ("ada", "bo")]
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    wants = {"Accept": "application/json, text/event-stream"}
    async with (
        serving(server_of().http_app(TokenAuthenticator(tokens))) as url,
        httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as web,
    ):
        opened = await web.post(url, json=hello, headers=wants | {"Authorization": f"Bearer {ada}"})
        held = {"mcp-session-id": opened.headers["mcp-session-id"]}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        stolen = await web.post(url, json=asked, headers=wants | held | {"Authorization": f"Bearer {bo}"})
        unknown = await web.post(
            url, json=asked, headers=wants | {"mcp-session-id": "0" * 32} | {"Authorization": f"Bearer {bo}"}
        )
        assert stolen.status_code == unknown.status_code == 404


async def test_a_revoked_token_ends_an_open_answer() -> None:
    clock = StillClock()
    tokens = TokenStore(MemoryStorage().kv, clock=clock)
    issued = await tokens.create("ada")
    sent = anyio.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        events = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": events})
        await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
        sent.set()
        await anyio.sleep_forever()

    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    guard = AccessGuard(endless, TokenAuthenticator(tokens), check_s=60, clock=clock)
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {issued.secret}".encode())]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(guard, {"type": "http", "headers": headers}, anyio.sleep_forever, send)
            await sent.wait()
            await tokens.revoke(issued.info.id)
    assert said[-1]["more_body"] is False
    assert said[-1]["body"].startswith(b"event: error\ndata: ")
    assert b"UNAUTHORIZED" in said[-1]["body"]

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await tokens.revoke(again.info.id)
        await anyio.sleep_forever()

    again = await tokens.create("ada")
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {again.secret}".encode())]
    with anyio.fail_after(20):
        await AccessGuard(slow, TokenAuthenticator(tokens), clock=clock)(
            {"type": "http", "headers": headers}, anyio.sleep_forever, send
        )
    assert said[-2]["status"] == 401


@pytest.mark.slow
@pytest.mark.parametrize(
    ("era", "leaves", "ends"),
    [
        ("auto", "detach", False),
        ("legacy", "detach", False),
        ("auto", "stop", True),
        # In the older protocol a lost connection cancels nothing.
        ("legacy", "stop", False),
    ],
)
async def test_a_debate_whose_client_vanishes_is_detached_or_stopped(era: str, leaves: str, ends: bool) -> None:
    async with serving(server_of(talkers(0.5)).http_app(LocalUser())) as url, client_of(url) as other:
        async with anyio.create_task_group() as group:

            async def vanish() -> None:
                async with client_of(url, era=era) as client:
                    await client.call_tool("start_roundtable", {"topic": "Tea?", "rounds": 5, "onCancel": leaves})

            group.start_soon(vanish)
            with anyio.fail_after(20):
                listed: dict[str, Any] = {"count": 0}
                while not listed["count"]:
                    listed = await call(other, "list_sessions")
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            while listed["sessions"][0]["status"] != "completed":
                listed = await call(other, "list_sessions")
        assert (listed["sessions"][0]["currentRound"] < 5) is ends


@pytest.mark.slow
async def test_a_connection_stays_open_for_longer_than_clients_keep_an_idle_one() -> None:
    """Clients keep one for 4 or 5 seconds: a server that closes it as they send makes their request fail."""
    opened, heard = anyio.Event(), list[str]()

    def listening(url: str) -> None:
        heard.append(url)
        opened.set()

    ask = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: server_of().serve_http(LocalUser(), port=0, listening=listening))
        await opened.wait()
        port = int(heard[0].removesuffix("/mcp").rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as wire:
            for pause_s in (7, 0):
                await wire.send(ask)
                assert (await wire.receive()).startswith(b"HTTP/1.1 4")
                await anyio.sleep(pause_s)
        group.cancel_scope.cancel()


@pytest.mark.slow
async def test_a_connection_whose_request_does_not_arrive_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.auth.connection.TimedConnection.header_s", 0.4)
    opened, heard = anyio.Event(), list[str]()

    def listening(url: str) -> None:
        heard.append(url)
        opened.set()

    async def silent(port: int, *parts: bytes) -> None:
        async with await anyio.connect_tcp("127.0.0.1", port) as wire:
            for part in parts:
                await wire.send(part)
                if part.endswith(b"\r\n\r\n"):
                    assert (await wire.receive()).startswith(b"HTTP/1.1 4")
                    await anyio.sleep(0.8)  # an idle connection stays open
            with pytest.raises(anyio.EndOfStream):
                await wire.receive()

    ask = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            server = server_of(talkers(0.9))
            group.start_soon(lambda: server.serve_http(LocalUser(), port=0, listening=listening))
            await opened.wait()
            port = int(heard[0].removesuffix("/mcp").rpartition(":")[2])
            async with anyio.create_task_group() as several:
                for parts in ((), (ask[:30],), (ask, ask[:30])):
                    several.start_soon(silent, port, *parts)
                async with Client(heard[0]) as client:
                    done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
            assert done["status"] == "completed", "a call may take longer than the head of its request"
            group.cancel_scope.cancel()


async def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.auth.connection.TimedConnection.stall_s", 0.3)
    opened, heard = anyio.Event(), list[str]()

    def listening(url: str) -> None:
        heard.append(url)
        opened.set()

    names = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
    request = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMCP-Method: tools/list\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )

    async def ask_without_reading(port: int) -> None:
        async with await anyio.connect_tcp("127.0.0.1", port) as wire:
            while True:
                await wire.send(request.encode())
                await anyio.sleep(0.001)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: server_of().serve_http(LocalUser(), port=0, listening=listening))
            await opened.wait()
            with pytest.raises(anyio.BrokenResourceError):
                await ask_without_reading(int(heard[0].removesuffix("/mcp").rpartition(":")[2]))
            group.cancel_scope.cancel()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_server_in_a_program_listens_until_the_process_is_asked_to_end(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    # Where events are streamed, that the process ends is noted once and for all; this process goes on.
    monkeypatch.setattr("sse_starlette.sse.AppStatus.should_exit", False)
    told, heard = anyio.Event(), list[str]()

    def listening(url: str) -> None:
        heard.append(url)
        told.set()

    with anyio.fail_after(20):
        async with (
            anyio.create_task_group() as group,
            httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as web,
        ):
            group.start_soon(lambda: server_of().serve_http(LocalUser(), port=0, listening=listening))
            await told.wait()
            answer = await web.post(heard[0], content=b"garbage", timeout=20)
            assert answer.json()["error"]["code"] == -32700
            signal.raise_signal(number)


@pytest.mark.parametrize("era", ERAS)
async def test_calls_that_wait_are_answered_before_the_server_ends(monkeypatch: pytest.MonkeyPatch, era: str) -> None:
    monkeypatch.setattr("sse_starlette.sse.AppStatus.should_exit", False)
    agents, model = held_talkers()
    told, heard, answers = anyio.Event(), list[str](), list[dict[str, Any]]()

    def listening(url: str) -> None:
        heard.append(url)
        told.set()

    async def ask(client: Client) -> None:
        answers.append(await call(client, "start_roundtable", topic="Tea?", rounds=1, wait=60))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: server_of(agents).serve_http(LocalUser(), port=0, listening=listening))
            await told.wait()
            async with Client(heard[0], mode=era) as client, anyio.create_task_group() as calls:
                calls.start_soon(ask, client)
                while not model.waiting:  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.01)
                signal.raise_signal(signal.SIGTERM)
    (answer,) = answers
    assert (answer["status"], answer["sessionStatus"], bool(answer["sessionId"])) == ("in_progress", "active", True)
