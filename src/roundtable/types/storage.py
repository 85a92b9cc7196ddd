"""What storages take and give besides records and events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from roundtable.types.base import JsonValue, Timestamp, Value
from roundtable.types.debate import DebateMode, SessionStatus

__all__ = ["Cursor", "Lease", "Owner", "SearchHit", "SearchQuery", "SessionFilter", "SessionSummary"]


def _placed(cursor: str) -> str:
    _place(cursor)
    return cursor


def _place(cursor: str) -> tuple[datetime, str]:
    moment, slash, session_id = cursor.partition("/")
    created_at = datetime.fromisoformat(moment) if slash else None
    if created_at is None or created_at.tzinfo is None:
        raise ValueError("a cursor is what `SessionSummary.cursor` of the last session of a page gave")
    return created_at, session_id


Cursor: TypeAlias = Annotated[str, AfterValidator(_placed)]
"""A place in a list of sessions, as `SessionSummary.cursor` gives it."""


class Owner(Value):
    """The process and task that hold a lease; enough to tell whether they still live on this host."""

    name: str
    """Unique id of the holder."""
    host: str
    """Host name."""
    boot_id: str
    """Identity of the host's present boot."""
    pid: int
    """Process id."""
    process_start: str
    """When the process started, in the host's own clock."""


class Lease(Value):
    """The right to append to one session until it expires."""

    token: Annotated[int, Field(ge=1)]
    """Fencing token; every new holder gets a larger one."""
    owner: Owner
    """Who holds it."""
    expires_at: Timestamp
    """When it lapses unless renewed."""


class SessionFilter(Value):
    """Which sessions to list; newest first."""

    tenant: str = "default"
    """Whose."""
    topic: str | None = None
    """Part of the topic, case-insensitive; `%` and `_` mean themselves."""
    mode: DebateMode | None = None
    """Mode."""
    status: SessionStatus | None = None
    """State."""
    created_from: Timestamp | None = None
    """Created at this time or later."""
    created_to: Timestamp | None = None
    """Created at this time or earlier."""
    updated_before: Timestamp | None = None
    """Last changed before this time."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Notes of the caller's that a session must have, each with this very value."""
    after: Cursor | None = None
    """The next page: `cursor` of the last session of the page before."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Most sessions returned."""

    @property
    def place(self) -> tuple[datetime, str] | None:
        """Time of creation and id of the session that `after` stands for."""
        return None if self.after is None else _place(self.after)


class SessionSummary(Value):
    """A session in a list."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Mode."""
    status: SessionStatus
    """State."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned."""
    agent_ids: tuple[str, ...]
    """Who takes part."""
    response_count: int
    """Stored positions."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""
    last_seq: int = 0
    """Number of the last stored event."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The caller's own notes."""

    @property
    def cursor(self) -> str:
        """Its place in lists, for `SessionFilter.after`: what comes after it is listed once, whatever is added."""
        return f"{self.created_at.isoformat()}/{self.id}"


class SearchQuery(Value):
    """What to look for in positions and their reasoning.

    Example:
        >>> SearchQuery(text='cost "five years" micro*').limit
        20
    """

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    """Words that must all occur, in any case and with any accents; words in double quotes stand together, and a
    star ends a word that may go on."""
    tenant: str = "default"
    """Whose."""
    session_id: str | None = None
    """Only in this session."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 20
    """Most hits returned."""


class SearchHit(Value):
    """A position in which all words were found."""

    session_id: str
    """Session id."""
    topic: str
    """Its question."""
    created_at: Timestamp
    """When the session was created."""
    seq: int
    """Number of the event that holds the position."""
    round: int
    """Round, from 1."""
    agent_id: str
    """Who said it."""
    agent_name: str
    """Display name."""
    snippet: str
    """Some of the text round the words."""
