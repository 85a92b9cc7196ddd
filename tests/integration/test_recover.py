"""`recover`: what ended processes left is continued, once, by whichever process looks first."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import CountingModel, late, seated

from roundtable import Budget, Roundtable, sync
from roundtable.api import recovery
from roundtable.errors import ConfigurationError, QuorumLost, StorageError
from roundtable.providers import Delay, ScriptedModel
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import owner_elsewhere, record
from roundtable.types import ChatRequest, ChatResponse, Control, DebateStart, LeaseOwner, utc_now

pytestmark = [pytest.mark.both_loops, pytest.mark.slow]


class Counted:
    """A table whose calls are counted by session, agent and round; agents can be made to wait, or to fail."""

    def __init__(self, storage: MemoryStorage | SQLiteStorage, *, delay_s: float = 0.0) -> None:
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self.broken: set[str] = set()

        def reply(request: ChatRequest) -> Delay | dict[str, str] | Exception:
            labels = request.metadata
            if labels["session"] in self.broken:
                return StorageError("away")
            self.calls[labels["session"], labels["agent"], labels["round"]] += 1
            return Delay(delay_s, {"position": "Tea"})

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
        self.table = Roundtable(models, storage=storage, analyzer="declared")


async def leave(table: Roundtable, topic: str, *, rounds: int = 3) -> str:
    """Leave a debate after its first round, as a program does that is asked to end."""
    async with table, table.stream(topic, rounds=rounds) as events:
        async for event in events:
            if event.type == "round_complete":
                break
    return events.session_id


async def hold_elsewhere(storage: MemoryStorage, name: str, ttl_s: float) -> None:
    """Begin a session as a process of another host does."""
    await storage.create(record(name, topic=f"{name}?", rounds=1))
    lease = await storage.lease(name, owner_elsewhere(name), ttl_s)
    start = DebateStart(
        session_id=name, timestamp=utc_now(), topic=f"{name}?", mode="collaborative", rounds=1, agents=("ada", "bo")
    )
    await storage.append(name, 0, lease.token, [start])


async def test_interrupted_sessions_are_continued_and_ended_ones_are_not() -> None:
    storage = MemoryStorage()
    counted = Counted(storage, delay_s=0.02)
    table = counted.table
    left = await leave(table, "Left?")
    spent = await table.debate("Spent?", rounds=3, budget=Budget(max_calls=2))
    done = await table.debate("Done?", rounds=1)
    async with table:
        handle = await table.start("Paused?", rounds=3)
        await handle.pause()
        paused = await handle.result()
        handle = await table.start("Failed?", rounds=1)
        counted.broken.add(handle.session_id)
        with pytest.raises(QuorumLost):
            await handle.result()
    counted.calls.clear()
    found = await table.recover()
    assert {(one.topic, one.outcome) for one in found} == {("Left?", "completed")}
    assert {session for session, _, _ in counted.calls} == {left}
    assert {number for _, _, number in counted.calls} == {"2", "3"}, "no stored answer is asked for again"
    assert found[0].result is not None
    assert len(found[0].result.rounds) == 3
    summaries = {one.id: one.status for one in await table.sessions()}
    ended = [summaries[one.session_id] for one in (spent, paused, done)]
    assert ended == ["paused", "paused", "completed"]
    assert await table.recover() == ()


async def test_cancelled_sessions_can_be_left_out() -> None:
    counted = Counted(MemoryStorage())
    await leave(counted.table, "Left?")
    assert await counted.table.recover(cancelled=False) == ()


async def test_a_session_that_is_run_round_by_round_waits_for_its_owner() -> None:
    counted = Counted(MemoryStorage())
    async with counted.table as table:
        await (await table.start("Stepped?", rounds=3, step=True)).result()
        counted.calls.clear()
        assert [(one.topic, one.outcome) for one in await table.recover()] == [("Stepped?", "waiting")]
        assert not counted.calls


@pytest.mark.parametrize(
    ("step", "outcome"), [(True, "waiting"), (False, "completed"), (None, "waiting")], ids=["steps", "whole", "unknown"]
)
async def test_a_session_between_two_rounds_is_continued_unless_it_may_be_run_round_by_round(
    step: bool | None, outcome: str
) -> None:
    """Logs of earlier versions do not say how their rounds are held."""
    storage = MemoryStorage()
    counted = Counted(storage)
    async with counted.table as table:
        stepped = await (await table.start("Stepped?", rounds=3, step=True)).result()
        held, events = await storage.read(stepped.session_id)
        await table.delete(stepped.session_id)
        await storage.create(held)
        owner = owner_elsewhere("dead")
        lease = await storage.lease(held.id, owner, 60)
        marked = [event.model_copy(update={"step": step} if event.type == "round_complete" else {}) for event in events]
        await storage.append(held.id, 0, lease.token, marked)
        await storage.lease(held.id, owner, 0)
        assert [one.outcome for one in await table.recover()] == [outcome]


@pytest.mark.parametrize("resumed", [False, True])
async def test_the_way_a_round_is_run_is_stored_with_it(*, resumed: bool) -> None:
    storage = MemoryStorage()
    async with Counted(storage).table as table:
        session = await (await table.start("Stepped?", rounds=3, step=resumed)).result()
        if resumed:
            session = await table.resume(session.session_id)
        fork = await table.fork(session.session_id, at_round=2)
        steps = {
            name: [event.step for event in (await storage.read(name))[1] if event.type == "round_complete"]
            for name in (session.session_id, fork.session_id)
        }
    assert steps[session.session_id] == [resumed, False, False]
    assert steps[fork.session_id] == [None, None, False], "the past of a fork was held in another session"


@pytest.mark.parametrize(("action", "status"), [("stop", "completed"), ("pause", "paused")])
async def test_requests_made_after_a_process_ended_are_carried_out(action: str, status: str) -> None:
    storage = MemoryStorage()
    counted = Counted(storage)
    async with counted.table as table:
        handle = await table.start("Stepped?", rounds=3, step=True)
        await handle.result()
        request = Control(session_id=handle.session_id, timestamp=utc_now(), action=action)  # type: ignore[arg-type]
        await storage.append(handle.session_id, None, None, (request,))
        counted.calls.clear()
        assert [one.outcome for one in await table.recover()] == ["ended"]
        assert [one.status for one in await table.sessions()] == [status]
        assert await table.recover() == ()
        assert not counted.calls


async def test_two_processes_that_recover_at_once_repeat_no_call(tmp_path: Path) -> None:
    first = Counted(SQLiteStorage(tmp_path / "debates.db"), delay_s=0.02)
    sessions = [await leave(first.table, f"Question {number}?", rounds=2) for number in range(3)]
    second = Counted(SQLiteStorage(tmp_path / "debates.db"), delay_s=0.02)
    first.calls.clear()
    found: list[tuple[str, str]] = []

    async def recover(table: Roundtable) -> None:
        found.extend((one.session_id, one.outcome) for one in await table.recover())

    async with anyio.create_task_group() as group:
        group.start_soon(recover, first.table)
        group.start_soon(recover, second.table)
    calls = first.calls + second.calls
    assert set(calls.values()) == {1}
    assert {(session, agent) for session, agent, _ in calls} == {
        (session, f"scripted-{name}") for session in sessions for name in ("ada", "bo")
    }
    assert sorted(session for session, outcome in found if outcome == "completed") == sorted(sessions)
    assert {outcome for _, outcome in found} <= {"completed", "taken"}
    await first.table.aclose()
    await second.table.aclose()


async def test_a_session_that_cannot_be_continued_keeps_no_other_from_it() -> None:
    storage = MemoryStorage()
    strangers = scripted_agents({"eve": "Tea", "fay": "Tea"})
    await leave(Roundtable(strangers, storage=storage), "Strange?")
    counted = Counted(storage)
    await leave(counted.table, "Known?")
    strange, known = await counted.table.recover()
    assert (strange.topic, strange.outcome, known.topic, known.outcome) == ("Strange?", "failed", "Known?", "completed")
    assert strange.error is not None
    assert "eve" in strange.error.message


async def test_leases_of_other_hosts_are_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_LEASE_S", 0.3)
    storage = MemoryStorage()
    for name, ttl_s in (("dead", 0.1), ("alive", 600.0)):
        await hold_elsewhere(storage, name, ttl_s)
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    found = await Roundtable(agents, storage=storage).recover(on_change="adopt")
    assert [(one.session_id, one.outcome) for one in found] == [("dead", "completed")]


async def test_a_storage_that_fails_during_the_wait_is_a_typed_error_and_ends_no_debate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failing(MemoryStorage):
        lookups = 0

        async def holder(self, session_id: str, *, tenant: str = "default") -> LeaseOwner | None:
            self.lookups += session_id == "elsewhere"
            if self.lookups > 1:
                raise StorageError("away")
            return await super().holder(session_id, tenant=tenant)

    storage = Failing()
    counted = Counted(storage, delay_s=0.5)
    left = await leave(counted.table, "Left?")
    await hold_elsewhere(storage, "elsewhere", 600)
    monkeypatch.setattr(recovery, "_LEASE_S", 0.1)
    with pytest.raises(StorageError, match="away"):
        await counted.table.recover()
    assert (await counted.table.session(left)).status == "completed"


async def test_no_more_sessions_run_at_once_after_the_wait_for_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    running: Counter[str] = Counter()

    class Watched(CountingModel):
        most = 0

        async def complete(self, request: ChatRequest) -> ChatResponse:
            session = request.metadata["session"]
            running[session] += 1
            self.most = max(self.most, len(+running))
            try:
                return await super().complete(request)
            finally:
                running[session] -= 1

    monkeypatch.setattr(recovery, "_LEASE_S", 0.1)
    storage, model = MemoryStorage(), Watched(late(0.3, "Tea"))
    agents = seated(model, "ada", "bo")
    for name in ("free", "doubtful"):
        await hold_elsewhere(storage, name, 0.05 if name == "doubtful" else 600)
        if name == "free":
            await storage.lease(name, owner_elsewhere(name), 0)
    found = await Roundtable(agents, storage=storage).recover(on_change="adopt", concurrency=1)
    assert {one.outcome for one in found} == {"completed"}
    assert len(found) == 2
    assert model.most == 1


async def test_a_session_that_another_process_has_just_created_is_left_to_it() -> None:
    storage = MemoryStorage()
    await storage.create(record("new", created_at=utc_now()))
    assert await Counted(storage).table.recover() == ()


@pytest.mark.parametrize("concurrency", [0, 1001, True, "8"])
async def test_wrong_arguments_are_refused(concurrency: object) -> None:
    with pytest.raises(ConfigurationError, match="concurrency"):
        await Counted(MemoryStorage()).table.recover(concurrency=concurrency)  # type: ignore[arg-type]


def test_a_process_that_is_killed_between_two_rounds_leaves_a_session_that_is_continued(tmp_path: Path) -> None:
    script = f"""
import os, signal
from roundtable import sync
from roundtable.providers import ScriptedModel
def watch(event):
    if event.type == "round_complete":
        os.kill(os.getpid(), signal.SIGKILL)
model = ScriptedModel([{{"position": "Tea"}}] * 3, model="ada")
with sync.Roundtable([model], storage="sqlite:///{tmp_path}/debates.db", observers=[watch]) as table:
    table.debate("Tea?", rounds=3)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    model = ScriptedModel([{"position": "Tea"}] * 2, model="ada")
    with sync.Roundtable([model], storage=f"sqlite:///{tmp_path}/debates.db") as table:
        (summary,) = table.sessions()
        assert (summary.status, summary.current_round) == ("active", 1)
        (found,) = table.recover()
    assert (found.topic, found.outcome) == ("Tea?", "completed")
    model.assert_consumed()


@pytest.mark.slow
def test_the_sessions_of_a_killed_process_are_continued_by_the_blocking_table(tmp_path: Path) -> None:
    script = f"""
import os
from roundtable import sync
from roundtable.providers import ScriptedModel
calls = []
def reply(request):
    calls.append(request)
    if len(calls) == 3:
        os._exit(9)
    return {{"position": "Tea"}}
with sync.Roundtable([ScriptedModel(reply, model="ada")], storage="sqlite:///{tmp_path}/debates.db") as table:
    table.debate("Tea?", rounds=4)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    model = ScriptedModel([{"position": "Tea"}] * 2, model="ada")
    with sync.Roundtable([model], storage=f"sqlite:///{tmp_path}/debates.db") as table:
        (found,) = table.recover()
    assert (found.topic, found.outcome) == ("Tea?", "completed")
    model.assert_consumed()
