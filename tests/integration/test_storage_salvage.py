"""What can be read of a damaged file is saved, and nothing that was never there."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from unit.report_kit import events, record

from roundtable import Roundtable
from roundtable.errors import RoundtableError, StorageError
from roundtable.record import store_whole
from roundtable.storage import SQLiteStorage
from roundtable.storage.salvage import (
    _EVENTS,
    Salvaged,
    _decode,
    _readable_rows,
    _rows_one_by_one,
    find_damage,
    salvage,
)
from roundtable.testing import scripted_agents
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from roundtable.types import DurableEvent

pytestmark = pytest.mark.slow

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


async def test_events_that_are_only_in_the_log_are_saved_too(tmp_path: Path) -> None:
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


async def test_a_file_without_its_first_page_cannot_be_read(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(bytes(4096) + sound[4096:])
    with pytest.raises(StorageError):
        await find_damage(path)
    with pytest.raises(StorageError, match="cannot be read") as caught:
        await salvage(path, tmp_path / "saved.db")
    assert caught.value.hint == "Restore a backup."


def rows(path: Path) -> sqlite3.Connection:
    """A file with 3,000 rows of events and nothing else; a record may be anything."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (tenant TEXT, seq INTEGER, body TEXT)")
    connection.executemany(
        "INSERT INTO events (rowid, tenant, seq, body) VALUES (?, 't', ?, ?)",
        ((number, number, f"row {number} {'x' * 600}") for number in range(1, 3001)),
    )
    connection.commit()
    return connection


def read_rows(path: Path) -> set[int]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = _decode
        return {number for _, number, body in _readable_rows(connection, _EVENTS) if body.startswith(f"row {number} ")}


def leaves(data: bytes) -> dict[int, set[int]]:
    """Return the rows of each page, by the texts that it holds."""
    pages = {}
    for number in range(1, len(data) // 4096):
        found = {int(text) for text in re.findall(rb"row (\d+) x{600}", data[number * 4096 : (number + 1) * 4096])}
        if found:
            pages[number] = found
    return pages


@pytest.mark.parametrize("lost", [(50,), (50, 52), (50, 51, 52, 53, 55, 57, 58), tuple(range(0, 400, 2)), (-1,)])
def test_every_row_outside_the_lost_pages_is_read(lost: tuple[int, ...], tmp_path: Path) -> None:
    rows(tmp_path / "r.db").close()
    data = bytearray((tmp_path / "r.db").read_bytes())
    pages = leaves(bytes(data))
    order = sorted(pages, key=lambda number: min(pages[number]))
    gone: set[int] = set()
    for number in [order[place] for place in lost]:
        data[number * 4096 : (number + 1) * 4096] = bytes(4096)
        gone |= pages[number]
    (tmp_path / "r.db").write_bytes(data)
    assert set(range(1, 3001)) - read_rows(tmp_path / "r.db") == gone


@pytest.mark.slow
def test_a_damaged_id_costs_a_few_rows(tmp_path: Path) -> None:
    rows(tmp_path / "r.db").close()
    sound = (tmp_path / "r.db").read_bytes()
    place = sound.index(b"t" + (603).to_bytes(2, "big") + b"row 603 xxx") - 10
    lost = []
    for byte in range(place, place + 10):
        damaged = bytearray(sound)
        damaged[byte] ^= 0x40
        (tmp_path / "r.db").write_bytes(damaged)
        lost.append(3000 - len(read_rows(tmp_path / "r.db")))
    assert max(lost) < 10, lost


def test_scattered_rows_are_found_and_values_of_other_types_are_ignored(tmp_path: Path) -> None:
    connection = rows(tmp_path / "r.db")
    connection.execute("DELETE FROM events WHERE rowid > 100")
    connection.execute("INSERT INTO events (rowid, tenant, seq, body) VALUES (500000, 't', 500000, 'row 500000 x')")
    connection.commit()
    with closing(connection):
        found = [seq for _, seq, _ in _rows_one_by_one(connection, _EVENTS, 1)]
    assert found == [*range(1, 101), 500_000]


async def test_a_record_that_is_not_text_is_lost_and_the_rest_is_saved(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE sessions SET record = CAST(5 AS BLOB) WHERE id = ?", (NAMES[2],))
        connection.commit()
    saved = await salvage(path, tmp_path / "saved.db")
    assert (saved.sessions, len(saved.lost)) == (len(NAMES) - 1, 1)


async def test_deleted_sessions_stay_deleted(tmp_path: Path) -> None:
    storage = await filled(tmp_path / "d.db")
    for name in NAMES[:3]:
        await storage.delete(name)
    await storage.aclose()
    saved = await salvage(tmp_path / "d.db", tmp_path / "saved.db")
    assert saved.lost == ()
    assert set(await logs(tmp_path / "saved.db")) == set(NAMES[3:])


async def test_rows_without_content_are_named(tmp_path: Path) -> None:
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
    assert f"session {NAMES[0]!r}: all events after 3, of which {len(LOGS[NAMES[0]]) - 4} are readable" in saved.lost
    assert f"session {NAMES[1]!r}: its record and {len(LOGS[NAMES[1]])} events" in saved.lost


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
    try:
        saved = await salvage(path, target)
    except StorageError:  # no part of the schema can be read
        saved = Salvaged(0, 0, ())
    assert path.read_bytes() == before
    if saved.sessions:
        for name, log in (await logs(target)).items():
            assert log == LOGS[name][: len(log)], "what was saved had been stored"
    return saved


@pytest.mark.slow
async def test_only_stored_events_are_saved_from_a_damaged_file(sound: bytes, tmp_path: Path) -> None:
    saved = [await judged(sound, tmp_path, seed) for seed in range(8)]
    assert sum(one.events for one in saved) > WHOLE.events * 2


@pytest.mark.deep
def test_only_stored_events_are_saved_from_a_file_damaged_in_two_hundred_ways(sound: bytes, tmp_path: Path) -> None:
    async def work() -> list[Salvaged]:
        return [await judged(sound, tmp_path, seed) for seed in range(8, 208)]

    saved = anyio.run(work)
    assert sum(one.events for one in saved) > WHOLE.events * 50


async def test_salvage_replaces_no_file_and_needs_an_existing_one(tmp_path: Path) -> None:
    (tmp_path / "there.db").write_bytes(b"mine")
    for damaged, target in (("none.db", "new.db"), ("there.db", "there.db")):
        with pytest.raises(RoundtableError):
            await salvage(tmp_path / damaged, tmp_path / target)
    with pytest.raises(StorageError, match="file is not a database"):
        await salvage(tmp_path / "there.db", tmp_path / "empty.db")
    assert os.listdir(tmp_path) == ["there.db"]  # noqa: PTH208


@pytest.mark.slow
@pytest.mark.parametrize("newest", [0, 1, 2])
async def test_a_check_finds_invalid_json_in_sessions_that_it_does_not_read_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: int
) -> None:
    monkeypatch.setattr("roundtable.storage.salvage._READ_WHOLE", newest)
    path = tmp_path / "d.db"
    sessions = []
    for _ in range(2):
        async with Roundtable(scripted_agents({"ada": "Tea"}), storage=f"sqlite:///{path}") as table:
            sessions.append((await table.debate("Tea?", rounds=1)).session_id)
    assert await find_damage(path) == ()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET body = '{' WHERE session_id = ? AND seq = 2", (sessions[0],))
    (damage,) = await find_damage(path)
    assert damage.startswith(f"session {sessions[0]!r} cannot be read")
