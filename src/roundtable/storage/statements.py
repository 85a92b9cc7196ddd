"""The SQL statements of the SQLite storage, as functions that run inside a transaction.

All values are bound parameters; no statement is built from text.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from roundtable.core.base.text import well_formed
from roundtable.core.record.fold import Progress, start_progress
from roundtable.core.record.transitions import follow
from roundtable.core.types.events import durable_event
from roundtable.core.types.storage import SessionSummary
from roundtable.record.archive import read_record
from roundtable.storage.fulltext import index_position
from roundtable.storage.rules import (
    EARLIEST,
    MAX_NUMBER,
    LeaseState,
    TurnId,
    check_number,
    check_same_turn,
    check_token,
    event_text,
    from_micros,
    grant,
    json_text,
    live_holder,
    record_text,
    searchable,
    session_exists,
    session_not_found,
    to_micros,
    to_summary,
    turn_id,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import Lease, LeaseOwner, SessionFilter

__all__ = ["Key", "append", "create", "delete", "holder", "lease", "list_sessions", "read"]


class Key(NamedTuple):
    """Tenant and id of a session, in their stored form."""

    tenant: str
    """Tenant."""
    session_id: str
    """Session id."""


def create(connection: sqlite3.Connection, record: SessionRecord) -> None:
    """Store a new, empty session."""
    text, stored = record_text(record)
    existing = connection.execute("SELECT 1 FROM sessions WHERE tenant = ? AND id = ?", (stored.tenant, stored.id))
    if existing.fetchall():
        raise session_exists(record.id)
    status, current_round, total_rounds, response_count = start_progress(stored)
    created = to_micros(stored.created_at)
    connection.execute(
        """
        INSERT INTO sessions (tenant, id, record, topic, topic_searched, mode, agent_ids, status, current_round,
                              total_rounds, response_count, last_seq, created_us, updated_us, metadata)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)
        """,
        (
            stored.tenant,
            stored.id,
            text,
            stored.config.topic,
            searchable(stored.config.topic),
            stored.config.mode,
            json.dumps([agent.id for agent in stored.agents]),
            status,
            current_round,
            total_rounds,
            response_count,
            created,
            created,
            json_text(dict(stored.config.metadata)),
        ),
    )


def append(
    connection: sqlite3.Connection,
    key: Key,
    expected: int | None,
    token: int | None,
    events: Sequence[DurableEvent],
) -> int:
    """Store events, and return the number of the last one."""
    rows = connection.execute(
        """
        SELECT status, current_round, total_rounds, response_count, last_seq
        FROM sessions WHERE tenant = ? AND id = ?
        """,
        key,
    ).fetchall()
    if not rows:
        raise session_not_found(key.session_id)
    last: int = rows[0][4]
    if token is not None:
        check_token(key.session_id, _lease_state(connection, key), token)
    check_number(key.session_id, expected, last)
    progress = Progress(*rows[0][:4])
    timestamps: list[datetime] = []
    for event in events:
        if _insert(connection, key, last + len(timestamps) + 1, event):
            progress = follow(key.session_id, progress, (event,))
            timestamps.append(event.timestamp)
    if timestamps:
        _update_session(connection, key, progress, last + len(timestamps), timestamps[-1])
    return last + len(timestamps)


def _insert(connection: sqlite3.Connection, key: Key, seq: int, event: DurableEvent) -> bool:
    """Store one event under the next number; return False if its turn is already stored."""
    text = event_text(event, seq)
    turn_key = turn_id(event)
    if turn_key is not None and _is_stored_turn(connection, key, turn_key, text):
        return False
    if event.seq:
        check_number(key.session_id, event.seq - 1, seq - 1)
    connection.execute(
        "INSERT INTO events (tenant, session_id, seq, type, timestamp_us, body) VALUES (?, ?, ?, ?, ?, ?)",
        (*key, seq, event.type, to_micros(event.timestamp), text),
    )
    if turn_key is not None:
        connection.execute(
            "INSERT INTO turns (tenant, session_id, round, stage, slot, attempt, seq) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, *turn_key, seq),
        )
    index_position(connection, *key, seq, event)
    return True


def _is_stored_turn(connection: sqlite3.Connection, key: Key, turn_key: TurnId, text: str) -> bool:
    """Check whether the same turn is stored; raise an error if another turn has its key."""
    rows = connection.execute(
        """
        SELECT body FROM turns JOIN events USING (tenant, session_id, seq)
        WHERE tenant = ? AND session_id = ? AND round = ? AND stage = ? AND slot = ? AND attempt = ?
        """,
        (*key, *turn_key),
    ).fetchall()
    if rows:
        check_same_turn(turn_key, rows[0][0], text)
    return bool(rows)


def _update_session(connection: sqlite3.Connection, key: Key, progress: Progress, last: int, updated: datetime) -> None:
    connection.execute(
        """
        UPDATE sessions SET status = ?, current_round = ?, total_rounds = ?, response_count = ?,
                            last_seq = ?, updated_us = ?
        WHERE tenant = ? AND id = ?
        """,
        (*progress, last, to_micros(updated), *key),
    )


def read(
    connection: sqlite3.Connection, key: Key, after: int, path: str
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Return a session and its events numbered above `after`."""
    rows = connection.execute("SELECT record FROM sessions WHERE tenant = ? AND id = ?", key).fetchall()
    if not rows:
        raise session_not_found(key.session_id)
    bodies = connection.execute(
        "SELECT body FROM events WHERE tenant = ? AND session_id = ? AND seq > ? ORDER BY seq",
        (*key, max(min(after, MAX_NUMBER), 0)),
    )  # parsed one by one, so that a long debate is not in memory twice
    # A cursor that stops halfway, and to which a traceback refers, would keep its read snapshot open.
    with closing(bodies):
        try:
            return read_record(rows[0][0]), tuple(durable_event(body) for (body,) in bodies)
        except ValueError as error:
            raise unreadable(path, f"session {key.session_id!r}", error) from error


def list_sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> tuple[SessionSummary, ...]:
    """List sessions, newest first."""
    try:
        rows = _select_sessions(connection, wanted)
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        # A row with a text that is not UTF-8 must not hide other rows. Its bytes become surrogates, which are refused
        # later.
        connection.text_factory = _decode_escaped
        try:
            rows = _select_sessions(connection, wanted)
        finally:
            connection.text_factory = str
    return tuple(map(to_summary, rows))


def _decode_escaped(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _select_sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> list[tuple[Any, ...]]:
    after_at, after_id = wanted.place or (None, None)
    return connection.execute(
        """
        SELECT id, topic, mode, agent_ids, status, current_round, total_rounds, response_count, created_us, updated_us,
               last_seq, metadata,
               (SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.exit.reason') END FROM events
                WHERE events.tenant = sessions.tenant AND session_id = sessions.id AND type = 'exit'
                ORDER BY seq DESC LIMIT 1)
        FROM sessions
        WHERE tenant = :tenant
          AND (:topic IS NULL OR instr(topic_searched, :topic) > 0)
          AND (:mode IS NULL OR mode = :mode)
          AND (:status IS NULL OR status = :status)
          AND (:since IS NULL OR created_us >= :since)
          AND (:until IS NULL OR created_us <= :until)
          AND (:untouched_since IS NULL OR updated_us < :untouched_since)
          AND (:after_us IS NULL OR ((created_us, id) < (:after_us, :after_id) AND :after_us > :first_us))
          AND (:notes IS NULL OR has_metadata(metadata, :notes))
        ORDER BY created_us DESC, id DESC
        LIMIT :limit
        """,
        {
            "tenant": well_formed(wanted.tenant),
            "topic": None if wanted.topic is None else searchable(wanted.topic),
            "mode": None if wanted.mode is None else well_formed(wanted.mode),
            "status": wanted.status,
            "since": None if wanted.created_from is None else to_micros(wanted.created_from),
            "until": None if wanted.created_to is None else to_micros(wanted.created_to),
            "untouched_since": None if wanted.updated_before is None else to_micros(wanted.updated_before),
            "after_us": None if after_at is None else to_micros(after_at),
            "after_id": None if after_id is None else well_formed(after_id),
            "first_us": to_micros(EARLIEST),
            "notes": json_text(dict(wanted.metadata)) if wanted.metadata else None,
            "limit": wanted.limit,
        },
    ).fetchall()


def lease(
    connection: sqlite3.Connection, key: Key, owner: LeaseOwner, ttl_s: float, now: Callable[[], datetime]
) -> Lease:
    """Take, renew or release the right to append."""
    _check_exists(connection, key)
    current = _lease_state(connection, key)
    granted = grant(
        key.session_id, current, owner, ttl_s, now=now(), next_token=lambda: _next_token(connection, key.tenant)
    )
    connection.execute(
        """
        INSERT INTO leases (tenant, session_id, token, owner, expires_us) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (tenant, session_id)
        DO UPDATE SET token = excluded.token, owner = excluded.owner, expires_us = excluded.expires_us
        """,
        (*key, granted.token, granted.owner, to_micros(granted.expires_at)),
    )
    return granted.to_lease(owner)


def holder(connection: sqlite3.Connection, key: Key, now: Callable[[], datetime]) -> LeaseOwner | None:
    """Return the owner that runs a session; `None` if the session is not running."""
    _check_exists(connection, key)
    return live_holder(_lease_state(connection, key), now())


def _check_exists(connection: sqlite3.Connection, key: Key) -> None:
    if not connection.execute("SELECT 1 FROM sessions WHERE tenant = ? AND id = ?", key).fetchall():
        raise session_not_found(key.session_id)


def _lease_state(connection: sqlite3.Connection, key: Key) -> LeaseState | None:
    rows = connection.execute(
        "SELECT token, owner, expires_us FROM leases WHERE tenant = ? AND session_id = ?", key
    ).fetchall()
    return LeaseState(rows[0][0], rows[0][1], from_micros(rows[0][2])) if rows else None


def _next_token(connection: sqlite3.Connection, tenant: str) -> int:
    connection.execute(
        "INSERT INTO tokens (tenant, last) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET last = last + 1", (tenant,)
    )
    token: int = connection.execute("SELECT last FROM tokens WHERE tenant = ?", (tenant,)).fetchall()[0][0]
    return token


def delete(connection: sqlite3.Connection, key: Key) -> None:
    """Delete a session and all rows that belong to it."""
    connection.execute(
        """
        DELETE FROM position_texts
        WHERE rowid IN (SELECT place FROM positions WHERE tenant = ? AND session_id = ?)
        """,
        key,
    )
    if not connection.execute("DELETE FROM sessions WHERE tenant = ? AND id = ?", key).rowcount:
        raise session_not_found(key.session_id)
