"""Key-value store of the SQLite storage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from roundtable.core.base.text import well_formed
from roundtable.storage.rules import json_text, span_end, to_micros, unreadable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from roundtable.core.protocols import Clock
    from roundtable.core.types.base import JsonValue
    from roundtable.storage.worker import Worker

__all__ = ["SQLiteKeyValue"]


_LAST_CHARACTER = 0x10FFFF


class SQLiteKeyValue:
    """Small values in the file of a `SQLiteStorage`.

    Args:
        reader: Runs the read operations.
        writer: Runs the write operations.
        clock: Decides when values expire.
    """

    def __init__(self, reader: Worker, writer: Worker, clock: Clock) -> None:
        self._path = writer.path
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Return a value; `None` if it does not exist or has expired."""
        full_key = well_formed(tenant), well_formed(key)
        return await self._reader.call(lambda connection: _select(connection, full_key, self._now(), self._path))

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, and replace the value that the key may have. See `KeyValue.put`.

        Raises:
            ValueError: The value or `ttl_s` cannot be stored.
            TypeError: The value is not a JSON value.
        """
        full_key, text = (well_formed(tenant), well_formed(key)), json_text(value)
        await self._writer.call(lambda connection: self._store(connection, full_key, text, ttl_s))

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; return whether it existed."""
        full_key = well_formed(tenant), well_formed(key)
        return await self._writer.call(lambda connection: _delete(connection, full_key, self._now()))

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Return the keys with this prefix and their values, in key order."""
        tenant_key, start = well_formed(tenant), well_formed(prefix)
        return await self._reader.call(lambda connection: _scan(connection, tenant_key, start, self._now(), self._path))

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        """Replace a value by a function of the current one, in one transaction. See `KeyValue.update`.

        If `fn` raises an error, this method raises it too, and nothing changes. `fn` runs on the storage's own thread,
        in rare cases twice, so it must be quick, have no side effects and not use the storage.
        """
        full_key = well_formed(tenant), well_formed(key)

        def change(connection: sqlite3.Connection) -> str:
            text = json_text(fn(_select(connection, full_key, self._now(), self._path)))
            self._store(connection, full_key, text, ttl_s)
            return text

        value: JsonValue = json.loads(await self._writer.call(change))
        return value

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _store(self, connection: sqlite3.Connection, full_key: tuple[str, str], text: str, ttl_s: float | None) -> None:
        now = self._clock.now()
        expires = None if ttl_s is None else to_micros(span_end(now, ttl_s))
        connection.execute("DELETE FROM key_values WHERE tenant = ? AND expires_us <= ?", (full_key[0], to_micros(now)))
        connection.execute(
            """
            INSERT INTO key_values (tenant, key, value, expires_us) VALUES (?, ?, ?, ?)
            ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, expires_us = excluded.expires_us
            """,
            (*full_key, text, expires),
        )


def _select(connection: sqlite3.Connection, full_key: tuple[str, str], now: int, path: str) -> JsonValue:
    rows = connection.execute(
        "SELECT value FROM key_values WHERE tenant = ? AND key = ? AND (expires_us IS NULL OR expires_us > ?)",
        (*full_key, now),
    ).fetchall()
    return _parse(full_key[1], rows[0][0], path) if rows else None


def _delete(connection: sqlite3.Connection, full_key: tuple[str, str], now: int) -> bool:
    live_rows = connection.execute(
        "SELECT 1 FROM key_values WHERE tenant = ? AND key = ? AND (expires_us IS NULL OR expires_us > ?)",
        (*full_key, now),
    ).fetchall()
    connection.execute("DELETE FROM key_values WHERE tenant = ? AND key = ?", full_key)
    return bool(live_rows)


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
        {"tenant": tenant, "start": prefix, "end": _end_of_prefix(prefix), "now": now},
    ).fetchall()
    return tuple((key, _parse(key, text, path)) for key, text in rows)


def _parse(key: str, text: str, path: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise unreadable(path, f"the value {key!r}", error) from error
    return value


def _end_of_prefix(prefix: str) -> str | None:
    """Return the first text that sorts after all texts with this prefix; `None` if there is none."""
    stem = prefix.rstrip(chr(_LAST_CHARACTER))
    if not stem:
        return None
    next_code = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if next_code == 0xD800 else next_code)
