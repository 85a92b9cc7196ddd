"""Running the server: where it listens, and how it leaves when it is asked to end."""

from __future__ import annotations

import gc
import os
import signal
import socket
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from fastapi.responses import StreamingResponse
from integration.engine_kit import eventually
from integration.server_kit import served_table

from roundtable import Roundtable
from roundtable.auth import LocalUser
from roundtable.errors import ConfigurationError
from roundtable.providers import Delay
from roundtable.server import create_app
from roundtable.server.serving import serve
from roundtable.storage import SQLiteStorage
from roundtable.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.fixture(autouse=True)
def heap_at_rest() -> Iterator[None]:
    """Freeze again what `serve` thaws at its end; else every test after it looks through all that was ever loaded."""
    yield
    gc.freeze()


class Running:
    """A server in a task of this process."""

    def __init__(self) -> None:
        self.url = ""
        self.listens = anyio.Event()
        self.ended = anyio.Event()
        self.asked = 0

    def listening(self, url: str) -> None:
        self.url = url
        self.listens.set()

    def ask_to_end(self) -> None:
        """Send a signal; never after the end, when it would end the tests."""
        assert not self.ended.is_set()
        self.asked += 1
        os.kill(os.getpid(), signal.SIGTERM)


@asynccontextmanager
async def running(app: Any, **options: Any) -> AsyncIterator[tuple[Running, httpx.AsyncClient]]:
    """Serve; ends with a signal unless there was one."""
    state = Running()

    async def run() -> None:
        await serve(app, port=0, listening=state.listening, **options)
        state.ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(30):
            await state.listens.wait()
        async with httpx.AsyncClient(base_url=state.url, timeout=30, trust_env=False, verify=False) as web:
            yield state, web
            if not state.asked:
                state.ask_to_end()
            with anyio.fail_after(10):
                await state.ended.wait()


@pytest.mark.slow
async def test_a_server_that_is_asked_to_end_tells_every_stream_and_leaves_debates_resumable(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    slow = ScriptedModel({"*": ["Tea", Delay(60, "Coffee")]})
    app = create_app(Roundtable([slow], storage=SQLiteStorage(path)), auth=LocalUser("ann"))
    async with running(app) as (server, web):
        started = await web.post("/api/debates", json={"topic": "Tea?", "rounds": 3})
        session = started.json()["sessionId"]
        state = app.state.roundtable
        assert state.limits.running == 1
        async with web.stream("GET", f"/api/sessions/{session}/events") as answer:
            lines = answer.aiter_lines()
            heard = [await anext(lines)]
            server.ask_to_end()
            with anyio.fail_after(10):
                heard.extend([line async for line in lines])
                await server.ended.wait()
        assert '"SERVER_SHUTDOWN"' in [line for line in heard if line][-1]
    storage = SQLiteStorage(path)
    after = Roundtable([ScriptedModel({"*": "Tea"})], storage=storage, tenant="ann")
    assert (await after.session(session)).session.status == "paused"
    assert (await storage.kv.scan("user/", tenant=":limits"))[0][1]["places"] == {}, "its place came free"
    result = await after.resume(session, on_change="adopt")
    assert result.status == "completed"
    await storage.aclose()


@pytest.mark.slow
async def test_a_server_that_is_asked_to_end_answers_waiting_clients_at_once() -> None:
    app = create_app(served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})]), auth=LocalUser())
    answers: list[httpx.Response] = []
    async with running(app) as (server, web), anyio.create_task_group() as group:

        async def wait() -> None:
            answers.append(await web.post("/api/debates?wait=60", json={"topic": "Tea?"}))
            assert not server.ended.is_set()

        group.start_soon(wait)
        await eventually(lambda: bool(app.state.roundtable.limits.running), within_s=30)
        server.ask_to_end()
        with anyio.fail_after(30):
            await server.ended.wait()
    told = answers[0].json()
    assert (answers[0].status_code, told["sessionStatus"]) == (202, "active")
    assert answers[0].headers["location"] == told["links"]["self"]


@pytest.mark.slow
async def test_requests_that_outlast_the_grace_get_an_error_or_are_cut_without_a_traceback(caplog: Any) -> None:
    app, begun = create_app(served_table(), auth=LocalUser()), []

    @app.get("/for-ever")
    async def for_ever(streams: bool) -> Any:
        begun.append(streams)

        async def never() -> AsyncIterator[bytes]:
            yield b"begun"
            await anyio.sleep_forever()

        return StreamingResponse(never()) if streams else await anyio.sleep_forever()

    answers: list[Any] = []
    async with running(app) as (server, web), anyio.create_task_group() as group:

        async def ask(*, streams: bool) -> None:
            try:
                answers.append((await web.get(f"/for-ever?streams={streams}")).json()["code"])
            except httpx.TransportError:
                answers.append("broken off")

        group.start_soon(partial(ask, streams=True))
        group.start_soon(partial(ask, streams=False))
        await eventually(lambda: len(begun) == 2, within_s=30)
        server.ask_to_end()
        with anyio.fail_after(40):
            await server.ended.wait()
    assert sorted(answers) == ["SERVER_SHUTDOWN", "broken off"]
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [error.split(",")[0] for error in errors] == ["Cancel 2 running task(s)"]


@pytest.mark.slow
async def test_a_server_reports_that_it_is_not_ready_before_it_ends() -> None:
    async with running(create_app(served_table(), auth=LocalUser()), drain_s=1.0) as (server, web):
        assert (await web.get("/ready")).status_code == 200
        server.ask_to_end()
        with anyio.fail_after(10):
            while (answer := await web.get("/ready")).status_code == 200:
                pass
        assert answer.json() == {"status": "unavailable", "reason": "ending"}
        assert (await web.get("/health")).status_code == 200


@pytest.mark.slow
async def test_a_second_request_to_end_does_not_wait() -> None:
    app = create_app(served_table(), auth=LocalUser())

    @app.get("/for-ever")
    async def for_ever() -> None:
        await anyio.sleep_forever()

    async with running(app, drain_s=60.0) as (server, web), anyio.create_task_group() as group:

        async def ask() -> None:
            with pytest.raises(httpx.TransportError):
                await web.get("/for-ever")

        group.start_soon(ask)
        server.ask_to_end()
        with anyio.fail_after(10):
            while not app.state.roundtable.readiness.is_ending:
                await web.get("/ready")
            server.ask_to_end()
            await server.ended.wait()


@pytest.mark.slow
async def test_objects_from_before_the_start_are_not_garbage_collected_while_a_server_runs() -> None:
    async with running(create_app(served_table(), auth=LocalUser())) as (_, web):
        assert (await web.get("/health")).status_code == 200
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0


async def test_a_port_in_use_is_reported() -> None:
    app = create_app(served_table(), auth=LocalUser())
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1"),
    ):
        await serve(app, port=taken.getsockname()[1])


async def test_several_servers_can_share_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
        app = create_app(served_table(), auth=LocalUser())
        port = other.getsockname()[1]
        ended = anyio.Event()
        async with anyio.create_task_group() as group:

            def stop(url: str) -> None:
                assert url == f"http://127.0.0.1:{port}"
                ended.set()
                os.kill(os.getpid(), signal.SIGTERM)

            group.start_soon(lambda: serve(app, port=port, reuse_port=True, listening=stop))
        assert ended.is_set()


async def test_a_server_without_tokens_listens_only_on_this_machine() -> None:
    with pytest.raises(ConfigurationError, match="without tokens"):
        await serve(create_app(served_table(), auth=LocalUser()), host="0.0.0.0", port=0)


async def test_an_ipv6_host_is_written_in_brackets() -> None:
    app = create_app(served_table(), auth=LocalUser())
    async with running(app, host="::1") as (server, web):
        assert server.url.startswith("http://[::1]:")
        assert (await web.get("/health")).status_code == 200
