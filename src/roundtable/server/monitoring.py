"""Endpoints that tell the figures of a server, and what counts its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from roundtable.auth.guard import IDENTITY
from roundtable.auth.nearby import is_from_here
from roundtable.server.exposition import CONTENT_TYPE
from roundtable.server.figures import Period
from roundtable.server.reports import MetricsReport
from roundtable.server.state import Admin, state_of

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.protocols import Clock
    from roundtable.server.figures import Figures

__all__ = ["RequestTimes", "is_scrape_from_here", "note_route", "router"]

router: APIRouter = APIRouter(tags=["monitoring"])

_ROUTE: Final = "roundtable.route"
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_PROBES: Final = frozenset({"/health", "/ready", "/metrics"})
"""Asked every few seconds by programs; to count them would tell nothing, and write as often."""


@router.get(
    "/metrics", operation_id="getMetrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
)
async def metrics(request: Request) -> Response:
    """Give the figures of this process in the text format of Prometheus; needs the scope `admin`."""
    identity = request.scope.get(IDENTITY)
    if identity is not None:  # nobody is known where the server lets this machine look without a token
        identity.require("admin")
    return Response(state_of(request).exposition.text(), media_type=CONTENT_TYPE)


@router.get("/api/admin/metrics", operation_id="getFigures")
async def report(
    caller: Admin, period: Annotated[Period, Query(description="Time up to now that is summed up.")] = "24h"
) -> MetricsReport:
    """Give the figures of all users and processes in a period; needs the scope `admin`."""
    return await caller.state.figures.report(period)


def is_scrape_from_here(scope: Message) -> bool:
    """Tell whether a program of this machine asks for `/metrics` by itself, and not a proxy for somebody else."""
    return scope["path"] == "/metrics" and is_from_here(scope)


async def note_route(request: Request) -> None:
    """Remember which endpoint answers a request."""
    request.scope[_ROUTE].append(request.scope["route"].path)


class RequestTimes:
    """Counts how long requests wait for the beginning of their answer, by method, route and status.

    Args:
        app: The server; `note_route` is one of its dependencies.
        figures: Counts.
        clock: Measures.
    """

    def __init__(self, app: ASGIApp, figures: Figures, clock: Clock) -> None:
        self._app = app
        self._figures = figures
        self._clock = clock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = self._clock.monotonic()
        routes: list[str] = []

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["path"] not in _PROBES:
                method = scope["method"] if scope["method"] in _METHODS else "-"
                took_s = self._clock.monotonic() - began_s
                self._figures.answered(method, routes[-1] if routes else "-", message["status"], took_s)
            await send(message)

        await self._app({**scope, _ROUTE: routes}, receive, timed)
