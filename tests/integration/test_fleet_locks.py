"""Locks of SQLite on the queue of a fleet, which several fleets of one process open."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from integration.test_fleet import address, questions

from roundtable.fleet import Fleet

pytest.importorskip("dbos")


@pytest.mark.slow
async def test_opening_the_queue_of_a_fleet_keeps_other_locks_of_the_process(tmp_path: Path) -> None:
    """A process that closes a file loses all its locks on it, also those of other connections: see fcntl(2)."""
    file = tmp_path / "debates.fleet.db"
    write = "import sqlite3, sys; sqlite3.connect(sys.argv[1], 3, isolation_level=None).execute('BEGIN IMMEDIATE')"
    words = [sys.executable, "-c", write, str(file)]
    async with Fleet(storage=address(tmp_path)) as one, Fleet(storage=address(tmp_path)) as other:
        await one.submit("nightly", questions(1))
        with closing(sqlite3.connect(file, isolation_level=None)) as connection, anyio.fail_after(60):
            connection.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as group:
                group.start_soon(other.status, "nightly")
                writer = await anyio.run_process(words, check=False)
                connection.execute("ROLLBACK")
    assert b"database is locked" in writer.stderr
