"""Taking up a stage where it stopped, and holding more rounds than were planned."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from integration.engine_kit import (
    NEVER_S,
    CountingModel,
    CourtMode,
    asking,
    by_round,
    cut_off,
    engine_of,
    eventually,
    fold_of,
    late,
    log_of,
    seated,
    table_of,
)

from roundtable import Budget, MaxRounds, Roundtable
from roundtable.engine import RunLimits
from roundtable.errors import BudgetExceeded, ConfigurationError, SessionBusy, SessionError, SessionNotFound
from roundtable.modes import BaseModeStrategy
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import ContextResult, DebateContext, EndRound, Plan, Stage, TurnSpec


async def test_a_stage_that_was_under_way_is_finished_before_the_next_one() -> None:
    hold = {"bo": True}
    model = CountingModel(lambda r: late(NEVER_S, "x") if hold.get(r.metadata["agent"]) else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    await cut_off(engine, session.id, model, answered=1)
    assert [turn.agent_id for turn in (await fold_of(storage, session.id)).view().transcript] == ["ada"]
    hold.clear()
    fold = await engine.run(session.id)
    turns = [(turn.stage, turn.agent_id) for turn in fold.rounds[0].in_order()]
    assert turns == [("pleas", "ada"), ("pleas", "bo"), ("ruling", "cy")]
    assert [who for who, _ in model.begun] == ["ada", "bo", "bo", "cy"] or sorted(who for who, _ in model.begun) == [
        "ada",
        "bo",
        "bo",
        "cy",
    ]


async def test_a_later_stage_continues_where_it_stopped() -> None:
    hold = {"cy": True}
    model = CountingModel(lambda r: late(NEVER_S, "x") if hold.get(r.metadata["agent"]) else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    await cut_off(engine, session.id, model, answered=2)
    hold.clear()
    assert (await engine.run(session.id)).progress.status == "completed"
    assert sorted(who for who, _ in model.begun) == ["ada", "bo", "cy", "cy"]


async def test_a_mode_that_no_longer_plans_the_stage_under_way_is_refused() -> None:
    class NewCourt(CourtMode):
        def next_stage(self, view: DebateContext) -> Plan:
            if self.stage_done(view, "hearing"):
                return EndRound()
            return Stage(name="hearing", turns=(TurnSpec(slot=0, agent="ada", task="Speak."),))

    model = CountingModel(lambda r: late(NEVER_S, "x") if r.metadata["agent"] == "bo" else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    await cut_off(engine, session.id, model, answered=1)
    calls = len(model.begun)
    with pytest.raises(SessionError, match="mode 'court' no longer plans the stage 'pleas'"):
        await engine_of(storage, agents, NewCourt()).run(session.id)
    assert len(model.begun) == calls


@pytest.mark.parametrize("rounds", [1, 3])
async def test_an_extension_adds_exactly_the_requested_rounds(rounds: int) -> None:
    storage, model = MemoryStorage(), CountingModel(by_round)
    table = table_of(model, "ada", "bo", storage=storage)
    first = await table.debate("Tea?", rounds=2)
    more = await table.extend(first.session_id, rounds=rounds)
    assert (more.status, len(more.rounds), more.total_rounds) == ("completed", 2 + rounds, 2 + rounds)
    assert more.rounds[:2] == first.rounds
    assert len(model.begun) == 2 * (2 + rounds)
    assert more.independent_agreement == first.independent_agreement
    await fold_of(storage, first.session_id)


async def test_an_extension_after_an_early_end_adds_exactly_the_requested_rounds() -> None:
    """The rounds that were left over are not held, and the criterion that ended the debate has had its say."""
    storage, model = MemoryStorage(), CountingModel(by_round)
    table = table_of(model, "ada", storage=storage)
    first = await table.debate("Tea?", rounds=5, exit_when=MaxRounds(1))
    assert len(first.rounds) == 1
    more = await table.extend(first.session_id, rounds=2)
    assert (len(more.rounds), more.total_rounds, more.status) == (3, 3, "completed")
    again = await table.extend(first.session_id, rounds=1)
    assert (len(again.rounds), again.total_rounds) == (4, 4)
    await fold_of(storage, first.session_id)


async def test_an_extension_of_a_stopped_session_finishes_its_round_first() -> None:
    storage, hold = MemoryStorage(), {"bo": True}
    model = CountingModel(lambda r: late(NEVER_S, "x") if hold.get(r.metadata["agent"]) else by_round(r))
    async with table_of(model, "ada", "bo", storage=storage) as table:
        handle = await table.start("Tea?", rounds=3)
        async with handle.events() as events:
            async for event in events:
                if event.type == "agent_complete":
                    break
        await eventually(lambda: model.under_way == 1)
        await handle.stop()
        await handle.result()
        hold.clear()
        more = await table.extend(handle.session_id, rounds=1)
    assert (len(more.rounds), more.total_rounds, more.status) == (2, 2, "completed")
    assert Counter(model.begun) == Counter([("ada", "1"), ("bo", "1"), ("bo", "1"), ("ada", "2"), ("bo", "2")])


async def test_an_extension_of_a_paused_session_is_added_to_the_planned_rounds() -> None:
    storage, model = MemoryStorage(), CountingModel(by_round)
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=3))
    await engine.run_round(session.id)
    table = table_of(model, "ada", storage=storage)
    await table.pause(session.id)
    more = await table.extend(session.id, rounds=2)
    assert (len(more.rounds), more.total_rounds) == (5, 5)
    await fold_of(storage, session.id)


async def test_an_extension_carries_a_focus_and_answers_to_the_agents() -> None:
    storage, model = MemoryStorage(), CountingModel(by_round)
    table = table_of(model, "ada", storage=storage)
    first = await table.debate("Which drink?", rounds=1)
    found = ContextResult(request_id="r1", success=True, result="Tea is out of stock.", query="What is left?")
    more = await table.extend(first.session_id, rounds=2, focus_question="And at night?", context_results=[found])
    assert [held.focus_question for held in more.rounds] == [None, "And at night?", "And at night?"]
    assert "Tea is out of stock." in model.prompts[1][2]
    assert "Tea is out of stock." not in model.prompts[2][2]
    starts = [event for event in await log_of(storage, first.session_id) if event.type == "round_start"]
    assert [len(event.context_results) for event in starts] == [0, 1, 0]


async def test_a_running_session_is_not_extended() -> None:
    storage, model = MemoryStorage(), CountingModel(late(NEVER_S, "Tea"))
    async with table_of(model, "ada", storage=storage) as table:
        handle = await table.start("Tea?", rounds=1)
        await eventually(lambda: model.under_way == 1)
        with pytest.raises(SessionBusy):
            await table.extend(handle.session_id)
        assert (await table.session(handle.session_id)).total_rounds == 1


class BriefMode(BaseModeStrategy):
    name = "brief"
    rounds = range(1, 3)

    def next_stage(self, view: DebateContext) -> Plan:
        return CourtMode().next_stage(view)


async def test_a_mode_is_not_extended_beyond_its_maximum_number_of_rounds() -> None:
    from roundtable.engine import Extension

    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada", "bo")
    engine = engine_of(storage, agents, BriefMode())
    with pytest.raises(ConfigurationError, match="mode 'brief' takes 1 to 2 rounds, not 3"):
        await engine.start_debate(asking(agents, mode="brief", rounds=3))
    session = await engine.start_debate(asking(agents, mode="brief", rounds=2))
    await engine.run(session.id)
    with pytest.raises(ConfigurationError, match="mode 'brief' takes 1 to 2 rounds; 1 more would make 3"):
        await engine.run(session.id, extension=Extension())
    assert (await fold_of(storage, session.id)).progress.status == "completed"


async def test_only_sessions_that_can_continue_are_resumed() -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(SessionError, match="is completed") as caught:
        await table.resume(result.session_id)
    assert "Extend" in (caught.value.hint or "")
    for attempt in (table.resume, table.extend, table.session, table.pause, table.stop):
        with pytest.raises(SessionNotFound):
            await attempt("nobody")


async def test_a_session_that_was_only_extended_by_a_request_continues_when_resumed() -> None:
    """Nobody took the lease; the request stands in the log, as one from another program may."""
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    await engine.run(session.id)
    await engine.sessions.control(session.id, "extend", total_rounds=3)
    fold = await engine.run(session.id)
    assert (len(fold.rounds), fold.progress.status) == (3, "completed")
    await engine.sessions.control(session.id, "extend")
    fold = await engine.run(session.id, RunLimits())
    assert fold.exit is not None
    assert (fold.exit.reason, fold.exit.details) == ("max_rounds", "all planned rounds were held")
    await fold_of(storage, session.id)


async def test_rounds_added_stay_within_the_limit_of_a_debate() -> None:
    model, storage = CountingModel("Tea"), MemoryStorage()

    def table(most: int) -> Roundtable:
        return Roundtable(seated(model, "ada"), storage=storage, settings=Settings(max_rounds=most))

    session = (await table(3).debate("Tea?", rounds=2)).session_id
    assert len((await table(3).extend(session)).rounds) == 3
    begun = len(model.begun)
    with pytest.raises(
        ConfigurationError, match=r"session '.*' may have 3 rounds at most; 1 more would make 4"
    ) as caught:
        await table(3).extend(session)
    assert caught.value.hint == "Raise ROUNDTABLE_MAX_ROUNDS to allow more rounds."
    assert len(model.begun) == begun
    assert (await table(3).session(session)).session_status == "completed"
    assert len((await table(4).extend(session)).rounds) == 4


async def test_a_paused_session_counts_added_rounds_from_those_planned() -> None:
    model, storage = CountingModel("Tea"), MemoryStorage()
    table = Roundtable(seated(model, "ada"), storage=storage, settings=Settings(max_rounds=4))
    async with table:
        async with table.stream("Tea?", rounds=3) as events:
            async for event in events:
                if event.type == "round_complete":
                    break
        with pytest.raises(ConfigurationError, match="2 more would make 5"):
            await table.extend(events.session_id, rounds=2)
        assert len((await table.extend(events.session_id)).rounds) == 4


@pytest.mark.parametrize(
    ("limits", "reason"), [({"budget": Budget(max_calls=5)}, "budget"), ({"deadline_s": 0.05}, "deadline")]
)
async def test_an_extension_keeps_to_the_limits_it_is_given(limits: Any, reason: str) -> None:
    model = CountingModel(lambda r: late(NEVER_S, "x") if len(model.begun) > 5 else "Tea")
    table = table_of(model)
    first = await table.debate("Tea?", rounds=1)
    more = await table.extend(first.session_id, rounds=2, **limits)
    assert (more.status, more.exit.reason if more.exit else None, more.session_status) == ("partial", reason, "paused")


async def test_a_session_whose_budget_is_spent_is_extended_with_a_larger_one() -> None:
    table = table_of(CountingModel("Tea"))
    first = await table.debate("Tea?", rounds=1, budget=Budget(max_calls=3))
    with pytest.raises(BudgetExceeded, match="made 3 calls; its budget is 3"):
        await table.extend(first.session_id)
    more = await table.extend(first.session_id, budget=Budget(max_calls=20))
    assert (more.status, len(more.rounds)) == ("completed", 2)


@pytest.mark.parametrize("wrong", [{"budget": 5}, {"deadline_s": 0}, {"deadline_s": float("nan")}])
async def test_invalid_limits_of_an_extension_are_refused(wrong: Any) -> None:
    table = table_of(CountingModel("Tea"))
    first = await table.debate("Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        await table.extend(first.session_id, **wrong)
    assert (await table.session(first.session_id)).total_rounds == 1
