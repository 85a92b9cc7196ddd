"""Asking for a synthesis while somebody is at it: one call, one event, one answer for all."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from integration.engine_kit import ENOUGH_S, CountingModel, eventually, log_of, table_of
from integration.test_synthesis import MADE, Clerk, at_odds, parted

from roundtable.errors import ParseError
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ChatResponse

pytestmark = pytest.mark.both_loops


async def test_simultaneous_requests_share_one_paid_call() -> None:
    clerk, storage = Clerk(Delay(0.05, MADE)), MemoryStorage()
    table = at_odds(clerk, storage)
    result = await table.debate("Tea?", rounds=1)
    made: list[Any] = []

    async def ask() -> None:
        made.append(await table.synthesize(result.session_id))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
    assert made == [(await table.session(result.session_id)).synthesis] * 5
    assert len(clerk.requests) == 1
    told = [event.type for event in await log_of(storage, result.session_id)]
    assert told.count("synthesis_complete") == 1


async def test_simultaneous_requests_share_its_failure() -> None:
    clerk = Clerk(Delay(0.05, " "), " ")
    table = at_odds(clerk)
    result = await table.debate("Tea?", rounds=1)
    failures: list[ParseError] = []

    async def ask() -> None:
        with pytest.raises(ParseError) as caught:
            await table.synthesize(result.session_id)
        failures.append(caught.value)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
    assert (len(failures), len(clerk.requests)) == (2, 2)  # one try and its repair


async def test_a_waiting_request_makes_the_synthesis_when_the_first_one_is_cancelled() -> None:
    clerk = Clerk(Delay(ENOUGH_S, MADE), MADE)
    table = at_odds(clerk)
    result = await table.debate("Tea?", rounds=1)
    made: list[Any] = []

    async def ask() -> None:
        made.append(await table.synthesize(result.session_id))

    async with anyio.create_task_group() as group:
        first = anyio.CancelScope()

        async def be_cancelled() -> None:
            with first:
                await table.synthesize(result.session_id)

        group.start_soon(be_cancelled)
        await eventually(lambda: len(clerk.requests) == 1)
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
    assert [one.conclusion for one in made] == ["Drink what you like."]


async def test_another_agent_is_asked_after_the_current_one_has_finished() -> None:
    clerk = Clerk(Delay(0.05, MADE))

    class Talker(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if request.metadata.get("purpose") == "synthesis":
                return await ScriptedModel([MADE]).complete(request)
            return await super().complete(request)

    table = table_of(Talker(parted), "ada", "bo", seats={"synthesizer": clerk})
    result = await table.debate("Tea?", rounds=1)
    made: dict[str | None, Any] = {}

    async def ask(by: str | None) -> None:
        made[by] = await table.synthesize(result.session_id, by=by)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, None)
        await eventually(lambda: len(clerk.requests) == 1)
        group.start_soon(ask, "bo")
    assert (made[None].synthesizer_id, made["bo"].synthesizer_id) == ("scripted:clerk", "bo")


async def test_the_synthesis_that_was_stored_first_stands() -> None:
    storage = MemoryStorage()
    faster = at_odds(Clerk({**MADE, "conclusion": "Faster."}), storage)

    class Slow(Clerk):
        """Sleeps so long that its lease lapses, and another process puts the debate together."""

        async def complete(self, request: ChatRequest) -> ChatResponse:
            owner = await storage.holder(result.session_id)
            assert owner is not None
            await storage.lease(result.session_id, owner, 0)
            await faster.synthesize(result.session_id)
            return await super().complete(request)

    table = at_odds(Slow(), storage)
    result = await table.debate("Tea?", rounds=1)
    assert (await table.synthesize(result.session_id)).conclusion == "Faster."
    told = [event.type for event in await log_of(storage, result.session_id)]
    assert told.count("synthesis_complete") == 1
