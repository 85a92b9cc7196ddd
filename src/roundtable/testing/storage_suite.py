"""Conformance tests for storages, to inherit in the tests of a storage: sessions, leases, lists, search, notices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel
import pytest

from roundtable.core.base.owner import current_owner
from roundtable.core.capabilities import FullText, Leases
from roundtable.core.errors import LeaseLost, SessionBusy, SessionError, SessionNotFound, StaleSequence, StorageError
from roundtable.core.protocols import Storage
from roundtable.core.types.base import JsonValue
from roundtable.core.types.debate import ExitResult
from roundtable.core.types.events import AgentToolResult, DebateComplete, DebateExit
from roundtable.core.types.storage import SearchQuery, SessionFilter, SessionSummary
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_log_laws import LogLaws, numbers, started
from roundtable.testing.storage_notice_laws import NoticeLaws
from roundtable.testing.storage_samples import NOON, answered, control, owner_elsewhere, record, round_start
from roundtable.testing.suite import Suite

__all__ = ["ODD_TEXTS", "LeaseLaws", "ListLaws", "SearchLaws", "StorageSuite"]

ODD_TEXTS = (
    "'; DROP TABLE events; --",
    '" OR ""="',
    "%_\\%",
    "a\0b",
    "line\nline\u2028line",
    "\U0001f9d1\u200d\U0001f680 e\u0301 \u00e9 \u202etxt",
    "\ufffe\uffff\U0010ffff",
    "x" * 9_000,
)
"""Texts that a faulty storage might change, cut or execute."""


class LeaseLaws:
    """Tests of leases and their tokens."""

    async def test_the_same_owner_renews_and_keeps_its_token(self, storage: Storage, clock: ManualClock) -> None:
        """Renewing changes the end of the lease but not the token, even after the lease has expired."""
        session, owner = record(), owner_elsewhere()
        await storage.create(session)
        first = await storage.lease(session.id, owner, 15)
        assert first.owner == owner
        assert first.expires_at == clock.now() + timedelta(seconds=15)
        clock.move(10)
        second = await storage.lease(session.id, owner, 15)
        assert second.token == first.token
        assert second.expires_at == clock.now() + timedelta(seconds=15)
        clock.move(100)
        assert (await storage.lease(session.id, owner, 15)).token == first.token

    async def test_a_held_session_is_busy_for_others_until_the_lease_lapses(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """Other owners get `SessionBusy`; the token of the next holder is larger, and the old token is refused."""
        session = record()
        await storage.create(session)
        lease = await storage.lease(session.id, owner_elsewhere("first"), 15)
        clock.move(14.999)
        with pytest.raises(SessionBusy) as error:
            await storage.lease(session.id, owner_elsewhere("second"), 15)
        assert error.value.retryable
        assert error.value.details == {
            "owner": "first",
            "host": "another-host.invalid",
            "pid": 7,
            "expiresAt": lease.expires_at.isoformat(),
        }
        clock.move(0.001)
        next_lease = await storage.lease(session.id, owner_elsewhere("second"), 15)
        assert next_lease.token > lease.token
        with pytest.raises(LeaseLost):
            await storage.append(session.id, None, lease.token, [answered(session.id)])
        assert await storage.append(session.id, 0, next_lease.token, [answered(session.id)]) == 1

    async def test_a_token_nobody_was_given_opens_nothing(self, storage: Storage) -> None:
        """Smaller and larger tokens are refused."""
        session = record()
        await storage.create(session)
        lease = await storage.lease(session.id, owner_elsewhere(), 15)
        for token in (lease.token + 1, lease.token - 1, 0, -1, 2**70):
            with pytest.raises(LeaseLost):
                await storage.append(session.id, 0, token, [answered(session.id)])

    async def test_a_lapsed_lease_holds_until_somebody_takes_it(self, storage: Storage, clock: ManualClock) -> None:
        """An expired token is valid until another owner takes the lease."""
        session = record()
        await storage.create(session)
        lease = await storage.lease(session.id, owner_elsewhere(), 15)
        clock.move(1000)
        assert await storage.append(session.id, 0, lease.token, [answered(session.id)]) == 1

    async def test_giving_a_lease_up_frees_the_session_and_spoils_the_token(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """`ttl_s=0` releases a lease; later tokens are larger."""
        session, owner = record(), owner_elsewhere()
        await storage.create(session)
        lease = await storage.lease(session.id, owner, 15)
        given_up = await storage.lease(session.id, owner, 0)
        assert (given_up.token, given_up.expires_at) == (lease.token, clock.now())
        with pytest.raises(LeaseLost):
            await storage.append(session.id, None, lease.token, [answered(session.id)])
        other_lease = await storage.lease(session.id, owner_elsewhere("other"), 15)
        assert other_lease.token > lease.token
        await storage.lease(session.id, owner_elsewhere("other"), 0)
        assert (await storage.lease(session.id, owner, 15)).token > other_lease.token

    async def test_only_the_holder_gives_a_lease_up(self, storage: Storage) -> None:
        """`ttl_s=0` of another owner is refused like any other request."""
        session = record()
        await storage.create(session)
        lease = await storage.lease(session.id, owner_elsewhere(), 15)
        with pytest.raises(SessionBusy):
            await storage.lease(session.id, owner_elsewhere("other"), 0)
        assert await storage.append(session.id, 0, lease.token, [answered(session.id)]) == 1

    async def test_a_dead_owner_of_this_host_is_taken_over_at_once(self, storage: Storage) -> None:
        """The lease of a process that has certainly ended can be taken without waiting."""
        session, me = record(), current_owner()
        await storage.create(session)
        rebooted = me.model_copy(update={"name": "dead", "boot_id": "00000000-an-earlier-boot"})
        lease = await storage.lease(session.id, rebooted, 15)
        assert (await storage.lease(session.id, me, 15)).token > lease.token

    async def test_of_many_who_ask_one_gets_the_lease(self, storage: Storage) -> None:
        """Taking a lease is atomic."""
        session = record()
        await storage.create(session)
        outcomes: list[bool] = []

        async def ask(number: int) -> None:
            try:
                await storage.lease(session.id, owner_elsewhere(str(number)), 15)
            except SessionBusy:
                outcomes.append(False)
            else:
                outcomes.append(True)

        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(ask, number)
        assert sorted(outcomes) == [False] * 9 + [True]

    @pytest.mark.parametrize("ttl_s", [-1.0, float("nan")])
    async def test_a_lease_of_no_length_is_a_mistake(self, storage: Storage, ttl_s: float) -> None:
        """Negative and NaN durations raise `ValueError`."""
        session = record()
        await storage.create(session)
        with pytest.raises(ValueError, match="zero seconds or more"):
            await storage.lease(session.id, current_owner(), ttl_s)

    async def test_no_lease_lasts_longer_than_an_hour_without_being_renewed(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """A lease lasts at most an hour, for any requested duration and any clock error."""
        session, start = record(), clock.now()
        await storage.create(session)
        endless = await storage.lease(session.id, owner_elsewhere("first"), float("inf"))
        assert endless.expires_at == start + timedelta(hours=1)
        clock.move(365 * 24 * 3600.0)
        await storage.lease(session.id, owner_elsewhere("first"), 15)
        clock.move(-365 * 24 * 3600.0)
        next_lease = await storage.lease(session.id, owner_elsewhere("second"), 15)
        assert next_lease.token > endless.token
        with pytest.raises(LeaseLost):
            await storage.append(session.id, 0, endless.token, [answered(session.id)])

    async def test_a_storage_that_tells_who_runs_a_session_takes_nothing_by_it(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """`holder` returns the owner until the lease expires, and takes no lease. Only for storages with `holder`."""
        if not isinstance(storage, Leases):
            return
        session, owner = record(), owner_elsewhere()
        await storage.create(session)
        assert await storage.holder(session.id) is None
        lease = await storage.lease(session.id, owner, 15)
        assert await storage.holder(session.id) == owner
        clock.move(15)
        assert await storage.holder(session.id) is None
        assert await storage.append(session.id, 0, lease.token, [answered(session.id)]) == 1
        dead = current_owner("dead").model_copy(update={"boot_id": "00000000-an-earlier-boot"})
        await storage.lease(session.id, dead, 15)
        assert await storage.holder(session.id) is None
        with pytest.raises(SessionError):
            await storage.holder("another session")
        with pytest.raises(SessionError):
            await storage.holder(session.id, tenant="another tenant")


class ListLaws:
    """Tests of lists: order, pages and filters."""

    async def test_a_list_shows_how_far_each_session_has_come(self, storage: Storage) -> None:
        """A summary shows the state after all events."""
        session = record(rounds=2)
        last = NOON + timedelta(minutes=3)
        token = await started(storage, session, round_start(session.id), answered(session.id), answered(session.id, 1))
        done = DebateComplete(session_id=session.id, timestamp=last, status="completed", total_rounds=1)
        await storage.append(session.id, 3, token, [control(session.id, "extend", total_rounds=5), done])
        assert await storage.list(SessionFilter()) == (
            SessionSummary(
                id=session.id,
                topic=session.config.topic,
                mode=session.config.mode,
                status="completed",
                current_round=1,
                total_rounds=5,
                agent_ids=("ada", "bo"),
                response_count=2,
                created_at=session.created_at,
                updated_at=last,
                last_seq=5,
            ),
        )

    async def test_a_list_shows_why_the_last_run_of_a_session_ended(self, storage: Storage) -> None:
        """`exit_reason` is the reason of the last exit, however many events follow it."""
        session = record(rounds=2)
        token = await started(storage, session)
        reasons = (None, "paused", "stopped")
        for number, reason in enumerate(reasons):
            if reason is not None:
                ended = ExitResult(should_exit=True, reason=reason, details="")
                await storage.append(
                    session.id, None, token, [DebateExit(session_id=session.id, timestamp=NOON, exit=ended)]
                )
                await storage.append(session.id, None, token, [round_start(session.id, number)])
            (summary,) = await storage.list(SessionFilter())
            assert summary.exit_reason == reason

    async def test_lists_begin_with_the_newest_and_end_at_the_limit(self, storage: Storage) -> None:
        """Sessions are listed newest first, in a fixed order if their times are equal."""
        for number in (2, 0, 1, 3):
            await storage.create(record(f"s{number}", created_at=NOON + timedelta(microseconds=number)))
        await storage.create(record("twin", created_at=NOON))
        listed = [summary.id for summary in await storage.list(SessionFilter())]
        assert listed == ["s3", "s2", "s1", "twin", "s0"]
        assert [summary.id for summary in await storage.list(SessionFilter(limit=2))] == ["s3", "s2"]

    async def test_a_topic_is_searched_as_plain_text_in_any_case(self, storage: Storage) -> None:
        """`%`, `_`, `*`, brackets and NUL have no special meaning."""
        topics = {
            "pct": "100% sure?",
            "plain": "1000 sure?",
            "under": "a_b",
            "other": "axb",
            "nul": "a\0b",
            "é": "CAFÉ?",
            "star": "a*b",
            "class": "[ab]",
        }
        for name, topic in topics.items():
            await storage.create(record(name, topic=topic))
        searched = {
            "0%": {"pct"},
            "A_B": {"under"},
            "SURE": {"pct", "plain"},
            "\0": {"nul"},
            "café": {"é"},
            "%": {"pct"},
            "A*": {"star"},
            "[A": {"class"},
        }
        for text, expected in searched.items():
            assert {summary.id for summary in await storage.list(SessionFilter(topic=text))} == expected

    async def test_lists_can_be_narrowed(self, storage: Storage) -> None:
        """Lists can be filtered by mode, by status and by creation time; both ends of a time range are included."""
        for number in range(4):
            await storage.create(
                record(f"s{number}", mode=("delphi", "panel")[number % 2], created_at=NOON + timedelta(hours=number))
            )
        await storage.append("s1", None, None, [control("s1", "resume")])

        async def ids(**wanted: object) -> list[str]:
            return sorted(summary.id for summary in await storage.list(SessionFilter.model_validate(wanted)))

        assert await ids(mode="delphi") == ["s0", "s2"]
        assert await ids(mode="del%") == []
        assert await ids(status="active") == ["s1"]
        assert await ids(created_from=NOON + timedelta(hours=2)) == ["s2", "s3"]
        assert await ids(created_to=NOON + timedelta(hours=1)) == ["s0", "s1"]
        assert await ids(created_from=NOON, created_to=NOON) == ["s0"]
        assert await ids(mode="panel", status="created") == ["s3"]

    async def test_a_list_shows_and_is_narrowed_by_the_notes_of_the_caller(self, storage: Storage) -> None:
        """Metadata is compared by value and type: `1`, `1.0` and `true` differ."""
        notes: dict[str, dict[str, JsonValue]] = {
            "whole": {"n": 1, "case": "a"},
            "real": {"n": 1.0},
            "flag": {"n": True},
            "nothing": {"n": None},
            "none": {},
        }
        for name, metadata in notes.items():
            await storage.create(record(name, metadata=metadata))

        async def ids(wanted: dict[str, JsonValue]) -> list[str]:
            return sorted(summary.id for summary in await storage.list(SessionFilter(metadata=wanted)))

        assert {summary.id: dict(summary.metadata) for summary in await storage.list(SessionFilter())} == notes
        assert await ids({"n": 1}) == ["whole"]
        assert await ids({"n": 1.0}) == ["real"]
        assert await ids({"n": True}) == ["flag"]
        assert await ids({"n": None}) == ["nothing"]
        assert await ids({"n": 1, "case": "b"}) == []
        assert await ids({"%": 1}) == []

    async def test_pages_show_each_session_once_whatever_is_added_meanwhile(self, storage: Storage) -> None:
        """Pages have no duplicates, even if times are equal; sessions created between two pages are not shown."""
        for number in range(5):
            await storage.create(record(f"s{number}", created_at=NOON + timedelta(seconds=number // 2)))
        listed: list[str] = []
        wanted = SessionFilter(limit=2)
        while page := await storage.list(wanted):
            listed += [summary.id for summary in page]
            await storage.create(record(f"new{len(listed)}", created_at=NOON + timedelta(hours=1)))
            wanted = wanted.model_copy(update={"after": page[-1].cursor})
        assert listed == ["s4", "s3", "s2", "s1", "s0"]

    async def test_sessions_that_nobody_changed_lately_are_found(self, storage: Storage) -> None:
        """`updated_before` does not include sessions that were updated exactly at this time."""
        await storage.create(record("old"))
        await storage.create(record("touched"))
        await started(storage, record("late"), round_start("late", timestamp=NOON + timedelta(hours=1)))
        await storage.append("touched", None, None, [control("touched")])
        later = SessionFilter(updated_before=NOON + timedelta(hours=1))
        assert sorted(summary.id for summary in await storage.list(later)) == ["old", "touched"]
        assert await storage.list(SessionFilter(updated_before=NOON)) == ()


async def _search(storage: Storage, text: str, **options: object) -> list[tuple[str, int]]:
    assert isinstance(storage, FullText)
    hits = await storage.search(SearchQuery.model_validate({"text": text, **options}))
    return [(hit.session_id, hit.seq) for hit in hits]


class SearchLaws:
    """Tests of full-text search, for storages with the method `search`."""

    async def test_words_are_found_where_all_of_them_occur(self, storage: Storage) -> None:
        """Search ignores case and accents; results are ordered by session, newest first, then by event."""
        if not isinstance(storage, FullText):
            return
        session = record("older")
        texts = ("Black tea keeps", "Green TEA, briefly", "Café au lait", "x")
        await started(
            storage, session, *(answered("older", slot, position=position) for slot, position in enumerate(texts))
        )
        newer = record("newer", created_at=NOON + timedelta(seconds=1))
        await started(storage, newer, answered("newer", position="No tea at all"))
        assert await _search(storage, "tea") == [("newer", 1), ("older", 1), ("older", 2)]
        assert await _search(storage, "keeps tea") == [("older", 1)]
        assert await _search(storage, '"keeps tea"') == []
        assert await _search(storage, '"tea keeps"') == [("older", 1)]
        assert await _search(storage, "CAFE") == [("older", 3)]
        assert await _search(storage, "brief") == []
        assert await _search(storage, "brief*") == [("older", 2)]
        assert await _search(storage, "tea", limit=1) == [("newer", 1)]
        assert await _search(storage, "tea", session_id="older") == [("older", 1), ("older", 2)]

    async def test_what_is_looked_for_is_words_and_no_command(self, storage: Storage) -> None:
        """FTS and SQL commands in a query are only words to look for."""
        if not isinstance(storage, FullText):
            return
        await started(storage, record("s"), answered("s", position="tea OR coffee; don't NEAR(a b) position:x"))
        for text in ("tea OR milk", "NOT tea milk", "reasoning:tea", "tea -coffee milk", "'; DROP TABLE events; --"):
            assert await _search(storage, text) == [], text
        for text in ("tea OR", "don't", "NEAR(a", "^tea", "tea\0coffee", '"tea', "{tea}"):
            assert await _search(storage, text) == [("s", 1)], text
        for text in ('"', '""', "*", "!!!", "\0"):
            assert await _search(storage, text) == [], text

    async def test_no_word_of_another_tenant_or_of_a_deleted_session_is_found(self, storage: Storage) -> None:
        """Search returns nothing of other tenants, and nothing of a deleted session whose id was used again."""
        if not isinstance(storage, FullText):
            return
        for tenant in ("one", "two"):
            await started(storage, record("s", tenant=tenant), answered("s", position=f"tea {tenant}"))
        assert await _search(storage, "tea", tenant="one") == [("s", 1)]
        assert await _search(storage, "two", tenant="one") == []
        await storage.delete("s", tenant="one")
        await storage.create(record("s", tenant="one"))
        assert await _search(storage, "tea", tenant="one") == []
        assert await _search(storage, "tea", tenant="two") == [("s", 1)]

    async def test_a_turn_sent_twice_is_found_once(self, storage: Storage) -> None:
        """A turn that is appended twice is found once."""
        if not isinstance(storage, FullText):
            return
        session = record("s")
        token = await started(storage, session, answered("s"))
        await storage.append("s", None, token, [answered("s"), answered("s", 1)])
        assert await _search(storage, "tea") == [("s", 1), ("s", 2)]


class _ValueLaws:
    @pytest.mark.parametrize("text", ODD_TEXTS, ids=[f"text {number}" for number in range(len(ODD_TEXTS))])
    async def test_text_of_any_kind_comes_back_unchanged(self, storage: Storage, text: str) -> None:
        """Texts in ids, tenants, topics, stages and answers are stored unchanged."""
        session = record(text, tenant=text, topic=text, mode=text)
        event = answered(text, stage=text, position=text)
        await started(storage, session, event)
        assert await storage.read(text, tenant=text) == (session, (event.model_copy(update={"seq": 1}),))
        assert [summary.topic for summary in await storage.list(SessionFilter(tenant=text, mode=text, topic=text))] == [
            text
        ]

    async def test_lone_surrogates_are_replaced(self, storage: Storage) -> None:
        """Lone surrogates are replaced: they cannot be encoded, but unvalidated values may contain them."""
        session = record("\ufffd", tenant="\ufffd")
        result: JsonValue = {"\ud800": ["\udfff!", "\ud83d\ude00", ["\ud800", 1]]}
        event = AgentToolResult(session_id=session.id, timestamp=NOON, agent="ada", round=1, step=1, tool_call_id="t")
        await started(storage, session, event.model_copy(update={"result": result}))
        _, stored = await storage.read("\ud800", tenant="\udfff")
        results = [item.result for item in stored if item.type == "agent_tool_result"]
        assert results == [{"\ufffd": ["\ufffd!", "\U0001f600", ["\ufffd", 1]]}]
        await storage.delete("\udfff", tenant="\ud800")
        assert await storage.list(SessionFilter(tenant="\ufffd")) == ()

    @pytest.mark.parametrize(
        "moment",
        [
            datetime.min.replace(tzinfo=UTC),
            datetime.max.replace(tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        ],
        ids=str,
    )
    async def test_times_are_kept_exactly(self, storage: Storage, moment: datetime) -> None:
        """Times are exact to the microsecond, from the year 1 to 9999."""
        session = record(created_at=moment)
        await started(storage, session, answered(session.id, timestamp=moment))
        listed = await storage.list(SessionFilter(created_from=moment, created_to=moment))
        assert [(summary.created_at, summary.updated_at) for summary in listed] == [(moment, moment)]
        assert [event.timestamp for event in (await storage.read(session.id))[1]] == [moment]

    async def test_a_megabyte_is_an_ordinary_answer(self, storage: Storage) -> None:
        """Long answers are stored unchanged."""
        session = record()
        event = answered(session.id, position="é" * 1_000_000)
        await started(storage, session, event)
        assert (await storage.read(session.id))[1] == (event.model_copy(update={"seq": 1}),)

    async def test_a_closed_storage_says_so(self, storage: Storage) -> None:
        """Closing twice does nothing; using a closed storage raises."""
        await storage.create(record("s"))
        await storage.aclose()
        await storage.aclose()
        with pytest.raises(StorageError, match="closed"):
            await storage.read("s")
        with pytest.raises(StorageError, match="closed"):
            await storage.append("s", None, None, [control("s")])


class _ReopenLaws:
    async def test_another_process_finds_what_was_appended(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """If a storage is opened twice, both instances see each other's changes and respect each other's leases."""
        if reopen is None:
            return
        session = record()
        token = await started(storage, session, round_start(session.id), answered(session.id))
        reopened = await reopen()
        try:
            assert await reopened.read(session.id) == await storage.read(session.id)
            assert await reopened.list(SessionFilter()) == await storage.list(SessionFilter())
            with pytest.raises(SessionBusy):
                await reopened.lease(session.id, owner_elsewhere(), 15)
            assert await reopened.append(session.id, 2, token, [answered(session.id, 1)]) == 3
            with pytest.raises(StaleSequence):
                await storage.append(session.id, 2, token, [answered(session.id, 2)])
            assert await numbers(storage, session.id) == [1, 2, 3]
            await reopened.delete(session.id)
            with pytest.raises(SessionNotFound):
                await storage.read(session.id)
        finally:
            await reopened.aclose()

    async def test_closing_loses_nothing(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """All events that were appended before a storage is closed can be read after it is opened again."""
        if reopen is None:
            return
        session = record()
        token = await started(storage, session, round_start(session.id))
        for slot in range(11):
            await storage.append(session.id, None, token, [answered(session.id, slot)])
        stored, listed = await storage.read(session.id), await storage.list(SessionFilter())
        await storage.aclose()
        reopened = await reopen()
        try:
            assert await reopened.read(session.id) == stored, "an append returned before its events were durable"
            assert await numbers(reopened, session.id) == list(range(1, 13)), (
                "events must come in the order of their numbers"
            )
            assert await reopened.list(SessionFilter()) == listed
            assert await reopened.append(session.id, 12, token, [answered(session.id, 19)]) == 13
        finally:
            await reopened.aclose()

    async def test_closing_one_object_leaves_the_others_open(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """Each object closes what it has opened itself, such as its connection; another object goes on."""
        if reopen is None:
            return
        session = record()
        token = await started(storage, session, round_start(session.id))
        second, third = await reopen(), await reopen()
        try:
            for number, closed in enumerate((second, storage), 2):
                await closed.aclose()
                assert await numbers(third, session.id) == list(range(1, number))
                assert await third.append(session.id, None, token, [answered(session.id, number)]) == number
        finally:
            await second.aclose()
            await third.aclose()

    async def test_tokens_grow_across_objects(
        self, storage: Storage, clock: ManualClock, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """A new token is larger than all earlier tokens of its session, whichever object or process gave them."""
        if reopen is None:
            return
        session = record()
        await storage.create(session)
        tokens: list[int] = []

        async def take(from_storage: Storage, name: str) -> None:
            tokens.append((await from_storage.lease(session.id, owner_elsewhere(name), 15)).token)
            assert tokens == sorted(set(tokens)), (
                f"tokens must grow: {tokens}; store the last token, do not count objects"
            )
            for earlier in tokens[:-1]:
                with pytest.raises(LeaseLost):
                    await from_storage.append(session.id, 0, earlier, [answered(session.id)])

        opened = await reopen()
        try:
            for number, each in enumerate((storage, opened, storage, storage, opened)):
                await take(each, f"owner {number}")
                clock.move(15)
        finally:
            await opened.aclose()
        await storage.aclose()
        opened = await reopen()
        try:
            await take(opened, "after closing")
            await opened.lease(session.id, owner_elsewhere("after closing"), 0)
            await opened.delete(session.id)
            await opened.create(session)
            await take(opened, "after deleting")
        finally:
            await opened.aclose()

    async def test_a_reader_sees_the_whole_of_an_append_or_nothing(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """While an append is stored, neither this object nor another one reads only some of its events."""
        session, size, seen = record(), 20, set[int]()
        token = await started(storage, session)
        other = storage if reopen is None else await reopen()
        done = anyio.Event()

        async def watch(reader: Storage) -> None:
            while not done.is_set():
                seen.add(len(await numbers(reader, session.id)))
                await anyio.lowlevel.checkpoint()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(watch, storage)
                group.start_soon(watch, other)
                for number in range(1, 5):
                    events = [answered(session.id, slot, round=number) for slot in range(size)]
                    await storage.append(session.id, None, token, events)
                done.set()
        finally:
            if other is not storage:
                await other.aclose()
        partial = sorted(count for count in seen if count % size)
        assert not partial, (
            f"each append stores {size} events, but a reader saw {partial}; store them in one transaction"
        )


class StorageSuite(LogLaws, LeaseLaws, ListLaws, SearchLaws, NoticeLaws, _ValueLaws, _ReopenLaws, Suite):
    """Tests of the `Storage` protocol: inherit this class, and define the fixture `storage`.

    The storage must use the fixture `clock` as its clock. If the storage survives the end of its process, also define
    the fixture `reopen`. Optional features (`FullText`, `Leases`, `Notify`) are tested if the storage has their method;
    the tests of notices (`Notify`) also need `reopen`.

    Example:
        ```python
        class TestMine(StorageSuite):
            @pytest.fixture
            async def storage(self, clock):
                storage = MyStorage("http://127.0.0.1:9", clock=clock)
                yield storage
                await storage.aclose()

            @pytest.fixture
            def reopen(self, clock):
                async def reopen():
                    return MyStorage("http://127.0.0.1:9", clock=clock)

                return reopen
        ```
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        """Return the clock for the storage."""
        return ManualClock()

    @pytest.fixture
    def storage(self) -> Storage:
        """Return the storage under test, empty."""
        raise NotImplementedError("a storage suite needs a fixture `storage`")

    @pytest.fixture
    def reopen(self) -> Callable[[], Awaitable[Storage]] | None:
        """Return a function that opens the same storage again, like another process; `None` if that is not possible."""
        return None
