"""MCP over HTTP, behind the same guard as the HTTP API."""

from __future__ import annotations

import asyncio  # noqa: TID251  (uvicorn supports nothing else)
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Unpack

import anyio
from mcp import types
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from roundtable.auth import LocalUser
from roundtable.auth.guard import MOST_BODY_BYTES, AccessGuard, GuardBehavior, cors_options
from roundtable.auth.listening import LocalOnly, address_of, listen
from roundtable.core.base.eventloop import ends_at_once, receive_signals
from roundtable.mcp.jsonrpc_errors import InvalidMessage, parse_message

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Generator

    from mcp.server.lowlevel import Server

    from roundtable.auth import Authenticator, Identity
    from roundtable.auth.guard import ASGIApp, GuardOptions, Message, Receive, Send
    from roundtable.mcp.progress import OpenWaits

__all__ = ["PATH", "PostCheck", "http_app", "serve_http"]

_VERSION: Final = b"mcp-protocol-version"

PATH: Final = "/mcp"
"""Path of the server."""

_GRACE_S: Final = 5
_ANSWER_S: Final = 0.5
"""Seconds for the answers to calls that wait for a debate when the server ends."""
_KEEP_ALIVE_S: Final = 75
"""Longer than clients and proxies keep idle connections, so the server never closes one just as a request arrives."""
_HEADERS: Final = ("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id")
"""Headers of the protocol that web pages of other origins may send."""


class PostCheck:
    """Checks POST requests for the SDK's server: limits their size, and refuses bodies that contradict the header.

    The SDK makes these checks itself for protocol versions with round trips. For versions with a handshake, it returns
    pydantic's messages about a body, and accepts a header whose version differs from the version in the body.

    Args:
        app: The server.
        body_s: Seconds within which a request must arrive.
    """

    def __init__(self, app: ASGIApp, *, body_s: float = 30.0) -> None:
        self._app = app
        self._body_s = body_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            with anyio.fail_after(self._body_s):
                body = await _body(receive)
        except TimeoutError:
            await _refuse(
                send, HTTPStatus.REQUEST_TIMEOUT, InvalidMessage(types.INVALID_REQUEST, "The message did not arrive")
            )
            return
        if body is None:
            fault = InvalidMessage(types.INVALID_REQUEST, f"Message larger than {MOST_BODY_BYTES} bytes")
            await _refuse(send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, fault)
        elif mismatch := _mismatch(scope, body):
            await _refuse(send, HTTPStatus.BAD_REQUEST, mismatch)
        else:
            await self._app(scope, _ReplayedBody(body, receive).receive, send)


async def _body(receive: Receive) -> bytes | None:
    """Return the body, or `None` if it is too large."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            return None
        more = message["type"] == "http.request" and message.get("more_body", False)
    return bytes(body)


def _mismatch(scope: Message, body: bytes) -> InvalidMessage | None:
    """Return why a body is not a message of the protocol version in its header; `None` if it is one."""
    header = next((value.decode("latin-1") for name, value in scope["headers"] if name == _VERSION), None)
    message = parse_message(body)
    if header is not None and header not in HANDSHAKE_PROTOCOL_VERSIONS:
        # The SDK's answer to an invalid message has no request id, so answer here if the id is known.
        return message if isinstance(message, InvalidMessage) and message.id is not None else None
    if isinstance(message, InvalidMessage):
        return message
    params = getattr(message, "params", None) or {}
    meta = params.get("_meta")
    version = meta.get(types.PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if version is None and header is not None and getattr(message, "method", None) == "initialize":
        version = params.get("protocolVersion")
    if version in {None, header}:
        return None
    return InvalidMessage(
        types.HEADER_MISMATCH, "mcp-protocol-version header does not match the version in the message"
    )


async def _refuse(send: Send, status: HTTPStatus, fault: InvalidMessage) -> None:
    content = fault.to_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})


class _ReplayedBody:
    """Returns a body again that was already read, and then receives the messages after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def receive(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _marks(identity: Identity) -> dict[str, object]:
    """Return the caller as the SDK represents users; the SDK binds a connection to the user who opened it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    # The guard does not pass on the token itself.
    token = AccessToken(token="", client_id=identity.user, scopes=[*identity.scopes], subject=identity.user)
    return {"user": AuthenticatedUser(token)}


def http_app(server: Server[Any], authenticator: Authenticator, **options: Unpack[GuardOptions]) -> ASGIApp:
    """Return a server as an ASGI application; see `McpServer.http_app`."""
    from mcp.server.transport_security import TransportSecuritySettings

    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BODY_BYTES,
        # The access guard, which runs first, checks both host and origin, and does so more strictly.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    behavior = GuardBehavior(scope_entries=_marks)
    app: ASGIApp = AccessGuard(PostCheck(inner), authenticator, behavior, **options)
    app = LocalOnly(app, behavior.body) if isinstance(authenticator, LocalUser) else app
    origins = options.get("origins", ())
    if not origins:
        return app
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(app, **cors_options(origins, headers=_HEADERS, exposed=["mcp-session-id"]))


async def serve_http(
    server: Server[Any],
    authenticator: Authenticator,
    *,
    host: str,
    port: int,
    listening: Callable[[str], None],
    waits: OpenWaits,
    **options: Unpack[GuardOptions],
) -> None:
    """Serve over HTTP until a signal ends the process; see `McpServer.serve_http`."""
    import uvicorn

    from roundtable.auth.connection import TimedConnection

    class Server(uvicorn.Server):
        """Leaves signals to the caller, because uvicorn raises signals again at the end and does not handle SIGHUP."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            with super().capture_signals() if sys.platform == "win32" else nullcontext():
                yield

        def hear(self, number: signal.Signals) -> None:
            self.force_exit = self.force_exit or (ends_at_once(number) and self.asked)
            self.asked = self.asked or ends_at_once(number)
            # The SDK's streams end when this method is called, so calls that wait for a debate are answered before.
            end = partial(self.handle_exit, number, None)
            if waits.end() and not self.force_exit:
                asyncio.get_running_loop().call_later(_ANSWER_S, end)
            else:
                end()

        asked = False

    config = uvicorn.Config(
        http_app(server, authenticator, **options),
        http=TimedConnection,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    web = Server(config)
    with listen(host, port) as sock:
        async with receive_signals(web.hear):
            listening(address_of(sock) + PATH)
            await web.serve([sock])
