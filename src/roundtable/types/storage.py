"""What storages take and give besides records and events."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundtable.types.base import Timestamp, Value
from roundtable.types.debate import DebateMode, SessionStatus

__all__ = ["Lease", "Owner", "SessionFilter", "SessionSummary"]


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
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Most sessions returned."""


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
