"""The owner's pen: appends under the lease, grows the fold, then tells.

Nothing is told before it is stored. Events of turns that end while an append is under way travel
together in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from roundtable._foreign import error_text
from roundtable.errors import LeaseLost, RoundtableError, StaleSequence, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import Clock, Storage
    from roundtable.record import Fold
    from roundtable.types import DurableEvent, Lease, LiveEvent

__all__ = ["Journal"]

_SAVE_TIMEOUT_S = 30.0
_FRESH_S = 0.005


@dataclass(slots=True, eq=False)
class _Entry:
    events: tuple[DurableEvent, ...]
    done: bool = False
    error: Exception | None = None


class Journal:
    """One owner's way to write one session.

    Args:
        storage: Where events go.
        fold: State of the session, grown with every stored event.
        lease: The right to append; renewed by `renew`.
        tell: Hears every event once it is stored, and every live event.
        clock: Where time comes from.
        hears: Says whether anybody listens, so that live events need not be made for nobody.
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
    ) -> None:
        self.storage = storage
        self.fold = fold
        self.lease: Lease = lease
        self.clock = clock
        self.save_timeout_s = _SAVE_TIMEOUT_S
        """Seconds the storage has for one write or one look."""
        self.hears = hears
        self._tell = tell
        self._outbox: list[_Entry] = []
        # Uncontended as a rule, and every storage yields to the loop by itself.
        self._lock = anyio.Lock(fast_acquire=True)
        self._looked_at = -1.0
        self._sent: list[DurableEvent] = []
        self._unsure: list[DurableEvent] = []

    @property
    def session_id(self) -> str:
        """Session written to."""
        return self.fold.record.id

    @property
    def tenant(self) -> str:
        """Whose session it is."""
        return self.fold.record.tenant

    def tell(self, event: LiveEvent) -> None:
        """Tell a live event."""
        self._tell(event)

    async def append(self, *events: DurableEvent) -> None:
        """Store events, then tell them. A cancellation that arrives meanwhile waits until they are stored.

        Raises:
            StorageError: They could not be stored.
            LeaseLost: Somebody else took the session over.
        """
        entry = _Entry(events)
        self._outbox.append(entry)
        with anyio.CancelScope(shield=True) as scope:
            async with self._lock:
                if not entry.done:
                    scope.deadline = anyio.current_time() + self.save_timeout_s
                    await self._flush()
        if entry.error is not None:
            raise entry.error

    async def _flush(self) -> None:
        batch, self._outbox = self._outbox, []
        stored: list[DurableEvent] = []
        failure: Exception | None = None
        over = False
        try:
            stored = await self._store([event for entry in batch for event in entry.events])
            over = True
        except Exception as error:  # noqa: BLE001  (handed to every caller whose events were in the batch)
            failure, over = error, True
        finally:
            # What ends a shielded write otherwise is its own deadline, and nothing else.
            if not over:
                self._unsure = self._sent
            _settle(batch, failure if over else self._too_slow())
        for event in stored:
            self._tell(event)

    async def _store(self, events: list[DurableEvent]) -> list[DurableEvent]:
        while True:
            first = self.fold.last_seq
            numbered = [event.model_copy(update={"seq": first + place}) for place, event in enumerate(events, 1)]
            self._sent = numbered
            try:
                await self.storage.append(self.session_id, first, self.lease.token, numbered, tenant=self.tenant)
            except StaleSequence:
                if not await self._catch_up():
                    raise
                continue
            except RoundtableError:
                raise
            except Exception as error:
                # A storage may be foreign code; nobody else knows its errors.
                msg = f"the storage failed on {type(error).__name__}: {error_text(error)}"
                raise StorageError(msg, cause=error) from error
            for event in numbered:
                self.fold.apply(event)
            return numbered

    async def look(self) -> None:
        """See whether someone asks the session to pause or stop; at most every 5 ms."""
        asked_at = self.clock.monotonic()
        if self._looked_at > asked_at - _FRESH_S and not self._lock.locked():
            return
        async with self._lock:
            if self._looked_at > asked_at - _FRESH_S:
                return
            self._looked_at = self.clock.monotonic()
            with anyio.move_on_after(self.save_timeout_s) as scope:
                await self._catch_up()
        if scope.cancelled_caught:
            raise self._too_slow()

    def _too_slow(self) -> StorageError:
        return StorageError(f"the storage did not answer within {self.save_timeout_s:g} s")

    async def _catch_up(self) -> bool:
        """Take events that others stored; tell whether there were any."""
        _, events = await self.storage.read(self.session_id, self.fold.last_seq, tenant=self.tenant)
        # What was sent and not answered in time may have been stored all the same.
        unsure = {event.seq: event for event in self._unsure}
        strange = [event for event in events if event.type != "control" and unsure.get(event.seq) != event]
        if strange:
            msg = f"session {self.session_id!r} was written by another owner ({strange[0].type})"
            raise LeaseLost(msg)
        for event in events:
            self.fold.apply(event)
            self._tell(event)
        return bool(events)

    async def renew(self, ttl_s: float) -> None:
        """Renew the lease.

        Raises:
            SessionBusy: Another owner has it.
        """
        self.lease = await self.storage.lease(self.session_id, self.lease.owner, ttl_s, tenant=self.tenant)


def _settle(batch: list[_Entry], error: Exception | None) -> None:
    for entry in batch:
        entry.done, entry.error = True, error
