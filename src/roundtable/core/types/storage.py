"""Arguments and results of storages, apart from records and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from roundtable.core.types.argument_value import ArgumentValue
from roundtable.core.types.base import JsonValue, Timestamp, Value
from roundtable.core.types.debate import DebateMode, ExitReason, SessionStatus, status_in_words

__all__ = [
    "Cursor",
    "Lease",
    "LeaseOwner",
    "QueueDatabase",
    "SearchHit",
    "SearchQuery",
    "SessionFilter",
    "SessionSummary",
]


@dataclass(frozen=True, slots=True)
class QueueDatabase:
    """The database in which a fleet keeps the queue that belongs to a storage of sessions."""

    url: str = field(repr=False)
    """Address for SQLAlchemy; may contain a password. SQLite and PostgreSQL are supported."""
    schema: str | None
    """PostgreSQL schema of the queue's tables; `None` in SQLite."""
    name: str
    """The address without secrets, for messages; in SQLite, the path of the file."""
    sessions: str
    """Where the sessions are, without secrets, for messages."""
    error_of: Callable[[object], Exception | None] | None = field(default=None, repr=False)
    """Function that returns the storage's own error for an error of its driver, or `None` for other errors."""


def _check_cursor(cursor: str) -> str:
    _parse_cursor(cursor)
    return cursor


def _parse_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the creation time and the session id in a cursor.

    Raises:
        ValueError: The text is not a cursor.
    """
    timestamp, slash, session_id = cursor.partition("/")
    created_at = datetime.fromisoformat(timestamp) if slash else None
    if created_at is None or created_at.tzinfo is None:
        raise ValueError("it must be the nextCursor of the previous page (`SessionSummary.cursor` of its last session)")
    return created_at, session_id


Cursor: TypeAlias = Annotated[str, AfterValidator(_check_cursor)]
"""A position in a list of sessions, returned by `SessionSummary.cursor`."""


class LeaseOwner(Value):
    """The process and task that hold a lease; the facts show whether the process is still alive on this host."""

    name: str
    """Unique id of the holder."""
    host: str
    """Host name."""
    boot_id: str
    """Id of the host's current boot."""
    pid: int
    """Process id."""
    process_start: str
    """When the process started, in the units of the host's system; empty if that is unknown."""


class Lease(Value):
    """The right to append to one session until it expires."""

    token: Annotated[int, Field(ge=1)]
    """Fencing token; every new holder gets a larger token."""
    owner: LeaseOwner
    """Holder of the lease."""
    expires_at: Timestamp
    """When the lease expires, unless it is renewed."""


class SessionFilter(ArgumentValue):
    """Filter for a list of sessions, newest first."""

    tenant: str = "default"
    """Tenant that owns the sessions."""
    topic: str | None = None
    """Part of the topic, in upper or lower case; `%` and `_` are ordinary characters."""
    mode: DebateMode | None = None
    """Debate mode."""
    status: SessionStatus | None = None
    """State of the sessions."""
    created_from: Timestamp | None = None
    """Earliest time of creation, inclusive."""
    created_to: Timestamp | None = None
    """Latest time of creation, inclusive."""
    updated_before: Timestamp | None = None
    """Only sessions that last changed before this time."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Metadata that a session must have, each entry with exactly this value."""
    after: Cursor | None = None
    """Start of the next page: `cursor` of the last session on the previous page."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Maximum number of sessions."""

    @property
    def place(self) -> tuple[datetime, str] | None:
        """Creation time and id of the session in `after`."""
        return None if self.after is None else _parse_cursor(self.after)


class SessionSummary(Value):
    """A session in a list."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    status: SessionStatus
    """State of the session."""
    current_round: int
    """Number of rounds that have begun."""
    total_rounds: int
    """Number of planned rounds."""
    agent_ids: tuple[str, ...]
    """Ids of the debating agents."""
    response_count: int
    """Number of stored positions."""
    created_at: Timestamp
    """When the session was created."""
    updated_at: Timestamp
    """When the session last changed."""
    last_seq: int = 0
    """Number of the last stored event."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Metadata of the caller."""
    exit_reason: ExitReason | None = None
    """Why the last run of the session ended, such as `max_rounds` or `stopped`; `None` before a run ended."""
    error: str | None = None
    """Why the entry cannot be read, if it is damaged. The other fields then contain what could be read, or nothing."""

    @property
    def status_in_words(self) -> str:
        """The state for display: `stopped` if someone ended the debate early, otherwise `status`."""
        return status_in_words(self.status, self.exit_reason)

    @property
    def cursor(self) -> str:
        """Position of this session in lists, for `SessionFilter.after`.

        Sessions after this position are listed exactly once, even if other sessions are added meanwhile.
        """
        return f"{self.created_at.isoformat()}/{self.id}"


class SearchQuery(Value):
    """A search in positions and their reasoning.

    Example:
        >>> SearchQuery(text='cost "five years" micro*').limit
        20
    """

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    """Words that must all occur; case and accents are ignored. To find words next to each other, put them in double
    quotes. To find all words with the same beginning, end the beginning with a star."""
    tenant: str = "default"
    """Tenant that owns the sessions."""
    session_id: str | None = None
    """Id of the only session to search; all sessions when left out."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 20
    """Maximum number of hits."""


class SearchHit(Value):
    """A position that contains all words of a search."""

    session_id: str
    """Session id."""
    topic: str
    """Question of the session."""
    created_at: Timestamp
    """When the session was created."""
    seq: int
    """Number of the event that contains the position."""
    round: int
    """Round, from 1."""
    agent_id: str
    """Id of the agent that wrote the position."""
    agent_name: str
    """Display name."""
    snippet: str
    """Part of the text around the words that were found."""
