"""The journal of a running session: append events under the lease, apply them to the fold, publish them.

Events are published only once they are stored. Events of turns that end while an append is in progress are stored
together in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from roundtable._core.text import error_text
from roundtable.errors import LeaseLost, RoundtableError, StaleSequence, StorageError
from roundtable.record.chain import chain_events

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import Clock, Storage
    from roundtable.record import Fold
    from roundtable.types import DurableEvent, Lease, LiveEvent

__all__ = ["Journal"]

_SAVE_TIMEOUT_S = 30.0


@dataclass(slots=True, eq=False)
class _Entry:
    events: tuple[DurableEvent, ...]
    done: bool = False
    error: Exception | None = None


class Journal:
    """Writes the log of one session for its owner.

    Args:
        storage: Where events are stored.
        fold: State of the session; every stored event is applied to it.
        lease: The right to append; renewed by `renew`.
        tell: Called with every event once it is stored, and with every live event.
        clock: Source of the time.
        hears: Returns whether there are listeners; without them no live events are made.
        hears_pieces: Returns whether listeners want pieces of answers; without them models are not asked to stream.
    """

    def __init__(
        self,
        storage: Storage,
        fold: Fold,
        lease: Lease,
        tell: Callable[[DurableEvent | LiveEvent], None],
        clock: Clock,
        *,
        hears: Callable[[], bool] = lambda: True,
        hears_pieces: Callable[[], bool] = lambda: True,
    ) -> None:
        self.storage = storage
        self.fold = fold
        self.lease: Lease = lease
        self.clock = clock
        self.save_timeout_s = _SAVE_TIMEOUT_S
        """Seconds the storage has for one write or one read."""
        self.hears = hears
        self.hears_pieces = hears_pieces
        self._publish = tell
        self._outbox: list[_Entry] = []
        # Rarely contended, and every storage yields to the event loop itself.
        self._lock = anyio.Lock(fast_acquire=True)
        self._is_control_due = True
        self._sent: list[DurableEvent] = []
        self._unconfirmed: list[DurableEvent] = []

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self.fold.record.id

    @property
    def tenant(self) -> str:
        """Tenant of the session."""
        return self.fold.record.tenant

    def tell(self, event: LiveEvent) -> None:
        """Publish a live event."""
        self._publish(event)

    async def append(self, *events: DurableEvent) -> None:
        """Store events, then publish them. A cancellation that arrives meanwhile waits until they are stored.

        A separate task stores them: a shield blocks the cancellations of anyio and trio, but not `Task.cancel` of
        asyncio, which `asyncio.wait_for` calls too.

        Raises:
            StorageError: The events could not be stored.
            LeaseLost: Another owner took over the session.
        """
        entry = _Entry(events)
        self._outbox.append(entry)
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                group.start_soon(self._write, entry)
        if entry.error is not None:
            raise entry.error

    async def _write(self, entry: _Entry) -> None:
        with anyio.CancelScope(shield=True) as scope:
            async with self._lock:
                if not entry.done:
                    scope.deadline = anyio.current_time() + self.save_timeout_s
                    await self._flush()

    async def _flush(self) -> None:
        batch, self._outbox = self._outbox, []
        stored: list[DurableEvent] = []
        failure: Exception | None = None
        finished = False
        try:
            stored = await self._store([event for entry in batch for event in entry.events])
            finished = True
        except Exception as error:  # noqa: BLE001  (raised to every caller with events in the batch)
            failure, finished = error, True
        finally:
            # Only its own deadline can interrupt a shielded write.
            if not finished:
                self._unconfirmed = self._sent
            _settle(batch, failure if finished else self._timeout_error())
        for event in stored:
            self._publish(event)

    async def _store(self, events: list[DurableEvent]) -> list[DurableEvent]:
        while True:
            last_seq = self.fold.last_seq
            numbered = chain_events(self.fold.head, last_seq, events)
            self._sent = numbered
            try:
                await self.storage.append(self.session_id, last_seq, self.lease.token, numbered, tenant=self.tenant)
            except StaleSequence:
                if not await self._catch_up():
                    raise
                continue
            except RoundtableError:
                raise
            except Exception as error:
                # A storage may be third-party code; callers do not know its errors.
                msg = f"the storage failed with {type(error).__name__}: {error_text(error)}"
                raise StorageError(msg, cause=error) from error
            for event in numbered:
                self.fold.apply(event)
            return numbered

    def expect_control(self) -> None:
        """Look for requests to pause or stop at the next check."""
        self._is_control_due = True

    async def check_control(self) -> None:
        """Look for requests to pause or stop, if any may have been stored since the last check.

        Raises:
            StorageError: The log could not be read in time.
            LeaseLost: Another owner took over the session.
        """
        # Another task may be reading the request just now.
        if not self._is_control_due and not self._lock.locked():
            return
        async with self._lock:
            if not self._is_control_due:
                return
            self._is_control_due = False
            is_read = False
            try:
                with anyio.move_on_after(self.save_timeout_s):
                    await self._catch_up()
                    is_read = True
            finally:
                # A request that was not read is still to be answered.
                self._is_control_due = self._is_control_due or not is_read
        if not is_read:
            raise self._timeout_error()

    def _timeout_error(self) -> StorageError:
        return StorageError(f"the storage did not answer within {self.save_timeout_s:g} s")

    async def _catch_up(self) -> bool:
        """Apply events that other owners stored; return whether there were any."""
        _, events = await self.storage.read(self.session_id, self.fold.last_seq, tenant=self.tenant)
        # Events of a write that timed out may have been stored all the same.
        unconfirmed = {event.seq: event for event in self._unconfirmed}
        unexpected = [event for event in events if event.type != "control" and unconfirmed.get(event.seq) != event]
        if unexpected:
            msg = f"session {self.session_id!r} was written by another owner ({unexpected[0].type})"
            raise LeaseLost(msg)
        for event in events:
            self.fold.apply(event)
            self._publish(event)
        return bool(events)

    async def renew(self, ttl_s: float) -> None:
        """Renew the lease.

        Raises:
            SessionBusy: Another owner has the lease.
        """
        self.lease = await self.storage.lease(self.session_id, self.lease.owner, ttl_s, tenant=self.tenant)


def _settle(batch: list[_Entry], error: Exception | None) -> None:
    for entry in batch:
        entry.done, entry.error = True, error
