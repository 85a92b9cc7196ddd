"""Connections that the library opens itself, and the caller's own client; for asyncio and trio."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast

import anyio
import httpx

from roundtable.core.base.eventloop import on_thread
from roundtable.http.failures import library_errors, to_library_error
from roundtable.http.guard_public import masked_url
from roundtable.http.message import KEEPALIVE_S, header_texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextvars import Token
    from types import TracebackType

    from roundtable.http.message import HttpRequest

__all__ = ["ShardingTransport", "UserClientTransport", "open_pinned"]

_log: logging.Logger = logging.getLogger(__name__)

_LOGGERS: Final = ("connection", "http11", "http2", "proxy", "socks")
_in_library_call: ContextVar[bool] = ContextVar("roundtable_http_call", default=False)

CLOSE_S: Final = 1.0
"""Most seconds to close a connection whose response was not read to its end."""

_READ_ERRORS: Final = (httpx.HTTPError, httpx.StreamError, OSError, RuntimeError)
"""Exceptions that may be raised while a body is read."""

CONNECTIONS_PER_SHARD: Final = 5
"""Most connections of one pool; pools of three to five connections are the fastest."""


class _StepNameFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if _in_library_call.get():
            # "receive_response_headers.complete return_value=(...)": log the name of the step without its data.
            record.msg, record.args = str(record.msg).partition(" ")[0], ()
        return True


_STEP_NAME_FILTER: Final = _StepNameFilter()


class QuietHttpLogs:
    """A block in which httpcore logs only the names of its steps; other users of httpcore are not affected."""

    __slots__ = ("_token",)

    _token: Token[bool]

    @staticmethod
    def install() -> None:
        """Add the filter to the loggers of httpcore; idempotent."""
        for name in _LOGGERS:
            logging.getLogger(f"httpcore.{name}").addFilter(_STEP_NAME_FILTER)

    def __enter__(self) -> Self:
        self._token = _in_library_call.set(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _in_library_call.reset(self._token)


class _Target(NamedTuple):
    """The target of a request."""

    url: httpx.URL
    host: bytes
    """Value of the `Host` header."""
    origin: tuple[str, str, int | None]
    """Scheme, host and port; calls with the same origin share connections."""


@lru_cache(maxsize=256)
def _target(url: str) -> _Target:
    """Parse an address. The result is cached, since an API has few addresses.

    Raises:
        httpx.InvalidURL: The text is not an address.
        httpx.UnsupportedProtocol: The address has no host, or a scheme other than http and https.
    """
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.raw_host:
        msg = "neither http nor https"
        raise httpx.UnsupportedProtocol(msg)
    return _Target(parsed, parsed.netloc, (parsed.scheme, parsed.host, parsed.port))


def _http_request(
    request: HttpRequest, url: httpx.URL, host: bytes, extensions: Mapping[str, object] | None = None
) -> httpx.Request:
    """Return a request of httpx with complete headers and body, so that httpx computes nothing itself."""
    headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in request.headers.items()]
    headers.append((b"host", host))
    if request.body or request.method in {"POST", "PUT", "PATCH"}:
        headers.append((b"content-length", str(len(request.body)).encode()))
    body = httpx.ByteStream(request.body)
    return httpx.Request(request.method, url, headers=headers, stream=body, extensions=extensions)


class _Shard:
    """A pool of a few connections."""

    def __init__(self, context: ssl.SSLContext, proxy: str | None = None) -> None:
        limits = httpx.Limits(
            max_connections=CONNECTIONS_PER_SHARD,
            max_keepalive_connections=CONNECTIONS_PER_SHARD,
            keepalive_expiry=KEEPALIVE_S,
        )
        self.transport: httpx.AsyncHTTPTransport = httpx.AsyncHTTPTransport(
            verify=context, limits=limits, trust_env=False, proxy=proxy
        )
        self.calls: int = 0
        self.idle_since: float = 0.0
        """End of the last call, on the clock of the event loop."""


class ShardingTransport:
    """Distributes requests over several pools with few connections each, per origin: one large pool of httpx is slow.

    A request uses the first pool with a free connection, so that the same few connections are used often. When a call
    ends, pools that were not used for `KEEPALIVE_S` seconds are closed.

    Args:
        provider: Provider that is called, for messages.
        context: Returns the TLS context; called on a thread, at the first https request.
        proxy: Address of an HTTP proxy; `None` for none.
    """

    def __init__(self, provider: str, context: Callable[[], ssl.SSLContext], proxy: str | None = None) -> None:
        QuietHttpLogs.install()
        self._provider = provider
        self._proxy = proxy
        self._context = context
        self._tls: ssl.SSLContext | None = None
        self._shards: dict[tuple[str, str, int | None], list[_Shard]] = {}

    async def open(self, request: HttpRequest) -> OwnReply:
        """Send a request through the first pool with a free connection, and wait for the head of the response."""
        address = masked_url(request.url)
        with library_errors(self._provider, address), QuietHttpLogs():
            target = _target(request.url)
            http_request = _http_request(request, target.url, target.host)
            if self._tls is None and target.url.scheme == "https":
                self._tls = await on_thread(self._context, name="roundtable TLS")
            shards = self._shards.setdefault(target.origin, [])
            shard = next((candidate for candidate in shards if candidate.calls < CONNECTIONS_PER_SHARD), None)
            if shard is None:
                # httpx needs a context even for plain http; an empty context is created quickly.
                tls = self._tls if target.url.scheme == "https" else None
                shard = _Shard(tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self._proxy)
                shards.append(shard)
            shard.calls += 1
            try:
                response = await shard.transport.handle_async_request(http_request)
            except BaseException:
                shard.calls -= 1
                raise
        return OwnReply(response, self._provider, address, partial(self.release, shard))

    async def release(self, shard: _Shard) -> None:
        """Free the connection of a call that has ended, and close the pools that were not used for a long time."""
        now = anyio.current_time()
        shard.calls -= 1
        shard.idle_since = now
        while (unused := self._take_unused(now)) is not None:
            try:
                await unused.transport.aclose()
            except Exception as exc:  # noqa: BLE001  (the error does not concern the call that has ended)
                _log.debug("an idle pool could not be closed: %s", type(exc).__name__)

    def _take_unused(self, now: float) -> _Shard | None:
        for shards in self._shards.values():
            for number, shard in enumerate(shards):
                if not shard.calls and shard.idle_since + KEEPALIVE_S < now:
                    return shards.pop(number)
        return None

    async def aclose(self) -> None:
        """Close all pools."""
        shards = [shard for pool in self._shards.values() for shard in pool]
        self._shards.clear()
        for shard in shards:
            await shard.transport.aclose()


async def open_pinned(request: HttpRequest, provider: str, context: Callable[[], ssl.SSLContext]) -> OwnReply:
    """Send a request to the IP address `request.connect_to`, with the `Host` header and the TLS name of its URL.

    The connection is closed with the response and never reused: the server has shown a certificate for this host only,
    and another host may have the same IP address.
    """
    QuietHttpLogs.install()
    address = masked_url(request.url)
    with library_errors(provider, address), QuietHttpLogs():
        url, host, _ = _target(request.url)
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if url.scheme == "https":
            verify = await on_thread(context, name="roundtable TLS")
        extensions = {} if ":" in url.host else {"sni_hostname": url.raw_host.decode("ascii").removesuffix(".")}
        pinned = _http_request(request, url.copy_with(host=request.connect_to), host, extensions)
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
        transport = httpx.AsyncHTTPTransport(verify=verify, limits=limits, trust_env=False)
        try:
            response = await transport.handle_async_request(pinned)
        except BaseException:
            await transport.aclose()
            raise
    return OwnReply(response, provider, address, transport.aclose)


class UserClientTransport:
    """Sends requests through a client of the caller, which stays open.

    Args:
        client: The client.
        provider: Provider that is called, for messages.
    """

    def __init__(self, client: httpx.AsyncClient, provider: str) -> None:
        QuietHttpLogs.install()
        self._client = client
        self._provider = provider

    async def open(self, request: HttpRequest) -> HttpxReply:
        """Send a request and wait for the head of the response."""
        address = masked_url(request.url)
        with library_errors(self._provider, address), QuietHttpLogs():
            http_request = self._client.build_request(
                request.method, request.url, headers=request.headers, content=request.body
            )
            response = await self._client.send(http_request, stream=True, follow_redirects=False)
        return HttpxReply(response, self._provider, address)

    async def aclose(self) -> None:
        """Leave the client open."""


class HttpxReply:
    """A response of httpx, as a `Reply`.

    Args:
        response: The response; its body has not been read yet.
        provider: Provider that responds, for messages.
        address: Address that was called, as `masked_url` returns it.
    """

    def __init__(self, response: httpx.Response, provider: str, address: str) -> None:
        self.status: int = response.status_code
        self.headers: dict[str, str] = header_texts(response.headers.raw)
        # Don't use `aiter_raw`: if the body is not read to its end, only the outermost of its nested generators can be
        # closed.
        self._pieces = aiter(cast("httpx.AsyncByteStream", response.stream))
        self._response = response
        self._provider = provider
        self._address = address

    async def read(self, deadline: float) -> bytes | None:
        """Return the next bytes of the body; `None` at its end."""
        try:
            with QuietHttpLogs(), anyio.CancelScope(deadline=deadline):
                return await anext(self._pieces, None)
        except _READ_ERRORS as exc:
            error = to_library_error(exc, self._provider, self._address)
            raise error from error.__cause__
        raise TimeoutError

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""
        with library_errors(self._provider, self._address), anyio.move_on_after(CLOSE_S):
            # Close the response first; after that, closing its iterators does not wait.
            await self._response.aclose()
            if isinstance(self._pieces, AsyncGenerator):
                await self._pieces.aclose()


class OwnReply(HttpxReply):
    """A response over a connection of the library.

    Args:
        response: The response; its body has not been read yet.
        provider: Provider that responds, for messages.
        address: Address that was called, as `masked_url` returns it.
        release: Called once, when the response is closed. It frees a connection of a pool, or closes a transport.
    """

    def __init__(
        self, response: httpx.Response, provider: str, address: str, release: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(response, provider, address)
        self._release = release

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""
        if self._response.is_closed:
            return
        with library_errors(self._provider, self._address), anyio.move_on_after(CLOSE_S, shield=True):
            try:
                await self._response.aclose()
                await _drain(self._pieces)
            finally:
                await self._release()


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Run the iterators of httpcore under a closed body to their end; otherwise, the event loop must close them."""
    try:
        async for _ in pieces:
            pass
    except httpx.TransportError:
        # This error is expected, since the connection is closed.
        return
