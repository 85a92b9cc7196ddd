"""The tables of the PostgreSQL storage, the function that appends, and the code that creates and upgrades both."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg import sql

from roundtable.core.base.text import well_formed
from roundtable.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import LiteralString

__all__ = [
    "MIGRATIONS",
    "OLDEST_SERVER",
    "Statements",
    "check_new",
    "from_stored",
    "has_tables",
    "in_schema",
    "key_hash",
    "migrate",
    "to_stored",
    "use_tables",
]

OLDEST_SERVER: Final = 15
"""Oldest major version of PostgreSQL that the storage accepts."""

_LOCK_ID: Final = 0x5254_424C
"""First key of the advisory lock that an upgrade of a schema takes: "RTBL"."""
_USE_LOCK_ID: Final = _LOCK_ID + 1
"""First key of the advisory lock that all connections share while they use a schema."""
_USE: Final = """
SELECT CASE
    WHEN NOT pg_try_advisory_lock_shared(%(use)s, hashtext(%(schema)s)) THEN false
    WHEN NOT pg_try_advisory_lock_shared(%(upgrade)s, hashtext(%(schema)s))
        THEN NOT pg_advisory_unlock_shared(%(use)s, hashtext(%(schema)s))
    ELSE pg_advisory_unlock_shared(%(upgrade)s, hashtext(%(schema)s))
END
"""
# The lock of upgrades is tried after the shared lock: an upgrade keeps its lock while it ends connections that share.
_END_USERS: Final = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = %s AND objid = (hashtext(%s)::bigint & 4294967295)::oid AND objsubid = 2
"""

_NOW_US: Final = sql.SQL("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint")

_SCHEMA_1: Final[tuple[LiteralString, ...]] = (
    # Rows are found by hashes of tenant and id, since an index of PostgreSQL cannot contain long texts.
    # The other columns repeat parts of `record` and the state after the events, so that lists need not read these.
    """
    CREATE TABLE {schema}.sessions (
        key BYTEA PRIMARY KEY,
        tenant_key BYTEA NOT NULL,
        tenant TEXT NOT NULL,
        id TEXT COLLATE "C" NOT NULL,
        record TEXT NOT NULL,
        topic TEXT NOT NULL,
        topic_searched TEXT COLLATE "C" NOT NULL,
        mode TEXT COLLATE "C" NOT NULL,
        agent_ids TEXT NOT NULL,
        metadata TEXT NOT NULL,
        status TEXT NOT NULL,
        current_round BIGINT NOT NULL,
        total_rounds BIGINT NOT NULL,
        response_count BIGINT NOT NULL,
        last_seq BIGINT NOT NULL,
        created_us BIGINT NOT NULL,
        updated_us BIGINT NOT NULL,
        append_ids BYTEA[] NOT NULL,
        append_ends BIGINT[] NOT NULL
    )
    """,
    "CREATE INDEX sessions_by_age ON {schema}.sessions (tenant_key, created_us)",
    """
    CREATE TABLE {schema}.events (
        key BYTEA NOT NULL REFERENCES {schema}.sessions ON DELETE CASCADE,
        seq BIGINT NOT NULL,
        type TEXT NOT NULL,
        timestamp_us BIGINT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (key, seq)
    )
    """,
    # The event of each turn. A turn is stored only once, even if it is sent several times.
    """
    CREATE TABLE {schema}.turns (
        key BYTEA NOT NULL REFERENCES {schema}.sessions ON DELETE CASCADE,
        round BIGINT NOT NULL,
        stage_key BYTEA NOT NULL,
        slot BIGINT NOT NULL,
        attempt BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        PRIMARY KEY (key, round, stage_key, slot, attempt)
    )
    """,
    """
    CREATE TABLE {schema}.leases (
        key BYTEA PRIMARY KEY REFERENCES {schema}.sessions ON DELETE CASCADE,
        token BIGINT NOT NULL,
        owner TEXT,
        expires_us BIGINT NOT NULL
    )
    """,
    # The last issued token. It is not in `leases`: if a session is deleted and created again under the same id, the new
    # session must not accept a token of the deleted one.
    "CREATE TABLE {schema}.tokens (tenant_key BYTEA PRIMARY KEY, last BIGINT NOT NULL)",
    # The words of each position; the events contain the texts.
    """
    CREATE TABLE {schema}.positions (
        key BYTEA NOT NULL REFERENCES {schema}.sessions ON DELETE CASCADE,
        seq BIGINT NOT NULL,
        words TSVECTOR NOT NULL,
        PRIMARY KEY (key, seq)
    )
    """,
    "CREATE INDEX positions_by_word ON {schema}.positions USING gin (words)",
    """
    CREATE TABLE {schema}.key_values (
        tenant_key BYTEA NOT NULL,
        name_key BYTEA NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        value TEXT NOT NULL,
        expires_us BIGINT,
        PRIMARY KEY (tenant_key, name_key)
    )
    """,
    "CREATE INDEX key_values_by_name ON {schema}.key_values (tenant_key, left(name, 100))",
    "CREATE INDEX key_values_by_expiry ON {schema}.key_values (tenant_key, expires_us) WHERE expires_us IS NOT NULL",
    # This function appends in one round trip. The caller computes the new state of the session from the state that it
    # knows. If that state is out of date, nothing is stored, and the function returns the current state.
    # `verdict` is 'stored', or the reason why nothing was stored: 'missing' (no such session), 'token' (a stale token),
    # 'state' (`old_state` is not the current state), 'turns' (these turns are stored already). A state consists of:
    # status, current round, planned rounds, number of responses.
    """
    CREATE FUNCTION {schema}.append(
        session_key BYTEA, append_id BYTEA, lease_token BIGINT,
        old_seq BIGINT, old_status TEXT, old_numbers BIGINT[],
        new_status TEXT, new_numbers BIGINT[], new_us BIGINT,
        types TEXT[], times BIGINT[], bodies TEXT[],
        turn_seqs BIGINT[], turn_rounds BIGINT[], turn_stages BYTEA[], turn_slots BIGINT[], turn_attempts BIGINT[],
        text_seqs BIGINT[], texts TEXT[],
        OUT verdict TEXT, OUT last BIGINT, OUT status TEXT, OUT numbers BIGINT[],
        OUT stored_seqs BIGINT[], OUT stored_bodies TEXT[]
    ) LANGUAGE plpgsql AS $$
    DECLARE
        session {schema}.sessions%ROWTYPE;
        added CONSTANT BIGINT := coalesce(array_length(bodies, 1), 0);
    BEGIN
        SELECT * INTO session FROM {schema}.sessions AS s WHERE s.key = session_key FOR UPDATE;
        IF NOT FOUND THEN
            verdict := 'missing';
            RETURN;
        END IF;
        IF append_id = ANY (session.append_ids) THEN  -- sent again, after the connection broke
            verdict := 'stored';
            last := session.append_ends[array_position(session.append_ids, append_id)];
            RETURN;
        END IF;
        last := session.last_seq;
        IF lease_token IS NOT NULL AND NOT EXISTS (
            SELECT FROM {schema}.leases AS l WHERE l.key = session_key AND l.token = lease_token AND l.owner IS NOT NULL
        ) THEN
            verdict := 'token';
            RETURN;
        END IF;
        status := session.status;
        numbers := ARRAY[session.current_round, session.total_rounds, session.response_count];
        IF old_seq IS DISTINCT FROM last OR old_status <> status OR old_numbers <> numbers THEN
            verdict := 'state';
            RETURN;
        END IF;
        IF added = 0 THEN
            verdict := 'stored';
            RETURN;
        END IF;
        SELECT array_agg(sent.seq), array_agg(e.body) INTO stored_seqs, stored_bodies
        FROM unnest(turn_seqs, turn_rounds, turn_stages, turn_slots, turn_attempts)
            AS sent (seq, round, stage_key, slot, attempt)
        JOIN {schema}.turns AS t ON t.key = session_key AND t.round = sent.round AND t.stage_key = sent.stage_key
            AND t.slot = sent.slot AND t.attempt = sent.attempt
        JOIN {schema}.events AS e ON e.key = session_key AND e.seq = t.seq;
        IF stored_seqs IS NOT NULL THEN
            verdict := 'turns';
            RETURN;
        END IF;
        INSERT INTO {schema}.events (key, seq, type, timestamp_us, body)
        SELECT session_key, old_seq + place, type, time, body
        FROM unnest(types, times, bodies) WITH ORDINALITY AS sent (type, time, body, place);
        INSERT INTO {schema}.turns (key, seq, round, stage_key, slot, attempt)
        SELECT session_key, sent.*
        FROM unnest(turn_seqs, turn_rounds, turn_stages, turn_slots, turn_attempts) AS sent;
        INSERT INTO {schema}.positions (key, seq, words)
        SELECT session_key, sent.seq, array_to_tsvector(string_to_array(sent.words, ' '))
        FROM unnest(text_seqs, texts) AS sent (seq, words);
        last := old_seq + added;
        UPDATE {schema}.sessions AS s
        SET status = new_status, current_round = new_numbers[1], total_rounds = new_numbers[2],
            response_count = new_numbers[3], last_seq = append.last, updated_us = new_us,
            append_ids = (append_id || s.append_ids)[1:8], append_ends = (append.last || s.append_ends)[1:8]
        WHERE s.key = session_key;
        verdict := 'stored';
    END
    $$
    """,
    # A lease or a value is changed only if it is still the same as what the caller has read. So no transaction waits
    # for a caller, which may be suspended meanwhile.
    """
    CREATE FUNCTION {schema}.take_lease(
        session_key BYTEA, tenant BYTEA, seen_token BIGINT, seen_owner TEXT, seen_us BIGINT,
        new_token BOOLEAN, new_owner TEXT, new_us BIGINT,
        OUT verdict TEXT, OUT granted BIGINT
    ) LANGUAGE plpgsql AS $$
    DECLARE
        held {schema}.leases%ROWTYPE;
    BEGIN
        PERFORM FROM {schema}.sessions AS s WHERE s.key = session_key FOR UPDATE;
        IF NOT FOUND THEN
            verdict := 'missing';
            RETURN;
        END IF;
        SELECT * INTO held FROM {schema}.leases AS l WHERE l.key = session_key;
        IF (held.token, held.owner, held.expires_us) IS DISTINCT FROM (seen_token, seen_owner, seen_us) THEN
            verdict := 'changed';
            RETURN;
        END IF;
        granted := seen_token;
        IF new_token THEN
            INSERT INTO {schema}.tokens AS t (tenant_key, last) VALUES (tenant, 1)
            ON CONFLICT (tenant_key) DO UPDATE SET last = t.last + 1
            RETURNING t.last INTO granted;
        END IF;
        INSERT INTO {schema}.leases (key, token, owner, expires_us) VALUES (session_key, granted, new_owner, new_us)
        ON CONFLICT (key)
        DO UPDATE SET token = excluded.token, owner = excluded.owner, expires_us = excluded.expires_us;
        verdict := 'granted';
    END
    $$
    """,
    """
    CREATE FUNCTION {schema}.swap(
        tenant BYTEA, hash BYTEA, stored_name TEXT, now_us BIGINT, seen TEXT, new_value TEXT, new_us BIGINT
    ) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
    BEGIN
        IF seen IS NULL THEN
            INSERT INTO {schema}.key_values AS v (tenant_key, name_key, name, value, expires_us)
            VALUES (tenant, hash, stored_name, new_value, new_us)
            ON CONFLICT (tenant_key, name_key)
            DO UPDATE SET value = excluded.value, expires_us = excluded.expires_us WHERE v.expires_us <= now_us;
        ELSE
            UPDATE {schema}.key_values AS v SET value = new_value, expires_us = new_us
            WHERE v.tenant_key = tenant AND v.name_key = hash AND v.value = seen
              AND (v.expires_us IS NULL OR v.expires_us > now_us);
        END IF;
        RETURN FOUND;
    END
    $$
    """,
)

_SCHEMA_2: Final[tuple[LiteralString, ...]] = (
    # Few sessions have another status than 'completed'. An append changes this index only if it changes the status.
    "CREATE INDEX sessions_by_status ON {schema}.sessions (tenant_key, status, created_us)",
)

MIGRATIONS: Final[tuple[tuple[LiteralString, ...], ...]] = (_SCHEMA_1, _SCHEMA_2)
"""The statements that upgrade the schema from version n to n + 1; version 0 has no tables."""


# PostgreSQL refuses the character NUL in texts, so two other characters replace it.

_ESCAPE: Final = "\uf8ff"
_TO_STORED: Final = str.maketrans({_ESCAPE: f"{_ESCAPE}1", "\0": f"{_ESCAPE}0"})


def to_stored(text: str) -> str:
    """Return the stored form of a text: without NUL and lone surrogates."""
    return well_formed(text).translate(_TO_STORED)


def from_stored(text: str) -> str:
    """Return the text from its stored form, a result of `to_stored`."""
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE) if _ESCAPE in text else text


def key_hash(*parts: str) -> bytes:
    """Return a hash of these texts, 32 bytes."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


def in_schema(schema: str, statement: LiteralString) -> bytes:
    """Return a statement with `{schema}` replaced by the quoted name of a schema.

    `{now}` is replaced by the time of the database in microseconds since 1970.

    Example:
        >>> in_schema("debates", "SELECT count(*) FROM {schema}.sessions")
        b'SELECT count(*) FROM "debates".sessions'
    """
    return sql.SQL(statement).format(schema=sql.Identifier(schema), now=_NOW_US).as_bytes()


class Statements:
    """The statements for one schema.

    Args:
        schema: Name of the PostgreSQL schema.
    """

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._prepared: dict[str, bytes] = {}

    def __getitem__(self, statement: LiteralString) -> bytes:
        """Return the statement for the schema; see `in_schema`."""
        if statement not in self._prepared:
            self._prepared[statement] = in_schema(self._schema, statement)
        return self._prepared[statement]


async def use_tables(connection: psycopg.AsyncConnection, schema: str, address: str) -> bool:
    """Check that the tables have the version of this library, and reserve this version while the connection is open.

    An upgrade by a newer version of the library ends the connection first, so that no process of this version keeps
    writing. Arguments and errors are the same as those of `migrate`.

    Returns:
        False if the tables must be created or upgraded, or if an upgrade is in progress.
    """
    locks = {"use": _USE_LOCK_ID, "upgrade": _LOCK_ID, "schema": schema}
    row = await (await connection.execute(_USE, locks)).fetchone()
    if row is None or not row[0]:
        return False
    if await is_current(connection, schema, address):
        return True
    await connection.execute("SELECT pg_advisory_unlock_shared(%(use)s, hashtext(%(schema)s))", locks)
    return False


async def is_current(
    connection: psycopg.AsyncConnection,
    schema: str,
    address: str,
    migrations: Sequence[tuple[LiteralString, ...]] = MIGRATIONS,
) -> bool:
    """Check whether the tables have the version of this library. Arguments and errors are the same as for `migrate`."""
    await _check_server(connection, address)
    return await _version(connection, schema, address, len(migrations)) == len(migrations)


async def has_tables(connection: psycopg.AsyncConnection, schema: str, address: str) -> bool:
    """Check whether the tables exist, in any version. Arguments and errors are the same as for `migrate`."""
    return await _version(connection, schema, address, len(MIGRATIONS)) is not None


async def migrate(
    connection: psycopg.AsyncConnection,
    schema: str,
    address: str,
    migrations: Sequence[tuple[LiteralString, ...]] = MIGRATIONS,
) -> None:
    """Create or upgrade the tables in one transaction. If several processes start, the first one does the work.

    If another process has begun an upgrade, this function waits for it.

    Args:
        connection: An open connection in autocommit mode.
        schema: The PostgreSQL schema that contains the tables.
        address: Address of the database without secrets, for messages.
        migrations: The statements of each upgrade.

    Raises:
        StorageError: The server is too old, its encoding is not UTF-8, or the tables belong to another application or
            to a newer version of this library.
    """
    key = (_LOCK_ID, schema)
    await connection.execute("SELECT pg_advisory_xact_lock_shared(%s, hashtext(%s))", key)  # waits, then releases
    if await is_current(connection, schema, address, migrations):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", key)
        # Check again under the lock: another process may have upgraded the tables.
        version = await _version(connection, schema, address, len(migrations))
        if version is None:
            await _create_first_table(connection, schema)
            await connection.execute(in_schema(schema, "INSERT INTO {schema}.schema_version VALUES (0)"))
        elif version < len(migrations):
            await _end_users(connection, schema, address)
        for statements in migrations[version or 0 :]:
            for statement in statements:
                await connection.execute(in_schema(schema, statement))
        await connection.execute(
            in_schema(schema, "UPDATE {schema}.schema_version SET version = %s"), (len(migrations),)
        )


async def check_new(connection: psycopg.AsyncConnection, schema: str) -> None:
    """Check that tables can be created, in a transaction that is rolled back.

    Args:
        connection: An open connection in autocommit mode.
        schema: The PostgreSQL schema for the tables.

    Raises:
        psycopg.Error: The tables cannot be created.
    """
    async with connection.transaction(force_rollback=True):
        await _create_first_table(connection, schema)


async def _create_first_table(connection: psycopg.AsyncConnection, schema: str) -> None:
    cursor = await connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (schema,))
    if not cursor.rowcount:  # `IF NOT EXISTS` would need the right to create schemas, even if it exists
        await connection.execute(in_schema(schema, "CREATE SCHEMA {schema}"))
    await connection.execute(in_schema(schema, "CREATE TABLE {schema}.schema_version (version INT NOT NULL)"))


async def _end_users(connection: psycopg.AsyncConnection, schema: str, address: str) -> None:
    """End the connections that use tables of an older version; new connections wait until this transaction ends."""
    key = (_USE_LOCK_ID, schema)
    try:
        await connection.execute(_END_USERS, key)
    except psycopg.errors.InsufficientPrivilege:
        raise StorageError(
            f"{address!r} cannot be upgraded: processes that log in as another user still use its tables",
            hint="End all processes that use this database, then start the new version.",
            details={"path": address, "reason": "in-use"},
        ) from None
    await connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", key)


async def _check_server(connection: psycopg.AsyncConnection, address: str) -> None:
    major = connection.info.server_version // 10_000
    if major < OLDEST_SERVER:
        raise StorageError(
            f"{address!r} is PostgreSQL {major}, but PostgreSQL {OLDEST_SERVER} or later is needed",
            hint=f"Upgrade the server to PostgreSQL {OLDEST_SERVER} or later.",
            details={"path": address, "reason": "old-server", "found": major, "needed": OLDEST_SERVER},
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StorageError(
            f"{address!r} has the encoding {encoding}, which cannot store every text",
            hint="Create the database with the encoding UTF8: createdb --encoding=UTF8 --template=template0 NAME",
            details={"path": address, "reason": "encoding", "found": encoding},
        )


async def _version(connection: psycopg.AsyncConnection, schema: str, address: str, known: int) -> int | None:
    """Return the version of the tables; `None` if there are no tables."""
    rows = await connection.execute(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s",
        (schema,),
    )
    names = {name async for (name,) in rows}
    if "schema_version" not in names:
        if not names:
            return None
        raise StorageError(
            f"the schema {schema!r} of {address!r} contains tables of another application",
            hint="Choose another schema with ?schema=NAME. Nothing was changed.",
            details={"path": address, "reason": "foreign"},
        )
    row = await (await connection.execute(in_schema(schema, "SELECT version FROM {schema}.schema_version"))).fetchone()
    version: int = row[0] if row else 0
    if version > known:
        raise StorageError(
            f"{address!r} was written by a newer version of roundtable-sdk: schema {version}, newest known {known}",
            hint="Upgrade roundtable-sdk in this process too. Nothing was changed.",
            details={"path": address, "reason": "newer", "found": version, "known": known},
        )
    return version
