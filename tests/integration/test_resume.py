"""Going on after whatever stopped a debate: cancelled at any moment, storage failing at any write, or simply extended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from integration.engine_kit import (
    CountingModel,
    CourtMode,
    FailingStorage,
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

from roundtable import MaxRounds, Roundtable
from roundtable.engine import RunLimits
from roundtable.errors import AgentError, ConfigurationError, QuorumLost, SessionBusy, SessionError, StorageError
from roundtable.modes import BaseModeStrategy
from roundtable.providers.scripted import Reply
from roundtable.result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ContextResult, DebateContext, DurableEvent, EndRound, Plan, Stage, TurnSpec


def by_round(request: ChatRequest) -> Reply:
    return said(f"{request.metadata['agent']} {request.metadata['round']}")


def shape(result: DebateResult) -> object:
    """Give what a result says, without ids, times and figures of the calls."""
    return (
        result.status,
        result.answer,
        result.answer_reason,
        result.independent_agreement,
        result.consensus,
        result.decision,
        [
            [(turn.agent_id, turn.outcome == "answered" and turn.answer.position) for turn in held.turns]  # type: ignore[union-attr]
            for held in result.rounds
        ],
    )


class Straight:
    """A two by two debate that nothing disturbs."""

    result: DebateResult
    prompts: dict[tuple[str, str], str]

    @classmethod
    async def run(cls) -> Straight:
        made, model = cls(), CountingModel(by_round)
        made.result = await table_of(model, "ada", "bo").debate("Tea?", rounds=2)
        made.prompts = {(who, number): text for who, number, text in model.prompts}
        return made


async def same_in_the_end(straight: Straight, model: CountingModel, table: Roundtable, storage: Any) -> None:
    """Go on with the only session there is, and see that it comes to the same, having asked nothing stored again."""
    (found,) = await table.sessions()
    before = await fold_of(storage, found.id)
    stored = {(turn.agent_id, str(turn.round)) for turn in before.view().transcript}
    asked = len(model.begun)
    if before.progress.status != "completed":
        result = await table.resume(found.id)
    else:
        result = await table.session(found.id)
    assert shape(result) == shape(straight.result)
    assert not stored & set(model.begun[asked:])
    for who, number, text in model.prompts:
        assert text.replace(found.id, "") == straight.prompts[who, number].replace(straight.result.session_id, "")
    fold = await fold_of(storage, found.id)
    assert fold.usage.calls == 4
    last = [event.type for event in await log_of(storage, found.id)][-1]
    assert last == "debate_complete"


async def test_a_debate_cancelled_at_any_step_is_finished_as_if_it_had_not_been() -> None:
    straight, cancelled = await Straight.run(), 0
    for step in range(1, 400):
        storage, model = MemoryStorage(), CountingModel(by_round)
        table = table_of(model, "ada", "bo", storage=storage)
        over = False

        async def debate(table: Roundtable = table) -> None:
            nonlocal over
            await table.debate("Tea?", rounds=2)
            over = True

        async with anyio.create_task_group() as group:
            group.start_soon(debate)
            for _ in range(step):
                await checkpoint()
            group.cancel_scope.cancel()
        assert model.under_way == 0
        if over:
            break
        cancelled += 1
        if await table.sessions():
            (found,) = await table.sessions()
            assert found.status in {"created", "paused", "completed"}
            await same_in_the_end(straight, model, table, storage)
    assert over
    assert cancelled > 20


async def test_a_cancelled_debate_keeps_every_answer_it_was_given() -> None:
    model, storage = CountingModel(lambda r: by_round(r) if r.metadata["agent"] == "ada" else late(30, "no")), MemoryStorage()
    table = table_of(model, "ada", "bo", storage=storage)
    with anyio.move_on_after(0.1) as scope:
        await table.debate("Tea?", rounds=2)
    assert scope.cancelled_caught
    (found,) = await table.sessions()
    fold = await fold_of(storage, found.id)
    assert [turn.agent_id for turn in fold.view().transcript] == ["ada"]
    assert fold.exit is not None
    assert (fold.exit.reason, fold.progress.status) == ("cancelled", "paused")


@pytest.mark.parametrize("lost_answer", [False, True], ids=["refused", "stored but not told"])
async def test_a_storage_that_fails_at_any_write_loses_nothing_acknowledged(lost_answer: bool) -> None:
    straight = await Straight.run()
    for writes in range(100):
        inner, model = MemoryStorage(), CountingModel(by_round)
        storage = FailingStorage(inner, after=writes, lost_answer=lost_answer)
        table = table_of(model, "ada", "bo", storage=storage)
        try:
            with anyio.fail_after(10):
                await table.debate("Tea?", rounds=2)
        except StorageError as error:
            assert "the disk is full" in error.message  # noqa: PT017  (the last write does not fail)
        else:
            break
        (found,) = await table.sessions()
        stored = {(event.type, event.timestamp) for event in await log_of(inner, found.id)}
        assert {(event.type, event.timestamp) for event in storage.acknowledged} <= stored
        assert found.status in {"created", "active", "error", "completed"}
        storage.left = None
        await same_in_the_end(straight, model, table, inner)
    assert writes > 6


async def test_a_failing_storage_leaves_the_session_in_error_where_that_can_be_written() -> None:
    class Once(FailingStorage):
        async def append(
            self,
            session_id: str,
            expected_seq: int | None,
            token: int | None,
            events: Sequence[DurableEvent],
            *,
            tenant: str = "default",
        ) -> int:
            if any(event.type == "agent_complete" for event in events) and self.left is None:
                self.left = 1
                raise StorageError("a hiccup")
            return await super().append(session_id, expected_seq, token, events, tenant=tenant)

    inner, model = MemoryStorage(), CountingModel(by_round)
    storage = Once(inner)
    table = table_of(model, "ada", storage=storage)
    with pytest.raises(StorageError, match="a hiccup"):
        await table.debate("Tea?", rounds=1)
    (found,) = await table.sessions()
    broken = await table.session(found.id)
    assert (broken.session_status, broken.status) == ("error", "partial")
    assert broken.error is not None
    assert broken.error.message == "a hiccup"
    storage.left = 100
    assert (await table.resume(found.id)).status == "completed"


async def test_a_storage_that_does_not_answer_is_given_up_on() -> None:
    class Hanging(FailingStorage):
        hangs = False

        async def append(
            self,
            session_id: str,
            expected_seq: int | None,
            token: int | None,
            events: Sequence[DurableEvent],
            *,
            tenant: str = "default",
        ) -> int:
            if self.hangs:
                await anyio.sleep(60)
            return await super().append(session_id, expected_seq, token, events, tenant=tenant)

    inner, model = MemoryStorage(), CountingModel(by_round)
    storage = Hanging(inner)
    agents = seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))

    def impatient(run: Any) -> None:
        run.journal.save_timeout_s = 0.2
        storage.hangs = True

    with anyio.fail_after(40), pytest.raises(StorageError, match="the storage did not answer within"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("roundtable.engine.run._LEAVE_TIMEOUT_S", 0.2)
            await engine.run(session.id, on_start=impatient)
    storage.hangs = False
    assert (await engine.run(session.id)).progress.status == "completed"


async def test_a_session_whose_process_died_before_it_could_say_that_quorum_was_lost_asks_again() -> None:
    """All failures were stored, the error was not: no consensus of nobody may follow."""
    inner, replies = MemoryStorage(), {"reply": AgentError("no")}
    model = CountingModel(lambda _: replies["reply"])  # type: ignore[arg-type, return-value]
    storage = FailingStorage(inner, after=3)  # debate_start, round_start, agent_error
    table = table_of(model, "ada", storage=storage)
    with pytest.raises(QuorumLost):
        await table.debate("Tea?", rounds=1)
    (found,) = await table.sessions()
    assert found.status == "active"
    storage.left = None
    with pytest.raises(QuorumLost):
        await table.resume(found.id)
    replies["reply"] = "Tea"  # type: ignore[assignment]
    result = await table.resume(found.id)
    assert (result.answer, result.rounds[0].turns[0].attempt) == ("Tea", 3)
    await fold_of(inner, found.id)


async def test_a_failed_turn_of_a_cancelled_debate_stays_as_it_is() -> None:
    """Only after an error are failures asked again; a pause changes nothing about what was said."""
    model = CountingModel(lambda r: {"ada": AgentError("no"), "bo": late(30, "x")}[r.metadata["agent"]] if len(model.begun) < 3 else "Tea")
    storage = MemoryStorage()
    table = table_of(model, "ada", "bo", storage=storage)
    with anyio.move_on_after(0.1):
        await table.debate("Tea?", rounds=1)
    (found,) = await table.sessions()
    result = await table.resume(found.id)
    assert [turn.outcome for turn in result.rounds[0].turns] == ["failed", "answered"]
    assert [who for who, _ in model.begun].count("ada") == 1


# ------------------------------------------------------------------------------------------------ several stages


async def test_a_stage_that_was_under_way_is_finished_before_the_next_one() -> None:
    hold = {"bo": True}
    model = CountingModel(lambda r: late(30, "x") if hold.get(r.metadata["agent"]) else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    with anyio.move_on_after(0.1):
        await engine.run(session.id)
    assert [turn.agent_id for turn in (await fold_of(storage, session.id)).view().transcript] == ["ada"]
    hold.clear()
    fold = await engine.run(session.id)
    turns = [(turn.stage, turn.agent_id) for turn in fold.rounds[0].in_order()]
    assert turns == [("pleas", "ada"), ("pleas", "bo"), ("ruling", "cy")]
    assert [who for who, _ in model.begun] == ["ada", "bo", "bo", "cy"] or sorted(who for who, _ in model.begun) == ["ada", "bo", "bo", "cy"]


async def test_a_later_stage_is_taken_up_where_it_stopped() -> None:
    hold = {"cy": True}
    model = CountingModel(lambda r: late(30, "x") if hold.get(r.metadata["agent"]) else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    with anyio.move_on_after(0.1):
        await engine.run(session.id)
    hold.clear()
    assert (await engine.run(session.id)).progress.status == "completed"
    assert sorted(who for who, _ in model.begun) == ["ada", "bo", "cy", "cy"]


async def test_a_mode_that_no_longer_plans_the_stage_under_way_is_refused() -> None:
    class NewCourt(CourtMode):
        def next_stage(self, view: DebateContext) -> Plan:
            if self.stage_done(view, "hearing"):
                return EndRound()
            return Stage(name="hearing", turns=(TurnSpec(slot=0, agent="ada", task="Speak."),))

    model = CountingModel(lambda r: late(30, "x") if r.metadata["agent"] == "bo" else "Tea")
    storage, agents = MemoryStorage(), seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, CourtMode())
    session = await engine.start_debate(asking(agents, mode="court", rounds=1))
    with anyio.move_on_after(0.1):
        await engine.run(session.id)
    calls = len(model.begun)
    with pytest.raises(SessionError, match="mode 'court' no longer plans the stage 'pleas'"):
        await engine_of(storage, agents, NewCourt()).run(session.id)
    assert len(model.begun) == calls


# ------------------------------------------------------------------------------------------------ extending


@pytest.mark.parametrize("rounds", [1, 3])
async def test_an_extension_adds_exactly_the_rounds_asked_for(rounds: int) -> None:
    storage, model = MemoryStorage(), CountingModel(by_round)
    table = table_of(model, "ada", "bo", storage=storage)
    first = await table.debate("Tea?", rounds=2)
    more = await table.extend(first.session_id, rounds=rounds)
    assert (more.status, len(more.rounds), more.total_rounds) == ("completed", 2 + rounds, 2 + rounds)
    assert more.rounds[:2] == first.rounds
    assert len(model.begun) == 2 * (2 + rounds)
    assert more.independent_agreement == first.independent_agreement
    await fold_of(storage, first.session_id)


async def test_an_extension_after_an_early_end_adds_exactly_the_rounds_asked_for() -> None:
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
    model = CountingModel(lambda r: late(30, "x") if hold.get(r.metadata["agent"]) else by_round(r))
    async with table_of(model, "ada", "bo", storage=storage) as table:
        handle = await table.start("Tea?", rounds=3)
        await eventually(lambda: model.ended == 1)
        await handle.stop()
        await handle.result()
        hold.clear()
        more = await table.extend(handle.session_id, rounds=1)
    assert (len(more.rounds), more.total_rounds, more.status) == (2, 2, "completed")
    assert Counter(model.begun) == Counter([("ada", "1"), ("bo", "1"), ("bo", "1"), ("ada", "2"), ("bo", "2")])


async def test_an_extension_of_a_paused_session_comes_on_top_of_what_was_planned() -> None:
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
    found = ContextResult(request_id="r1", success=True, result="Tea is out of stock.")
    more = await table.extend(first.session_id, rounds=2, focus_question="And at night?", context_results=[found])
    assert [held.focus_question for held in more.rounds] == [None, "And at night?", "And at night?"]
    assert "Tea is out of stock." in model.prompts[1][2]
    assert "Tea is out of stock." not in model.prompts[2][2]
    starts = [event for event in await log_of(storage, first.session_id) if event.type == "round_start"]
    assert [len(event.context_results) for event in starts] == [0, 1, 0]


async def test_a_running_session_is_not_extended() -> None:
    storage, model = MemoryStorage(), CountingModel(late(30, "Tea"))
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


async def test_a_mode_is_not_extended_beyond_what_makes_sense_for_it() -> None:
    from roundtable.engine import Extension

    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada", "bo")
    engine = engine_of(storage, agents, BriefMode())
    with pytest.raises(ConfigurationError, match="mode 'brief' holds 1 to 2 rounds, not 3"):
        await engine.start_debate(asking(agents, mode="brief", rounds=3))
    session = await engine.start_debate(asking(agents, mode="brief", rounds=2))
    await engine.run(session.id)
    with pytest.raises(ConfigurationError, match="mode 'brief' holds 1 to 2 rounds; 1 more would make 3"):
        await engine.run(session.id, extension=Extension())
    assert (await fold_of(storage, session.id)).progress.status == "completed"


async def test_only_what_may_go_on_is_resumed() -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(SessionError, match="is completed") as caught:
        await table.resume(result.session_id)
    assert "Extend" in (caught.value.hint or "")
    for attempt in (table.resume, table.extend, table.session, table.pause, table.stop):
        with pytest.raises(SessionError) as unknown:
            await attempt("nobody")
        assert unknown.value.code == "SESSION_NOT_FOUND"


async def test_a_session_extended_by_a_request_alone_goes_on_when_resumed() -> None:
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
