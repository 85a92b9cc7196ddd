"""`debate_once`: a debate under an id of the caller is begun, continued or returned, and never asked for twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from roundtable import Roundtable, sync
from roundtable.agents import BaseAgent
from roundtable.errors import ConfigurationError, QuorumLost, SessionBusy, SessionConflict, StorageError
from roundtable.modes import SelfConsistencyMode
from roundtable.providers import Delay, ScriptedModel
from roundtable.results import DebateResult
from roundtable.testing import scripted_agents
from roundtable.types import AgentConfig, Budget, ChatRequest

pytestmark = pytest.mark.anyio


class Counted:
    """A table whose calls are counted by agent and round."""

    def __init__(self, storage: str, *, delay_s: float = 0.0, broken: bool = False) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.is_broken = broken

        def reply(request: ChatRequest) -> Delay | dict[str, str] | Exception:
            if self.is_broken:
                return StorageError("away")
            self.calls[request.metadata["agent"], request.metadata["round"]] += 1
            return Delay(delay_s, {"position": "Tea"})

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
        self.table = Roundtable(models, storage=storage, analyzer="declared")


async def test_the_same_call_again_returns_the_result_without_a_call() -> None:
    counted = Counted("memory://")
    first = await counted.table.debate_once("job-17", "Tea?", rounds=2, metadata={"who": "me"})
    again = await counted.table.debate_once("job-17", "Tea?", rounds=5)
    assert (first.session_id, again.session_id, len(again.rounds)) == ("job-17", "job-17", 2)
    assert again.to_json() == first.to_json()
    assert again.config.metadata == {"who": "me"}
    assert set(counted.calls.values()) == {1}


async def test_a_debate_that_ended_early_continues_where_it_ended(tmp_path: Path) -> None:
    counted = Counted(f"sqlite:///{tmp_path}/debates.db")
    part = await counted.table.debate_once("job", "Tea?", rounds=3, budget=Budget(max_calls=3))
    assert part.status == "partial"
    whole = await counted.table.debate_once("job", "Tea?", budget=Budget(max_calls=30))
    assert (whole.status, len(whole.rounds)) == ("completed", 3)
    assert len(counted.calls) == 6
    await counted.table.aclose()


@pytest.mark.both_loops
async def test_a_deadline_counts_for_each_call() -> None:
    counted = Counted("memory://", delay_s=60)
    for _ in range(2):
        with anyio.fail_after(30):
            part = await counted.table.debate_once("job", "Tea?", rounds=3, deadline_s=0.3)
        assert part.exit is not None
        assert part.exit.reason == "deadline"


async def test_a_limit_that_is_not_valid_is_refused_in_later_calls_too() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    await table.debate_once("job", "Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match="deadline_s must be above 0, not -1"):
        await table.debate_once("job", "Tea?", rounds=1, deadline_s=-1)


async def test_a_debate_that_failed_continues(tmp_path: Path) -> None:
    counted = Counted(f"sqlite:///{tmp_path}/debates.db", broken=True)
    with pytest.raises(QuorumLost) as caught:
        await counted.table.debate_once("job", "Tea?", rounds=1)
    assert caught.value.session_id == "job"
    counted.is_broken = False
    assert (await counted.table.debate_once("job", "Tea?")).answer == "Tea"
    await counted.table.aclose()


class Answering:
    """Agents and a mode as objects, made anew as after a restart."""

    def __init__(self, says: str = "Tea", model: str = "m") -> None:
        self.agents = [
            BaseAgent(
                AgentConfig(id=name, name=name.title(), provider="scripted", model=model),
                ScriptedModel([{"position": says}] * 9, model=model),
            )
            for name in ("ada", "bo")
        ]
        self.mode = SelfConsistencyMode(samples=3)


@pytest.mark.parametrize("many", [False, True], ids=["debate_once", "debate_many"])
async def test_objects_of_the_call_can_be_passed_again_after_a_restart(tmp_path: Path, *, many: bool) -> None:
    storage, held = f"sqlite:///{tmp_path}/debates.db", list[DebateResult]()
    for calls in (3, 30):
        given, budget = Answering(), Budget(max_calls=calls)
        async with Roundtable(storage=storage, analyzer="declared") as table:
            if many:
                (result,) = await table.debate_many(
                    ["Tea?"], modes=[given.mode], name="drinks", rounds=2, agents=given.agents, budget=budget
                )
            else:
                result = await table.debate_once(
                    "job", "Tea?", rounds=2, mode=given.mode, agents=given.agents, budget=budget
                )
        held.append(result)
    assert [result.status for result in held] == ["partial", "completed"]
    assert [len(record.turns) for record in held[1].rounds] == [3, 3]
    assert held[1].rounds[0] == held[0].rounds[0]


async def test_objects_other_than_those_of_the_session_are_ignored_or_refused(tmp_path: Path) -> None:
    storage, given, other = f"sqlite:///{tmp_path}/debates.db", Answering(), Answering("Coffee", model="other")
    async with Roundtable(storage=storage, analyzer="declared") as table:
        await table.debate_once("own", "Tea?", rounds=2, agents=given.agents, budget=Budget(max_calls=2))
    async with Roundtable(storage=storage, analyzer="declared") as table:
        with pytest.raises(ConfigurationError, match=r"started with another configuration \(ada: model; bo: model\)"):
            await table.debate_once("own", "Tea?", agents=other.agents, budget=Budget(max_calls=9))
        whole = await table.debate_once("own", "Tea?", agents=given.agents, mode=other.mode, budget=Budget(max_calls=9))
        assert (whole.status, whole.answer, whole.mode) == ("completed", "Tea", "collaborative")


async def test_another_question_under_the_same_id_is_refused() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    await table.debate_once("job", "Tea?", rounds=1)
    with pytest.raises(SessionConflict, match="is about another question: 'Tea\\?'"):
        await table.debate_once("job", "Coffee?", rounds=1)


@pytest.mark.parametrize(
    ("session_id", "message"),
    [
        ("", "not empty"),
        ("x" * 201, "201 characters"),
        (7, "text"),
        ("job/17", "'job/17' cannot be part of the address"),
        ("..", r"'\.\.' cannot be part of the address"),
    ],
)
async def test_ids_are_checked(session_id: str, message: str) -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    with pytest.raises(ConfigurationError, match=message):
        await table.debate_once(session_id, "Tea?")


async def test_two_simultaneous_calls_repeat_no_question(tmp_path: Path) -> None:
    counted = Counted(f"sqlite:///{tmp_path}/debates.db", delay_s=0.05)
    outcomes: list[str] = []

    async def hold() -> None:
        try:
            outcomes.append((await counted.table.debate_once("job", "Tea?", rounds=2)).status)
        except SessionBusy:
            outcomes.append("busy")

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(hold)
    assert "completed" in outcomes
    assert {*outcomes} <= {"busy", "completed"}  # who waited for the lease is given the result
    assert len(counted.calls) == 4
    assert set(counted.calls.values()) == {1}
    await counted.table.aclose()


async def test_a_tenant_has_its_own_ids(tmp_path: Path) -> None:
    counted = Counted(f"sqlite:///{tmp_path}/debates.db")
    other = counted.table.for_tenant("acme")
    await counted.table.debate_once("job", "Tea?", rounds=1)
    assert (await other.debate_once("job", "Coffee?", rounds=1)).topic == "Coffee?"
    await counted.table.aclose()


@pytest.mark.slow
def test_the_blocking_function_continues_after_a_process_dies(tmp_path: Path) -> None:
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
    table.debate_once("job", "Tea?", rounds=4)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    model = ScriptedModel([{"position": "Tea"}] * 2, model="ada")
    with sync.Roundtable([model], storage=f"sqlite:///{tmp_path}/debates.db") as table:
        assert len(table.debate_once("job", "Tea?", rounds=4).rounds) == 4
    model.assert_consumed()
