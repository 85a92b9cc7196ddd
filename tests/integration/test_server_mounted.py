"""The server mounted under a path of another application: pages, redirects, cookies, links, OpenAPI and streams."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from integration.engine_kit import some_every_day
from integration.server_kit import served, served_table, token_for
from starlette.applications import Starlette
from starlette.routing import Mount

from roundtable.auth import LocalUser
from roundtable.server import create_app
from roundtable.testing.servers import LoopbackServer, WireReply, chat_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


def client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", some_every_day(["/rt", "/api", "/tools/debates"], 3))
async def test_a_mounted_server_answers_and_its_links_lead_to_it(path: str) -> None:
    parent = FastAPI()
    parent.mount(path, create_app(served_table(), auth=LocalUser()))

    @parent.get("/own")
    async def own() -> str:
        return "the parent's"

    async with served(parent) as url, client(url) as web:
        assert (await web.get("/own")).json() == "the parent's"
        assert (await web.get(f"{path}/health")).status_code == 200
        begun = await web.post(f"{path}/api/debates", json={"topic": "Tea?", "rounds": 1})
        assert begun.status_code == 202
        links = begun.json()["links"]
        assert begun.headers["location"] == links["self"] == f"{path}/api/sessions/{begun.json()['sessionId']}"
        events = await web.get(links["events"])
        assert '"debate_complete"' in events.text
        assert (await web.get(links["self"])).json()["answer"] == "Tea"
        streamed = await web.post(
            f"{path}/api/debates", json={"topic": "Tea?", "rounds": 1}, headers={"accept": "text/event-stream"}
        )
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert '"debate_complete"' in streamed.text
        told = (await web.get(f"{path}/api/openapi.json")).json()
        assert told["servers"] == [{"url": path}]
        assert "/api/debates" in told["paths"]
        assert (await web.get(f"{path}/nowhere")).status_code == 404


@pytest.mark.slow
async def test_links_of_the_pages_of_a_mounted_server_stay_within_its_path() -> None:
    table = served_table()
    token = await token_for(table, "ann")
    async with served(Starlette(routes=[Mount("/rt", create_app(table))])) as url, client(url) as web:
        asked = await web.get("/rt/sessions", headers={"accept": "text/html"})
        assert (asked.status_code, asked.headers["location"]) == (303, "/rt/login?next=%2Fsessions")
        page = await web.get(asked.headers["location"])
        form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        entered = await web.post("/rt/login", data={**form, "token": token}, headers={"origin": url})
        assert (entered.status_code, entered.headers["location"]) == (303, "/rt/sessions")
        assert "path=/rt;" in entered.headers["set-cookie"].lower()
        shown = await web.get("/rt/sessions", headers={"accept": "text/html"})
        assert shown.status_code == 200
        paths = re.findall(r'(?:href|src|action)="(/[^"]*)"', shown.text)
        assert len(paths) > 4
        assert all(path.startswith("/rt/") for path in paths)
        for path in set(paths):
            if path.startswith("/rt/static/"):
                assert (await web.get(path)).status_code == 200


@asynccontextmanager
async def together(parent: FastAPI) -> AsyncIterator[None]:
    """Run the lifespan of what is mounted with that of the parent, as the docs say."""
    mounted: Any = parent.state.mounted
    async with mounted.router.lifespan_context(mounted):
        assert mounted.state.roundtable.table is parent.state.table
        yield


async def test_the_parent_may_run_the_lifespan() -> None:
    parent = FastAPI(lifespan=together)
    parent.state.table = served_table()
    parent.state.mounted = create_app(parent.state.table, auth=LocalUser())
    parent.mount("/rt", parent.state.mounted)
    async with served(parent) as url, client(url) as web:
        begun = await web.post("/rt/api/debates?wait=20", json={"topic": "Tea?", "rounds": 1})
        assert begun.json()["answer"] == "Tea"


async def test_requests_during_the_start_wait_for_the_same_lifespan() -> None:
    app = create_app(served_table(), auth=LocalUser())
    inner, begun = app.router.lifespan_context, anyio.Event()
    entered: list[str] = []

    @asynccontextmanager
    async def slow(mounted: Any) -> AsyncIterator[None]:
        entered.append("once")
        await begun.wait()
        async with inner(mounted):
            yield

    app.router.lifespan_context = slow
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as web:
        with anyio.move_on_after(0.05) as left:  # who asked first does not wait for the answer
            await web.get("/ready")
        assert left.cancelled_caught
        answers: list[int] = []

        async def ask() -> None:
            answers.append((await web.get("/ready")).status_code)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            begun.set()
    assert (entered, answers) == (["once"], [200, 200])


async def test_a_failed_lifespan_is_reported_and_tried_again() -> None:
    app = create_app(served_table(), auth=LocalUser())
    inner, faults = app.router.lifespan_context, [OSError("no disk")]

    @asynccontextmanager
    async def faulty(mounted: Any) -> AsyncIterator[None]:
        if faults:
            raise faults.pop()
        async with inner(mounted):
            yield

    app.router.lifespan_context = faulty
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        with pytest.raises(OSError, match="no disk"):
            await web.get("/ready")
        assert (await web.get("/ready")).status_code == 200


PARENT = """
import sys
from contextlib import asynccontextmanager
import uvicorn
from fastapi import FastAPI
from roundtable import ProviderConfig, Roundtable
from roundtable.auth import LocalUser
from roundtable.server import create_app

_, database, provider, port, lifespan = sys.argv
table = Roundtable(
    ["compatible:any"],
    providers={"compatible": ProviderConfig(base_url=provider, api_key="none")},
    storage=f"sqlite:///{database}",
)
web = create_app(table, auth=LocalUser())

@asynccontextmanager
async def together(app):
    async with web.router.lifespan_context(web):
        yield

app = FastAPI(lifespan=together if lifespan == "combined" else None)
app.mount("/rt", web)
config = uvicorn.Config(app, port=int(port), log_level="info")
server = uvicorn.Server(config)
server.run()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lifespan", "number"),
    [
        pytest.param("combined", signal.SIGTERM, id="combined"),
        pytest.param("lazy", signal.SIGINT, id="lazy", marks=pytest.mark.slow),
    ],
)
async def test_a_parent_that_ends_leaves_debates_paused(tmp_path: Path, lifespan: str, number: signal.Signals) -> None:
    waiting = threading.Event()

    def hang(_: object) -> WireReply:
        waiting.set()
        return WireReply([60.0, *chat_reply({"position": "Tea"}).parts])

    database = tmp_path / "kept.db"
    with LoopbackServer(hang) as provider:
        words = [sys.executable, "-c", PARENT, str(database), provider.url, "0", lifespan]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ}) as running:  # noqa: ASYNC220
            timer = threading.Timer(60, running.kill)
            timer.start()
            try:
                url = ""
                while not url:
                    line = running.stderr.readline()  # type: ignore[union-attr]
                    assert line
                    url = "".join(re.findall(r"http://127\.0\.0\.1:\d+", line))
                async with client(url) as web:
                    begun = await web.post("/rt/api/debates", json={"topic": "Tea?", "rounds": 1})
                    session = begun.json()["sessionId"]
                assert waiting.wait(20)
                running.send_signal(number)
                running.wait(20)
            finally:
                timer.cancel()
                running.kill()
    stored = await served_table(storage=f"sqlite:///{database}").session(session)
    assert json.loads(stored.to_json())["sessionStatus"] == "paused"
