"""Keys of requests: one session each, whoever sends it again, and however the first request ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from roundtable.core.base.clock import SystemClock
from roundtable.errors import RoundtableError, StorageError
from roundtable.server.runs import Claimed, Keys
from roundtable.storage import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = [pytest.mark.anyio, pytest.mark.both_loops]


class Moved(SystemClock):
    """A clock that can be put forward."""

    ahead_s = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.ahead_s)


def beginning(name: str, counted: list[str]) -> Callable[[], Awaitable[str]]:
    async def begin() -> str:
        counted.append(name)
        return name

    return begin


async def test_a_key_identifies_its_session_for_a_day() -> None:
    clock, begun = Moved(), []
    keys = Keys(MemoryStorage().kv, clock)
    assert await keys.once("ann", "k", b"x", beginning("one", begun)) == ("one", True, None)
    assert await keys.once("ann", "k", b"x", beginning("two", begun)) == ("one", False, None)
    assert await keys.once("bob", "k", b"x", beginning("three", begun)) == ("three", True, None)
    clock.ahead_s = 86_401
    assert await keys.once("ann", "k", b"x", beginning("four", begun)) == ("four", True, None)
    assert begun == ["one", "three", "four"]


async def test_a_key_remembers_after_which_event_its_session_was_continued() -> None:
    keys = Keys(MemoryStorage().kv, Moved())
    assert await keys.once("ann", "k", b"x", beginning("one", []), after=6) == ("one", True, 6)
    assert await keys.once("ann", "k", b"x", beginning("two", []), after=9) == ("one", False, 6)


async def test_another_request_under_the_key_is_refused() -> None:
    keys = Keys(MemoryStorage().kv, Moved())
    await keys.once("ann", "k", b"x", beginning("one", []))
    with pytest.raises(RoundtableError, match="another request") as caught:
        await keys.once("ann", "k", b"y", beginning("two", []))
    assert caught.value.code == "IDEMPOTENCY_KEY_REUSED"


async def test_a_key_is_free_again_if_nothing_was_started() -> None:
    keys = Keys(MemoryStorage().kv, Moved())

    async def fails() -> str:
        raise RoundtableError("no")

    with pytest.raises(RoundtableError, match="no"):
        await keys.once("ann", "k", b"x", fails)
    assert await keys.once("ann", "k", b"x", beginning("one", [])) == ("one", True, None)


@pytest.mark.slow
async def test_a_simultaneous_request_waits_for_a_limited_time() -> None:
    storage, clock = MemoryStorage(), Moved()
    keys, going = Keys(storage.kv, clock, patience_s=0.01), anyio.Event()
    found: list[Claimed] = []

    async def slow() -> str:
        await going.wait()
        return "one"

    async def first() -> None:
        found.append(await Keys(storage.kv, clock).once("ann", "k", b"x", slow))

    async def second() -> None:
        found.append(await Keys(storage.kv, clock).once("ann", "k", b"x", beginning("two", [])))

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RoundtableError) as caught:
            await keys.once("ann", "k", b"x", beginning("two", []))
        assert (caught.value.code, caught.value.retry_after_s) == ("IDEMPOTENCY_KEY_IN_USE", 1)
        group.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        going.set()
    assert sorted(found) == [("one", False, None), ("one", True, None)]


async def test_a_request_that_died_holds_its_key_for_a_minute() -> None:
    storage, clock = MemoryStorage(), Moved()
    keys = Keys(storage.kv, clock, patience_s=0.01)
    await keys.once("ann", "k", b"x", beginning("one", []))
    [(name, held)] = await storage.kv.scan(tenant=":requests")
    assert isinstance(held, dict)
    await storage.kv.put(name, {**held, "sessionId": None}, tenant=":requests")
    with pytest.raises(RoundtableError, match="still being answered"):
        await keys.once("ann", "k", b"x", beginning("two", []))
    clock.ahead_s = 61
    assert await keys.once("ann", "k", b"x", beginning("three", [])) == ("three", True, None)


async def test_a_caller_who_is_cancelled_frees_the_key() -> None:
    storage = MemoryStorage()
    keys = Keys(storage.kv, Moved())
    with anyio.move_on_after(0.01):
        await keys.once("ann", "k", b"x", anyio.sleep_forever)
    assert await storage.kv.scan(tenant=":requests") == ()


async def test_an_unreadable_record_of_a_key_is_reported() -> None:
    storage = MemoryStorage()
    keys = Keys(storage.kv, Moved())
    await keys.once("ann", "k", b"x", beginning("one", []))
    [(name, _)] = await storage.kv.scan(tenant=":requests")
    await storage.kv.put(name, "nonsense", tenant=":requests")
    with pytest.raises(StorageError, match="cannot be read"):
        await keys.once("ann", "k", b"x", beginning("two", []))
