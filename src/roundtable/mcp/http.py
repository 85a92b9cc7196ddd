"""Serving over HTTP: who may connect, from where, and for how long."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import anyio
from pydantic_core import to_json

from roundtable._clock import SystemClock
from roundtable.auth import Unauthorized, until_invalid
from roundtable.mcp.asking import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp.server.lowlevel import Server

    from roundtable.auth import Authenticator, Identity
    from roundtable.errors import RoundtableError
    from roundtable.protocols import SleepingClock

__all__ = ["LOOPBACK", "MOST_BODY_BYTES", "PATH", "ASGIApp", "Guard", "HttpOptions", "http_app", "serve_http"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
"""An application as ASGI servers run it."""

PATH: Final = "/mcp"
"""Where the server is found."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine in a `Host` header."""
MOST_BODY_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of a request."""

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)
_GRACE_S: Final = 5


class HttpOptions(TypedDict, total=False):
    """Which addresses a server answers to, and how much it takes."""

    hosts: Collection[str]
    """Names that may stand in `Host`, without port; those of this machine when left out."""
    origins: Collection[str]
    """Web origins whose pages may call it, such as `https://app.example`; the server's own alone when left out."""
    check_s: float
    """Seconds within which a revoked token ends an open stream; 60 when left out."""
    clock: SleepingClock
    """What is waited on; the machine's when left out."""


class Guard:
    """Stands before the server: checks where a request comes from and who makes it, and ends what may not go on.

    Args:
        app: The server.
        authenticator: Recognises callers.
        options: See `HttpOptions`.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator, **options: Unpack[HttpOptions]) -> None:
        self._app = app
        self._authenticator = authenticator
        self._hosts = frozenset(name.casefold() for name in options.get("hosts", LOOPBACK))
        self._origins = frozenset(name.casefold().rstrip("/") for name in options.get("origins", ()))
        self._check_s = options.get("check_s", 60.0)
        self._clock: SleepingClock = options.get("clock") or SystemClock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").casefold()
        if not self._knows(host):
            await _answer(send, 421, {"error": "this server does not answer to that Host"})
        elif not self._admits(headers.get("origin"), host):
            await _answer(send, 403, {"error": "pages of this Origin may not call this server"})
        else:
            await self._recognise(headers.get("authorization"), scope, receive, send)

    def _knows(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        return found is not None and found[1] in self._hosts

    def _admits(self, origin: str | None, host: str) -> bool:
        if origin is None:
            return True
        name = origin.casefold()
        return name in self._origins or name in {f"http://{host}", f"https://{host}"}

    async def _recognise(self, shown: str | None, scope: Message, receive: Receive, send: Send) -> None:
        kind, _, credential = (shown or "").partition(" ")
        try:
            identity = await self._authenticator.authenticate(
                credential.strip() if kind.casefold() == "bearer" else None
            )
        except Unauthorized as error:
            await _answer(send, 401, _told(error), (b"www-authenticate", b'Bearer realm="ai-roundtable"'))
            return
        # The SDK keeps a connection for the user who opened it.
        passed = {**scope, IDENTITY: identity, "user": _user(identity)}
        await self._while_valid(identity, passed, receive, send)

    async def _while_valid(self, identity: Identity, scope: Message, receive: Receive, send: Send) -> None:
        stream = _Stream(send)
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await until_invalid(self._authenticator, identity, self._clock, check_s=self._check_s)
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await self._app(scope, receive, stream.send)
            stream.ended = True
            group.cancel_scope.cancel()
        if not stream.ended:
            await stream.end(Unauthorized("the token is no longer valid"))


class _Stream:
    """An answer under way, which can be ended with a last word."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False
        self._is_events = False
        self.ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._is_events = (b"content-type", b"text/event-stream") in {
                (name.lower(), value.split(b";")[0].strip()) for name, value in message.get("headers", ())
            }
        elif message["type"] == "http.response.body" and not message.get("more_body"):
            self.ended = True
        await self._send(message)

    async def end(self, error: RoundtableError) -> None:
        if not self._started:
            await _answer(self._send, 401, _told(error))
            return
        last = b"event: error\ndata: " + to_json(_told(error)) + b"\n\n" if self._is_events else b""
        await self._send({"type": "http.response.body", "body": last, "more_body": False})


def _told(error: RoundtableError) -> dict[str, object]:
    return {"error": error.to_dict()}


def _user(identity: Identity) -> object:
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    # The token itself goes no further than this.
    return AuthenticatedUser(
        AccessToken(token="", client_id=identity.user, scopes=[*identity.scopes], subject=identity.user)
    )


async def _answer(send: Send, status: int, body: object, *headers: tuple[bytes, bytes]) -> None:
    content = to_json(body)
    length = (b"content-length", str(len(content)).encode())
    fixed = ((b"content-type", b"application/json"), length, (b"cache-control", b"no-store"))
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": content, "more_body": False})


def http_app(server: Server[Any], authenticator: Authenticator, **options: Unpack[HttpOptions]) -> ASGIApp:
    """Give a server as an ASGI application; see `McpServer.http_app`."""
    from mcp.server.transport_security import TransportSecuritySettings

    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BODY_BYTES,
        # The guard before it checks both, and more strictly.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(inner, authenticator, **options)


async def serve_http(
    server: Server[Any], authenticator: Authenticator, *, host: str, port: int, **options: Unpack[HttpOptions]
) -> None:
    """Serve over HTTP until the process is asked to end; see `McpServer.serve_http`."""
    import uvicorn

    config = uvicorn.Config(
        http_app(server, authenticator, **options),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    await uvicorn.Server(config).serve()
