"""Conformance tests for storages: sessions and their logs of events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Final, cast

import anyio
import anyio.lowlevel
import pytest

from roundtable.core.base.owner import current_owner
from roundtable.core.errors import (
    LeaseLost,
    SessionConflict,
    SessionError,
    SessionNotFound,
    StaleSequence,
    StorageError,
)
from roundtable.core.protocols import Storage
from roundtable.core.types.debate import SessionRecord
from roundtable.core.types.events import AgentResponseChunk, DurableEvent
from roundtable.core.types.storage import SessionFilter
from roundtable.testing.storage_samples import (
    NOON,
    answered,
    broken,
    control,
    ended,
    failed,
    nested,
    owner_elsewhere,
    record,
    round_start,
    tool_result,
)

__all__ = ["LogLaws", "numbers", "started"]


_RUNS = {"created": "active", "active": "active"}

STEPS: Final[dict[str, tuple[Callable[[str], DurableEvent], dict[str, str]]]] = {
    "round": (round_start, _RUNS),
    "pause": (control, {"created": "created", "active": "active"}),
    "stop": (lambda session: control(session, "stop"), {"created": "created", "active": "active", "paused": "paused"}),
    "resume": (
        lambda session: control(session, "resume"),
        {"created": "active", "active": "active", "paused": "active", "error": "active"},
    ),
    "extend": (
        lambda session: control(session, "extend", total_rounds=9),
        {state: state for state in ("created", "active", "paused", "error")} | {"completed": "active"},
    ),
    "rest": (lambda session: ended(session, "paused"), {"created": "paused", "active": "paused"}),
    "end": (lambda session: ended(session, "completed"), dict.fromkeys(("created", "active", "paused"), "completed")),
    "break": (broken, dict.fromkeys(("created", "active", "paused", "completed", "error"), "error")),
}
"""The steps of a session. For each step: its event, and the allowed states before it, with the state after it."""

WAYS: Final[dict[str, tuple[str, ...]]] = {
    "created": (),
    "active": ("round",),
    "paused": ("rest",),
    "completed": ("end",),
    "error": ("break",),
}
"""The steps that lead to each state."""


async def started(storage: Storage, record: SessionRecord, *first: DurableEvent) -> int:
    """Create a session, take a lease, append events, and return the token."""
    await storage.create(record)
    token = (await storage.lease(record.id, current_owner(), 60, tenant=record.tenant)).token
    await storage.append(record.id, 0, token, first, tenant=record.tenant)
    return token


async def numbers(storage: Storage, session: str, after: int = 0, *, tenant: str = "default") -> list[int]:
    """Return the numbers of a session's events."""
    return [event.seq for event in (await storage.read(session, after, tenant=tenant))[1]]


class LogLaws:
    """Tests of sessions and their events."""

    async def test_a_new_session_reads_back_as_it_was_made(self, storage: Storage) -> None:
        """`read` returns the record that `create` stored."""
        session = record()
        await storage.create(session)
        assert await storage.read(session.id) == (session, ())

    async def test_an_id_is_taken_once(self, storage: Storage) -> None:
        """A second session with the same id is refused, and changes nothing."""
        session = record()
        await storage.create(session)
        with pytest.raises(SessionConflict):
            await storage.create(record(session.id, topic="Another?"))
        assert (await storage.read(session.id))[0] == session

    async def test_an_unknown_session_is_refused_everywhere(self, storage: Storage) -> None:
        """Every method raises `SessionNotFound`."""
        with pytest.raises(SessionNotFound):
            await storage.read("nobody")
        with pytest.raises(SessionNotFound):
            await storage.append("nobody", None, None, [control("nobody")])
        with pytest.raises(SessionNotFound):
            await storage.lease("nobody", current_owner(), 1)
        with pytest.raises(SessionNotFound):
            await storage.delete("nobody")

    async def test_a_session_of_another_tenant_is_unknown(self, storage: Storage) -> None:
        """A tenant can neither read nor change sessions of another tenant."""
        session = record(tenant="one")
        await started(storage, session, round_start(session.id))
        with pytest.raises(SessionNotFound):
            await storage.read(session.id, tenant="two")
        with pytest.raises(SessionError):
            await storage.append(session.id, None, None, [control(session.id)], tenant="two")
        with pytest.raises(SessionError):
            await storage.lease(session.id, owner_elsewhere(), 1, tenant="two")
        with pytest.raises(SessionError):
            await storage.delete(session.id, tenant="two")
        assert await storage.list(SessionFilter(tenant="two")) == ()
        assert await numbers(storage, session.id, tenant="one") == [1]

    async def test_tenants_may_use_the_same_id(self, storage: Storage) -> None:
        """Sessions of two tenants are separate, even with the same id."""
        first, second = record("same", tenant="one"), record("same", tenant="two", topic="Another?")
        await started(storage, first, round_start("same"))
        await storage.create(second)
        assert await storage.read("same", tenant="two") == (second, ())
        await storage.delete("same", tenant="two")
        assert await numbers(storage, "same", tenant="one") == [1]

    async def test_deleting_removes_everything(self, storage: Storage) -> None:
        """Nothing is left, and a token of the deleted session is not valid for a new session."""
        session = record()
        token = await started(storage, session, answered(session.id))
        await storage.delete(session.id)
        with pytest.raises(SessionNotFound):
            await storage.append(session.id, None, token, [answered(session.id, 1)])
        assert await storage.list(SessionFilter()) == ()
        await storage.create(session)
        assert await storage.read(session.id) == (session, ())
        with pytest.raises(LeaseLost):
            await storage.append(session.id, 0, token, [answered(session.id)])
        lease = await storage.lease(session.id, current_owner(), 60)
        assert lease.token > token
        assert await storage.append(session.id, 0, lease.token, [answered(session.id, position="Coffee")]) == 1

    async def test_events_are_numbered_from_one_without_gaps(self, storage: Storage) -> None:
        """Numbers are consecutive; `read` returns the events with a number above `after`."""
        session = record()
        token = await started(storage, session, round_start(session.id), answered(session.id))
        assert await storage.append(session.id, 2, token, [failed(session.id, 1)]) == 3
        assert await storage.append(session.id, 3, token, []) == 3
        assert await numbers(storage, session.id) == [1, 2, 3]
        assert await numbers(storage, session.id, 2) == [3]
        assert await numbers(storage, session.id, 3) == []
        assert await numbers(storage, session.id, 10**30) == []
        assert await numbers(storage, session.id, -5) == [1, 2, 3]

    async def test_an_event_reads_back_as_it_was_given(self, storage: Storage) -> None:
        """The storage adds only the number."""
        session = record()
        events = (round_start(session.id), answered(session.id), failed(session.id, 1), control(session.id, "stop"))
        await started(storage, session, *events)
        _, stored = await storage.read(session.id)
        assert stored == tuple(event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, 1))

    async def test_a_log_that_moved_on_is_not_appended_to(self, storage: Storage) -> None:
        """An append with a wrong `expected_seq` raises `StaleSequence`."""
        session = record()
        token = await started(storage, session, round_start(session.id))
        with pytest.raises(StaleSequence) as error:
            await storage.append(session.id, 0, token, [answered(session.id)])
        assert error.value.details == {"expected": 0, "last": 1}
        assert await numbers(storage, session.id) == [1]

    async def test_an_event_may_carry_its_number_if_it_is_the_next(self, storage: Storage) -> None:
        """If an event has a number, it must be the next one."""
        session = record()
        token = await started(storage, session)
        events: list[DurableEvent] = [
            round_start(session.id).model_copy(update={"seq": 1}),
            answered(session.id).model_copy(update={"seq": 2}),
        ]
        assert await storage.append(session.id, 0, token, events) == 2
        with pytest.raises(StaleSequence):
            await storage.append(session.id, 2, token, [answered(session.id, 1).model_copy(update={"seq": 4})])

    async def test_a_turn_counts_once(self, storage: Storage) -> None:
        """A turn that is already stored is ignored, even if the time of its event differs."""
        session = record()
        token = await started(storage, session, answered(session.id, 0), failed(session.id, 1))
        again: list[DurableEvent] = [
            answered(session.id, 0, timestamp=NOON + timedelta(seconds=9)),
            failed(session.id, 1),
            answered(session.id, 2),
            answered(session.id, 2),
            answered(session.id, 2, attempt=2),
        ]
        assert await storage.append(session.id, 2, token, again) == 4
        _, stored = await storage.read(session.id)
        assert [event.turn.attempt for event in stored if event.type == "agent_complete"] == [1, 1, 2]
        assert [summary.response_count for summary in await storage.list(SessionFilter())] == [3]

    @pytest.mark.parametrize("other", ["answer", "outcome"])
    async def test_a_turn_is_never_replaced(self, storage: Storage, other: str) -> None:
        """A different turn with the same key raises, and nothing of that append is stored."""
        session = record()
        token = await started(storage, session, answered(session.id))
        contradicting = answered(session.id, position="Coffee") if other == "answer" else failed(session.id)
        with pytest.raises(SessionConflict):
            await storage.append(session.id, 1, token, [round_start(session.id, 2), contradicting])
        assert await numbers(storage, session.id) == [1]  # all or none
        assert [summary.current_round for summary in await storage.list(SessionFilter())] == [0]

    async def test_only_control_goes_without_a_token(self, storage: Storage) -> None:
        """Control events need no lease; all other events do."""
        session = record()
        token = await started(storage, session, round_start(session.id))
        assert await storage.append(session.id, None, None, [control(session.id, "pause")]) == 2
        for event in (answered(session.id), round_start(session.id, 2)):
            with pytest.raises(LeaseLost):
                await storage.append(session.id, None, None, [control(session.id), event])
            with pytest.raises(SessionError):
                await storage.append(session.id, 2, None, [event])
        with pytest.raises(StaleSequence):
            await storage.append(session.id, 1, token, [answered(session.id)])
        assert await storage.append(session.id, None, token, [answered(session.id)]) == 3

    async def test_what_does_not_belong_is_refused(self, storage: Storage) -> None:
        """Events of other sessions, live events and too large numbers are refused."""
        session = record()
        token = await started(storage, session)
        chunk = AgentResponseChunk(session_id=session.id, timestamp=NOON, agent="ada", round=1, chunk="T")
        for event in (answered("other"), cast("DurableEvent", chunk), answered(session.id, 2**70)):
            with pytest.raises(SessionError):
                await storage.append(session.id, 0, token, [event])
        assert await numbers(storage, session.id) == []

    async def test_what_could_not_be_read_again_is_refused(self, storage: Storage) -> None:
        """An event or a record that is nested too deeply is refused, or it can be read again; nothing is lost."""
        session = record()
        token = await started(storage, session, round_start(session.id))
        last = 1
        for depth in (64, 180, 195, 199, 230, 254, 300, 900):
            event = tool_result(session.id, nested(depth))
            with contextlib.suppress(StorageError):
                last = await storage.append(session.id, last, token, [answered(session.id, depth), event])
            _, events = await storage.read(session.id)
            assert [event.seq for event in events] == list(range(1, last + 1)), depth
            assert last == 1 or events[-1].type == "agent_tool_result", depth
        assert last > 1, "an event of 64 levels must be stored"
        for depth in (199, 254, 900):
            deep = record(metadata={"deep": nested(depth)})
            try:
                await storage.create(deep)
            except StorageError:
                with pytest.raises(SessionNotFound):
                    await storage.read(deep.id)
            else:
                assert await storage.read(deep.id) == (deep, ())

    async def test_many_may_append_at_once(self, storage: Storage) -> None:
        """Concurrent appends get different numbers."""
        session = record()
        await storage.create(session)
        last: list[int] = []

        async def pause() -> None:
            last.append(await storage.append(session.id, None, None, [control(session.id)]))

        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(pause)
        assert sorted(last) == await numbers(storage, session.id) == list(range(1, 31))

    async def test_of_many_who_expect_the_same_one_appends(self, storage: Storage) -> None:
        """The check of the last number and the append are one atomic step; creating a session is atomic as well."""
        session, done = record(), list[str]()
        token = await started(storage, session, round_start(session.id))

        async def append(slot: int) -> None:
            with contextlib.suppress(StaleSequence):
                done.append(f"append {await storage.append(session.id, 1, token, [answered(session.id, slot)])}")

        async def create() -> None:
            with contextlib.suppress(SessionConflict):
                await storage.create(record("new"))
                done.append("create")

        async with anyio.create_task_group() as group:
            for slot in range(10):
                group.start_soon(append, slot)
                group.start_soon(create)
        assert sorted(done) == ["append 2", "create"]
        assert await numbers(storage, session.id) == [1, 2]

    async def test_an_append_that_is_cancelled_is_whole_or_nothing(self, storage: Storage) -> None:
        """A cancelled append may complete later, but never after a later append."""
        for steps in range(12):
            session = record()
            token = await started(storage, session)
            async with anyio.create_task_group() as group:
                group.start_soon(
                    storage.append, session.id, 0, token, [answered(session.id, slot) for slot in range(5)]
                )
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            last = await storage.append(session.id, None, token, [round_start(session.id)])
            _, stored = await storage.read(session.id)
            assert [event.seq for event in stored] == list(range(1, last + 1))
            assert [event.type for event in stored] in (["round_start"], ["agent_complete"] * 5 + ["round_start"])

    @pytest.mark.parametrize("state", list(WAYS))
    async def test_only_what_the_state_allows_is_stored(self, storage: Storage, state: str) -> None:
        """An append with a refused event stores nothing; only `extend` and `resume` leave an end state."""
        for step, (make_event, transitions) in STEPS.items():
            session = record(f"{state} {step}")
            token = await started(storage, session, *(STEPS[name][0](session.id) for name in WAYS[state]))
            events = [answered(session.id, 7), make_event(session.id)]
            if state in transitions:
                await storage.append(session.id, None, token, events)
            else:
                before = await storage.read(session.id)
                with pytest.raises(SessionConflict):
                    await storage.append(session.id, None, token, events)
                assert await storage.read(session.id) == before, step
            (summary,) = await storage.list(SessionFilter(limit=1, topic=session.config.topic))
            assert summary.status == transitions.get(state, state), step
            await storage.delete(session.id)
