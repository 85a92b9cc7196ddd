"""What fails beside the server while it answers: clients that vanish, tokens that end, storage that is gone."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from integration.engine_kit import Gated, eventually
from integration.server_kit import parsed, served, token_for
from integration.test_server_chat import ASKED, PATH, team_model, team_table

from roundtable.auth import LocalUser, TokenStore
from roundtable.errors import StorageError
from roundtable.providers import Delay
from roundtable.server import Limits, create_app
from roundtable.storage import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

SAYS = {"data-steward": "I found 150."}


class Fragile(MemoryStorage):
    """A storage that can be gone."""

    gone = False

    async def _open(self) -> None:
        if self.gone:
            file = "/home/ann/debates.db"
            raise StorageError(f"cannot open {file}: disk I/O error", hint=f"Check {file}.", details={"path": file})
        await super()._open()


class Full(Fragile):
    """A storage that can be full: what it has can be read."""

    async def _open(self) -> None:
        await MemoryStorage._open(self)

    async def append(self, *args: Any, **options: Any) -> Any:
        if self.gone:
            raise StorageError("cannot write /home/ann/debates.db: disk full")
        return await super().append(*args, **options)


class Stuck(MemoryStorage):
    """A storage that takes for ever to begin a session."""

    async def create(self, record: Any) -> None:
        await anyio.sleep_forever()


@asynccontextmanager
async def asking(table: Any, **options: Any) -> AsyncIterator[tuple[httpx.AsyncClient, FastAPI]]:
    token = options.pop("token", None)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    app = create_app(table, auth=LocalUser() if token is None else None, **options)
    async with (
        served(app) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False, verify=False) as web,
    ):
        yield web, app


@pytest.mark.slow
@pytest.mark.parametrize("how", ["rst", "fin", "half"])
async def test_a_client_that_leaves_in_any_way_is_forgotten_and_its_conversation_continues(how: str) -> None:
    team = team_model(Gated, **SAYS)
    body = json.dumps({**ASKED, "rounds": 1}).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    async with asking(team_table(model=team)) as (web, app):
        streams = app.state.roundtable.streams
        wire = socket.create_connection(("127.0.0.1", web.base_url.port))
        wire.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        await eventually(lambda: len(streams) == 1)
        if how == "half":
            wire.shutdown(socket.SHUT_WR)
        else:
            if how == "rst":
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.close()
        await eventually(lambda: not len(streams))
        team.let()
        wire.close()
        (session,) = (await web.get("/api/sessions")).json()["sessions"]
        handle = (await app.state.roundtable.tenant_sessions.session_of("default")).handle(session["sessionId"])
        assert (await handle.result()).status == "completed"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_an_expired_token_is_the_last_event_of_its_streams(how: str) -> None:
    table = team_table(**{"data-steward": Delay(20, "late")})
    store = TokenStore.of(table._wiring.storage)
    token = await token_for(table, "ann")
    if how == "expired":
        token = (await store.create("ann", audience="http", days=2 / 86_400)).secret
    async with asking(table, token=token, check_s=0.1) as (web, _), web.stream("POST", PATH, json=ASKED) as answer:
        text = ""
        async for piece in answer.aiter_text():
            text += piece
            if how == "revoked" and '"agent_start"' in text:
                for one in await store.list():
                    await store.revoke(one.id)
        last = parsed(text)[-1]
        assert (last["type"], last["data"]["code"]) == ("error", "UNAUTHORIZED")
        assert (await web.get("/api/sessions")).status_code == 401


@pytest.mark.slow
async def test_a_lost_storage_is_reported_and_used_again_when_it_returns() -> None:
    storage, team = Fragile(), team_model(Gated, **SAYS)
    async with asking(team_table(storage, model=team)) as (web, _):
        async with web.stream("POST", PATH, json=ASKED) as answer:
            lines = answer.aiter_text()
            text = await anext(lines)
            storage.gone = True
            team.let()
            async for piece in lines:
                text += piece
        last = parsed(text)[-1]
        assert (last["type"], last["data"]["code"], last["data"]["recoverable"]) == ("error", "STORAGE_ERROR", True)
        refused = await web.post(PATH, json=ASKED)
        assert (refused.status_code, refused.json()["code"]) == (503, "STORAGE_ERROR")
        assert "/home" not in text + refused.text
        assert ((await web.get("/health")).status_code, (await web.get("/ready")).status_code) == (200, 503)
        storage.gone = False
        assert (await web.get("/ready")).status_code == 200
        told = parsed((await web.post(PATH, json={**ASKED, "rounds": 1})).text)
        assert told[-1]["type"] == "conversation_complete"


async def test_a_run_whose_end_cannot_be_stored_is_reported_as_ended() -> None:
    storage, team = Full(), team_model(Gated, **SAYS)
    async with (
        asking(team_table(storage, model=team), heartbeat_s=0.2) as (web, _),
        web.stream("POST", PATH, json=ASKED) as answer,
    ):
        lines = answer.aiter_text()
        text = await anext(lines)
        storage.gone = True
        team.let()
        async for piece in lines:
            text += piece
    last = parsed(text)[-1]
    assert (last["type"], last["data"]["code"]) == ("error", "STORAGE_ERROR")
    assert "/home" not in text


async def test_a_debate_that_cannot_start_in_time_is_a_504_and_is_not_counted() -> None:
    table = team_table(Stuck())
    async with asking(table, conversation_s=0.1, limits=Limits(concurrent=1)) as (web, app):
        for _ in range(2):
            answer = await web.post(PATH, json=ASKED)
            assert (answer.status_code, answer.json()["code"]) == (504, "CONVERSATION_TIMEOUT")
        standings = await app.state.roundtable.limits.standings("default")
        assert all(one.remaining == one.quota for one in standings)


@pytest.mark.slow
async def test_under_too_much_load_some_requests_are_refused_at_once_and_others_are_served() -> None:
    limits = Limits(streams_total=3, streams_per_user=None, concurrent=None, conversations_per_hour=None)
    team = team_model(Gated, **SAYS)
    async with asking(team_table(model=team), limits=limits) as (web, _):
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await web.post(PATH, json={**ASKED, "rounds": 1}))

        async with anyio.create_task_group() as group:
            for _ in range(15):
                group.start_soon(ask)
            await eventually(lambda: len(answers) == 12)
            team.let()
        told = [parsed(one.text)[-1]["type"] for one in answers if one.status_code == 200]
        refused = [one for one in answers if one.status_code == 503]
        assert told == ["conversation_complete"] * 3
        assert len(refused) == 12
        assert all(one.json()["code"] == "SERVER_BUSY" and "retry-after" in one.headers for one in refused)
        assert answers[:12] == refused  # they came first, without waiting for anybody
        assert (await web.post(PATH, json={**ASKED, "rounds": 1})).status_code == 200
