"""The HTTP client of all providers: requests, responses, decoding, deadlines and size limits."""

from __future__ import annotations

import logging
import math
import time
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self

import anyio
import sniffio

from roundtable._version import __version__
from roundtable.core.base.eventloop import ClosedWithLoop, PerLoop, import_on_thread
from roundtable.core.errors import AgentError, APINetworkError, APITimeoutError, ConfigurationError
from roundtable.http.guard_public import masked_url
from roundtable.http.message import DEFAULT_LIMITS, HttpLimits, HttpRequest, HttpResponse, call_deadline

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

    import httpx

    from roundtable.http.message import Reply, Transport

__all__ = [
    "ACCEPT_ENCODING",
    "DEFAULT_LIMITS",
    "BodyDecoder",
    "HttpClient",
    "HttpLimits",
    "HttpRequest",
    "HttpResponse",
    "HttpStream",
]

_log: logging.Logger = logging.getLogger(__name__)

_AIOHTTP: Final = (3, 14)
"""Oldest version of aiohttp that works with the extra `fast`."""
_tls_lock: Final = Lock()

ACCEPT_ENCODING: Final = "gzip, identity"
"""Content codings that requests accept; `BodyDecoder` supports them."""

_GZIP: Final = zlib.MAX_WBITS | 16
_PIECE_BYTES: Final = 2**18

_HEADERS: Final = {"user-agent": f"roundtable-sdk/{__version__}", "accept-encoding": ACCEPT_ENCODING}


class BodyDecoder:
    """Decodes the body of one response, piece by piece.

    It decompresses in pieces of limited size, so that a small input can never fill the memory.

    Args:
        coding: Value of the `content-encoding` header.
        limits: Size limits.
        provider: Provider that responds, for messages.

    Raises:
        APINetworkError: The request did not accept this coding.
    """

    def __init__(self, coding: str, limits: HttpLimits, provider: str = "") -> None:
        coding = coding.strip().lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            raise APINetworkError(
                f"the answer has the content coding {coding[:40]!r}, which was not requested",
                provider=provider,
                retryable=False,
            )
        self._limits = limits
        self._provider = provider
        self._gzip = zlib.decompressobj(_GZIP) if coding.endswith("gzip") else None
        self._received = 0
        self._decoded = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Decode the next bytes, and return the decoded pieces; errors are raised here or while the pieces are read.

        Raises:
            AgentError: The response is too large.
            APINetworkError: The bytes are corrupt.
        """
        self._received += len(chunk)
        if self._gzip is not None:
            return self._inflate(chunk)
        self._count(len(chunk))
        return iter((chunk,))

    def finish(self) -> None:
        """Check that the response was complete.

        Raises:
            APINetworkError: The compressed response was cut short.
        """
        if self._gzip is not None and self._received and not self._gzip.eof:
            raise APINetworkError("the compressed answer was cut short", provider=self._provider)

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._gzip is None or self._gzip.eof:
                self._gzip = zlib.decompressobj(_GZIP)
            try:
                piece = self._gzip.decompress(chunk, _PIECE_BYTES)
            except zlib.error as exc:
                raise APINetworkError("the compressed answer is corrupt", provider=self._provider, cause=exc) from exc
            chunk = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
            if piece:
                self._count(len(piece))
                yield piece

    def _count(self, length: int) -> None:
        self._decoded += length
        limits = self._limits
        exceeds_ratio = self._decoded > limits.ratio_from_bytes and self._decoded > limits.ratio * self._received
        if self._decoded > limits.body_bytes or exceeds_ratio:
            raise AgentError(
                f"the answer is too large: more than {min(self._decoded, limits.body_bytes)} bytes",
                provider=self._provider,
                hint="Ask for a shorter answer with `max_tokens`, or check the base URL.",
            )


class HttpClient:
    """Sends the requests of one provider; connections are opened at the first request of each event loop.

    A call has one deadline for all its steps. Redirects are not followed, only a proxy that is passed is used, and
    responses have a size limit. All failures are `RoundtableError`s that contain no headers, keys or bodies;
    addresses in them have no query.

    Args:
        provider: Name of the provider, for messages.
        client: Your own `httpx.AsyncClient`; it is used unchanged and never closed. Use it from one event loop only, as
            httpx requires.
        limits: Size limits of a response.
        shows_redirects: Whether to return redirects as responses instead of raising an error; for calls without a key.
        proxy: Address of an HTTP proxy for all calls.
        ignores_proxy: Whether the environment sets a proxy that is not used; errors then mention it.

    Raises:
        ConfigurationError: `client` is not an `httpx.AsyncClient`.
    """

    fast: ClassVar[bool] = True
    """Whether to use aiohttp; this needs the extra `fast`, and asyncio as the event loop."""

    def __init__(
        self,
        provider: str = "",
        *,
        client: object | None = None,
        limits: HttpLimits = DEFAULT_LIMITS,
        shows_redirects: bool = False,
        proxy: str | None = None,
        ignores_proxy: bool = False,
    ) -> None:
        self.provider = provider
        self._client = None if client is None else _require_httpx_client(client)
        self._limits = limits
        self._shows_redirects = shows_redirects
        self._proxy = proxy
        self._ignores_proxy = ignores_proxy
        self._transports = PerLoop(self._open_transport)

    async def send(self, request: HttpRequest, *, timeout_s: float, limits: HttpLimits | None = None) -> HttpResponse:
        """Send a request and read the whole response, whatever its status.

        Args:
            request: The request.
            timeout_s: Most seconds that the call may take in total.
            limits: Size limits of this response; the limits of the client when left out.

        Raises:
            APINetworkError: The connection failed, or the response is incomplete or a redirect.
            APITimeoutError: The call took longer than `timeout_s` in total.
            AgentError: The response is too large.
        """
        deadline = _Deadline(timeout_s, self.provider, masked_url(request.url))
        reply: Reply | None = None
        try:
            with anyio.CancelScope(deadline=deadline.ends_at):
                reply = await self._open(request)
                stream = self._stream(reply, deadline, limits)
                return HttpResponse(stream.status, stream.headers, await stream.read())
            raise deadline.to_error()
        finally:
            if reply is not None:
                await reply.aclose()

    @asynccontextmanager
    async def stream(self, request: HttpRequest, *, timeout_s: float) -> AsyncGenerator[HttpStream]:
        """Send a request and yield the response before its body is read; leaving the block closes the connection.

        This raises the same errors as `send`, also while the body is read.
        """
        deadline = _Deadline(timeout_s, self.provider, masked_url(request.url))
        reply: Reply | None = None
        with anyio.CancelScope(deadline=deadline.ends_at):
            reply = await self._open(request)
        if reply is None:
            raise deadline.to_error()
        try:
            yield self._stream(reply, deadline)
        finally:
            await reply.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop; idempotent. A later request opens new ones."""
        opened = self._transports.pop()
        if opened is not None:
            await opened.closer.aclose()

    async def _open(self, request: HttpRequest) -> Reply:
        # Importing an HTTP library takes a tenth of a second, which must not block the event loop.
        is_fast = self._is_fast() and not request.connect_to
        await import_on_thread("roundtable.http.fast" if is_fast else "roundtable.http.transport")
        # A traceback may show local variables. So the headers stay in the request, whose `repr` hides them.
        request = replace(request, headers={**_HEADERS, **request.headers})
        if not all(name.isascii() and value.isascii() for name, value in request.headers.items()):
            from roundtable.http.failures import unusable_request

            raise unusable_request(self.provider, masked_url(request.url))
        if request.connect_to:
            from roundtable.http.transport import open_pinned

            return await open_pinned(request, self.provider, _tls_context)
        try:
            return await self._transports.get().transport.open(request)
        except APINetworkError as error:
            if (error.details or {}).get("connected") is False:
                error.hint = self._with_proxy_hint(error.hint or "")
            raise

    def _with_proxy_hint(self, hint: str) -> str:
        """Return the hint of a failed connection, with what a user must know about proxies."""
        if self._proxy is not None:
            return f"{hint} Calls go through the proxy {masked_url(self._proxy)}."
        if self._ignores_proxy:
            return (
                f"{hint} The environment sets a proxy, which is not used: set ROUNDTABLE_PROXY=env, or trust_env=True "
                "in ProviderConfig."
            )
        return hint

    def _stream(self, reply: Reply, deadline: _Deadline, limits: HttpLimits | None = None) -> HttpStream:
        address = deadline.address
        _log.debug("%s: status %d", address, reply.status)
        if 300 <= reply.status < 400 and not self._shows_redirects:
            raise APINetworkError(
                f"{address}: answered with a redirect (status {reply.status}), which is not followed",
                provider=self.provider,
                retryable=False,
                hint="Set the base URL to the final address of the API.",
            )
        return HttpStream(reply, deadline, limits or self._limits, self.provider)

    def _is_fast(self) -> bool:
        return self.fast and self._client is None and sniffio.current_async_library() == "asyncio" and _has_fast()

    def _open_transport(self) -> _Opened:
        # Nobody may close a model that belongs to the caller, such as the model of a blocking table.
        transport = self._new_transport()
        return _Opened(transport, ClosedWithLoop(transport.aclose))

    def _new_transport(self) -> Transport:
        if self._is_fast():
            from roundtable.http.fast import FastTransport

            return FastTransport(self.provider, _tls_context, self._proxy)
        from roundtable.http.transport import ShardingTransport, UserClientTransport

        if self._client is not None:
            return UserClientTransport(self._client, self.provider)
        return ShardingTransport(self.provider, _tls_context, self._proxy)


class _Opened(NamedTuple):
    """The connections of one event loop, and what closes them."""

    transport: Transport
    closer: ClosedWithLoop


class HttpStream:
    """A response whose body has not been read yet; iterate over it for the decoded pieces."""

    def __init__(self, reply: Reply, deadline: _Deadline, limits: HttpLimits, provider: str) -> None:
        self.status: int = reply.status
        """Status code."""
        self.headers: Mapping[str, str] = reply.headers
        """Headers, names in lower case."""
        self._reply = reply
        self._deadline = deadline
        self._limits = limits
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._provider = provider
        self._rest_ends_at: float | None = None
        self._is_complete = False

    def __aiter__(self) -> Self:
        return self

    def end_within(self, seconds: float) -> None:
        """End the body after this many seconds, or at the deadline, as if the server had ended it then.

        For a body that is complete although the server may keep the connection open. The earliest end counts.

        Args:
            seconds: Seconds from now; infinite for the deadline. If a finite end is set, the body is certainly
                complete, so it also ends where the connection breaks off.
        """
        ends_at = min(anyio.current_time() + seconds, self._deadline.ends_at)
        self._rest_ends_at = ends_at if self._rest_ends_at is None else min(ends_at, self._rest_ends_at)
        self._is_complete = self._is_complete or math.isfinite(seconds)

    async def __anext__(self) -> bytes:
        """Return the next decoded piece.

        Raises:
            APINetworkError: The body is cut short or corrupt.
            APITimeoutError: The deadline of the call has passed.
            AgentError: The body is too large.
        """
        while (piece := next(self._pieces, None)) is None:
            if not await self._read_chunk():
                raise StopAsyncIteration
        # Bytes that have arrived are read without a wait, so the deadline must be checked here.
        self._deadline.check()
        return piece

    async def read(self) -> bytes:
        """Return the whole decoded body; for an error response (status 400 and above), at most `error_bytes` of it."""
        body = bytearray()
        while True:
            for piece in self._pieces:
                self._deadline.check()
                body += piece
                if self.status >= 400 and len(body) >= self._limits.error_bytes:
                    return bytes(body[: self._limits.error_bytes])
            if not await self._read_chunk():
                return bytes(body)

    async def _read_chunk(self) -> bool:
        """Read the next bytes; return whether there were any."""
        if self._decoder is None:
            self._decoder = BodyDecoder(self.headers.get("content-encoding", ""), self._limits, self._provider)
        try:
            ends_at = self._deadline.ends_at if self._rest_ends_at is None else self._rest_ends_at
            chunk = await self._reply.read(ends_at)
        except TimeoutError:
            if self._rest_ends_at is not None:
                return False
            raise self._deadline.to_error() from None
        except APINetworkError:
            if self._is_complete:
                return False
            raise
        if chunk is None:
            self._decoder.finish()
            return False
        self._pieces = self._decoder.feed(chunk)
        return True

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""
        await self._reply.aclose()


def _tls_context() -> ssl.SSLContext:
    import ssl

    # Calls that start at the same time call this function on several threads.
    with _tls_lock:
        return _tls_context_of(ssl.get_default_verify_paths())


@lru_cache(maxsize=4)
def _tls_context_of(_store: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Create the TLS context, once per process and certificate store, since this takes as long as a dozen calls."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    # Load the system's store too, since it may contain the certificate authority of a company.
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


@cache
def _has_fast() -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        major, minor = version("aiohttp").split(".")[:2]
    except PackageNotFoundError:
        return False
    # Other libraries may have installed an older version, which lacks options that this package uses.
    return (int(major), int(minor)) >= _AIOHTTP


def _require_httpx_client(client: object) -> httpx.AsyncClient:
    import httpx

    if not isinstance(client, httpx.AsyncClient):
        raise ConfigurationError(
            f"client must be an httpx.AsyncClient, not {type(client).__name__}",
            hint="Leave `client` out to use the client of the library.",
        )
    return client


class _Deadline:
    """The end of a request: its own time limit, or the deadline that a caller passed, whichever comes first."""

    def __init__(self, timeout_s: float, provider: str, address: str) -> None:
        self.address = address
        self._provider = provider
        self._timeout_s = timeout_s
        now = anyio.current_time()
        handed = call_deadline.get()
        self._handed = handed if handed is not None and handed.ends_at < now + timeout_s else None
        self.ends_at: float = now + timeout_s if self._handed is None else self._handed.ends_at
        """End of the request, on the clock of the event loop."""
        self._ends_at_monotonic = time.monotonic() + self.ends_at - now

    def check(self) -> None:
        """Raise `APITimeoutError` if the deadline has passed."""
        # This runs once per piece, and asking the event loop for its time takes ten times as long.
        if time.monotonic() >= self._ends_at_monotonic:
            raise self.to_error()

    def to_error(self) -> APITimeoutError:
        """Return the error of a request that missed the deadline."""
        if self._handed is not None:
            return self._handed.timeout_error(self._provider)
        return APITimeoutError(
            f"{self.address}: no complete answer within {self._timeout_s:g} s", provider=self._provider
        )
