"""Tools for event loops: one value per loop, signals, and functions on threads."""

from __future__ import annotations

import contextvars
import signal
import sys
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import anyio
import sniffio
from anyio import Event
from anyio.lowlevel import current_token

from roundtable.core.base.text import error_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import TaskStatus

__all__ = [
    "ClosedWithLoop",
    "Loop",
    "PerLoop",
    "as_exception",
    "call_soon",
    "ends_at_once",
    "ends_program",
    "import_on_thread",
    "on_thread",
    "receive_signals",
    "running_loop",
    "until_one_ends",
]

T = TypeVar("T")

_IMPORTED: Final[set[str]] = set()
"""Modules whose import is complete; `sys.modules` also holds modules that are still being imported."""


class Loop(Protocol):
    """An event loop of asyncio or trio, as used from another thread."""

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> object:
        """Call a function in the loop (asyncio)."""

    def run_sync_soon(self, callback: Callable[[], object], /) -> object:
        """Call a function in the loop (trio)."""


def running_loop() -> Loop:
    """Return the event loop that runs this code."""
    return cast("Loop", current_token().native_token)


def call_soon(loop: Loop, callback: Callable[[], object]) -> bool:
    """Schedule a call in an event loop, from any thread, without waiting for it.

    A stopped loop may accept a call that it never makes, so never wait for the call without a time limit.

    Returns:
        Whether the loop accepted the call; `False` if the loop was closed.
    """
    schedule = loop.call_soon_threadsafe if hasattr(loop, "call_soon_threadsafe") else loop.run_sync_soon
    try:
        schedule(callback)
    except RuntimeError:
        return False
    return True


def _ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that ask this process to end; an empty tuple if this code cannot receive signals."""
    if sys.platform == "win32" or current_thread() is not main_thread():
        return ()
    signals = signal.SIGINT, signal.SIGTERM
    # `nohup` makes the process ignore SIGHUP.
    return signals if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*signals, signal.SIGHUP)


def ends_at_once(number: signal.Signals) -> bool:
    """Check whether a second signal of this kind asks the process to end at once.

    SIGHUP does not: both the shell and the system send it when a terminal closes.
    """
    return number in {signal.SIGINT, signal.SIGTERM}


@asynccontextmanager
async def receive_signals(take: Callable[[signal.Signals], object]) -> AsyncGenerator[None]:
    """Call a function with each SIGINT, SIGTERM and SIGHUP while the block is open.

    On Windows and outside the main thread, the function is never called. The block's exceptions are raised unchanged,
    without an exception group.

    Args:
        take: Called in the event loop.
    """
    signals, errors = _ending_signals(), list[Exception | KeyboardInterrupt | SystemExit]()

    async def receive(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*signals) as received:
            task_status.started()
            async for number in received:
                take(number)

    async with anyio.create_task_group() as group:
        if signals:
            await group.start(receive)
        try:
            yield
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (raised below)
            errors.append(error)
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]


def ends_program(error: BaseException) -> bool:
    """Check whether an exception must end the program: `KeyboardInterrupt` or `SystemExit` in the main thread.

    On other threads, Ctrl-C never arrives, and such an exception would only end the event loop of the thread.
    """
    is_ending = isinstance(error, KeyboardInterrupt | SystemExit)
    return is_ending and current_thread() is main_thread()


async def until_one_ends(*functions: Callable[[], Awaitable[object]]) -> None:
    """Run functions at the same time until one returns or fails; the others are cancelled.

    Raises:
        Exception: The error of the first function that failed, not in an exception group; also `KeyboardInterrupt`
            and `SystemExit`.
    """
    errors: list[Exception | KeyboardInterrupt | SystemExit] = []

    async def run(function: Callable[[], Awaitable[object]]) -> None:
        try:
            await function()
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (raised below, as itself)
            errors.append(error)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for function in functions:
            group.start_soon(run, function)
    if errors:
        raise errors[0]


class PerLoop(Generic[T]):
    """One value for each event loop, made on the first call in that loop.

    Event loops must not share connections and limiters, but one model is sometimes used in two loops. A script may run
    one loop after another. A notebook may use the model in its own loop, and in the loop of the synchronous facade.

    Args:
        make: Makes the value; called inside the loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._factory = make
        self._values: WeakKeyDictionary[object, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the value of the running event loop."""
        loop = current_token().native_token
        value = self._values.get(loop)
        if value is None:
            self._forget_closed()
            value = self._values[loop] = self._factory()
        return value

    def pop(self) -> T | None:
        """Remove and return the value of the running event loop; `None` if there is none."""
        return self._values.pop(current_token().native_token, None)

    def for_each(self, act: Callable[[T], object]) -> None:
        """Call a function with each value: now for the running loop, and later, in its own loop, for any other loop."""
        try:
            here: object = current_token().native_token
        except RuntimeError:  # no event loop runs this code
            here = None
        for loop, value in list(self._values.items()):
            if loop is here:
                act(value)
            else:
                call_soon(cast("Loop", loop), partial(act, value))

    def _forget_closed(self) -> None:
        # A connection refers to its loop, so a closed loop would otherwise live as long as this object.
        for loop in list(self._values):
            is_closed = getattr(loop, "is_closed", None)
            if is_closed is not None and is_closed():
                del self._values[loop]


def _do_nothing() -> None:
    """Do nothing."""


async def _closing(close: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await close()


class ClosedWithLoop:
    """Closes something when its asyncio loop ends, or when this object is dropped while the loop runs.

    asyncio ends the asynchronous generators of a loop before the loop, and a dropped one in a task of its loop. Trio
    warns about generators that are dropped, so on other loops only `aclose` closes.

    Args:
        close: Closes the thing, in the running event loop.
    """

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        self._close = close
        self._generator: AsyncGenerator[None] | None = None
        if sniffio.current_async_library() == "asyncio":
            self._generator = _closing(close)
            with suppress(StopIteration):  # the first step waits for nothing
                self._generator.asend(None).send(None)

    async def aclose(self) -> None:
        """Close the thing now; idempotent."""
        if self._generator is None:
            await self._close()
        else:
            await self._generator.aclose()


async def on_thread(
    function: Callable[[], T], *, name: str, ended: Callable[[], None] = _do_nothing, daemon: bool = True
) -> T:
    """Run a function on its own thread and wait for it.

    A cancellation ends the wait at once. The function itself cannot be stopped: it continues, and its result is
    dropped.

    Args:
        function: What to run.
        name: Name of the thread.
        ended: Called in the event loop once the function has ended, even if the wait was cancelled.
        daemon: Whether the program may end while the function runs.

    Raises:
        Exception: The error that the function raises.
        RuntimeError: The function raised `SystemExit` or another exception that ends programs.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done, loop = Event(), running_loop()

    def settle() -> None:
        ended()
        done.set()

    def work() -> None:
        try:
            results.append(context.run(function))
        except BaseException as error:  # noqa: BLE001  (raised to the caller)
            errors.append(error)
        call_soon(loop, settle)  # if the loop has ended, nothing waits

    context = contextvars.copy_context()
    try:
        Thread(target=work, name=name, daemon=daemon).start()
    except BaseException:  # the system cannot start another thread
        ended()
        raise
    await done.wait()
    if errors:
        raise as_exception(errors[0])
    return results[0]


def as_exception(error: BaseException) -> Exception:
    """Return the error of a function on a thread: as it is, or a `RuntimeError` if it would end the caller's task."""
    if isinstance(error, Exception):
        return error
    failure = RuntimeError(f"the function raised {type(error).__name__}: {error_text(error)}")
    failure.__cause__ = error
    return failure


async def import_on_thread(*names: str) -> None:
    """Import modules on another thread, once per process, without blocking the event loop.

    Args:
        names: Full names of the modules.

    Raises:
        ImportError: One of the modules cannot be imported.
    """
    missing = tuple(name for name in names if name not in _IMPORTED)
    if missing:
        await on_thread(partial(_import_all, missing), name="roundtable imports")


def _import_all(names: tuple[str, ...]) -> None:
    for name in names:
        import_module(name)
        _IMPORTED.add(name)
