"""Limits of users: what counts, for how long, and what is told about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic import ValidationError

from roundtable.errors import StorageError
from roundtable.server import Limits
from roundtable.server.limits import Further, RateLimited, UserLimits
from roundtable.server.metrics_observer import MetricsObserver
from roundtable.server.quota import DAY_S, HOUR_S, LEASE_S, Account, Request
from roundtable.storage import MemoryStorage
from roundtable.storage.memory import MemoryKeyValue
from roundtable.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

pytestmark = pytest.mark.anyio

NONE = Limits(
    conversations_per_hour=None, concurrent=None, rounds_per_day=None, streams_per_user=None, streams_total=None
)


class PatientClock(ManualClock):
    """A clock that whoever waits on it waits for."""

    async def sleep(self, seconds: float) -> None:
        until = self.monotonic() + seconds
        while self.monotonic() < until:
            await checkpoint()


class Conversation:
    """Something that runs until it is told to end."""

    def __init__(self) -> None:
        self.ended = anyio.Event()

    async def wait(self) -> None:
        await self.ended.wait()


def counted(clock: ManualClock, storage: MemoryStorage | None = None, **limits: int | None) -> UserLimits:
    """Return the limits of a server in memory; those not named do not apply."""
    chosen = NONE.model_copy(update=limits)
    return UserLimits((storage or MemoryStorage(clock=clock)).kv, chosen, clock=clock)


async def left(limits: UserLimits, user: str = "ann") -> dict[str, int]:
    return {one.name: one.remaining for one in await limits.standings(user)}


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "5", 10**10])
def test_a_limit_is_a_positive_number_or_none(value: object) -> None:
    with pytest.raises(ValidationError):
        Limits(concurrent=value)


async def test_answers_state_the_limits_and_the_remainder() -> None:
    clock = ManualClock()
    limits = UserLimits(MemoryStorage(clock=clock).kv, Limits(), clock=clock)
    admission = await limits.admit("ann", rounds=3)
    assert admission.headers == {
        "RateLimit-Policy": '"conversations";q=5;w=3600, "rounds";q=100;w=86400, "concurrent";q=2',
        "RateLimit": '"conversations";r=4;t=3600, "rounds";r=97;t=86400, "concurrent";r=1',
    }
    assert (await counted(clock).admit("ann", rounds=3)).headers == {}


async def test_an_hour_is_a_moving_window() -> None:
    clock = ManualClock()
    limits = counted(clock, conversations_per_hour=2)
    await limits.admit("ann", rounds=1)
    clock.move(600)
    await limits.admit("ann", rounds=1)
    with pytest.raises(RateLimited) as refused:
        await limits.admit("ann", rounds=1)
    error = refused.value
    assert (error.code, error.retry_after_s, error.retryable) == ("RATE_LIMIT_EXCEEDED", HOUR_S - 600, True)
    assert error.details == {"limit": "conversations", "quota": 2, "windowS": HOUR_S}
    assert error.headers["RateLimit"] == '"conversations";r=0;t=3000'
    clock.move(HOUR_S - 600 - 0.001)
    with pytest.raises(RateLimited):
        await limits.admit("ann", rounds=1)
    clock.move(0.001)
    await limits.admit("ann", rounds=1)
    assert await left(limits) == {"conversations": 0}


async def test_rounds_are_counted_for_each_day() -> None:
    clock = ManualClock()
    limits = counted(clock, rounds_per_day=10)
    await limits.admit("ann", rounds=6)
    clock.move(HOUR_S)
    await limits.admit("ann", rounds=3)
    with pytest.raises(RateLimited) as refused:
        await limits.admit("ann", rounds=7)
    assert refused.value.retry_after_s == 23 * HOUR_S
    with pytest.raises(RateLimited) as refused:
        await limits.admit("ann", rounds=8)
    assert refused.value.retry_after_s == 24 * HOUR_S
    await limits.admit("ann", rounds=1)


async def test_more_rounds_than_a_day_has_are_never_admitted() -> None:
    with pytest.raises(RateLimited) as refused:
        await counted(ManualClock(), rounds_per_day=10, conversations_per_hour=1).admit("ann", rounds=11)
    error = refused.value
    assert (error.limit, error.retry_after_s, error.retryable) == ("rounds", None, False)


async def test_the_limit_with_the_longest_wait_is_reported() -> None:
    limits = counted(ManualClock(), conversations_per_hour=1, rounds_per_day=4, concurrent=1)
    await limits.admit("ann", rounds=4)
    with pytest.raises(RateLimited) as refused:
        await limits.admit("ann", rounds=1)
    assert refused.value.limit == "rounds"


async def test_refused_and_revoked_requests_are_not_counted() -> None:
    heard: list[str] = []
    clock = ManualClock()
    limits = UserLimits(MemoryStorage(clock=clock).kv, Limits(), clock=clock, refused=heard.append)
    first = await limits.admit("ann", rounds=100)
    with pytest.raises(RateLimited):
        await limits.admit("ann", rounds=1)
    assert heard == ["rounds"]
    assert await left(limits) == {"conversations": 4, "rounds": 0, "concurrent": 1}
    await first.undo()
    await first.undo()
    assert await left(limits) == {"conversations": 5, "rounds": 100, "concurrent": 2}


async def test_continuing_takes_a_slot_and_counts_the_added_rounds() -> None:
    limits = counted(ManualClock(), conversations_per_hour=1, rounds_per_day=9, concurrent=2)
    await limits.admit("ann", rounds=3)
    await limits.admit("ann", rounds=2, begins=False)
    assert await left(limits) == {"conversations": 0, "rounds": 4, "concurrent": 0}


async def test_a_user_above_a_lowered_limit_can_finish_started_conversations() -> None:
    clock = ManualClock()
    storage = MemoryStorage(clock=clock)
    before = counted(clock, storage, conversations_per_hour=9, rounds_per_day=90)
    for _ in range(3):
        await before.admit("ann", rounds=30)
    now = counted(clock, storage, conversations_per_hour=2, rounds_per_day=20)
    await now.admit("ann", rounds=0, begins=False)
    with pytest.raises(RateLimited):
        await now.admit("ann", rounds=1, begins=False)


async def test_users_do_not_share_their_limits() -> None:
    limits = counted(ManualClock(), conversations_per_hour=1)
    await limits.admit("ann", rounds=1)
    await limits.admit("Ann", rounds=1)
    with pytest.raises(RateLimited):
        await limits.admit("ann", rounds=1)


async def test_a_slot_that_is_not_renewed_is_freed() -> None:
    clock = ManualClock()
    limits = counted(clock, concurrent=1)
    await limits.admit("ann", rounds=1)
    clock.move(LEASE_S - 1)
    with pytest.raises(RateLimited) as refused:
        await limits.admit("ann", rounds=1)
    assert refused.value.retry_after_s == 1
    clock.move(1)
    await limits.admit("ann", rounds=1)


async def test_a_slot_is_kept_while_the_conversation_runs() -> None:
    clock = PatientClock()
    limits = counted(clock, concurrent=1)
    conversation = Conversation()
    async with limits.open():
        admission = await limits.admit("ann", rounds=1)
        admission.hold(conversation)
        for _ in range(20):
            clock.move(LEASE_S / 2)
            await _settle()
            assert await left(limits) == {"concurrent": 0}
        conversation.ended.set()
        with anyio.fail_after(10):
            while await left(limits) != {"concurrent": 1}:
                await checkpoint()


async def _settle() -> None:
    for _ in range(50):
        await checkpoint()


async def test_slots_are_freed_on_leaving() -> None:
    clock = PatientClock()
    limits = counted(clock, concurrent=1)
    conversation = Conversation()
    async with limits.open():
        (await limits.admit("ann", rounds=1)).hold(conversation)
        conversation.ended.set()
    assert await left(limits) == {"concurrent": 1}


async def test_a_slot_is_held_only_while_it_is_renewed() -> None:
    limits = counted(ManualClock(), concurrent=1)
    admission = await limits.admit("ann", rounds=1)
    with pytest.raises(RuntimeError, match="open"):
        admission.hold(Conversation())


async def test_a_storage_that_fails_ends_no_conversation(caplog: pytest.LogCaptureFixture) -> None:
    clock = PatientClock()
    storage = MemoryStorage(clock=clock)
    limits = counted(clock, storage, concurrent=1)
    conversation = Conversation()
    async with limits.open():
        (await limits.admit("ann", rounds=1)).hold(conversation)
        await storage.aclose()
        clock.move(LEASE_S)
        await _settle()
        conversation.ended.set()
    assert "the slot of a conversation of 'ann' could not be stored" in caplog.text


class OddValues(MemoryKeyValue):
    """Fails in a way of its own, once it is told to."""

    odd = False

    async def update(self, key: str, fn: Callable[[JsonValue], JsonValue], **options: Any) -> JsonValue:
        if self.odd:
            raise OSError("no such device")
        return await super().update(key, fn, **options)


async def test_an_unusual_error_of_the_storage_affects_no_other_user(caplog: pytest.LogCaptureFixture) -> None:
    clock = PatientClock()
    values = OddValues(clock, checkpoint)
    limits, figures = UserLimits(values, Limits(), clock=clock), MetricsObserver(values, clock=clock)
    conversation = Conversation()
    async with figures.open(), limits.open():
        (await limits.admit("ann", rounds=1)).hold(conversation)
        figures.count_refusal("rounds")
        values.odd = True
        clock.move(LEASE_S)
        await _settle()
        conversation.ended.set()
    assert "of 'ann' could not be stored: no such device" in caplog.text
    assert "metrics could not be stored: no such device" in caplog.text


class LateValues(MemoryKeyValue):
    """Does what it was told, and answers when it is too late."""

    async def update(self, key: str, fn: Callable[[JsonValue], JsonValue], **options: Any) -> JsonValue:
        with anyio.CancelScope(shield=True):
            value = await super().update(key, fn, **options)
        await checkpoint()
        return value


async def test_a_request_that_is_cancelled_during_admission_is_not_counted() -> None:
    clock = ManualClock()
    values = LateValues(clock, checkpoint)
    limits = UserLimits(values, Limits(), clock=clock)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await limits.admit("ann", rounds=1)
    assert scope.cancelled_caught
    assert await left(limits) == {"conversations": 5, "rounds": 100, "concurrent": 2}
    assert await values.scan(tenant=":limits"), "it was counted, and taken back"


def test_a_clock_that_was_ahead_does_not_block_users_for_long() -> None:
    ahead_us = 400 * 24 * HOUR_S * 1_000_000
    account = Account().with_request(Request("a", 1, 5), now_us=ahead_us)
    assert [one.spent for one in account.standings(Limits(), now_us=0)] == [(), (), ()]
    soon = Account().with_request(Request("a", 1, 5), now_us=60_000_000)
    assert [one.remaining for one in soon.standings(Limits(), now_us=0)] == [4, 95, 2]


async def test_an_unreadable_record_is_an_error_of_the_storage() -> None:
    clock = ManualClock()
    storage = MemoryStorage(clock=clock)
    await storage.kv.put("user/ann", {"taken": "much"}, tenant=":limits")
    with pytest.raises(StorageError, match="cannot be read"):
        await counted(clock, storage).admit("ann", rounds=1)


async def test_rounds_of_a_session_count_once_in_their_window() -> None:
    clock = ManualClock()
    limits = counted(clock, rounds_per_day=20)
    async with limits.open():
        running = Conversation()
        (await limits.admit("ann", rounds=3)).hold(running, session="tea", through=3)
        await _settle()
        for further, remaining in [
            (Further("tea", 1, 3), 17),
            (Further("tea", 1, 3, least=1), 16),
            (Further("tea", 3, 5, least=2), 14),
            (Further("tea", 4, 5), 14),
            (Further("coffee", 2, 6), 10),
            (Further("coffee", 5, 6), 10),
        ]:
            await limits.go_on("ann", further)
            assert (await left(limits))["rounds"] == remaining, further
        running.ended.set()
    clock.move(DAY_S)
    await limits.go_on("ann", Further("tea", 1, 5))
    assert (await left(limits))["rounds"] == 16
    with pytest.raises(RateLimited):
        await limits.go_on("ann", Further("milk", 0, 17))
