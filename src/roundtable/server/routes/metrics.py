"""Endpoints for the metrics of a server, and the middleware that times its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from roundtable.auth.guard import IDENTITY
from roundtable.auth.listening import is_local_request
from roundtable.server.metrics import CONTENT_TYPE
from roundtable.server.metrics_observer import Period
from roundtable.server.metrics_report import MetricsReport
from roundtable.server.request_context import logger
from roundtable.server.state import Admin, state_of

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.core.protocols import Clock
    from roundtable.server.metrics_observer import MetricsObserver

__all__ = ["RequestTimes", "is_scrape_from_here", "note_route", "router"]

router: APIRouter = APIRouter(tags=["monitoring"])

_FLEETS_S: Final = 2.0
"""Seconds that a scrape waits for the database of fleets."""
_ROUTE: Final = "roundtable.route"
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_PROBES: Final = frozenset({"/health", "/ready", "/metrics"})
"""Paths that programs request every few seconds; these requests are not counted, to avoid needless writes."""


@router.get(
    "/metrics",
    operation_id="getMetrics",
    response_class=Response,
    responses={200: {"description": "The metrics.", "content": {"text/plain": {}}}},
)
async def metrics(request: Request) -> Response:
    """Return the metrics of this process and of fleets, in the text format of Prometheus; needs the scope `admin`."""
    identity = request.scope.get(IDENTITY)
    if identity is not None:  # `None` for programs on this machine, if the server allows them
        identity.require("admin")
    state = state_of(request)
    fleets = await state.fleets.latest(_FLEETS_S)
    if fleets.problem:  # the metrics of this process are returned anyway
        condition = "are out of date" if fleets.states else "are missing"
        logger.warning("the jobs of fleets %s in the metrics: %s", condition, fleets.problem)
    text = state.exposition.text(fleets.states, age_s=fleets.age_s)
    return Response(text, media_type=CONTENT_TYPE)


@router.get("/api/admin/metrics", operation_id="getFigures", response_description="The report.")
async def report(
    caller: Admin, period: Annotated[Period, Query(description="Period that the report covers; it ends now.")] = "24h"
) -> MetricsReport:
    """Return the metrics of all users and processes in a period; needs the scope `admin`."""
    return await caller.state.figures.report(period)


def is_scrape_from_here(scope: Message) -> bool:
    """Check whether a request for `/metrics` comes directly from a program on this machine, not through a proxy."""
    return scope["path"] == "/metrics" and is_local_request(scope)


async def note_route(request: Request) -> None:
    """Store the route of a request for `RequestTimes`."""
    request.scope[_ROUTE].append(request.scope["route"].path)


class RequestTimes:
    """ASGI middleware that measures the seconds until a response starts, by method, route and status.

    Args:
        app: The server, which has `note_route` as a dependency.
        figures: Counts the requests.
        clock: Measures the time.
    """

    def __init__(self, app: ASGIApp, figures: MetricsObserver, clock: Clock) -> None:
        self._app = app
        self._figures = figures
        self._clock = clock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = self._clock.monotonic()
        routes: list[str] = []

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["path"] not in _PROBES:
                method = scope["method"] if scope["method"] in _METHODS else "-"
                duration_s = self._clock.monotonic() - started_s
                self._figures.count_answer(method, routes[-1] if routes else "-", message["status"], duration_s)
            await send(message)

        await self._app({**scope, _ROUTE: routes}, receive, timed)
