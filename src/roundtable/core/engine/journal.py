"""The journal of a running session: append events under the lease, apply them to the fold, publish them.

Events are published only after they are stored. Events of turns that end while an append is in progress are stored
together by the next append.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio

from roundtable.core.base.eventloop import call_soon, running_loop
from roundtable.core.base.text import error_text
from roundtable.core.errors import LeaseLost, RoundtableError, StaleSequence, StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from roundtable.core.protocols import Clock, Storage
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.events import DurableEvent, LiveEvent
    from roundtable.core.types.storage import Lease

__all__ = ["Journal"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

T = TypeVar("T")

_SAVE_TIMEOUT_S = 30.0
_LOCK_POLL_S = 0.1


@dataclass(slots=True, eq=False)
class _Entry:
    events: tuple[DurableEvent, ...]
    done: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None

    async def settled(self) -> None:
        """Wait until the events are stored or refused; a cancellation that arrives meanwhile is raised after that."""
        interruption: BaseException | None = None
        with anyio.CancelScope(shield=True):
            while not self.done.is_set():
                try:
                    await self.done.wait()
                except anyio.get_cancelled_exc_class() as error:  # of `Task.cancel`, against which no shield helps
                    interruption = error
        if interruption is not None:
            raise interruption


class Journal:
    """Writes the log of one session for its owner.

    Args:
        storage: Where events are stored.
        fold: State of the session; every stored event is applied to it.
        lease: The right to append; `renew` renews it.
        tell: Called with every durable event after it was stored, and with every live event.
        clock: Source of the time.
        hears: Returns whether there are listeners; without listeners, no live events are created.
        hears_pieces: Returns whether listeners want pieces of answers; if not, models do not stream.
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
        """Seconds that the storage has for one write or one read; a locked storage is asked again meanwhile."""
        self.hears = hears
        self.hears_pieces = hears_pieces
        self._publish = tell
        self._outbox: list[_Entry] = []
        # Tasks rarely compete for this lock, and every storage yields to the event loop itself.
        self._lock = anyio.Lock(fast_acquire=True)
        self._work: anyio.Event | None = None
        self._is_stopping = False
        self._is_control_due = True
        self._loop = running_loop()
        self._control_expected = anyio.Event()
        self._sent: list[DurableEvent] = []
        self._unconfirmed: list[DurableEvent] = []
        self._lock_error: StorageError | None = None

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self.fold.record.id

    @property
    def tenant(self) -> str:
        """Tenant of the session."""
        return self.fold.record.tenant

    def publish(self, event: LiveEvent) -> None:
        """Publish a live event."""
        self._publish(event)

    async def append(self, *events: DurableEvent) -> None:
        """Store events, then publish them. A cancellation that arrives meanwhile waits until they are stored.

        Another task stores the events: the task of `write_in`, or else a new one. A shield alone would not be enough:
        it blocks the cancellations of anyio and trio, but not `Task.cancel` of asyncio, which `asyncio.wait_for` also
        calls.

        Raises:
            StorageError: The events could not be stored.
            LeaseLost: Another owner took over the session.
        """
        entry = _Entry(events)
        self._outbox.append(entry)
        if self._work is None:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._write)
        else:
            self._work.set()
            await entry.settled()
        if entry.error is not None:
            raise entry.error

    def write_in(self, group: TaskGroup) -> None:
        """Store appended events in one task of this group until `stop_writing`; else, each append starts a task."""
        self._work, self._is_stopping = anyio.Event(), False
        group.start_soon(self._keep_writing, self._work)

    async def _keep_writing(self, work: anyio.Event) -> None:
        try:
            with anyio.CancelScope(shield=True):
                is_last = False
                while not is_last:
                    await work.wait()
                    is_last = self._is_stopping
                    self._work = work = anyio.Event()
                    while self._outbox:
                        await self._write()
        finally:
            self._work = None
            # Entries are left only after a fault of the program, or at the end of the event loop.
            _settle(self._outbox, StorageError("the task that stores events has ended"))
            self._outbox = []

    def stop_writing(self) -> None:
        """End the task of `write_in`, once everything is stored."""
        self._is_stopping = True
        if self._work is not None:
            self._work.set()

    async def _write(self) -> None:
        """Store the events in the outbox; the caller has a shield."""
        async with self._lock:
            if self._outbox:
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + self.save_timeout_s):
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
            # Only its own deadline can interrupt a shielded write, which is then neither finished nor failed.
            if failure is not None or not finished:
                self._unconfirmed += self._sent
            _settle(batch, failure if finished else self._timeout_error())
        for event in stored:
            self._publish(event)

    async def _store(self, events: list[DurableEvent]) -> list[DurableEvent]:
        while True:
            last_seq = self.fold.last_seq
            try:
                numbered = self.fold.chain(events)
                self._sent = numbered
                await self._call(
                    partial(
                        self.storage.append,
                        self.session_id,
                        last_seq,
                        self.lease.token,
                        numbered,
                        tenant=self.tenant,
                    )
                )
            except StaleSequence:
                if not await self._catch_up():
                    raise
                continue
            except RoundtableError:
                raise
            except Exception as error:
                raise _storage_error(error) from error
            for event in numbered:
                self.fold.apply(event)
            return numbered

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call the storage, and call it again as long as another process has it locked; the caller sets the deadline.

        The events of an answer that was paid for stay in memory meanwhile.
        """
        self._lock_error = None
        while True:
            try:
                result = await call()
            except StorageError as error:
                if not error.is_locked:
                    raise
                if self._lock_error is None:
                    logger.warning(
                        "%s; trying again for up to %g s",
                        error.message,
                        self.save_timeout_s,
                        extra={"session": self.session_id},
                    )
                self._lock_error = error
                await anyio.sleep(_LOCK_POLL_S)
            else:
                self._lock_error = None
                return result

    def expect_control(self) -> None:
        """End `wait_for_control`, and make the next check look for requests to pause or stop; safe on any thread."""
        self._is_control_due = True
        call_soon(self._loop, self._end_wait)

    def _end_wait(self) -> None:
        self._control_expected.set()

    async def wait_for_control(self, timeout_s: float) -> None:
        """Wait until a request to pause or stop may be stored, or the time is up; then the next check reads the log."""
        with anyio.move_on_after(timeout_s):
            await self._control_expected.wait()
        self._control_expected = anyio.Event()
        self._is_control_due = True

    async def check_control(self) -> None:
        """Look for requests to pause or stop, if any may have been stored since the last check.

        Raises:
            StorageError: The log could not be read in time.
            LeaseLost: Another owner took over the session.
        """
        # If the lock is taken, another task may be reading a request at this moment, so wait for that.
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
                # A request that was not read must still be answered.
                self._is_control_due = self._is_control_due or not is_read
        if not is_read:
            raise self._timeout_error()

    async def read_control(self) -> None:
        """Look for requests to pause or stop now; raises the same errors as `check_control`."""
        self._is_control_due = True
        await self.check_control()

    async def confirm(self) -> None:
        """Apply and publish events that were stored although their write failed.

        Raises:
            StorageError: The log could not be read.
            LeaseLost: Another owner took over the session.
        """
        if not self._unconfirmed:
            return
        try:
            await self.read_control()
        except RoundtableError:
            raise
        except Exception as error:
            raise _storage_error(error) from error

    def _timeout_error(self) -> StorageError:
        return self._lock_error or StorageError(f"the storage did not answer within {self.save_timeout_s:g} s")

    async def _catch_up(self) -> bool:
        """Apply events that other owners stored; return whether there were any."""
        read = partial(self.storage.read, self.session_id, self.fold.last_seq, tenant=self.tenant)
        _, events = await self._call(read)
        # Events may have been stored although their write failed or timed out.
        unexpected = [event for event in events if event.type != "control" and event not in self._unconfirmed]
        if unexpected:
            msg = f"another run stored {unexpected[0].type!r} in session {self.session_id!r}"
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


def _storage_error(error: Exception) -> StorageError:
    """Return an error that wraps the error of a storage, which may be third-party code with unknown error types."""
    return StorageError(f"the storage failed with {type(error).__name__}: {error_text(error)}", cause=error)


def _settle(batch: list[_Entry], error: Exception | None) -> None:
    for entry in batch:
        entry.error = error
        entry.done.set()
