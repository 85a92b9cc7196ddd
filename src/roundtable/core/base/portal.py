"""One event loop in a background thread, for blocking callers."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar, cast

import anyio
from anyio.from_thread import BlockingPortal

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from types import TracebackType

__all__ = ["BlockingIterator", "Portal", "shared_portal"]


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_CLEAN_UP_S = 15.0
_ON_LOOP_HINT = (
    "Make the function a plain `def`, which runs in a thread; or use the async `Roundtable`, and await its methods."
)
_POLL_S = 0.05
"""Seconds between two checks for a Ctrl-C."""


class _AsyncStream(Protocol[T_co]):
    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    async def __anext__(self) -> T_co: ...


class _Exhausted(Exception):
    """The stream is over. Used because a future cannot hold `StopIteration`."""


class Portal:
    """Runs coroutines on an event loop of its own; callers may be on any thread, also on one with a running loop.

    The thread starts at the first call and ends with the process or at `close`. Coroutines that still run at that time
    are cancelled and may clean up. After a `fork`, the portal starts a new thread in the child process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None

    def _open(self) -> BlockingPortal:
        if self._pid != os.getpid():
            # In a forked process, the thread does not exist, and nobody would release the lock.
            self._lock, self._pid, self._portal, self._thread = threading.Lock(), os.getpid(), None, None
        if self._thread is not None and self._thread.ident == threading.get_ident():
            msg = "a blocking method was called on the event loop that runs it, for example in an async tool"
            raise ConfigurationError(msg, hint=_ON_LOOP_HINT)
        with self._lock:
            if self._portal is None:
                opened: Future[BlockingPortal] = Future()
                self._thread = threading.Thread(target=_serve, args=(opened,), name="roundtable-portal", daemon=True)
                self._thread.start()
                self._portal = opened.result()
                # Finalizers registered with `weakref`, such as those of storages, run together at exit. This makes sure
                # that they run after `close`, because debates that `close` cancels still store something.
                weakref.finalize(self, _do_nothing)
                atexit.register(self.close)
            return self._portal

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function to its end and return its result.

        If the coroutine raises `KeyboardInterrupt` or `SystemExit`, this raises it too, and the loop goes on.

        A `KeyboardInterrupt` in this thread cancels the coroutine and is raised again once the coroutine has cleaned
        up. The same happens after a Ctrl-C that asyncio handles itself: under `asyncio.run`, Ctrl-C raises nothing but
        cancels the main task, which waits here.
        """
        finished = threading.Event()
        endings: list[KeyboardInterrupt | SystemExit] = []

        async def run() -> T | None:
            try:
                return await function()
            except (KeyboardInterrupt, SystemExit) as error:
                endings.append(error)  # raised here, it would end the loop, which all later calls need
                return None
            finally:
                finished.set()

        future = self._open().start_task_soon(run)
        try:
            _wait_for(future)
            result = future.result()
        except KeyboardInterrupt:
            # A cancelled future is done at once, but its task is not.
            if future.cancel():
                finished.wait(_CLEAN_UP_S)
            raise
        if endings:
            raise endings[0]
        return cast("T", result)

    def make(self, function: Callable[[], T]) -> T:
        """Call a function on the loop and return its result; some objects belong to the loop that creates them."""

        async def run() -> T:
            return function()

        return self.call(run)

    def wrap(self, context: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
        """Return an asynchronous context manager as a blocking one; one task enters and leaves it."""
        return self._open().wrap_async_context_manager(context)

    def close(self) -> None:
        """Cancel coroutines that still run, wait until they have cleaned up, and end the thread; idempotent."""
        atexit.unregister(self.close)
        if self._pid != os.getpid():
            return
        with self._lock:
            portal, self._portal = self._portal, None
            thread, self._thread = self._thread, None
        if portal is not None and thread is not None:
            with suppress(RuntimeError):  # it has already stopped
                portal.call(portal.stop, True)  # noqa: FBT003  (the parameter is `cancel_remaining`)
            thread.join()


class BlockingIterator(Generic[T]):
    """A blocking iterator over an asynchronous stream; the loop of a portal reads the stream.

    Args:
        source: The stream, which is also an asynchronous context manager.
        portal: The portal whose loop reads the stream.
    """

    def __init__(self, source: _AsyncStream[T], portal: Portal) -> None:
        self._source = source
        self._portal = portal

    def __enter__(self) -> Self:
        self._portal.call(self._source.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(lambda: self._source.__aexit__(None, None, None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        try:
            return self._portal.call(self._next)
        except _Exhausted:
            raise StopIteration from None

    async def _next(self) -> T:
        try:
            return await self._source.__anext__()
        except StopAsyncIteration:
            raise _Exhausted from None


def _wait_for(future: Future[T]) -> None:
    """Wait until a future is done, or until a task of this thread's blocked event loop is cancelled.

    While the loop is blocked, only the signal handler that asyncio sets for Ctrl-C can cancel a task.

    Raises:
        KeyboardInterrupt: A task was cancelled.
    """
    before = _cancellations()
    if before is None:
        return
    while not wait([future], _POLL_S).done:
        if _cancellations() != before:
            raise KeyboardInterrupt


def _cancellations() -> int | None:
    """Count the cancellations of the tasks of this thread's running asyncio loop; `None` without such a loop."""
    asyncio = sys.modules.get("asyncio")  # slow to import, and a running loop has imported it already
    if asyncio is None or threading.current_thread() is not threading.main_thread():
        return None
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    cancellations: int = sum(task.cancelling() for task in asyncio.all_tasks(loop))
    return cancellations


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


def _do_nothing() -> None:
    """Do nothing, at exit."""


@cache
def shared_portal() -> Portal:
    """Return the shared portal of this process; one thread is enough."""
    return Portal()
