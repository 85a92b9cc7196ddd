"""Run the server: listen, serve HTTP through uvicorn, and shut down gracefully."""

from __future__ import annotations

import gc
import socket
import sys
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import h11
import uvicorn
from pydantic_core import to_json

from roundtable.auth.connection import TimedConnection
from roundtable.auth.guard import is_this_machine
from roundtable.auth.listening import BACKLOG, address_of, listen
from roundtable.core.base.eventloop import ends_at_once, receive_signals
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.server.connections import shutdown
from roundtable.server.errors import answer, error_body, status_of
from roundtable.server.request_context import REQUEST_ID, logger
from roundtable.server.streams import ABORT, WRITE

if TYPE_CHECKING:
    import asyncio  # noqa: TID251  (uvicorn supports nothing else)
    import signal
    from collections.abc import Callable, Generator
    from typing import Any

    from fastapi import FastAPI
    from uvicorn.config import Config
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle
    from uvicorn.server import ServerState as UvicornState

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.server.state import ServerState

__all__ = ["WireProtocol", "serve"]

_MALFORMED: Final = RoundtableError("the request is not valid HTTP/1.1", code="VALIDATION_ERROR")
_SLOW: Final = RoundtableError("the head of the request did not arrive in time", code="REQUEST_TIMEOUT")
_FULL: Final = RoundtableError(
    "the server has too many open connections",
    code="SERVER_BUSY",
    retryable=True,
    retry_after_s=5,
    hint="Try again in a few seconds.",
)

_GRACE_S: Final = 5
"""Seconds in which running requests must end after the streams were ended."""
_KEEP_ALIVE_S: Final = 75
"""Longer than proxies keep idle connections, so the server never closes one just as a request arrives."""
_MAX_FILES: Final = 16_384


class _PartWriter:
    """Writes parts of one response directly to the connection; see `WRITE`."""

    __slots__ = ("_cycle", "_is_chunked")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._is_chunked = False

    def write(self, part: bytes) -> bool:
        """Send a part if this is possible without waiting; return whether it was sent."""
        cycle = self._cycle
        is_open = cycle.response_started and not cycle.response_complete and not cycle.disconnected
        if not is_open or cycle.flow.write_paused or cycle.scope["method"] == "HEAD" or not part:
            return False
        framed = b"%x\r\n%b\r\n" % (len(part), part)
        if not self._is_chunked:
            # h11 decides whether the response is chunked, which its first part shows. After that its state does not
            # change, so later parts don't need h11.
            chunk, framed = framed, cycle.conn.send(h11.Data(data=part)) or b""
            self._is_chunked = framed == chunk
        cycle.transport.write(framed)
        return True


class WireProtocol(TimedConnection):
    """One connection of `uvicorn.Config(app, http=WireProtocol)`.

    - The head of a request must arrive within `header_s` seconds.
    - A client that reads nothing for `stall_s` seconds is disconnected; streams have their own shorter limit.
    - The rest of a refused body is read for `drain_s` seconds.
    - While there are more than `most_connections` connections, requests are answered with 503.
    - Data that is not HTTP is answered with an error in the usual format.

    Subclass it to set other values.
    """

    drain_s: float = 2.0
    """Seconds for which the rest of a body is read after the response; without this, the response could be lost."""
    most_connections: int = 5_000
    """Maximum number of open connections."""

    def __init__(
        self,
        config: Config,
        server_state: UvicornState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._inner = self.app
        self.app: ASGIApp = self._handle

    async def _handle(self, scope: Message, receive: Receive, send: Send) -> None:
        if len(self.connections) > self.most_connections:
            await answer(_FULL)(scope, receive, send)
            return
        cycle = self.cycle
        extensions = {ABORT: self.transport.abort, WRITE: _PartWriter(cycle).write}
        scope["extensions"] = {**scope.get("extensions", {}), **extensions}
        try:
            await self._inner(scope, receive, send)
        except anyio.get_cancelled_exc_class():
            # Requests are cancelled only when the server shuts down, after the grace period.
            logger.warning("%s %s was cancelled: the server is shutting down", scope["method"], scope["path"])
            if cycle.response_started:
                self.transport.abort()
                await anyio.lowlevel.checkpoint()  # the connection is closed before uvicorn checks it
            else:
                await answer(shutdown())(scope, receive, send)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Wait for a request, with a time limit."""
        super().connection_made(transport)
        connection: socket.socket = transport.get_extra_info("socket")
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            # asyncio does this by itself only if the listening socket names the protocol TCP. Without this option, the
            # second half of each response waits until the client acknowledges the first half, which takes 40 ms on
            # Linux.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def on_response_complete(self) -> None:
        """Read the rest of a refused body, with a time limit."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.set_timer("drain", self.drain_s, self.transport.abort)
        else:
            self.cancel_timer("drain")

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not valid HTTP."""
        self._refuse(_MALFORMED)

    def on_late_head(self) -> None:
        """Answer a head that did not arrive in time, or close the connection if no request has started."""
        if self.conn.trailing_data[0]:
            self._refuse(_SLOW)
        else:
            super().on_late_head()

    def _refuse(self, error: RoundtableError) -> None:
        """Send an error outside any request, and close the connection."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.close_in_time()  # a response that has started can only be cut off
            return
        request_id = uuid.uuid4().hex
        reset_token = REQUEST_ID.set(request_id)
        content = to_json(error_body(error))
        REQUEST_ID.reset(reset_token)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(content)),
            "cache-control": "no-store",
            "x-request-id": request_id,
            "connection": "close",
        }
        for event in (
            h11.Response(status_code=status_of(error), headers=list(headers.items())),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.close_in_time()


async def serve(
    app: FastAPI,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    reuse_port: bool = False,
    drain_s: float = 0.0,
    listening: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve an application of `create_app` until SIGINT, SIGTERM or SIGHUP.

    After a signal, `/ready` answers with 503. After another `drain_s` seconds:

    - the server accepts no more connections;
    - each open stream gets a last event;
    - requests have five seconds to end;
    - running debates are paused, so that the next server can resume them.

    A second signal cancels requests at once.

    Args:
        app: The application.
        host: Address to listen on.
        port: Port; 0 picks a free one.
        reuse_port: Whether several processes may listen on the same port; the operating system distributes connections
            among them.
        drain_s: Seconds to keep serving after a signal, so that a load balancer notices that the server is not ready.
        listening: Called with the URL once the server accepts requests.

    Raises:
        ConfigurationError: The port is taken, or anyone on the network could use the server without a token.
    """
    if not app.state.asks and not is_this_machine(host):
        msg = f"a server without tokens may only listen on this machine, not on {host!r}"
        raise ConfigurationError(msg, hint="Leave out `auth=LocalUser()`, or listen on 127.0.0.1.")
    _raise_file_limit()
    server = _Server(app, drain_s)
    with listen(host, port, reuse_port=reuse_port) as listener, _frozen_heap():
        await _run(server, listener, listening)


async def _run(server: _Server, listener: socket.socket, listening: Callable[[str], None]) -> None:
    async with receive_signals(server.on_signal), anyio.create_task_group() as group:
        group.start_soon(server.report_start, address_of(listener), listening)
        await server.serve([listener])
        group.cancel_scope.cancel()


@contextmanager
def _frozen_heap() -> Generator[None]:
    """Exclude objects that exist before the first request from garbage collection: modules, schemas, routes and others.

    Otherwise each full collection would check all of them, find nothing, and block every request and stream meanwhile.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _Server(uvicorn.Server):
    """A uvicorn server that ends event streams before it waits for requests to finish."""

    def __init__(self, app: FastAPI, drain_s: float) -> None:
        config = uvicorn.Config(
            app,
            http=WireProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # Callers are identified by tokens, never by an address in a header.
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=_KEEP_ALIVE_S,
            backlog=BACKLOG,
        )
        super().__init__(config)
        self._app = app
        self._drain_s = drain_s
        self._stop_requested = False
        self._hurry = anyio.Event()

    def on_signal(self, number: signal.Signals) -> None:
        """Shut down at the first signal, and cancel requests at the second."""
        if self._stop_requested and ends_at_once(number):
            self._hurry.set()
            self._cancel_requests()
        self._stop_requested = self._stop_requested or ends_at_once(number)
        self.should_exit = True

    async def report_start(self, url: str, listening: Callable[[str], None]) -> None:
        """Call `listening` once the server accepts requests."""
        while not self.started:  # noqa: ASYNC110  (uvicorn has no event for it)
            await anyio.sleep(0.01)
        listening(url)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to `on_signal`, because uvicorn would raise them again at the end."""
        if sys.platform == "win32":
            with super().capture_signals():
                yield
        else:
            yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Report that the server is not ready, end streams, and then shut down."""
        state: ServerState = self._app.state.roundtable
        state.readiness.is_ending = True
        with anyio.move_on_after(self._drain_s):
            await self._hurry.wait()
        state.streams.end()
        if self._hurry.is_set():
            self._cancel_requests()
        await super().shutdown(sockets)

    def _cancel_requests(self) -> None:
        """Cancel all running requests."""
        for task in self.server_state.tasks:
            task.cancel()
        for connection in self.server_state.connections:
            connection.transport.abort()


def _raise_file_limit() -> None:
    """Raise the limit of open files, up to 16,384 if the system allows it; the default of many systems is 1,024."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
