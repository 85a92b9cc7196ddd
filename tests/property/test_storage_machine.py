"""Memory, two handles on one SQLite file and a plain model are put through the same steps and must never differ."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from roundtable.errors import SessionError
from roundtable.record import advance, start_progress
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.storage.rules import LONGEST_LEASE_S
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_samples import (
    NOON,
    answered,
    broken,
    control,
    ended,
    failed,
    owner_elsewhere,
    record,
    round_start,
)
from roundtable.types import DurableEvent, JsonValue, SearchQuery, SessionFilter, SessionRecord

TENANTS = st.sampled_from(["one", "two", "th%ree"])
SESSIONS = st.sampled_from(["s", "S", "s%"])
OWNERS = st.sampled_from(["ada", "bo"])
PICKS = st.integers(0, 9)
"""One of the sessions there are, and now and then one that is not."""
KEYS = st.sampled_from(["k", "k%", "k\0", "l"])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["tea", "coffee", "failed", "pause", "extend", "round", "rest", "end", "go on", "break"]),
        st.integers(0, 2),
        st.integers(1, 2),
    ),
    max_size=3,
)
LEADS = {
    "round": {"created": "active", "active": "active"},
    "pause": {"created": "created", "active": "active"},
    "go on": {"created": "active", "active": "active", "paused": "active", "error": "active"},
    "rest": {"created": "paused", "active": "paused"},
    "end": {"created": "completed", "active": "completed", "paused": "completed"},
    "break": dict.fromkeys(("created", "active", "paused", "completed", "error"), "error"),
    "extend": {"completed": "active"},
}
"""From which state each step leads to which; of what is not here, `extend` and turns leave the state as it is."""
Outcome = tuple[str, Any]
Call = Callable[[Any], Awaitable[object]]


@dataclass
class Known:
    """What the model holds of one session."""

    record: SessionRecord
    events: list[DurableEvent] = field(default_factory=list)
    turns: dict[tuple[str, int, int], str] = field(default_factory=dict)
    token: int = 0
    owner: str | None = None
    expires: datetime = NOON
    state: str = "created"


def made(session: str, kind: str, slot: int, attempt: int) -> DurableEvent:
    match kind:
        case "failed":
            return failed(session, slot, attempt=attempt)
        case "pause":
            return control(session)
        case "extend":
            return control(session, "extend", total_rounds=4 + slot)
        case "go on":
            return control(session, "resume")
        case "round":
            return round_start(session)
        case "rest" | "end":
            return ended(session, "paused" if kind == "rest" else "completed")
        case "break":
            return broken(session)
        case _:
            return answered(session, slot, attempt=attempt, position=kind)


def outcome(work: Callable[[], Awaitable[object]]) -> Outcome:
    """Run in an event loop of its own, so that handles also meet many loops."""
    try:
        return "gave", anyio.run(work)
    except SessionError as error:
        return "refused", type(error).__name__
    except ZeroDivisionError:
        return "raised", None


class Storages(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "debates.db"
        self.memory = MemoryStorage(self.clock)
        self.handles = [self.open(), self.open()]
        self.known: dict[tuple[str, str], Known] = {}
        self.tokens = dict.fromkeys(("one", "two", "th%ree"), 0)
        self.values: dict[tuple[str, str], tuple[JsonValue, datetime | None]] = {}

    def open(self) -> SQLiteStorage:
        return SQLiteStorage(self.path, clock=self.clock)

    def picked(self, pick: int) -> tuple[str, str]:
        there = sorted(self.known)
        return there[pick % len(there)] if pick and there else ("one", "nobody")

    def both(self, handle: int, call: Call, expected: Outcome) -> None:
        assert outcome(lambda: call(self.memory)) == expected
        assert outcome(lambda: call(self.handles[handle])) == expected

    @initialize(tenant=TENANTS, session=SESSIONS)
    def begin(self, tenant: str, session: str) -> None:
        self.create(0, tenant, session)

    @rule(handle=st.integers(0, 1), tenant=TENANTS, session=SESSIONS)
    def create(self, handle: int, tenant: str, session: str) -> None:
        new = record(session, tenant=tenant, created_at=self.clock.now())
        expected: Outcome = ("refused", "SessionConflict")
        if (tenant, session) not in self.known:
            self.known[tenant, session] = Known(new)
            expected = ("gave", None)
        self.both(handle, lambda storage: storage.create(new), expected)

    @rule(handle=st.integers(0, 1), pick=PICKS, owner=OWNERS, ttl_s=st.sampled_from([0, 10, 10, 10]))
    def lease(self, handle: int, pick: int, owner: str, ttl_s: int) -> None:
        tenant, session = self.picked(pick)
        held, now = self.known.get((tenant, session)), self.clock.now()
        expected: Outcome = ("refused", "SessionNotFound")
        if held is not None:
            # An end further ahead than a lease may last was written under a wrong clock, and holds nobody off.
            latest = now + timedelta(seconds=LONGEST_LEASE_S)
            if held.owner not in {None, owner} and now < held.expires <= latest:
                expected = ("refused", "SessionBusy")
            else:
                if held.owner != owner:
                    self.tokens[tenant] += 1
                    held.token = self.tokens[tenant]
                held.owner = owner if ttl_s else None
                held.expires = now + timedelta(seconds=ttl_s)
                expected = ("gave", (held.token, held.expires))

        async def take(storage: Any) -> object:
            lease = await storage.lease(session, owner_elsewhere(owner), ttl_s, tenant=tenant)
            return lease.token, lease.expires_at

        self.both(handle, take, expected)

    @rule(
        handle=st.integers(0, 1),
        pick=PICKS,
        taker=st.none() | OWNERS,
        behind=st.sampled_from([None, 0, 0, 0, 0, 0, 1]),
        stale=st.sampled_from([None, 0, 0, 0, 0, 0, 0, 1]),
        drawn=EVENTS,
    )
    def append(
        self,
        handle: int,
        pick: int,
        taker: str | None,
        behind: int | None,
        stale: int | None,
        drawn: list[tuple[str, int, int]],
    ) -> None:
        tenant, session = self.picked(pick)
        if taker is not None:
            self.lease(handle, pick, taker, 10)
        held = self.known.get((tenant, session))
        last = len(held.events) if held else 0
        expected_seq = None if behind is None else last - behind
        token = None if stale is None else (held.token if held else 0) - stale
        events = [made(session, *one) for one in drawn]
        expected = self.appended(held, expected_seq, token, drawn, events)
        self.both(handle, lambda storage: storage.append(session, expected_seq, token, events, tenant=tenant), expected)

    def appended(
        self,
        held: Known | None,
        expected_seq: int | None,
        token: int | None,
        drawn: list[tuple[str, int, int]],
        events: list[DurableEvent],
    ) -> Outcome:
        if token is None and any(event.type != "control" for event in events):
            return "refused", "LeaseLost"
        if held is None:
            return "refused", "SessionNotFound"
        if token is not None and (held.owner is None or token != held.token):
            return "refused", "LeaseLost"
        if expected_seq not in {None, len(held.events)}:
            return "refused", "StaleSequence"
        turns, stored, state = dict(held.turns), list(held.events), held.state
        for (kind, slot, attempt), event in zip(drawn, events, strict=True):
            if kind in {"tea", "coffee", "failed"}:
                place = ("opening", slot, attempt)
                if turns.get(place, kind) != kind:
                    return "refused", "SessionConflict"
                if place in turns:
                    continue
                turns[place] = kind
            elif state in LEADS[kind]:
                state = LEADS[kind][state]
            elif kind != "extend":
                return "refused", "SessionConflict"
            stored.append(event.model_copy(update={"seq": len(stored) + 1}))
        held.turns, held.events, held.state = turns, stored, state
        return "gave", len(stored)

    @rule(handle=st.integers(0, 1), pick=PICKS, after=st.integers(-1, 4))
    def read(self, handle: int, pick: int, after: int) -> None:
        tenant, session = self.picked(pick)
        held = self.known.get((tenant, session))
        expected: Outcome = ("refused", "SessionNotFound")
        if held is not None:
            expected = ("gave", (held.record, tuple(held.events[max(after, 0) :])))
        self.both(handle, lambda storage: storage.read(session, after, tenant=tenant), expected)

    @rule(handle=st.integers(0, 1), pick=PICKS)
    def delete(self, handle: int, pick: int) -> None:
        tenant, session = self.picked(pick)
        gone = self.known.pop((tenant, session), None)
        expected: Outcome = ("gave", None) if gone else ("refused", "SessionNotFound")
        self.both(handle, lambda storage: storage.delete(session, tenant=tenant), expected)

    @rule(handle=st.integers(0, 1), tenant=TENANTS)
    def list(self, handle: int, tenant: str) -> None:
        mine = [held for (whose, _), held in self.known.items() if whose == tenant]
        mine.sort(key=lambda held: (held.record.created_at, held.record.id), reverse=True)
        expected = [(held.record.id, advance(start_progress(held.record), held.events)) for held in mine]

        async def progress(storage: Any) -> object:
            listed = await storage.list(SessionFilter(tenant=tenant))
            return [
                (found.id, (found.status, found.current_round, found.total_rounds, found.response_count))
                for found in listed
            ]

        assert [state for _, (state, *_) in expected] == [held.state for held in mine]
        self.both(handle, progress, ("gave", expected))

    @rule(handle=st.integers(0, 1), tenant=TENANTS, size=st.integers(1, 3), between=st.booleans())
    def pages(self, handle: int, tenant: str, size: int, between: bool) -> None:
        """Each session once, newest first, whatever is added while somebody turns the pages."""
        mine = [held.record for (whose, _), held in self.known.items() if whose == tenant]
        mine.sort(key=lambda record: (record.created_at, record.id), reverse=True)
        newer = record("newer", tenant=tenant, created_at=self.clock.now() + timedelta(days=1))

        async def turn(storage: Any) -> object:
            seen: list[str] = []
            wanted = SessionFilter(tenant=tenant, limit=size)
            while page := await storage.list(wanted):
                if not seen and between:
                    await storage.create(newer)
                seen += [found.id for found in page]
                wanted = wanted.model_copy(update={"after": page[-1].cursor})
            if seen and between:
                await storage.delete("newer", tenant=tenant)
            return seen

        self.both(handle, turn, ("gave", [one.id for one in mine]))

    @rule(handle=st.integers(0, 1), tenant=TENANTS, word=st.sampled_from(["tea", "COFFEE", "milk"]))
    def search(self, handle: int, tenant: str, word: str) -> None:
        mine = [held for (whose, _), held in self.known.items() if whose == tenant]
        mine.sort(key=lambda held: (held.record.created_at, held.record.id), reverse=True)
        expected = [
            (held.record.id, event.seq)
            for held in mine
            for event in held.events
            if event.type == "agent_complete" and event.turn.answer.position == word.lower()  # type: ignore[union-attr]
        ]

        async def find(storage: Any) -> object:
            hits = await storage.search(SearchQuery(text=word, tenant=tenant, limit=1000))
            return [(hit.session_id, hit.seq) for hit in hits]

        self.both(handle, find, ("gave", expected))

    @rule(
        handle=st.integers(0, 1),
        tenant=TENANTS,
        key=KEYS,
        value=st.integers(0, 3) | st.none(),
        ttl_s=st.sampled_from([None, 5.0, 0.0]),
    )
    def put(self, handle: int, tenant: str, key: str, value: JsonValue, ttl_s: float | None) -> None:
        self.remember(tenant, key, value, ttl_s)
        self.both(handle, lambda storage: storage.kv.put(key, value, ttl_s=ttl_s, tenant=tenant), ("gave", None))

    @rule(handle=st.integers(0, 1), tenant=TENANTS, key=KEYS, ttl_s=st.sampled_from([None, 5.0]))
    def update(self, handle: int, tenant: str, key: str, ttl_s: float | None) -> None:
        old = self.value(tenant, key)
        expected: Outcome = ("raised", None)
        if old != 0:
            new = 12 // old if isinstance(old, int) else 1
            self.remember(tenant, key, new, ttl_s)
            expected = ("gave", new)

        def divide(value: JsonValue) -> JsonValue:
            return 12 // value if isinstance(value, int) else 1

        self.both(handle, lambda storage: storage.kv.update(key, divide, ttl_s=ttl_s, tenant=tenant), expected)

    @rule(handle=st.integers(0, 1), tenant=TENANTS, key=KEYS)
    def drop(self, handle: int, tenant: str, key: str) -> None:
        lived = self.lives(tenant, key)
        self.values.pop((tenant, key), None)
        self.both(handle, lambda storage: storage.kv.delete(key, tenant=tenant), ("gave", lived))

    @rule(handle=st.integers(0, 1), tenant=TENANTS, key=KEYS)
    def look(self, handle: int, tenant: str, key: str) -> None:
        self.both(handle, lambda storage: storage.kv.get(key, tenant=tenant), ("gave", self.value(tenant, key)))
        found = sorted(
            (name, value)
            for (whose, name), (value, _) in self.values.items()
            if whose == tenant and name.startswith(key) and self.lives(whose, name)
        )
        self.both(handle, lambda storage: storage.kv.scan(key, tenant=tenant), ("gave", tuple(found)))

    def lives(self, tenant: str, key: str) -> bool:
        _, expires = self.values.get((tenant, key), (None, datetime.min.replace(tzinfo=UTC)))
        return expires is None or self.clock.now() < expires

    def value(self, tenant: str, key: str) -> JsonValue:
        return self.values[tenant, key][0] if self.lives(tenant, key) else None

    def remember(self, tenant: str, key: str, value: JsonValue, ttl_s: float | None) -> None:
        expires = None if ttl_s is None else self.clock.now() + timedelta(seconds=ttl_s)
        self.values[tenant, key] = value, expires

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.clock.move(seconds)

    @rule(handle=st.integers(0, 1))
    def reopen(self, handle: int) -> None:
        self.handles[handle].close()
        self.handles[handle] = self.open()

    @rule()
    def crash(self) -> None:
        """What a killed process leaves: the file and its log, not emptied, as they stand at this moment."""
        left = [(path, path.read_bytes()) for path in (self.path, Path(f"{self.path}-wal")) if path.exists()]
        for handle in self.handles:
            handle.close()
        for path, content in left:
            path.write_bytes(content)
        self.handles = [self.open(), self.open()]

    @rule(hours=st.sampled_from([-1, 1]))
    def clock_jumps(self, hours: int) -> None:
        """Somebody sets the clock; leases move with it, the order of events does not.

        Whether a value that lapsed is there again after the clock was set back depends on what was swept meanwhile, and
        is promised by no storage: so those are removed first.
        """
        if hours < 0:
            for tenant, key in [place for place in self.values if not self.lives(*place)]:
                self.drop(0, tenant, key)
        self.clock.move(hours * 3600)

    @invariant()
    def tokens_only_grow(self) -> None:
        assert all(held.token <= self.tokens[tenant] for (tenant, _), held in self.known.items())

    def teardown(self) -> None:
        for handle in self.handles:
            handle.close()
        self.folder.cleanup()


def run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Storages,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.mark.parametrize("examples", [10, pytest.param(25, marks=pytest.mark.slow)])
def test_memory_and_sqlite_behave_like_the_model(examples: int) -> None:
    run(examples=examples, steps=25)


@pytest.mark.deep
def test_memory_and_sqlite_behave_like_the_model_in_long_runs() -> None:
    run(examples=500, steps=100)
