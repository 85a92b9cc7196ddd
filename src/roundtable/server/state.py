"""Dependencies of endpoints: the objects of one server, and the caller of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from roundtable.auth.guard import IDENTITY, GuardOptions

if TYPE_CHECKING:
    from anyio import CapacityLimiter

    from roundtable.api import Roundtable
    from roundtable.api.tenants import TenantSession, TenantSessions
    from roundtable.auth import Identity, Scope
    from roundtable.core.protocols import SleepingClock
    from roundtable.fleet import FleetOverview
    from roundtable.server.addresses import AddressLimit
    from roundtable.server.limits import Limits, UserLimits
    from roundtable.server.metrics import Exposition
    from roundtable.server.metrics_observer import MetricsObserver
    from roundtable.server.pages.logins import BrowserLogin
    from roundtable.server.pages.outcomes import Outcomes
    from roundtable.server.routes.health import Readiness
    from roundtable.server.streams import Streams

__all__ = ["Admin", "Caller", "Reader", "ServerOptions", "ServerState", "Writer", "state_of"]


class ServerOptions(GuardOptions, total=False):
    """Options of a server, in addition to the options of its `AccessGuard`."""

    https: bool
    """Whether browsers use https, for example through a proxy that terminates TLS. When left out, the scheme of each
    request decides."""
    limits: Limits
    """How much each user may do. When left out, the limits come from the environment; their defaults are those of
    `Limits()`."""
    models: Collection[str]
    """Models that callers may use in addition to the table's agents, as `"provider:model"`; none when left out."""
    most_calls: int
    """Maximum number of model calls in one request: the planned calls of a debate, or the calls of a conversation if
    every agent takes all its steps. 500 when left out."""
    open_metrics: bool
    """Whether programs on this machine may read `/metrics` without a token; false when left out."""
    heartbeat_s: float
    """Seconds without an event after which a stream sends a comment to show that it is alive; 15 when left out."""
    send_s: float
    """Seconds after which a client that does not read its stream is disconnected; 10 when left out."""
    read_s: float
    """Seconds within which the body of a request must arrive; 30 when left out."""
    pause_after_s: float | None
    """Seconds from the time when the last listener leaves until a run is paused, if it was started with a stream; more
    than 0, or `None` to never pause. When left out, the value comes from the environment; its default is 60. Runs that
    were started without a stream are not paused."""
    conversation_s: float
    """Maximum seconds of a team conversation, counted from each start or resume; 600 when left out."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The objects of one server while it runs."""

    table: Roundtable
    """The table that all users share."""
    tenant_sessions: TenantSessions
    """The table and running debates of each user."""
    browser_login: BrowserLogin
    """Authentication of callers, and the logins of browsers."""
    limits: UserLimits
    """Limits of each user."""
    clock: SleepingClock
    """Clock to sleep on."""
    streams: Streams
    """Open event streams."""
    figures: MetricsObserver
    """Counts events and requests."""
    exposition: Exposition
    """Exports the metrics of this process to Prometheus."""
    fleets: FleetOverview
    """Fleets on the same storage, with their jobs."""
    readiness: Readiness
    """Whether the server is ready."""
    options: ServerOptions
    """Options of the server."""
    outcomes: Outcomes
    """How listed sessions ended."""
    renders: CapacityLimiter
    """Worker threads that render pages of sessions and audit their decisions."""
    shared_views: AddressLimit
    """How often each address may open links to sessions."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, with their tenant session and the server."""

    identity: Identity
    """Identity of the caller."""
    tenant_session: TenantSession
    """Table and running debates of the caller."""
    state: ServerState
    """The server."""


def state_of(request: Request) -> ServerState:
    """Return the objects of the server that handles a request."""
    state: ServerState = request.app.state.roundtable
    return state


def _caller_with(scope: Scope) -> Callable[[Request], Awaitable[Caller]]:
    """Return a dependency that requires a scope and returns the caller.

    Raises:
        Forbidden: The caller does not have the scope.
    """

    async def caller(request: Request) -> Caller:
        identity: Identity = request.scope[IDENTITY]
        identity.require(scope)
        state = state_of(request)
        return Caller(
            identity=identity, tenant_session=await state.tenant_sessions.session_of(identity.tenant), state=state
        )

    return caller


Reader = Annotated[Caller, Depends(_caller_with("read"))]
"""A caller who may read sessions."""
Writer = Annotated[Caller, Depends(_caller_with("write"))]
"""A caller who may run debates."""
Admin = Annotated[Caller, Depends(_caller_with("admin"))]
"""A caller who may see the metrics of all users."""
