"""The tables of the SQLite storage, and how a file gets from one version to the next.

Every table carries the tenant and every query asks for it. A version is a list of statements that
is never changed once released; the next version is added below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import StorageError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

__all__ = ["APPLICATION_ID", "MIGRATIONS", "check_format", "migrate"]

APPLICATION_ID = 0x5254_424C
"""Marks the files of this library: "RTBL"."""

_FIRST = (
    # One row a session. All but `record` is the fold of its events, kept so that lists need not read them.
    """
    CREATE TABLE sessions (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        record TEXT NOT NULL,
        topic TEXT NOT NULL,
        topic_searched TEXT NOT NULL,
        mode TEXT NOT NULL,
        agent_ids TEXT NOT NULL,
        status TEXT NOT NULL,
        current_round INTEGER NOT NULL,
        total_rounds INTEGER NOT NULL,
        response_count INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL,
        PRIMARY KEY (tenant, id)
    )
    """,
    "CREATE INDEX sessions_by_age ON sessions (tenant, created_us, id)",
    """
    CREATE TABLE events (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        timestamp_us INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (tenant, session_id, seq),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    # Which event holds a turn: a turn counts once, however often it is sent.
    """
    CREATE TABLE turns (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        round INTEGER NOT NULL,
        stage TEXT NOT NULL,
        slot INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (tenant, session_id, round, stage, slot, attempt),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE leases (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        token INTEGER NOT NULL,
        owner TEXT,
        expires_us INTEGER NOT NULL,
        PRIMARY KEY (tenant, session_id),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    ) WITHOUT ROWID
    """,
    # The last token given out, kept apart from the leases: a session that is deleted and made anew
    # under the same id must not accept a token of its predecessor.
    "CREATE TABLE tokens (tenant TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE key_values (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        expires_us INTEGER,
        PRIMARY KEY (tenant, key)
    )
    """,
    "CREATE INDEX key_values_by_expiry ON key_values (tenant, expires_us) WHERE expires_us IS NOT NULL",
)

_SECOND = (
    # The caller's notes, so that lists can be narrowed by them. A row that cannot be read must not keep the file shut.
    "ALTER TABLE sessions ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}'",
    """
    UPDATE sessions
    SET metadata = coalesce(CASE WHEN json_valid(record) THEN json_extract(record, '$.config.metadata') END, '{}')
    """,
    # Where each position stands; its words are in the index under the same number, and leave it with the session:
    # `statements.delete` sees to that, because SQLite lets no trigger near an index where a schema is not trusted.
    """
    CREATE TABLE positions (
        place INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        round INTEGER NOT NULL,
        agent_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX positions_by_session ON positions (tenant, session_id)",
    """
    CREATE VIRTUAL TABLE position_texts
    USING fts5(position, reasoning, tokenize = 'unicode61 remove_diacritics 2')
    """,
    """
    INSERT INTO positions (tenant, session_id, seq, round, agent_id, agent_name)
    SELECT tenant, session_id, seq, json_extract(body, '$.turn.round'), json_extract(body, '$.turn.agentId'),
           json_extract(body, '$.turn.agentName')
    FROM events
    WHERE type = 'agent_complete'
      AND CASE WHEN json_valid(body) THEN json_extract(body, '$.turn.result.answer.kind') END = 'position'
    ORDER BY tenant, session_id, seq
    """,
    """
    INSERT INTO position_texts (rowid, position, reasoning)
    SELECT place, json_extract(body, '$.turn.result.answer.position'),
           json_extract(body, '$.turn.result.answer.reasoning')
    FROM positions JOIN events USING (tenant, session_id, seq)
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
"""Statements that lead from version n to n + 1, from an empty file on."""


def check_format(connection: sqlite3.Connection, path: str, known: int = len(MIGRATIONS)) -> int:
    """Give the schema version of a file; 0 for an empty one. Reads only.

    Args:
        connection: An open connection.
        path: The file, for messages.
        known: The newest version that can be read.

    Raises:
        StorageError: The file belongs to something else, or to a newer version of this library.
    """
    version = _number(connection, "PRAGMA user_version")
    mark = _number(connection, "PRAGMA application_id")
    tables = _number(connection, "SELECT count(*) FROM sqlite_master")
    if mark != APPLICATION_ID and (mark or version or tables):
        raise StorageError(
            f"{path!r} is a database of another application",
            hint=f"Give another path than {path!r}; the file was left as it is.",
            details={"path": path, "reason": "foreign"},
        )
    if version > known:
        raise StorageError(
            f"{path!r} was written by a newer version of roundtable-sdk: schema {version}, this one knows {known}",
            hint=f"Upgrade roundtable-sdk, or give another path than {path!r}; the file was left as it is.",
            details={"path": path, "reason": "newer", "found": version, "known": known},
        )
    return version


def migrate(connection: sqlite3.Connection, path: str, migrations: Sequence[tuple[str, ...]] = MIGRATIONS) -> None:
    """Bring a file to the newest version in one transaction: all of it or nothing.

    Args:
        connection: An open connection in autocommit mode.
        path: The file, for messages.
        migrations: What leads from each version to the next.

    Raises:
        StorageError: As for `check_format`.
    """
    newest = len(migrations)
    if check_format(connection, path, newest) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have been faster.
        for statements in migrations[check_format(connection, path, newest) :]:
            for statement in statements:
                connection.execute(statement)
        _mark(connection, newest)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _mark(connection: sqlite3.Connection, version: int) -> None:
    # A pragma takes no bound parameters; both values are numbers of this module.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
    connection.execute(f"PRAGMA user_version = {version:d}")


def _number(connection: sqlite3.Connection, query: str) -> int:
    found: int = connection.execute(query).fetchone()[0]
    return found
