"""HTTP as the server speaks it: what uvicorn leaves open is bounded in time here, and refused in our format."""

from __future__ import annotations

import socket
import uuid
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import h11
from pydantic_core import to_json
from uvicorn.protocols.http.h11_impl import H11Protocol

from roundtable.errors import RoundtableError
from roundtable.server.failures import answer, error_body, status_of
from roundtable.server.holding import shutdown
from roundtable.server.requests import REQUEST_ID, logger
from roundtable.server.streams import ABORT, WRITE

if TYPE_CHECKING:
    import asyncio  # noqa: TID251  (uvicorn knows nothing else)
    from collections.abc import Callable
    from typing import Any

    from uvicorn.config import Config
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle
    from uvicorn.server import ServerState

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["WireProtocol"]

_MALFORMED: Final = RoundtableError("the request is no valid HTTP/1.1", code="VALIDATION_ERROR")
_SLOW: Final = RoundtableError("the head of the request did not come in time", code="REQUEST_TIMEOUT")
_FULL: Final = RoundtableError(
    "the server has as many connections as it may have",
    code="SERVER_BUSY",
    retryable=True,
    retry_after_s=5,
    hint="Try again in a few seconds.",
)


class _Parts:
    """Sends parts of the answer to one request; see `WRITE`."""

    __slots__ = ("_cycle", "_is_chunked")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._is_chunked = False

    def write(self, part: bytes) -> bool:
        """Send a part, if it can be sent at once."""
        cycle = self._cycle
        is_open = cycle.response_started and not cycle.response_complete and not cycle.disconnected
        if not is_open or cycle.flow.write_paused or cycle.scope["method"] == "HEAD" or not part:
            return False
        framed = b"%x\r\n%b\r\n" % (len(part), part)
        if not self._is_chunked:
            # How an answer is framed, h11 decides and shows by the first part. Its state stays the same from then on.
            chunk, framed = framed, cycle.conn.send(h11.Data(data=part)) or b""
            self._is_chunked = framed == chunk
        cycle.transport.write(framed)
        return True


class WireProtocol(H11Protocol):
    """One connection of `uvicorn.Config(app, http=WireProtocol)`.

    The head of a request has to come in `header_s` seconds; a body that was refused has `drain_s` seconds to end; a
    client that reads nothing of what is sent for `stall_s` seconds is cut off. Beyond `most_connections` a request is
    answered with 503 at once. What is no HTTP is refused in the format of all errors. Make a subclass for other values.
    """

    header_s: float = 10.0
    """Seconds from the first byte of a connection, or of a further request on it, to the end of its head."""
    drain_s: float = 2.0
    """Seconds for which the rest of a body is read after the answer, so that the answer is not lost."""
    stall_s: float = 30.0
    """Seconds for which something may wait to be sent; streams have a shorter limit of their own."""
    most_connections: int = 5_000
    """Most connections at a time."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._inner = self.app
        self.app: ASGIApp = self._answered
        self._timers: dict[str, asyncio.TimerHandle] = {}

    async def _answered(self, scope: Message, receive: Receive, send: Send) -> None:
        if len(self.connections) > self.most_connections:
            await answer(_FULL)(scope, receive, send)
            return
        cycle = self.cycle
        more = {ABORT: self.transport.abort, WRITE: _Parts(cycle).write}
        scope["extensions"] = {**scope.get("extensions", {}), **more}
        try:
            await self._inner(scope, receive, send)
        except anyio.get_cancelled_exc_class():
            # Nobody but a server that ends cancels a request, once its seconds of grace are over.
            logger.warning("%s %s was given up: the server ends", scope["method"], scope["path"])
            if cycle.response_started:
                self.transport.abort()
                await anyio.lowlevel.checkpoint()  # the connection is gone when uvicorn looks at it
            else:
                await answer(shutdown())(scope, receive, send)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        line: socket.socket = transport.get_extra_info("socket")
        if line.family in {socket.AF_INET, socket.AF_INET6}:
            # asyncio does so by itself only where the listening socket was told that it speaks TCP. Else the second
            # half of each answer waits until the client acknowledges the first, which takes Linux 40 ms.
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._set("head", self.header_s, self._head_is_late)

    def data_received(self, data: bytes) -> None:
        """Read on; a head that has begun has to end."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unset("head")
        elif "head" not in self._timers and not self.transport.is_closing():
            self._set("head", self.header_s, self._head_is_late)

    def on_response_complete(self) -> None:
        """Read the rest of a body that nobody wants, but not for ever."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._set("drain", self.drain_s, self.transport.abort)
        else:
            self._unset("drain")

    def pause_writing(self) -> None:
        """Stop sending until the client reads, but not for ever."""
        super().pause_writing()
        self._set("stall", self.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Send on."""
        super().resume_writing()
        self._unset("stall")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        for name in tuple(self._timers):
            self._unset(name)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(_MALFORMED)

    def _head_is_late(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(_SLOW)
        else:
            self.transport.close()  # nothing was asked

    def _refuse(self, error: RoundtableError) -> None:
        """Answer outside any request, and end the connection."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()  # an answer has begun; it can only break off
            return
        number = uuid.uuid4().hex
        told = REQUEST_ID.set(number)
        content = to_json(error_body(error))
        REQUEST_ID.reset(told)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(content)),
            "cache-control": "no-store",
            "x-request-id": number,
            "connection": "close",
        }
        for event in (
            h11.Response(status_code=status_of(error), headers=list(headers.items())),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _set(self, name: str, after_s: float, then: Callable[[], None]) -> None:
        self._unset(name)
        self._timers[name] = self.loop.call_later(after_s, then)

    def _unset(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
