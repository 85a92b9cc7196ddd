"""Conformance tests for key-value stores, to inherit in the tests of a storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from roundtable.core.capabilities import KeyValue
from roundtable.core.types.base import JsonValue
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_suite import ODD_TEXTS
from roundtable.testing.suite import Suite

__all__ = ["KeyValueSuite"]


class KeyValueSuite(Suite):
    """Tests of the `KeyValue` protocol: inherit this class, and define the fixture `kv`.

    The store must use the fixture `clock` as its clock. If the store survives the end of its process, also define the
    fixture `reopen`.
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        """Return the clock for the store."""
        return ManualClock()

    @pytest.fixture
    def kv(self) -> KeyValue:
        """Return the key-value store under test, empty."""
        raise NotImplementedError("a key-value suite needs a fixture `kv`")

    @pytest.fixture
    def reopen(self) -> Callable[[], Awaitable[KeyValue]] | None:
        """Return a function that opens the same store again, like another process; `None` if that is not possible."""
        return None

    async def test_another_process_finds_what_was_put(
        self, kv: KeyValue, reopen: Callable[[], Awaitable[KeyValue]] | None
    ) -> None:
        """If a store is opened twice, both instances see each other's values and updates."""
        if reopen is None:
            return
        await kv.put("k", 1)
        reopened = await reopen()
        assert await reopened.get("k") == 1
        assert await reopened.update("k", lambda old: [old]) == [1]
        assert await kv.update("k", lambda old: [old]) == [[1]]
        assert await reopened.delete("k")
        assert await kv.get("k") is None

    async def test_a_value_is_kept_replaced_and_deleted(self, kv: KeyValue) -> None:
        """`get` returns the last value that was put."""
        assert await kv.get("k") is None
        await kv.put("k", {"a": [1, 2.5, None, True, "x"]})
        assert await kv.get("k") == {"a": [1, 2.5, None, True, "x"]}
        await kv.put("k", 2)
        assert await kv.get("k") == 2
        assert await kv.delete("k")
        assert not await kv.delete("k")
        assert await kv.get("k") is None

    async def test_a_stored_value_is_out_of_reach(self, kv: KeyValue) -> None:
        """Changing a value after `put` or `get` does not change the stored value."""
        value: list[JsonValue] = [1]
        await kv.put("k", value)
        value.append(2)
        stored = await kv.get("k")
        assert isinstance(stored, list)
        stored.append(3)
        assert await kv.get("k") == [1]

    async def test_tenants_do_not_see_each_other(self, kv: KeyValue) -> None:
        """No method reads or changes values of another tenant."""
        await kv.put("k", 1, tenant="one")
        assert await kv.get("k", tenant="two") is None
        assert await kv.scan(tenant="two") == ()
        assert not await kv.delete("k", tenant="two")
        assert await kv.update("k", lambda old: [old], tenant="two") == [None]
        assert await kv.get("k", tenant="one") == 1

    async def test_a_scan_goes_by_plain_prefix_in_key_order(self, kv: KeyValue) -> None:
        """Wildcards, upper case and the last characters of Unicode have no special meaning in a prefix."""
        keys = ["a", "a%", "a%b", "a_", "aa", "b", "a\0", "\U0010ffff", "\U0010ffffx", "\ud7ff", "\ud7ffz", "\ue000"]
        keys += ["A", "Ab", "a*", "a*b", "a?", "a[b]", "[", "^a", "a.", "a\\", "a\\*"]
        for key in keys:
            await kv.put(key, key)
        wildcards = ("a*", "a?", "a[", "a[b", "[", "^", "a.", "a\\", "*", "?", "A")
        for prefix in ("", "a", "a%", "a_", "a\0", "b", "c", "\U0010ffff", "\ud7ff", *wildcards):
            expected = tuple((key, key) for key in sorted(keys) if key.startswith(prefix))
            assert await kv.scan(prefix) == expected

    async def test_a_value_lapses(self, kv: KeyValue, clock: ManualClock) -> None:
        """A value with `ttl_s` expires for every method after this time; a value without `ttl_s` never expires."""
        await kv.put("short", 1, ttl_s=10)
        await kv.put("long", 2)
        clock.move(9.999)
        assert await kv.get("short") == 1
        clock.move(0.001)
        assert await kv.get("short") is None
        assert await kv.scan() == (("long", 2),)
        assert await kv.update("short", lambda old: [old], ttl_s=1) == [None]
        clock.move(1)
        assert not await kv.delete("short")
        await kv.put("gone", 1, ttl_s=0)
        assert await kv.get("gone") is None
        await kv.put("long", 3, ttl_s=float("inf"))
        clock.move(1e9)
        assert await kv.get("long") == 3

    async def test_an_update_sees_the_value_it_replaces(self, kv: KeyValue) -> None:
        """No concurrent update is lost."""

        def increment(old: JsonValue) -> JsonValue:
            return (old if isinstance(old, int) else 0) + 1

        async with anyio.create_task_group() as group:
            for _ in range(25):
                group.start_soon(kv.update, "n", increment)
        assert await kv.get("n") == 25
        assert await kv.update("n", lambda _: None) is None
        assert await kv.scan() == (("n", None),)

    async def test_an_update_that_fails_changes_nothing(self, kv: KeyValue) -> None:
        """The error of the function is raised to the caller."""
        await kv.put("k", 1)
        with pytest.raises(ZeroDivisionError):
            await kv.update("k", lambda _: 1 // 0)
        with pytest.raises(ValueError, match="JSON compliant"):
            await kv.update("k", lambda _: float("nan"))
        assert await kv.get("k") == 1
        assert await kv.update("k", lambda old: [old]) == [1]

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=[f"text {number}" for number in range(len(ODD_TEXTS))])
    async def test_text_of_any_kind_comes_back_unchanged(self, kv: KeyValue, text: str) -> None:
        """Texts in keys, tenants and values are stored unchanged."""
        await kv.put(text, {text: text}, tenant=text)
        assert await kv.scan(text, tenant=text) == ((text, {text: text}),)
        assert await kv.get(text, tenant=text) == {text: text}

    async def test_lone_surrogates_are_replaced(self, kv: KeyValue) -> None:
        """Lone surrogates are replaced in keys and values, and in the arguments of reads."""
        await kv.put("\ud800", {"\ud800": "\udfff"})
        assert await kv.get("\ud800") == {"\ufffd": "\ufffd"}
        assert await kv.scan("\udbff") == (("\ufffd", {"\ufffd": "\ufffd"}),)

    async def test_what_is_no_json_is_refused(self, kv: KeyValue) -> None:
        """Invalid values raise, and nothing is stored."""
        deep: JsonValue = []
        for _ in range(100_000):
            deep = [deep]
        for value in (float("nan"), float("inf"), deep, 10**5000):
            with pytest.raises(ValueError, match=r"."):
                await kv.put("k", value)
        with pytest.raises(ValueError, match="zero seconds or more"):
            await kv.put("k", 1, ttl_s=-1)
        assert await kv.scan() == ()
