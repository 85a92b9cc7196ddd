"""Servers for tests: an application on a real socket of this machine, and clients that speak to it."""

from __future__ import annotations

import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from roundtable import Roundtable
from roundtable.auth import LocalUser, TokenStore
from roundtable.server import create_app
from roundtable.server.serving import WireProtocol
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

__all__ = ["client_of", "parsed", "served", "served_table", "token_for"]


def served_table(**options: Any) -> Roundtable:
    """Return a table of three scripted agents in memory."""
    return Roundtable(
        options.pop("agents", None) or scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"}),
        storage=options.pop("storage", "memory://"),
        **options,
    )


async def token_for(table: Roundtable, user: str, *scopes: Any) -> str:
    """Make a token of a user."""
    store = TokenStore.of(table._wiring.storage)
    return (await store.create(user, scopes=scopes or ("read", "write"), audience="http")).secret


@asynccontextmanager
async def served(app: FastAPI, http: type[H11Protocol] = WireProtocol, idle_s: int = 5) -> AsyncIterator[str]:
    """Serve an application on a free port; give its address. An idle connection is closed after some seconds."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, http=http, log_config=None, ws="none", timeout_graceful_shutdown=1, timeout_keep_alive=idle_s
        )
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(server._serve, [taken])
            with anyio.fail_after(20):
                while not server.started:  # noqa: ASYNC110  (it tells nobody)
                    await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
            server.should_exit = True


@asynccontextmanager
async def client_of(
    table: Roundtable | None = None, *, token: str | None = None, auth: Any = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve a table and give a client; without a token everybody is the one user of this machine."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    app = create_app(table or served_table(), auth=auth or (LocalUser() if token is None else None), **options)
    async with (
        served(app) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False, verify=False) as web,
    ):
        yield web


def parsed(text: str) -> list[dict[str, Any]]:
    """Read a stream as the JavaScript of seed 004 does."""
    return [json.loads(block[6:]) for block in text.split("\n\n") if block.startswith("data: ")]
