"""The HTTP connections of the MCP server: the head of each request must arrive in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio  # noqa: TID251  (uvicorn supports nothing else)

__all__ = ["HttpConnection"]


class HttpConnection(H11Protocol):
    """One connection of `uvicorn.Config(app, http=HttpConnection)`.

    A connection is closed if the head of a request does not arrive within `head_s` seconds. Otherwise clients without a
    token could use up all connections. Subclass it to set another value.
    """

    head_s: float = 10.0
    """Seconds in which the head of a request must arrive, from the start of the connection or of a further request."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Wait for a request, with a time limit."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Parse received data; when a request head starts, set its time limit."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.head_s, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
