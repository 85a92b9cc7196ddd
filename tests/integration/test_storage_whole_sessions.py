from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from roundtable.errors import SessionBusy, SessionError, SessionNotFound, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage, current_owner
from roundtable.storage.whole_sessions import WholeSessionMethods
from roundtable.testing.doubles import ManualClock
from roundtable.testing.storage_samples import NOON, answered, control, record, round_start
from roundtable.types import AgentResponse, ConsensusResult, DurableEvent, Session, SessionRecord, SessionStatus

pytestmark = pytest.mark.slow

RECORD = record("s", rounds=3)


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WholeSessionMethods]:
    clock = ManualClock()
    storage = MemoryStorage(clock) if request.param == "memory" else SQLiteStorage(tmp_path / "x.db", clock=clock)
    yield storage
    await storage.aclose()


def session(**changes: object) -> Session:
    made = Session(
        id="s",
        topic="Tea or coffee?",
        mode="collaborative",
        agent_ids=("ada", "bo"),
        status="created",
        current_round=0,
        total_rounds=3,
        created_at=NOON,
        updated_at=NOON,
    )
    return made.model_copy(update=changes)


def says(position: str, agent: str = "ada") -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent.title(), position=position, timestamp=NOON)


def agreement(score: float) -> ConsensusResult:
    return ConsensusResult(agreement_level=score, common_ground=(), disagreement_points=(), summary="", method="basic")


async def put_into(storage: WholeSessionMethods, status: SessionStatus) -> Session:
    """Store a session in round 1 in this state."""
    await storage.save_session(session(status=status, current_round=0 if status == "created" else 1))
    found = await storage.get_session("s")
    assert found is not None
    assert found.status == status
    return found


async def refusal(storage: WholeSessionMethods, wanted: Session) -> str:
    """Return the message with which saving is refused; the stored data must not change."""
    before = await storage.read("s")
    with pytest.raises(SessionError) as error:
        await storage.save_session(wanted)
    assert await storage.read("s") == before
    return str(error.value)


async def test_an_unknown_session_gives_none_and_no_responses(storage: WholeSessionMethods) -> None:
    assert await storage.get_session("s") is None
    assert await storage.get_all_sessions() == ()
    for call in (storage.get_responses, storage.delete_session):
        with pytest.raises(SessionNotFound):
            await call("s")
    with pytest.raises(SessionNotFound):
        await storage.add_response("s", says("Tea"))


@pytest.mark.parametrize("status", ["created", "active", "paused", "completed", "error"])
async def test_a_new_session_is_stored_whole(storage: WholeSessionMethods, status: SessionStatus) -> None:
    wanted = session(
        status=status,
        current_round=0 if status == "created" else 2,
        responses=(says("Tea"), says("Coffee", "bo")),
        perspectives=(),
        exit_on_consensus=True,
    )
    await storage.save_session(wanted)
    assert await storage.get_session("s") == wanted
    assert await storage.get_responses("s") == wanted.responses
    assert await storage.get_all_sessions() == (wanted,)
    await storage.save_session(wanted)
    assert await storage.get_session("s") == wanted


async def test_an_agent_of_a_new_session_gets_the_name_in_its_answers(storage: WholeSessionMethods) -> None:
    await storage.save_session(session(responses=(says("Tea"),)))
    stored, _ = await storage.read("s")
    assert [(agent.id, agent.name, agent.provider) for agent in stored.agents] == [
        ("ada", "Ada", "external"),
        ("bo", "bo", "external"),
    ]


@pytest.mark.parametrize("changes", [{"topic": ""}, {"agent_ids": ("a b",)}, {"id": ""}])
async def test_a_session_that_could_not_be_created_is_not_saved(
    storage: WholeSessionMethods, changes: dict[str, object]
) -> None:
    with pytest.raises(SessionError, match="cannot be stored"):
        await storage.save_session(session(**changes))
    assert await storage.get_all_sessions() == ()


async def test_a_refused_new_session_is_not_stored_half(storage: WholeSessionMethods) -> None:
    with pytest.raises(SessionError, match="round 4 of 3"):
        await storage.save_session(session(status="active", current_round=4))
    assert await storage.get_session("s") is None


async def test_new_answers_are_turns_of_the_current_round_from_outside(storage: WholeSessionMethods) -> None:
    await storage.create(RECORD)
    owner = current_owner()
    token = (await storage.lease("s", owner, 5)).token
    await storage.append("s", 0, token, [round_start("s", 1), answered("s"), round_start("s", 2)])
    await storage.lease("s", owner, 0)
    found = await storage.get_session("s")
    assert found is not None
    more = (*found.responses, says("Coffee", "bo"), says("Water"))
    await storage.save_session(found.model_copy(update={"responses": more}))
    await storage.add_response("s", says("Milk"))
    _, events = await storage.read("s")
    turns = [event.turn for event in events[3:] if event.type == "agent_complete"]
    assert [(turn.round, turn.stage, turn.slot, turn.attempt) for turn in turns] == [
        (2, "external", 0, 1),
        (2, "external", 1, 1),
        (2, "external", 2, 1),
    ]
    assert [response.position for response in await storage.get_responses("s")] == ["Tea", "Coffee", "Water", "Milk"]


async def test_the_same_answer_twice_is_two_answers(storage: WholeSessionMethods) -> None:
    await storage.save_session(session(responses=(says("Tea"), says("Tea"))))
    assert len(await storage.get_responses("s")) == 2
    assert "never changed or dropped" in await refusal(storage, session(responses=(says("Tea"),)))


async def test_answers_may_be_added_at_once(storage: WholeSessionMethods) -> None:
    await storage.save_session(session())
    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(storage.add_response, "s", says(str(number)))
        for _ in range(8):
            group.start_soon(storage.append, "s", None, None, [control("s")])
    assert sorted(response.position for response in await storage.get_responses("s")) == list("01234567")


async def test_a_stored_answer_is_never_changed_or_dropped(storage: WholeSessionMethods) -> None:
    await storage.save_session(session(responses=(says("Tea"),)))
    for responses in ((), (says("Coffee"),), (says("Coffee"), says("Milk"))):
        assert "never changed or dropped" in await refusal(storage, session(responses=responses))


@pytest.mark.parametrize(
    "changes",
    [{"topic": "Water?"}, {"mode": "delphi"}, {"agent_ids": ("ada",)}, {"exit_on_consensus": False}],
    ids=lambda changes: next(iter(changes)),
)
async def test_the_configuration_of_a_session_cannot_be_changed(
    storage: WholeSessionMethods, changes: dict[str, object]
) -> None:
    await storage.save_session(session())
    assert "is fixed when a session is created" in await refusal(storage, session(**changes))


ALLOWED: dict[SessionStatus, set[SessionStatus]] = {
    "created": {"created", "active", "paused", "completed", "error"},
    "active": {"active", "paused", "completed", "error"},
    "paused": {"paused", "active", "completed", "error"},
    "completed": {"completed", "error"},
    "error": {"error", "active", "paused", "completed"},
}


@pytest.mark.parametrize("before", ALLOWED)
@pytest.mark.parametrize("after", ALLOWED)
async def test_a_status_changes_only_as_allowed(
    storage: WholeSessionMethods, before: SessionStatus, after: SessionStatus
) -> None:
    held = await put_into(storage, before)
    wanted = held.model_copy(update={"status": after})
    if after in ALLOWED[before]:
        await storage.save_session(wanted)
        found = await storage.get_session("s")
        assert found is not None
        assert found.status == after
    else:
        assert "cannot be saved like this" in await refusal(storage, wanted)


async def test_rounds_begin_in_order_and_wake_a_paused_session(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "paused")
    await storage.save_session(held.model_copy(update={"current_round": 3, "status": "active"}))
    _, events = await storage.read("s")
    assert [event.type for event in events[-3:]] == ["control", "round_start", "round_start"]
    found = await storage.get_session("s")
    assert found is not None
    assert (found.current_round, found.status) == (3, "active")
    assert "has begun already" in await refusal(storage, found.model_copy(update={"current_round": 2}))


async def test_rounds_are_added_but_not_taken_away(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "completed")
    assert "to continue a completed session, increase total_rounds" in await refusal(
        storage, held.model_copy(update={"current_round": 2, "status": "active"})
    )
    longer = held.model_copy(update={"total_rounds": 5, "current_round": 2, "status": "active"})
    await storage.save_session(longer)
    found = await storage.get_session("s")
    assert found is not None
    assert (found.total_rounds, found.current_round, found.status) == (5, 2, "active")
    assert "total_rounds must be at least 5" in await refusal(storage, found.model_copy(update={"total_rounds": 4}))


async def test_a_session_that_has_not_started_can_be_made_longer(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "created")
    longer = held.model_copy(update={"total_rounds": 5})
    await storage.save_session(longer)
    assert await storage.get_session("s") == longer


async def test_the_consensus_of_a_round_is_stored_once(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "active")
    measured = held.model_copy(update={"consensus": agreement(0.5)})
    await storage.save_session(measured)
    found = await storage.get_session("s")
    assert found is not None
    assert found.consensus == agreement(0.5)
    for consensus in (None, agreement(0.9)):
        assert "stored once" in await refusal(storage, found.model_copy(update={"consensus": consensus}))
    later = found.model_copy(update={"consensus": agreement(0.9), "current_round": 2})
    await storage.save_session(later)
    found = await storage.get_session("s")
    assert found is not None
    assert found.consensus == agreement(0.9)


async def test_before_the_first_round_there_is_no_consensus(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "created")
    assert "stored once" in await refusal(storage, held.model_copy(update={"consensus": agreement(0.5)}))


async def test_a_running_session_is_busy(storage: WholeSessionMethods) -> None:
    held = await put_into(storage, "active")
    await storage.lease("s", current_owner(), 60)
    with pytest.raises(SessionBusy):
        await storage.add_response("s", says("Tea"))
    with pytest.raises(SessionBusy):
        await storage.save_session(held)
    assert await storage.get_responses("s") == ()


async def test_adding_a_response_releases_the_lease(storage: WholeSessionMethods) -> None:
    await put_into(storage, "active")
    await storage.add_response("s", says("Tea"))
    await storage.lease("s", current_owner(), 60)


async def test_tenants_save_their_sessions_separately(storage: WholeSessionMethods) -> None:
    await storage.save_session(session(), tenant="one")
    await storage.save_session(session(topic="Other?"), tenant="two")
    await storage.add_response("s", says("Tea"), tenant="two")
    assert await storage.get_session("s") is None
    assert await storage.get_responses("s", tenant="one") == ()
    assert [found.topic for found in await storage.get_all_sessions(tenant="two")] == ["Other?"]
    await storage.delete_session("s", tenant="two")
    assert await storage.get_session("s", tenant="one") is not None
    assert await storage.get_session("s", tenant="two") is None


async def test_every_session_is_returned_however_many_there_are(
    storage: WholeSessionMethods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundtable.storage.whole_sessions._PAGE_SIZE", 2)
    for number in range(5):
        await storage.save_session(session(id=f"s{number}", created_at=NOON.replace(minute=number)))
    assert [found.id for found in await storage.get_all_sessions()] == ["s4", "s3", "s2", "s1", "s0"]


async def test_an_error_of_the_storage_is_raised_unchanged(storage: WholeSessionMethods) -> None:
    await storage.save_session(session())
    await storage.aclose()
    with pytest.raises(StorageError):
        await storage.get_session("s")
    with pytest.raises(StorageError):
        await storage.save_session(session())


async def test_a_session_that_is_deleted_meanwhile_is_left_out(storage: WholeSessionMethods) -> None:
    await storage.save_session(session())
    await storage.save_session(session(id="t"))
    async with anyio.create_task_group() as group:
        group.start_soon(storage.delete_session, "t")
        found = await storage.get_all_sessions()
    assert {"s"} <= {one.id for one in found} <= {"s", "t"}


def test_memory_and_sqlite_close_without_an_event_loop(tmp_path: Path) -> None:
    for storage in (MemoryStorage(), SQLiteStorage(tmp_path / "x.db")):
        anyio.run(storage.save_session, session())
        storage.close()
        storage.close()
        with pytest.raises(StorageError, match="closed"):
            anyio.run(storage.get_session, "s")


class Forbidding(MemoryStorage):
    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        raise SessionError("not for you", code="FORBIDDEN")


async def test_only_an_unknown_session_is_created_or_skipped() -> None:
    storage = Forbidding()
    with pytest.raises(SessionError, match="not for you"):
        await storage.get_session("s")
    with pytest.raises(SessionError, match="not for you"):
        await storage.save_session(session())
