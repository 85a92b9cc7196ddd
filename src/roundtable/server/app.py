"""The application: what stands before the endpoints, and which there are."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Unpack

from roundtable._clock import SystemClock
from roundtable._version import __version__
from roundtable.api.desks import Desks
from roundtable.auth import TokenAuthenticator, TokenStore
from roundtable.auth.guard import Guard, Manners
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

    from roundtable.api import Roundtable
    from roundtable.auth import Authenticator
    from roundtable.auth.guard import GuardOptions, Message
    from roundtable.protocols import SleepingClock
    from roundtable.server.state import ServerOptions

__all__ = ["create_app"]


def create_app(table: Roundtable, *, auth: Authenticator | None = None, **options: Unpack[ServerOptions]) -> FastAPI:
    """Make the HTTP server as an ASGI application, to be run by any ASGI server on one event loop of asyncio.

    Each user has sessions of their own; models, tools, budget and storage are the table's.

    Args:
        table: Who debates, with what, and where sessions are kept. It is closed when the application ends.
        auth: Recognises callers; tokens that `roundtable tokens create` makes when left out.
        options: See `ServerOptions`.

    Raises:
        ConfigurationError: The extra `server` is not installed, or the storage keeps no values beside sessions.
    """
    if find_spec("fastapi") is None:
        raise ConfigurationError(
            "the HTTP server needs the extra 'server'", hint="Install it: pip install 'roundtable-sdk[server]'"
        )
    from roundtable.server.cors import let_pages_in
    from roundtable.server.failures import error_body, error_event, tell_failures
    from roundtable.server.limits import Limits, UserLimits
    from roundtable.server.requests import RequestNumbers
    from roundtable.server.state import ServerState
    from roundtable.server.streams import Streams

    authenticator = auth or TokenAuthenticator(TokenStore.of(table.wiring.storage), audience="http")
    clock = options.get("clock") or SystemClock()
    limits = UserLimits.of(table.wiring.storage, options.get("limits") or Limits(), clock=clock)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        # Desks are left before limits: what ran at them has ended when its places are given back.
        async with limits.open(), Desks(table.for_tenant) as desks, Streams(options) as streams:
            app.state.roundtable = ServerState(
                table=table,
                desks=desks,
                authenticator=authenticator,
                limits=limits,
                clock=clock,
                streams=streams,
                options=options,
            )
            yield
        await table.aclose()

    app = _application(lifespan)
    tell_failures(app)
    manners = Manners(is_open=_is_open, body=error_body, last_event=error_event)
    app.add_middleware(Guard, authenticator, manners, **_guarding(options, clock))
    app.add_middleware(RequestNumbers)
    let_pages_in(app, options.get("origins", ()))
    return app


def _application(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Put the endpoints together."""
    from fastapi import FastAPI

    from roundtable.server.health import router as health

    app = FastAPI(
        title="AI Roundtable",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        # The pages that FastAPI brings along load their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    app.include_router(health)
    return app


def _guarding(options: ServerOptions, clock: SleepingClock) -> GuardOptions:
    guarding: GuardOptions = {"clock": clock}
    for name in ("hosts", "origins", "check_s"):
        if name in options:
            guarding[name] = options[name]
    return guarding


def _is_open(scope: Message) -> bool:
    """Tell whether a request needs nobody to be known."""
    return scope["path"] in {"/health", "/ready"}
