"""The guard of an HTTP server: checks host, origin and identity of each request. It needs no web framework."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import anyio
from pydantic_core import to_json

from roundtable.auth.authenticators import until_invalid
from roundtable.auth.identity import Forbidden, Unauthorized
from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import ConfigurationError, RoundtableError, StorageError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from roundtable.auth.authenticators import Authenticator
    from roundtable.auth.identity import Identity
    from roundtable.core.protocols import SleepingClock

__all__ = [
    "IDENTITY",
    "LOOPBACK",
    "MOST_BODY_BYTES",
    "ASGIApp",
    "AccessGuard",
    "CorsOptions",
    "GuardBehavior",
    "GuardOptions",
    "Message",
    "Receive",
    "Send",
    "bearer",
    "check_hosts",
    "check_origins",
    "cors_options",
    "is_this_machine",
    "send_json",
]

logger: logging.Logger = logging.getLogger(f"{ROOT}.auth")

_ORIGIN: Final = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?/?", re.ASCII)
_PORTS: Final = {"http": "80", "https": "443"}

IDENTITY: Final = "roundtable.identity"
"""Key of the ASGI scope that holds the `Identity` of the caller."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine in a `Host` header."""
MOST_BODY_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a request in bytes."""

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)


class CorsOptions(TypedDict):
    """Arguments of Starlette's `CORSMiddleware`."""

    allow_origins: list[str]
    """Origins whose pages may call the server."""
    allow_methods: list[str]
    """Methods that these pages may use."""
    allow_headers: list[str]
    """Headers that these pages may send."""
    expose_headers: list[str]
    """Headers that these pages may read."""


def check_origins(origins: Iterable[str]) -> frozenset[str]:
    """Return web origins as browsers write them in `Origin`: lower case, no path, no default port.

    `*` is refused: any page that you visit could then use a server on your machine.

    Raises:
        ConfigurationError: An entry is not an origin.

    Example:
        >>> sorted(check_origins(["https://App.example:443/", "http://127.0.0.1:5173"]))
        ['http://127.0.0.1:5173', 'https://app.example']
    """
    return frozenset(map(_origin, origins))


def _origin(text: str) -> str:
    match = _ORIGIN.fullmatch(text.strip().casefold()) if isinstance(text, str) else None
    if match is None:
        msg = f"an allowed web origin must be scheme://host or scheme://host:port, not {text!r}"
        hint = "For example https://app.example.org. List each origin separately: '*' and 'null' are not accepted."
        raise ConfigurationError(msg, hint=hint)
    scheme, host, port = match.groups()
    return f"{scheme}://{host}" if port in {None, _PORTS[scheme]} else f"{scheme}://{host}:{port}"


def cors_options(origins: Iterable[str], *, headers: Collection[str], exposed: Collection[str]) -> CorsOptions:
    """Return the CORS options that let pages of these origins call a server with a token, but never with cookies.

    Args:
        origins: Web origins, in any form that `check_origins` accepts.
        headers: Headers that pages may send in addition to `Authorization` and `Content-Type`.
        exposed: Response headers that pages may read.

    Raises:
        ConfigurationError: An entry of `origins` is not an origin.
    """
    return {
        "allow_origins": sorted(check_origins(origins)),
        "allow_methods": ["GET", "POST", "DELETE"],
        "allow_headers": ["authorization", "content-type", *headers],
        "expose_headers": [*exposed],
    }


Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
"""An ASGI application."""


class GuardOptions(TypedDict, total=False):
    """Hosts and origins that a server accepts, and how often it checks tokens again."""

    hosts: Collection[str]
    """Names that are accepted in the `Host` header, without port; if left out, the names of this machine."""
    origins: Collection[str]
    """Web origins whose pages may call the server, such as `https://app.example`; `*` is refused. If left out, only
    pages of the server's own origin may call it."""
    check_s: float
    """Seconds within which the revocation of a token ends an open stream; if left out, 60."""
    clock: SleepingClock
    """Clock to sleep on; if left out, the system's clock."""


def is_this_machine(host: str) -> bool:
    """Check whether an address to listen on can be reached only from this machine.

    Example:
        >>> [is_this_machine(host) for host in ("127.0.0.1", "[::1]", "0.0.0.0", "192.168.1.4")]
        [True, True, False, False]
    """
    return host.strip("[]").casefold() in {"127.0.0.1", "localhost", "::1"}


def check_hosts(hosts: Iterable[str]) -> frozenset[str]:
    """Return host names as they appear in the `Host` header: lower case, IPv6 in brackets, no port.

    Raises:
        ConfigurationError: An entry is not a host name; `*` is refused.

    Example:
        >>> sorted(check_hosts(["Debates.example.org", "::1"]))
        ['[::1]', 'debates.example.org']
    """
    return frozenset(map(_host_name, hosts))


def _host_name(text: str) -> str:
    name = text.strip().casefold() if isinstance(text, str) else ""
    if name.count(":") > 1 and not name.startswith("["):
        name = f"[{name}]"
    match = _HOST.fullmatch(name)
    if match is None or match[1] != name:
        msg = f"a host name of the server must be a name or an address without a port, not {text!r}"
        raise ConfigurationError(
            msg, hint="For example debates.example.org. List each host separately: '*' is not accepted."
        )
    return name


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the credential of `Authorization: Bearer`."""
    kind, _, credential = headers.get("authorization", "").partition(" ")
    return credential.strip() if kind.casefold() == "bearer" else None


def _body(error: RoundtableError) -> object:
    return {"error": error.to_dict()}


def _last_event(error: RoundtableError) -> bytes:
    return b"event: error\ndata: " + to_json(_body(error)) + b"\n\n"


def _no_page(_scope: Message, _status: int, _error: RoundtableError) -> ASGIApp | None:
    return None


@dataclass(frozen=True, slots=True)
class GuardBehavior:
    """How an `AccessGuard` reads credentials and answers refused requests."""

    credential: Callable[[Mapping[str, str]], str | None] = bearer
    """Function that returns the credential in the headers of a request. The names of the headers are in lower case; a
    header `:scheme` is added, as in HTTP/2."""
    is_open: Callable[[Message], bool] = field(default=lambda _: False)
    """Whether a request needs no authentication, such as one for a style sheet."""
    scope_entries: Callable[[Identity], Mapping[str, object]] = field(default=lambda _: {})
    """Function that returns further entries of the scope for an identified caller."""
    body: Callable[[RoundtableError], object] = _body
    """Function that returns the JSON body for an error."""
    last_event: Callable[[RoundtableError], bytes] = _last_event
    """Function that returns the server-sent event that ends an open stream."""
    refusal_app: Callable[[Message, int, RoundtableError], ASGIApp | None] = field(default=_no_page)
    """Function that returns the application that answers a refused request, such as a page for a browser. If it returns
    `None`, the answer is JSON."""


class AccessGuard:
    """ASGI middleware that checks host, origin and identity of each request, and ends streams of invalid tokens.

    Args:
        app: The server. The scope of a request holds the `Identity` of the caller under the key `IDENTITY`.
        authenticator: Authenticator that identifies callers.
        behavior: How to read credentials and answer refused requests; if left out, `GuardBehavior()`.
        options: See `GuardOptions`.
    """

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        behavior: GuardBehavior | None = None,
        **options: Unpack[GuardOptions],
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._manners = behavior or GuardBehavior()
        self._hosts = check_hosts(options.get("hosts", LOOPBACK))
        self._origins = check_origins(options.get("origins", ()))
        self._check_s = options.get("check_s", 60.0)
        self._clock: SleepingClock = options.get("clock") or SystemClock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        headers[":scheme"] = scope.get("scheme", "http")
        refuse = partial(self._refuse, scope, receive, send)
        host = headers.get("host", "").casefold()
        if not self._accepts_host(host):
            hint = "To allow another name, run the server with --allow-host."
            message = f"this server does not answer to the host name {host[:100]!r}"
            error = RoundtableError(message, code="MISDIRECTED_REQUEST", hint=hint)
            await refuse(421, error)
        elif not self._accepts_origin(headers.get("origin"), host):
            origin = headers.get("origin", "")[:100]
            hint = "To allow pages of another origin, run the server with --allow-origin."
            await refuse(403, Forbidden(f"pages of the origin {origin!r} may not call this server", hint=hint))
        elif self._manners.is_open(scope):
            await self._app(scope, receive, send)
        else:
            await self._authenticate(self._manners.credential(headers), scope, receive, send)

    def _accepts_host(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and match[1] in self._hosts

    def _accepts_origin(self, origin: str | None, host: str) -> bool:
        if origin is None:
            return True
        name = origin.casefold()
        return name in self._origins or name in {f"http://{host}", f"https://{host}"}

    async def _authenticate(self, credential: str | None, scope: Message, receive: Receive, send: Send) -> None:
        try:
            identity = await self._authenticator.authenticate(credential)
        except Unauthorized as error:
            await self._refuse(scope, receive, send, 401, error)
            return
        except StorageError as error:
            logger.warning("callers cannot be authenticated: %s", error)
            await self._refuse(scope, receive, send, 503, StorageError())
            return
        scope = {**scope, IDENTITY: identity, **self._manners.scope_entries(identity)}
        await self._run_while_valid(identity, scope, receive, send)

    async def _run_while_valid(self, identity: Identity, scope: Message, receive: Receive, send: Send) -> None:
        stream = _Stream(send)
        status = 401
        error: RoundtableError = Unauthorized("the token is no longer valid")
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                nonlocal status, error
                try:
                    await until_invalid(self._authenticator, identity, self._clock, check_s=self._check_s)
                except StorageError as failure:
                    logger.warning("a request ends because its token cannot be checked: %s", failure)
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
        page = self._manners.refusal_app(scope, status, error)
        if page is not None:
            await page(scope, receive, send)
            return
        await send_json(send, status, self._manners.body(error))


async def send_json(send: Send, status: int, body: object) -> None:
    """Send a complete JSON response."""
    content = to_json(body)
    length = (b"content-length", str(len(content)).encode())
    headers = [(b"content-type", b"application/json"), length, (b"cache-control", b"no-store")]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="ai-roundtable"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


class _Stream:
    """A response that is being sent, and can be ended with a last event."""

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
        body = last_event if self._is_events else b""
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
