"""What is wrong with a SQLite file, and saving what can be read of a damaged one."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from roundtable.errors import RoundtableError, StorageError
from roundtable.record import Fold, read_record, store_whole
from roundtable.storage.database import Database, storage_error
from roundtable.storage.pages import stored_rows
from roundtable.storage.sqlite import SQLiteStorage
from roundtable.types import durable_event

if TYPE_CHECKING:
    from os import PathLike

    from roundtable.types import DurableEvent, SessionRecord

__all__ = ["Salvaged", "find_damage", "salvage"]

_MOST_TOLD: Final = 20
_LEAST_SESSION_COLUMNS: Final = 14


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved of a damaged file."""

    sessions: int
    """Sessions that were saved, whole or from their beginning on."""
    events: int
    """Their events."""
    lost: tuple[str, ...]
    """What could not be saved, in words."""


async def find_damage(path: str | PathLike[str]) -> tuple[str, ...]:
    """Look through a whole file, its structure and all it holds; say what is wrong, nothing if it is sound.

    Reads as much as the file holds, and changes nothing.

    Raises:
        StorageError: The file cannot be opened at all.
    """
    return await to_thread.run_sync(_find_damage, Database(str(path), 5.0))


def _find_damage(database: Database) -> tuple[str, ...]:
    with closing(database.open_reader()) as connection:
        try:
            told = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
            damage = [] if told == ["ok"] else told
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
            damage += [f"{len(orphans)} rows belong to no session"] if orphans else []
            return (*damage, *_unreadable_sessions(connection))[:_MOST_TOLD]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            return (storage_error(error, database.name).message,)


def _unreadable_sessions(connection: sqlite3.Connection) -> list[str]:
    damage: list[str] = []
    for tenant, name, text in connection.execute("SELECT tenant, id, record FROM sessions").fetchall():
        bodies = connection.execute(
            "SELECT body FROM events WHERE tenant = ? AND session_id = ? ORDER BY seq", (tenant, name)
        )
        try:
            Fold(read_record(text), (durable_event(body) for (body,) in bodies)).to_record()
        except (ValueError, TypeError) as error:
            damage.append(f"session {name!r} cannot be read: {type(error).__name__}")
    return damage


async def salvage(damaged: str | PathLike[str], target: str | PathLike[str]) -> Salvaged:
    """Save what can be read of a damaged file into a new one; the damaged one is not changed.

    A session is saved when its record can be read, with its events up to the first that cannot. It can be shown and
    resumed then; answers behind the gap are asked for again. What was deleted stays deleted, as far as the file still
    says what that was.

    Args:
        damaged: The file; the log beside it (`-wal`) counts too.
        target: A file that does not exist yet.

    Raises:
        StorageError: The damaged file cannot be read at all, or there is a file at `target`.
    """
    target = Path(target)
    if target.exists():
        msg = f"{str(target)!r} exists already"
        raise StorageError(msg, hint="Give the path of a file that does not exist.")
    try:
        records, events = await to_thread.run_sync(_readable, Path(damaged))
    except OSError as error:
        msg = f"{str(damaged)!r} cannot be read: {error.strerror or error}"
        raise StorageError(msg, cause=error) from error
    storage = SQLiteStorage(target)
    try:
        return await _stored(storage, records, events)
    finally:
        await storage.aclose()


_Key = tuple[str, str]


def _readable(path: Path) -> tuple[dict[_Key, SessionRecord], dict[_Key, dict[int, DurableEvent]]]:
    records: dict[_Key, SessionRecord] = {}
    events: defaultdict[_Key, dict[int, DurableEvent]] = defaultdict(dict)
    for row in stored_rows(path):
        match row:
            case (str() as tenant, str(), int() as seq, str(), int(), str() as body):
                event = _event(body)
                if event is not None and event.seq == seq:
                    events[tenant, event.session_id].setdefault(seq, event)
            case (str() as tenant, str() as name, str() as text, *rest) if len(rest) + 3 >= _LEAST_SESSION_COLUMNS:
                record = _record(text)
                if record is not None and (record.tenant, record.id) == (tenant, name):
                    records.setdefault((tenant, name), record)
            case _:
                pass
    return records, events


def _event(text: str) -> DurableEvent | None:
    try:
        return durable_event(text)
    except ValueError:
        return None


def _record(text: str) -> SessionRecord | None:
    try:
        return read_record(text)
    except ValueError:
        return None


async def _stored(
    storage: SQLiteStorage, records: dict[_Key, SessionRecord], events: dict[_Key, dict[int, DurableEvent]]
) -> Salvaged:
    lost = [
        f"session {name!r}: its record; {len(held)} events"
        for (tenant, name), held in events.items()
        if (tenant, name) not in records
    ]
    sessions = count = 0
    for key, record in sorted(records.items(), key=lambda entry: entry[1].created_at):
        held = events.get(key, {})
        whole = next((seq for seq in range(1, len(held) + 2) if seq not in held), len(held) + 1) - 1
        try:
            await store_whole(storage, record, tuple(held[seq] for seq in range(1, whole + 1)))
        except (RoundtableError, ValueError) as error:
            lost.append(f"session {record.id!r}: {error}")
            continue
        sessions, count = sessions + 1, count + whole
        if len(held) > whole:
            lost.append(f"session {record.id!r}: what follows event {whole}; {len(held) - whole} events behind the gap")
    return Salvaged(sessions, count, tuple(lost))
