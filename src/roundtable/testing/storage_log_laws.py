"""Laws of a storage: sessions, and the log of events each of them is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Final, cast

import anyio
import anyio.lowlevel
import pytest

from roundtable._owner import current_owner
from roundtable.errors import LeaseLost, SessionConflict, SessionError, SessionNotFound, StaleSequence
from roundtable.protocols import Storage
from roundtable.testing.storage_samples import (
    NOON,
    answered,
    broken,
    control,
    ended,
    failed,
    owner_elsewhere,
    record,
    round_start,
)
from roundtable.types import AgentResponseChunk, DurableEvent, SessionFilter, SessionRecord

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
"""Steps of a session: how each is told, and from which state it leads to which."""

WAYS: Final[dict[str, tuple[str, ...]]] = {
    "created": (),
    "active": ("round",),
    "paused": ("rest",),
    "completed": ("end",),
    "error": ("break",),
}
"""How each state is reached."""


async def started(storage: Storage, record: SessionRecord, *first: DurableEvent) -> int:
    """Create a session, take a lease, append events, and give the token."""
    await storage.create(record)
    token = (await storage.lease(record.id, current_owner(), 60, tenant=record.tenant)).token
    await storage.append(record.id, 0, token, first, tenant=record.tenant)
    return token


async def numbers(storage: Storage, session: str, after: int = 0, *, tenant: str = "default") -> list[int]:
    """Give the numbers of a session's events."""
    return [event.seq for event in (await storage.read(session, after, tenant=tenant))[1]]


class LogLaws:
    """Sessions and their events."""

    async def test_a_new_session_reads_back_as_it_was_made(self, storage: Storage) -> None:
        """What `create` took, `read` gives."""
        made = record()
        await storage.create(made)
        assert await storage.read(made.id) == (made, ())

    async def test_an_id_is_taken_once(self, storage: Storage) -> None:
        """A second session of one id is refused and changes nothing."""
        made = record()
        await storage.create(made)
        with pytest.raises(SessionConflict):
            await storage.create(record(made.id, topic="Another?"))
        assert (await storage.read(made.id))[0] == made

    async def test_an_unknown_session_is_refused_everywhere(self, storage: Storage) -> None:
        """Every method says `SessionNotFound`."""
        with pytest.raises(SessionNotFound):
            await storage.read("nobody")
        with pytest.raises(SessionNotFound):
            await storage.append("nobody", None, None, [control("nobody")])
        with pytest.raises(SessionNotFound):
            await storage.lease("nobody", current_owner(), 1)
        with pytest.raises(SessionNotFound):
            await storage.delete("nobody")

    async def test_a_session_of_another_tenant_is_unknown(self, storage: Storage) -> None:
        """A tenant neither sees nor changes what another has."""
        made = record(tenant="one")
        await started(storage, made, round_start(made.id))
        with pytest.raises(SessionNotFound):
            await storage.read(made.id, tenant="two")
        with pytest.raises(SessionError):
            await storage.append(made.id, None, None, [control(made.id)], tenant="two")
        with pytest.raises(SessionError):
            await storage.lease(made.id, owner_elsewhere(), 1, tenant="two")
        with pytest.raises(SessionError):
            await storage.delete(made.id, tenant="two")
        assert await storage.list(SessionFilter(tenant="two")) == ()
        assert await numbers(storage, made.id, tenant="one") == [1]

    async def test_tenants_may_use_the_same_id(self, storage: Storage) -> None:
        """Sessions of two tenants do not touch, whatever their ids."""
        one, two = record("same", tenant="one"), record("same", tenant="two", topic="Another?")
        await started(storage, one, round_start("same"))
        await storage.create(two)
        assert await storage.read("same", tenant="two") == (two, ())
        await storage.delete("same", tenant="two")
        assert await numbers(storage, "same", tenant="one") == [1]

    async def test_deleting_removes_everything(self, storage: Storage) -> None:
        """Nothing is left, and a token of the old session opens no new one."""
        made = record()
        token = await started(storage, made, answered(made.id))
        await storage.delete(made.id)
        with pytest.raises(SessionNotFound):
            await storage.append(made.id, None, token, [answered(made.id, 1)])
        assert await storage.list(SessionFilter()) == ()
        await storage.create(made)
        assert await storage.read(made.id) == (made, ())
        with pytest.raises(LeaseLost):
            await storage.append(made.id, 0, token, [answered(made.id)])
        again = await storage.lease(made.id, current_owner(), 60)
        assert again.token > token
        assert await storage.append(made.id, 0, again.token, [answered(made.id, position="Coffee")]) == 1

    async def test_events_are_numbered_from_one_without_gaps(self, storage: Storage) -> None:
        """Numbers are consecutive; `read` gives those above `after`."""
        made = record()
        token = await started(storage, made, round_start(made.id), answered(made.id))
        assert await storage.append(made.id, 2, token, [failed(made.id, 1)]) == 3
        assert await storage.append(made.id, 3, token, []) == 3
        assert await numbers(storage, made.id) == [1, 2, 3]
        assert await numbers(storage, made.id, 2) == [3]
        assert await numbers(storage, made.id, 3) == []
        assert await numbers(storage, made.id, 10**30) == []
        assert await numbers(storage, made.id, -5) == [1, 2, 3]

    async def test_an_event_reads_back_as_it_was_given(self, storage: Storage) -> None:
        """Only the number is added."""
        made = record()
        given = (round_start(made.id), answered(made.id), failed(made.id, 1), control(made.id, "stop"))
        await started(storage, made, *given)
        _, stored = await storage.read(made.id)
        assert stored == tuple(event.model_copy(update={"seq": seq}) for seq, event in enumerate(given, 1))

    async def test_a_log_that_moved_on_is_not_appended_to(self, storage: Storage) -> None:
        """An `expected_seq` that is not the last number is a clash."""
        made = record()
        token = await started(storage, made, round_start(made.id))
        with pytest.raises(StaleSequence) as error:
            await storage.append(made.id, 0, token, [answered(made.id)])
        assert error.value.details == {"expected": 0, "last": 1}
        assert await numbers(storage, made.id) == [1]

    async def test_an_event_may_carry_its_number_if_it_is_the_next(self, storage: Storage) -> None:
        """A number given must be the one it gets."""
        made = record()
        token = await started(storage, made)
        given: list[DurableEvent] = [
            round_start(made.id).model_copy(update={"seq": 1}),
            answered(made.id).model_copy(update={"seq": 2}),
        ]
        assert await storage.append(made.id, 0, token, given) == 2
        with pytest.raises(StaleSequence):
            await storage.append(made.id, 2, token, [answered(made.id, 1).model_copy(update={"seq": 4})])

    async def test_a_turn_counts_once(self, storage: Storage) -> None:
        """The same turn again is passed over, whatever the time of the event round it."""
        made = record()
        token = await started(storage, made, answered(made.id, 0), failed(made.id, 1))
        again: list[DurableEvent] = [
            answered(made.id, 0, timestamp=NOON + timedelta(seconds=9)),
            failed(made.id, 1),
            answered(made.id, 2),
            answered(made.id, 2),
            answered(made.id, 2, attempt=2),
        ]
        assert await storage.append(made.id, 2, token, again) == 4
        _, stored = await storage.read(made.id)
        assert [event.turn.attempt for event in stored if event.type == "agent_complete"] == [1, 1, 2]
        assert [found.response_count for found in await storage.list(SessionFilter())] == [3]

    @pytest.mark.parametrize("other", ["answer", "outcome"])
    async def test_a_turn_is_never_replaced(self, storage: Storage, other: str) -> None:
        """Another body for a stored turn is a conflict, and nothing of that append is stored."""
        made = record()
        token = await started(storage, made, answered(made.id))
        contradicting = answered(made.id, position="Coffee") if other == "answer" else failed(made.id)
        with pytest.raises(SessionConflict):
            await storage.append(made.id, 1, token, [round_start(made.id, 2), contradicting])
        assert await numbers(storage, made.id) == [1]  # all or none
        assert [found.current_round for found in await storage.list(SessionFilter())] == [0]

    async def test_only_control_goes_without_a_token(self, storage: Storage) -> None:
        """Anyone may ask for a pause; everything else takes a lease."""
        made = record()
        token = await started(storage, made, round_start(made.id))
        assert await storage.append(made.id, None, None, [control(made.id, "pause")]) == 2
        for event in (answered(made.id), round_start(made.id, 2)):
            with pytest.raises(LeaseLost):
                await storage.append(made.id, None, None, [control(made.id), event])
            with pytest.raises(SessionError):
                await storage.append(made.id, 2, None, [event])
        with pytest.raises(StaleSequence):
            await storage.append(made.id, 1, token, [answered(made.id)])
        assert await storage.append(made.id, None, token, [answered(made.id)]) == 3

    async def test_what_does_not_belong_is_refused(self, storage: Storage) -> None:
        """Events of other sessions, live events and numbers beyond any database."""
        made = record()
        token = await started(storage, made)
        chunk = AgentResponseChunk(session_id=made.id, timestamp=NOON, agent="ada", round=1, chunk="T")
        for event in (answered("other"), cast("DurableEvent", chunk), answered(made.id, 2**70)):
            with pytest.raises(SessionError):
                await storage.append(made.id, 0, token, [event])
        assert await numbers(storage, made.id) == []

    async def test_many_may_append_at_once(self, storage: Storage) -> None:
        """Concurrent appends each get numbers of their own."""
        made = record()
        await storage.create(made)
        last: list[int] = []

        async def pause() -> None:
            last.append(await storage.append(made.id, None, None, [control(made.id)]))

        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(pause)
        assert sorted(last) == await numbers(storage, made.id) == list(range(1, 31))

    async def test_of_many_who_expect_the_same_one_appends(self, storage: Storage) -> None:
        """Nothing comes between looking at the last number and storing; the same holds of an id that is new."""
        made, done = record(), list[str]()
        token = await started(storage, made, round_start(made.id))

        async def append(slot: int) -> None:
            with contextlib.suppress(StaleSequence):
                done.append(f"append {await storage.append(made.id, 1, token, [answered(made.id, slot)])}")

        async def create() -> None:
            with contextlib.suppress(SessionConflict):
                await storage.create(record("new"))
                done.append("create")

        async with anyio.create_task_group() as group:
            for slot in range(10):
                group.start_soon(append, slot)
                group.start_soon(create)
        assert sorted(done) == ["append 2", "create"]
        assert await numbers(storage, made.id) == [1, 2]

    async def test_an_append_that_is_cancelled_is_whole_or_nothing(self, storage: Storage) -> None:
        """It may still be done when its caller has gone, but never behind what is appended later."""
        for steps in range(12):
            made = record()
            token = await started(storage, made)
            async with anyio.create_task_group() as group:
                group.start_soon(storage.append, made.id, 0, token, [answered(made.id, slot) for slot in range(5)])
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            last = await storage.append(made.id, None, token, [round_start(made.id)])
            _, stored = await storage.read(made.id)
            assert [event.seq for event in stored] == list(range(1, last + 1))
            assert [event.type for event in stored] in (["round_start"], ["agent_complete"] * 5 + ["round_start"])

    @pytest.mark.parametrize("state", list(WAYS))
    async def test_only_what_the_state_allows_is_stored(self, storage: Storage, state: str) -> None:
        """What is refused takes what came with it along; from the ends lead `extend` and `resume` alone."""
        for step, (make, leads) in STEPS.items():
            made = record(f"{state} {step}")
            token = await started(storage, made, *(STEPS[name][0](made.id) for name in WAYS[state]))
            events = [answered(made.id, 7), make(made.id)]
            if state in leads:
                await storage.append(made.id, None, token, events)
            else:
                before = await storage.read(made.id)
                with pytest.raises(SessionConflict):
                    await storage.append(made.id, None, token, events)
                assert await storage.read(made.id) == before, step
            (listed,) = await storage.list(SessionFilter(limit=1, topic=made.config.topic))
            assert listed.status == leads.get(state, state), step
            await storage.delete(made.id)
