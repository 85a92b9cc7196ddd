"""MCP servers of several hosts with one database: a debate at one, its clients at the other."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from integration.hosts_kit import GatedProvider, issued, two_hosts
from integration.mcp_kit import ERAS, call, refused
from integration.test_mcp_control import until
from integration.test_mcp_http import client_of
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from roundtable.storage import PostgresStorage

WAIT_S: Final = 120
LEASE_S: Final = 15

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.fixture
def model() -> Iterator[GatedProvider]:
    with GatedProvider().serving() as made:
        yield made


@pytest.fixture
def hosts(model: GatedProvider, postgres_url: str, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Run two servers; return their addresses."""
    with two_hosts(model, postgres_url, tmp_path, "mcp", "--http", "--analyzer", "basic") as (first, second):
        yield f"{first}/mcp", f"{second}/mcp"


@pytest.fixture
async def token(postgres_url: str) -> str:
    return (await issued(postgres_url, "ann", "mcp")).secret


@pytest.mark.parametrize("era", ERAS)
async def test_a_debate_at_one_server_is_paused_resumed_and_followed_to_its_end_at_the_other(
    hosts: tuple[str, str], model: GatedProvider, token: str, era: str
) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((message or "").partition(": ")[2])

    async with client_of(hosts[0], token, era) as first, client_of(hosts[1], token, era) as second:
        begun = await call(first, "start_roundtable", topic="Tea or coffee?", rounds=2, wait=0)
        session = begun["sessionId"]
        named = {"sessionId": session}
        await model.asked(2)
        state = await call(second, "get_consensus", **named)
        assert (state["running"], state["sessionStatus"], state["currentRound"]) == (True, "active", 1)
        early = await refused(second, "continue_roundtable", **named, rounds=1)
        assert "is running; it can be changed only while it is not running" in early["message"]
        await call(second, "control_session", **named, action="pause")
        model.let(2)
        for client in (first, second):
            await until(client, session, "paused")
        resumed = await call(second, "control_session", **named, action="resume")
        assert (resumed["previousStatus"], resumed["newStatus"]) == ("paused", "active")
        await model.asked(4)
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                asked = named | {"wait": 60}
                done = (await first.call_tool("continue_roundtable", asked, progress_callback=hear)).structured_content
                assert done is not None
                assert (done["status"], done["running"], done["roundNumber"]) == ("completed", False, 2)

            group.start_soon(wait)
            while not heard:  # noqa: ASYNC110  (a heartbeat: the call waits)
                await anyio.sleep(0.02)
            model.let()
        assert any("round 2 of 2: " in message and "answered" in message for message in heard), heard
        for client in (first, second):
            assert (await call(client, "get_consensus", **named, wait=60))["status"] == "completed"


@asynccontextmanager
async def followed(host: str, token: str, session: str) -> AsyncIterator[dict[str, Any]]:
    """Follow a debate that another server runs while the block is open; the state at its end is there afterwards."""
    state: dict[str, Any] = {}
    follows = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        follows.set()

    async with client_of(host, token, "auto") as client, anyio.create_task_group() as group:

        async def follow() -> None:
            asked = {"sessionId": session, "wait": WAIT_S}
            answer = await client.call_tool("continue_roundtable", asked, progress_callback=hear)
            state.update(answer.structured_content or {})

        group.start_soon(follow)
        await follows.wait()
        yield state


async def test_a_step_that_ends_at_one_server_ends_the_call_that_follows_it_at_the_other(
    hosts: tuple[str, str], model: GatedProvider, token: str
) -> None:
    async with client_of(hosts[0], token, "auto") as client:
        begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=2, step=True, wait=0)
        await model.asked(2)
        async with followed(hosts[1], token, begun["sessionId"]) as state:
            model.let()
            released = anyio.current_time()
        took = anyio.current_time() - released
    assert took < WAIT_S / 2
    assert (state["sessionStatus"], state["running"], state["currentRound"]) == ("active", False, 1)


async def test_a_server_that_dies_ends_the_call_that_follows_its_debate_at_the_other(
    hosts: tuple[str, str], model: GatedProvider, token: str, postgres_url: str
) -> None:
    async with client_of(hosts[0], token, "auto") as client:
        begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=2, wait=0)
    await model.asked(2)
    async with followed(hosts[1], token, begun["sessionId"]) as state:
        storage = PostgresStorage(postgres_url)
        owner = await storage.holder(begun["sessionId"], tenant="ann")
        await storage.aclose()
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        killed = anyio.current_time()
    took = anyio.current_time() - killed
    assert took < 2 * LEASE_S
    assert (state["sessionStatus"], state["running"]) == ("active", False)


class Balancer(httpx2.AsyncBaseTransport):
    """Sends each request to the next server, as a load balancer without affinity does."""

    def __init__(self, hosts: tuple[str, str]) -> None:
        self._hosts = itertools.cycle([httpx2.URL(host) for host in hosts])
        self._inner = httpx2.AsyncHTTPTransport(verify=False)
        self.answers: list[tuple[int | None, int]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = next(self._hosts)
        request.url = request.url.copy_with(port=host.port)
        request.headers["host"] = f"{host.host}:{host.port}"
        response = await self._inner.handle_async_request(request)
        self.answers.append((host.port, response.status_code))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def balanced(hosts: tuple[str, str], token: str, era: str) -> AsyncIterator[tuple[Client, Balancer]]:
    balancer = Balancer(hosts)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, transport=balancer) as web,
        Client(streamable_http_client(hosts[0], http_client=web), mode=era) as client,
    ):
        yield client, balancer


async def test_a_client_of_the_new_protocol_needs_no_affinity(
    hosts: tuple[str, str], model: GatedProvider, token: str
) -> None:
    model.let()
    async with balanced(hosts, token, "auto") as (client, balancer):
        begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=2, wait=0)
        for _ in range(2):  # one of them at the server that doesn't run it
            state = await call(client, "get_consensus", sessionId=begun["sessionId"], wait=60)
            assert (state["status"], state["running"], state["currentRound"]) == ("completed", False, 2)
        assert len({port for port, _ in balancer.answers}) == 2
        assert {status // 100 for _, status in balancer.answers} == {2}, balancer.answers


async def test_a_session_of_the_old_protocol_is_known_only_to_the_server_that_opened_it(
    hosts: tuple[str, str], token: str
) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, verify=False) as web:
        opened = await web.post(hosts[0], json=hello)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        assert [(await web.post(host, json=asked, headers=session)).status_code for host in hosts] == [200, 404]
