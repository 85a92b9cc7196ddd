"""Whether the server says that it cannot be used, says no more than that, and recovers by itself."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from integration.server_kit import client_of, served_table

from roundtable.server.routes.health import Readiness
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.storage.memory import MemoryKeyValue
from roundtable.testing import ManualClock

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


def taken_away(folder: Path) -> dict[Path, bytes]:
    """Remove all files of a folder; give what was in them."""
    kept = {file: file.read_bytes() for file in folder.iterdir()}
    for file in kept:
        file.unlink()
    return kept


async def test_a_server_is_not_ready_while_its_database_is_away(tmp_path: Path) -> None:
    path = tmp_path / "secret-name.db"
    storage = SQLiteStorage(path)
    async with client_of(served_table(storage=storage)) as web:
        assert (await web.get("/ready")).json() == {"status": "ready"}
        begun = await web.post("/api/debates?wait=30", json={"topic": "Tea?", "rounds": 1})
        assert begun.status_code == 200
        (listed,) = (await web.get("/api/sessions")).json()["sessions"]
        session = listed["sessionId"]
        kept = taken_away(tmp_path)
        path.write_bytes(b"no database " * 1000)
        answer = await web.get("/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "unavailable", "reason": "storage"})
        assert (await web.get("/health")).status_code == (await web.head("/health")).status_code == 200
        answer = await web.get("/api/sessions")
        assert (answer.status_code, answer.json()["code"]) == (503, "STORAGE_ERROR")
        answer = await web.post("/api/debates", json={"topic": "Tea?", "rounds": 1})
        assert (answer.status_code, answer.json()["code"]) == (503, "STORAGE_ERROR")
        path.unlink()
        for file, content in kept.items():
            file.write_bytes(content)
        assert (await web.get("/ready")).status_code == 200
        assert (await web.get(f"/api/sessions/{session}")).status_code == 200
    await storage.aclose()


async def test_a_storage_that_does_not_answer_is_not_waited_for() -> None:
    readiness = Readiness(MemoryKeyValue(ManualClock(), anyio.sleep_forever), patience_s=0.01)
    assert await readiness.obstacle() == "storage"


async def test_a_closed_storage_is_reported() -> None:
    storage = MemoryStorage()
    readiness = Readiness(storage.kv)
    assert await readiness.obstacle() is None
    await storage.aclose()
    assert await readiness.obstacle() == "storage"
