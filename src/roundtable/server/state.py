"""What endpoints work with: the objects of one server, and who calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from roundtable.auth.guard import IDENTITY, GuardOptions

if TYPE_CHECKING:
    from roundtable.api import Roundtable
    from roundtable.api.desks import Desk, Desks
    from roundtable.auth import Identity, Scope
    from roundtable.protocols import SleepingClock
    from roundtable.server.exposition import Exposition
    from roundtable.server.figures import Figures
    from roundtable.server.health import Readiness
    from roundtable.server.limits import Limits, UserLimits
    from roundtable.server.pages.entrance import Entrance
    from roundtable.server.streams import Streams

__all__ = ["Admin", "Caller", "Reader", "ServerOptions", "ServerState", "Writer", "state_of"]


class ServerOptions(GuardOptions, total=False):
    """What may be said about a server; see `GuardOptions` for what stands before it."""

    https: bool
    """Whether browsers reach it over https, as through a proxy that ends TLS; by the scheme of each request when left
    out."""
    limits: Limits
    """How much each user may do; as the environment says when left out, else as `Limits()`."""
    models: Collection[str]
    """Models that callers may name beside the table's agents, as `"provider:model"`; none when left out."""
    most_calls: int
    """Most model calls that a debate may take as planned, or a conversation where everybody takes all steps; 500 when
    left out."""
    open_metrics: bool
    """Whether programs of this machine may read `/metrics` without a token; not when left out."""
    heartbeat_s: float
    """Seconds of silence after which a stream sends a comment, so that nobody takes it for dead; 15 when left out."""
    send_s: float
    """Seconds that a client may let pass without reading, before its stream is cut; 10 when left out."""
    read_s: float
    """Seconds in which the body of a request has to come; 30 when left out."""
    conversation_s: float
    """Seconds that a conversation of a team may take, from its beginning or whenever it goes on; 600 when left out."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The objects of one server while it runs."""

    table: Roundtable
    """What all users share."""
    desks: Desks
    """A table for each user, with the debates that run at it."""
    entrance: Entrance
    """Who calls, and the logins of browsers."""
    limits: UserLimits
    """Counts what each user may do."""
    clock: SleepingClock
    """What is waited on."""
    streams: Streams
    """The open streams."""
    figures: Figures
    """Counts what happens."""
    exposition: Exposition
    """Gives the figures of this process to Prometheus."""
    readiness: Readiness
    """Knows whether the server can be used now."""
    options: ServerOptions
    """What was said about the server."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request, and what they work with."""

    identity: Identity
    """Who they are."""
    desk: Desk
    """Their table and running debates."""
    state: ServerState
    """The server."""


def state_of(request: Request) -> ServerState:
    """Give the objects of the server that a request came to."""
    state: ServerState = request.app.state.roundtable
    return state


def _caller_with(scope: Scope) -> Callable[[Request], Awaitable[Caller]]:
    """Give a dependency: who calls, if they may.

    Raises:
        Forbidden: Their scopes do not include it.
    """

    async def caller(request: Request) -> Caller:
        identity: Identity = request.scope[IDENTITY]
        identity.require(scope)
        state = state_of(request)
        return Caller(identity=identity, desk=await state.desks.of(identity.tenant), state=state)

    return caller


Reader = Annotated[Caller, Depends(_caller_with("read"))]
"""Somebody who may look at sessions."""
Writer = Annotated[Caller, Depends(_caller_with("write"))]
"""Somebody who may run debates."""
Admin = Annotated[Caller, Depends(_caller_with("admin"))]
"""Somebody who may see the figures of all users."""
