"""The installed command under real clients: all tools, many at once, a kill in mid-debate, and calls that end early."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from integration.mcp_kit import ERAS, call, command, run_every_tool, slow_command
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@asynccontextmanager
async def over_stdio(words: list[str], era: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Start a server as clients do, and connect to it."""
    program = StdioServerParameters(command=words[0], args=words[1:], env={**os.environ})
    with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230  (it blocks nobody)
        async with Client(stdio_client(program, errlog=nowhere), mode=era, **options) as client:
            yield client


def listens(port: int) -> None:
    """Wait until a server takes connections."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"nothing listens at port {port}")


@contextmanager
def listening(words: list[str], cwd: Path | None = None) -> Iterator[str]:
    """Start a server over HTTP on a free port, and give its origin."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [*words, "--port", str(port)]
    with subprocess.Popen(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            listens(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait(20)


@contextmanager
def service(words: list[str]) -> Iterator[str]:
    """Start a server over HTTP for everybody on this machine, and give its address."""
    with listening([*words, "--http", "--no-auth"]) as origin:
        yield f"{origin}/mcp"


@asynccontextmanager
async def over_http(url: str, era: str = "auto") -> AsyncIterator[Client]:
    """Connect to a service, once it answers."""
    async with httpx2.AsyncClient(timeout=60, trust_env=False, verify=False) as web:
        with anyio.fail_after(60):
            while True:
                try:
                    await web.get(url)
                    break
                except httpx2.TransportError:
                    await anyio.sleep(0.1)
        client = Client(streamable_http_client(url, http_client=web), mode=era)
        async with client:
            yield client


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_answers_a_client_that_starts_the_command(tmp_path: Path, era: str) -> None:
    async with over_stdio(command(tmp_path), era) as client:
        await run_every_tool(client)


@pytest.mark.slow
async def test_every_tool_answers_over_http_and_fifty_clients_debate_at_once(tmp_path: Path) -> None:
    with service(command(tmp_path)) as url:
        for era in ERAS:
            async with over_http(url, era) as client:
                await run_every_tool(client)
        done: list[str] = []

        async def one(number: int) -> None:
            async with over_http(url, ERAS[number % 2]) as client:
                found = await call(client, "start_roundtable", topic=f"Question {number}?", rounds=2, wait=60)
                assert (found["status"], found["topic"]) == ("completed", f"Question {number}?")
                done.append(found["sessionId"])

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)
        assert len(set(done)) == 50


@pytest.mark.slow
async def test_a_server_killed_during_a_debate_loses_nothing(tmp_path: Path) -> None:
    words = slow_command(tmp_path, 0.5)
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    start = {"name": "start_roundtable", "arguments": {"topic": "Tea?", "rounds": 3, "wait": 1.2}}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as running:  # noqa: ASYNC220
        assert running.stdin is not None
        assert running.stdout is not None
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": start},
        ):
            running.stdin.write(json.dumps(message).encode() + b"\n")
            running.stdin.flush()
        heard: dict[str, Any] = {}
        while heard.get("id") != 2:
            heard = json.loads(running.stdout.readline())
        begun = heard["result"]["structuredContent"]
        assert (begun["status"], begun["running"]) == ("in_progress", True)
        running.kill()
    async with over_stdio(words) as client:
        named = {"sessionId": begun["sessionId"]}
        before = await call(client, "get_round_details", **named, roundNumber=1)
        assert before["running"] is False
        done = await call(client, "continue_roundtable", **named, wait=60)
        assert (done["status"], done["roundNumber"]) == ("completed", 3)
        kept = await call(client, "get_round_details", **named, roundNumber=1)
        first = {one["agentId"]: one["timestamp"] for one in before["responses"]}
        assert first.items() <= {one["agentId"]: one["timestamp"] for one in kept["responses"]}.items()


async def outlast(folder: Path, *, scale: float, patience_s: float) -> None:
    """Hold a debate of 40 units for clients whose requests end after 10, or some time after the last sign of life."""
    words = slow_command(folder, 10 * scale)
    beats: list[float] = []
    async with over_stdio(words) as client:
        await call(client, "get_agents")
        with anyio.CancelScope(deadline=anyio.current_time() + patience_s) as request:

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                beats.append(progress)
                request.deadline = anyio.current_time() + patience_s

            asked: dict[str, Any] = {"topic": "Tea?", "rounds": 4, "wait": 60 * scale + 20}
            result = await client.call_tool("start_roundtable", asked, progress_callback=hear)
            assert result.structured_content["status"] == "completed"
        assert not request.cancelled_caught
        assert len(beats) >= 8
        # One whose calls end early, whatever it hears.
        asked = {"topic": "Coffee?", "rounds": 4, "wait": 60}
        with pytest.raises(MCPError):
            await client.call_tool("start_roundtable", asked, read_timeout_seconds=10 * scale)
        found = await call(client, "list_sessions", topic="coffee")
        named = {"sessionId": found["sessions"][0]["id"]}
        looks = 0
        state: dict[str, Any] = {}
        while state.get("status") != "completed":
            result = await client.call_tool(
                "get_consensus", {**named, "wait": 8 * scale}, read_timeout_seconds=max(10 * scale, 5)
            )
            state, looks = result.structured_content, looks + 1
        assert state["analyzedRound"] == 4
        assert looks >= 2


@pytest.mark.slow
async def test_a_long_debate_completes_for_clients_whose_calls_end_early(tmp_path: Path) -> None:
    await outlast(tmp_path, scale=0.05, patience_s=20)


@pytest.mark.deep
async def test_a_debate_of_forty_seconds_completes_for_clients_whose_calls_end_after_ten(tmp_path: Path) -> None:
    await outlast(tmp_path, scale=1.0, patience_s=10)


@pytest.mark.slow
async def test_a_client_that_vanishes_during_a_debate_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    words = slow_command(tmp_path, 0.4)
    async with over_stdio(words) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=4, wait=0)
        named = {"sessionId": begun["sessionId"]}
        await call(client, "get_round_details", **named, roundNumber=1, wait=60)
    async with over_stdio(words) as client:
        before = await call(client, "get_round_details", **named, roundNumber=1)
        assert (before["running"], before["complete"]) == (False, True)
        done = await call(client, "continue_roundtable", **named, wait=60)
        assert (done["status"], done["currentRound"]) == ("completed", 4)
        kept = await call(client, "get_round_details", **named, roundNumber=1)
        assert kept["responses"] == before["responses"]
