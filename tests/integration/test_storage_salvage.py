"""What can be read of a damaged file is saved, and nothing that was never there."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from unit.report_kit import events, record

from roundtable.errors import RoundtableError, StorageError
from roundtable.record import store_whole
from roundtable.storage import SQLiteStorage
from roundtable.storage.salvage import Salvaged, find_damage, salvage
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from roundtable.types import DurableEvent

NAMES = tuple(f"{number:032x}" for number in range(5))
LOGS: dict[str, tuple[DurableEvent, ...]] = {}
for name, said in zip(NAMES, (None, "x" * 3000, "y" * 9000, None, "z" * 300), strict=True):
    LOGS[name] = tuple(
        event.model_copy(update={"seq": number}) for number, event in enumerate(events(name, said=said), 1)
    )
WHOLE = Salvaged(len(NAMES), sum(map(len, LOGS.values())), ())


async def filled(path: Path) -> SQLiteStorage:
    storage = SQLiteStorage(path)
    for name, log in LOGS.items():
        await store_whole(storage, record(name), log)
    return storage


async def logs(path: Path) -> dict[str, tuple[DurableEvent, ...]]:
    storage = SQLiteStorage(path)
    try:
        found = await storage.list(SessionFilter(limit=100))
        return {one.id: (await storage.read(one.id))[1] for one in found}
    finally:
        await storage.aclose()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "d.db"

    async def make() -> None:
        await (await filled(path)).aclose()

    anyio.run(make)
    return path.read_bytes()


async def test_a_sound_file_has_no_damage_and_is_saved_whole(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(sound)
    assert await find_damage(path) == ()
    assert await salvage(path, tmp_path / "saved.db") == WHOLE
    assert await logs(tmp_path / "saved.db") == LOGS
    assert await find_damage(tmp_path / "saved.db") == ()
    assert path.read_bytes() == sound


async def test_what_only_the_log_holds_is_saved_too(tmp_path: Path) -> None:
    storage = await filled(tmp_path / "d.db")
    await storage.delete(NAMES[1])
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"d.db{end}", tmp_path / f"copy.db{end}")
    await storage.aclose()
    saved = await salvage(tmp_path / "copy.db", tmp_path / "saved.db")
    assert saved.lost == ()
    assert await logs(tmp_path / "saved.db") == {name: log for name, log in LOGS.items() if name != NAMES[1]}
    wal = (tmp_path / "copy.db-wal").read_bytes()
    (tmp_path / "copy.db-wal").write_bytes(wal[: len(wal) // 2] + b"\xff" + wal[len(wal) // 2 + 1 :])
    partly = await salvage(tmp_path / "copy.db", tmp_path / "partly.db")
    for name, log in (await logs(tmp_path / "partly.db")).items():
        assert log == LOGS[name][: len(log)]
    assert partly.events < WHOLE.events


async def test_without_its_first_page_a_file_still_gives_what_it_holds(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(bytes(4096) + sound[4096:])
    with pytest.raises(StorageError):
        await find_damage(path)
    assert await salvage(path, tmp_path / "saved.db") == WHOLE
    assert await logs(tmp_path / "saved.db") == LOGS


async def test_what_was_deleted_stays_deleted(tmp_path: Path) -> None:
    storage = await filled(tmp_path / "d.db")
    for name in NAMES[:3]:
        await storage.delete(name)
    await storage.aclose()
    saved = await salvage(tmp_path / "d.db", tmp_path / "saved.db")
    assert saved.lost == ()
    assert set(await logs(tmp_path / "saved.db")) == set(NAMES[3:])


async def test_rows_that_tell_nothing_are_named(tmp_path: Path) -> None:
    await (await filled(tmp_path / "d.db")).aclose()
    connection = sqlite3.connect(tmp_path / "d.db")
    connection.execute("UPDATE events SET body = '{}' WHERE session_id = ? AND seq = 4", (NAMES[0],))
    connection.execute("UPDATE sessions SET record = '{}' WHERE id = ?", (NAMES[1],))
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("UPDATE events SET session_id = 'nobody' WHERE session_id = ?", (NAMES[4],))
    connection.commit()
    connection.close()
    damage = await find_damage(tmp_path / "d.db")
    assert damage[0].endswith("rows belong to no session")
    assert [told.split()[1] for told in damage[1:]] == [repr(NAMES[0]), repr(NAMES[1])]
    saved = await salvage(tmp_path / "d.db", tmp_path / "saved.db")
    assert saved.sessions == 4
    assert f"session {NAMES[0]!r}: what follows event 3; {len(LOGS[NAMES[0]]) - 4} events behind the gap" in saved.lost
    assert f"session {NAMES[1]!r}: its record; {len(LOGS[NAMES[1]])} events" in saved.lost


async def judged(sound: bytes, folder: Path, seed: int) -> Salvaged:
    """Damage a file at places drawn from a seed, and save what is left.

    No text holds these bytes: a letter that became another one cannot be told, since SQLite keeps no sums of its pages.
    """
    draw = random.Random(seed)
    spoilt = bytearray(sound)
    for _ in range(draw.choice((1, 3, 10))):
        start = draw.randrange(len(spoilt))
        length = draw.choice((1, 8, 600, 5000))
        spoilt[start : start + length] = draw.choice((b"\0", b"\xff")) * min(length, len(spoilt) - start)
    path, target = folder / f"{seed}.db", folder / f"saved-{seed}.db"
    path.write_bytes(spoilt[: draw.choice((None, None, len(spoilt) // 2))])
    before = path.read_bytes()
    saved = await salvage(path, target)
    assert path.read_bytes() == before
    if saved.sessions:
        for name, log in (await logs(target)).items():
            assert log == LOGS[name][: len(log)], "what was saved had been stored"
    return saved


async def test_of_a_damaged_file_only_what_was_stored_is_saved(sound: bytes, tmp_path: Path) -> None:
    saved = [await judged(sound, tmp_path, seed) for seed in range(8)]
    assert sum(one.events for one in saved) > WHOLE.events * 2


@pytest.mark.deep
def test_of_a_file_damaged_in_two_hundred_ways_only_what_was_stored_is_saved(sound: bytes, tmp_path: Path) -> None:
    async def work() -> list[Salvaged]:
        return [await judged(sound, tmp_path, seed) for seed in range(8, 208)]

    saved = anyio.run(work)
    assert sum(one.events for one in saved) > WHOLE.events * 50


async def test_nothing_is_replaced_and_nothing_is_made_of_no_file(tmp_path: Path) -> None:
    (tmp_path / "there.db").write_bytes(b"mine")
    for damaged, target in (("none.db", "new.db"), ("there.db", "there.db")):
        with pytest.raises(RoundtableError):
            await salvage(tmp_path / damaged, tmp_path / target)
    assert os.listdir(tmp_path) == ["there.db"]  # noqa: PTH208
    assert await salvage(tmp_path / "there.db", tmp_path / "empty.db") == Salvaged(0, 0, ())
