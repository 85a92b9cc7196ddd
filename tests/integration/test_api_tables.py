"""Tables: entered or not, several at once, over several loops, closed and used again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from integration.engine_kit import (
    ENOUGH_S,
    CountingModel,
    eventually,
    fold_of,
    late,
    said,
    seated,
    table_of,
)

import roundtable
from roundtable import AgentConfig, Roundtable
from roundtable.api.runs import BackgroundRun
from roundtable.errors import ConfigurationError, QuorumLost, SessionError, SessionNotFound
from roundtable.providers.scripted import ScriptedModel
from roundtable.results.debate_result import DebateResult
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest, ChatResponse, SessionFilter, Usage

Threads = Callable[[], set[str]]


@pytest.fixture
def threads() -> Threads:
    """Name the library's threads that a test began; the blocking facade's portal is one per process, and stays."""
    before = set(threading.enumerate())

    def begun() -> set[str]:
        names = {thread.name for thread in set(threading.enumerate()) - before}
        return {name for name in names if name.startswith("roundtable")} - {"roundtable-portal"}

    return begun


async def test_a_started_debate_runs_by_itself_and_its_result_is_read_later() -> None:
    async with table_of(CountingModel(late(0.02, "Tea"))) as table:
        handle = await table.start("Tea?", rounds=2)
        assert not handle.done
        result = await handle.result()
        assert handle.done
        assert (result.session_id, result.status) == (handle.session_id, "completed")
        assert await handle.result() is result


async def test_leaving_the_table_pauses_started_debates_and_their_results_are_partial(
    tmp_path: Path, threads: Threads
) -> None:
    url = f"sqlite:///{tmp_path / 'd.db'}"
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    with anyio.fail_after(20):
        async with table_of(model, storage=url) as table:
            handle = await table.start("Tea?")
            await eventually(lambda: model.ended == 1 and len(model.begun) == 3)
    assert handle.done
    result = await handle.result()
    assert (result.status, result.session_status, result.exit and result.exit.reason) == (
        "partial",
        "paused",
        "cancelled",
    )
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada"]
    assert (len(model.begun), model.under_way) == (3, 0)
    assert threads() == set()
    async with table_of(CountingModel("Tea"), storage=url) as table:
        assert (await table.resume(handle.session_id)).status == "completed"


async def test_leaving_the_table_by_an_error_or_a_cancellation_closes_it_too(tmp_path: Path, threads: Threads) -> None:
    url = f"sqlite:///{tmp_path / 'd.db'}"

    async def fail() -> None:
        async with table_of(CountingModel("Tea"), storage=url) as table:
            await table.debate("Tea?", rounds=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert threads() == set()
    with anyio.CancelScope() as scope:
        async with table_of(CountingModel(late(30, "Tea")), storage=url) as table:
            handle = await table.start("Tea?")
            await anyio.sleep(0.05)
            scope.cancel()
            await anyio.sleep(30)
    assert scope.cancelled_caught
    assert handle.done
    assert threads() == set()


async def test_a_handle_raises_what_the_debate_would_have_raised() -> None:
    async with table_of(CountingModel(lambda _: ValueError("no"))) as table:
        handle = await table.start("Tea?")
        with pytest.raises(QuorumLost):
            await handle.result()


async def test_a_debate_left_before_it_began_has_no_result() -> None:
    table = table_of(CountingModel("Tea"))
    await table.__aenter__()
    handle = await table.start("Tea?")
    await table.__aexit__(None, None, None)
    if handle._live.result is None:
        with pytest.raises(SessionError, match=r"before session .* began"):
            await handle.result()


async def test_start_needs_an_entered_table_and_a_table_is_entered_once() -> None:
    table = table_of(CountingModel("Tea"))
    with pytest.raises(ConfigurationError, match=r"start\(\) works only inside"):
        await table.start("Tea?")
    assert await table.sessions() == ()
    async with table:
        with pytest.raises(ConfigurationError, match="already been entered"):
            await table.__aenter__()
    async with table:
        assert (await table.debate("Tea?", rounds=1)).answer == "Tea"


async def test_a_table_works_without_being_entered_and_again_after_it_was_closed(
    tmp_path: Path, threads: Threads
) -> None:
    table = table_of(CountingModel("Tea"), storage=f"sqlite:///{tmp_path / 'd.db'}")
    first = await table.debate("Tea?", rounds=1)
    await table.aclose()
    await table.aclose()
    assert threads() == set()
    assert (await table.session(first.session_id)).to_json() == first.to_json()
    more = await table.extend(first.session_id)
    assert len(more.rounds) == 2
    await table.aclose()


async def test_two_tables_share_no_agents_sessions_or_modes() -> None:
    one = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", tenant="a")
    two = Roundtable(scripted_agents({"ada": "Coffee"}), storage="memory://")
    first, second = await one.debate("Which?", rounds=1), await two.debate("Which?", rounds=1)
    assert (first.answer, second.answer) == ("Tea", "Coffee")
    assert len(await one.sessions()) == len(await two.sessions()) == 1
    with pytest.raises(SessionError):
        await two.session(first.session_id)
    assert one._wiring.catalog.modes is not two._wiring.catalog.modes


async def test_tenants_on_one_storage_do_not_see_each_other() -> None:
    storage = MemoryStorage()
    one = table_of(CountingModel("Tea"), storage=storage, tenant="one")
    two = table_of(CountingModel("Tea"), storage=storage, tenant="two")
    result = await one.debate("Tea?", rounds=1)
    assert await two.sessions() == ()
    for attempt in (two.session, two.resume, two.extend, two.pause, two.stop):
        with pytest.raises(SessionNotFound):
            await attempt(result.session_id)
    assert (await one.session(result.session_id)).status == "completed"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_debates_that_run_at_once_stay_separate(kind: str, tmp_path: Path) -> None:
    """Also when they share agents: each sees only its own topic and answers."""
    storage = MemoryStorage() if kind == "memory" else SQLiteStorage(tmp_path / "d.db")
    model = CountingModel(lambda request: f"from {request.metadata['session']}")
    table = table_of(model, storage=storage, concurrency=100)
    results = {}

    async def one(number: int) -> None:
        results[number] = await table.debate(f"Topic {number}?", rounds=2)

    async with anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(one, number)
    for number, result in results.items():
        assert result.topic == f"Topic {number}?"
        assert result.answer == f"from {result.session_id}"
        await fold_of(storage, result.session_id)
    ids = {result.session_id for result in results.values()}
    assert len(ids) == 16
    for _, _, prompt in model.prompts:
        assert sum(f"from {session_id}" in prompt for session_id in ids) <= 1
    await storage.aclose()


@pytest.mark.parametrize("backends", [("asyncio", "asyncio"), ("asyncio", "trio"), ("trio", "asyncio")])
def test_a_table_may_be_used_in_one_event_loop_after_another(backends: tuple[str, str], tmp_path: Path) -> None:
    model = ScriptedModel({"*": said("Tea")})
    table = Roundtable([model], storage=f"sqlite:///{tmp_path / 'd.db'}")
    first, second = (anyio.run(lambda: table.debate("Tea?", rounds=1), backend=backend) for backend in backends)
    assert (first.answer, second.answer) == ("Tea", "Tea")
    assert len(anyio.run(table.sessions)) == 2
    anyio.run(table.aclose)


@pytest.mark.slow
async def test_a_deadline_returns_the_answers_given_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    storage = MemoryStorage()
    table = table_of(model, storage=storage)
    began = anyio.current_time()
    result = await table.debate("Tea?", deadline_s=1.5)
    took = anyio.current_time() - began
    with capsys.disabled():
        print(f"\n    deadline 1.5 s: returned after {took:.3f} s")  # noqa: T201  (the figure asked for)
    assert 1.5 <= took < 1.5 + ENOUGH_S
    assert (result.status, result.session_status) == ("partial", "paused")
    assert result.exit is not None
    assert (result.exit.reason, result.exit.details) == ("deadline", "the deadline of 1.5 s passed")
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada"]
    assert model.under_way == 0
    assert (await table.session(result.session_id)).to_json() == result.to_json()
    again = await table.resume(result.session_id, deadline_s=0.1)
    assert again.exit is not None
    assert again.exit.reason == "deadline"
    await fold_of(storage, result.session_id)


async def test_agents_can_be_given_as_models_configurations_or_agent_objects() -> None:
    model = ScriptedModel({"*": said("Tea")}, model="small")
    (bo,) = scripted_agents({"bo": "Tea"})
    result = await Roundtable([model, bo], storage="memory://").debate("Tea?", rounds=1)
    assert [agent.id for agent in result.agents] == ["scripted-small", "bo"]
    assert result.answer == "Tea"


async def test_agents_of_one_model_are_distinguished_by_persona() -> None:
    model = ScriptedModel({"*": said("Tea")})
    result = await Roundtable([model, model, model], storage="memory://").debate("Tea?", rounds=1)
    assert len({agent.id for agent in result.agents}) == 3
    assert all(agent.persona for agent in result.agents)


async def test_a_model_that_the_caller_brought_is_guarded() -> None:
    table = Roundtable([ScriptedModel({"*": late(30, "Tea")})], storage="memory://", timeout_s=0.05)
    with pytest.raises(QuorumLost, match=r"no complete answer within 0\.05 s"):
        await table.debate("Tea?", rounds=1)


async def test_agents_given_for_one_debate_take_part_when_it_continues() -> None:
    table = table_of(CountingModel("Tea"), "ada")
    model = CountingModel("Coffee")
    result = await table.debate("Which?", rounds=1, agents=seated(model, "di", "ed"))
    more = await table.extend(result.session_id)
    assert [turn.agent_id for turn in more.rounds[1].turns] == ["di", "ed"]
    assert len(model.begun) == 4


async def test_agents_of_the_table_replace_stored_agents_with_the_same_id() -> None:
    storage = MemoryStorage()
    result = await table_of(CountingModel("Tea"), "ada", storage=storage).debate("Which?", rounds=1)
    other = CountingModel("Coffee")
    more = await table_of(other, "ada", "bo", storage=storage).extend(result.session_id)
    assert more.answer == "Coffee"
    assert other.begun == [("ada", "2")]


async def test_a_stored_agent_that_cannot_be_created_is_reported_before_anything_happens() -> None:
    storage = MemoryStorage()
    agents = [*seated(CountingModel("Tea"), "ada")]
    result = await Roundtable(agents, storage=storage).debate("Which?", rounds=1)
    stranger = Roundtable(scripted_agents({"bo": "Tea"}), storage=storage, settings=Settings())
    with pytest.raises(ConfigurationError, match=r"lacks objects that session .+ agent 'ada'"):
        await stranger.extend(result.session_id)
    assert (await stranger.session(result.session_id)).to_json() == result.to_json()


async def test_debates_leave_no_objects_in_the_table() -> None:
    table = table_of(CountingModel("Tea"))
    for _ in range(3):
        await table.debate("Tea?", rounds=1)
    assert table._debates._objects_by_session == {}
    assert table._wiring.hub._subscribers == {}
    gc.collect()


async def test_the_agents_of_only_the_latest_debates_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.api.debates._MOST_SESSIONS", 2)
    table = table_of(CountingModel("Tea"))
    ids = [
        (await table.debate("Tea?", rounds=1, agents=seated(CountingModel("Tea"), "x"))).session_id for _ in range(3)
    ]
    assert list(table._debates._objects_by_session) == ids[1:]


async def test_sessions_are_listed_newest_first_and_can_be_narrowed() -> None:
    table = table_of(CountingModel("Tea"))
    first = await table.debate("Tea at noon?", rounds=1)
    second = await table.debate("Coffee at night?", rounds=1)
    assert [found.id for found in await table.sessions()] == [second.session_id, first.session_id]
    assert [found.id for found in await table.sessions(SessionFilter(topic="NOON"))] == [first.session_id]


async def test_closing_continues_if_one_part_cannot_be_closed(tmp_path: Path, threads: Threads) -> None:
    class Stuck(ScriptedModel):
        async def aclose(self) -> None:
            raise OSError("stuck")

    table = table_of(CountingModel("Tea"), storage=f"sqlite:///{tmp_path / 'd.db'}")
    await table.debate("Tea?", rounds=1)
    table._wiring.models._made["stuck", None] = Stuck([])
    with pytest.raises(OSError, match="stuck"):
        await table.aclose()
    assert threads() == set()


async def test_the_plain_function_debates_with_what_the_environment_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: Threads
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "PERPLEXITY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_PATH", str(tmp_path / "d.db"))
    result = await roundtable.debate("Tea?", rounds=1, agents=scripted_agents({"ada": "Tea"}))
    assert result.answer == "Tea"
    assert (tmp_path / "d.db").exists()
    assert threads() == set()


def test_the_repr_of_a_table_shows_no_secrets() -> None:
    config = AgentConfig(id="ada", name="Ada", provider="openai-chat")
    providers = {"openai-chat": roundtable.ProviderConfig(api_key="sk-secret-secret")}
    assert "secret" not in repr(Roundtable([config], providers=providers, storage="memory://"))


async def test_an_agent_of_the_caller_has_the_deadline_of_the_table() -> None:
    ada = seated(ScriptedModel({"*": late(3, "Tea")}), "ada")
    began = anyio.current_time()
    with pytest.raises(QuorumLost):
        await Roundtable(ada, storage="memory://", timeout_s=0.1).debate("Tea?", rounds=1)
    assert anyio.current_time() - began < ENOUGH_S


async def test_agents_of_the_caller_share_the_limits_of_their_model() -> None:
    most = 0

    class Watched(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            nonlocal most
            most = max(most, self.under_way + 1)
            return await super().complete(request)

    table = table_of(Watched(lambda _: late(0.01, "Tea")), concurrency=1)
    result = await table.debate("Tea?", rounds=1)
    assert (result.status, most) == ("completed", 1)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///notes/debates.db?key=secret", "'sqlite:///notes/debates.db'"),
        ("redis://user:secret@host/0", "'redis://host/0'"),
        ("memory://", "'memory://'"),
    ],
)
def test_a_table_shows_no_password_of_its_storage(address: str, shown: str) -> None:
    assert repr(Roundtable(storage=address)) == f"Roundtable(agents=None, storage={shown}, tenant='default')"


async def test_a_debate_that_fails_before_it_begins_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with table_of(CountingModel()) as table:
        handle = await table.start("Tea?")
        await table._wiring.storage.delete(handle.session_id)
        with pytest.raises(SessionError):
            await handle.result()
    (warning,) = [record for record in caplog.records if record.name == "roundtable.api"]
    assert warning.levelname == "WARNING"
    assert warning.__dict__["session"] == handle.session_id


async def test_a_result_that_cannot_be_created_does_not_block_its_waiters() -> None:
    table = table_of(CountingModel())
    prepared = await table._debates.prepare("Tea?", rounds=1)

    def broken(_: object) -> DebateResult:
        raise ValueError("no result")

    live = BackgroundRun(replace(prepared, to_result=broken))
    live.follow(prepared.subscribe())
    await live.drive()
    with anyio.fail_after(ENOUGH_S):
        await live.leave()
    assert (live.result, str(live.error)) == (None, "no result")


async def test_the_cost_of_a_turn_before_it_was_halted_is_counted() -> None:
    asked, go = anyio.Event(), anyio.Event()

    class Held(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            await super().complete(request)
            asked.set()
            await go.wait()
            return ChatResponse(text="{}", usage=Usage(output_tokens=7, calls=1))

    model, storage = Held(), MemoryStorage()
    async with table_of(model, "ada", storage=storage) as table:
        handle = await table.start("Tea?", rounds=1)
        await asked.wait()
        handle._live.close()
        go.set()
        await handle._live.done.wait()
    spent = (await table.session(handle.session_id)).usage
    assert (len(model.begun), spent.calls, spent.output_tokens) == (1, 1, 7)
