"""Slots of a batch: who gets one, and how their number follows the providers."""

from __future__ import annotations

import logging
from math import inf
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from roundtable.api.slots import DebateSeat, Slots
from roundtable.core.engine.patience import ProviderPatience, is_of_provider, is_outage, pause_s
from roundtable.core.types.debate import ErrorInfo
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
    CircuitOpen,
    ParseError,
    RoundtableError,
)
from roundtable.testing import ManualClock
from roundtable.types import FailedTurn, ModelCall

START = ManualClock().now()


def call(*, error: str | None = "APINetworkError", status: int | None = None) -> ModelCall:
    return ModelCall(
        provider="acme", model="m", endpoint="", started_at=START, duration_s=1.0,
        error=error, status=status,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("heard", "left"),
    [
        pytest.param(call(error="APIRateLimitError", status=429), 4, id="rate"),
        pytest.param(call(status=503), 4, id="overload"),
        pytest.param(call(status=529), 4, id="overload of another vendor"),
        pytest.param(call(status=500), 8, id="error"),
        pytest.param(call(error="APITimeoutError"), 8, id="time-out"),
        pytest.param(call(error=None), 8, id="answer"),
    ],
)
async def test_a_rate_or_overload_halves_the_slots_and_nothing_else_does(heard: ModelCall, left: int) -> None:
    slots = Slots(8)
    for _ in range(8):
        await slots.take()
    slots.hear(heard)
    assert slots.at_once == left


async def test_the_slots_are_not_halved_again_before_enough_jobs_have_ended() -> None:
    slots = Slots(8)
    for _ in range(8):
        await slots.take()
    for _ in range(3):
        slots.hear(call(status=429))
        assert slots.at_once == 4
    for _ in range(4):
        slots.put_back()
    slots.hear(call(status=429))
    assert slots.at_once == 2


def test_the_slots_grow_by_one_for_each_round_of_jobs_up_to_the_most() -> None:
    slots = Slots(4)
    slots.halve()
    slots.halve()
    assert slots.at_once == 1
    slots.grow()
    assert slots.at_once == 2
    slots.grow()
    slots.grow()
    assert slots.at_once == 3
    for _ in range(20):
        slots.grow()
    assert slots.at_once == 4


def test_fixed_slots_stay() -> None:
    slots = Slots(4, adapts=False)
    slots.hear(call(status=429))
    assert slots.at_once == 4


@pytest.mark.both_loops
async def test_slots_go_to_those_that_wait_in_their_order_and_a_cancelled_wait_takes_none() -> None:
    slots, order = Slots(1), []
    await slots.take()

    async def wait(name: str) -> None:
        await slots.take()
        order.append(name)
        slots.put_back()

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await slots.take()
        for name in "abc":
            group.start_soon(wait, name)
            await checkpoint()
            await checkpoint()
        slots.put_back()
    assert order == ["a", "b", "c"]
    await slots.take()


@pytest.mark.both_loops
async def test_a_seat_is_released_once_however_often_it_is_reported() -> None:
    slots = Slots(1)
    seat = DebateSeat(slots)
    await seat.returns()
    seat.leave()
    seat.leave()
    await slots.take()
    with anyio.move_on_after(0.01) as scope:
        await slots.take()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("error", "of_provider", "outage"),
    [
        (CircuitOpen(), True, True),
        (CircuitOpen(details={"reason": "circuit_open", "cause": "certificate"}), False, False),
        (APIRateLimitError(), True, True),
        (APIRateLimitError(retryable=False, retry_after_s=300.0), True, True),
        (APIRateLimitError(retryable=False), False, False),
        (APINetworkError(details={"connected": False}), True, True),
        (APINetworkError(retryable=False, details={"connected": False}), False, False),
        (APINetworkError(details={"status": 503}), True, True),
        (APINetworkError(details={"status": 500}), True, False),
        (APINetworkError(details={"status": 500}, retry_after_s=20.0), True, True),
        (APINetworkError(), True, False),
        (APITimeoutError(), True, False),
        (AgentError(retryable=True), True, False),
        (AgentError(), False, False),
        (ParseError(), False, False),
        (APIAuthError(), False, False),
        (BudgetExceeded(), False, False),
    ],
    ids=[
        "breaker",
        "breaker of a certificate",
        "rate",
        "long rate",
        "quota",
        "away",
        "certificate",
        "overload",
        "error",
        "error with a time",
        "cut",
        "time-out",
        "useless answer",
        "refusal",
        "parse",
        "key",
        "budget",
    ],
)
def test_only_temporary_failures_are_caused_by_the_provider(
    error: RoundtableError, *, of_provider: bool, outage: bool
) -> None:
    assert (is_of_provider(error), is_outage(error)) == (of_provider, outage)


def test_waits_follow_the_provider_or_grow() -> None:
    assert [pause_s(attempts, [APINetworkError()]) for attempts in (1, 2, 3, 9)] == [1, 2, 4, 30]
    assert pause_s(9, [APINetworkError(retry_after_s=7.5), APIRateLimitError(retry_after_s=3.0)]) == 7.5
    assert [pause_s(attempts, [CircuitOpen()]) for attempts in (1, 3, 9)] == [1, 4, 30]


def turn(attempt: int, error: str, *, stage: str = "answer", slot: int = 0, **facts: object) -> FailedTurn:
    is_retryable = error != "APIAuthError"
    info = ErrorInfo(name=error, message="no", code="API_NETWORK_ERROR", retryable=is_retryable, **facts)  # type: ignore[arg-type]
    return FailedTurn(
        round=1, stage=stage, slot=slot, attempt=attempt, agent_id="ada", agent_name="Ada", error=info, timestamp=START
    )


class Waiter:
    """A patience, with the waits that it noted."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.patience = ProviderPatience(**{"clock": self.clock} | options)
        self.noted: list[float] = []

    async def wait(self, *failed: FailedTurn, stops: bool = False) -> list[FailedTurn]:
        turns = await self.patience.wait(failed, stops=stops, note=lambda _, seconds: self.noted.append(seconds))
        return [*turns]


@pytest.mark.both_loops
async def test_each_outage_has_its_own_time() -> None:
    waiter = Waiter(outage_s=100)
    away = turn(1, "CircuitOpen", retry_after_s=60)
    assert await waiter.wait(away)
    assert not await waiter.wait(away)
    assert await waiter.wait(turn(1, "CircuitOpen", stage="vote", retry_after_s=60))
    assert waiter.noted == [60, 60]


@pytest.mark.both_loops
@pytest.mark.parametrize("outage_s", [0.5, 1, 10, 45, 59.5, 100])
async def test_the_waits_of_an_outage_without_a_named_time_add_up_to_exactly_the_time_that_is_allowed(
    outage_s: float,
) -> None:
    waiter = Waiter(outage_s=outage_s)
    while await waiter.wait(turn(1, "CircuitOpen")):
        pass
    assert sum(waiter.noted) == pytest.approx(outage_s)
    assert not await Waiter(outage_s=0).wait(turn(1, "CircuitOpen"))


@pytest.mark.both_loops
async def test_a_provider_that_asks_for_a_longer_wait_than_allowed_is_not_waited_for_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused: set[tuple[str, str]] = set()
    with caplog.at_level(logging.INFO, "roundtable.engine"):
        for _ in range(2):
            waiter = Waiter(outage_s=30, refused=refused)
            away = turn(1, "CircuitOpen", provider="acme", retry_after_s=60)
            assert not waiter.patience.will_wait(away, inf)
            assert await waiter.wait(away) == []
            assert waiter.noted == []
    (warning,) = caplog.records
    assert warning.levelname == "WARNING"
    assert warning.getMessage().startswith(
        "a debate goes on without waiting for acme, which takes no call for another 60 s: that is longer than "
        "outage_s=30 allows (API_NETWORK_ERROR). Raise outage_s, or"
    )


@pytest.mark.both_loops
async def test_a_provider_that_asks_for_too_long_a_wait_does_not_take_the_waits_of_the_others_away() -> None:
    waiter = Waiter(outage_s=30)
    near, far = turn(1, "CircuitOpen", retry_after_s=5), turn(1, "CircuitOpen", retry_after_s=600, slot=1)
    assert await waiter.wait(near, far) == [near]
    assert waiter.noted == [5]


@pytest.mark.both_loops
async def test_long_waits_are_logged_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    waiter = Waiter(outage_s=600)
    with caplog.at_level(logging.INFO, "roundtable.engine"):
        while await waiter.wait(turn(1, "CircuitOpen", provider="acme")):
            pass
    texts = [record.getMessage().partition(", so that")[0] for record in caplog.records]
    assert texts == [
        "the debate waits 1 s for acme",
        "the debate waits 30 s for acme, 31 s so far",
        "the debate waits 30 s for acme, 2 min so far",
        "the debate waits 30 s for acme, 5 min so far",
    ]


@pytest.mark.parametrize(
    ("failed", "left_s", "wait_for", "waits"),
    [
        (turn(1, "APINetworkError"), 9, "all", True),
        (turn(2, "APINetworkError"), 9, "all", False),
        (turn(1, "APINetworkError"), 2, "all", False),
        (turn(1, "APINetworkError"), 9, "quorum", False),
        (turn(1, "APINetworkError"), 9, "none", False),
        (turn(7, "CircuitOpen"), 9, "all", True),
        (turn(1, "CircuitOpen", retry_after_s=10), 9, "all", False),
        (turn(1, "AgentError"), 9, "all", True),
        (turn(1, "APIAuthError"), 9, "all", False),
    ],
    ids=["first", "second", "no time", "quorum", "none", "outage", "long outage", "useless", "key"],
)
@pytest.mark.both_loops
async def test_the_next_step_is_known_when_a_turn_fails(
    failed: FailedTurn, left_s: float, wait_for: Any, *, waits: bool
) -> None:
    waiter = Waiter(wait_for=wait_for)
    assert waiter.patience.will_wait(failed, left_s) == waits
    if wait_for == "all" and failed.error.retryable:
        with anyio.fail_after(left_s):
            assert bool(await waiter.wait(failed)) == waits


@pytest.mark.both_loops
async def test_a_cancelled_wait_is_recorded() -> None:
    waiter = Waiter(clock=StoppedClock(), outage_s=600)
    async with anyio.create_task_group() as group:
        group.start_soon(waiter.wait, turn(1, "CircuitOpen"))
        await waiter.patience._clock.begun.wait()
        group.cancel_scope.cancel()
    assert waiter.noted == [7.0]


@pytest.mark.both_loops
async def test_a_turn_gets_its_second_chance_even_if_the_outage_of_another_lasts_too_long() -> None:
    waiter = Waiter(outage_s=10)
    away, other = turn(1, "CircuitOpen", retry_after_s=60), turn(1, "APINetworkError", slot=1)
    assert await waiter.wait(away, other) == [other]
    assert waiter.noted == [2.0]
    assert await waiter.wait(away, other.model_copy(update={"attempt": 2})) == []


@pytest.mark.both_loops
async def test_waits_grow_again_after_a_breaker_that_named_its_time() -> None:
    waiter = Waiter()
    tested, is_open = turn(1, "CircuitOpen"), turn(1, "CircuitOpen", retry_after_s=60)
    for failed in (tested, tested, is_open, tested, tested):
        assert await waiter.wait(failed)
    assert waiter.noted == [1, 2, 60, 1, 2]


class StoppedClock(ManualClock):
    """A clock whose sleep takes seven seconds and never ends."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.move(7.0)
        self.begun.set()
        await anyio.sleep_forever()


class FullTable:
    """A place that is free again only after a long time."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.within: list[float] = []

    def waits(self, seconds: float, error: ErrorInfo) -> None:
        pass

    async def returns(self, within_s: float) -> None:
        self.within.append(within_s)
        await self.clock.sleep(1000)


@pytest.mark.both_loops
async def test_time_in_the_queue_does_not_count_as_time_of_the_outage() -> None:
    seat = FullTable(ManualClock())
    waiter = Waiter(outage_s=130, clock=seat.clock, seat=seat)
    away = turn(1, "CircuitOpen", retry_after_s=60)
    for _ in range(2):
        assert await waiter.wait(away) == [away]
    assert await waiter.wait(away) == []
    assert waiter.noted == [60, 60]
    assert seat.within == [float("inf")] * 2


@pytest.mark.both_loops
async def test_a_debate_leaves_half_of_the_time_before_its_deadline_for_its_turns() -> None:
    seat = FullTable(ManualClock())
    with anyio.fail_after(100):
        await Waiter(clock=seat.clock, seat=seat).wait(turn(1, "CircuitOpen", retry_after_s=60))
    assert seat.within == [pytest.approx(50, abs=5)]


@pytest.mark.both_loops
async def test_a_seat_is_kept_for_a_short_wait_and_does_without_a_slot_in_time() -> None:
    slots = Slots(1)
    seat, error = DebateSeat(slots), turn(1, "CircuitOpen").error
    changes: list[object] = []
    seat.on_change = changes.append
    await seat.returns()
    seat.waits(4.0, error)
    with anyio.move_on_after(0.01) as scope:
        await slots.take()
    assert scope.cancelled_caught
    await seat.returns()
    seat.waits(6.0, error)
    await slots.take()
    with anyio.fail_after(5):
        await seat.returns(0.01)
    seat.leave()
    assert changes == [None, (4.0, error), None, (6.0, error), None]
    slots.put_back()
    await slots.take()
