"""One event loop in a background thread, for callers that block."""

from __future__ import annotations

import atexit
import os
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from anyio.from_thread import start_blocking_portal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from anyio.from_thread import BlockingPortal

__all__ = ["Portal"]

T = TypeVar("T")
_CLEAN_UP_S = 15.0


class Portal:
    """Runs coroutines on an event loop of its own, from any thread, also one whose loop is running.

    The thread starts at the first call and ends with the process or at `close`. A portal inherited
    through `fork` starts a thread of its own in the child.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._portal: BlockingPortal | None = None
        self._context: AbstractContextManager[BlockingPortal] | None = None

    def _open(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None or self._pid != os.getpid():
                self._context = start_blocking_portal("asyncio")
                self._portal = self._context.__enter__()
                self._pid = os.getpid()
                atexit.register(self.close)
            return self._portal

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function to its end and give what it returns.

        A `KeyboardInterrupt` cancels it, waits until it has cleaned up, and goes on.
        """
        future = self._open().start_task_soon(function)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            with suppress(CancelledError, TimeoutError):
                future.result(timeout=_CLEAN_UP_S)
            raise

    def wrap(self, context: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
        """Give an asynchronous context manager as a blocking one; entered and left in one task."""
        return self._open().wrap_async_context_manager(context)

    def close(self) -> None:
        """End the thread; idempotent."""
        with self._lock:
            context, self._portal, self._context = self._context, None, None
        atexit.unregister(self.close)
        if context is not None and self._pid == os.getpid():
            context.__exit__(None, None, None)
