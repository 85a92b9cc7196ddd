"""A transport for httpx that spreads calls over small pools.

One large pool of httpx looks at every connection for every request, and can hand one idle connection to
several of them; small pools take half the time or less.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final, cast

import anyio
import httpx

from roundtable.http.addresses import origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["KEEPALIVE_S", "ShardingTransport", "let_go"]

CONNECTIONS_PER_SHARD: Final = 5
"""Most connections of one small pool; from three to five cost least."""

IDLE_SHARDS: Final = 8
"""Small pools kept for later when nothing runs in them."""

KEEPALIVE_S: Final = 30.0
"""Seconds an unused connection is kept; shorter than what the providers' load balancers allow."""


class _Shard:
    def __init__(self, context: ssl.SSLContext) -> None:
        limits = httpx.Limits(
            max_connections=CONNECTIONS_PER_SHARD,
            max_keepalive_connections=CONNECTIONS_PER_SHARD,
            keepalive_expiry=KEEPALIVE_S,
        )
        self.transport = httpx.AsyncHTTPTransport(verify=context, limits=limits, trust_env=False)
        self.calls = 0


class ShardingTransport(httpx.AsyncBaseTransport):
    """Spreads requests over pools of a few connections each, per origin.

    The first pool with room is taken, so that few connections are kept warm rather than many cold.

    Args:
        context: Gives the TLS context, made once, for the first https request.
    """

    def __init__(self, context: Callable[[], ssl.SSLContext]) -> None:
        self._context = context
        self._shards: dict[tuple[str, str, int], list[_Shard]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request through the first pool that has room."""
        shards = self._shards.setdefault(origin_of(str(request.url)), [])
        shard = next((one for one in shards if one.calls < CONNECTIONS_PER_SHARD), None)
        if shard is None:
            # httpx wants a context without TLS too; an empty one costs nothing.
            empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            shard = _Shard(self._context() if request.url.scheme == "https" else empty)
            shards.append(shard)
        shard.calls += 1
        try:
            response = await shard.transport.handle_async_request(request)
        except BaseException:
            shard.calls -= 1
            raise
        stream = cast("httpx.AsyncByteStream", response.stream)
        response.stream = _Counted(stream, shards, shard)
        return response

    async def aclose(self) -> None:
        """Close all pools."""
        shards = [shard for pool in self._shards.values() for shard in pool]
        self._shards.clear()
        for shard in shards:
            await shard.transport.aclose()


class _Counted(httpx.AsyncByteStream):
    """A body that tells its shard when it is done."""

    def __init__(self, stream: httpx.AsyncByteStream, shards: list[_Shard], shard: _Shard) -> None:
        self._stream = stream
        self._pieces = aiter(stream)
        self._shards = shards
        self._shard: _Shard | None = shard

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        shard, self._shard = self._shard, None
        if shard is None:
            return
        try:
            await self._stream.aclose()
            await let_go(self._pieces)
        finally:
            shard.calls -= 1
            await self._thin_out()

    async def _thin_out(self) -> None:
        idle = [one for one in self._shards if not one.calls]
        if len(idle) > IDLE_SHARDS:
            self._shards.remove(idle[-1])
            with anyio.CancelScope(shield=True):
                await idle[-1].transport.aclose()


async def let_go(pieces: AsyncIterator[bytes]) -> None:
    """Run the iterators of httpcore under a closed body to their end.

    Left suspended, the event loop would have to find them.
    """
    try:
        async for _ in pieces:
            pass
    except httpx.TransportError:
        # The connection is closed, and reading from it says so.
        return
