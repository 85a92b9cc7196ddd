"""Somebody who looks at pages: a browser's cookies and headers over httpx, and what its answers hold."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
from integration.server_kit import served_table, token_for

from roundtable.agents import BaseAgent
from roundtable.server import create_app
from roundtable.testing import ScriptedModel
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Typing", "Visitor", "typing_agents", "visiting"]


class Typing(ScriptedModel):
    """A model that can be watched while it writes."""

    piece_s = 0.05

    async def _stream(self, request):
        async for piece in super()._stream(request):
            yield piece
            await anyio.sleep(self.piece_s)


def typing_agents(says: dict[str, list[str]], *, chunks: int, piece_s: float) -> list[BaseAgent]:
    """Return agents that say one thing in each round, piece by piece."""
    agents = []
    for name, said in says.items():
        replies = [{"position": word, "reasoning": f"{name} has thought about it.", "confidence": 0.8} for word in said]
        model = Typing({name: replies}, chunks=chunks)
        model.piece_s = piece_s
        config = AgentConfig(id=name, name=name.title(), provider="scripted", model="scripted")
        agents.append(BaseAgent(config, model))
    return agents


class Visitor:
    """A browser without a screen."""

    def __init__(self, web: httpx.AsyncClient, token: str) -> None:
        self.web = web
        self.token = token
        self.page = ""

    @property
    def csrf(self) -> str:
        """What forms of the page that was looked at last send along."""
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.page)
        assert found is not None
        return found[1]

    def show(self, number: str) -> None:
        """Send another cookie from now on."""
        self.web.cookies.clear()
        self.web.cookies.set("roundtable", number, domain="127.0.0.1")

    async def get(self, path: str, **how: Any) -> httpx.Response:
        answer = await self.web.get(path, **how)
        self.page = answer.text
        return answer

    async def post(self, path: str, **fields: str | list[str]) -> httpx.Response:
        """Send a form from a page of the server."""
        return await self.web.post(path, data=fields, headers={"origin": str(self.web.base_url).rstrip("/")})

    async def log_in(self, token: str | None = None, **fields: str) -> httpx.Response:
        answer = await self.post("/login", token=self.token if token is None else token, **fields)
        await self.get("/sessions")
        return answer


@asynccontextmanager
async def visiting(*scopes: str, table: Any = None, auth: Any = None, **options: Any) -> AsyncIterator[Visitor]:
    """Serve a table and give somebody who looks at its pages and is not logged in."""
    table = table or served_table()
    token = await token_for(table, "ann", *(scopes or ("read", "write")))
    app = create_app(table, auth=auth, **options)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers={"accept": "text/html"}) as web,
    ):
        yield Visitor(web, token)
