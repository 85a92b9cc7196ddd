"""Stored events for the streams of a server: each event is read and parsed once, not once for each stream."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from roundtable.api.tenants import TenantSession
    from roundtable.core.types.events import DurableEvent

__all__ = ["SharedLogs"]

_MAX_EVENTS: Final = 2048
"""Events that are kept; of longer logs, only the one that was read last."""
_READS_AT_ONCE: Final = 4
"""Sessions whose events are read at once, so that many clients that come back together do not delay other requests."""


class _Log:
    """The stored events of one session, as read so far."""

    def __init__(self) -> None:
        self.events: tuple[DurableEvent, ...] = ()
        self._lock = anyio.Lock()
        self._reads = 0

    async def update(self, tenant_session: TenantSession, session_id: str, limiter: anyio.CapacityLimiter) -> None:
        """Read the events that are stored by now; callers that wait at the same time share one read."""
        reads = self._reads
        async with self._lock:
            if self._reads > reads:
                return  # this read began after the call
            self._reads = reads + 1
            try:
                async with limiter:
                    self.events = await self._read(tenant_session, session_id)
            except BaseException:
                self._reads = reads
                raise

    async def _read(self, tenant_session: TenantSession, session_id: str) -> tuple[DurableEvent, ...]:
        table = tenant_session.table
        # The last known event is read again. It has the hash of all earlier ones, so that a session that was deleted
        # and created again is noticed.
        known = self.events[-1:]
        after = known[0].seq - 1 if known else 0
        events = await table.events(session_id, after=after)
        if known and events[:1] != known:
            return await table.events(session_id)
        return (*self.events, *events[len(known) :])


class SharedLogs:
    """The logs of the sessions that streams have read last.

    A stored event never changes, so that all streams get the same objects, whose encoded form is shared as well.
    """

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[TenantSession, str], _Log] = OrderedDict()
        self._limiter: Final = anyio.CapacityLimiter(_READS_AT_ONCE)

    async def read(self, tenant_session: TenantSession, session_id: str, after: int = 0) -> tuple[DurableEvent, ...]:
        """Return the events of a session numbered above `after`, in order, including all that are stored by now.

        Raises:
            SessionNotFound: No session of this user has this id.
            StorageError: The session could not be read.
        """
        key = tenant_session, session_id
        if after and key not in self._logs:
            # With more sessions than are kept, only what is new is read, and not each log again and again.
            async with self._limiter:
                return await tenant_session.table.events(session_id, after=after)
        log = self._logs.setdefault(key, _Log())
        self._logs.move_to_end(key)
        try:
            await log.update(tenant_session, session_id, self._limiter)
        except BaseException:  # a cancelled read leaves no empty log either
            if self._logs.get(key) is log:
                del self._logs[key]
            raise
        self._forget_oldest()
        return log.events[bisect_right(log.events, after, key=attrgetter("seq")) :]

    def _forget_oldest(self) -> None:
        kept = sum(len(log.events) for log in self._logs.values())
        while kept > _MAX_EVENTS and len(self._logs) > 1:
            kept -= len(self._logs.popitem(last=False)[1].events)
