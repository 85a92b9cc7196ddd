"""Running the server: listening, and leaving in good order."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Final

import anyio
import uvicorn

from roundtable.auth.guard import is_this_machine
from roundtable.auth.ports import BACKLOG, address_of, listen
from roundtable.errors import ConfigurationError
from roundtable.server.wire import WireProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from anyio.abc import TaskStatus
    from fastapi import FastAPI

    from roundtable.server.state import ServerState

__all__ = ["serve"]

_GRACE_S: Final = 5
"""Seconds that requests under way have to end; streams are told to."""
_KEEP_ALIVE_S: Final = 75
"""Longer than proxies keep an idle connection, so that none is closed just as a request comes along it."""
_MOST_FILES: Final = 16_384
_SEND_BYTES: Final = 64 * 1024
"""What the system keeps for a client that does not read, doubled by Linux; without it, megabytes."""


async def serve(
    app: FastAPI,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    reuse_port: bool = False,
    drain_s: float = 0.0,
    listening: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve an application of `create_app` until the process is asked to end, by SIGINT or SIGTERM.

    Then `/ready` says no; after `drain_s` seconds nothing new is accepted, each open stream gets a last event,
    requests have five seconds to end, and debates that run are paused, to be resumed by whoever serves next. A second
    signal gives up requests at once.

    Args:
        app: The application.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        reuse_port: Whether several processes may listen on the same port; the system spreads connections over them.
        drain_s: Seconds for which it goes on when asked to end, so that a load balancer learns that it is not ready.
        listening: Is told the URL once requests are answered.

    Raises:
        ConfigurationError: The port is taken, or everybody on the network could use the server without a token.
    """
    if not app.state.asks and not is_this_machine(host):
        msg = f"a server that asks for no token may only listen on this machine, not on {host!r}"
        raise ConfigurationError(msg, hint="Leave out `auth=LocalUser()`, or listen on 127.0.0.1.")
    _allow_files()
    server = _Server(app, drain_s)
    with listen(host, port, reuse_port=reuse_port) as taken:
        # Connections take it over.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        with _heap_at_rest():
            await _run(server, taken, listening)


async def _run(server: _Server, taken: socket.socket, listening: Callable[[str], None]) -> None:
    async with anyio.create_task_group() as group:
        if sys.platform != "win32" and current_thread() is main_thread():
            await group.start(server.hear_signals)
        group.start_soon(server.tell, address_of(taken), listening)
        await server.serve([taken])
        group.cancel_scope.cancel()


@contextmanager
def _heap_at_rest() -> Generator[None]:
    """Have looks for garbage pass over all that is there before the first request: modules, schemas, routes.

    Each full look goes through all of it else, finds nothing, and stops every request and stream meanwhile.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _Server(uvicorn.Server):
    """Takes leave of those who listen before it waits for them."""

    def __init__(self, app: FastAPI, drain_s: float) -> None:
        config = uvicorn.Config(
            app,
            http=WireProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # Who calls is known by a token, never by what a header says of an address.
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=_KEEP_ALIVE_S,
            backlog=BACKLOG,
        )
        super().__init__(config)
        self._app = app
        self._drain_s = drain_s
        self._hurried = anyio.Event()

    async def hear_signals(self, *, task_status: TaskStatus[None]) -> None:
        """Take the first signal for a request to end, and the second for one to hurry."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for _ in signals:
                if self.should_exit:
                    self._hurried.set()
                    self._drop()
                self.should_exit = True

    async def tell(self, url: str, listening: Callable[[str], None]) -> None:
        """Say that requests are answered, once they are."""
        while not self.started:  # noqa: ASYNC110  (uvicorn tells nobody)
            await anyio.sleep(0.01)
        listening(url)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to `hear_signals`: uvicorn would raise them again at the end."""
        if sys.platform == "win32":
            with super().capture_signals():
                yield
        else:
            yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that others should be asked, then end streams, and then all else."""
        state: ServerState = self._app.state.roundtable
        state.readiness.is_ending = True
        with anyio.move_on_after(self._drain_s):
            await self._hurried.wait()
        state.streams.end()
        if self._hurried.is_set():
            self._drop()
        await super().shutdown(sockets)

    def _drop(self) -> None:
        """Give up all requests under way."""
        for task in self.server_state.tasks:
            task.cancel()
        for connection in self.server_state.connections:
            connection.transport.abort()


def _allow_files() -> None:
    """Let as many connections be open as the system allows this process; many begin with 1,024."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
