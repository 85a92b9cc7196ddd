"""Sessions in memory: the same rules as on disk, gone with the process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio.lowlevel import checkpoint

from roundtable._clock import SystemClock
from roundtable._foreign import well_formed
from roundtable.errors import StorageError
from roundtable.storage.folding import is_wanted, moved_on, numbered, opened
from roundtable.storage.rules import (
    LeaseState,
    TurnPlace,
    check_append,
    check_fence,
    check_number,
    grant,
    live_holder,
    session_exists,
    session_not_found,
    session_place,
)
from roundtable.storage.seed_methods import SeedStorageMethods
from roundtable.storage.text import json_text, span_end, value_text
from roundtable.types import SessionRecord, SessionSummary, durable_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from roundtable.protocols import Clock, KeyValue
    from roundtable.types import DurableEvent, JsonValue, Lease, Owner, SearchHit, SearchQuery, SessionFilter

__all__ = ["MemoryKeyValue", "MemoryStorage"]


@dataclass(slots=True)
class _Event:
    text: str
    read: DurableEvent | None = None

    def value(self) -> DurableEvent:
        if self.read is None:
            self.read = durable_event(self.text)
        return self.read


@dataclass(slots=True)
class _Held:
    record: SessionRecord
    summary: SessionSummary
    events: list[_Event] = field(default_factory=list)
    turns: dict[TurnPlace, _Event] = field(default_factory=dict)
    lease: LeaseState | None = None

    def extend(self, events: Sequence[DurableEvent]) -> int:
        """Add events to the log; changes nothing when one is refused."""
        fresh = numbered(events, len(self.events), self._text_of)
        summary = moved_on(self.summary, fresh)
        for one in fresh:
            made = _Event(one.text)
            self.events.append(made)
            if one.place is not None:
                self.turns[one.place] = made
        self.summary = summary
        return len(self.events)

    def _text_of(self, place: TurnPlace) -> str | None:
        known = self.turns.get(place)
        return None if known is None else known.text


_SWEEP_AT: Final = 64
"""Items at which lapsed ones are first dropped; then whenever their number has doubled."""


class _Item(NamedTuple):
    text: str
    expires_at: datetime | None

    def lives(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at


class MemoryStorage(SeedStorageMethods):
    """Keeps sessions for as long as the object lives; for tests, experiments and `memory://`.

    Values are kept as the JSON they would have on disk, so that what is read back is what any
    storage would give. May be used from several event loops.

    Args:
        clock: Decides when leases and values lapse; the machine's when left out.

    Example:
        >>> import anyio
        >>> from roundtable.types import SessionFilter
        >>> anyio.run(MemoryStorage().list, SessionFilter())
        ()
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._lock = Lock()
        self._sessions: dict[tuple[str, str], _Held] = {}
        self._tokens: dict[str, int] = {}
        self._closed = False
        self._kv = MemoryKeyValue(self._clock, self._open)

    @property
    def kv(self) -> KeyValue:
        """Small values beside the sessions."""
        return self._kv

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session. See `Storage.create`."""
        await self._open()
        stored = SessionRecord.from_json(value_text(record))
        key = stored.tenant, stored.id
        held = _Held(stored, opened(stored))
        with self._lock:
            if self._sessions.setdefault(key, held) is not held:
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
        """Store events, all or none, and give the number of the last one. See `Storage.append`."""
        await self._open()
        check_append(session_id, token, events)
        with self._lock:
            held = self._find(tenant, session_id)
            if token is not None:
                check_fence(session_id, held.lease, token)
            check_number(session_id, expected_seq, len(held.events))
            return held.extend(events)

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Give the session and its events numbered above `after`, in order. See `Storage.read`."""
        await self._open()
        with self._lock:
            held = self._find(tenant, session_id)
            found = held.events[max(after, 0) :]
        return held.record, tuple(event.value() for event in found)

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first. See `Storage.list`."""
        await self._open()
        tenant = well_formed(filter.tenant)
        with self._lock:
            held = [one.summary for (owner, _), one in self._sessions.items() if owner == tenant]
        found = [summary for summary in held if is_wanted(summary, filter)]
        found.sort(key=lambda summary: (summary.created_at, summary.id), reverse=True)
        return tuple(found[: filter.limit])

    async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take, renew or give up the right to append. See `Storage.lease`."""
        await self._open()
        with self._lock:
            held = self._find(tenant, session_id)
            now = self._clock.now()
            held.lease = grant(
                session_id, held.lease, owner, ttl_s, now=now, next_token=lambda: self._next_token(well_formed(tenant))
            )
            return held.lease.to_lease(owner)

    async def holder(self, session_id: str, *, tenant: str = "default") -> Owner | None:
        """Give who runs a session. See `Leases.holder`."""
        await self._open()
        with self._lock:
            return live_holder(self._find(tenant, session_id).lease, self._clock.now())

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning. See `FullText.search`."""
        await self._open()
        # Late on purpose: keeping sessions in memory takes no database.
        from roundtable.storage.words import search_in

        tenant = well_formed(query.tenant)
        with self._lock:
            held = [one for (owner, _), one in self._sessions.items() if owner == tenant]
            found = [(one.record, tuple(event.value() for event in one.events)) for one in held]
        return search_in(found, query)

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events. See `Storage.delete`."""
        await self._open()
        with self._lock:
            self._find(tenant, session_id)
            del self._sessions[session_place(tenant, session_id)]

    async def aclose(self) -> None:
        """Forget everything; idempotent."""
        self.close()

    def close(self) -> None:
        """Forget everything; idempotent."""
        with self._lock:
            self._closed = True
            self._sessions.clear()

    async def _open(self) -> None:
        await checkpoint()
        if self._closed:
            raise StorageError("the storage is closed", hint="Open a new one.")

    def _find(self, tenant: str, session_id: str) -> _Held:
        held = self._sessions.get(session_place(tenant, session_id))
        if held is None:
            raise session_not_found(session_id)
        return held

    def _next_token(self, tenant: str) -> int:
        self._tokens[tenant] = self._tokens.get(tenant, 0) + 1
        return self._tokens[tenant]


class MemoryKeyValue:
    """The key-value side of `MemoryStorage`.

    Args:
        clock: Decides when values lapse.
        enter: Called first by every method; refuses a closed storage.
    """

    def __init__(self, clock: Clock, enter: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._enter = enter
        self._lock = Lock()
        self._items: dict[tuple[str, str], _Item] = {}
        self._sweep_at = _SWEEP_AT

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Give a value; `None` when there is none or it lapsed."""
        await self._enter()
        with self._lock:
            return self._value((well_formed(tenant), well_formed(key)))

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, replacing an old one. See `KeyValue.put`.

        Raises:
            ValueError: The value or `ttl_s` cannot be stored.
            TypeError: The value is no JSON value.
        """
        await self._enter()
        text = json_text(value)
        with self._lock:
            self._store((well_formed(tenant), well_formed(key)), text, ttl_s)

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; tell whether there was one."""
        await self._enter()
        with self._lock:
            item = self._items.pop((well_formed(tenant), well_formed(key)), None)
            return item is not None and item.lives(self._clock.now())

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Give keys with this prefix and their values, in key order."""
        await self._enter()
        wanted, start = well_formed(tenant), well_formed(prefix)
        with self._lock:
            now = self._clock.now()
            found = sorted(
                (key, item.text)
                for (owner, key), item in self._items.items()
                if owner == wanted and key.startswith(start) and item.lives(now)
            )
        return tuple((key, json.loads(text)) for key, text in found)

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        """Replace a value by a function of the present one, with nothing in between. See `KeyValue.update`.

        What `fn` raises is raised here, and nothing is changed. `fn` must be quick and must not use
        the storage.
        """
        await self._enter()
        place = well_formed(tenant), well_formed(key)
        with self._lock:
            text = json_text(fn(self._value(place)))
            self._store(place, text, ttl_s)
        value: JsonValue = json.loads(text)
        return value

    def _value(self, place: tuple[str, str]) -> JsonValue:
        item = self._items.get(place)
        return json.loads(item.text) if item is not None and item.lives(self._clock.now()) else None

    def _store(self, place: tuple[str, str], text: str, ttl_s: float | None) -> None:
        now = self._clock.now()
        item = _Item(text, None if ttl_s is None else span_end(now, ttl_s))
        if len(self._items) >= self._sweep_at:
            self._items = {key: held for key, held in self._items.items() if held.lives(now)}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._items))
        self._items[place] = item
