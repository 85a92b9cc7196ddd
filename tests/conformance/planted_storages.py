"""Wrong storages, each with the law that it must break; `test_planted_plugins.py` runs each on that law.

This is a test file of a plugin author's kind: pytest collects it by its name, never with the other tests.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from conformance.planting import Planted, anyio_backend, planter
from conformance.test_plugin_faults import Clinging, Forgotten, Fragile, Gossip, Piecemeal, Racing, Reporting

from roundtable.core.base.owner import current_owner
from roundtable.errors import LeaseLost, SessionBusy, SessionConflict, SessionError, StorageError
from roundtable.protocols import KeyValue, Storage
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.storage.memory import MemoryKeyValue
from roundtable.testing import storage_notice_laws
from roundtable.testing.doubles import ManualClock
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.storage_suite import StorageSuite
from roundtable.types import JsonValue, SearchQuery, SessionFilter, SessionRecord

# Wrong storages are silent for as long as a notice may take.
vars(storage_notice_laws)["WAIT_S"] = 0.05

__all__ = ["PLANTED", "anyio_backend"]

PLANTED: Planted = []
"""Suite, law and class of each planted storage."""
plant = planter(globals(), PLANTED)


def storage(law: str, wrong: type[MemoryStorage], **parts: object) -> None:
    """Plant a storage in memory."""

    @pytest.fixture
    async def created(self: object, clock: ManualClock) -> Any:
        made = wrong(clock)
        yield made
        await made.aclose()

    plant(StorageSuite, law, wrong, storage=created, **parts)


def reporting(law: str, wrong: type[Reporting]) -> None:
    """Plant a storage in a file that reports appends."""

    @pytest.fixture
    def openings(self: object) -> list[Reporting]:
        return []

    @pytest.fixture
    async def created(self: object, tmp_path: Path, openings: list[Reporting]) -> Any:
        made = wrong(tmp_path / "debates.db", openings)
        yield made
        await made.aclose()

    @pytest.fixture
    def reopen(self: object, tmp_path: Path, openings: list[Reporting]) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            return wrong(tmp_path / "debates.db", openings)

        return reopen

    plant(StorageSuite, law, wrong, storage=created, openings=openings, reopen=reopen)


class Base(MemoryStorage):
    """No fault; each wrong storage overrides one method."""

    def session(self, session_id: str, tenant: str = "default") -> Any:
        return self._sessions[tenant, session_id]


# ------------------------------------------------------------------ sessions and events


class ForgetsAgents(Base):
    async def create(self, record: SessionRecord) -> None:
        await super().create(record.model_copy(update={"agents": record.agents[:1]}))


class CreatesAnew(Base):
    async def create(self, record: SessionRecord) -> None:
        with contextlib.suppress(SessionError):
            await self.delete(record.id, tenant=record.tenant)
        await super().create(record)


class DeletesInSilence(Base):
    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        with contextlib.suppress(SessionError):
            await super().delete(session_id, tenant=tenant)


class ReadsForAll(Base):
    async def read(self, session_id: str, after: int = 0, *, tenant: str = "default") -> Any:
        return await super().read(session_id, after, tenant="one")


class DeletesForAll(Base):
    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        for key in [key for key in self._sessions if key[1] == session_id]:
            del self._sessions[key]


class DeletesNothing(Base):
    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Do nothing."""


class ReadsOneMore(Base):
    async def read(self, session_id: str, after: int = 0, *, tenant: str = "default") -> Any:
        return await super().read(session_id, max(after - 1, 0), tenant=tenant)


class ForgetsTheLast(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        return await super().append(session_id, expected_seq, token, events[:-1], tenant=tenant)


class Overwrites(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        return await super().append(session_id, None, token, events, tenant=tenant)


class IgnoresNumbers(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        plain = [event.model_copy(update={"seq": 0}) for event in events]
        return await super().append(session_id, expected_seq, token, plain, tenant=tenant)


class KnowsNoTurns(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        if (tenant, session_id) in self._sessions:
            self.session(session_id, tenant).turns.clear()
        return await super().append(session_id, expected_seq, token, events, tenant=tenant)


class Trusting(Base):
    """Takes any event without a token."""

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        lease = self.session(session_id, tenant).lease
        return await super().append(
            session_id, expected_seq, lease.token if token is None and lease else token, events, tenant=tenant
        )


class TakesAnyEvent(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        own = [event.model_copy(update={"session_id": session_id}) for event in events]
        return await super().append(session_id, expected_seq, token, own, tenant=tenant)


class StoresUnread(Base):
    """Confirms events that it could not store."""

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        try:
            return await super().append(session_id, expected_seq, token, events, tenant=tenant)
        except StorageError:
            return len(self.session(session_id, tenant).events) + len(events)


class CountsAlone(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        last = len(self.session(session_id, tenant).events)
        await anyio.lowlevel.checkpoint()
        await super().append(session_id, expected_seq, token, events, tenant=tenant)
        return last + len(events)


class TakesAnyState(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        try:
            return await super().append(session_id, expected_seq, token, events, tenant=tenant)
        except SessionConflict:
            return await super().append(session_id, expected_seq, token, events[:1], tenant=tenant)


class WaitsForEver(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        return cast("int", await anyio.sleep_forever())


class ComputesForEver(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        while True:
            pass


storage("test_an_event_reads_back_as_it_was_given", WaitsForEver, law_s=0.5)
storage("test_an_event_reads_back_as_it_was_given", ComputesForEver, law_s=0.5)
storage("test_a_new_session_reads_back_as_it_was_made", ForgetsAgents)
storage("test_an_id_is_taken_once", CreatesAnew)
storage("test_an_unknown_session_is_refused_everywhere", DeletesInSilence)
storage("test_a_session_of_another_tenant_is_unknown", ReadsForAll)
storage("test_tenants_may_use_the_same_id", DeletesForAll)
storage("test_deleting_removes_everything", DeletesNothing)
storage("test_events_are_numbered_from_one_without_gaps", ReadsOneMore)
storage("test_an_event_reads_back_as_it_was_given", ForgetsTheLast)
storage("test_a_log_that_moved_on_is_not_appended_to", Overwrites)
storage("test_an_event_may_carry_its_number_if_it_is_the_next", IgnoresNumbers)
storage("test_a_turn_counts_once", KnowsNoTurns)
storage("test_a_turn_is_never_replaced", KnowsNoTurns)
storage("test_only_control_goes_without_a_token", Trusting)
storage("test_what_does_not_belong_is_refused", TakesAnyEvent)
storage("test_what_could_not_be_read_again_is_refused", StoresUnread)
storage("test_many_may_append_at_once", CountsAlone)
storage("test_of_many_who_expect_the_same_one_appends", Racing)
storage("test_an_append_that_is_cancelled_is_whole_or_nothing", Piecemeal)
storage("test_only_what_the_state_allows_is_stored", TakesAnyState)

# ------------------------------------------------------------------ leases


class NewTokens(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        with contextlib.suppress(SessionError):
            await super().lease(session_id, owner, 0, tenant=tenant)
        return await super().lease(session_id, owner, ttl_s, tenant=tenant)


class LeasesToEverybody(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        one = owner.model_copy(update={"name": "x"})
        return await super().lease(session_id, one, ttl_s, tenant=tenant)


class TakesAnyToken(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        lease = self.session(session_id, tenant).lease
        return await super().append(session_id, expected_seq, lease.token, events, tenant=tenant)


class RefusesLapsedLeases(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        if token is not None and await self.holder(session_id, tenant=tenant) is None:
            raise LeaseLost("the lease has expired")
        return await super().append(session_id, expected_seq, token, events, tenant=tenant)


class GivesNothingUp(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        return await super().lease(session_id, owner, ttl_s or 15, tenant=tenant)


class GivesUpForOthers(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        holder = await self.holder(session_id, tenant=tenant)
        return await super().lease(session_id, holder if holder and not ttl_s else owner, ttl_s, tenant=tenant)


class WaitsForTheDead(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        here = current_owner()
        if owner.host == here.host:
            owner = here.model_copy(update={"name": owner.name})
        return await super().lease(session_id, owner, ttl_s, tenant=tenant)


class RacingLeases(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        session = self.session(session_id, tenant)
        is_free = session.lease is None
        try:
            return await super().lease(session_id, owner, ttl_s, tenant=tenant)
        except SessionBusy:
            if is_free:
                return session.lease.to_lease(owner)
            raise


class TakesAnyLength(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        return await super().lease(session_id, owner, ttl_s if ttl_s >= 0 else 1, tenant=tenant)


class LeasesForADay(Base):
    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        lease = await super().lease(session_id, owner, ttl_s, tenant=tenant)
        more = timedelta(days=1) if ttl_s > 3600 else timedelta()
        return lease.model_copy(update={"expires_at": lease.expires_at + more})


class TakesByLooking(Base):
    async def holder(self, session_id: str, *, tenant: str = "default") -> Any:
        with contextlib.suppress(SessionError):
            await self.lease(session_id, current_owner("looks"), 1, tenant=tenant)
        return await super().holder(session_id, tenant=tenant)


storage("test_the_same_owner_renews_and_keeps_its_token", NewTokens)
storage("test_a_held_session_is_busy_for_others_until_the_lease_lapses", LeasesToEverybody)
storage("test_a_token_nobody_was_given_opens_nothing", TakesAnyToken)
storage("test_a_lapsed_lease_holds_until_somebody_takes_it", RefusesLapsedLeases)
storage("test_giving_a_lease_up_frees_the_session_and_spoils_the_token", GivesNothingUp)
storage("test_only_the_holder_gives_a_lease_up", GivesUpForOthers)
storage("test_a_dead_owner_of_this_host_is_taken_over_at_once", WaitsForTheDead)
storage("test_of_many_who_ask_one_gets_the_lease", RacingLeases)
storage("test_a_lease_of_no_length_is_a_mistake", TakesAnyLength)
storage("test_no_lease_lasts_longer_than_an_hour_without_being_renewed", LeasesForADay)
storage("test_a_storage_that_tells_who_runs_a_session_takes_nothing_by_it", TakesByLooking)

# ------------------------------------------------------------------ lists and search


def summarising(**values: object) -> type[Base]:
    """Return a storage whose summaries have these values."""

    class Summarises(Base):
        async def list(self, filter: SessionFilter) -> Any:
            return tuple(summary.model_copy(update=values) for summary in await super().list(filter))

    return Summarises


def ignoring(name: str, value: object = None) -> type[Base]:
    """Return a storage that ignores a part of a filter."""

    class Ignores(Base):
        async def list(self, filter: SessionFilter) -> Any:
            return await super().list(filter.model_copy(update={name: value}))

    return Ignores


class OldestFirst(Base):
    async def list(self, filter: SessionFilter) -> Any:
        return (await super().list(filter))[::-1]


class Wildcards(Base):
    async def list(self, filter: SessionFilter) -> Any:
        is_pattern = filter.topic is not None and "%" in filter.topic
        return await super().list(filter.model_copy(update={"topic": None}) if is_pattern else filter)


class PagesByTime(Base):
    async def list(self, filter: SessionFilter) -> Any:
        summaries = await super().list(filter)
        time = filter.place[0] if filter.place else None
        return tuple(summary for summary in summaries if summary.created_at != time)


class SearchesBackwards(Base):
    async def search(self, query: SearchQuery) -> Any:
        return (await super().search(query))[::-1]


class SearchesCommands(Base):
    async def search(self, query: SearchQuery) -> Any:
        return await super().search(query.model_copy(update={"text": query.text.partition(" OR ")[0]}))


class SearchesForAll(Base):
    async def search(self, query: SearchQuery) -> Any:
        return await super().search(query.model_copy(update={"tenant": "two"}))


class FindsTwice(Base):
    async def search(self, query: SearchQuery) -> Any:
        hits = await super().search(query)
        return (*hits, *hits)


storage("test_a_list_shows_how_far_each_session_has_come", summarising(response_count=0))
storage("test_a_list_shows_why_the_last_run_of_a_session_ended", summarising(exit_reason=None))
storage("test_lists_begin_with_the_newest_and_end_at_the_limit", OldestFirst)
storage("test_a_topic_is_searched_as_plain_text_in_any_case", Wildcards)
storage("test_lists_can_be_narrowed", ignoring("mode"))
storage("test_a_list_shows_and_is_narrowed_by_the_notes_of_the_caller", ignoring("metadata", {}))
storage("test_pages_show_each_session_once_whatever_is_added_meanwhile", PagesByTime)
storage("test_sessions_that_nobody_changed_lately_are_found", ignoring("updated_before"))
storage("test_words_are_found_where_all_of_them_occur", SearchesBackwards)
storage("test_what_is_looked_for_is_words_and_no_command", SearchesCommands)
storage("test_no_word_of_another_tenant_or_of_a_deleted_session_is_found", SearchesForAll)
storage("test_a_turn_sent_twice_is_found_once", FindsTwice)

# ------------------------------------------------------------------ notices, values, other processes


class CutsTopics(Base):
    async def create(self, record: SessionRecord) -> None:
        config = record.config.model_copy(update={"topic": record.config.topic[:1000]})
        await super().create(record.model_copy(update={"config": config}))


class Encodes(Base):
    async def read(self, session_id: str, after: int = 0, *, tenant: str = "default") -> Any:
        return await super().read(session_id.encode().decode(), after, tenant=tenant)


class WholeSeconds(Base):
    async def create(self, record: SessionRecord) -> None:
        await super().create(record.model_copy(update={"created_at": record.created_at.replace(microsecond=0)}))


class SmallColumns(Base):
    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        if any(len(event.to_json()) > 500_000 for event in events):
            raise StorageError("too long")
        return await super().append(session_id, expected_seq, token, events, tenant=tenant)


class NeverCloses(Base):
    async def aclose(self) -> None:
        """Do nothing."""


class KeptToItself(Base):
    """Another opening is another storage."""


@pytest.fixture
def separate(self: object, clock: ManualClock) -> Callable[[], Awaitable[Storage]]:
    """Open another storage instead of the same one."""

    async def reopen() -> Storage:
        return MemoryStorage(clock)

    return reopen


reporting("test_a_listener_hears_what_another_process_appends", Forgotten)
reporting("test_a_listener_hears_nothing_of_other_sessions_or_tenants", Gossip)
reporting("test_a_listener_that_has_left_hears_no_more", Clinging)
reporting("test_a_listener_that_raises_does_not_silence_others", Fragile)
storage("test_text_of_any_kind_comes_back_unchanged", CutsTopics)
storage("test_lone_surrogates_are_replaced", Encodes)
storage("test_times_are_kept_exactly", WholeSeconds)
storage("test_a_megabyte_is_an_ordinary_answer", SmallColumns)
storage("test_a_closed_storage_says_so", NeverCloses)
storage("test_another_process_finds_what_was_appended", KeptToItself, reopen=separate)

# ------------------------------------------------------------------ storages in a file


def in_file(law: str, wrong: type[SQLiteStorage]) -> None:
    """Plant a storage in a file, which other objects open as well."""

    @pytest.fixture
    async def created(self: object, tmp_path: Path, clock: ManualClock) -> Any:
        made = wrong(tmp_path / "debates.db", clock=clock)
        yield made
        await made.aclose()

    @pytest.fixture
    def reopen(self: object, tmp_path: Path, clock: ManualClock) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            return wrong(tmp_path / "debates.db", clock=clock)

        return reopen

    plant(StorageSuite, law, wrong, storage=created, reopen=reopen)


class LosesTheLast(SQLiteStorage):
    """Keeps the last event in memory until the next one comes, and forgets it when it is closed."""

    async def aclose(self) -> None:
        await super().aclose()
        with sqlite3.connect(self.db_path) as file:
            file.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")


class CountsTokensItself(SQLiteStorage):
    """Counts tokens in each object, from 1."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tokens: list[int] = []

    async def lease(self, session_id: str, owner: Any, ttl_s: float, *, tenant: str = "default") -> Any:
        lease = await super().lease(session_id, owner, ttl_s, tenant=tenant)
        if lease.token not in self.tokens:
            self.tokens.append(lease.token)
        return lease.model_copy(update={"token": self.tokens.index(lease.token) + 1})

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        known = self.tokens[token - 1] if token is not None and 0 < token <= len(self.tokens) else token
        return await super().append(session_id, expected_seq, known, events, tenant=tenant)


class CommitsEach(SQLiteStorage):
    """Stores each event in a transaction of its own."""

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        last: int = expected_seq or 0
        for number, event in enumerate(events):
            expected = None if expected_seq is None else expected_seq + number
            last = await super().append(session_id, expected, token, [event], tenant=tenant)
        return last


in_file("test_closing_loses_nothing", LosesTheLast)
in_file("test_tokens_grow_across_objects", CountsTokensItself)
in_file("test_a_reader_sees_the_whole_of_an_append_or_nothing", CommitsEach)
storage("test_a_reader_sees_the_whole_of_an_append_or_nothing", Piecemeal)

# ------------------------------------------------------------------ small values


async def entered() -> None:
    """Allow other tasks to run."""
    await anyio.lowlevel.checkpoint()


def values(law: str, wrong: type[MemoryKeyValue], **parts: object) -> None:
    """Plant a key-value store."""

    @pytest.fixture
    def created(self: object, clock: ManualClock) -> KeyValue:
        return wrong(clock, entered)

    plant(KeyValueSuite, law, wrong, kv=created, **parts)


@pytest.fixture
def separate_values(self: object, clock: ManualClock) -> Callable[[], Awaitable[KeyValue]]:
    """Open another store instead of the same one."""

    async def reopen() -> KeyValue:
        return MemoryKeyValue(clock, entered)

    return reopen


class DeletesWhatIsNotThere(MemoryKeyValue):
    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        await super().delete(key, tenant=tenant)
        return True


class KeepsTheObject(MemoryKeyValue):
    objects: dict[str, Any] | None = None

    async def put(self, key: str, value: JsonValue, **options: Any) -> None:
        self.objects = {**(self.objects or {}), key: value}

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        return cast("JsonValue", (self.objects or {}).get(key))


class ValuesForAll(MemoryKeyValue):
    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        return await super().get(key, tenant="one")


class ScansBackwards(MemoryKeyValue):
    async def scan(self, prefix: str = "", *, tenant: str = "default") -> Any:
        return (await super().scan(prefix, tenant=tenant))[::-1]


class KeepsForEver(MemoryKeyValue):
    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        await super().put(key, value, tenant=tenant)


class LosesUpdates(MemoryKeyValue):
    async def update(self, key: str, fn: Any, *, ttl_s: float | None = None, tenant: str = "default") -> JsonValue:
        new: JsonValue = fn(await self.get(key, tenant=tenant))
        await self.put(key, new, ttl_s=ttl_s, tenant=tenant)
        return new


class ForgetsOnFailure(MemoryKeyValue):
    async def update(self, key: str, fn: Any, *, ttl_s: float | None = None, tenant: str = "default") -> JsonValue:
        try:
            return await super().update(key, fn, ttl_s=ttl_s, tenant=tenant)
        except ArithmeticError:
            await self.delete(key, tenant=tenant)
            raise


class DropsNul(MemoryKeyValue):
    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        await super().put(key.replace("\0", ""), value, ttl_s=ttl_s, tenant=tenant)


class EncodesKeys(MemoryKeyValue):
    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        await super().put(key.encode().decode(), value, ttl_s=ttl_s, tenant=tenant)


class TakesAnyNumber(MemoryKeyValue):
    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        if isinstance(value, float):
            value = json.dumps(value)
        await super().put(key, value, ttl_s=ttl_s, tenant=tenant)


values("test_another_process_finds_what_was_put", MemoryKeyValue, reopen=separate_values)
values("test_a_value_is_kept_replaced_and_deleted", DeletesWhatIsNotThere)
values("test_a_stored_value_is_out_of_reach", KeepsTheObject)
values("test_tenants_do_not_see_each_other", ValuesForAll)
values("test_a_scan_goes_by_plain_prefix_in_key_order", ScansBackwards)
values("test_a_value_lapses", KeepsForEver)
values("test_an_update_sees_the_value_it_replaces", LosesUpdates)
values("test_an_update_that_fails_changes_nothing", ForgetsOnFailure)
values("test_text_of_any_kind_comes_back_unchanged", DropsNul)
values("test_lone_surrogates_are_replaced", EncodesKeys)
values("test_what_is_no_json_is_refused", TakesAnyNumber)
