"""Telling events to whoever listens, without ever waiting for them."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Self

import anyio

from roundtable._foreign import error_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.protocols import Storage
    from roundtable.types import DurableEvent, Event, LiveEvent

__all__ = ["EventHub", "Subscription"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_QUEUE = 256


class EventHub:
    """Hands events of running sessions to subscribers of this process.

    Publishing never blocks: a subscriber that falls behind loses live events and reads the durable
    ones again from the storage. An observer that fails is named in the log, and told the next event all the same.

    Args:
        observers: Functions that hear every event of every session.
    """

    def __init__(self, observers: Iterable[Callable[[Event], None]] = ()) -> None:
        self._observers = tuple(observers)
        self._subscribers: dict[str, list[Subscription]] = {}

    def publish(self, event: DurableEvent | LiveEvent) -> None:
        """Tell an event to all observers, and to all subscribers of its session."""
        for observe in self._observers:
            try:
                observe(event)
            except Exception as error:
                logger.warning(
                    "an observer failed on %s: %s: %s",
                    event.type,
                    type(error).__name__,
                    error_text(error),
                    exc_info=error,
                    extra={"session": event.session_id},
                )
        # A copy: who is told may leave, or another thread may join, meanwhile.
        for subscriber in tuple(self._subscribers.get(event.session_id, ())):
            subscriber.offer(event)

    def hears(self, session_id: str) -> bool:
        """Tell whether anybody listens to a session."""
        return bool(self._observers) or session_id in self._subscribers

    def subscribe(self, session_id: str, storage: Storage, *, after: int = 0, tenant: str = "default") -> Subscription:
        """Listen to a session from now on; durable events above `after` come first."""
        subscription = Subscription(self, session_id, storage, after, tenant)
        self._subscribers.setdefault(session_id, []).append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop telling this subscriber; idempotent."""
        listening = self._subscribers.get(subscription.session_id, [])
        if subscription in listening:
            listening.remove(subscription)
        if not listening:
            self._subscribers.pop(subscription.session_id, None)


class Subscription:
    """One listener's place in the log: every durable event once, in order, without gaps.

    Not for use from several tasks at once.
    """

    def __init__(self, hub: EventHub, session_id: str, storage: Storage, after: int, tenant: str) -> None:
        self.session_id = session_id
        self.last_seq: int = after
        self._hub = hub
        self._storage = storage
        self._tenant = tenant
        self._queue: deque[DurableEvent | LiveEvent] = deque()
        self._behind = False
        self._ended = False
        self._stirred = False
        self._wake = anyio.Event()

    def offer(self, event: DurableEvent | LiveEvent) -> None:
        """Take an event, or note that the log has to be read when the queue is full."""
        if len(self._queue) >= _QUEUE or self._behind:
            self._behind = self._behind or event.durable
        else:
            self._queue.append(event)
        self._wake.set()

    def fall_behind(self) -> None:
        """Have the log read next, such as after events were stored by another process."""
        self._behind = True
        self._wake.set()

    def end(self) -> None:
        """Say that nothing more will come: what the log still holds is given, then `take` gives `None`."""
        self._ended = True
        self.fall_behind()

    def stir(self) -> None:
        """Have a `take` that waits give `None`, unless an event came meanwhile; the next one that would wait, else."""
        self._stirred = True
        self._wake.set()

    @property
    def ended(self) -> bool:
        """Whether nothing more will come than what the log holds."""
        return self._ended

    async def take(self, timeout_s: float | None = None) -> DurableEvent | LiveEvent | None:
        """Give the next event; `None` when none came in time, after `stir`, or when there will be none."""
        filled = False
        while True:
            event = self._next(gaps=filled)
            if event is not None:
                return event
            if self._queue:
                filled = self._behind = True
            if self._behind:
                await self._read_log()
                continue
            if self._ended or self._stirred:
                self._stirred = False
                return None
            self._wake = anyio.Event()
            if timeout_s is None:
                await self._wake.wait()
                continue
            with anyio.move_on_after(timeout_s) as scope:
                await self._wake.wait()
            if scope.cancelled_caught:
                return None

    def at_hand(self) -> DurableEvent | LiveEvent | None:
        """Give the next event if it waits here; `None` where `take` would have to wait, or to read."""
        return self._next(gaps=False)

    def _next(self, *, gaps: bool) -> DurableEvent | LiveEvent | None:
        while self._queue and (gaps or not self._is_gap(self._queue[0])):
            event = self._queue.popleft()
            if self._is_news(event):
                return event
        return None

    def _is_gap(self, event: DurableEvent | LiveEvent) -> bool:
        """Tell whether events were stored before this one that nobody told, such as by hand."""
        return event.durable is True and event.seq > self.last_seq + 1

    def _is_news(self, event: DurableEvent | LiveEvent) -> bool:
        if event.durable is False:
            # What was told before events that were read from the log is old by now.
            return event.after >= self.last_seq
        if event.seq <= self.last_seq:
            return False
        self.last_seq = event.seq
        return True

    async def _read_log(self) -> None:
        self._behind, read = False, False
        try:
            _, events = await self._storage.read(self.session_id, self.last_seq, tenant=self._tenant)
            read = True
        finally:
            self._behind = self._behind or not read
        # What was told meanwhile may be newer than what was read; what is in both is given once.
        self._queue = deque([*events, *self._queue])

    def close(self) -> None:
        """Stop listening; idempotent."""
        self._hub.unsubscribe(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
