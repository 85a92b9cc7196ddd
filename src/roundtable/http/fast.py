"""The transport of the extra `fast`: aiohttp, for asyncio."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

import aiohttp
import anyio
import anyio.lowlevel

from roundtable.core.base.eventloop import on_thread
from roundtable.core.errors import RoundtableError
from roundtable.http.failures import (
    broken_connection,
    connection_error,
    forbidden_error,
    no_connection,
    not_an_address,
    refused_by_proxy,
    unusable_client,
    unusable_request,
)
from roundtable.http.guard_public import masked_url
from roundtable.http.message import KEEPALIVE_S, header_texts

if TYPE_CHECKING:
    from asyncio import Future  # noqa: TID251  (aiohttp supports only asyncio)
    from collections.abc import Callable, Generator

    from aiohttp.connector import Connection

    from roundtable.http.message import HttpRequest

__all__ = ["FastTransport"]

READ_BYTES: Final = 4 * 1024
"""Most bytes of one read. A larger read would delay the first piece of a stream that arrives all at once."""


class FastTransport:
    """Sends requests through one aiohttp session without a connection limit, since the gateway limits the calls.

    It stores no cookies, uses no proxy or netrc file from the environment, decodes nothing and follows no redirects.

    Args:
        provider: Provider that is called, for messages.
        context: Returns the TLS context; called on a thread, at the first https request.
        proxy: Address of an HTTP proxy; `None` for none.
    """

    def __init__(self, provider: str, context: Callable[[], ssl.SSLContext], proxy: str | None = None) -> None:
        self._provider = provider
        self._proxy = proxy
        self._context = context
        self._tls: ssl.SSLContext | None = None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),
            response_class=_Response,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            # No time-out here, since the client has one deadline for the whole call.
            timeout=aiohttp.ClientTimeout(),
            # The same limits as in httpx; usual headers are far shorter.
            max_line_size=65_536,
            max_field_size=65_536,
            max_headers=10_000,
        )

    async def open(self, request: HttpRequest) -> FastReply:
        """Send a request and wait for the head of the response."""
        address = masked_url(request.url)
        if self._tls is None and request.url.startswith("https:"):
            self._tls = await on_thread(self._context, name="roundtable TLS")
        # Let the event loop notice idle connections that the server has closed. The loop polls in its next iteration,
        # and handles the result after the tasks that are already ready, such as this one.
        for _ in range(2):
            await anyio.lowlevel.checkpoint()
        with _library_errors(self._provider, address):
            response = await self._session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.body or None,
                ssl=self._tls or True,
                allow_redirects=False,
                proxy=self._proxy,
            )
        return FastReply(response, self._provider, address)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class FastReply:
    """A response of aiohttp, as a `Reply`.

    Args:
        response: The response; its body has not been read yet.
        provider: Provider that responds, for messages.
        address: Address that was called, as `masked_url` returns it.
    """

    def __init__(self, response: aiohttp.ClientResponse, provider: str, address: str) -> None:
        self.status: int = response.status
        self.headers: dict[str, str] = header_texts(response.raw_headers)
        self._response = response
        self._provider = provider
        self._address = address

    async def read(self, deadline: float) -> bytes | None:
        """Return the next bytes of the body; `None` at its end. A cancel scope is needed only if the read must wait."""
        body = self._response.content
        with _library_errors(self._provider, self._address):
            chunk = body.read_nowait(READ_BYTES)
            if chunk or body.at_eof():
                return chunk or None
            with anyio.CancelScope(deadline=deadline):
                return await body.read(READ_BYTES) or None
        raise TimeoutError

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""
        self._response.close()


class _Response(aiohttp.ClientResponse):
    """A response whose body fails as soon as its connection closes.

    aiohttp closes the connection after a parse error, such as a chunk without a size. If the invalid bytes arrive in a
    separate packet, aiohttp makes the reader of the body wait forever.
    """

    async def start(self, connection: Connection) -> Self:
        """Read the head of the response."""
        closed = None if connection.protocol is None else connection.protocol.closed
        if closed is not None:
            # asyncio logs an exception that was never retrieved, so retrieve it, once per connection.
            closed.remove_done_callback(_retrieve_exception)
            closed.add_done_callback(_retrieve_exception)
        await super().start(connection)
        body = self.content
        if closed is None or body.is_eof():
            return self

        def fail(_closed: object) -> None:
            if not body.is_eof() and body.exception() is None:
                body.set_exception(aiohttp.ClientPayloadError("the connection broke off"))

        def remove_callback() -> None:
            closed.remove_done_callback(fail)

        closed.add_done_callback(fail)
        # Remove the callback after this response, since a connection may serve many responses.
        body.on_eof(remove_callback)
        return self


def _retrieve_exception(closed: Future[None]) -> None:
    if not closed.cancelled():
        closed.exception()


@contextmanager
def _library_errors(provider: str, address: str) -> Generator[None]:
    """Convert exceptions of aiohttp inside the block to errors of this library."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as exc:
        error = _to_library_error(exc, provider, address)
        raise error from error.__cause__


def _to_library_error(exc: Exception, provider: str, address: str) -> RoundtableError:
    if (error := forbidden_error(exc, provider, address)) is not None:
        return error
    match exc:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return not_an_address(provider, address)
        case aiohttp.ClientHttpProxyError():
            return refused_by_proxy(provider, address, exc.status)
        case aiohttp.ClientConnectorError():
            return no_connection(exc, provider, address)
        case aiohttp.ClientOSError():
            return connection_error(exc, provider, address)
        case aiohttp.ClientError():
            # The message may quote the response, which may repeat the request.
            return broken_connection(provider, address)
        case OSError():
            return connection_error(exc, provider, address)
        case ValueError():
            # The message may quote the invalid header, which may be the key.
            return unusable_request(provider, address)
        case _:
            return unusable_client(exc, provider, address)
