"""A server on a free port of this machine, for tests of programs that call one."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import uvicorn

__all__ = ["serving"]

_START_S: Final = 30.0
_END_S: Final = 15.0


@contextmanager
def serving(app: Callable[..., Any]) -> Generator[str]:
    """Serve an ASGI application, such as one of `roundtable.server.create_app`, while the block is open.

    It runs on a thread with an event loop of its own, at 127.0.0.1. Needs the extra `server`.

    Args:
        app: The application.

    Yields:
        Its address, such as `http://127.0.0.1:41234`.

    Raises:
        ConfigurationError: It did not start.

    Example:
        >>> from roundtable import Roundtable
        >>> from roundtable.auth import LocalUser
        >>> from roundtable.client import SyncRoundtableClient
        >>> from roundtable.server import create_app
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        >>> with serving(create_app(table, auth=LocalUser())) as url, SyncRoundtableClient(url) as client:
        ...     client.debate("Tea or coffee?", rounds=1).answer
        'Tea'
    """
    import uvicorn

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        # Connections take it over. Else the second half of each answer waits for the client to acknowledge the first.
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1))

        def run() -> None:
            with suppress(SystemExit):  # what it says of an application that does not start
                server.run([taken])

        thread = threading.Thread(target=run, name="roundtable-serving", daemon=True)
        thread.start()
        try:
            _wait_for(server, thread)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(_END_S)


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    end = time.monotonic() + _START_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise ConfigurationError("the application did not start", hint="Look at the log for its error.")
        time.sleep(0.01)
