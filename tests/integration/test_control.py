"""Pause, stop, resume and extend, by whoever asks; and who may run a session at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import (
    ENOUGH_S,
    CountingModel,
    FailingStorage,
    Gated,
    asking,
    engine_of,
    eventually,
    fold_of,
    late,
    log_of,
    said,
    seated,
    table_of,
)

from roundtable.core.engine.journal import Journal
from roundtable.core.engine.plan_limits import RunLimits
from roundtable.engine import SessionManager
from roundtable.errors import AgentError, SessionError
from roundtable.providers.scripted import Reply, ScriptedModel
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.types import ChatRequest, ChatResponse, Control, ControlAction, DebateConfig, utc_now

pytestmark = pytest.mark.both_loops


def slow_first(request: ChatRequest) -> Reply:
    """Answer slowly in the first round, at once later."""
    return late(30 if request.metadata["round"] == "1" else 0, "Tea")


async def took_s(storage: object, session_id: str) -> float:
    """Return the time from the last request to the end of the run, by the clock of the log."""
    events = await log_of(storage, session_id)
    asked = [event for event in events if event.type == "control"][-1]
    assert events[-1].type == "debate_complete"
    return (events[-1].timestamp - asked.timestamp).total_seconds()


async def test_a_stop_ends_a_running_round_at_once_and_permanently() -> None:
    model, storage = CountingModel(late(30, "Tea")), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        handle = await table.start("Tea?", rounds=2)
        await eventually(lambda: model.under_way == 3)
        await handle.stop()
        with anyio.fail_after(10):
            result = await handle.result()
    assert (result.status, result.session_status, result.answer_reason) == (
        "partial",
        "completed",
        "no round was completed",
    )
    assert result.exit is not None
    assert (result.exit.reason, result.exit.details) == ("stopped", "the caller asked to stop")
    assert (len(model.begun), model.under_way) == (3, 0)
    assert await took_s(storage, handle.session_id) < ENOUGH_S
    await fold_of(storage, handle.session_id)


async def test_answers_given_before_a_stop_are_kept() -> None:
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    storage = MemoryStorage()
    async with table_of(model, storage=storage) as table:
        handle = await table.start("Tea?")
        await eventually(lambda: model.ended == 1)
        await table.stop(handle.session_id)
        result = await handle.result()
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada"]
    assert result.exit is not None
    assert result.exit.reason == "stopped"


async def test_a_later_pause_does_not_replace_a_stop() -> None:
    storage, model = MemoryStorage(), CountingModel(late(0.1, "Tea"))
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await eventually(lambda: model.under_way == 1)
        await engine.sessions.control(session.id, "stop", by="ada")
        await engine.sessions.control(session.id, "pause", by="bo")
    fold = await fold_of(storage, session.id)
    assert fold.progress.status == "completed"
    assert fold.exit is not None
    assert fold.exit.details == "ada asked to stop"


async def test_a_stop_during_the_measurement_stores_no_agreement() -> None:
    measuring = anyio.Event()

    class SlowMeter:
        async def measure(self, responses: Sequence[object], topic: str, **_: object) -> object:
            measuring.set()
            await anyio.sleep(30)
            raise AssertionError

    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    engine.meter = SlowMeter()  # type: ignore[assignment]  # it never gives anything
    session = await engine.start_debate(asking(agents, rounds=1))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await measuring.wait()
        await engine.sessions.control(session.id, "stop")
    fold = await fold_of(storage, session.id)
    assert (fold.progress.status, fold.rounds[0].consensus) == ("completed", None)
    assert await took_s(storage, session.id) < ENOUGH_S


@pytest.mark.parametrize("action", ["pause", "stop"])
async def test_a_request_that_lets_calls_finish_cancels_those_that_do_not_end(action: ControlAction) -> None:
    storage = MemoryStorage()
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(3600, "Tea"))
    agents = seated(model, "ada", "bo")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id, RunLimits(pause_s=0.05))
        await eventually(lambda: model.ended == 1)
        await engine.sessions.control(session.id, action, running="settle")
    fold = await fold_of(storage, session.id)
    assert (fold.progress.status, model.under_way) == ("paused" if action == "pause" else "completed", 0)
    assert [turn.agent_id for turn in fold.rounds[0].in_order()] == ["ada"]
    assert await took_s(storage, session.id) < ENOUGH_S


@pytest.mark.slow
async def test_a_pause_lets_running_calls_settle_and_starts_no_other(disk: SQLiteStorage) -> None:
    model = CountingModel(late(0.05, "Tea"))
    async with table_of(model, storage=disk) as table:
        handle = await table.start("Tea?", rounds=10)
        await eventually(lambda: len(model.begun) >= 4)
        await handle.pause()
        begun = len(model.begun)
        result = await handle.result()
        assert (result.status, result.session_status) == ("paused", "paused")
        assert result.exit is not None
        assert result.exit.reason == "paused"
        assert len(model.begun) <= begun + 3  # the stage that was beginning, and nothing after it
        assert sum(len(held.turns) for held in result.rounds) == len(model.begun)
        assert await took_s(disk, handle.session_id) < ENOUGH_S

        calls = len(model.begun)
        final = await table.resume(handle.session_id)
    assert (final.status, len(final.rounds)) == ("completed", 10)
    assert len(model.begun) == 30
    assert calls < 30
    await fold_of(disk, handle.session_id)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "in pieces"])
async def test_a_call_that_waits_for_admission_does_not_start_after_a_pause(streams: bool) -> None:
    model, storage = CountingModel(late(0.1, "Tea"), streams=streams), MemoryStorage()
    async with table_of(model, storage=storage, concurrency=1) as table:
        handle = await table.start("Tea?", rounds=1)
        await eventually(lambda: model.under_way == 1)
        await handle.pause()
        assert (await handle.result()).session_status == "paused"
        assert len(model.begun) == 1
        assert (await table.resume(handle.session_id)).status == "completed"
    assert sorted(model.begun) == [("ada", "1"), ("bo", "1"), ("cy", "1")]


async def test_a_pause_that_is_revoked_during_a_stage_leaves_no_agent_out() -> None:
    """The second agent was kept from speaking; it must speak once the pause is taken back."""
    storage = MemoryStorage()
    ada_speaks, paused, kept, gate = anyio.Event(), anyio.Event(), anyio.Event(), anyio.Event()

    class Gated(CountingModel):
        async def complete(self, request: ChatRequest) -> object:  # type: ignore[override]
            if request.metadata["agent"] == "ada":
                ada_speaks.set()
                await gate.wait()
            return await super().complete(request)

    model = Gated("Tea")
    ada, bo = seated(model, "ada", "bo")
    take_turn = bo.take_turn

    async def late_turn(*given: object) -> object:
        await paused.wait()
        try:
            return await take_turn(*given)  # type: ignore[arg-type]
        finally:
            kept.set()

    bo.take_turn = late_turn  # type: ignore[assignment, method-assign]
    engine = engine_of(storage, [ada, bo])
    session = await engine.start_debate(asking([ada, bo], rounds=1))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await ada_speaks.wait()
        await engine.sessions.control(session.id, "pause")
        paused.set()
        await kept.wait()
        assert model.begun == []
        await engine.sessions.control(session.id, "resume")
        gate.set()
    fold = await fold_of(storage, session.id)
    assert fold.progress.status == "completed"
    assert [turn.agent_id for turn in fold.rounds[0].in_order()] == ["ada", "bo"]
    assert sorted(model.begun) == [("ada", "1"), ("bo", "1")]


async def test_a_pause_that_is_revoked_after_all_agents_failed_gives_no_agreement() -> None:
    """The request held up the count of the quorum; once it is void, those who failed are asked again."""

    class Voids(FailingStorage):
        async def append(self, session_id: str, *given: Any, **more: Any) -> int:
            last = await super().append(session_id, *given, **more)
            if any(event.type == "agent_error" for event in given[2]) and self.left is None:
                self.left = 1000
                note = Control(session_id=session_id, timestamp=utc_now(), action="resume")
                await self.inner.append(session_id, None, None, (note,))
            return last

    asked, gate = anyio.Event(), anyio.Event()

    class Gated(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            asked.set()
            await gate.wait()
            return await super().complete(request)

    replies: list[Reply] = [AgentError("no"), said("Tea")]
    model, storage = Gated(lambda _: replies.pop(0)), Voids(MemoryStorage())
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, session.id)
        await asked.wait()
        await engine.sessions.control(session.id, "pause")
        gate.set()
    fold = await fold_of(storage, session.id)
    assert fold.progress.status == "completed"
    assert [(turn.attempt, turn.outcome) for turn in fold.rounds[0].in_order()] == [(2, "answered")]


ASK = """
import sys, anyio
from roundtable.engine import SessionManager
from roundtable.storage import SQLiteStorage
storage = SQLiteStorage(sys.argv[1])
anyio.run(SessionManager(storage).control, sys.argv[2], sys.argv[3])
storage.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("action", "status"), [("pause", "paused"), ("stop", "completed")])
async def test_another_process_may_pause_and_stop(
    disk: SQLiteStorage, tmp_path: Path, action: str, status: str
) -> None:
    model = Gated({"*": said("Tea")})
    async with table_of(model, storage=disk) as table:
        handle = await table.start("Tea?", rounds=10, agents=seated(model, "ada", "bo", "cy"))
        await eventually(lambda: model.waiting == 3)
        command = [sys.executable, "-c", ASK, str(tmp_path / "debates.db"), handle.session_id, action]
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, lambda: subprocess.run(command, check=True))
                while not any(event.type == "control" for event in await log_of(disk, handle.session_id)):  # noqa: ASYNC110  (another process asks)
                    await anyio.sleep(0.02)
                while action == "pause" and not handle.done:
                    model.let(3)
                    await anyio.sleep(0.3)  # a request is looked for four times a second
            result = await handle.result()
    assert result.session_status == status
    assert await took_s(disk, handle.session_id) < ENOUGH_S
    await fold_of(disk, handle.session_id)


async def test_a_session_that_no_process_runs_can_be_paused_and_stopped(disk: SQLiteStorage) -> None:
    agents = seated(CountingModel("Tea"), "ada")
    engine = engine_of(disk, agents)
    session = await engine.start_debate(asking(agents))
    table = table_of(CountingModel("Tea"), "ada", storage=disk)
    await table.pause(session.id)
    assert (await table.session(session.id)).session_status == "paused"
    with pytest.raises(SessionError, match="is paused; only a running session can be paused"):
        await table.pause(session.id)
    await table.stop(session.id)
    stopped = await table.session(session.id)
    assert (stopped.session_status, stopped.exit and stopped.exit.reason) == ("completed", "stopped")
    with pytest.raises(SessionError, match="is completed"):
        await table.stop(session.id)
    with pytest.raises(SessionError, match="is completed; only a running session can be paused"):
        await table.pause(session.id)
    await fold_of(disk, session.id)


@pytest.mark.parametrize("action", ["pause", "stop", "resume"])
async def test_a_request_that_comes_after_the_end_is_refused(action: str) -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    table = table_of(model, storage=storage)
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(SessionError, match=f"is completed; '{action}' cannot follow"):
        await table._wiring.sessions.control(result.session_id, action)  # type: ignore[arg-type]
    await table._wiring.engine.carry_out_control(result.session_id)
    late_result = await table.session(result.session_id)
    assert (late_result.session_status, late_result.status, late_result.exit) == ("completed", "completed", result.exit)
    with pytest.raises(SessionError, match="is completed"):
        await table.resume(result.session_id)
    await fold_of(storage, result.session_id)


async def test_carrying_out_control_without_a_request_does_nothing() -> None:
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents))
    await engine.carry_out_control(session.id)
    assert await log_of(storage, session.id) == ()


async def test_a_request_whose_reading_was_interrupted_is_read_at_the_next_check() -> None:
    class Slow(MemoryStorage):
        pause_s = 0.0

        async def read(self, *arguments: Any, **options: Any) -> Any:
            await anyio.sleep(self.pause_s)
            return await super().read(*arguments, **options)

    storage = Slow()
    sessions = SessionManager(storage)
    session = await sessions.create_session(DebateConfig(topic="Tea?", agents=("ada",)))
    lease = await storage.lease(session.id, sessions.owner(), 60)
    journal = Journal(storage, await sessions.load(session.id), lease, lambda event: None, sessions.clock)
    with sessions.signals.listen("default", session.id, journal.expect_control):
        await journal.check_control()
        await sessions.control(session.id, "pause")
        storage.pause_s = 60
        with anyio.move_on_after(0.05) as interrupted:
            await journal.check_control()
        assert interrupted.cancelled_caught
        storage.pause_s = 0
        await journal.check_control()
    assert journal.fold.pending_control is not None


async def test_a_turn_that_is_paused_before_its_second_question_is_repeated() -> None:
    """An agent whose answer was not clear is asked on resume, and reads as in a debate that nobody paused."""
    asked, paused = anyio.Event(), anyio.Event()

    class PausedModel(ScriptedModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            response = await super().complete(request)
            if not asked.is_set() and request.metadata["agent"] == "ada":
                asked.set()
                await paused.wait()
            return response

    model = PausedModel({"ada": ["Both have a harbour.", "B"], "bo": ["B"]})
    async with table_of(model, "ada", "bo") as table:
        handle = await table.start("Which city?", rounds=1, options=["A) Lisbon", "B) Porto"])
        await asked.wait()
        await handle.pause()
        paused.set()
        first = await handle.result()
        turn = next(turn for turn in first.rounds[0].turns if turn.agent_id == "ada")
        assert (first.session_status, turn.outcome, first.usage.calls) == ("paused", "failed", 2)
        result = await table.resume(handle.session_id)
    assert {response.agent_id: response.choice for response in result.rounds[0].responses} == {
        "ada": "B) Porto",
        "bo": "B) Porto",
    }
    assert (result.status, result.answer, result.usage.calls) == ("completed", "B) Porto", 3)
