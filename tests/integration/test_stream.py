"""Streams: however a stream is left, no provider call starts afterwards, and nothing told is lost or told twice."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import (
    Asked,
    CountingModel,
    durable,
    eventually,
    fold_of,
    late,
    log_of,
    said,
    table_of,
)

from roundtable import DebateStream, Roundtable
from roundtable.agents import AgentRegistry
from roundtable.engine import DebateEngine, EventHub, SessionManager
from roundtable.errors import ConfigurationError, QuorumLost, SessionConflict
from roundtable.modes import ModeRegistry
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.types import AgentResponseChunk, Event, Retry

pytestmark = pytest.mark.both_loops


def brisk() -> CountingModel:
    return CountingModel(late(0.01, "Tea"))


async def in_state(table: Roundtable, status: str) -> None:
    """Wait until the only session is in this state."""
    with anyio.fail_after(20):
        while (await table.sessions())[0].status != status:  # noqa: ASYNC110  (the storage tells nobody)
            await anyio.sleep(0.01)


async def quiet(model: CountingModel) -> None:
    """See that no call starts any more."""
    begun = len(model.begun)
    await anyio.sleep(0.1)
    assert len(model.begun) == begun
    assert model.under_way == 0


async def test_a_stream_emits_the_events_of_the_log_and_ends_after_the_last_one() -> None:
    storage = MemoryStorage()
    async with table_of(CountingModel("Tea", streams=True), storage=storage) as table:
        async with table.stream("Tea?", rounds=2) as stream:
            heard = [event async for event in stream]
        assert tuple(durable(heard)) == await log_of(storage, stream.session_id)
        assert heard[-1].type == "debate_complete"
        assert (await table.session(stream.session_id)).to_json() == stream.result.to_json()
    kinds = [event.type for event in heard]
    assert kinds.count("agent_start") == 6
    text = "".join(event.chunk for event in heard if isinstance(event, AgentResponseChunk) and event.agent == "ada")
    assert text.count('"Tea"') == 2
    for place, event in enumerate(heard):
        if not event.durable:
            assert event.after == max([0, *(e.seq for e in heard[:place] if e.durable)])  # type: ignore[union-attr]
    starts = [event for event in heard if event.type == "agent_start"]
    assert {(event.stage, event.round) for event in starts} == {("positions", 1), ("positions", 2)}


async def test_pieces_of_an_unreadable_answer_are_declared_void() -> None:
    """What is heard after the last `retry` of a turn is its answer, letter for letter; each piece says whose it is."""
    answer = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'
    model = ScriptedModel(['{"position": 7 cups', answer], chunks=4)
    async with table_of(model, "ada") as table, table.stream("Tea?", rounds=1) as stream:
        heard = [event async for event in stream if isinstance(event, AgentResponseChunk | Retry)]
    (again,) = [place for place, event in enumerate(heard) if isinstance(event, Retry)]
    assert 0 < again < len(heard) - 1
    void, pieces = heard[:again], heard[again + 1 :]
    assert "".join(event.chunk for event in void if isinstance(event, AgentResponseChunk)) == '{"position": 7 cups'
    assert "".join(event.chunk for event in pieces if isinstance(event, AgentResponseChunk)) == answer
    assert {(event.agent, event.round, event.stage, event.slot) for event in heard} == {("ada", 1, "positions", 0)}
    retry = heard[again]
    assert isinstance(retry, Retry)
    assert (retry.attempt, retry.delay_s, retry.error.name) == (2, 0.0, "ParseError")
    assert "agent 'ada' is asked again:" in retry.error.message


async def leave_by_break(stream: DebateStream) -> None:
    async with stream:
        async for event in stream:
            if event.type == "agent_complete":
                break


async def leave_by_exception(stream: DebateStream) -> None:
    async def fail() -> None:
        async with stream:
            async for event in stream:
                if event.type == "agent_complete":
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()


async def leave_by_cancel(stream: DebateStream) -> None:
    with anyio.CancelScope() as scope:
        async with stream:
            async for event in stream:
                if event.type == "agent_complete":
                    scope.cancel()


async def leave_by_deadline(stream: DebateStream) -> None:
    with anyio.CancelScope() as scope:
        async with stream:
            async for _ in stream:
                scope.deadline = min(scope.deadline, anyio.current_time() + 0.03)


async def leave_at_once(stream: DebateStream) -> None:
    async with stream:
        pass


LEAVING = [leave_by_break, leave_by_exception, leave_by_cancel, leave_by_deadline, leave_at_once]


@pytest.mark.parametrize("leave", LEAVING)
async def test_leaving_a_stream_ends_its_debate_and_keeps_its_answers(
    leave: Callable[[DebateStream], Awaitable[None]],
) -> None:
    storage, model = MemoryStorage(), brisk()
    async with table_of(model, storage=storage) as table:
        stream = table.stream("Tea?", rounds=10)
        await leave(stream)
        assert model.under_way == 0
        assert stream.result.status == "partial"
        await quiet(model)
        fold = await fold_of(storage, stream.session_id)
        assert fold.progress.status == "paused"
        assert fold.exit is not None
        assert fold.exit.reason == "cancelled"
        stored = fold.progress.response_count
        result = stream.result
        assert (result.status, result.session_status) == ("partial", "paused")
        final = await table.resume(stream.session_id)
        assert final.status == "completed"
        assert len(final.rounds) == 10
        assert stored + model.begun.count(("ada", "10")) <= 30


async def test_a_stream_that_was_never_entered_does_nothing() -> None:
    model, storage = brisk(), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        stream = table.stream("Tea?")
        with pytest.raises(ConfigurationError, match="was not entered"):
            _ = stream.session_id
        with pytest.raises(ConfigurationError, match="was not entered"):
            await anext(stream)
        with pytest.raises(ConfigurationError, match="no result yet"):
            _ = stream.result
        await stream.__aexit__(None, None, None)
        del stream
        gc.collect()
        await quiet(model)
        assert await table.sessions() == ()


async def test_a_stream_that_is_dropped_without_leaving_starts_no_further_call() -> None:
    model, storage = brisk(), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        stream = table.stream("Tea?", rounds=10)
        await stream.__aenter__()
        session_id = stream.session_id
        await eventually(lambda: len(model.begun) >= 4)
        begun = len(model.begun)
        del stream
        gc.collect()
        assert len(model.begun) == begun
        await eventually(lambda: model.under_way == 0)
        await quiet(model)
        assert len(model.begun) == begun
        await in_state(table, "paused")
        assert (await fold_of(storage, session_id)).progress.status == "paused"
        assert table._wiring.hub._subscribers == {}


async def test_a_stream_that_is_dropped_before_its_start_makes_no_call() -> None:
    model, storage = brisk(), MemoryStorage()
    async with table_of(model, storage=storage) as table:
        stream = table.stream("Tea?")
        await stream.__aenter__()
        del stream
        gc.collect()
        await in_state(table, "paused")
        await quiet(model)
        assert model.begun == []


async def test_a_stream_inside_an_abandoned_generator_starts_no_further_call() -> None:
    """A generator is closed by another task than the one that entered the stream, or by the garbage collector."""
    model, storage = brisk(), MemoryStorage()

    async def events(table: Roundtable) -> AsyncIterator[Event]:
        async with table.stream("Tea?", rounds=10) as stream:
            async for event in stream:
                yield event

    async with table_of(model, storage=storage) as table:
        pieces = events(table)
        for _ in range(8):
            await anext(pieces)

        async def close() -> None:
            await pieces.aclose()  # type: ignore[attr-defined]  # it is a generator

        async with anyio.create_task_group() as group:
            group.start_soon(close)
        await quiet(model)
        (session,) = await table.sessions()
        assert session.status == "paused"


async def test_a_stream_can_be_entered_once_and_needs_an_entered_table() -> None:
    model = CountingModel("Tea")
    table = table_of(model)
    with pytest.raises(ConfigurationError, match=r"stream\(\) works only inside"):
        await table.stream("Tea?").__aenter__()
    assert await table.sessions() == ()
    async with table:
        async with table.stream("Tea?", rounds=1) as stream:
            pass
        with pytest.raises(ConfigurationError, match="can be entered only once"):
            await stream.__aenter__()


async def test_a_refused_debate_is_refused_when_the_stream_is_entered() -> None:
    model = CountingModel("Tea")
    async with table_of(model) as table:
        stream = table.stream("", rounds=1)
        with pytest.raises(ConfigurationError, match="topic"):
            await stream.__aenter__()
        await stream.__aexit__(None, None, None)
        assert await table.sessions() == ()


async def test_an_error_of_the_debate_is_raised_after_its_last_event() -> None:
    model = CountingModel(lambda _: ValueError("no"))
    async with table_of(model) as table:
        heard: list[str] = []

        async def listen() -> None:
            async for event in stream:
                heard.append(event.type)  # noqa: PERF401  (the error comes after the last one)

        async with table.stream("Tea?") as stream:
            with pytest.raises(QuorumLost):
                await listen()
        assert heard[-1] == "error"
        assert stream.result.session_status == "error"


async def test_leaving_the_table_ends_its_streams_too() -> None:
    model, storage = brisk(), MemoryStorage()
    table = table_of(model, storage=storage)
    await table.__aenter__()
    stream = table.stream("Tea?", rounds=10)
    await stream.__aenter__()
    await eventually(lambda: len(model.begun) >= 3)
    await table.__aexit__(None, None, None)
    await quiet(model)
    assert (await fold_of(storage, stream.session_id)).progress.status == "paused"
    kinds = [event.type async for event in stream]
    assert kinds[-1] == "debate_complete"
    await stream.__aexit__(None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 400])
async def test_a_slow_reader_loses_no_durable_event_and_delays_nothing(tmp_path: Path, pieces: int) -> None:
    """Its queue stays bounded; what does not fit is read from the log, and pieces of answers are dropped."""
    storage = SQLiteStorage(tmp_path / "debates.db")
    model = CountingModel(said("T" * pieces), streams=True)
    async with table_of(model, storage=storage) as table:
        heard: list[Event] = []
        async with table.stream("Tea?", rounds=10) as stream:
            first = await anext(stream)
            heard.append(first)
            await in_state(table, "completed")
            subscription = stream._subscription
            assert subscription is not None
            assert len(subscription._queue) <= 256
            heard.extend([event async for event in stream])
        assert tuple(durable(heard)) == await log_of(storage, stream.session_id)
    await storage.aclose()


async def test_a_session_is_carried_on_round_by_round() -> None:
    async with Roundtable(scripted_agents({"ada": "Tea", "bo": "Coffee"}), storage="memory://") as table:
        first = await (await table.start("Tea?", rounds=2, step=True)).result()
        assert (len(first.rounds), first.session_status, first.exit) == (1, "active", None)
        second = await (await table.start_resume(first.session_id, step=True, focus_question="At night?")).result()
        assert (len(second.rounds), second.session_status) == (2, "completed")
        assert second.rounds[1].focus_question == "At night?"
        with pytest.raises(SessionConflict, match="completed"):
            await table.start_resume(first.session_id)
        handle = await table.start_resume(first.session_id, rounds=1)
        await handle.wait()
        assert handle.done
        third = await handle.result()
        assert (len(third.rounds), third.session_status) == (3, "completed")
    with pytest.raises(ConfigurationError, match="start_resume"):
        await table.start_resume(first.session_id)


# ---------------------------------------------------------------- whole answers where nobody listens


class Quiet:
    """An observer of whole turns."""

    wants_pieces = False

    def __init__(self) -> None:
        self.types: list[str] = []

    def notify(self, event: Event) -> None:
        self.types.append(event.type)


async def test_a_model_streams_only_if_a_listener_wants_pieces() -> None:
    model, quiet_observer = Asked(), Quiet()
    async with table_of(model, observers=[quiet_observer]) as table:
        await table.debate("Tea?", rounds=1)
        assert (model.streamed, model.whole) == (0, 3)
        assert {"agent_start", "agent_complete", "debate_complete"} <= set(quiet_observer.types)
        async with table.stream("Tea?", rounds=1) as stream:
            kinds = [event.type async for event in stream]
        assert (model.streamed, model.whole) == (3, 3)
        assert "agent_response_chunk" in kinds
        assert "agent_response_chunk" in quiet_observer.types  # it may get what others ask for
        await table.debate("Tea?", rounds=1)
        assert (model.streamed, model.whole) == (3, 6)


async def test_a_plain_observer_gets_the_pieces() -> None:
    heard: list[Event] = []
    model = Asked()
    async with table_of(model, observers=[heard.append, Quiet()]) as table:
        await table.debate("Tea?", rounds=1)
    assert (model.streamed, model.whole) == (3, 0)
    assert "agent_response_chunk" in {event.type for event in heard}


async def test_a_new_watcher_gets_pieces_from_the_next_call_on() -> None:
    model = Asked(late(0.05, "Tea"))
    async with table_of(model, "ada") as table:
        handle = await table.start("Tea?", rounds=4)
        await eventually(lambda: model.begun != [])
        assert (model.streamed, model.whole) == (0, 1)
        async with table.watch(handle.session_id) as events:
            kinds = [event.type async for event in events]
        await handle.result()
    assert (model.streamed, model.whole) == (3, 1)
    assert "agent_response_chunk" in kinds


async def test_the_listeners_of_an_adopted_engine_are_asked_too() -> None:
    heard: list[Event] = []
    observed, silent = EventHub([heard.append]), EventHub()
    for hub, streamed in ((observed, 3), (silent, 0)):
        model = Asked()
        storage = MemoryStorage()
        engine = DebateEngine(SessionManager(storage), AgentRegistry(), ModeRegistry(), hub=hub)
        async with table_of(model, storage=storage) as table:
            table._wiring.adopt(engine, None)
            await table.debate("Tea?", rounds=1)
        assert (model.streamed, model.whole) == (streamed, 3 - streamed)
