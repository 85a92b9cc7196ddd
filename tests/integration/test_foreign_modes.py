"""Modes are foreign code: one that sleeps where it should compute holds up nobody else, and not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import anyio
import pytest
from integration.engine_kit import CountingModel, CourtMode, eventually, table_of
from integration.server_kit import client_of

from roundtable.api import debates, estimate
from roundtable.core.engine import plan_limits
from roundtable.errors import ConfigurationError
from roundtable.modes import CollaborativeMode, WrappedMode, with_baseline
from roundtable.types import DebateContext, Plan

ENOUGH_S = 30.0


class SleepyMode(CourtMode):
    """Waits for something outside before it plans the ruling."""

    name = "sleepy"

    def __init__(self) -> None:
        self.asleep = threading.Event()
        self.wake = threading.Event()
        self.planned_on: set[str] = set()

    def next_stage(self, view: DebateContext) -> Plan:
        self.planned_on.add(threading.current_thread().name)
        if self.stage_done(view, "pleas"):
            self.asleep.set()
            self.wake.wait(ENOUGH_S)
        return super().next_stage(view)


@pytest.fixture
def sleepy() -> Iterator[SleepyMode]:
    mode = SleepyMode()
    yield mode
    mode.wake.set()


async def test_the_event_loop_continues_while_a_custom_mode_sleeps(sleepy: SleepyMode) -> None:
    async with table_of(CountingModel("Tea")) as table:
        handle = await table.start("Tea?", mode=sleepy, rounds=1)
        await eventually(sleepy.asleep.is_set, ENOUGH_S)
        other = await table.debate("Tea?", rounds=1)  # nothing of which would happen on a loop that sleeps
        assert other.status == "completed"
        sleepy.wake.set()
        assert (await handle.result()).status == "completed"
    assert sleepy.planned_on == {"roundtable mode"}


async def test_a_custom_wrapper_of_a_built_in_mode_counts_as_a_custom_mode() -> None:
    planned_on: set[str] = set()

    class Sleepy(WrappedMode):
        def __init__(self) -> None:
            super().__init__(CollaborativeMode())
            self.name = "sleepy"

        def next_stage(self, view: DebateContext) -> Plan:
            planned_on.add(threading.current_thread().name)
            return super().next_stage(view)

    result = await table_of(CountingModel("Tea")).debate("Tea?", mode=Sleepy(), rounds=1)
    assert result.status == "completed"
    assert planned_on == {"roundtable mode"}


async def test_a_mode_that_does_not_plan_in_time_ends_its_debate(
    sleepy: SleepyMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_limits, "PLAN_S", 0.2)
    table = table_of(CountingModel("Tea"))
    with pytest.raises(ConfigurationError, match=r"mode 'sleepy' returned no plan within 0\.2 s") as caught:
        await table.debate("Tea?", mode=with_baseline(sleepy), rounds=1)
    assert caught.value.partial is not None
    sleepy.wake.set()
    assert caught.value.session_id is not None
    monkeypatch.undo()
    resumed = await table.resume(caught.value.session_id)
    assert (resumed.status, len(resumed.rounds)) == ("completed", 1)


async def test_a_debate_whose_mode_sleeps_can_be_cancelled(sleepy: SleepyMode) -> None:
    async with table_of(CountingModel("Tea")) as table:
        handle = await table.start("Tea?", mode=sleepy, rounds=1)
        await eventually(sleepy.asleep.is_set, ENOUGH_S)
    result = await handle.result()
    assert not sleepy.wake.is_set()
    assert (result.status, result.exit and result.exit.reason) == ("partial", "cancelled")


async def test_a_built_in_mode_plans_without_an_extra_thread() -> None:
    before = threading.active_count()
    seen: list[int] = []

    class Watching(CountingModel):
        async def complete(self, request):  # type: ignore[no-untyped-def]
            seen.append(threading.active_count())
            return await super().complete(request)

    await table_of(Watching("Tea")).debate("Tea?", mode="delphi", rounds=1)
    assert max(seen) <= before


async def test_an_estimate_does_not_wait_for_a_mode_that_never_ends(
    sleepy: SleepyMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_limits, "PLAN_S", 0.2)
    async with table_of(CountingModel("Tea")) as table:
        with pytest.raises(ConfigurationError, match=r"mode 'sleepy' returned no plan within 0\.2 s"):
            table.estimate("Tea?", mode=sleepy, rounds=1)


class SlowMode(CourtMode):
    """Takes its time for each plan, and counts how many plans are made at once."""

    name = "slow"

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def next_stage(self, view: DebateContext) -> Plan:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.01)
        with self.lock:
            self.now -= 1
        return super().next_stage(view)


async def test_estimates_in_threads_wait_for_one_another() -> None:
    mode = SlowMode()
    async with table_of(CountingModel("Tea")) as table, anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(partial(debates.Debates(table._wiring).estimate_aside, "Tea?", mode=mode, rounds=1))
    assert mode.most == 2


async def test_an_estimate_that_took_too_long_frees_its_slot_when_its_thread_ends(
    sleepy: SleepyMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with table_of(CountingModel("Tea")) as table:
        used = debates.Debates(table._wiring)
        monkeypatch.setattr(estimate, "ESTIMATE_S", 0.05)
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"could not be planned within 0\.05 s") as late:
                await used.estimate_aside("Tea?", mode=sleepy, rounds=1)
            assert late.value.retryable
        monkeypatch.setattr(estimate, "ESTIMATE_S", ENOUGH_S)
        with anyio.move_on_after(0.05) as waiting:
            await used.estimate_aside("Tea?", rounds=2)
        assert waiting.cancelled_caught
        sleepy.wake.set()
        with anyio.fail_after(ENOUGH_S):
            assert await used.estimate_aside("Tea?", rounds=2) == table.estimate("Tea?", rounds=2)


async def test_an_estimate_in_a_thread_has_a_time_limit(sleepy: SleepyMode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "ESTIMATE_S", 0.2)
    async with table_of(CountingModel("Tea")) as table:
        with pytest.raises(ConfigurationError, match=r"could not be planned within 0\.2 s"):
            await debates.Debates(table._wiring).estimate_aside("Tea?", mode=sleepy, rounds=1)
        expected = table.estimate("Tea?", rounds=2)
        assert await debates.Debates(table._wiring).estimate_aside("Tea?", rounds=2) == expected


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_server_answers_while_the_mode_of_a_request_sleeps(sleepy: SleepyMode) -> None:
    table = table_of(CountingModel("Tea"))
    table._wiring.engine.modes.register_mode(sleepy.name, sleepy)
    answers: list[int] = []
    async with client_of(table) as web, anyio.create_task_group() as group:

        async def ask() -> None:
            body = {"topic": "Tea or coffee?", "mode": "sleepy", "rounds": 1}
            answers.append((await web.post("/api/debates", json=body)).status_code)

        group.start_soon(ask)
        await eventually(sleepy.asleep.is_set, ENOUGH_S)
        assert (await web.get("/health")).status_code == 200
        assert not answers
        sleepy.wake.set()
    assert answers == [202]


class MeddlingMode(CourtMode):
    """Writes into everything that it is shown, at any depth."""

    name = "meddling"

    def next_stage(self, view: DebateContext) -> Plan:
        plan = super().next_stage(view)
        for turn in view.transcript:
            if turn.outcome == "answered" and turn.answer.kind == "position":
                vars(turn.answer)["position"] = "Milk"
                vars(turn)["agent_name"] = "Nobody"
        vars(view)["topic"] = "Coffee?"
        return plan


async def test_changes_of_a_mode_to_its_view_have_no_effect() -> None:
    async with table_of(CountingModel("Tea")) as table:
        result = await table.debate("Tea?", mode=MeddlingMode(), rounds=2)
    positions = {response.position for record in result.rounds for response in record.responses}
    assert positions == {"Tea"}
    assert result.session.topic == "Tea?"
