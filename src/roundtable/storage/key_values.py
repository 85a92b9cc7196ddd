"""The key-value side of the SQLite storage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from roundtable._foreign import well_formed
from roundtable.storage.database import unreadable
from roundtable.storage.text import json_text, micros, span_end

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from roundtable.protocols import Clock
    from roundtable.storage.worker import Worker
    from roundtable.types import JsonValue

__all__ = ["SQLiteKeyValue"]

_LAST_CHARACTER = 0x10FFFF


class SQLiteKeyValue:
    """Small values in the file of a `SQLiteStorage`.

    Args:
        reader: Does the reading.
        writer: Does the writing.
        clock: Decides when values lapse.
    """

    def __init__(self, reader: Worker, writer: Worker, clock: Clock) -> None:
        self._path = writer.path
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Give a value; `None` when there is none or it lapsed."""
        place = well_formed(tenant), well_formed(key)
        return await self._reader.call(lambda connection: _value(connection, place, self._now(), self._path))

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, replacing an old one. See `KeyValue.put`.

        Raises:
            ValueError: The value or `ttl_s` cannot be stored.
            TypeError: The value is no JSON value.
        """
        place, text = (well_formed(tenant), well_formed(key)), json_text(value)
        await self._writer.call(lambda connection: self._store(connection, place, text, ttl_s))

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; tell whether there was one."""
        place = well_formed(tenant), well_formed(key)
        return await self._writer.call(lambda connection: _delete(connection, place, self._now()))

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Give keys with this prefix and their values, in key order."""
        wanted, start = well_formed(tenant), well_formed(prefix)
        return await self._reader.call(lambda connection: _scan(connection, wanted, start, self._now(), self._path))

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        """Replace a value by a function of the present one, in one transaction. See `KeyValue.update`.

        What `fn` raises is raised here, and nothing is changed. `fn` runs on the storage's own thread,
        in rare cases twice: it must be quick, have no effect besides its result and not use the storage.
        """
        place = well_formed(tenant), well_formed(key)

        def change(connection: sqlite3.Connection) -> str:
            text = json_text(fn(_value(connection, place, self._now(), self._path)))
            self._store(connection, place, text, ttl_s)
            return text

        value: JsonValue = json.loads(await self._writer.call(change))
        return value

    def _now(self) -> int:
        return micros(self._clock.now())

    def _store(self, connection: sqlite3.Connection, place: tuple[str, str], text: str, ttl_s: float | None) -> None:
        now = self._clock.now()
        expires = None if ttl_s is None else micros(span_end(now, ttl_s))
        connection.execute("DELETE FROM key_values WHERE tenant = ? AND expires_us <= ?", (place[0], micros(now)))
        connection.execute(
            """
            INSERT INTO key_values (tenant, key, value, expires_us) VALUES (?, ?, ?, ?)
            ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, expires_us = excluded.expires_us
            """,
            (*place, text, expires),
        )


def _value(connection: sqlite3.Connection, place: tuple[str, str], now: int, path: str) -> JsonValue:
    rows = connection.execute(
        "SELECT value FROM key_values WHERE tenant = ? AND key = ? AND (expires_us IS NULL OR expires_us > ?)",
        (*place, now),
    ).fetchall()
    return _read(place[1], rows[0][0], path) if rows else None


def _delete(connection: sqlite3.Connection, place: tuple[str, str], now: int) -> bool:
    lived = connection.execute(
        "SELECT 1 FROM key_values WHERE tenant = ? AND key = ? AND (expires_us IS NULL OR expires_us > ?)",
        (*place, now),
    ).fetchall()
    connection.execute("DELETE FROM key_values WHERE tenant = ? AND key = ?", place)
    return bool(lived)


def _scan(
    connection: sqlite3.Connection, tenant: str, prefix: str, now: int, path: str
) -> tuple[tuple[str, JsonValue], ...]:
    rows = connection.execute(
        """
        SELECT key, value FROM key_values
        WHERE tenant = :tenant AND key >= :start AND (:end IS NULL OR key < :end)
          AND (expires_us IS NULL OR expires_us > :now)
        ORDER BY key
        """,
        {"tenant": tenant, "start": prefix, "end": _behind(prefix), "now": now},
    ).fetchall()
    return tuple((key, _read(key, text, path)) for key, text in rows)


def _read(key: str, text: str, path: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise unreadable(path, f"the value {key!r}", error) from error
    return value


def _behind(prefix: str) -> str | None:
    """Give the first text behind all that begin with `prefix`; None when there is none."""
    kept = prefix.rstrip(chr(_LAST_CHARACTER))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)
