"""What may only be read is read as it stands, left as it was, and says so when something is to be stored."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from roundtable.errors import StorageError
from roundtable.storage import SQLiteStorage
from roundtable.testing.storage_log_laws import started
from roundtable.testing.storage_samples import answered, record
from roundtable.types import SessionFilter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there"),
]

AS_A_STRANGER = """
import json, os, sys, anyio
from roundtable.errors import StorageError
from roundtable.storage.sqlite import SQLiteStorage
from roundtable.testing.storage_samples import control, record
from roundtable.types import SessionFilter

async def main():
    if os.getuid() == 0:  # permissions mean nothing to root
        os.setgid(65534)
        os.setuid(65534)
    storage, told = SQLiteStorage(sys.argv[1]), []
    for work in (
        lambda: storage.list(SessionFilter()),
        lambda: storage.read("first"),
        lambda: storage.kv.get("key"),
        lambda: storage.create(record()),
        lambda: storage.append("first", None, None, [control("first")]),
        lambda: storage.kv.put("key", 2),
    ):
        try:
            found = await work()
            told.append(len(found) if isinstance(found, tuple) else found)
        except StorageError as error:
            told.append([error.details["reason"], sys.argv[1] in error.hint])
    await storage.aclose()
    print(json.dumps(told))

anyio.run(main)
"""
READ = [1, 2, 1]
"""One session, a record with its events, and a value."""
READ_ONLY = [["read-only", True]] * 3
"""What comes of each try to write."""


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a folder that every user can access."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


async def filled(path: Path) -> SQLiteStorage:
    storage = SQLiteStorage(path)
    await started(storage, record("first"), answered("first"))
    await storage.kv.put("key", 1)
    return storage


async def filled_with(path: Path, session: str) -> SQLiteStorage:
    storage = SQLiteStorage(path)
    await storage.create(record(session))
    return storage


def as_a_stranger(path: Path, *, files: int = 0o444, folder: int = 0o555) -> object:
    """Use a storage as somebody who owns neither file nor folder; tell what came of each thing tried."""
    before = contents(path.parent)
    for found in path.parent.iterdir():
        found.chmod(files)
    path.parent.chmod(folder)
    try:
        done = subprocess.run(
            [sys.executable, "-c", AS_A_STRANGER, str(path)], capture_output=True, text=True, check=False, cwd="/"
        )
    finally:
        path.parent.chmod(0o755)
    assert contents(path.parent) == before
    assert done.stderr == ""
    return json.loads(done.stdout)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of a folder, without the index of the log, which is derived from it."""
    return {found.name: found.read_bytes() for found in folder.iterdir() if not found.name.endswith("-shm")}


async def test_a_closed_file_is_read_in_a_read_only_folder(shared: Path) -> None:
    await (await filled(shared / "debates.db")).aclose()
    assert as_a_stranger(shared / "debates.db") == [*READ, *READ_ONLY]


async def test_a_file_in_use_is_read_together_with_its_log(shared: Path) -> None:
    storage = await filled(shared / "debates.db")
    assert (shared / "debates.db-wal").stat().st_size > 0
    assert as_a_stranger(shared / "debates.db") == [*READ, *READ_ONLY]
    await storage.aclose()


async def test_another_user_leaves_no_file_in_a_folder_that_all_can_write_to(shared: Path) -> None:
    """Files of a stranger beside the database would lock its owner out."""
    await (await filled(shared / "debates.db")).aclose()
    assert as_a_stranger(shared / "debates.db", folder=0o777) == [*READ, *READ_ONLY]
    assert list(contents(shared)) == ["debates.db"]
    assert not (shared / "debates.db-shm").exists()


async def test_a_writable_file_in_a_read_only_folder_is_read(shared: Path) -> None:
    await (await filled(shared / "debates.db")).aclose()
    assert as_a_stranger(shared / "debates.db", files=0o666) == [*READ, *READ_ONLY]


async def test_a_log_that_cannot_be_read_in_place_is_never_ignored(shared: Path) -> None:
    (shared / "copy").mkdir(mode=0o755)
    storage = await filled(shared / "debates.db")
    for name in ("debates.db", "debates.db-wal"):
        shutil.copy(shared / name, shared / "copy" / name)
    await storage.aclose()
    told = as_a_stranger(shared / "copy" / "debates.db")
    assert told == [["read-only", True]] * 6


async def test_a_file_without_read_permission_is_reported(shared: Path) -> None:
    await (await filled(shared / "debates.db")).aclose()
    told = as_a_stranger(shared / "debates.db", files=0o000)
    assert told == [["unreachable", True]] * 6


async def test_an_empty_read_only_file_is_not_a_database(shared: Path) -> None:
    (shared / "debates.db").touch()
    told = as_a_stranger(shared / "debates.db")
    assert told == [["read-only", True]] * 6


LOOKS_WHEN_ASKED = """
import os, sys, anyio
from roundtable.storage.sqlite import SQLiteStorage
from roundtable.types import SessionFilter

async def main():
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    storage = SQLiteStorage(sys.argv[1])
    for _ in sys.stdin:
        print(len(await storage.list(SessionFilter())), flush=True)
    await storage.aclose()

anyio.run(main)
"""


async def test_a_read_only_file_is_opened_again_each_time(shared: Path) -> None:
    """Its owner may write meanwhile."""
    path = shared / "debates.db"
    await (await filled(path)).aclose()
    path.chmod(0o644)
    reader = await anyio.open_process([sys.executable, "-c", LOOKS_WHEN_ASKED, str(path)], stderr=None, cwd="/")
    assert reader.stdin is not None
    assert reader.stdout is not None
    told = BufferedByteReceiveStream(reader.stdout)

    async def seen() -> int:
        await reader.stdin.send(b"?\n")
        return int(await told.receive_until(b"\n", 9))

    async with reader:
        assert await seen() == 1
        writer = SQLiteStorage(path)
        await writer.create(record("second"))
        assert await seen() == 2  # from the log
        await writer.aclose()
        assert await seen() == 2  # from the file again
        await (await filled_with(path, "third")).aclose()
        assert await seen() == 3
        await reader.stdin.aclose()
        assert await reader.wait() == 0


async def test_a_missing_file_that_cannot_be_created_is_reported(shared: Path) -> None:
    blocked = shared / "file"
    blocked.touch()
    storage = SQLiteStorage(blocked / "debates.db")
    with pytest.raises(StorageError) as error:
        await storage.list(SessionFilter())
    assert error.value.details is not None
    assert error.value.details["reason"] == "unreachable"
    await storage.aclose()
