"""Every question the SQLite storage asks its file, as functions of a connection inside a transaction.

All values are bound; no statement is put together from text.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from roundtable._foreign import well_formed
from roundtable.record import Progress, follow, read_record, start_progress
from roundtable.storage.database import unreadable
from roundtable.storage.rules import (
    MAX_NUMBER,
    LeaseState,
    TurnPlace,
    check_fence,
    check_number,
    event_text,
    grant,
    known_turn,
    live_holder,
    session_exists,
    session_not_found,
    turn_place,
)
from roundtable.storage.text import from_micros, json_text, micros, searchable, value_text
from roundtable.storage.words import index_position
from roundtable.types import SessionRecord, SessionSummary, durable_event

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from roundtable.types import DurableEvent, Lease, Owner, SessionFilter

__all__ = ["Key", "append", "create", "delete", "holder", "lease", "list_sessions", "read"]


_log: logging.Logger = logging.getLogger(__name__)


class Key(NamedTuple):
    """Which session of which tenant; both as they are stored."""

    tenant: str
    """Whose."""
    session_id: str
    """Which."""


def create(connection: sqlite3.Connection, record: SessionRecord) -> None:
    """Store a new, empty session."""
    text = value_text(record)
    stored = SessionRecord.from_json(text)
    found = connection.execute("SELECT 1 FROM sessions WHERE tenant = ? AND id = ?", (stored.tenant, stored.id))
    if found.fetchall():
        raise session_exists(record.id)
    status, current, total, count = start_progress(stored)
    created = micros(stored.created_at)
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
            current,
            total,
            count,
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
    """Store events and give the number of the last one."""
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
        check_fence(key.session_id, _lease_state(connection, key), token)
    check_number(key.session_id, expected, last)
    progress = Progress(*rows[0][:4])
    taken: list[datetime] = []
    for event in events:
        if _insert(connection, key, last + len(taken) + 1, event):
            progress = follow(key.session_id, progress, (event,))
            taken.append(event.timestamp)
    if taken:
        _derive(connection, key, progress, last + len(taken), taken[-1])
    return last + len(taken)


def _insert(connection: sqlite3.Connection, key: Key, seq: int, event: DurableEvent) -> bool:
    """Store one event under the next number; tell whether it was new."""
    text = event_text(event, seq)
    place = turn_place(event)
    if place is not None and _stored_turn(connection, key, place, text):
        return False
    if event.seq:
        check_number(key.session_id, event.seq - 1, seq - 1)
    connection.execute(
        "INSERT INTO events (tenant, session_id, seq, type, timestamp_us, body) VALUES (?, ?, ?, ?, ?, ?)",
        (*key, seq, event.type, micros(event.timestamp), text),
    )
    if place is not None:
        connection.execute(
            "INSERT INTO turns (tenant, session_id, round, stage, slot, attempt, seq) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, *place, seq),
        )
    index_position(connection, *key, seq, event)
    return True


def _stored_turn(connection: sqlite3.Connection, key: Key, place: TurnPlace, text: str) -> bool:
    """Tell whether a turn is stored, saying the same."""
    rows = connection.execute(
        """
        SELECT body FROM turns JOIN events USING (tenant, session_id, seq)
        WHERE tenant = ? AND session_id = ? AND round = ? AND stage = ? AND slot = ? AND attempt = ?
        """,
        (*key, *place),
    ).fetchall()
    if rows:
        known_turn(place, rows[0][0], text)
    return bool(rows)


def _derive(connection: sqlite3.Connection, key: Key, progress: Progress, last: int, updated: datetime) -> None:
    connection.execute(
        """
        UPDATE sessions SET status = ?, current_round = ?, total_rounds = ?, response_count = ?,
                            last_seq = ?, updated_us = ?
        WHERE tenant = ? AND id = ?
        """,
        (*progress, last, micros(updated), *key),
    )


def read(
    connection: sqlite3.Connection, key: Key, after: int, path: str
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Give a session and its events numbered above `after`."""
    rows = connection.execute("SELECT record FROM sessions WHERE tenant = ? AND id = ?", key).fetchall()
    if not rows:
        raise session_not_found(key.session_id)
    bodies = connection.execute(
        "SELECT body FROM events WHERE tenant = ? AND session_id = ? AND seq > ? ORDER BY seq",
        (*key, max(min(after, MAX_NUMBER), 0)),
    )  # read one by one: a long debate is not held twice
    try:
        return read_record(rows[0][0]), tuple(durable_event(body) for (body,) in bodies)
    except ValueError as error:
        raise unreadable(path, f"session {key.session_id!r}", error) from error


def list_sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> tuple[SessionSummary, ...]:
    """List sessions, newest first."""
    after_at, after_id = wanted.place or (None, None)
    rows = connection.execute(
        """
        SELECT id, topic, mode, agent_ids, status, current_round, total_rounds, response_count, created_us, updated_us,
               last_seq, metadata
        FROM sessions
        WHERE tenant = :tenant
          AND (:topic IS NULL OR instr(topic_searched, :topic) > 0)
          AND (:mode IS NULL OR mode = :mode)
          AND (:status IS NULL OR status = :status)
          AND (:since IS NULL OR created_us >= :since)
          AND (:until IS NULL OR created_us <= :until)
          AND (:untouched_since IS NULL OR updated_us < :untouched_since)
          AND (:after_us IS NULL OR (created_us, id) < (:after_us, :after_id))
          AND (:notes IS NULL OR has_notes(metadata, :notes))
        ORDER BY created_us DESC, id DESC
        LIMIT :limit
        """,
        {
            "tenant": well_formed(wanted.tenant),
            "topic": None if wanted.topic is None else searchable(wanted.topic),
            "mode": None if wanted.mode is None else well_formed(wanted.mode),
            "status": wanted.status,
            "since": None if wanted.created_from is None else micros(wanted.created_from),
            "until": None if wanted.created_to is None else micros(wanted.created_to),
            "untouched_since": None if wanted.updated_before is None else micros(wanted.updated_before),
            "after_us": None if after_at is None else micros(after_at),
            "after_id": None if after_id is None else well_formed(after_id),
            "notes": json_text(dict(wanted.metadata)) if wanted.metadata else None,
            "limit": wanted.limit,
        },
    ).fetchall()
    return tuple(found for found in map(_summary, rows) if found is not None)


def _summary(row: tuple[Any, ...]) -> SessionSummary | None:
    """Read one row of a list; one that cannot be read must not hide the others."""
    try:
        return SessionSummary(
            id=row[0],
            topic=row[1],
            mode=row[2],
            agent_ids=tuple(json.loads(row[3])),
            status=row[4],
            current_round=row[5],
            total_rounds=row[6],
            response_count=row[7],
            created_at=from_micros(row[8]),
            updated_at=from_micros(row[9]),
            last_seq=row[10],
            metadata=json.loads(row[11]),
        )
    except ValueError as error:
        _log.warning("session %r is left out of a list: %s", row[0], error)
        return None


def lease(connection: sqlite3.Connection, key: Key, owner: Owner, ttl_s: float, now: Callable[[], datetime]) -> Lease:
    """Take, renew or give up the right to append."""
    _check_there(connection, key)
    held = _lease_state(connection, key)
    state = grant(key.session_id, held, owner, ttl_s, now=now(), next_token=lambda: _next_token(connection, key.tenant))
    connection.execute(
        """
        INSERT INTO leases (tenant, session_id, token, owner, expires_us) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (tenant, session_id)
        DO UPDATE SET token = excluded.token, owner = excluded.owner, expires_us = excluded.expires_us
        """,
        (*key, state.token, state.owner, micros(state.expires_at)),
    )
    return state.to_lease(owner)


def holder(connection: sqlite3.Connection, key: Key, now: Callable[[], datetime]) -> Owner | None:
    """Give who runs a session."""
    _check_there(connection, key)
    return live_holder(_lease_state(connection, key), now())


def _check_there(connection: sqlite3.Connection, key: Key) -> None:
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
    """Remove a session and all that hangs on it."""
    connection.execute(
        """
        DELETE FROM position_texts
        WHERE rowid IN (SELECT place FROM positions WHERE tenant = ? AND session_id = ?)
        """,
        key,
    )
    if not connection.execute("DELETE FROM sessions WHERE tenant = ? AND id = ?", key).rowcount:
        raise session_not_found(key.session_id)
