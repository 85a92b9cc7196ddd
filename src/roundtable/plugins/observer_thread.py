"""Observers of plugins: each runs on its own thread with a bounded queue, so that none can delay a debate."""

from __future__ import annotations

import logging
import queue
import threading
import time
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Final, TypeGuard

import anyio

from roundtable.core.base.registry import HOST
from roundtable.core.base.repeats import is_power_of_ten
from roundtable.core.base.text import error_text
from roundtable.core.capabilities import CallObserver
from roundtable.core.types.chat import ModelCall
from roundtable.logs import ROOT
from roundtable.plugins.errors import make

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.base.registry import Entry, Registry
    from roundtable.core.hooks import ObserverFactory
    from roundtable.core.protocols import Observer
    from roundtable.core.types.events import Event
    from roundtable.settings import Settings

__all__ = ["ObserverThread", "ObserverThreads"]


logger: logging.Logger = logging.getLogger(f"{ROOT}.plugins")

QUEUE: Final = 1024
"""Maximum number of events that can wait for one observer."""
FAILURES: Final = 10
"""Failures in a row after which an observer gets no more events."""
IDLE_S: Final = 5.0
"""Seconds without an event after which an observer's thread ends; the next event starts a new thread."""
CLOSE_S: Final = 2.0
"""Seconds that all observers of a table together have to handle waiting events when the table closes."""


class ObserverThread:
    """Thread that delivers events and model calls to one observer; the debate never waits for it.

    The observer gets a copy of each event, so it cannot change the debate. It also gets the context variables of the
    code that published the event, such as the current span of a trace.

    If the queue is full, further events are dropped, and this is logged once; durable events are still in the storage.

    The first failure of an observer is logged with its traceback; the 10th failure, the 100th and so on are logged with
    the count. After ten failures in a row, the observer gets no more events.

    Args:
        name: Name of the observer in the log.
        observer: An object with `notify(event)`; its `close()`, if it has one, is called at the end.
        most: Maximum number of events that can wait.
        idle_s: Seconds without an event after which the thread ends.
    """

    def __init__(self, name: str, observer: Observer, *, most: int = QUEUE, idle_s: float = IDLE_S) -> None:
        self.name = name
        self.left_out: int = 0
        """Events that were dropped because the queue was full or the observer failed too often."""
        self._observer = observer
        self._idle_s = idle_s
        self._queue: queue.Queue[tuple[Context, Event | ModelCall] | None] = queue.Queue(most)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failures_in_row = 0
        self._failures_in_all = 0
        self._closed = False

    @property
    def wants_pieces(self) -> bool:
        """Whether the observer wants pieces of answers."""
        return getattr(self._observer, "wants_pieces", True) is not False

    @property
    def wants_calls(self) -> bool:
        """Whether the observer wants calls of models."""
        return callable(getattr(self._observer, "notify_call", None))

    def notify_call(self, call: ModelCall) -> None:
        """Queue one call of a model, in its order among the events."""
        self.notify(call)

    def notify(self, event: Event | ModelCall) -> None:
        """Queue one event."""
        if self._closed or self._failures_in_row >= FAILURES:
            self.left_out += 1
            return
        with self._lock:
            try:
                self._queue.put_nowait((copy_context(), event))
            except queue.Full:
                self.left_out += 1
                if self.left_out == 1:
                    logger.warning("the observer %s is too slow: events are dropped", self.name)
                return
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"roundtable-observer-{self.name}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                waiting = self._queue.get(timeout=self._idle_s)
            except queue.Empty:
                with self._lock:
                    # Under the lock, no event can arrive between this check and the return.
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            if waiting is None:
                self._close_observer()
                return
            context, event = waiting
            context.run(self._deliver, event)

    def _deliver(self, event: Event | ModelCall) -> None:
        if self._failures_in_row >= FAILURES:
            self.left_out += 1
            return
        try:
            if not isinstance(event, ModelCall):
                self._observer.notify(event.model_copy(deep=True))
            elif _takes_calls(self._observer):
                self._observer.notify_call(event)
            else:
                return  # no delivery, so the count of failures in a row stays as it is
        # Third-party code: neither SystemExit nor a CancelledError of a call of its own may end this thread.
        except BaseException as error:
            self._failures_in_row += 1
            self._failures_in_all += 1
            last = self._failures_in_row == FAILURES
            if last or is_power_of_ten(self._failures_in_all):
                logger.warning(
                    "the observer %s failed on %s%s: %s: %s%s",
                    self.name,
                    "a call of a model" if isinstance(event, ModelCall) else event.type,
                    f", {self._failures_in_all:,} times so far" if self._failures_in_all > 1 else "",
                    type(error).__name__,
                    error_text(error),
                    "; it gets no more events" if last else "",
                    exc_info=error if self._failures_in_all == 1 else None,
                )
        else:
            self._failures_in_row = 0

    def _close_observer(self) -> None:
        try:
            close = getattr(self._observer, "close", None)
            if close is not None:
                close()
        except BaseException as error:  # noqa: BLE001  (third-party code, as above)
            logger.warning(
                "the observer %s failed to close: %s: %s", self.name, type(error).__name__, error_text(error)
            )

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Wait until all queued events are delivered; return whether this took no longer than the limit. Idempotent."""
        if not self._closed:
            self._closed = True
            deadline = time.monotonic() + timeout_s
            try:
                self._queue.put(None, timeout=timeout_s)
            except queue.Full:
                logger.warning("the observer %s was not done when its table closed", self.name)
                return False
            with self._lock:
                self._start()
                thread = self._thread
            if thread is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
                if thread.is_alive():
                    logger.warning("the observer %s was not done when its table closed", self.name)
                    return False
        return True


class _LateObserver:
    """An observer that is created on its thread when the first event arrives: commands without debates need none.

    If the observer cannot be created, the error is raised once, and further events are dropped.
    """

    def __init__(self, create: Callable[[], Observer]) -> None:
        self._create: Callable[[], Observer] | None = create
        self.observer: Observer | None = None
        """The observer, once it is created."""

    @property
    def wants_pieces(self) -> bool:
        """Whether the observer wants pieces of answers; true until the observer is created."""
        return getattr(self.observer, "wants_pieces", True) is not False

    def notify(self, event: Event) -> None:
        """Pass on one event."""
        if self._create is not None:
            create, self._create = self._create, None
            self.observer = create()
        if self.observer is not None:
            self.observer.notify(event)

    def notify_call(self, call: ModelCall) -> None:
        """Pass on one call of a model, if the observer exists and wants calls."""
        if isinstance(self.observer, CallObserver):
            self.observer.notify_call(call)

    def close(self) -> None:
        """Close the observer, if it was created and can be closed."""
        close: Callable[[], None] | None = getattr(self.observer, "close", None)
        if close is not None:
            close()


def _takes_calls(observer: Observer) -> TypeGuard[CallObserver]:
    """Check whether an observer takes calls of models; an observer that is not created yet takes none."""
    if isinstance(observer, _LateObserver):
        return isinstance(observer.observer, CallObserver)
    return isinstance(observer, CallObserver)


class ObserverThreads:
    """The observers of one table that come from plugins.

    Args:
        observers: Registry of observer factories.
        settings: Settings to pass to the factories.
    """

    def __init__(self, observers: Registry[ObserverFactory], settings: Settings) -> None:
        self._observers = observers
        self._settings = settings
        self._threads: dict[str, ObserverThread] = {}

    def callback_of(self, name: str) -> Callable[[Event], None]:
        """Return the callback of the observer with this name, and start it if needed.

        Raises:
            ConfigurationError: No observer has this name, or the observer needs something that is missing.
            PluginError: The observer could not be created.
        """
        return self._start_observer(self._observers.entry(name))

    def of_plugins(self) -> list[Callable[[Event], None]]:
        """Return the callbacks of observers that loaded plugins registered.

        Each observer is created when a debate begins. If that fails, the failure is logged, and the observer is left
        out.
        """
        callbacks: list[Callable[[Event], None]] = []
        for entry in self._observers:
            if entry.source != HOST and entry.name not in self._threads:
                self._threads[entry.name] = ObserverThread(entry.name, self._late_observer(entry))
                callbacks.append(self._threads[entry.name].notify)
        return callbacks

    def _late_observer(self, entry: Entry[ObserverFactory]) -> _LateObserver:
        return _LateObserver(lambda: make("observer", entry, self._settings))

    def call_functions(self) -> list[Callable[[ModelCall], None]]:
        """Return the callbacks of the observers that want calls of models, or may want them after their creation."""
        return [thread.notify_call for thread in self._threads.values() if thread.wants_calls]

    def _start_observer(self, entry: Entry[ObserverFactory]) -> Callable[[Event], None]:
        if entry.name not in self._threads:
            self._threads[entry.name] = ObserverThread(entry.name, make("observer", entry, self._settings))
        return self._threads[entry.name].notify

    async def aclose(self) -> None:
        """Close all observers within one shared time limit; idempotent."""
        threads = list(self._threads.values())
        if threads:
            await anyio.to_thread.run_sync(_close_all, threads)


def _close_all(threads: list[ObserverThread]) -> None:
    deadline = time.monotonic() + CLOSE_S
    for thread in threads:
        thread.close(max(0.0, deadline - time.monotonic()))
