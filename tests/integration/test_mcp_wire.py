"""What a stranger may post to the MCP server over HTTP, and what each of it is answered with; both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from integration.mcp_kit import server_of
from integration.test_mcp_http import serving

from roundtable.auth import LocalUser
from roundtable.auth.guard import MOST_BODY_BYTES
from roundtable.mcp.http import PostCheck

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
WANTS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NEW, OLD = "2026-07-28", "2025-06-18"
PARSE, REQUEST, METHOD, PARAMS, HEADER = -32700, -32600, -32601, -32602, -32020


def asked(method: str, params: dict[str, Any] | None = None, *, version: str | None = None) -> dict[str, Any]:
    """Write a request, with the envelope of the protocol of round trips where a version is given."""
    found = dict(params or {})
    if version is not None:
        names = {"protocolVersion": version, "clientCapabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        found["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": found}


def hello(version: str) -> dict[str, Any]:
    fields = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return asked("initialize", fields)


def new(version: str, method: str | None = None, name: str | None = None) -> dict[str, str]:
    """Return the headers of the protocol with round trips."""
    given = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name}
    return {header: value for header, value in given.items() if value is not None}


class Wire:
    """A server and what is said to it."""

    def __init__(self, web: httpx.AsyncClient, url: str) -> None:
        self.web, self.url = web, url
        self.held: dict[str, str] = {}

    async def post(self, body: object, headers: dict[str, str]) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.web.post(self.url, content=content, headers=WANTS | headers)

    async def shake_hands(self) -> None:
        opened = await self.post(hello(OLD), {})
        self.held = {"mcp-session-id": opened.headers["mcp-session-id"]}


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with (
        serving(server_of().http_app(LocalUser())) as url,
        httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as web,
    ):
        yield Wire(web, url)


def told(answer: httpx.Response) -> dict[str, Any]:
    """Read the one message of an answer, be it JSON or an event."""
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        (text,) = (line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {"))
    return json.loads(text)


async def check(wire: Wire, rows: list[tuple[object, dict[str, str], int, int]]) -> None:
    for body, headers, status, code in rows:
        answer = await wire.post(body, headers)
        found = told(answer)
        assert (answer.status_code, found["error"]["code"]) == (status, code), (body or "", headers)
        for word in ("Traceback", "pydantic", "input_value", "/src/"):
            assert word not in answer.text


@pytest.mark.slow
async def test_versions_that_differ_are_refused(wire: Wire) -> None:
    await wire.shake_hands()
    tools = "tools/list"
    await check(
        wire,
        [
            (asked(tools, version=OLD), new(NEW, tools), 400, HEADER),
            (asked(tools, version="2099-01-01"), new(NEW, tools), 400, HEADER),
            (asked(tools, version=NEW), new(OLD, tools), 400, HEADER),
            (asked(tools, version=NEW), new(OLD, tools) | wire.held, 400, HEADER),
            (asked(tools, version=NEW), wire.held, 400, HEADER),
            (asked(tools, version=NEW), {}, 400, HEADER),
            (hello(OLD), new("2025-03-26"), 400, HEADER),
            (hello("2025-03-26"), new(OLD), 400, HEADER),
            (hello(OLD), new(NEW, "initialize"), 400, PARAMS),
            (asked("ping"), new("1999-01-01") | wire.held, 400, PARAMS),
            (asked(tools, version=NEW), new(NEW), 400, HEADER),
            (asked(tools, version=NEW), new(NEW, "prompts/list"), 400, HEADER),
            (asked("tools/call", {"name": "get_agents"}, version=NEW), new(NEW, "tools/call", "x"), 400, HEADER),
        ],
    )
    for body, headers in (
        (asked(tools, version=NEW), new(NEW, tools)),
        (hello(OLD), new(OLD)),
        (asked(tools), wire.held),
        (asked(tools), wire.held | new(OLD)),
    ):
        answer = await wire.post(body, headers)
        assert (answer.status_code, "error" in told(answer)) == (200, False)


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_half_of_a_surrogate_pair_is_reported_under_the_id_of_the_request(wire: Wire, version: str) -> None:
    await wire.shake_hands()
    call = asked("tools/call", {"name": "get_agents", "arguments": {"x": "HALF"}}, version=version)
    body = json.dumps(call).replace("HALF", "\\ud800").encode()
    headers = new(NEW, "tools/call", "get_agents") if version == NEW else wire.held | new(OLD)
    answer = await wire.post(body, headers)
    found = told(answer)
    assert (answer.status_code, found["error"]["code"], found["id"]) == (400, PARAMS, call["id"])


@pytest.mark.slow
async def test_an_invalid_message_is_answered_with_an_error(wire: Wire) -> None:
    await wire.shake_hands()
    ping = asked("ping")
    faults: list[tuple[object, int]] = [
        (b"garbage", PARSE),
        (b'{"jsonrpc": "2.0", "id": 5', PARSE),
        (b"\xff\xfe\x00", PARSE),
        (b"[" * 10_000, PARSE),
        (b"", PARSE),
        ([], REQUEST),
        ([ping], REQUEST),
        ([ping, ping | {"id": 2}], REQUEST),
        ("text", REQUEST),
    ]
    rows = [(body, headers, 400, code) for headers in (wire.held, new(NEW, "ping")) for body, code in faults]
    await check(
        wire,
        [
            *rows,
            ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, wire.held, 400, REQUEST),
            ({"id": 1}, wire.held, 400, REQUEST),
            (ping | {"id": None}, wire.held, 400, REQUEST),
            (ping | {"id": 1.5}, wire.held, 400, REQUEST),
            (asked("no/such"), wire.held, 200, METHOD),
            (asked("no/such", version=NEW), new(NEW, "no/such"), 404, METHOD),
            (asked("tools/call", {"name": 5}), wire.held, 200, PARAMS),
            (asked("tools/call", {"name": "drop_tables"}), wire.held, 200, PARAMS),
            (asked("tools/call", {"name": "x"}, version=NEW), new(NEW, "tools/call", "x"), 400, PARAMS),
            (ping, {"mcp-session-id": "0" * 32}, 404, REQUEST),
            (ping, {}, 400, REQUEST),
        ],
    )


@pytest.mark.slow
async def test_a_message_of_four_mebibytes_is_read_and_a_larger_one_is_not(wire: Wire) -> None:
    await wire.shake_hands()

    def start(length: int) -> bytes:
        body = asked("tools/call", {"name": "start_roundtable", "arguments": {"topic": ""}})
        room = length - len(json.dumps(body))
        body["params"]["arguments"]["topic"] = "x" * room
        return json.dumps(body).encode()

    for headers in (wire.held, new(NEW, "tools/call", "start_roundtable")):
        largest = start(MOST_BODY_BYTES)
        assert len(largest) == MOST_BODY_BYTES
        answer = await wire.post(largest, headers)
        assert answer.status_code == (200 if headers is wire.held else 400)
        await check(wire, [(start(MOST_BODY_BYTES + 1), headers, 413, REQUEST)])
    problem = json.loads(told(await wire.post(start(MOST_BODY_BYTES), wire.held))["result"]["content"][0]["text"])
    assert problem["details"]["problems"][0]["field"] == "topic"
    assert (await wire.post(asked("ping"), wire.held)).status_code == 200


async def test_an_endless_body_is_not_waited_for() -> None:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    parts = [{"type": "http.request", "body": b'{"jsonrpc"', "more_body": True}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await anyio.sleep_forever()
        return None

    async def nobody(*_: object) -> None:
        pytest.fail("let through")

    await PostCheck(nobody, body_s=0.05)({"type": "http", "method": "POST", "headers": []}, receive, send)
    assert said[0]["status"] == 408
