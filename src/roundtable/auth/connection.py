"""One HTTP connection of a server: clients must send the head of a request, and read responses, in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio  # noqa: TID251  (uvicorn supports nothing else)
    from collections.abc import Callable

    from uvicorn.config import Config
    from uvicorn.server import ServerState

__all__ = ["TimedConnection"]


class TimedConnection(H11Protocol):
    """One connection of `uvicorn.Config(app, http=TimedConnection)`.

    Otherwise clients, even without a token, could use up all connections, and hold responses in memory forever.

    - A connection is closed if the head of a request does not arrive within `header_s` seconds.
    - A client that reads nothing for `stall_s` seconds is disconnected.

    Subclass it to set other values.
    """

    header_s: float = 10.0
    """Seconds in which the head of a request must arrive, from the start of the connection or of a further request."""
    stall_s: float = 30.0
    """Seconds for which a client may read nothing while data waits to be sent."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Wait for a request, with a time limit."""
        super().connection_made(transport)
        self.set_timer("head", self.header_s, self.on_late_head)

    def data_received(self, data: bytes) -> None:
        """Parse received data; when a request head starts, set its time limit."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self.cancel_timer("head")
        elif "head" not in self._timers and not self.transport.is_closing():
            self.set_timer("head", self.header_s, self.on_late_head)

    def on_late_head(self) -> None:
        """Close the connection, because the head of a request did not arrive in time."""
        self.close_in_time()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not valid HTTP, and close the connection."""
        super().send_400_response(msg)
        self._wait_for_reader()

    def close_in_time(self) -> None:
        """Close the connection; send the rest of the response with a time limit."""
        self.transport.close()
        self._wait_for_reader()

    def pause_writing(self) -> None:
        """Stop sending until the client reads, with a time limit."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Continue sending."""
        super().resume_writing()
        self.cancel_timer("stall")

    def on_response_complete(self) -> None:
        """Wait for the next request; if the connection closes now, send the rest of the response with a time limit."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_for_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close the idle connection; send the rest of the response with a time limit."""
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers of the closed connection."""
        for name in tuple(self._timers):
            self.cancel_timer(name)
        super().connection_lost(exc)

    def set_timer(self, name: str, after_s: float, callback: Callable[[], None]) -> None:
        """Call a function once, unless the timer is cancelled or set again before.

        Args:
            name: Name of the timer, unique on this connection.
            after_s: Seconds to wait.
            callback: The function.
        """
        self.cancel_timer(name)
        self._timers[name] = self.loop.call_later(after_s, callback)

    def cancel_timer(self, name: str) -> None:
        """Cancel a timer if it is set."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _wait_for_reader(self) -> None:
        """Disconnect the client if it reads nothing until the time limit; call it only while nothing can be added."""
        waiting_bytes = self.transport.get_write_buffer_size()
        if waiting_bytes:
            self.set_timer("stall", self.stall_s, lambda: self._check_reader(waiting_bytes))

    def _check_reader(self, waiting_bytes: int) -> None:
        if self.transport.get_write_buffer_size() < waiting_bytes:
            self._wait_for_reader()
        else:
            self.transport.abort()
