"""What was begun to be watched is paused when its last listener has left; what was begun detached goes on.

No test here depends on the speed of the machine: models answer when a test opens a gate, and where a run must not be
paused, the time without listeners passes when the test says so.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from integration.engine_kit import Gated
from integration.server_kit import client_of, served_table

import roundtable as rt
from roundtable.api import AgentProfile
from roundtable.auth import LocalUser
from roundtable.core.base.clock import SystemClock
from roundtable.errors import ConfigurationError, StorageError
from roundtable.server import Limits, create_app
from roundtable.storage import MemoryStorage, SQLiteStorage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from roundtable.protocols import Storage
    from roundtable.types import JsonValue

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

ASKED = {"agents": ["scout"], "rounds": 5, "messages": [{"role": "user", "content": "Capital of France?"}]}
STREAM = {"accept": "text/event-stream"}
FREE = Limits(conversations_per_hour=None, rounds_per_day=None, concurrent=1)
SOON_S = 0.1
PATIENT_S = 3599.5
"""Time without listeners that no test waits for: `HeldClock` lets it pass."""


class HeldClock(SystemClock):
    """A clock on which `PATIENT_S` passes when a test says so; other waits are real."""

    def __init__(self) -> None:
        self.waits: list[anyio.Event] = []

    async def sleep(self, seconds: float) -> None:
        if seconds != PATIENT_S:
            return await super().sleep(seconds)
        self.waits.append(wait := anyio.Event())
        try:
            await wait.wait()
        finally:
            self.waits.remove(wait)

    def pass_by(self) -> None:
        """End all waits of `PATIENT_S`."""
        for wait in self.waits:
            wait.set()


def gated_team() -> Gated:
    """Return the model of an agent and of its team."""
    return Gated(lambda ask: {"goal": "Name it."} if ask.metadata["agent"] == "initiator" else "Paris.")


def table(model: Gated, storage: str | Storage = "memory://") -> rt.Roundtable:
    """Seat an agent that a team is made of."""
    return rt.Roundtable([model], storage=storage, profiles=[AgentProfile("scout")])


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(20):
        while not await check():  # noqa: ASYNC110  (what is waited for happens in a server)
            await anyio.sleep(0.01)


async def first_of(web: httpx.AsyncClient, path: str, body: object, **headers: str) -> str:
    """Listen to the first event of what begins, and leave; return its session."""
    async with web.stream("POST", path, json=body, headers=headers) as answer:
        return await session_of(lines_of(answer))


async def lines_of(answer: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of a stream; it is read to its end or left."""
    assert answer.status_code == 200, await answer.aread()
    async for line in answer.aiter_lines():
        yield line


async def session_of(lines: AsyncIterator[str]) -> str:
    """Read the first event of a stream; return its session."""
    async for line in lines:
        if line.startswith("data: "):
            return str(json.loads(line[6:])["data"]["sessionId"])
    raise AssertionError("nothing was told")


async def is_complete(lines: AsyncIterator[str]) -> bool:
    """Read the rest of a stream; return whether the conversation is complete."""
    return '"conversation_complete"' in "".join([line async for line in lines])


async def listeners(web: httpx.AsyncClient, number: int) -> None:
    """Wait until a server has this number of listeners, as it learns by and by that one has left."""

    async def is_so() -> bool:
        return f"\nroundtable_streams_open {number:.1f}\n" in (await web.get("/metrics")).text

    await until(is_so)


async def asked_to_pause(storage: Storage, session: str) -> None:
    """Wait until a run is asked to pause."""

    async def is_asked() -> bool:
        _, events = await storage.read(session, 0)
        return any(event.type == "control" and event.action == "pause" for event in events)

    await until(is_asked)


async def status_of(web: httpx.AsyncClient, session: str) -> str:
    """Return the status of a session."""
    found: str = (await web.get(f"/api/sessions/{session}")).json()["sessionStatus"]
    return found


async def end_of(web: httpx.AsyncClient, session: str, model: Gated) -> str:
    """Allow answers one by one until a run is paused or over; return its status.

    A request is obeyed 0.25 s after it was stored or sooner: that is less than the time between two answers.
    """
    with anyio.fail_after(20):
        while (status := await status_of(web, session)) not in {"paused", "completed"}:
            model.let(1)
            await anyio.sleep(0.3)
    return status


@pytest.mark.slow
async def test_a_conversation_without_listeners_is_paused_and_continues_when_one_returns() -> None:
    model, storage = gated_team(), MemoryStorage()
    async with client_of(table(model, storage), pause_after_s=0.1, limits=FREE) as web:
        session = await first_of(web, "/api/chat/multi", ASKED)
        await asked_to_pause(storage, session)
        assert await end_of(web, session, model) == "paused"
        told = (await web.get(f"/api/sessions/{session}")).json()["exit"]["details"]
        assert told == "the server (nobody listened any more) asked to pause"
        # Its place is free again, and whoever comes back goes on where they left.
        model.let()
        async with web.stream("POST", "/api/chat/multi", json=ASKED, headers={"last-event-id": f"{session}:1"}) as rest:
            assert await is_complete(lines_of(rest))


@pytest.mark.slow
async def test_a_streamed_debate_without_listeners_is_paused_and_a_detached_one_continues() -> None:
    position: dict[str, JsonValue] = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
    model, clock, storage = Gated({"*": position}), HeldClock(), MemoryStorage()
    debates = served_table(agents=[model], storage=storage)
    limits = Limits(concurrent=None)
    async with client_of(debates, pause_after_s=PATIENT_S, limits=limits, clock=clock) as web:
        watched = await first_of(web, "/api/debates", {"topic": "Tea?", "rounds": 5}, **STREAM)
        detached = (await web.post("/api/debates", json={"topic": "Tea?", "rounds": 5})).json()["sessionId"]
        async with web.stream("GET", f"/api/sessions/{detached}/events") as answer:
            await anext(answer.aiter_lines())
        await listeners(web, 0)
        clock.pass_by()
        await asked_to_pause(storage, watched)
        assert await end_of(web, watched, model) == "paused"
        model.let()
        assert await end_of(web, detached, model) == "completed"


@pytest.mark.slow
async def test_a_listener_that_returns_in_time_keeps_a_conversation_running() -> None:
    model, clock = gated_team(), HeldClock()
    async with client_of(table(model), pause_after_s=PATIENT_S, limits=FREE, clock=clock) as web:
        session = await first_of(web, "/api/chat/multi", ASKED)
        await listeners(web, 0)
        assert len(clock.waits) == 1
        async with web.stream("GET", f"/api/sessions/{session}/events") as answer:
            lines = lines_of(answer)
            assert await session_of(lines) == session
            assert clock.waits == []
            model.let()
            assert await is_complete(lines)


async def test_another_listener_keeps_a_conversation_running() -> None:
    model, clock = gated_team(), HeldClock()
    async with client_of(table(model), pause_after_s=PATIENT_S, limits=FREE, clock=clock) as web:
        async with web.stream("POST", "/api/chat/multi", json=ASKED) as begun:
            lines = lines_of(begun)  # a dropped iterator would end its stream
            session = await session_of(lines)
            beside = await web.send(web.build_request("GET", f"/api/sessions/{session}/events"), stream=True)
            await listeners(web, 2)
        await listeners(web, 1)
        assert clock.waits == []
        model.let()
        assert await is_complete(lines_of(beside))


async def test_without_a_limit_nothing_is_paused() -> None:
    model, clock = gated_team(), HeldClock()
    async with client_of(table(model), pause_after_s=None, limits=FREE, clock=clock) as web:
        session = await first_of(web, "/api/chat/multi", ASKED)
        await listeners(web, 0)
        assert clock.waits == []
        model.let()
        assert await end_of(web, session, model) == "completed"


@pytest.mark.slow
async def test_a_listener_at_another_process_prevents_a_pause(tmp_path: Path) -> None:
    model, clock = gated_team(), HeldClock()
    ours, theirs = (SQLiteStorage(tmp_path / "shared.db") for _ in range(2))
    here = client_of(table(model, ours), pause_after_s=PATIENT_S, limits=FREE, clock=clock)
    there = client_of(table(gated_team(), theirs), pause_after_s=PATIENT_S, limits=FREE)

    async def is_noted() -> bool:
        return bool(await theirs.kv.scan(tenant=":listeners"))

    async def is_waited_for_again() -> bool:
        return bool(clock.waits) and clock.waits != waits

    async with here as web_here, there as web_there:
        session = await first_of(web_here, "/api/chat/multi", ASKED)
        await listeners(web_here, 0)
        waits = list(clock.waits)
        assert len(waits) == 1
        async with web_there.stream("GET", f"/api/sessions/{session}/events") as answer:
            lines = lines_of(answer)
            assert await session_of(lines) == session
            await until(is_noted)
            clock.pass_by()
            await until(is_waited_for_again)
            model.let()
            assert await is_complete(lines)


class _Faulty(MemoryStorage):
    """A storage whose values cannot be read when it is first asked who listens."""

    asked = 0

    @property
    def kv(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(super().kv, name)

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        if tenant == ":listeners":
            self.asked += 1
            if self.asked == 1:
                raise StorageError("the disk is away")
        return await super().kv.get(key, tenant=tenant)


@pytest.mark.slow
async def test_a_storage_that_fails_once_only_delays_the_pause(caplog: pytest.LogCaptureFixture) -> None:
    model, storage = gated_team(), _Faulty()
    async with client_of(table(model, storage), pause_after_s=0.1, limits=FREE) as web:
        session = await first_of(web, "/api/chat/multi", ASKED)
        await asked_to_pause(storage, session)
        assert await end_of(web, session, model) == "paused"
    assert storage.asked == 2
    assert "a run could not be paused: the disk is away" in caplog.text


@pytest.mark.parametrize("given", [0, -1, float("nan"), float("inf"), True, "60"])
async def test_an_invalid_number_of_seconds_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="pause_after_s must be a number of seconds above 0") as refused:
        create_app(served_table(), auth=LocalUser(), pause_after_s=given)
    assert repr(given) in str(refused.value)
