"""Find damage in a SQLite file, and recover the readable part of the file."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio import to_thread

from roundtable.core.base.words import counted
from roundtable.core.errors import RoundtableError, StorageError
from roundtable.core.record.fold import Fold
from roundtable.core.types.events import durable_event
from roundtable.record.archive import read_record
from roundtable.record.session_edit import store_whole
from roundtable.storage.database import Database, storage_error
from roundtable.storage.sqlite import SQLiteStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent

__all__ = ["Salvaged", "find_damage", "salvage"]

_MAX_FAULTS: Final = 20
_READ_WHOLE: Final = 1000
"""How many sessions a check reads as a debate is read, which takes milliseconds for each."""

_LAST_ROW: Final = 2**62
_MOST_MISSES: Final = 10_000
"""Number of successive row ids without a row, after which the search jumps far ahead."""
_DAMAGED: Final = (sqlite3.DatabaseError, MemoryError)
"""Errors that SQLite raises for a damaged page; `MemoryError` if the page claims to contain a row of a gigabyte."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The sessions and events that were recovered from a damaged file."""

    sessions: int
    """Number of recovered sessions; each is complete, or ends before its first unreadable event."""
    events: int
    """Number of events of these sessions."""
    lost: tuple[str, ...]
    """A description of each part that could not be recovered."""


async def find_damage(path: str | PathLike[str]) -> tuple[str, ...]:
    """Check the structure and the contents of a file; return a description of each fault, empty if there are none.

    This reads the whole file and changes nothing. The newest 1,000 sessions are read as a debate is; of older sessions,
    only the form of the stored texts is checked.

    Raises:
        StorageError: The file cannot be opened.
    """
    return await to_thread.run_sync(_find_damage, Database(str(path), 5.0))


def _find_damage(database: Database) -> tuple[str, ...]:
    with closing(database.open_reader()) as connection:
        try:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
            damage = [] if faults == ["ok"] else faults
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
            if orphans:
                damage.append(f"{counted(len(orphans), 'row belongs', 'rows belong')} to no session")
            return (*damage, *_unreadable_sessions(connection))[:_MAX_FAULTS]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            return (storage_error(error, database.name).message,)


def _unreadable_sessions(connection: sqlite3.Connection) -> list[str]:
    damage: list[str] = []
    newest = connection.execute(
        "SELECT tenant, id, record FROM sessions ORDER BY created_us DESC, id DESC LIMIT ?", (_READ_WHOLE,)
    )
    for tenant, name, text in sorted(newest):
        bodies = connection.execute(
            "SELECT body FROM events WHERE tenant = ? AND session_id = ? ORDER BY seq", (tenant, name)
        )
        try:
            Fold(read_record(text), (durable_event(body) for (body,) in bodies)).to_record()
        except (ValueError, TypeError) as error:
            damage.append(f"session {name!r} cannot be read: {type(error).__name__}")
    return [*damage, *_texts_without_json(connection)]


def _texts_without_json(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield a description of each session outside of the newest ones that contains a text that is not JSON."""
    older = connection.execute(
        """
        WITH older AS MATERIALIZED (
            SELECT tenant, id, record FROM sessions ORDER BY created_us DESC, id DESC LIMIT -1 OFFSET ?
        )
        SELECT id FROM older
        WHERE NOT json_valid(record) OR EXISTS (
            SELECT 1 FROM events
            WHERE events.tenant = older.tenant AND events.session_id = older.id AND NOT json_valid(body)
        )
        """,
        (_READ_WHOLE,),
    )
    return (f"session {name!r} cannot be read: it contains a text that is not JSON" for (name,) in older)


async def salvage(damaged: str | PathLike[str], target: str | PathLike[str]) -> Salvaged:
    """Copy the readable part of a damaged file into a new file; the damaged file is not changed.

    A session is recovered if its record is readable, with its events up to the first unreadable one. It can then be
    shown and resumed. When it is resumed, the debate requests again the answers after the gap.

    Args:
        damaged: The file; its write-ahead log (`-wal`) is read too.
        target: A file that does not exist yet.

    Raises:
        StorageError: Nothing in the damaged file can be read, or a file exists at `target` or cannot be created there.
    """
    target = Path(target)
    if target.exists():
        msg = f"{str(target)!r} exists already"
        raise StorageError(msg, hint="Choose a path where no file exists.")
    await to_thread.run_sync(Database(str(target), 0).check_new)
    try:
        records, events = await to_thread.run_sync(_read_all, Path(damaged))
    except sqlite3.Error as error:
        msg = f"{str(damaged)!r} cannot be read: {error}"
        raise StorageError(msg, cause=error, hint="Restore a backup.") from error
    storage = SQLiteStorage(target)
    try:
        return await _store_all(storage, records, events)
    finally:
        await storage.aclose()


_SessionKey = tuple[str, str]


class _Queries(NamedTuple):
    """The queries that read one table by row id."""

    every: str
    """All rows from a row id on, in order."""
    one: str
    """The row with a given row id."""
    following: str
    """The first row from a row id on."""


_SESSIONS: Final = _Queries(
    "SELECT rowid, tenant, id, record FROM sessions WHERE rowid >= ? ORDER BY rowid",
    "SELECT rowid, tenant, id, record FROM sessions WHERE rowid = ?",
    "SELECT rowid, tenant, id, record FROM sessions WHERE rowid >= ? ORDER BY rowid LIMIT 1",
)
_EVENTS: Final = _Queries(
    "SELECT rowid, tenant, seq, body FROM events WHERE rowid >= ? ORDER BY rowid",
    "SELECT rowid, tenant, seq, body FROM events WHERE rowid = ?",
    "SELECT rowid, tenant, seq, body FROM events WHERE rowid >= ? ORDER BY rowid LIMIT 1",
)


def _read_all(path: Path) -> tuple[dict[_SessionKey, SessionRecord], dict[_SessionKey, dict[int, DurableEvent]]]:
    records: dict[_SessionKey, SessionRecord] = {}
    events: defaultdict[_SessionKey, dict[int, DurableEvent]] = defaultdict(dict)
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = _decode
        connection.execute("PRAGMA table_info(sessions)").fetchone()  # raises an error if nothing can be read
        for tenant, name, text in _readable_rows(connection, _SESSIONS):
            record = _parse_record(text) if isinstance(text, str) else None
            if record is not None and (record.tenant, record.id) == (tenant, name):
                records[tenant, name] = record
        for tenant, seq, body in _readable_rows(connection, _EVENTS):
            event = _parse_event(body) if isinstance(body, str) else None
            if event is not None and event.seq == seq:
                events[tenant, event.session_id][seq] = event
    return records, events


def _decode(text: bytes) -> str:
    """Decode a text; a damaged text becomes empty, which is neither a record nor an event."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return ""


def _readable_rows(connection: sqlite3.Connection, queries: _Queries) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that SQLite can read: all at once if the table is sound, else one row id at a time."""
    following = before = 0
    try:
        for row_id, *values in connection.execute(queries.every, (0,)):
            if row_id < following:  # the previous row has a damaged id
                following = before
                break
            yield tuple(values)
            before, following = following, row_id + 1
        else:
            return
    except _DAMAGED:
        pass  # SQLite may have read the row before the damage without returning it
    yield from _rows_one_by_one(connection, queries, following)


def _rows_one_by_one(connection: sqlite3.Connection, queries: _Queries, row: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows from a row id on, one by one: a row may be readable although its neighbours are damaged."""
    misses = 0
    while row < _LAST_ROW:
        record = _fetch_one(connection, queries.one, row)
        if record is not None and record[0] == row:
            yield record[1:]
        misses = 0 if record is not None else misses + 1
        row += 1
        if misses == _MOST_MISSES:
            row, misses = _far_row(connection, queries.following, row), 0


def _far_row(connection: sqlite3.Connection, following: str, row: int) -> int:
    """Return the id of a row far ahead; `_LAST_ROW` if there is none."""
    step = 1
    while row + step < _LAST_ROW:
        record = _fetch_one(connection, following, row + step)
        if record is not None and record[0] >= row + step:
            return int(record[0])
        step *= 2
    return _LAST_ROW


def _fetch_one(connection: sqlite3.Connection, query: str, row: int) -> tuple[Any, ...] | None:
    try:
        record: tuple[Any, ...] | None = connection.execute(query, (row,)).fetchone()
    except _DAMAGED:
        return None
    return record


def _parse_event(text: str) -> DurableEvent | None:
    try:
        return durable_event(text)
    except ValueError:
        return None


def _parse_record(text: str) -> SessionRecord | None:
    try:
        return read_record(text)
    except ValueError:
        return None


async def _store_all(
    storage: SQLiteStorage,
    records: dict[_SessionKey, SessionRecord],
    events: dict[_SessionKey, dict[int, DurableEvent]],
) -> Salvaged:
    lost = [
        f"session {name!r}: its record and {len(stored)} events"
        for (tenant, name), stored in events.items()
        if (tenant, name) not in records
    ]
    sessions = event_count = 0
    for key, record in sorted(records.items(), key=lambda entry: entry[1].created_at):
        stored = events.get(key, {})
        readable = next((seq for seq in range(1, len(stored) + 2) if seq not in stored), len(stored) + 1) - 1
        try:
            await store_whole(storage, record, tuple(stored[seq] for seq in range(1, readable + 1)))
        except (RoundtableError, ValueError) as error:
            lost.append(f"session {record.id!r}: {error}")
            continue
        sessions, event_count = sessions + 1, event_count + readable
        if len(stored) > readable:
            lost.append(
                f"session {record.id!r}: all events after {readable}, of which {len(stored) - readable} are readable"
            )
    return Salvaged(sessions, event_count, tuple(lost))
