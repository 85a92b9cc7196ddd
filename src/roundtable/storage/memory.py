"""Storage in memory: it follows the same rules as storages on disk, and is lost when the process ends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio.lowlevel import checkpoint

from roundtable.core.base.clock import SystemClock
from roundtable.core.base.text import well_formed
from roundtable.core.errors import StorageError
from roundtable.core.record.fold import Progress, start_progress
from roundtable.core.record.transitions import follow
from roundtable.core.types.events import durable_event
from roundtable.core.types.storage import SessionSummary
from roundtable.storage.rules import (
    LeaseState,
    Numbered,
    TurnId,
    check_append,
    check_number,
    check_token,
    grant,
    has_metadata,
    json_text,
    live_holder,
    numbered,
    record_text,
    searchable,
    session_exists,
    session_key,
    session_not_found,
    span_end,
)
from roundtable.storage.whole_sessions import WholeSessionMethods

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import Lease, LeaseOwner, SearchHit, SearchQuery, SessionFilter

__all__ = ["MemoryKeyValue", "MemoryStorage", "initial_summary", "is_wanted", "updated_summary"]

_MADE_BY_ENGINES: Final = frozenset(
    {"debate_start", "conversation_start", "round_start", "round_complete", "debate_complete"}
)
"""Events without mappings, and so without objects of agents, tools, analyzers, exits or callers."""

_SWEEP_AT: Final = 64
"""Number of items at which expired items are first removed. After that, they are removed when the number has
doubled."""


def initial_summary(record: SessionRecord) -> SessionSummary:
    """Return the summary of a session without events."""
    return SessionSummary(
        id=record.id,
        topic=record.config.topic,
        mode=record.config.mode,
        agent_ids=tuple(agent.id for agent in record.agents),
        created_at=record.created_at,
        updated_at=record.created_at,
        metadata=record.config.metadata,
        **start_progress(record)._asdict(),
    )


def updated_summary(summary: SessionSummary, stored: Sequence[Numbered]) -> SessionSummary:
    """Return the summary, updated with these events.

    Raises:
        SessionConflict: The state of the session does not allow one of the events.
    """
    if not stored:
        return summary
    events = [entry.event for entry in stored]
    progress = Progress(summary.status, summary.current_round, summary.total_rounds, summary.response_count)
    changes: dict[str, object] = {"last_seq": summary.last_seq + len(stored), "updated_at": events[-1].timestamp}
    reasons = [event.exit.reason for event in events if event.type == "exit"]
    if reasons:
        changes["exit_reason"] = reasons[-1]
    return summary.model_copy(update=changes | follow(summary.id, progress, events)._asdict())


def is_wanted(summary: SessionSummary, wanted: SessionFilter) -> bool:
    """Check whether a session matches a filter; the tenant is not compared."""
    return (
        (wanted.topic is None or searchable(wanted.topic) in searchable(summary.topic))
        and (wanted.mode is None or well_formed(wanted.mode) == summary.mode)
        and (wanted.status is None or wanted.status == summary.status)
        and (wanted.created_from is None or wanted.created_from <= summary.created_at)
        and (wanted.created_to is None or summary.created_at <= wanted.created_to)
        and (wanted.updated_before is None or summary.updated_at < wanted.updated_before)
        and (wanted.place is None or (summary.created_at, summary.id) < wanted.place)
        and (not wanted.metadata or has_metadata(json_text(dict(summary.metadata)), json_text(dict(wanted.metadata))))
    )


def _may_change(event: DurableEvent) -> bool:
    """Check whether an event contains objects of agents, tools, plugins or callers, which may change or be too deep.

    Only the JSON of such events is written and read back immediately. Writing it for every event, or searching every
    event for mappings, would slow down a turn in memory by 3 to 5 percent.
    """
    if event.type != "agent_complete":
        return event.type not in _MADE_BY_ENGINES
    result = event.turn.result
    answer = result.answer
    has_mapping = answer.kind == "position" and bool(answer.tool_calls or answer.value)
    return has_mapping or answer.kind == "scores" or bool(result.tool_calls or event.tool_calls)


@dataclass(slots=True)
class _StoredEvent:
    entry: Numbered
    parsed: DurableEvent | None = None

    def value(self) -> DurableEvent:
        """Return the event parsed from JSON, as in any other storage."""
        if self.parsed is None:
            self.parsed = durable_event(self.entry.text)
        return self.parsed


@dataclass(slots=True)
class _StoredSession:
    record: SessionRecord
    summary: SessionSummary
    events: list[_StoredEvent] = field(default_factory=list)
    turns: dict[TurnId, _StoredEvent] = field(default_factory=dict)
    lease: LeaseState | None = None

    def extend(self, events: Sequence[DurableEvent]) -> int:
        """Add events to the log, all or none, and return the number of the last one."""
        entries = numbered(events, len(self.events), self._stored_text)
        summary = updated_summary(self.summary, entries)
        for entry in entries:
            if _may_change(entry.event):
                entry.text  # noqa: B018  (creates the JSON, and checks that it can be read)
        for entry in entries:
            event = _StoredEvent(entry)
            self.events.append(event)
            if entry.place is not None:
                self.turns[entry.place] = event
        self.summary = summary
        return len(self.events)

    def _stored_text(self, turn_key: TurnId) -> str | None:
        event = self.turns.get(turn_key)
        return None if event is None else event.entry.text


class _Item(NamedTuple):
    text: str
    expires_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at


class MemoryStorage(WholeSessionMethods):
    """Store sessions in memory, for tests, experiments and `memory://`.

    Each value that is read has gone through JSON, as on disk, so this storage returns the same values as any other. If
    an event contains objects of agents, tools or callers, such as the input of a tool, its JSON is written, and read
    back as a check, when the event is stored. The JSON of any other event is written when the event is first read.

    Several event loops may use one object.

    Args:
        clock: Decides when leases and values expire; the system clock by default.

    Example:
        >>> import anyio
        >>> from roundtable.types import SessionFilter
        >>> anyio.run(MemoryStorage().list, SessionFilter())
        ()
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._lock = Lock()
        self._sessions: dict[tuple[str, str], _StoredSession] = {}
        self._tokens: dict[str, int] = {}
        self._closed = False
        self._kv = MemoryKeyValue(self._clock, self._open)

    @property
    def kv(self) -> KeyValue:
        """Key-value store for small values."""
        return self._kv

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session. See `Storage.create`."""
        await self._open()
        _, stored = record_text(record)
        key = stored.tenant, stored.id
        session = _StoredSession(stored, initial_summary(stored))
        with self._lock:
            if self._sessions.setdefault(key, session) is not session:
                raise session_exists(record.id)

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        """Store events, all or none, and return the number of the last one. See `Storage.append`."""
        await self._open()
        check_append(session_id, token, events)
        with self._lock:
            session = self._find(tenant, session_id)
            if token is not None:
                check_token(session_id, session.lease, token)
            check_number(session_id, expected_seq, len(session.events))
            return session.extend(events)

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return the session and its events numbered above `after`, in order. See `Storage.read`."""
        await self._open()
        with self._lock:
            session = self._find(tenant, session_id)
            events = session.events[max(after, 0) :]
        return session.record, tuple(event.value() for event in events)

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first. See `Storage.list`."""
        await self._open()
        tenant = well_formed(filter.tenant)
        with self._lock:
            summaries = [session.summary for (owner, _), session in self._sessions.items() if owner == tenant]
        matches = [summary for summary in summaries if is_wanted(summary, filter)]
        matches.sort(key=lambda summary: (summary.created_at, summary.id), reverse=True)
        return tuple(matches[: filter.limit])

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take, renew or release the right to append. See `Storage.lease`."""
        await self._open()
        with self._lock:
            session = self._find(tenant, session_id)
            now = self._clock.now()
            session.lease = grant(
                session_id,
                session.lease,
                owner,
                ttl_s,
                now=now,
                next_token=lambda: self._next_token(well_formed(tenant)),
            )
            return session.lease.to_lease(owner)

    async def holder(self, session_id: str, *, tenant: str = "default") -> LeaseOwner | None:
        """Return the owner that runs a session. See `Leases.holder`."""
        await self._open()
        with self._lock:
            return live_holder(self._find(tenant, session_id).lease, self._clock.now())

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning. See `FullText.search`."""
        await self._open()
        # Imported only here, since no other method of this storage needs a database.
        from roundtable.storage.fulltext import search_in

        tenant = well_formed(query.tenant)
        with self._lock:
            sessions = [
                (session.record, tuple(event.value() for event in session.events))
                for (owner, _), session in self._sessions.items()
                if owner == tenant
            ]
        return search_in(sessions, query)

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events. See `Storage.delete`."""
        await self._open()
        with self._lock:
            self._find(tenant, session_id)
            del self._sessions[session_key(tenant, session_id)]

    async def aclose(self) -> None:
        """Delete everything and close the storage; idempotent."""
        self.close()

    def close(self) -> None:
        """Delete everything and close the storage; idempotent."""
        with self._lock:
            self._closed = True
            self._sessions.clear()

    async def _open(self) -> None:
        await checkpoint()
        if self._closed:
            raise StorageError("the storage is closed", hint="Open a new storage.")

    def _find(self, tenant: str, session_id: str) -> _StoredSession:
        session = self._sessions.get(session_key(tenant, session_id))
        if session is None:
            raise session_not_found(session_id)
        return session

    def _next_token(self, tenant: str) -> int:
        self._tokens[tenant] = self._tokens.get(tenant, 0) + 1
        return self._tokens[tenant]


class MemoryKeyValue:
    """Key-value store of a `MemoryStorage`.

    Args:
        clock: Decides when values expire.
        enter: Every method calls it first; it raises an error if the storage is closed.
    """

    def __init__(self, clock: Clock, enter: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._enter = enter
        self._lock = Lock()
        self._items: dict[tuple[str, str], _Item] = {}
        self._sweep_at = _SWEEP_AT

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Return a value; `None` if it does not exist or has expired."""
        await self._enter()
        with self._lock:
            return self._get((well_formed(tenant), well_formed(key)))

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, and replace the value that the key may have. See `KeyValue.put`.

        Raises:
            ValueError: The value or `ttl_s` cannot be stored.
            TypeError: The value is not a JSON value.
        """
        await self._enter()
        text = json_text(value)
        with self._lock:
            self._store((well_formed(tenant), well_formed(key)), text, ttl_s)

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; return whether it existed."""
        await self._enter()
        with self._lock:
            item = self._items.pop((well_formed(tenant), well_formed(key)), None)
            return item is not None and item.is_live(self._clock.now())

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Return the keys with this prefix and their values, in key order."""
        await self._enter()
        tenant_key, start = well_formed(tenant), well_formed(prefix)
        with self._lock:
            now = self._clock.now()
            matches = sorted(
                (key, item.text)
                for (owner, key), item in self._items.items()
                if owner == tenant_key and key.startswith(start) and item.is_live(now)
            )
        return tuple((key, json.loads(text)) for key, text in matches)

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        """Replace a value atomically by a function of the current one. See `KeyValue.update`.

        If `fn` raises an error, this method raises it too, and nothing changes. `fn` must be quick and must not use the
        storage.
        """
        await self._enter()
        full_key = well_formed(tenant), well_formed(key)
        with self._lock:
            text = json_text(fn(self._get(full_key)))
            self._store(full_key, text, ttl_s)
        value: JsonValue = json.loads(text)
        return value

    def _get(self, full_key: tuple[str, str]) -> JsonValue:
        item = self._items.get(full_key)
        return json.loads(item.text) if item is not None and item.is_live(self._clock.now()) else None

    def _store(self, full_key: tuple[str, str], text: str, ttl_s: float | None) -> None:
        now = self._clock.now()
        new_item = _Item(text, None if ttl_s is None else span_end(now, ttl_s))
        if len(self._items) >= self._sweep_at:
            self._items = {key: item for key, item in self._items.items() if item.is_live(now)}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._items))
        self._items[full_key] = new_item
