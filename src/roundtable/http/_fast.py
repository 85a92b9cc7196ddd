"""The transport of the extra `fast`: httpx's messages over aiohttp's connections, for asyncio."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import aiohttp
import anyio.lowlevel
import httpx
from httpx_aiohttp import AiohttpTransport

from roundtable.http._transport import KEEPALIVE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

__all__ = ["FastTransport"]


class FastTransport(httpx.AsyncBaseTransport):
    """Sends requests through one aiohttp session without a limit of its own: the gateway has limits enough.

    No cookie is kept, no proxy or netrc file of the environment is used, nothing is decoded, no redirect is followed.

    Args:
        context: Gives the TLS context, made once, for the first https request.
    """

    def __init__(self, context: Callable[[], ssl.SSLContext]) -> None:
        self._context = context
        self._plain = self._transport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self._secure: AiohttpTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        if request.url.scheme != "https":
            transport = self._plain
        else:
            transport = self._secure = self._secure or self._transport(self._context())
        # Lets the loop hear of kept connections that the server has closed meanwhile.
        await anyio.lowlevel.checkpoint()
        with _httpx_errors():
            response = await transport.handle_async_request(request)
        response.stream = _Body(cast("httpx.AsyncByteStream", response.stream))
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in (self._plain, self._secure):
            if transport is not None:
                await transport.aclose()

    @staticmethod
    def _transport(context: ssl.SSLContext) -> AiohttpTransport:
        def session() -> aiohttp.ClientSession:
            connector = aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=KEEPALIVE_S)
            return aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                # As much as httpx takes; a request id and rate limits are far below it.
                max_line_size=65_536,
                max_field_size=65_536,
                max_headers=10_000,
            )

        return AiohttpTransport(verify=context, trust_env=False, client=session)


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream
        self._pieces = aiter(stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        with _httpx_errors():
            return await anext(self._pieces)

    async def aclose(self) -> None:
        close = getattr(self._pieces, "aclose", None)
        with _httpx_errors():
            if close is not None:
                await close()
            await self._stream.aclose()


@contextmanager
def _httpx_errors() -> Generator[None]:
    """Name failures as httpx does; time-outs are ours alone, so what is called one here is a broken connection."""
    try:
        yield
    except httpx.TimeoutException as exc:
        if isinstance(exc.__cause__, aiohttp.ClientConnectorError):
            raise httpx.ConnectError("no connection") from exc.__cause__
        raise httpx.RemoteProtocolError("the connection broke off") from exc
    except aiohttp.ClientConnectorError as exc:
        raise httpx.ConnectError("no connection") from exc
    except aiohttp.ClientError as exc:
        raise httpx.RemoteProtocolError("the server does not speak HTTP") from exc
    except ValueError as exc:
        # Its text may quote the header it dislikes.
        raise httpx.LocalProtocolError("the request cannot be sent") from exc
