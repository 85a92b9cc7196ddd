"""Going on after whatever stopped a debate: cancelled at any moment, or a storage failing at any write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from integration.engine_kit import (
    CountingModel,
    FailingStorage,
    asking,
    by_round,
    engine_of,
    eventually,
    fold_of,
    late,
    log_of,
    seated,
    table_of,
)

from roundtable import Roundtable
from roundtable.engine import SessionManager
from roundtable.errors import AgentError, ConfigurationError, QuorumLost, SessionBusy, StorageError
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import DurableEvent, Event

pytestmark = pytest.mark.both_loops


def shape(result: DebateResult) -> object:
    """Return what a result says, without ids, times and figures of the calls."""
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
    # Every call that was sent counts, also one whose answer nobody waited for; a storage that fails may lose the count.
    assert 4 <= fold.usage.calls <= len(model.begun)
    assert isinstance(table._wiring.storage, FailingStorage) or fold.usage.calls == len(model.begun)
    last = [event.type for event in await log_of(storage, found.id)][-1]
    assert last == "debate_complete"


@pytest.mark.slow
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
    model, storage = (
        CountingModel(lambda r: by_round(r) if r.metadata["agent"] == "ada" else late(30, "no")),
        MemoryStorage(),
    )
    scope = anyio.CancelScope()

    def leave(event: Event) -> None:
        if event.type == "agent_complete":
            scope.cancel()

    table = table_of(model, "ada", "bo", storage=storage, observers=[leave])
    with scope:
        await table.debate("Tea?", rounds=2)
    assert scope.cancelled_caught
    (found,) = await table.sessions()
    fold = await fold_of(storage, found.id)
    assert [turn.agent_id for turn in fold.view().transcript] == ["ada"]
    assert fold.exit is not None
    assert (fold.exit.reason, fold.progress.status) == ("cancelled", "paused")


@pytest.mark.slow
@pytest.mark.parametrize("lost_answer", [False, True], ids=["refused", "stored but not told"])
async def test_a_storage_that_fails_at_any_write_loses_no_acknowledged_event(lost_answer: bool) -> None:
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


async def test_a_failing_storage_leaves_the_session_in_error_if_that_can_be_written() -> None:
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


async def test_a_storage_that_does_not_answer_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr("roundtable.core.engine.run._LEAVE_TIMEOUT_S", 0.2)
    with anyio.fail_after(40), pytest.raises(StorageError, match="the storage did not answer within"):
        await engine.run(session.id, on_start=impatient)
    storage.hangs = False
    assert (await engine.run(session.id)).progress.status == "completed"


async def test_a_session_whose_process_died_before_it_stored_a_lost_quorum_asks_again() -> None:
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
    model = CountingModel(
        lambda r: {"ada": AgentError("no"), "bo": late(30, "x")}[r.metadata["agent"]] if len(model.begun) < 3 else "Tea"
    )
    storage = MemoryStorage()
    table = table_of(model, "ada", "bo", storage=storage)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(table.debate, "Tea?", rounds=1))
        await eventually(lambda: len(model.begun) == 2 and model.under_way == 1)
        await anyio.wait_all_tasks_blocked()  # what failed is stored
        group.cancel_scope.cancel()
    (found,) = await table.sessions()
    result = await table.resume(found.id)
    assert [turn.outcome for turn in result.rounds[0].turns] == ["failed", "answered"]
    assert [who for who, _ in model.begun].count("ada") == 1


async def test_an_error_that_ends_a_debate_has_its_session_id_and_partial_result() -> None:
    inner = MemoryStorage()
    table = table_of(CountingModel("Tea"), storage=FailingStorage(inner, after=4))
    with pytest.raises(StorageError, match="the disk is full") as caught:
        await table.debate("Tea?", rounds=2)
    error = caught.value
    assert error.session_id is not None
    assert error.partial is not None
    assert (error.partial.session_id, error.partial.status) == (error.session_id, "partial")
    assert (await SessionManager(inner).get_session(error.session_id)) is not None

    with pytest.raises(ConfigurationError) as early:
        await table.debate("", rounds=2)
    assert (early.value.session_id, early.value.partial) == (None, None)


async def test_a_debate_that_another_owner_runs_gives_no_partial_result() -> None:
    storage = MemoryStorage()
    table = table_of(CountingModel("Tea"), storage=storage)
    session = (await table.debate("Tea?", rounds=1)).session_id
    await storage.lease(session, SessionManager(storage).owner(), 60)
    with pytest.raises(SessionBusy) as caught:
        await table.extend(session)
    assert (caught.value.session_id, caught.value.partial) == (session, None)
