"""The application: what stands before the endpoints, and which there are."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Unpack

from roundtable._clock import SystemClock
from roundtable._version import __version__
from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore
from roundtable.auth.guard import Guard, Manners
from roundtable.auth.nearby import Nearby
from roundtable.auth.values import values_of
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

    from roundtable.api import Roundtable
    from roundtable.auth import Authenticator
    from roundtable.auth.guard import GuardOptions, Message
    from roundtable.protocols import SleepingClock
    from roundtable.server.pages.entrance import Entrance
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
    from roundtable.server.failures import LastResort, error_body, tell_failures
    from roundtable.server.figures import Figures
    from roundtable.server.intake import READ_S, Intake
    from roundtable.server.lifetime import lifetime
    from roundtable.server.monitoring import RequestTimes
    from roundtable.server.pages.entrance import Entrance
    from roundtable.server.pages.forgery import ForgeryGuard
    from roundtable.server.requests import RequestNumbers

    storage = table.wiring.storage
    authenticator = auth or TokenAuthenticator(TokenStore.of(storage), audience="http")
    clock = options.get("clock") or SystemClock()
    entrance = Entrance.of(storage, authenticator, clock, https=options.get("https"))
    figures = Figures(values_of(storage, "figures"), clock=clock)
    app = _application(lifetime(table, entrance, figures, clock, options))
    app.state.asks = not isinstance(auth, LocalUser)
    tell_failures(app)
    app.add_middleware(ForgeryGuard, error_body)
    app.add_middleware(Intake, options.get("read_s", READ_S))
    app.add_middleware(Guard, entrance.people, _manners(entrance, options), **_guarding(options, clock))
    if isinstance(authenticator, LocalUser):
        app.add_middleware(Nearby, error_body)
    app.add_middleware(RequestTimes, figures, clock)
    app.add_middleware(LastResort)
    app.add_middleware(RequestNumbers)
    let_pages_in(app, options.get("origins", ()))
    return app


def _application(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Put the endpoints together."""
    from fastapi import Depends

    from roundtable.server import chat, control, debates, health, monitoring, offers, openapi, reading, sessions
    from roundtable.server.pages import routers as pages

    app = openapi.Application(
        title="AI Roundtable",
        version=__version__,
        lifespan=lifespan,
        dependencies=[Depends(monitoring.note_route), Depends(reading.check_query)],
        openapi_url=None,  # `openapi.router` has it
        separate_input_output_schemas=False,
        # The pages that FastAPI brings along load their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    routers = (
        health.router,
        monitoring.router,
        openapi.router,
        offers.router,
        chat.router,
        debates.router,
        sessions.router,
        control.router,
        *pages(),
    )
    for router in routers:
        app.include_router(router)
    return app


def _manners(entrance: Entrance, options: ServerOptions) -> Manners:
    from roundtable.server.failures import error_body, error_event
    from roundtable.server.rendering import refusal

    return Manners(
        credential=entrance.cookie.credential,
        is_open=partial(_is_open, scrapes=options.get("open_metrics", False)),
        body=error_body,
        last_event=error_event,
        instead=refusal,
    )


def _guarding(options: ServerOptions, clock: SleepingClock) -> GuardOptions:
    guarding: GuardOptions = {"clock": clock, "origins": options.get("origins", ())}
    if "hosts" in options:
        guarding["hosts"] = options["hosts"]
    if "check_s" in options:
        guarding["check_s"] = options["check_s"]
    return guarding


def _is_open(scope: Message, *, scrapes: bool) -> bool:
    """Tell whether a request needs nobody to be known."""
    from roundtable.server.monitoring import is_scrape_from_here

    path = scope["path"]
    shown = path in {"/health", "/ready", "/login", "/favicon.ico"} or path.startswith("/static/")
    return shown or (scrapes and is_scrape_from_here(scope))
