"""The FastAPI application: middleware, routes, startup and shutdown."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Unpack

from anyio import CapacityLimiter

from roundtable._version import __version__
from roundtable.api.tenants import TenantSessions
from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore
from roundtable.auth.guard import AccessGuard, GuardBehavior, check_hosts, cors_options
from roundtable.auth.listening import LocalOnly
from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import ConfigurationError
from roundtable.fleet import FleetOverview
from roundtable.server.addresses import AddressLimit
from roundtable.server.approvals import OpenApprovals, ServerApproval
from roundtable.server.connections import ListenerTracker
from roundtable.server.limits import Limits, UserLimits
from roundtable.server.metrics import GAUGES, Exposition
from roundtable.server.routes.health import Readiness
from roundtable.server.state import ServerState
from roundtable.server.streams import Streams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

    from roundtable.api import Roundtable
    from roundtable.auth import Authenticator
    from roundtable.auth.guard import GuardOptions, Message
    from roundtable.core.protocols import SleepingClock
    from roundtable.server.metrics_observer import MetricsObserver
    from roundtable.server.pages.logins import BrowserLogin
    from roundtable.server.state import ServerOptions

__all__ = ["create_app", "lifetime"]


def lifetime(
    table: Roundtable,
    browser_login: BrowserLogin,
    figures: MetricsObserver,
    clock: SleepingClock,
    options: ServerOptions,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return the lifespan of the application; it creates the objects that endpoints get from `state_of`.

    Raises:
        ConfigurationError: The storage has no key-value store.
    """
    values = table.key_value("limits")
    configured = options.get("limits") or Limits.from_settings(table.settings)
    limits = UserLimits(values, configured, clock=clock, refused=figures.count_refusal)

    from roundtable.server.pages.outcomes import Outcomes
    from roundtable.server.pages.shared import SHARED_VIEWS_PER_MINUTE
    from roundtable.server.rendering import RENDER_THREADS

    attendance = ListenerTracker(values, options.get("pause_after_s", table.settings.pause_after_s), clock)

    @asynccontextmanager
    async def alive(app: FastAPI) -> AsyncGenerator[None]:
        try:
            # Tenant sessions close before limits and metrics, so that their runs end before their slots are released.
            async with (
                figures.open(),
                limits.open(),
                TenantSessions(lambda tenant: table.for_tenant(tenant, observers=[figures])) as tenant_sessions,
                Streams(limits.limits, options, figures.count_refusal, attendance) as streams,
                FleetOverview(table) as fleets,
            ):
                readers = {"conversations_running": lambda: limits.running, "streams_open": lambda: len(streams)}
                gauges = {name: (description, readers[name]) for name, description in GAUGES.items()}
                app.state.roundtable = ServerState(
                    table=table,
                    tenant_sessions=tenant_sessions,
                    browser_login=browser_login,
                    limits=limits,
                    clock=clock,
                    streams=streams,
                    figures=figures,
                    exposition=Exposition(figures.total, gauges),
                    fleets=fleets,
                    readiness=Readiness(values),
                    options=options,
                    outcomes=Outcomes(),
                    renders=CapacityLimiter(RENDER_THREADS),
                    shared_views=AddressLimit(SHARED_VIEWS_PER_MINUTE, clock),
                )
                yield
        finally:
            await table.aclose()

    return alive


def create_app(table: Roundtable, *, auth: Authenticator | None = None, **options: Unpack[ServerOptions]) -> FastAPI:
    """Create the HTTP server as an ASGI application. Any ASGI server can run it on one asyncio event loop.

    Each user has their own sessions. All users share the models, tools, budget and storage of the table.

    Args:
        table: The table with the agents, models and storage of the server. It is closed when the application ends.
        auth: Identifies callers; when left out, callers need tokens from `roundtable tokens create`.
        options: See `ServerOptions`.

    Raises:
        ConfigurationError: The extra `server` is not installed, the storage has no key-value store, a profile of the
            table names an unknown tool, or an entry of `hosts` or `origins` is not valid.
    """
    if find_spec("fastapi") is None:
        raise ConfigurationError(
            "the HTTP server needs the extra 'server'", hint="Install it: pip install 'roundtable-sdk[server]'"
        )
    from roundtable.server.body_limits import READ_S, BodyLimit
    from roundtable.server.errors import UnexpectedErrors, add_error_handlers, error_body
    from roundtable.server.metrics_observer import MetricsObserver
    from roundtable.server.pages.csrf import ForgeryGuard
    from roundtable.server.pages.logins import BrowserLogin
    from roundtable.server.request_context import RequestNumbers
    from roundtable.server.routes.metrics import RequestTimes

    table.check_profiles()
    _check_pause_after(options.get("pause_after_s"))
    storage = table.storage
    authenticator = auth or TokenAuthenticator(TokenStore.of(storage), audience="http")
    clock = options.get("clock") or SystemClock()
    if isinstance(table.approver, ServerApproval):
        table.approver.connect(OpenApprovals(table.key_value("approvals"), clock))
    browser_login = BrowserLogin.of(storage, authenticator, clock, https=options.get("https"))
    figures = MetricsObserver(table.key_value("figures"), clock=clock)
    app = _application(lifetime(table, browser_login, figures, clock, options))
    app.state.asks = not isinstance(auth, LocalUser)
    add_error_handlers(app)
    app.add_middleware(ForgeryGuard, error_body)
    app.add_middleware(BodyLimit, options.get("read_s", READ_S))
    app.add_middleware(
        AccessGuard, browser_login.people, _guard_manners(browser_login, options), **_guard_options(options, clock)
    )
    if isinstance(authenticator, LocalUser):
        app.add_middleware(LocalOnly, error_body)
    app.add_middleware(RequestTimes, figures, clock)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(RequestNumbers)
    _add_cors(app, options.get("origins", ()))
    return app


def _check_pause_after(pause_after_s: float | None) -> None:
    if pause_after_s is None:
        return
    if isinstance(pause_after_s, bool) or not isinstance(pause_after_s, int | float) or not 0 < pause_after_s < inf:
        msg = f"pause_after_s must be a number of seconds above 0, or None, not {pause_after_s!r}"
        raise ConfigurationError(msg, hint="For example 60; with None, runs without listeners are never paused.")


def _add_cors(app: FastAPI, origins: Collection[str]) -> None:
    """Allow pages of these origins to call the server."""
    if origins:
        from fastapi.middleware.cors import CORSMiddleware

        exposed = ["location", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id"]
        cors = cors_options(origins, headers=["idempotency-key", "last-event-id"], exposed=exposed)
        app.add_middleware(CORSMiddleware, **cors)


def _application(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Create the application with all its endpoints."""
    from fastapi import Depends

    from roundtable.server import openapi, request_bodies
    from roundtable.server.pages import routers as pages
    from roundtable.server.routes import catalog, chat, control, debates, health, metrics, sessions

    app = openapi.Application(
        title="AI Roundtable",
        version=__version__,
        lifespan=lifespan,
        dependencies=[Depends(metrics.note_route), Depends(request_bodies.check_query)],
        openapi_url=None,  # `openapi.router` serves it
        separate_input_output_schemas=False,
        # FastAPI's own documentation pages load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    routers = (
        health.router,
        metrics.router,
        openapi.router,
        catalog.router,
        chat.router,
        debates.router,
        sessions.router,
        control.router,
        *pages(),
    )
    for router in routers:
        app.include_router(router)
    return app


def _guard_manners(browser_login: BrowserLogin, options: ServerOptions) -> GuardBehavior:
    from roundtable.server.errors import error_body, error_event
    from roundtable.server.rendering import refusal

    return GuardBehavior(
        credential=browser_login.cookie.credential,
        is_open=partial(_is_open, scrapes=options.get("open_metrics", False)),
        body=error_body,
        last_event=error_event,
        refusal_app=refusal,
    )


def _guard_options(options: ServerOptions, clock: SleepingClock) -> GuardOptions:
    guard: GuardOptions = {"clock": clock, "origins": options.get("origins", ())}
    if "hosts" in options:
        guard["hosts"] = check_hosts(options["hosts"])
    if "check_s" in options:
        guard["check_s"] = options["check_s"]
    return guard


def _is_open(scope: Message, *, scrapes: bool) -> bool:
    """Check whether a request needs no authentication."""
    from roundtable.server.routes.metrics import is_scrape_from_here

    path = scope["path"]
    is_public = path in {"/health", "/ready", "/login", "/favicon.ico"} or path.startswith(("/static/", "/shared/"))
    return is_public or (scrapes and is_scrape_from_here(scope))
