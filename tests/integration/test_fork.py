"""A fork shares the past of a session up to a round, pays for none of it, and leaves the session as it was."""

from __future__ import annotations

from typing import Any

import pytest
from integration.engine_kit import CountingModel, asking, durable, lawful, log_of, said, seated, table_of

import roundtable
from roundtable.errors import ConfigurationError, SessionConflict, SessionNotFound, StorageError
from roundtable.record import Fold
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import AgentConfig, Budget, ChatRequest, ContextResult, ForkOrigin


def by_round(request: ChatRequest) -> dict[str, Any]:
    return said(f"Tea {request.metadata['round']}")


async def fold_of(storage: Any, session_id: str) -> Fold:
    return lawful(*await storage.read(session_id))


async def test_a_fork_continues_after_the_rounds_it_shares() -> None:
    model, storage = CountingModel(by_round), MemoryStorage()
    table = table_of(model, storage=storage)
    told = await table.debate("Tea?", rounds=3, metadata={"case": 1})
    before = await log_of(storage, told.session_id)
    asked = len(model.begun)
    fork = await table.fork(told.session_id, at_round=1, mode="adversarial")
    assert (fork.status, fork.mode, len(fork.rounds)) == ("completed", "adversarial", 3)
    assert fork.rounds[0].turns == told.rounds[0].turns
    assert {number for _, number in model.begun[asked:]} == {"2", "3"}
    assert len(model.begun) - asked == 6
    assert await log_of(storage, told.session_id) == before
    fold = await fold_of(storage, fork.session_id)
    origin = fold.record.forked_from
    assert origin is not None
    assert (origin.session_id, origin.at_round) == (told.session_id, 1)
    assert fold.record.config.metadata == {"case": 1}


async def test_a_fork_pays_only_for_its_own_rounds() -> None:
    model, storage = CountingModel(by_round), MemoryStorage()
    table = table_of(model, storage=storage)
    told = await table.debate("Tea?", rounds=2, budget=Budget(max_calls=6))
    fork = await table.fork(told.session_id, at_round=1)
    assert (told.usage.calls, fork.usage.calls, fork.status) == (6, 3, "completed")
    assert sum(held.usage.calls for held in fork.rounds) == 6
    assert {entry.agent_id: entry.usage.calls for entry in fork.roster.agents} == {"ada": 1, "bo": 1, "cy": 1}


async def test_a_fork_at_round_0_starts_the_debate_again() -> None:
    model, storage = CountingModel(by_round), MemoryStorage()
    table = table_of(model, storage=storage)
    told = await table.debate("Tea?", rounds=1)
    fork = await table.fork(told.session_id, at_round=0, focus_question="In winter?")
    assert (fork.status, fork.rounds[0].focus_question, fork.usage.calls) == ("completed", "In winter?", 3)


async def test_a_fork_can_be_followed_while_it_runs() -> None:
    model, storage = CountingModel(by_round), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        told = await table.debate("Tea?", rounds=3)
        handle = await table.start_fork(told.session_id, at_round=1, mode="adversarial")
        async with handle.events() as events:
            heard = [event async for event in events]
        fork = await handle.result()
        assert handle.session_id == fork.session_id != told.session_id
        assert (fork.mode, fork.usage.calls, fork.rounds[0].turns) == ("adversarial", 6, told.rounds[0].turns)
        assert tuple(durable(heard)) == await log_of(storage, fork.session_id)
        step = await (await table.start_fork(told.session_id, at_round=1, step=True)).result()
        assert (len(step.rounds), step.session_status) == (2, "active")
        with pytest.raises(SessionConflict):
            await table.start_fork(told.session_id, at_round=4, rounds=6)
    with pytest.raises(ConfigurationError, match="start_fork"):
        await table.start_fork(told.session_id, at_round=1)


async def test_a_fork_can_have_other_agents() -> None:
    storage = MemoryStorage()
    table = table_of(CountingModel("Tea"), storage=storage)
    told = await table.debate("Tea?", rounds=2)
    others = scripted_agents({"dee": "Milk", "ed": "Milk"})
    fork = await table.fork(told.session_id, at_round=1, agents=others)
    assert [[turn.agent_id for turn in held.turns] for held in fork.rounds] == [["ada", "bo", "cy"], ["dee", "ed"]]
    assert fork.answer == "Milk"


async def test_a_fork_ends_early_by_the_criteria_of_the_forked_session_whatever_the_settings_are_now() -> None:
    storage = MemoryStorage()
    early: dict[str, Any] = {"exit_on_consensus": True, "exit_when": roundtable.MaxRounds(3)}
    told = await table_of(CountingModel("Tea"), storage=storage).debate("Tea?", rounds=4, **early)
    other = Settings.from_env({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.5"})
    table = table_of(CountingModel("Tea"), storage=storage, settings=other)
    fork = await table.fork(told.session_id, at_round=0)
    of_a_fork = await table.fork(fork.session_id, at_round=0)
    anew = await table.fork(told.session_id, at_round=0, **early)
    assert told.config.exit == fork.config.exit == of_a_fork.config.exit
    assert told.config.exit != anew.config.exit


async def test_a_debate_that_ended_early_continues_in_its_fork() -> None:
    table = table_of(CountingModel("Tea"), storage=MemoryStorage())
    told = await table.debate("Tea?", rounds=3, exit_when=roundtable.ConsensusReached(0.9))
    assert len(told.rounds) == 1
    fork = await table.fork(told.session_id, at_round=1)
    assert (len(fork.rounds), fork.exit and fork.exit.reason) == (3, "max_rounds")
    ended = await table.fork(told.session_id, at_round=0, exit_when=roundtable.MaxRounds(2))
    assert len(ended.rounds) == 2


async def test_a_fork_can_answer_the_requests_of_the_agents() -> None:
    model = CountingModel(by_round)
    table = table_of(model, storage=MemoryStorage())
    told = await table.debate("Tea?", rounds=2)
    fork = await table.fork(
        told.session_id,
        at_round=1,
        context_results=[ContextResult(request_id="r", success=True, result="The kettle broke.", query="What broke?")],
    )
    later = [prompt for _, number, prompt in model.prompts[-3:] if number == "2"]
    assert len(later) == 3
    assert all("The kettle broke." in prompt for prompt in later)
    assert fork.status == "completed"


async def test_a_fork_can_itself_be_paused_resumed_and_forked() -> None:
    model, storage = CountingModel(by_round), MemoryStorage()
    table = table_of(model, storage=storage)
    told = await table.debate("Tea?", rounds=2)
    left = await table.fork(told.session_id, at_round=1, rounds=4, budget=Budget(max_calls=3))
    assert (left.status, left.usage.calls) == ("partial", 3)
    whole = await table.resume(left.session_id, budget=Budget(max_calls=9))
    assert (whole.status, len(whole.rounds), whole.usage.calls) == ("completed", 4, 9)
    again = await table.fork(whole.session_id, at_round=3)
    assert (again.status, again.usage.calls) == ("completed", 3)
    await fold_of(storage, again.session_id)


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"at_round": 3}, SessionConflict, "2 rounds are complete"),
        ({"at_round": -1}, SessionConflict, "cannot be forked at round -1"),
        ({"at_round": 2}, ConfigurationError, "has no round left to run"),
        ({"at_round": 1, "rounds": 1}, ConfigurationError, "has no round left to run"),
        ({"at_round": 1, "mode": "nonsense"}, ConfigurationError, "nonsense"),
        ({"at_round": "1"}, ConfigurationError, "at_round must be a whole number"),
        ({"at_round": 1, "rounds": "many"}, ConfigurationError, "rounds must be a whole number"),
    ],
)
async def test_an_invalid_fork_is_refused_before_anything_is_stored(
    asked: dict[str, Any], error: type[Exception], message: str
) -> None:
    table = table_of(CountingModel("Tea"), storage=MemoryStorage())
    told = await table.debate("Tea?", rounds=2)
    with pytest.raises(error, match=message):
        await table.fork(told.session_id, **asked)
    assert len(await table.sessions()) == 1


async def test_a_session_of_another_tenant_is_not_forked() -> None:
    storage = MemoryStorage()
    told = await table_of(CountingModel("Tea"), storage=storage).debate("Tea?", rounds=1)
    with pytest.raises(SessionNotFound):
        await table_of(CountingModel("Tea"), storage=storage, tenant="other").fork(told.session_id, at_round=0)


async def test_a_fork_whose_past_cannot_be_stored_leaves_no_session() -> None:
    class Full(MemoryStorage):
        full = False

        async def append(self, session_id: str, *given: Any, **more: Any) -> int:
            if self.full:
                raise StorageError("there is no room left")
            return await super().append(session_id, *given, **more)

    storage = Full()
    table = table_of(CountingModel("Tea"), storage=storage)
    told = await table.debate("Tea?", rounds=2)
    storage.full = True
    with pytest.raises(StorageError):
        await table.fork(told.session_id, at_round=1)
    assert [found.id for found in await table.sessions()] == [told.session_id]


async def test_a_fork_whose_process_died_before_its_past_was_stored_is_not_run() -> None:
    table = table_of(CountingModel("Tea"), storage=MemoryStorage())
    origin = ForkOrigin(session_id="another", at_round=1, events=7)
    agents = seated(CountingModel("Tea"), "ada")
    engine = table._wiring.engine
    half = await engine.start_debate(asking(agents), [agent.config for agent in agents], forked_from=origin)
    with pytest.raises(SessionConflict, match="is an incomplete fork of session 'another'"):
        await table.resume(half.id)


async def test_a_fork_with_reconfigured_agents_says_so() -> None:
    storage = MemoryStorage()
    told = await table_of(CountingModel("Tea"), storage=storage).debate("Tea?", rounds=2)
    model = CountingModel("Tea")
    model.model = "another"
    changed = roundtable.Roundtable(seated(model, "ada", "bo", "cy"), storage=storage)
    with pytest.raises(ConfigurationError, match="another configuration"):
        await changed.fork(told.session_id, at_round=1)
    fork = await changed.fork(told.session_id, at_round=1, agents=seated(model, "ada", "bo", "cy"))
    assert fork.status == "completed"
    fold = await fold_of(storage, fork.session_id)
    assert {agent.model for agent in fold.record.agents} == {"another"}
    assert isinstance(fold.record.agents[0], AgentConfig)
