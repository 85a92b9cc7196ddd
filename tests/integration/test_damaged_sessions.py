"""One session that cannot be read: every list shows the others, and says which one it is."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from integration.mcp_kit import call, connected
from integration.pages_kit import visiting

from roundtable import Roundtable
from roundtable.auth import LocalUser
from roundtable.engine import SessionManager
from roundtable.mcp.server import McpServer
from roundtable.storage import SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.types import SessionFilter

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DAMAGE = {
    "agents are a number": "agent_ids = '5'",
    "agents are cut off": "agent_ids = '[\"ada\"'",
    "no such state": "status = 'lost'",
    "notes are cut off": "metadata = '{'",
    "notes are a list": "metadata = '[1]'",
    "notes nest without end": f"metadata = '{'[' * 5000}'",
    "time beyond the calendar": "created_us = 9223372036854775807",
    "time before the calendar": "created_us = -9223372036854775807",
    "time is a word": "updated_us = 'soon'",
    "rounds are a word": "current_round = 'two'",
    "topic is no text": "topic = x'ff00'",
    "topic is no UTF-8": "topic = CAST(x'ff41' AS TEXT)",
    "mode is no UTF-8": "mode = CAST(x'c3' AS TEXT)",
}


async def held(path: Path, count: int = 3) -> list[str]:
    """Hold debates in a file, and give their ids, oldest first."""
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage=f"sqlite:///{path}")
    ids = [(await table.debate(f"Tea {number}?", rounds=1)).session_id for number in range(count)]
    await table.aclose()
    return ids


def damage(path: Path, session_id: str, change: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(f"UPDATE sessions SET {change} WHERE id = ?", (session_id,)).rowcount == 1


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
async def test_a_list_shows_the_others_and_names_the_damaged_one(
    change: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kept.db"
    ids = await held(path)
    damage(path, ids[1], change)
    storage = SQLiteStorage(path)
    with caplog.at_level(logging.WARNING):
        listed = await storage.list(SessionFilter())
    assert {one.id for one in listed} == set(ids)
    assert {one.id for one in listed if one.error} == {ids[1]}
    assert ids[1] in caplog.text
    paged: list[str] = []
    wanted = SessionFilter(limit=1)
    while page := await storage.list(wanted):
        paged += [one.id for one in page]
        wanted = wanted.model_copy(update={"after": page[-1].cursor})
        assert len(paged) <= 4
    assert {ids[0], ids[2]} <= set(paged)
    assert len(await storage.list(SessionFilter(metadata={"team": "core"}))) == 0
    assert [one.id for one in await storage.list(SessionFilter(topic="tea 2"))] == [ids[2]]
    await storage.aclose()


@pytest.mark.parametrize("part", ["record", "body"])
async def test_lists_of_whole_sessions_leave_out_unreadable_sessions(
    part: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kept.db"
    ids = await held(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        if part == "record":
            connection.execute("UPDATE sessions SET record = '{' WHERE id = ?", (ids[1],))
        else:
            connection.execute("UPDATE events SET body = '{' WHERE session_id = ? AND seq = 2", (ids[1],))
    storage = SQLiteStorage(path)
    manager = SessionManager(storage)
    assert [one.id for one in await manager.list_sessions()] == [ids[2], ids[0]]
    caplog.clear()
    assert [one.id for one in await storage.get_all_sessions()] == [ids[2], ids[0]]
    assert f"session '{ids[1]}' is left out: " in caplog.text
    # What was said is not read to remove it.
    kept = [ids[1]] if part == "record" else []
    assert await manager.prune(manager.clock.now()) == 3 - len(kept)
    assert [one.id for one in await manager.summaries()] == kept
    for one in kept:
        await manager.delete_session(one)
    assert await manager.summaries() == ()
    await storage.aclose()


async def test_every_server_shows_the_others_and_names_the_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    ids = await held(path)
    damage(path, ids[1], DAMAGE["agents are a number"])
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage=f"sqlite:///{path}")
    assert [one.error is None for one in await table.sessions()] == [True, False, True]
    async with connected(McpServer(table.for_tenant)) as client:
        listed = (await call(client, "list_sessions"))["sessions"]
        check(listed, "id", ids)
    async with visiting(table=table, auth=LocalUser()) as visitor:
        check((await visitor.web.get("/api/sessions")).json()["sessions"], "sessionId", ids)
        page = (await visitor.web.get("/sessions")).text
    assert f"{ids[1]}: its entry in the storage is damaged" in page
    assert [f'href="/sessions/{one}"' in page for one in ids] == [True, False, True]
    await table.aclose()


def check(listed: list[dict[str, Any]], name: str, ids: list[str]) -> None:
    assert [one[name] for one in listed] == ids[::-1]
    assert [bool(one.get("error")) for one in listed] == [False, True, False]
