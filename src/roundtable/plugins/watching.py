"""Observers of plugins: each on a thread of its own behind a bounded queue, so that none can hold up a debate."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Final

import anyio

from roundtable._foreign import error_text
from roundtable._registry import HOST
from roundtable.errors import ConfigurationError, PluginError
from roundtable.logs import ROOT
from roundtable.plugins.using import make

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable._registry import Entry, Registry
    from roundtable.plugins.registrar import ObserverFactory
    from roundtable.protocols import Observer
    from roundtable.settings import Settings
    from roundtable.types import Event

__all__ = ["Watcher", "Watchers"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.plugins")

QUEUE: Final = 1024
"""Events that may wait for one observer."""
FAILURES: Final = 10
"""Failures in a row after which an observer is told nothing more."""
IDLE_S: Final = 5.0
"""Seconds without an event after which its thread ends; the next event starts another."""
CLOSE_S: Final = 2.0
"""Seconds that all observers of a table have at its end for what still waits."""


class Watcher:
    """Hands events to one observer on a thread of its own; never waits for it.

    It is given a copy of each event, so nothing that it does reaches the debate. When too many wait, further ones are
    left out, which is logged once; the durable ones are in the storage. An observer that fails is logged, and after
    ten failures in a row it hears nothing more.

    Args:
        name: What to call it in the log.
        observer: Has `notify(event)`; `close()`, where it has one, is called at the end.
        most: Events that may wait.
        idle_s: Seconds without an event after which the thread ends.
    """

    def __init__(self, name: str, observer: Observer, *, most: int = QUEUE, idle_s: float = IDLE_S) -> None:
        self.name = name
        self.left_out: int = 0
        """Events it was not told, because too many waited or it failed too often."""
        self._observer = observer
        self._idle_s = idle_s
        self._queue: queue.Queue[Event | None] = queue.Queue(most)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._closed = False

    def notify(self, event: Event) -> None:
        """Take one event."""
        if self._closed or self._failures >= FAILURES:
            self.left_out += 1
            return
        with self._lock:
            try:
                self._queue.put_nowait(event)
            except queue.Full:
                self.left_out += 1
                if self.left_out == 1:
                    logger.warning("the observer %s is too slow: events are left out", self.name)
                return
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"roundtable-observer-{self.name}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                event = self._queue.get(timeout=self._idle_s)
            except queue.Empty:
                with self._lock:
                    # Under the lock nothing can be put in between looking and leaving.
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            if event is None:
                self._tell_end()
                return
            self._tell(event)

    def _tell(self, event: Event) -> None:
        if self._failures >= FAILURES:
            self.left_out += 1
            return
        try:
            self._observer.notify(event.model_copy(deep=True))
        # Foreign code on a thread that is ours: one that wants to end the program ends nothing.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self._failures += 1
            last = "; it hears nothing more" if self._failures == FAILURES else ""
            logger.warning(
                "the observer %s failed on %s: %s: %s%s",
                self.name,
                event.type,
                type(error).__name__,
                error_text(error),
                last,
            )
        else:
            self._failures = 0

    def _tell_end(self) -> None:
        close = getattr(self._observer, "close", None)
        if close is None:
            return
        try:
            close()
        except (Exception, SystemExit) as error:  # noqa: BLE001  (foreign code, as above)
            logger.warning(
                "the observer %s failed at its end: %s: %s", self.name, type(error).__name__, error_text(error)
            )

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Wait until all that waits is told; tell whether it was in time. Idempotent."""
        if not self._closed:
            self._closed = True
            until = time.monotonic() + timeout_s
            try:
                self._queue.put(None, timeout=timeout_s)
            except queue.Full:
                logger.warning("the observer %s was not done when its table closed", self.name)
                return False
            with self._lock:
                self._start()
                thread = self._thread
            if thread is not None:
                thread.join(max(0.0, until - time.monotonic()))
                if thread.is_alive():
                    logger.warning("the observer %s was not done when its table closed", self.name)
                    return False
        return True


class Watchers:
    """The observers that plugins bring to one table.

    Args:
        observers: Where they are found.
        settings: What they are made with.
    """

    def __init__(self, observers: Registry[ObserverFactory], settings: Settings) -> None:
        self._observers = observers
        self._settings = settings
        self._watching: dict[str, Watcher] = {}

    def named(self, name: str) -> Callable[[Event], None]:
        """Give the observer of this name.

        Raises:
            ConfigurationError: There is none, or it lacks something.
            PluginError: It cannot be made.
        """
        return self._watch(self._observers.entry(name))

    def of_plugins(self) -> list[Callable[[Event], None]]:
        """Give what loaded plugins brought unasked; one that cannot be made is logged and left out."""
        found = []
        for entry in self._observers:
            if entry.source == HOST or entry.name in self._watching:
                continue
            try:
                found.append(self._watch(entry))
            except (ConfigurationError, PluginError) as error:
                logger.warning("the observer %s is left out: %s", entry.name, error.message)
        return found

    def _watch(self, entry: Entry[ObserverFactory]) -> Callable[[Event], None]:
        if entry.name not in self._watching:
            self._watching[entry.name] = Watcher(entry.name, make("observer", entry, self._settings))
        return self._watching[entry.name].notify

    async def aclose(self) -> None:
        """Give every observer the same while for what still waits; idempotent."""
        watching = list(self._watching.values())
        if watching:
            await anyio.to_thread.run_sync(_close_all, watching)


def _close_all(watching: list[Watcher]) -> None:
    until = time.monotonic() + CLOSE_S
    for watcher in watching:
        watcher.close(max(0.0, until - time.monotonic()))
