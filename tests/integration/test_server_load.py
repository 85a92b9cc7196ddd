"""Many clients of one debate, some of which do not read: those are dropped, and nobody else misses anything."""

from __future__ import annotations

import json
import socket

import anyio
import httpx
import pytest
from integration.server_kit import served_table
from integration.test_server_serving import running

from roundtable.auth import LocalUser
from roundtable.providers import Delay
from roundtable.server import Limits, create_app
from roundtable.testing import ScriptedModel
from roundtable.types import ModelProfile

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CLIENTS = 200
DEAF = 10
ROUNDS = 6
LONG = {"position": "Tea", "reasoning": "It keeps. " * 20_000, "confidence": 0.8}


async def follow(web: httpx.AsyncClient, path: str) -> list[int]:
    """Return the numbers of the durable events that a client receives."""
    async with web.stream("GET", path, timeout=120) as answer:
        told = [json.loads(line[6:])["data"] async for line in answer.aiter_lines() if line.startswith("data: ")]
    return [data["seq"] for data in told if "seq" in data]


@pytest.mark.deep
async def test_a_client_that_does_not_read_is_dropped_and_no_other_misses_an_event() -> None:
    model = ScriptedModel({"*": Delay(0.5, LONG)}, chunks=40, profile=ModelProfile(streams=True))
    app = create_app(served_table(agents=[model]), auth=LocalUser(), limits=Limits(streams_per_user=None), send_s=2.0)
    limits = httpx.Limits(max_connections=None)
    async with (
        running(app) as (server, _),
        httpx.AsyncClient(base_url=server.url, limits=limits, trust_env=False, verify=False) as web,
    ):
        begun = await web.post("/api/debates", json={"topic": "Tea?", "rounds": ROUNDS})
        path = f"/api/sessions/{begun.json()['sessionId']}/events"
        deaf = []
        for _ in range(DEAF):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
            line.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            deaf.append(line)
        heard: list[list[int]] = []

        async def listen() -> None:
            heard.append(await follow(web, path))

        streams = app.state.roundtable.streams
        async with anyio.create_task_group() as group:
            for _ in range(CLIENTS):
                group.start_soon(listen)
            with anyio.fail_after(60):
                while len(streams) < CLIENTS + DEAF:  # noqa: ASYNC110  (nobody tells)
                    await anyio.sleep(0.05)
        with anyio.fail_after(60):
            while len(streams):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        last = heard[0][-1]
        assert last > 2 * ROUNDS
        assert heard == [list(range(1, last + 1))] * CLIENTS
        for line in deaf:
            line.close()
