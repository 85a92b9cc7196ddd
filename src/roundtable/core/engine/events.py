"""Publish events to observers and subscribers, without ever waiting for them."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio

from roundtable.core.base.eventloop import call_soon, ends_program, running_loop
from roundtable.core.base.repeats import is_power_of_ten
from roundtable.core.base.text import error_text
from roundtable.core.capabilities import Notify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from roundtable.core.protocols import Storage
    from roundtable.core.types.events import DurableEvent, Event, LiveEvent

__all__ = ["EventHub", "LogReader", "Subscription", "notices"]


LogReader: TypeAlias = "Callable[[int], Awaitable[Sequence[DurableEvent]]]"
"""Returns the stored events of a session numbered above a number, in order."""

logger: logging.Logger = logging.getLogger("roundtable.engine")

_QUEUE_SIZE = 256


class EventHub:
    """Publishes events of running sessions to subscribers in this process.

    Publishing never blocks. A subscriber that falls behind loses live events; the next live event has the number of
    lost ones, and the subscriber reads the durable events from the storage. An observer that fails still gets the next
    event. The log has the traceback of its first failure, and a line with the count at the 10th, 100th, 1,000th failure
    and so on.

    Args:
        observers: Functions called with every event of every session.
    """

    def __init__(self, observers: Iterable[Callable[[Event], None]] = ()) -> None:
        self._observers = tuple(observers)
        self._failures = [0] * len(self._observers)
        self._subscribers: dict[str, list[Subscription]] = {}

    def publish(self, event: DurableEvent | LiveEvent) -> None:
        """Send an event to all observers, and to all subscribers of its session."""
        for number, observe in enumerate(self._observers):
            try:
                observe(event)
            except (Exception, KeyboardInterrupt, SystemExit) as error:  # observers may be third-party code
                if ends_program(error):
                    raise
                self._failures[number] += 1
                _log_failure(error, event, self._failures[number])
        # Iterate over a copy: meanwhile, a subscriber may leave, or another thread may subscribe.
        for subscriber in tuple(self._subscribers.get(event.session_id, ())):
            subscriber.offer(event)

    def has_listeners(self, session_id: str) -> bool:
        """Check whether a session has any listeners."""
        return bool(self._observers) or session_id in self._subscribers

    def hears_pieces(self, session_id: str) -> bool:
        """Check whether an observer or a subscriber of a session wants pieces of answers."""
        if not all(map(_is_quiet, self._observers)):
            return True
        return any(subscriber.pieces for subscriber in tuple(self._subscribers.get(session_id, ())))

    @property
    def wants_pieces(self) -> bool:
        """Whether any listener of any session wants pieces of answers; a hub can be the observer of another hub."""
        sessions = tuple(self._subscribers)
        return any(self.hears_pieces(session) for session in sessions) or not all(map(_is_quiet, self._observers))

    def subscribe(
        self,
        session_id: str,
        storage: Storage,
        *,
        after: int = 0,
        tenant: str = "default",
        pieces: bool = True,
        read: LogReader | None = None,
    ) -> Subscription:
        """Subscribe to a session.

        Args:
            session_id: The session.
            storage: Where its events are stored.
            after: Number of a stored event; the subscription starts with the next one.
            tenant: Tenant of the session.
            pieces: Whether the subscriber wants pieces of answers; if no listener wants them, models do not stream.
            read: Reads the stored events, for example once for many subscribers; `storage.read` when left out.
        """
        subscription = Subscription(self, session_id, storage, after, tenant, pieces=pieces, read=read)
        self._subscribers.setdefault(session_id, []).append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Remove a subscriber; idempotent."""
        subscribers = self._subscribers.get(subscription.session_id, [])
        if subscription in subscribers:
            subscribers.remove(subscription)
        if not subscribers:
            self._subscribers.pop(subscription.session_id, None)


def notices(
    storage: Storage, session_id: str, heard: Callable[[], object], *, tenant: str
) -> AbstractContextManager[None]:
    """Call `heard` when other processes store events of a session, while the block is open.

    This does nothing if the storage cannot send notices.

    Args:
        storage: The storage, of any kind.
        session_id: The session.
        heard: Called on any thread.
        tenant: Tenant of the session.
    """
    return storage.listen(session_id, heard, tenant=tenant) if isinstance(storage, Notify) else nullcontext()


def _is_quiet(observe: Callable[[Event], None]) -> bool:
    """Check whether an observer (a function, or a method of an object) needs no pieces of answers."""
    return getattr(getattr(observe, "__self__", observe), "wants_pieces", True) is False


def _log_failure(error: BaseException, event: Event, failures: int) -> None:
    if not is_power_of_ten(failures):
        return
    logger.warning(
        "an observer failed on %s%s: %s: %s",
        event.type,
        f", {failures:,} times so far" if failures > 1 else "",
        type(error).__name__,
        error_text(error),
        exc_info=error if failures == 1 else None,
        extra={"session": event.session_id},
    )


class Subscription:
    """A subscriber's position in the log: the subscriber gets every durable event once, in order, without gaps.

    Live events are dropped if the subscriber is too slow; the next live event has the number of dropped ones in
    `missed`.

    Don't use a subscription from several tasks at once.
    """

    def __init__(
        self,
        hub: EventHub,
        session_id: str,
        storage: Storage,
        after: int,
        tenant: str,
        *,
        pieces: bool = True,
        read: LogReader | None = None,
    ) -> None:
        self.session_id = session_id
        self.pieces = pieces
        """Whether the subscriber wants pieces of answers."""
        self.last_seq: int = after
        self._hub = hub
        self._storage = storage
        self._tenant = tenant
        self._read = read or self._read_storage
        self._queue: deque[DurableEvent | LiveEvent] = deque()
        self._behind = False
        self._dropped = 0
        self._outdated = 0
        self._ended = False
        self._woken = False
        self._wake = anyio.Event()
        self._notices: ExitStack | None = None

    def offer(self, event: DurableEvent | LiveEvent) -> None:
        """Queue an event; if the queue is full, drop the event and read the log later."""
        if len(self._queue) >= _QUEUE_SIZE or self._behind:
            self._behind = self._behind or event.durable
            self._dropped += not event.durable
        else:
            if event.durable is False and self._dropped:
                event, self._dropped = event.model_copy(update={"missed": self._dropped}), 0
            self._queue.append(event)
        self._wake.set()

    def fall_behind(self) -> None:
        """Read the log next, for example because another process stored events."""
        self._behind = True
        self._wake.set()

    def end(self) -> None:
        """Mark the subscription as ended: `take` returns the rest of the log, then `None`."""
        self._ended = True
        self.fall_behind()

    def wake(self) -> None:
        """Wake the waiting `take`, or else the next one that would wait; it returns `None` if no event has come."""
        self._woken = True
        self._wake.set()

    @property
    def ended(self) -> bool:
        """Whether only the rest of the log still comes."""
        return self._ended

    async def take(self, timeout_s: float | None = None) -> DurableEvent | LiveEvent | None:
        """Return the next event; `None` if no event came in time, after `wake`, or at the end."""
        if self._notices is None:
            self._notices = ExitStack()
            heard = partial(call_soon, running_loop(), self.fall_behind)
            self._notices.enter_context(notices(self._storage, self.session_id, heard, tenant=self._tenant))
        filled, deadline = False, None
        while True:
            event = self._next(gaps=filled)
            if event is not None:
                return event
            if self._queue:
                filled = self._behind = True
            if self._behind:
                await self.read_log()
                continue
            if self._ended or self._woken:
                self._woken = False
                return None
            self._wake = anyio.Event()
            if timeout_s is None:
                await self._wake.wait()
                continue
            if deadline is None:  # one deadline for all waits of this call, since a wake-up may bring no event
                deadline = anyio.current_time() + timeout_s
            with anyio.CancelScope(deadline=deadline) as scope:
                await self._wake.wait()
            if scope.cancelled_caught:
                return None

    def next_queued(self) -> DurableEvent | LiveEvent | None:
        """Return the next queued event; `None` if `take` would have to wait or to read the log."""
        return self._next(gaps=False)

    def _next(self, *, gaps: bool) -> DurableEvent | LiveEvent | None:
        while self._queue and (gaps or not self._is_gap(self._queue[0])):
            event = self._queue.popleft()
            if self._advance(event):
                return self._with_outdated(event)
            if event.durable is False:
                self._outdated += 1 + (event.missed or 0)
        return None

    def _with_outdated(self, event: DurableEvent | LiveEvent) -> DurableEvent | LiveEvent:
        """Add the number of live events that were older than the log to `missed` of the next live event."""
        if event.durable is True or not self._outdated:
            return event
        missed, self._outdated = self._outdated + (event.missed or 0), 0
        return event.model_copy(update={"missed": missed})

    def _is_gap(self, event: DurableEvent | LiveEvent) -> bool:
        """Check whether earlier stored events were not published here, such as those of another process."""
        return event.durable is True and event.seq > self.last_seq + 1

    def _advance(self, event: DurableEvent | LiveEvent) -> bool:
        if event.durable is False:
            # A live event is outdated if it is older than the events that were read from the log.
            return event.after >= self.last_seq
        if event.seq <= self.last_seq:
            return False
        self.last_seq = event.seq
        return True

    async def read_log(self) -> None:
        """Read the events after the last returned one from the log; `take` returns them.

        Raises:
            SessionNotFound: The session is unknown.
            StorageError: The log could not be read.
        """
        self._behind, read = False, False
        try:
            events = await self._read(self.last_seq)
            read = True
        finally:
            self._behind = self._behind or not read
        # Events that were published meanwhile may be newer than the events read. An event in both is returned once.
        self._queue = deque([*events, *self._queue])

    async def stored(self) -> Sequence[DurableEvent]:
        """Return all stored events of the session, in order; this changes nothing for `take`.

        Raises:
            SessionNotFound: The session is unknown.
            StorageError: The log could not be read.
        """
        return await self._read(0)

    async def _read_storage(self, after: int) -> tuple[DurableEvent, ...]:
        _, events = await self._storage.read(self.session_id, after, tenant=self._tenant)
        return events

    def close(self) -> None:
        """Unsubscribe; idempotent."""
        self._hub.unsubscribe(self)
        if self._notices is not None:
            self._notices.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
