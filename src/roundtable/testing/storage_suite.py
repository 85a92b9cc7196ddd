"""What every storage must do, as tests that the author of one inherits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from roundtable.errors import SessionBusy, SessionNotFound, StaleSequence, StorageError
from roundtable.protocols import Storage
from roundtable.testing.storage_lease_laws import LeaseLaws
from roundtable.testing.storage_list_laws import ListLaws, SearchLaws
from roundtable.testing.storage_log_laws import LogLaws, numbers, started
from roundtable.testing.storage_samples import (
    NOON,
    ManualClock,
    answered,
    control,
    owner_elsewhere,
    record,
    round_start,
)
from roundtable.testing.suite import Suite
from roundtable.types import AgentToolResult, JsonValue, SessionFilter

__all__ = ["ODD_TEXTS", "StorageSuite"]

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
"""Texts that a careless storage changes, cuts or runs."""


class _ValueLaws:
    @pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
    async def test_text_of_any_kind_comes_back_unchanged(self, storage: Storage, text: str) -> None:
        """In ids, tenants, topics, stages and answers."""
        made = record(text, tenant=text, topic=text, mode=text)
        event = answered(text, stage=text, position=text)
        await started(storage, made, event)
        assert await storage.read(text, tenant=text) == (made, (event.model_copy(update={"seq": 1}),))
        assert [found.topic for found in await storage.list(SessionFilter(tenant=text, mode=text, topic=text))] == [
            text
        ]

    async def test_lone_surrogates_are_replaced(self, storage: Storage) -> None:
        """They are no text, and no encoding can carry them; values that nobody checked may hold them all the same."""
        made = record("\ufffd", tenant="\ufffd")
        result: JsonValue = {"\ud800": ["\udfff!", "\ud83d\ude00", ["\ud800", 1]]}
        event = AgentToolResult(session_id=made.id, timestamp=NOON, agent="ada", round=1, step=1, tool_call_id="t")
        await started(storage, made, event.model_copy(update={"result": result}))
        _, stored = await storage.read("\ud800", tenant="\udfff")
        results = [found.result for found in stored if found.type == "agent_tool_result"]
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
        """To the microsecond, from the first year to the last."""
        made = record(created_at=moment)
        await started(storage, made, answered(made.id, timestamp=moment))
        listed = await storage.list(SessionFilter(created_from=moment, created_to=moment))
        assert [(found.created_at, found.updated_at) for found in listed] == [(moment, moment)]
        assert [event.timestamp for event in (await storage.read(made.id))[1]] == [moment]

    async def test_a_megabyte_is_an_ordinary_answer(self, storage: Storage) -> None:
        """Length is not limited."""
        made = record()
        event = answered(made.id, position="é" * 1_000_000)
        await started(storage, made, event)
        assert (await storage.read(made.id))[1] == (event.model_copy(update={"seq": 1}),)

    async def test_a_closed_storage_says_so(self, storage: Storage) -> None:
        """Closing twice is fine; using it afterwards is not."""
        await storage.create(record("s"))
        await storage.aclose()
        await storage.aclose()
        with pytest.raises(StorageError, match="closed"):
            await storage.read("s")
        with pytest.raises(StorageError, match="closed"):
            await storage.append("s", None, None, [control("s")])


class _MediumLaws:
    async def test_another_process_finds_what_was_appended(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """All of it, also when this one was killed; while both are open, each sees what the other adds."""
        if reopen is None:
            return
        made = record()
        token = await started(storage, made, round_start(made.id), answered(made.id))
        other = await reopen()
        try:
            assert await other.read(made.id) == await storage.read(made.id)
            assert await other.list(SessionFilter()) == await storage.list(SessionFilter())
            with pytest.raises(SessionBusy):
                await other.lease(made.id, owner_elsewhere(), 15)
            assert await other.append(made.id, 2, token, [answered(made.id, 1)]) == 3
            with pytest.raises(StaleSequence):
                await storage.append(made.id, 2, token, [answered(made.id, 2)])
            assert await numbers(storage, made.id) == [1, 2, 3]
            await other.delete(made.id)
            with pytest.raises(SessionNotFound):
                await storage.read(made.id)
        finally:
            await other.aclose()


class StorageSuite(LogLaws, LeaseLaws, ListLaws, SearchLaws, _ValueLaws, _MediumLaws, Suite):
    """Inherit this, give one fixture, and the storage is held to the `Storage` protocol.

    The storage must take the time from the fixture `clock`. One that keeps what it has when its process ends gives a
    fixture `reopen` as well.

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
        """Give the clock that the storage is to use."""
        return ManualClock()

    @pytest.fixture
    def storage(self) -> Storage:
        """Give the storage under test, empty."""
        raise NotImplementedError("a storage suite needs a fixture `storage`")

    @pytest.fixture
    def reopen(self) -> Callable[[], Awaitable[Storage]] | None:
        """Give a function that opens the same medium as another process does; `None` where there is no such."""
        return None
