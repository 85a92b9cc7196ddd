"""Serving over HTTP, behind the guard that every server of ours has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

from roundtable.auth import LocalUser
from roundtable.auth.guard import MOST_BODY_BYTES, Guard, Manners
from roundtable.auth.nearby import Nearby
from roundtable.auth.ports import address_of, listen
from roundtable.mcp.posts import PostCheck

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server

    from roundtable.auth import Authenticator, Identity
    from roundtable.auth.guard import ASGIApp, GuardOptions

__all__ = ["PATH", "http_app", "serve_http"]

PATH: Final = "/mcp"
"""Where the server is found."""

_GRACE_S: Final = 5


def _marks(identity: Identity) -> dict[str, object]:
    """Name the caller as the SDK does, which keeps a connection for the user who opened it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    # The token itself goes no further than the guard.
    token = AccessToken(token="", client_id=identity.user, scopes=[*identity.scopes], subject=identity.user)
    return {"user": AuthenticatedUser(token)}


def http_app(server: Server[Any], authenticator: Authenticator, **options: Unpack[GuardOptions]) -> ASGIApp:
    """Give a server as an ASGI application; see `McpServer.http_app`."""
    from mcp.server.transport_security import TransportSecuritySettings

    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BODY_BYTES,
        # The guard before it checks both, and more strictly.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    manners = Manners(marks=_marks)
    app: ASGIApp = Guard(PostCheck(inner), authenticator, manners, **options)
    return Nearby(app, manners.body) if isinstance(authenticator, LocalUser) else app


async def serve_http(
    server: Server[Any],
    authenticator: Authenticator,
    *,
    host: str,
    port: int,
    listening: Callable[[str], None],
    **options: Unpack[GuardOptions],
) -> None:
    """Serve over HTTP until the process is asked to end; see `McpServer.serve_http`."""
    import uvicorn

    config = uvicorn.Config(
        http_app(server, authenticator, **options),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    with listen(host, port) as taken:
        listening(address_of(taken) + PATH)
        await uvicorn.Server(config).serve([taken])
