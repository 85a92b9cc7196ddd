"""The door of a server over HTTP: who may connect, from where, and for how long. No web framework is needed."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import anyio
from pydantic_core import to_json

from roundtable._clock import SystemClock
from roundtable.auth.authenticators import until_invalid
from roundtable.auth.errors import Forbidden, Unauthorized
from roundtable.errors import RoundtableError, StorageError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.auth.authenticators import Authenticator
    from roundtable.auth.identity import Identity
    from roundtable.protocols import SleepingClock

__all__ = [
    "IDENTITY",
    "LOOPBACK",
    "MOST_BODY_BYTES",
    "ASGIApp",
    "Guard",
    "GuardOptions",
    "Manners",
    "Message",
    "Receive",
    "Send",
    "bearer",
    "is_this_machine",
    "send_json",
]

logger: logging.Logger = logging.getLogger(f"{ROOT}.auth")

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
"""An application as ASGI servers run it."""

IDENTITY: Final = "roundtable.identity"
"""Where the scope of a request says who makes it."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine in a `Host` header."""
MOST_BODY_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of a request."""

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)


class GuardOptions(TypedDict, total=False):
    """Which addresses a server answers to, and how often it asks again who is there."""

    hosts: Collection[str]
    """Names that may stand in `Host`, without port; those of this machine when left out."""
    origins: Collection[str]
    """Web origins whose pages may call it, such as `https://app.example`; the server's own alone when left out."""
    check_s: float
    """Seconds within which a revoked token ends an open stream; 60 when left out."""
    clock: SleepingClock
    """What is waited on; the machine's when left out."""


def is_this_machine(host: str) -> bool:
    """Tell whether an address to listen on can be reached from this machine alone.

    Example:
        >>> [is_this_machine(host) for host in ("127.0.0.1", "[::1]", "0.0.0.0", "192.168.1.4")]
        [True, True, False, False]
    """
    return host.strip("[]").casefold() in {"127.0.0.1", "localhost", "::1"}


def bearer(headers: Mapping[str, str]) -> str | None:
    """Give the credential behind `Authorization: Bearer`."""
    kind, _, credential = headers.get("authorization", "").partition(" ")
    return credential.strip() if kind.casefold() == "bearer" else None


def _body(error: RoundtableError) -> object:
    return {"error": error.to_dict()}


def _last_event(error: RoundtableError) -> bytes:
    return b"event: error\ndata: " + to_json(_body(error)) + b"\n\n"


def _json(_scope: Message, _status: int, _error: RoundtableError) -> ASGIApp | None:
    return None


@dataclass(frozen=True, slots=True)
class Manners:
    """How a server speaks to those it refuses, and where it finds who calls."""

    credential: Callable[[Mapping[str, str]], str | None] = bearer
    """Finds what a caller shows, from the headers of a request: names in lower case, and `:scheme` as in HTTP/2."""
    is_open: Callable[[Message], bool] = field(default=lambda _: False)
    """Whether a request needs nobody to be known, such as one for a stylesheet."""
    marks: Callable[[Identity], Mapping[str, object]] = field(default=lambda _: {})
    """What else the scope says of somebody who was recognised."""
    body: Callable[[RoundtableError], object] = _body
    """The JSON that tells an error."""
    last_event: Callable[[RoundtableError], bytes] = _last_event
    """The last of server-sent events under way."""
    instead: Callable[[Message, int, RoundtableError], ASGIApp | None] = field(default=_json)
    """What answers a request that is refused, given with its status, where that is not JSON: a page for a browser."""


class Guard:
    """Stands before the server: checks where a request comes from and who makes it, and ends what may not go on.

    Args:
        app: The server; it finds the `Identity` of its caller in the scope, under `IDENTITY`.
        authenticator: Recognises callers.
        manners: How it speaks; as `Manners()` when left out.
        options: See `GuardOptions`.
    """

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        manners: Manners | None = None,
        **options: Unpack[GuardOptions],
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._manners = manners or Manners()
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
        headers[":scheme"] = scope.get("scheme", "http")
        refuse = partial(self._refuse, scope, receive, send)
        host = headers.get("host", "").casefold()
        if not self._knows(host):
            hint = "Who runs the server says with --allow-host by which other names it is called."
            error = RoundtableError("this server does not answer to that Host", code="MISDIRECTED_REQUEST", hint=hint)
            await refuse(421, error)
        elif not self._admits(headers.get("origin"), host):
            hint = "Who runs the server lets in pages of other origins with --allow-origin."
            await refuse(403, Forbidden("pages of this Origin may not call this server", hint=hint))
        elif self._manners.is_open(scope):
            await self._app(scope, receive, send)
        else:
            await self._recognise(self._manners.credential(headers), scope, receive, send)

    def _knows(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        return found is not None and found[1] in self._hosts

    def _admits(self, origin: str | None, host: str) -> bool:
        if origin is None:
            return True
        name = origin.casefold()
        return name in self._origins or name in {f"http://{host}", f"https://{host}"}

    async def _recognise(self, credential: str | None, scope: Message, receive: Receive, send: Send) -> None:
        try:
            identity = await self._authenticator.authenticate(credential)
        except Unauthorized as error:
            await self._refuse(scope, receive, send, 401, error)
            return
        except StorageError as error:
            logger.warning("nobody can be recognised: %s", error)
            await self._refuse(scope, receive, send, 503, StorageError())
            return
        passed = {**scope, IDENTITY: identity, **self._manners.marks(identity)}
        await self._while_valid(identity, passed, receive, send)

    async def _while_valid(self, identity: Identity, scope: Message, receive: Receive, send: Send) -> None:
        stream = _Stream(send)
        status = 401
        error: RoundtableError = Unauthorized("the token is no longer valid")
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                nonlocal status, error
                try:
                    await until_invalid(self._authenticator, identity, self._clock, check_s=self._check_s)
                except StorageError as failure:
                    logger.warning("a request ends, nobody knows whether its token holds: %s", failure)
                    status, error = 503, StorageError()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await self._app(scope, receive, stream.send)
            stream.ended = True
            group.cancel_scope.cancel()
        if stream.ended:
            return
        if stream.started:
            await stream.end(self._manners.last_event(error))
        else:
            await self._refuse(scope, receive, send, status, error)

    async def _refuse(self, scope: Message, receive: Receive, send: Send, status: int, error: RoundtableError) -> None:
        instead = self._manners.instead(scope, status, error)
        if instead is not None:
            await instead(scope, receive, send)
            return
        await send_json(send, status, self._manners.body(error))


async def send_json(send: Send, status: int, body: object) -> None:
    """Answer a request that goes no further, with a body in JSON."""
    content = to_json(body)
    length = (b"content-length", str(len(content)).encode())
    headers = [(b"content-type", b"application/json"), length, (b"cache-control", b"no-store")]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="ai-roundtable"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


class _Stream:
    """An answer under way, which can be ended with a last word."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self._is_events = False
        self.ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._is_events = (b"content-type", b"text/event-stream") in {
                (name.lower(), value.split(b";")[0].strip()) for name, value in message.get("headers", ())
            }
        elif message["type"] == "http.response.body" and not message.get("more_body"):
            self.ended = True
        await self._send(message)

    async def end(self, last_event: bytes) -> None:
        last = last_event if self._is_events else b""
        await self._send({"type": "http.response.body", "body": last, "more_body": False})
