"""What version 0.2 stored is read and continued: sessions, exports, cassettes, descriptions, queues of fleets.

The files were made by `data/0.2/make.py` and `data/0.2-fleet/make.py` with that version.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from integration.engine_kit import said

from roundtable import AgentConfig, BaseAgent, Budget, Roundtable
from roundtable.providers import Cassette, ScriptedModel
from roundtable.results import DebateResult
from roundtable.types import ChatRequest

DATA = Path(__file__).parent / "data"
DRINKS = ["Tea", "Coffee"]
THREE = ("ada", "bo", "cy")


class Asked:
    """Answers as 0.2's agents did, and notes who was asked in which round."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, str]] = []

    def __call__(self, request: ChatRequest) -> dict[str, Any]:
        turn = (request.metadata["agent"], request.metadata["round"])
        self.turns.append(turn)
        drink = "Coffee" if turn == ("bo", "1") else "Tea"
        return said(drink, choice=drink)


def table_of(storage: str, reply: Any, names: tuple[str, ...] = THREE, **options: Any) -> Roundtable:
    model = ScriptedModel(reply)
    configs = [AgentConfig(id=name, name=name.title(), provider="scripted", model="x") for name in names]
    return Roundtable([BaseAgent(config, model) for config in configs], storage=storage, observers=[], **options)


def copied(name: str, folder: Path) -> str:
    shutil.copy(DATA / name, folder)
    return f"sqlite:///{folder / Path(name).name}"


async def by_topic(table: Roundtable, topic: str) -> DebateResult:
    (found,) = [one for one in await table.sessions() if one.topic.startswith(topic)]
    return await table.session(found.id)


class TestSessions:
    async def test_finished_debates_of_an_old_file_are_unchanged(self, tmp_path: Path) -> None:
        async with table_of(copied("0.2/sessions.db", tmp_path), Asked(), analyzer="basic") as table:
            voted = await by_topic(table, "Finished: tea")
            assert (voted.session_status, voted.answer, len(voted.rounds)) == ("completed", "Tea", 2)
            assert voted.decision is not None
            assert voted.decision.why
            for mode in ("delphi", "expert-panel", "red-team-blue-team"):
                result = await by_topic(table, f"Finished in {mode}")
                assert (result.session_status, result.mode) == ("completed", mode)
                assert (await table.export(result.session_id, "html")).startswith("<!doctype html>")

    @pytest.mark.parametrize(
        ("topic", "status", "left"),
        [
            ("Paused", "active", [(name, "2") for name in THREE]),
            ("Half finished", "paused", [("bo", "2"), ("cy", "2"), *((name, "3") for name in THREE)]),
            ("Crashed", "active", [(name, number) for number in "23" for name in THREE]),
        ],
    )
    async def test_unfinished_debates_of_an_old_file_are_continued_to_their_end(
        self, tmp_path: Path, topic: str, status: str, left: list[tuple[str, str]]
    ) -> None:
        asked = Asked()
        async with table_of(copied("0.2/sessions.db", tmp_path), asked, analyzer="basic") as table:
            before = await by_topic(table, topic)
            assert before.session_status == status
            result = await table.resume(before.session_id, budget=Budget(max_calls=20))
        assert (result.session_status, result.answer) == ("completed", "Tea")
        assert sorted(asked.turns) == sorted(left)

    async def test_a_finished_debate_is_extended_forked_and_read_again(self, tmp_path: Path) -> None:
        async with table_of(copied("0.2/sessions.db", tmp_path), Asked(), analyzer="basic") as table:
            before = await by_topic(table, "Finished: tea")
            again = await table.reread(before.session_id)
            assert again.answer == "Tea"
            longer = await table.extend(before.session_id)
            assert (longer.session_status, len(longer.rounds), longer.answer) == ("completed", 3, "Tea")

    async def test_exports_are_imported_and_continued(self, tmp_path: Path) -> None:
        async with table_of(f"sqlite:///{tmp_path}/new.db", Asked(), analyzer="basic") as table:
            finished = await table.session(await table.import_(DATA / "0.2/finished.json"))
            assert (finished.session_status, finished.answer) == ("completed", "Tea")
            paused = await table.import_(DATA / "0.2/paused.json")
            assert (await table.resume(paused)).session_status == "completed"

    async def test_a_cassette_is_replayed(self, tmp_path: Path) -> None:
        tape = tmp_path / "cassette.jsonl"
        shutil.copy(DATA / "0.2/cassette.jsonl", tape)
        asked = Asked()
        table = table_of("memory://", asked, analyzer="basic", cassette=Cassette(tape, "replay"))
        result = await table.debate("Recorded: tea or coffee?", rounds=2, options=DRINKS)
        assert (result.answer, asked.turns) == ("Tea", [])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
class TestFleets:
    async def finish(self, storage: str) -> None:
        from roundtable.fleet import Fleet

        asked = Asked()
        async with table_of(storage, asked, ("ada", "bo"), analyzer="declared") as table, Fleet(table) as fleet:
            assert (await fleet.status("drinks")).completed == 2
            await fleet.work(concurrency=2, until_done="drinks")
            assert (await fleet.status("drinks")).completed == 4
            results = await fleet.results("drinks")
        assert [result.topic for result in results] == [f"question-{n}: tea or coffee?" for n in range(4)]
        # When the worker died, both agents were thinking about the third question.
        assert sorted(asked.turns) == sorted([(name, number) for name in ("ada", "bo") for number in "12"] * 2)

    async def test_a_queue_in_sqlite_is_completed(self, anyio_backend: str, tmp_path: Path) -> None:
        pytest.importorskip("dbos")
        shutil.copy(DATA / "0.2-fleet/debates.fleet.db", tmp_path)
        await self.finish(copied("0.2-fleet/debates.db", tmp_path))

    @pytest.mark.postgres
    async def test_a_queue_in_postgresql_is_completed(self, anyio_backend: str, postgres_server: Any) -> None:
        postgres_server.execute("CREATE DATABASE of_0_2")
        url = postgres_server.url(database="of_0_2")
        postgres_server.execute((DATA / "0.2-fleet/postgres.sql").read_text("utf-8"), url)
        await self.finish(url)
        postgres_server.execute("DROP DATABASE of_0_2 WITH (FORCE)")


async def test_a_debate_is_described_in_the_same_words() -> None:
    table = table_of("memory://", Asked(), ("ada", "bo"), analyzer="declared")
    described = table.describe("Tea or coffee?", rounds=2, options=DRINKS)
    assert json.loads(json.dumps(described)) == json.loads((DATA / "0.2-fleet/description.json").read_text("utf-8"))
