"""A table does with its sessions what the seeds ask for: start, pause, resume, extend, fork, export, search, delete."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from contract.showing import shows
from integration.engine_kit import said, seated

import roundtable as rt
from roundtable.api.files import find_exporter, format_of
from roundtable.errors import ConfigurationError, SessionNotFound, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage, open_memory, open_sqlite
from roundtable.testing import Delay, ScriptedModel, scripted_agents
from roundtable.types import ChatRequest, Message, utc_now

PLAIN = {"conclusion": "Tea.", "recommendation": "Brew.", "confidence": 0.8}
SAID = {"ada": said("Tea"), "bo": said("Tea"), "cy": said("Coffee")}


def reply(asked: ChatRequest) -> Any:
    if "round" not in asked.metadata:
        return PLAIN
    answer = SAID.get(asked.metadata["agent"], "It is Paris.")
    return Delay(0.05, answer) if "Slow" in asked.messages[-1].content else answer


def table_of(storage: Any) -> rt.Roundtable:
    return rt.Roundtable(seated(ScriptedModel(reply), *SAID), storage=storage)


async def use_table(folder: Path) -> SimpleNamespace:
    """Use everything that a table can do with debates, and keep what came of it."""
    seen = SimpleNamespace()
    async with table_of(SQLiteStorage(folder / "kept.db")) as table:
        seen.estimate = table.estimate("Tea?", rounds=2)
        async with table.stream("Tea?", rounds=2) as events:
            seen.streamed = [event.type async for event in events]
        handle = await table.start("Slow cocoa?", rounds=3)
        async for event in table.watch(handle.session_id):
            if event.type == "round_start":
                await table.pause(handle.session_id)
        seen.paused = await handle.result()
        seen.resumed = await table.resume(handle.session_id)
        seen.extended = await table.extend(handle.session_id, rounds=1)
        seen.forked = await table.fork(handle.session_id, at_round=1)
        seen.repetitions = await table.estimate_rerun(handle.session_id, times=2)
        begun = await table.start_fork(handle.session_id, at_round=1)
        seen.begun = await begun.result()
        seen.stepped = await table.start("Steps?", rounds=2, step=True)
        seen.one = await seen.stepped.result()
        carried = await table.start_resume(seen.stepped.session_id)
        seen.carried = await carried.result()
        slow = await table.start("Slow milk?", rounds=3)
        async for event in table.watch(slow.session_id):
            if event.type == "round_start":
                await table.stop(slow.session_id)
        seen.stopped = await slow.result()
        seen.synthesis = await table.synthesize(handle.session_id)
        seen.markdown = await table.export(handle.session_id)
        file = await table.export_file(handle.session_id, folder / "cocoa.json")
        seen.hits = await table.search("Coffee", limit=3)
        await table.backup(folder / "copy.db")
        await table.delete(handle.session_id)
        with pytest.raises(SessionNotFound):
            await table.export(handle.session_id)
        seen.imported = await table.import_(file)
        seen.name = handle.session_id
        seen.pruned = await table.prune(before=utc_now() + timedelta(days=1), status="completed")
        seen.many = await table.debate_many(["Green?", "Black?"], rounds=1)
    async with table_of(SQLiteStorage(folder / "copy.db")) as copy:
        seen.copied = await copy.export(seen.name)
    return seen


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What came of using a table."""
    return anyio.run(use_table, tmp_path_factory.mktemp("table"))


def test_debates_run_and_are_followed(used: SimpleNamespace) -> None:
    assert (used.estimate.turns, used.estimate.planned_calls) == (6, 6)
    assert (used.repetitions.turns, used.repetitions.planned_calls) == (6, 6)
    assert (used.streamed[0], used.streamed[-1]) == ("debate_start", "debate_complete")
    assert [result.answer for result in used.many] == ["Tea", "Tea"]


@shows(3, "behaviour", "Active → Paused: user pauses", "Paused → Active: user resumes")
def test_sessions_are_paused_resumed_extended_and_stopped(used: SimpleNamespace) -> None:
    assert used.paused.status == "paused"
    assert (used.resumed.status, len(used.resumed.rounds)) == ("completed", 3)
    assert len(used.extended.rounds) == 4
    assert (len(used.one.rounds), len(used.carried.rounds)) == (1, 2)
    assert used.stopped.exit.reason == "stopped"


def test_sessions_are_forked(used: SimpleNamespace) -> None:
    for fork in (used.forked, used.begun):
        assert (fork.status, len(fork.rounds), fork.session_id != used.name) == ("completed", 4, True)


def test_sessions_are_exported_and_imported(used: SimpleNamespace) -> None:
    assert used.synthesis.recommendation == "Brew."
    assert used.markdown.startswith("# Slow cocoa?")
    assert used.copied.startswith("# Slow cocoa?")
    assert used.imported == used.name
    assert used.hits
    assert used.pruned > 0


async def test_users_do_not_see_each_other() -> None:
    table = table_of(MemoryStorage())
    ann = table.for_tenant("ann")
    name = (await ann.debate("Tea?", rounds=1)).session_id
    with pytest.raises(SessionNotFound):
        await table.export(name)
    assert "Tea" in await ann.export(name)
    await table.aclose()


async def test_a_closed_table_releases_its_file_and_can_open_it_again(tmp_path: Path) -> None:
    table = table_of(f"sqlite:///{tmp_path}/kept.db")
    name = (await table.debate("Tea?", rounds=1)).session_id
    opened = table._wiring.storage
    await table.aclose()
    with pytest.raises(StorageError, match="closed"):
        await opened.read(name)
    assert "Tea" in await table.export(name)
    await table.aclose()


async def test_a_table_calls_models_by_name(tmp_path: Path) -> None:
    (tmp_path / "ada.json").write_text('{"*": "Hello."}', "utf-8")
    table = table_of(MemoryStorage())
    model = table.chat_model(f"scripted:{tmp_path}/ada.json")
    answer = await model.complete(ChatRequest(messages=(Message(role="user", content="Hi"),)))
    assert answer.text == "Hello."
    with pytest.raises(ConfigurationError, match="nowhere"):
        table.chat_model("nowhere:none")


async def test_a_debate_needs_no_table() -> None:
    agents = scripted_agents(SAID)
    result = await rt.debate("Tea?", agents=agents, rounds=1, storage="memory://")
    assert result.answer == "Tea"


async def test_a_team_answers_at_a_table() -> None:
    says = {"initiator": {"goal": "Name the capital."}, "scout": "It is Paris.", "summarizer": "Paris."}
    async with rt.Roundtable([ScriptedModel(says)], storage="memory://") as table:
        result = await table.converse(agents=[rt.api.AgentProfile("scout")], messages="Capital of France?", rounds=1)
        assert result.answer == "Paris."
        again = await table.start_conversation(
            agents=[rt.api.AgentProfile("scout")], messages="Capital of France?", rounds=1
        )
        assert (await again.result()).answer == "Paris."


def test_formats_and_storages_are_found_by_name(tmp_path: Path) -> None:
    table = table_of(open_memory())
    assert format_of("debate.md") == "markdown"
    assert find_exporter(table._wiring.catalog, "html") is not None
    storage = open_sqlite(f"sqlite:///{tmp_path}/made.db")
    assert isinstance(storage, SQLiteStorage)
    storage.close()
