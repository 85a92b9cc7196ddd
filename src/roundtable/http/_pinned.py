"""A request that goes to an IP address that was chosen, whatever a name server would say by now."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, cast

import httpx

from roundtable.http._transport import let_go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from roundtable.http.messages import HttpRequest

__all__ = ["open_pinned"]


async def open_pinned(request: HttpRequest, context: Callable[[], ssl.SSLContext]) -> httpx.Response:
    """Send a request to `request.connect_to`, with the `Host` header and the TLS name of its own address.

    The connection is made for this request and closed with its answer: one to the same IP address that was made for
    another name has shown a certificate of that name alone.
    """
    url = httpx.URL(request.url)
    named = {} if ":" in url.host else {"sni_hostname": url.raw_host.decode("ascii").removesuffix(".")}
    sent = httpx.Request(
        request.method,
        url.copy_with(host=request.connect_to),
        headers={**request.headers, "host": url.netloc.decode("ascii")},
        content=request.body,
        extensions=named,
    )
    verify = context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    transport = httpx.AsyncHTTPTransport(verify=verify, limits=limits, trust_env=False)
    try:
        response = await transport.handle_async_request(sent)
    except BaseException:
        await transport.aclose()
        raise
    response.stream = _Once(cast("httpx.AsyncByteStream", response.stream), transport)
    return response


class _Once(httpx.AsyncByteStream):
    """A body that takes its transport along when it goes."""

    def __init__(self, stream: httpx.AsyncByteStream, transport: httpx.AsyncHTTPTransport) -> None:
        self._stream = stream
        self._pieces = aiter(stream)
        self._transport = transport

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
            await let_go(self._pieces)
        finally:
            await self._transport.aclose()
