"""An event loop on its own thread. It uses the connections to PostgreSQL, for callers in any event loop."""

from __future__ import annotations

import asyncio  # noqa: TID251  (psycopg supports only asyncio)
import logging
import os
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import Event, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from roundtable.core.base.eventloop import Loop, call_soon, running_loop
from roundtable.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["Background", "closed_error"]

T = TypeVar("T")

_log: logging.Logger = logging.getLogger(__name__)

_ABORT_S: Final = 1.0


class Background:
    """An asyncio event loop on a thread that starts with the first call; callers may use any event loop.

    Args:
        name: Name of the thread.
        address: Address of the database, for messages.
    """

    def __init__(self, name: str, address: str) -> None:
        self._name = name
        self._address = address
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed = False
        self._pid = os.getpid()
        self._submitted: list[Callable[[], Coroutine[None, None, None]]] = []
        """Work that callers submitted since the thread last checked; the first item wakes the thread."""
        self._delivered: dict[Loop, list[Callable[[], object]]] = {}
        """Results for each event loop since it was last woken; only for use in the background."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None

    async def call(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Run a coroutine in the background and wait for its result.

        Once submitted, the coroutine runs to its end, even if the caller is cancelled.

        Raises:
            StorageError: The storage is closed, or was opened in another process.
        """
        await checkpoint_if_cancelled()
        done, caller = Event(), running_loop()
        results: list[T] = []
        errors: list[BaseException] = []

        async def run() -> None:
            try:
                results.append(await work())
            except asyncio.CancelledError:
                errors.append(closed_error(self._address))
            except BaseException as error:  # noqa: BLE001  (raised to the caller)
                errors.append(error)
            self._deliver(caller, done.set)

        self.start(run)
        await done.wait()
        if errors:
            try:
                raise errors[0]
            finally:
                errors.clear()  # otherwise, the traceback and this frame would refer to each other
        return results[0]

    def start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Start a coroutine in the background, without waiting for it.

        Raises:
            StorageError: The storage is closed, or was opened in another process.
        """
        if self._pid != os.getpid():
            raise StorageError(
                f"the storage of {self._address!r} was opened in another process",
                hint="Open a new storage in each forked process.",
            )
        with self._lock:
            if self._closed:
                raise StorageError(f"the storage of {self._address!r} is closed", hint="Open a new storage.")
            if self._loop is None:
                self._loop = asyncio.SelectorEventLoop()  # psycopg cannot use the default loop of Windows
                # A daemon thread, so that a script that never closes its storage can still exit.
                self._thread = Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            self._submitted.append(work)
            if len(self._submitted) == 1:
                self._loop.call_soon_threadsafe(self._start_submitted)

    def _start_submitted(self) -> None:
        with self._lock:
            submitted, self._submitted = self._submitted, []
        for work in submitted:
            self.spawn(work())

    def _deliver(self, loop: Loop, callback: Callable[[], object]) -> None:
        """Call a function in an event loop, together with the functions of other results that came at the same time."""
        callbacks = self._delivered.setdefault(loop, [])
        callbacks.append(callback)
        if len(callbacks) == 1:
            asyncio.get_running_loop().call_soon(self._wake, loop)

    def _wake(self, loop: Loop) -> None:
        callbacks = self._delivered.pop(loop)

        def call_all() -> None:
            for callback in callbacks:
                callback()

        if not call_soon(loop, call_all):
            _log.debug("the event loop ended before a result could be delivered")

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Start a coroutine from within the background; `end` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(
        self, last: Callable[[], Coroutine[None, None, None]], *, within_s: float, abort: Callable[[], None]
    ) -> None:
        """Accept no more calls. When all submitted calls have ended, run `last` and end the thread. Returns at once.

        Only the first call has an effect.

        Args:
            last: Runs at the end; must not wait long.
            within_s: Seconds after which calls that still run are stopped; they raise `StorageError`.
            abort: Called in the background before calls are stopped, to break the connections for which they wait.
        """
        with self._lock:
            if not self._closed and self._loop is not None and self._pid == os.getpid():
                self._loop.call_soon_threadsafe(self._finish_soon, last, within_s, abort)
            self._closed = True

    def _finish_soon(
        self, last: Callable[[], Coroutine[None, None, None]], within_s: float, abort: Callable[[], None]
    ) -> None:
        async def finish() -> None:
            try:
                if not await self._all_ended(within_s):
                    abort()
                    if not await self._all_ended(_ABORT_S):
                        for task in self._tasks:
                            task.cancel()
                        await self._all_ended(_ABORT_S)
                await last()
            finally:
                asyncio.get_running_loop().stop()

        self._last = asyncio.get_running_loop().create_task(finish())

    async def _all_ended(self, within_s: float) -> bool:
        """Wait for all tasks, and for tasks that they start meanwhile; return whether all ended in time."""
        deadline = monotonic() + within_s
        while self._tasks:
            left_s = deadline - monotonic()
            if left_s <= 0:
                return False
            await asyncio.wait(self._tasks, timeout=left_s)
        return True

    async def wait_ended(self) -> None:
        """Wait until the thread has ended; call `end` first."""
        await to_thread.run_sync(self.join, abandon_on_cancel=True)

    def join(self, timeout_s: float | None = None) -> None:
        """Block until the thread has ended; call `end` first."""
        thread = self._thread
        if thread is None or self._pid != os.getpid() or thread is current_thread():
            return
        thread.join(timeout_s)


def closed_error(address: str) -> StorageError:
    """Return the error for a call that still ran when its storage was closed and the time for calls was over."""
    return StorageError(
        f"the storage of {address!r} was closed before the database answered; the call may still have taken effect",
        hint="Check the load and the log of the server, and wait for calls before you close the storage.",
        retryable=True,
        details={"path": address, "reason": "closed"},
    )


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
