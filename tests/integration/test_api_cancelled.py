"""Cancelled at a bad moment, or held up by code of others: nothing stays open, and nothing paid for is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import NEVER_S, CountingModel, eventually, late, said, seated, table_of

from roundtable import Roundtable
from roundtable.api import assembly, runs
from roundtable.errors import ConfigurationError
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ChatResponse, SessionRecord

pytestmark = pytest.mark.both_loops


class Closing(ScriptedModel):
    """Takes its time to close."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__([])
        self.seconds = seconds
        self.closed = False

    async def aclose(self) -> None:
        await anyio.sleep(self.seconds)
        self.closed = True


@pytest.mark.slow
async def test_a_model_that_never_closes_does_not_keep_others_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(assembly, "_CLOSE_S", 0.05)
    stuck, other = Closing(NEVER_S), Closing()
    table = table_of(CountingModel("Tea"))
    table._wiring.models._made |= {("stuck", None): stuck, ("other", None): other}
    await table.aclose()
    assert (stuck.closed, other.closed) == (False, True)
    assert "Closing.aclose did not close in time" in caplog.text


async def test_a_cancellation_waits_until_all_is_closed() -> None:
    one, two = Closing(0.02), Closing()
    table = table_of(CountingModel("Tea"))
    table._wiring.models._made |= {("one", None): one, ("two", None): two}
    with anyio.CancelScope() as scope:
        scope.cancel()
        await table.aclose()
    assert (one.closed, two.closed) == (True, True)


async def test_leaving_a_stream_takes_bounded_time_whatever_an_agent_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runs, "_LEAVE_S", 0.05)
    free = anyio.Event()

    class Deaf(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            with anyio.CancelScope(shield=True):
                response = await super().complete(request)
                await free.wait()
            return response

    model = Deaf("Tea")
    async with Roundtable(seated(model, "ada"), storage="memory://") as table:
        async with table.stream("Tea?", rounds=1):
            await eventually(lambda: bool(model.begun))
        assert "the debate did not end within 0.05 s" in caplog.text
        free.set()


@pytest.mark.parametrize("how", ["start", "stream"])
async def test_leaving_a_table_while_a_debate_is_prepared_is_reported(how: str) -> None:
    class Slow(MemoryStorage):
        reached, go = anyio.Event(), anyio.Event()

        async def create(self, record: SessionRecord) -> None:
            self.reached.set()
            await self.go.wait()
            await super().create(record)

    storage = Slow()
    storage.reached, storage.go = anyio.Event(), anyio.Event()
    told: list[ConfigurationError] = []

    async def begin(table: Roundtable) -> None:
        made = table.start("Tea?", rounds=1) if how == "start" else table.stream("Tea?", rounds=1).__aenter__()
        with pytest.raises(ConfigurationError, match="works only inside") as caught:
            await made
        told.append(caught.value)

    async with anyio.create_task_group() as group:
        async with table_of(CountingModel("Tea"), storage=storage) as table:
            group.start_soon(begin, table)
            await storage.reached.wait()
        storage.go.set()
    assert len(told) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("place", ["exit", "agent_complete", "debate_start"])
async def test_cancelling_an_asyncio_task_waits_for_a_write_too(place: str) -> None:
    """`Task.cancel` knows no shield: it interrupted the last write, and left the session active."""
    import asyncio

    class Cancelling(MemoryStorage):
        """Has the debate's task cancelled while it stores an event of this type."""

        async def append(self, session_id: str, expected_seq: Any, token: Any, events: Any, **more: Any) -> int:
            if place in {event.type for event in events}:
                holding.cancel()
            return await super().append(session_id, expected_seq, token, events, **more)

    storage = Cancelling()
    model = CountingModel(lambda r: said("Tea") if r.metadata["agent"] == "ada" else late(NEVER_S, "x"))
    table = table_of(model, "ada", "bo", storage=storage)
    holding = asyncio.create_task(table.debate("Tea?", rounds=1))
    if place == "exit":
        await eventually(lambda: model.ended == 1 and len(model.begun) == 2)
        holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    (found,) = await table.sessions()
    assert found.status == "paused"
    assert found.response_count == (0 if place == "debate_start" else 1)
    again = await Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage=storage).resume(
        found.id, on_change="adopt"
    )
    assert again.status == "completed"


async def test_a_paid_synthesis_is_stored_even_if_its_caller_leaves() -> None:
    class Clerk(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if request.metadata.get("purpose") != "synthesis":
                return await super().complete(request)
            response = await ScriptedModel([{"conclusion": "Tea."}]).complete(request)
            scope.cancel()
            return response  # no place to be cancelled between the answer and here

    scope = anyio.CancelScope()
    table = table_of(Clerk("Tea"), "ada")
    held = await table.debate("Tea?", rounds=1)
    with scope:
        await table.synthesize(held.session_id)
    after = await table.session(held.session_id)
    assert after.synthesis is not None
    assert (after.synthesis.conclusion, after.usage.calls) == ("Tea.", 2)


async def test_an_import_from_a_silent_pipe_can_be_cancelled(tmp_path: Path) -> None:
    pipe: Any = tmp_path / "pipe"
    os.mkfifo(pipe)
    try:
        with anyio.move_on_after(0.05) as scope:
            await table_of(CountingModel(late(0, "Tea"))).import_(pipe)
        assert scope.cancelled_caught
    finally:
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # let the thread go
