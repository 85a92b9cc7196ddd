"""One event loop in a background thread, for callers that block."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

__all__ = ["Portal", "shared_portal"]

T = TypeVar("T")
_CLEAN_UP_S = 15.0


class Portal:
    """Runs coroutines on an event loop of its own, from any thread, also one whose loop is running.

    The thread starts at the first call and ends with the process or at `close`; what still runs then is
    cancelled and may clean up. A portal inherited through `fork` starts a thread of its own in the child.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None

    def _open(self) -> BlockingPortal:
        if self._pid != os.getpid():
            # Neither the thread nor a holder of the lock has come along into this process.
            self._lock, self._pid, self._portal, self._thread = threading.Lock(), os.getpid(), None, None
        with self._lock:
            if self._portal is None:
                opened: Future[BlockingPortal] = Future()
                self._thread = threading.Thread(target=_serve, args=(opened,), name="roundtable-portal", daemon=True)
                self._thread.start()
                self._portal = opened.result()
                # Finalizers registered with `weakref`, such as those of storages, run at exit in one go. This
                # makes sure that they come later than `close`, whose debates still have something to store.
                weakref.finalize(self, _nothing)
                atexit.register(self.close)
            return self._portal

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function to its end and give what it returns.

        A `KeyboardInterrupt` cancels it, waits until it has cleaned up, and goes on.
        """
        over = threading.Event()

        async def run() -> T:
            try:
                return await function()
            finally:
                over.set()

        future = self._open().start_task_soon(run)
        try:
            return future.result()
        except KeyboardInterrupt:
            # A cancelled future is done at once, its task is not.
            if future.cancel():
                over.wait(_CLEAN_UP_S)
            raise

    def wrap(self, context: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
        """Give an asynchronous context manager as a blocking one; entered and left in one task."""
        return self._open().wrap_async_context_manager(context)

    def close(self) -> None:
        """Cancel what still runs, wait until it has cleaned up, and end the thread; idempotent."""
        atexit.unregister(self.close)
        if self._pid != os.getpid():
            return
        with self._lock:
            portal, self._portal = self._portal, None
            thread, self._thread = self._thread, None
        if portal is not None and thread is not None:
            with suppress(RuntimeError):  # it has stopped by itself
                portal.call(portal.stop, True)  # noqa: FBT003  (the parameter is `cancel_remaining`)
            thread.join()


def _serve(opened: Future[BlockingPortal]) -> None:
    async def hold() -> None:
        async with BlockingPortal() as portal:
            opened.set_result(portal)
            await portal.sleep_until_stopped()

    try:
        anyio.run(hold)
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)


def _nothing() -> None:
    """Do nothing, at exit."""


@cache
def shared_portal() -> Portal:
    """Give the one portal of this process; several would be several threads for nothing."""
    return Portal()
