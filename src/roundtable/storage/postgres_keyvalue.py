"""Key-value store of the PostgreSQL storage."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

import psycopg

from roundtable.core.base.text import well_formed
from roundtable.storage.postgres_background import Background
from roundtable.storage.postgres_connection import PostgresPool
from roundtable.storage.postgres_schema import Statements, from_stored, key_hash, to_stored
from roundtable.storage.rules import from_micros, json_text, span_end, to_micros, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from roundtable.core.protocols import Clock
    from roundtable.core.types.base import JsonValue

__all__ = ["PostgresKeyValue"]

T = TypeVar("T")

_GET: Final = """
    SELECT value FROM {schema}.key_values
    WHERE tenant_key = %s AND name_key = %s AND (expires_us IS NULL OR expires_us > coalesce(%s::bigint, {now}))
"""
_NOW: Final = "SELECT {now}"
_PUT: Final = """
    INSERT INTO {schema}.key_values (tenant_key, name_key, name, value, expires_us) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (tenant_key, name_key) DO UPDATE SET value = excluded.value, expires_us = excluded.expires_us
"""
_SWAP: Final = """
    SELECT {schema}.swap(%s::bytea, %s::bytea, %s::text, %s::bigint, %s::text, %s::text, %s::bigint)
"""
_EXPIRE: Final = """
    DELETE FROM {schema}.key_values WHERE (tenant_key, name_key) IN (
        SELECT tenant_key, name_key FROM {schema}.key_values
        WHERE tenant_key = %s AND expires_us <= %s
        LIMIT 100 FOR UPDATE SKIP LOCKED
    )
"""
_DROP: Final = """
    DELETE FROM {schema}.key_values WHERE tenant_key = %s AND name_key = %s
    RETURNING expires_us IS NULL OR expires_us > coalesce(%s::bigint, {now})
"""
_SCAN: Final = """
    SELECT name, value FROM {schema}.key_values
    WHERE tenant_key = %(tenant)s AND starts_with(name, %(prefix)s)
      AND left(name, 100) BETWEEN left(%(prefix)s, 100) AND left(%(prefix)s, 100) || repeat(chr(1114111), 100)
      AND (expires_us IS NULL OR expires_us > coalesce(%(now)s::bigint, {now}))
"""


class PostgresKeyValue:
    """Small values in the database of a `PostgresStorage`.

    Args:
        background: Runs the calls that use the connections.
        pool: The connections.
        statements: The statements for the schema.
        clock: Decides when values expire; the clock of the database if `None`.
    """

    def __init__(self, background: Background, pool: PostgresPool, statements: Statements, clock: Clock | None) -> None:
        self._background = background
        self._pool = pool
        self._sql = statements
        self._clock = clock

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Return a value; `None` if it does not exist or has expired."""
        name = _Name(tenant, key)

        async def select(connection: psycopg.AsyncConnection) -> str | None:
            return await self._select(connection, name, self._now_us())

        text = await self._call(select)
        return None if text is None else self._parse(key, text)

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, and replace the value that the key may have. See `KeyValue.put`.

        Raises:
            ValueError: The value or `ttl_s` cannot be stored.
            TypeError: The value is not a JSON value.
        """
        name, text = _Name(tenant, key), json_text(value)
        _check_ttl(ttl_s)

        async def store(connection: psycopg.AsyncConnection) -> None:
            await self._put(connection, name, text, ttl_s)

        await self._call(store)

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; return whether it existed."""
        name = _Name(tenant, key)

        async def drop(connection: psycopg.AsyncConnection) -> bool:
            values = (name.tenant_key, name.name_key, self._now_us())
            rows = await (await connection.execute(self._sql[_DROP], values)).fetchall()
            return any(was_live for (was_live,) in rows)

        return await self._call(drop, repeatable=False)

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Return the keys with this prefix and their values, in key order."""
        name = _Name(tenant, prefix)

        async def select(connection: psycopg.AsyncConnection) -> list[tuple[str, str]]:
            values = {"tenant": name.tenant_key, "prefix": name.stored, "now": self._now_us()}
            return await (await connection.execute(self._sql[_SCAN], values)).fetchall()

        rows = [(from_stored(key), text) for key, text in await self._call(select)]
        return tuple((key, self._parse(key, text)) for key, text in sorted(rows))

    async def update(
        self,
        key: str,
        fn: Callable[[JsonValue], JsonValue],
        *,
        ttl_s: float | None = None,
        tenant: str = "default",
    ) -> JsonValue:
        """Replace a value by a function of the current one. See `KeyValue.update`.

        If `fn` raises an error, this method raises it too, and nothing changes. `fn` runs on the storage's own thread,
        and runs again each time the value changes meanwhile, so it must be quick, have no side effects and not use the
        storage.
        """
        name = _Name(tenant, key)
        _check_ttl(ttl_s)

        async def change(connection: psycopg.AsyncConnection) -> str:
            while True:
                now_us = await self._now(connection)
                current = await self._select(connection, name, now_us)
                text = json_text(fn(None if current is None else self._parse(name.text, current)))
                expires_us = None if ttl_s is None else to_micros(span_end(from_micros(now_us), ttl_s))
                values = (name.tenant_key, name.name_key, name.stored, now_us, current, text, expires_us)
                ((is_done,),) = await (await connection.execute(self._sql[_SWAP], values)).fetchall()
                if is_done:
                    return text

        value: JsonValue = json.loads(await self._call(change, repeatable=False))
        return value

    async def _select(self, connection: psycopg.AsyncConnection, name: _Name, now_us: int | None) -> str | None:
        values = (name.tenant_key, name.name_key, now_us)
        row = await (await connection.execute(self._sql[_GET], values)).fetchone()
        return None if row is None else str(row[0])

    async def _put(self, connection: psycopg.AsyncConnection, name: _Name, text: str, ttl_s: float | None) -> None:
        expires_us = None
        if ttl_s is not None:
            now_us = await self._now(connection)
            await connection.execute(self._sql[_EXPIRE], (name.tenant_key, now_us))
            expires_us = to_micros(span_end(from_micros(now_us), ttl_s))
        values = (name.tenant_key, name.name_key, name.stored, text, expires_us)
        await connection.execute(self._sql[_PUT], values)

    async def _now(self, connection: psycopg.AsyncConnection) -> int:
        """Return the time in microseconds since 1970."""
        now_us = self._now_us()
        if now_us is None:
            ((now_us,),) = await (await connection.execute(self._sql[_NOW])).fetchall()
        return int(now_us)

    def _now_us(self) -> int | None:
        """Return the time in microseconds since 1970; `None` for the clock of the database."""
        return None if self._clock is None else to_micros(self._clock.now())

    def _parse(self, key: str, text: str) -> JsonValue:
        try:
            value: JsonValue = json.loads(text)
        except ValueError as error:
            raise unreadable(self._pool.address.name, f"the value {key!r}", error) from error
        return value

    async def _call(
        self, work: Callable[[psycopg.AsyncConnection], Coroutine[None, None, T]], *, repeatable: bool = True
    ) -> T:
        return await self._background.call(lambda: self._pool.use(work, repeatable=repeatable))


class _Name:
    """The name of a value, and its hashes and spelling in the database."""

    def __init__(self, tenant: str, name: str) -> None:
        tenant, self.text = well_formed(tenant), well_formed(name)
        self.stored = to_stored(name)
        self.tenant_key = key_hash(tenant)
        self.name_key = key_hash(self.text)


def _check_ttl(ttl_s: float | None) -> None:
    """Check a time to live, before a statement reads the time of the database."""
    if ttl_s is not None:
        span_end(datetime.now(UTC), ttl_s)
