"""The client every provider calls through."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeVar, cast

import anyio
import sniffio

from roundtable._loops import PerLoop
from roundtable._version import __version__
from roundtable.errors import APINetworkError, APITimeoutError, ConfigurationError
from roundtable.http.addresses import shown_url
from roundtable.http.decoding import ACCEPT_ENCODING, BodyDecoder
from roundtable.http.messages import DEFAULT_LIMITS, HttpLimits, HttpRequest, HttpResponse
from roundtable.http.quiet import Quiet

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    import httpx


__all__ = ["HttpClient", "HttpStream"]

_log: logging.Logger = logging.getLogger(__name__)

_HEADERS: Final = {"user-agent": f"roundtable-sdk/{__version__}", "accept-encoding": ACCEPT_ENCODING}

T = TypeVar("T")


class HttpClient:
    """Sends requests of one provider; connections are made on the first request of each event loop.

    A call has a total deadline, whatever it is busy with; redirects are never followed; proxies of the
    environment are not used; an answer is decoded here and has a size limit. All failures are
    `RoundtableError`s without headers, keys or bodies, and with addresses without their query.

    Args:
        provider: Name for messages.
        client: An `httpx.AsyncClient` of the caller's, used as it is and never closed. It must be used from
            one event loop, as httpx asks for.
        limits: How much of an answer is read.
        shows_redirects: Give redirects to the caller as answers rather than refuse them; for calls without a key.

    Raises:
        ConfigurationError: `client` is something else.
    """

    fast: ClassVar[bool] = True
    """Whether connections run on aiohttp where the extra `fast` is installed and the loop is asyncio."""

    def __init__(
        self,
        provider: str = "",
        *,
        client: object | None = None,
        limits: HttpLimits = DEFAULT_LIMITS,
        shows_redirects: bool = False,
    ) -> None:
        Quiet.install()
        self.provider = provider
        self._given = None if client is None else _checked(client)
        self._limits = limits
        self._shows_redirects = shows_redirects
        self._transports = PerLoop(self._make)

    async def send(self, request: HttpRequest, *, timeout_s: float) -> HttpResponse:
        """Send a request and read the whole answer, whatever its status.

        Raises:
            APINetworkError: No whole answer could be had, or it is a redirect.
            APITimeoutError: It took longer than `timeout_s` in all.
            AgentError: The answer is too large.
        """
        async with self.stream(request, timeout_s=timeout_s) as answer:
            return HttpResponse(answer.status, answer.headers, await answer.read())

    @asynccontextmanager
    async def stream(self, request: HttpRequest, *, timeout_s: float) -> AsyncGenerator[HttpStream]:
        """Send a request and give the answer as it comes; leaving the block closes the connection.

        Raises what `send` raises, also while the answer is read.
        """
        from roundtable.http.failures import our_errors

        address = shown_url(request.url)
        clock = _Deadline(timeout_s, self.provider, address)
        # Headers stay inside the request, whose `repr` hides them: a traceback may show local variables.
        request = replace(request, headers={**_HEADERS, **request.headers})
        with our_errors(self.provider, address):
            response = await clock.run(partial(self._open, request))
        _log.debug("%s %s: status %d", request.method, address, response.status_code)
        answer = HttpStream(response, clock, self._limits, self.provider, address)
        try:
            if 300 <= answer.status < 400 and not self._shows_redirects:
                raise APINetworkError(
                    f"{address}: answered with a redirect (status {answer.status}), which is not followed",
                    provider=self.provider,
                    retryable=False,
                    hint="Set the base URL to where the API really is.",
                )
            yield answer
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop; idempotent. A later request opens new ones."""
        transport = self._transports.pop()
        if transport is not None:
            await transport.aclose()

    async def _open(self, request: HttpRequest) -> httpx.Response:
        if request.connect_to:
            from roundtable.http._pinned import open_pinned

            return await open_pinned(request, _tls_context)
        if self._given is not None:
            own = self._given.build_request
            sent = own(request.method, request.url, headers=request.headers, content=request.body)
            return await self._given.send(sent, stream=True, follow_redirects=False)
        import httpx

        # Straight to the transport: no redirect, cookie, proxy or netrc file can come into it.
        sent = httpx.Request(request.method, request.url, headers=dict(request.headers), content=request.body)
        return await self._transports.get().handle_async_request(sent)

    def _make(self) -> httpx.AsyncBaseTransport:
        if self.fast and sniffio.current_async_library() == "asyncio" and _has_fast():
            from roundtable.http._fast import FastTransport

            return FastTransport(_tls_context)
        from roundtable.http._transport import ShardingTransport

        return ShardingTransport(_tls_context)


class HttpStream:
    """An answer whose body is still to be read; iterate over it for the decoded pieces."""

    def __init__(
        self, response: httpx.Response, clock: _Deadline, limits: HttpLimits, provider: str, address: str
    ) -> None:
        self.status: int = response.status_code
        """Status code."""
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw
        }
        """Headers, names in lower case."""
        # Not `aiter_raw`: of nested generators only the outermost could be closed when the body is left unread.
        self._raw = aiter(cast("httpx.AsyncByteStream", response.stream))
        self._response = response
        self._clock = clock
        self._limits = limits
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._provider = provider
        self._address = address

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Give the next decoded piece.

        Raises:
            APINetworkError: The body is cut short or corrupt.
            APITimeoutError: The deadline of the call is over.
            AgentError: The body is too large.
        """
        from roundtable.http.failures import our_errors

        if self._decoder is None:
            self._decoder = BodyDecoder(self.headers.get("content-encoding", ""), self._limits, self._provider)
        while True:
            piece = next(self._pieces, None)
            if piece is not None:
                return piece
            with our_errors(self._provider, self._address):
                chunk = await self._clock.run(self._chunk)
            if chunk is None:
                self._decoder.finish()
                raise StopAsyncIteration
            self._pieces = self._decoder.feed(chunk)

    async def read(self) -> bytes:
        """Give the whole decoded body; of an error answer (status 400 and above) a bounded part."""
        body = bytearray()
        async for piece in self:
            body += piece
            if self.status >= 400 and len(body) >= self._limits.error_bytes:
                return bytes(body[: self._limits.error_bytes])
        return bytes(body)

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""
        from roundtable.http.failures import our_errors

        with our_errors(self._provider, self._address):
            # The response first: its iterators then find nothing left to wait for when they are let go.
            await self._response.aclose()
            if isinstance(self._raw, AsyncGenerator):
                await self._raw.aclose()

    async def _chunk(self) -> bytes | None:
        return await anext(self._raw, None)


def _tls_context() -> ssl.SSLContext:
    import ssl

    return _tls_context_of(ssl.get_default_verify_paths())


@lru_cache(maxsize=4)
def _tls_context_of(_store: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Make the TLS context, once for a process and a store of certificates: it costs as much as a dozen calls."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    # The system's store as well: that is where a company keeps its own authority.
    context.load_default_certs()
    return context


@cache
def _has_fast() -> bool:
    return find_spec("httpx_aiohttp") is not None


def _checked(client: object) -> httpx.AsyncClient:
    import httpx

    if not isinstance(client, httpx.AsyncClient):
        raise ConfigurationError(
            f"client must be an httpx.AsyncClient, not {type(client).__name__}",
            hint="Leave `client` out to let the library make one.",
        )
    return client


class _Deadline:
    def __init__(self, timeout_s: float, provider: str, address: str) -> None:
        self._timeout_s = timeout_s
        self._provider = provider
        self._address = address
        self._at = anyio.current_time() + timeout_s

    async def run(self, step: Callable[[], Awaitable[T]]) -> T:
        # A scope around each wait, not around the call: one must not stay open across a yield.
        with Quiet(), anyio.CancelScope(deadline=self._at):
            return await step()
        raise APITimeoutError(
            f"{self._address}: no complete answer within {self._timeout_s:g} s", provider=self._provider
        )
