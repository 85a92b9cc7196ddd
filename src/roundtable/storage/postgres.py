"""Storage in a PostgreSQL database, for several processes on several hosts."""

from __future__ import annotations

import asyncio  # noqa: TID251  (psycopg supports only asyncio)
import json
import logging
import re
import secrets
import shlex
import weakref
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import psycopg
from anyio import to_thread

from roundtable.core.base.text import well_formed
from roundtable.core.errors import ConfigurationError, LeaseLost, SessionError, StorageError
from roundtable.core.record.fold import Progress, start_progress
from roundtable.core.record.transitions import follow
from roundtable.core.types.events import durable_event
from roundtable.core.types.storage import QueueDatabase
from roundtable.record.archive import read_record
from roundtable.storage.fulltext import Tokenizer, search_in
from roundtable.storage.postgres_background import Background
from roundtable.storage.postgres_connection import (
    Address,
    Limits,
    Listener,
    PostgresPool,
    parse_address,
    storage_error_of,
)
from roundtable.storage.postgres_keyvalue import PostgresKeyValue
from roundtable.storage.postgres_schema import Statements, from_stored, key_hash, to_stored
from roundtable.storage.postgres_url import command_url
from roundtable.storage.rules import (
    MAX_NUMBER,
    LeaseState,
    Numbered,
    TurnId,
    check_append,
    check_number,
    check_same_turn,
    from_micros,
    grant,
    has_metadata,
    json_text,
    live_holder,
    numbered,
    record_text,
    searchable,
    session_exists,
    session_key,
    session_not_found,
    to_micros,
    to_summary,
    unreadable,
    value_text,
)
from roundtable.storage.whole_sessions import WholeSessionMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from contextlib import AbstractContextManager

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock
    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import Lease, LeaseOwner, SearchHit, SearchQuery, SessionFilter, SessionSummary

__all__ = ["PostgresStorage"]

T = TypeVar("T")

_log: logging.Logger = logging.getLogger(__name__)
_Rows: TypeAlias = "list[tuple[Any, ...]]"

_EXIT_WAIT_S: Final = 2.0
_PAGE: Final = 500
_HITS_PAGE: Final = 50
_LARGEST_BATCH: Final = 128
_KNOWN_STATES: Final = 4_096
_EARLIEST_US: Final = to_micros(datetime.min.replace(tzinfo=UTC))

# ---------------------------------------------------------------- statements

_CREATE: Final = """
    INSERT INTO {schema}.sessions (key, tenant_key, tenant, id, record, topic, topic_searched, mode, agent_ids,
                                   metadata, status, current_round, total_rounds, response_count, last_seq, created_us,
                                   updated_us, append_ids, append_ends)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, %s, %s, ARRAY[%s::bytea], ARRAY[0])
    ON CONFLICT (key) DO NOTHING
"""
_WAS_CREATED: Final = "SELECT FROM {schema}.sessions WHERE key = %s AND %s = ANY (append_ids)"
_APPEND: Final = """
    SELECT verdict, last, status, numbers, stored_seqs, stored_bodies
    FROM {schema}.append(
        %b::bytea, %b::bytea, %s::bigint,
        %s::bigint, %s::text, %b::bigint[],
        %s::text, %b::bigint[], %s::bigint,
        %b::text[], %b::bigint[], %b::text[],
        %b::bigint[], %b::bigint[], %b::bytea[], %b::bigint[], %b::bigint[],
        %b::bigint[], %b::text[]
    )
"""
_ANNOUNCE: Final = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"
_READ: Final = """
    SELECT 0 AS place, record FROM {schema}.sessions WHERE key = %s
    UNION ALL
    SELECT seq, body FROM {schema}.events WHERE key = %s AND seq > %s
    ORDER BY place
"""
_LIST: Final = """
    SELECT id, topic, mode, agent_ids, status, current_round, total_rounds, response_count, created_us, updated_us,
           last_seq, metadata,
           (SELECT body::json -> 'exit' ->> 'reason' FROM {schema}.events AS e
            WHERE e.key = sessions.key AND e.type = 'exit' ORDER BY e.seq DESC LIMIT 1)
    FROM {schema}.sessions
    WHERE tenant_key = %(tenant)s
      AND (%(topic)s::text IS NULL OR strpos(topic_searched, %(topic)s) > 0)
      AND (%(mode)s::text IS NULL OR mode = %(mode)s)
      AND (%(status)s::text IS NULL OR status = %(status)s)
      AND (%(since)s::bigint IS NULL OR created_us >= %(since)s)
      AND (%(until)s::bigint IS NULL OR created_us <= %(until)s)
      AND (%(untouched_since)s::bigint IS NULL OR updated_us < %(untouched_since)s)
      AND (%(after_us)s::bigint IS NULL
           OR ((created_us, id) < (%(after_us)s, %(after_id)s) AND %(after_us)s > %(first_us)s))
    ORDER BY created_us DESC, id DESC
    LIMIT %(limit)s
"""
_LEASE: Final = """
    SELECT l.token, l.owner, l.expires_us, {now}
    FROM {schema}.sessions AS s LEFT JOIN {schema}.leases AS l USING (key)
    WHERE s.key = %s
"""
_TAKE_LEASE: Final = """
    SELECT verdict, granted
    FROM {schema}.take_lease(
        %s::bytea, %s::bytea, %s::bigint, %s::text, %s::bigint, %s::boolean, %s::text, %s::bigint
    )
"""
_DELETE: Final = "DELETE FROM {schema}.sessions WHERE key = %s"
_SEARCH: Final = """
    SELECT s.key, s.record, e.body, s.created_us, s.id, p.seq
    FROM {schema}.positions AS p JOIN {schema}.sessions AS s USING (key) JOIN {schema}.events AS e USING (key, seq)
    WHERE p.words @@ %(words)s::tsquery AND s.tenant_key = %(tenant)s
      AND (%(session)s::bytea IS NULL OR s.key = %(session)s)
      AND (%(after_us)s::bigint IS NULL
           OR (s.created_us <= %(after_us)s
               AND (s.created_us < %(after_us)s OR s.id < %(after_id)s
                    OR (s.id = %(after_id)s AND p.seq > %(after_seq)s::bigint))))
    ORDER BY s.created_us DESC, s.id DESC, p.seq
    LIMIT %(limit)s
"""

_NO_ARGUMENTS: Final[tuple[object, ...]] = (None,) * 4 + (None,) * 12
"""Arguments of the function `append` that store nothing and only read the state."""


class _Key(NamedTuple):
    session_id: str
    tenant: str
    key: bytes
    tenant_key: bytes


def _key(tenant: str, session_id: str) -> _Key:
    tenant, session_id = session_key(tenant, session_id)
    return _Key(session_id, tenant, key_hash(tenant, session_id), key_hash(tenant))


# ---------------------------------------------------------------- sessions


class _State(NamedTuple):
    """The state of a session on which an append depends."""

    last: int
    progress: Progress


@dataclass(slots=True, eq=False)
class _Append:
    """One call of the SQL function `append` that waits to be sent."""

    key: _Key
    stores: bool
    arguments: tuple[object, ...]
    done: asyncio.Future[tuple[Any, ...]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class PostgresStorage(WholeSessionMethods):
    """Store sessions in a PostgreSQL database (version 15 or later), for processes on any number of hosts.

    Data survives a crash as soon as the awaited call returns, to the degree that the server's setting
    `synchronous_commit` guarantees. Concurrent appends share transactions. A cancelled call is stored as a whole or not
    at all; once it has started, it completes. If the connection breaks, a call tries to connect again for
    `connect_timeout_s` seconds. An append is stored only once, even if it is sent several times.

    On first use, the storage creates its tables in a separate PostgreSQL schema. A newer version of this library
    upgrades the tables. After that, a process with an older version refuses the database and changes nothing.

    Connections are used on one background thread, so callers may use any event loop (asyncio or trio), or several event
    loops.

    Needs the extra `postgres`.

    Args:
        url: Address in the form that libpq expects, such as
            `postgresql://user:password@host:5432/database?sslmode=verify-full`. The parameter `schema` names the
            PostgreSQL schema of the tables, `roundtable` by default.
        clock: Decides when leases and values expire; the clock of the database by default.
        connections: Most connections at the same time, at least 1. One additional connection listens for changes by
            other processes.
        connect_timeout_s: How long a call tries to connect to a server that is not up yet, is restarting, or has no
            free connection, in seconds, from 0 to 3600. With 0, a call tries once. An attempt without an answer ends
            after 5 seconds, or after `connect_timeout` of the URL.
        pool_timeout_s: How long a call waits until one of the `connections` is free, in seconds, up to 3600.
        call_timeout_s: How long a call waits for the server's answer, in seconds, up to 3600. Creating or upgrading the
            tables may take up to ten minutes. A change without an answer may have been stored.
        close_timeout_s: How long `aclose` waits for running calls, in seconds, from 0 to 3600. After that, calls that
            still run fail with `StorageError`, and `aclose` ends within three more seconds.

    Raises:
        ConfigurationError: The URL cannot be used, or a number is out of range.

    Example:
        >>> PostgresStorage("postgresql://me:secret@db.example.org/app").address
        'postgresql://db.example.org/app'
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        connections: int = 8,
        connect_timeout_s: float = 10.0,
        pool_timeout_s: float = 30.0,
        call_timeout_s: float = 30.0,
        close_timeout_s: float = 10.0,
    ) -> None:
        if connections < 1:
            msg = f"a storage needs at least one connection, not {connections!r}"
            raise ConfigurationError(msg)
        for name, seconds in (("connect_timeout_s", connect_timeout_s), ("close_timeout_s", close_timeout_s)):
            if not 0 <= seconds <= 3600:
                msg = f"{name} must be from 0 to 3600 seconds, not {seconds!r}"
                raise ConfigurationError(msg)
        for name, seconds in (("pool_timeout_s", pool_timeout_s), ("call_timeout_s", call_timeout_s)):
            if not 0 < seconds <= 3600:
                msg = f"{name} must be more than 0 and at most 3600 seconds, not {seconds!r}"
                raise ConfigurationError(msg)
        address = parse_address(url)
        self.address: str = address.name
        """The address without user, password and parameters; only a schema other than `roundtable` is shown."""
        self.location: Address = address
        """The location of the database, with the password."""
        # pg_dump expects a pattern, so a name is quoted unless it is plain.
        pattern = address.schema if re.fullmatch("[a-z_][a-z0-9_]*", address.schema) else f'"{address.schema}"'
        words = "pg_dump", f"--schema={pattern}", "--file=sessions.sql", f"--dbname={command_url(address.libpq_url)}"
        self.backup_hint: str = f"Back up the database with PostgreSQL's own tools, such as: {shlex.join(words)}"
        """How to back up the sessions."""
        if clock is not None:
            self._clock = clock
        self._own_clock = clock
        self._sql = Statements(address.schema)
        self._background = Background("roundtable-postgres", address.name)
        self._limits = Limits(connect_timeout_s, pool_timeout_s, call_timeout_s, close_timeout_s)
        self._pool = PostgresPool(address, connections, self._limits)
        self._sender = secrets.token_hex(4)
        self._channel = f"roundtable_{key_hash(address.schema).hex()[:16]}"
        self._listener = Listener(self._background, self._pool, self._channel, self._sender)
        self._kv = PostgresKeyValue(self._background, self._pool, self._sql, clock)
        self._tokenizer = Tokenizer()
        self._waiting: list[_Append] = []
        self._sending: set[bytes] = set()
        self._writers = 0
        self._unannounced: list[str] = []
        self._is_announcing = False
        self._most_writers = max(1, connections // 4)  # few writers, so that more appends share a transaction
        self._states: OrderedDict[bytes, _State] = OrderedDict()
        self._finalizer = weakref.finalize(self, _end, self._background, self._pool, self._listener, self._tokenizer)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def kv(self) -> KeyValue:
        """Key-value store for small values."""
        return self._kv

    def queue_database(self) -> QueueDatabase:
        """Return where a fleet keeps its queue: in the schema `SCHEMA_fleet` of the same database."""
        # The URL is the user's own, only with another driver.
        place = self.location
        sessions = f"the schema {place.schema!r} of {place.name.partition('?')[0]!r}"
        error_of = partial(storage_error_of, address=place)
        return QueueDatabase(place.libpq_url, f"{place.schema}_fleet", place.name, sessions, error_of)

    async def is_created(self) -> bool:
        """Check whether the tables exist. Nothing is created.

        Raises:
            StorageError: The database cannot be used, or the schema contains tables of another application.
        """
        return await self._background.call(self._pool.has_tables)

    async def check_new(self) -> None:
        """Check that the tables can be created, without creating them.

        Raises:
            StorageError: The tables cannot be created, or the database cannot be used.
        """
        await self._background.call(self._pool.check_new)

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session. See `Storage.create`."""
        text, stored = record_text(record)
        key, created, config = _key(stored.tenant, stored.id), to_micros(stored.created_at), stored.config
        create_id = secrets.token_bytes(16)
        values = (
            key.key,
            key.tenant_key,
            to_stored(stored.tenant),
            to_stored(stored.id),
            text,
            to_stored(config.topic),
            to_stored(searchable(config.topic)),
            to_stored(config.mode),
            json.dumps([agent.id for agent in stored.agents]),
            json_text(dict(config.metadata)),
            *start_progress(stored),
            created,
            created,
            create_id,
        )

        async def insert(connection: psycopg.AsyncConnection) -> bool:
            if (await connection.execute(self._sql[_CREATE], values)).rowcount:
                return True
            # Was the same call sent before, and did the connection break after it?
            return bool((await connection.execute(self._sql[_WAS_CREATED], (key.key, create_id))).rowcount)

        if not await self._call(insert):
            raise session_exists(record.id)

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        """Store events, all or none, and return the number of the last one. See `Storage.append`."""
        check_append(session_id, token, events)
        key, batch = _key(tenant, session_id), tuple(events)
        if token is not None and not 0 <= token <= MAX_NUMBER:
            token = 0  # no lease has this token
        return await self._background.call(lambda: self._append(key, expected_seq, token, batch))

    async def _append(
        self, key: _Key, expected: int | None, token: int | None, events: tuple[DurableEvent, ...]
    ) -> int:
        known: dict[TurnId, str] = {}
        state, is_fresh = self._states.get(key.key), False
        while True:
            entries: list[Numbered] = []
            arguments: tuple[object, ...] = _NO_ARGUMENTS
            progress: Progress | None = None
            if state is not None:
                try:
                    check_number(key.session_id, expected, state.last)
                    entries = numbered(events, state.last, known.get)
                    progress = follow(key.session_id, state.progress, [entry.event for entry in entries])
                    arguments = _arguments(state, progress, entries, self._tokenizer)
                except SessionError:
                    if is_fresh:
                        raise
            verdict, last, status, numbers, stored_seqs, stored_bodies = await self._send(key, token, arguments)
            match verdict:
                case "stored":
                    self._remember(key, None if progress is None else _State(last, progress))
                    return int(last)
                case "turns" if state is not None:
                    places = {state.last + index: entry for index, entry in enumerate(entries, 1)}
                    for seq, body in zip(stored_seqs, stored_bodies, strict=True):
                        entry = places[seq]
                        if entry.place is not None:
                            check_same_turn(entry.place, body, entry.text)
                            known[entry.place] = body
                case "missing":
                    self._remember(key, None)
                    raise session_not_found(key.session_id)
                case "token":
                    msg = f"the lease on session {key.session_id!r} is lost: its token {token} is not the current one"
                    raise LeaseLost(msg)
                case _:
                    state, is_fresh = _State(last, Progress(status, *numbers)), True

    def _remember(self, key: _Key, state: _State | None) -> None:
        self._states.pop(key.key, None)
        if state is not None:
            self._states[key.key] = state
            if len(self._states) > _KNOWN_STATES:
                self._states.popitem(last=False)

    async def _send(self, key: _Key, token: int | None, arguments: tuple[object, ...]) -> tuple[Any, ...]:
        """Call the SQL function `append`, together with other appends that wait."""
        append_id = secrets.token_bytes(16)
        waiting = _Append(key, arguments is not _NO_ARGUMENTS, (key.key, append_id, token, *arguments))
        self._waiting.append(waiting)
        if self._writers < self._most_writers:
            self._writers += 1
            self._background.spawn(self._write_waiting())
        return await waiting.done

    async def _write_waiting(self) -> None:
        try:
            while batch := self._next_batch():
                await self._send_batch(list(batch.values()))
                self._sending -= batch.keys()
        finally:
            self._writers -= 1

    def _next_batch(self) -> dict[bytes, _Append]:
        """Take the appends to send next: one for each session, unless an append of that session is in progress."""
        batch: dict[bytes, _Append] = {}
        left: list[_Append] = []
        for waiting in self._waiting:
            key = waiting.key.key
            if key in batch or key in self._sending or len(batch) == _LARGEST_BATCH:
                left.append(waiting)
            else:
                batch[key] = waiting
        self._waiting = left
        self._sending |= batch.keys()
        return batch

    async def _send_batch(self, batch: list[_Append]) -> None:
        # All writers lock sessions in the same order, to prevent deadlocks.
        batch.sort(key=lambda waiting: waiting.key.key)
        try:
            rows = await self._pool.use(lambda connection: self._write(connection, batch), repeatable=True)
            answers = list(zip(batch, rows, strict=True))
        except Exception as error:  # noqa: BLE001  (raised to the callers that wait)
            if len(batch) > 1 and not (isinstance(error, StorageError) and error.retryable):
                for waiting in batch:  # one of the appends may have caused the error, so send each one alone
                    await self._send_batch([waiting])
                return
            for waiting in batch:
                waiting.done.set_exception(error)
            return
        self._announce(batch)
        for waiting, row in answers:
            waiting.done.set_result(row)

    async def _write(self, connection: psycopg.AsyncConnection, batch: list[_Append]) -> _Rows:
        """Call the function for each append, in one transaction."""
        async with connection.cursor() as cursor:
            await cursor.executemany(self._sql[_APPEND], [waiting.arguments for waiting in batch], returning=True)
            rows = await cursor.fetchall()
            while cursor.nextset():
                rows += await cursor.fetchall()
        return rows

    def _announce(self, batch: list[_Append]) -> None:
        """Notify the followers in other processes of what was stored; nothing waits for it."""
        self._unannounced += [f"{waiting.key.key.hex()} {self._sender}" for waiting in batch if waiting.stores]
        if self._unannounced and not self._is_announcing:
            self._is_announcing = True
            self._background.spawn(self._announce_all())

    async def _announce_all(self) -> None:
        try:
            while payloads := self._unannounced:
                self._unannounced = []
                await self._try_to_notify(payloads)
        finally:
            self._is_announcing = False

    async def _try_to_notify(self, payloads: list[str]) -> None:
        try:
            await self._pool.use(partial(self._notify, payloads), repeatable=True)
        except StorageError as error:  # the events are stored; processes that follow read the log anyway
            _log.info("followers were not notified: %s", error.message)

    async def _notify(self, payloads: list[str], connection: psycopg.AsyncConnection) -> None:
        # A transaction of its own: a notification takes a lock of the whole server.
        await connection.execute(_ANNOUNCE.encode(), (self._channel, payloads))

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return the session and its events numbered above `after`, in order. See `Storage.read`."""
        key, start = _key(tenant, session_id), max(min(after, MAX_NUMBER), 0)

        async def select(connection: psycopg.AsyncConnection) -> _Rows:
            # One statement sees a single state of the database.
            return await (await connection.execute(self._sql[_READ], (key.key, key.key, start))).fetchall()

        rows = await self._call(select)
        if not rows or rows[0][0] != 0:
            raise session_not_found(session_id)
        try:
            return read_record(rows[0][1]), tuple(durable_event(body) for _, body in rows[1:])
        except ValueError as error:
            raise unreadable(self.address, f"session {session_id!r}", error) from error

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first. See `Storage.list`."""
        after_at, after_id = filter.place or (None, None)
        values: dict[str, object] = {
            "tenant": key_hash(well_formed(filter.tenant)),
            "topic": None if filter.topic is None else to_stored(searchable(filter.topic)),
            "mode": None if filter.mode is None else to_stored(filter.mode),
            "status": filter.status,
            "since": None if filter.created_from is None else to_micros(filter.created_from),
            "until": None if filter.created_to is None else to_micros(filter.created_to),
            "untouched_since": None if filter.updated_before is None else to_micros(filter.updated_before),
            "after_us": None if after_at is None else to_micros(after_at),
            "after_id": None if after_id is None else to_stored(after_id),
            "first_us": _EARLIEST_US,
        }
        wanted = json_text(dict(filter.metadata)) if filter.metadata else None
        rows: _Rows = []
        while True:
            page = await self._list_page({**values, "limit": filter.limit if wanted is None else _PAGE})
            rows += page if wanted is None else [row for row in page if has_metadata(row[11], wanted)]
            if wanted is None or len(page) < _PAGE or len(rows) >= filter.limit:
                return tuple(to_summary((*map(from_stored, row[:3]), *row[3:])) for row in rows[: filter.limit])
            values |= {"after_us": page[-1][8], "after_id": page[-1][0]}

    # Both statements are planned again for each call, since the best index depends on the filters that are set.

    async def _list_page(self, values: dict[str, object]) -> _Rows:
        async def select(connection: psycopg.AsyncConnection) -> _Rows:
            return await (await connection.execute(self._sql[_LIST], values, prepare=False)).fetchall()

        return await self._call(select)

    async def _search_page(self, values: dict[str, object]) -> _Rows:
        async def select(connection: psycopg.AsyncConnection) -> _Rows:
            return await (await connection.execute(self._sql[_SEARCH], values, prepare=False)).fetchall()

        return await self._call(select)

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning. See `FullText.search`."""
        with closing(Tokenizer()) as tokenizer:  # `self._tokenizer` belongs to the background thread
            parts = tokenizer.query_words(query.text)
        words = " & ".join(f"'{word}'{':*' if is_prefix else ''}" for word, is_prefix in parts)
        if not words:
            return ()
        values: dict[str, object] = {
            "words": words,
            "tenant": key_hash(well_formed(query.tenant)),
            "session": None if query.session_id is None else _key(query.tenant, query.session_id).key,
            "after_us": None,
            "after_id": None,
            "after_seq": None,
        }
        hits: list[SearchHit] = []
        limit = _HITS_PAGE
        while True:
            rows = await self._search_page({**values, "limit": limit})
            hits += await to_thread.run_sync(_hits, rows, query)
            if len(rows) < limit or len(hits) >= query.limit:
                return tuple(hits[: query.limit])
            values |= dict(zip(("after_us", "after_id", "after_seq"), rows[-1][3:], strict=True))
            limit = min(limit * 2, _PAGE)  # few positions of this page match

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take, renew or release the right to append. See `Storage.lease`."""
        key = _key(tenant, session_id)

        async def take(connection: psycopg.AsyncConnection) -> LeaseState:
            while True:
                current, now = await self._lease_of(connection, key)
                needs_token = current is None or current.owner is None or current.owner != value_text(owner)
                granted = grant(session_id, current, owner, ttl_s, now=now, next_token=lambda: 0)
                current_values = (
                    (None, None, None)
                    if current is None
                    else (current.token, current.owner, to_micros(current.expires_at))
                )
                values = (
                    key.key,
                    key.tenant_key,
                    *current_values,
                    needs_token,
                    granted.owner,
                    to_micros(granted.expires_at),
                )
                ((verdict, token),) = await (await connection.execute(self._sql[_TAKE_LEASE], values)).fetchall()
                if verdict == "missing":
                    raise session_not_found(session_id)
                if verdict == "granted":
                    return granted._replace(token=token)

        return (await self._call(take)).to_lease(owner)

    async def _lease_of(self, connection: psycopg.AsyncConnection, key: _Key) -> tuple[LeaseState | None, datetime]:
        """Return the lease of a session, and the current time."""
        rows = await (await connection.execute(self._sql[_LEASE], (key.key,))).fetchall()
        if not rows:
            raise session_not_found(key.session_id)
        token, owner, expires_us, now_us = rows[0]
        now = from_micros(now_us) if self._own_clock is None else self._own_clock.now()
        return None if token is None else LeaseState(token, owner, from_micros(expires_us)), now

    async def holder(self, session_id: str, *, tenant: str = "default") -> LeaseOwner | None:
        """Return the owner that runs a session. See `Leases.holder`."""
        key = _key(tenant, session_id)
        return live_holder(*await self._call(lambda connection: self._lease_of(connection, key)))

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events. See `Storage.delete`."""
        key = _key(tenant, session_id)

        async def drop(connection: psycopg.AsyncConnection) -> int:
            return (await connection.execute(self._sql[_DELETE], (key.key,))).rowcount

        if not await self._call(drop, repeatable=False):
            raise session_not_found(session_id)

    def listen(
        self, session_id: str, heard: Callable[[], object], *, tenant: str = "default"
    ) -> AbstractContextManager[None]:
        """Call a function when another process may have stored events. See `Notify.listen`."""
        return self._listener.listen(_key(tenant, session_id).key.hex(), heard)

    async def _call(
        self, work: Callable[[psycopg.AsyncConnection], Coroutine[None, None, T]], *, repeatable: bool = True
    ) -> T:
        return await self._background.call(lambda: self._pool.use(work, repeatable=repeatable))

    async def aclose(self) -> None:
        """Wait for running calls, at most for `close_timeout_s`, and close the connections; idempotent."""
        self._begin_to_close()
        await self._background.wait_ended()

    def close(self) -> None:
        """Close the storage like `aclose`, but block the thread; idempotent."""
        self._begin_to_close()
        self._background.join()

    def _begin_to_close(self) -> None:
        self._finalizer.detach()
        last = partial(_close, self._pool, self._listener, self._tokenizer)
        self._background.end(last, within_s=self._limits.close_s, abort=self._pool.abort)


def _hits(rows: _Rows, query: SearchQuery) -> tuple[SearchHit, ...]:
    """Search the positions of a page with the index that all storages share: PostgreSQL's index knows no phrases."""
    by_session: dict[bytes, tuple[SessionRecord, list[DurableEvent]]] = {}
    for session, record, body, *_ in rows:
        if session not in by_session:
            by_session[session] = (read_record(record), [])
        by_session[session][1].append(durable_event(body))
    return search_in(by_session.values(), query)


async def _close(pool: PostgresPool, listener: Listener, tokenizer: Tokenizer) -> None:
    tokenizer.close()
    await listener.aclose()
    await pool.aclose()


def _end(background: Background, pool: PostgresPool, listener: Listener, tokenizer: Tokenizer) -> None:
    """End the thread of a storage that was not closed; this runs when the interpreter exits, or earlier."""
    last = partial(_close, pool, listener, tokenizer)
    background.end(last, within_s=_EXIT_WAIT_S / 2, abort=pool.abort)
    background.join(_EXIT_WAIT_S)


def _arguments(
    state: _State, progress: Progress, entries: Sequence[Numbered], tokenizer: Tokenizer
) -> tuple[object, ...]:
    """Return the arguments of the function `append` after the token."""
    first = state.last + 1
    turns = [(first + index, entry.place) for index, entry in enumerate(entries) if entry.place is not None]
    texts = [
        (first + index, words)
        for index, entry in enumerate(entries)
        if (words := tokenizer.position_words(entry.event))
    ]
    return (
        state.last,
        state.progress[0],
        list(state.progress[1:]),
        progress[0],
        list(progress[1:]),
        to_micros(entries[-1].event.timestamp) if entries else None,
        [entry.event.type for entry in entries],
        [to_micros(entry.event.timestamp) for entry in entries],
        [entry.text for entry in entries],
        [seq for seq, _ in turns],
        [turn.round for _, turn in turns],
        [key_hash(turn.stage) for _, turn in turns],
        [turn.slot for _, turn in turns],
        [turn.attempt for _, turn in turns],
        [seq for seq, _ in texts],
        [" ".join(words) for _, words in texts],
    )
