"""Laws of a storage: finding sessions, and finding words in them."""

from __future__ import annotations

from datetime import timedelta

from roundtable.protocols import FullText, Storage
from roundtable.testing.storage_log_laws import started
from roundtable.testing.storage_samples import NOON, answered, control, record, round_start
from roundtable.types import DebateComplete, JsonValue, SearchQuery, SessionFilter, SessionSummary

__all__ = ["ListLaws", "SearchLaws"]


class ListLaws:
    """Lists: their order, their pages, and what they can be narrowed by."""

    async def test_a_list_shows_how_far_each_session_has_come(self, storage: Storage) -> None:
        """A summary is the fold of the events, without reading them."""
        made = record(rounds=2)
        last = NOON + timedelta(minutes=3)
        token = await started(storage, made, round_start(made.id), answered(made.id), answered(made.id, 1))
        done = DebateComplete(session_id=made.id, timestamp=last, status="completed", total_rounds=1)
        await storage.append(made.id, 3, token, [control(made.id, "extend", total_rounds=5), done])
        assert await storage.list(SessionFilter()) == (
            SessionSummary(
                id=made.id,
                topic=made.config.topic,
                mode=made.config.mode,
                status="completed",
                current_round=1,
                total_rounds=5,
                agent_ids=("ada", "bo"),
                response_count=2,
                created_at=made.created_at,
                updated_at=last,
                last_seq=5,
            ),
        )

    async def test_lists_begin_with_the_newest_and_end_at_the_limit(self, storage: Storage) -> None:
        """Sessions of one moment come in a fixed order, too."""
        for number in (2, 0, 1, 3):
            await storage.create(record(f"s{number}", created_at=NOON + timedelta(microseconds=number)))
        await storage.create(record("twin", created_at=NOON))
        listed = [found.id for found in await storage.list(SessionFilter())]
        assert listed == ["s3", "s2", "s1", "twin", "s0"]
        assert [found.id for found in await storage.list(SessionFilter(limit=2))] == ["s3", "s2"]

    async def test_a_topic_is_searched_as_plain_text_in_any_case(self, storage: Storage) -> None:
        """`%`, `_` and NUL mean themselves."""
        topics = {
            "pct": "100% sure?",
            "plain": "1000 sure?",
            "under": "a_b",
            "other": "axb",
            "nul": "a\0b",
            "é": "CAFÉ?",
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
        }
        for text, expected in searched.items():
            assert {found.id for found in await storage.list(SessionFilter(topic=text))} == expected

    async def test_lists_can_be_narrowed(self, storage: Storage) -> None:
        """By mode, by state and by both ends of time, ends included."""
        for number in range(4):
            await storage.create(
                record(f"s{number}", mode=("delphi", "panel")[number % 2], created_at=NOON + timedelta(hours=number))
            )
        await storage.append("s1", None, None, [control("s1", "resume")])

        async def ids(**wanted: object) -> list[str]:
            return sorted(found.id for found in await storage.list(SessionFilter.model_validate(wanted)))

        assert await ids(mode="delphi") == ["s0", "s2"]
        assert await ids(mode="del%") == []
        assert await ids(status="active") == ["s1"]
        assert await ids(created_from=NOON + timedelta(hours=2)) == ["s2", "s3"]
        assert await ids(created_to=NOON + timedelta(hours=1)) == ["s0", "s1"]
        assert await ids(created_from=NOON, created_to=NOON) == ["s0"]
        assert await ids(mode="panel", status="created") == ["s3"]

    async def test_a_list_shows_and_is_narrowed_by_the_notes_of_the_caller(self, storage: Storage) -> None:
        """A note is found by its very value; `1`, `1.0` and `true` are three."""
        notes: dict[str, dict[str, JsonValue]] = {
            "whole": {"n": 1, "case": "a"},
            "real": {"n": 1.0},
            "flag": {"n": True},
            "nothing": {"n": None},
            "none": {},
        }
        for name, kept in notes.items():
            await storage.create(record(name, metadata=kept))

        async def ids(wanted: dict[str, JsonValue]) -> list[str]:
            return sorted(found.id for found in await storage.list(SessionFilter(metadata=wanted)))

        assert {found.id: dict(found.metadata) for found in await storage.list(SessionFilter())} == notes
        assert await ids({"n": 1}) == ["whole"]
        assert await ids({"n": 1.0}) == ["real"]
        assert await ids({"n": True}) == ["flag"]
        assert await ids({"n": None}) == ["nothing"]
        assert await ids({"n": 1, "case": "b"}) == []
        assert await ids({"%": 1}) == []

    async def test_pages_show_each_session_once_whatever_is_added_meanwhile(self, storage: Storage) -> None:
        """Also sessions of one moment; what is newer than the page before is not shown."""
        for number in range(5):
            await storage.create(record(f"s{number}", created_at=NOON + timedelta(seconds=number // 2)))
        seen: list[str] = []
        wanted = SessionFilter(limit=2)
        while page := await storage.list(wanted):
            seen += [found.id for found in page]
            await storage.create(record(f"new{len(seen)}", created_at=NOON + timedelta(hours=1)))
            wanted = wanted.model_copy(update={"after": page[-1].cursor})
        assert seen == ["s4", "s3", "s2", "s1", "s0"]

    async def test_sessions_that_nobody_changed_lately_are_found(self, storage: Storage) -> None:
        """The end of time is not included."""
        await storage.create(record("old"))
        await storage.create(record("touched"))
        await started(storage, record("late"), round_start("late", timestamp=NOON + timedelta(hours=1)))
        await storage.append("touched", None, None, [control("touched")])
        later = SessionFilter(updated_before=NOON + timedelta(hours=1))
        assert sorted(found.id for found in await storage.list(later)) == ["old", "touched"]
        assert await storage.list(SessionFilter(updated_before=NOON)) == ()


async def _found(storage: Storage, text: str, **more: object) -> list[tuple[str, int]]:
    assert isinstance(storage, FullText)
    hits = await storage.search(SearchQuery.model_validate({"text": text, **more}))
    return [(hit.session_id, hit.seq) for hit in hits]


class SearchLaws:
    """Finding words, for a storage that can; one without the method `search` breaks none of them."""

    async def test_words_are_found_where_all_of_them_occur(self, storage: Storage) -> None:
        """In any case, with any accents; the newest session first, then in its order."""
        if not isinstance(storage, FullText):
            return
        made = record("older")
        said = ("Black tea keeps", "Green TEA, briefly", "Café au lait", "x")
        await started(
            storage, made, *(answered("older", slot, position=position) for slot, position in enumerate(said))
        )
        newer = record("newer", created_at=NOON + timedelta(seconds=1))
        await started(storage, newer, answered("newer", position="No tea at all"))
        assert await _found(storage, "tea") == [("newer", 1), ("older", 1), ("older", 2)]
        assert await _found(storage, "keeps tea") == [("older", 1)]
        assert await _found(storage, '"keeps tea"') == []
        assert await _found(storage, '"tea keeps"') == [("older", 1)]
        assert await _found(storage, "CAFE") == [("older", 3)]
        assert await _found(storage, "brief") == []
        assert await _found(storage, "brief*") == [("older", 2)]
        assert await _found(storage, "tea", limit=1) == [("newer", 1)]
        assert await _found(storage, "tea", session_id="older") == [("older", 1), ("older", 2)]

    async def test_what_is_looked_for_is_words_and_no_command(self, storage: Storage) -> None:
        """Neither of the index nor of a database."""
        if not isinstance(storage, FullText):
            return
        await started(storage, record("s"), answered("s", position="tea OR coffee; don't NEAR(a b) position:x"))
        for text in ("tea OR milk", "NOT tea milk", "reasoning:tea", "tea -coffee milk", "'; DROP TABLE events; --"):
            assert await _found(storage, text) == [], text
        for text in ("tea OR", "don't", "NEAR(a", "^tea", "tea\0coffee", '"tea', "{tea}"):
            assert await _found(storage, text) == [("s", 1)], text
        for text in ('"', '""', "*", "!!!", "\0"):
            assert await _found(storage, text) == [], text

    async def test_no_word_of_another_tenant_or_of_a_deleted_session_is_found(self, storage: Storage) -> None:
        """Nor of a session that was deleted and made anew."""
        if not isinstance(storage, FullText):
            return
        for tenant in ("one", "two"):
            await started(storage, record("s", tenant=tenant), answered("s", position=f"tea {tenant}"))
        assert await _found(storage, "tea", tenant="one") == [("s", 1)]
        assert await _found(storage, "two", tenant="one") == []
        await storage.delete("s", tenant="one")
        await storage.create(record("s", tenant="one"))
        assert await _found(storage, "tea", tenant="one") == []
        assert await _found(storage, "tea", tenant="two") == [("s", 1)]

    async def test_a_turn_sent_twice_is_found_once(self, storage: Storage) -> None:
        """And a failed one not at all."""
        if not isinstance(storage, FullText):
            return
        made = record("s")
        token = await started(storage, made, answered("s"))
        await storage.append("s", None, token, [answered("s"), answered("s", 1)])
        assert await _found(storage, "tea") == [("s", 1), ("s", 2)]
