"""What the server answers, besides results and rounds, which are types of the library."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from pydantic import Field, JsonValue

from roundtable.api.offered import ModeOffer
from roundtable.auth import Scope
from roundtable.types import (
    AnyConsensus,
    DebateMode,
    Decision,
    ExitResult,
    SearchHit,
    SessionStatus,
    Share,
    Timestamp,
)
from roundtable.types.base import Value
from roundtable.types.teams import ErrorAction

__all__ = [
    "AgentList",
    "ConsensusAnswer",
    "ErrorBody",
    "LimitLeft",
    "Links",
    "Me",
    "ModeList",
    "OfferedAgent",
    "OfferedProfile",
    "ProfileList",
    "SessionEntry",
    "SessionPage",
    "Started",
    "links_of",
]


class ErrorBody(Value):
    """What went wrong."""

    error: str
    """What happened, in words."""
    code: str
    """What happened, for programs; it never changes."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """Facts that belong to the code, such as `field` and `message` of a request that does not fit."""
    hint: str | None = None
    """How to mend it."""
    timestamp: Timestamp
    """When."""
    request_id: str
    """Number of the request in the server's log, also in `X-Request-Id`."""


class Links(Value):
    """Where what belongs to a session is found."""

    self: str
    """The session, as a result."""
    events: str
    """What happens, as server-sent events."""
    consensus: str
    """Agreement of its rounds."""
    export: str
    """The session as a document."""
    pause: str
    """Pauses it."""
    stop: str
    """Ends it with what it has."""


def links_of(session_id: str) -> Links:
    """Give the links of a session."""
    # One that came from a file may hold anything.
    place = f"/api/sessions/{quote(session_id, safe='')}"
    return Links(
        self=place,
        events=f"{place}/events",
        consensus=f"{place}/consensus",
        export=f"{place}/export",
        pause=f"{place}/pause",
        stop=f"{place}/stop",
    )


class Started(Value):
    """A session that runs by itself."""

    session_id: str
    """Its id."""
    session_status: SessionStatus
    """Its state now."""
    links: Links
    """Where it is found."""


class SessionEntry(Value):
    """A session in a list."""

    session_id: str
    """Its id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode; `team` where a team works."""
    session_status: SessionStatus
    """Its state."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned."""
    agents: tuple[str, ...]
    """Ids of who takes part."""
    response_count: int
    """Stored positions."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""
    metadata: dict[str, JsonValue]
    """The caller's own notes."""


class SessionPage(Value):
    """Sessions, newest first."""

    sessions: tuple[SessionEntry, ...]
    """Those of this page."""
    hits: tuple[SearchHit, ...]
    """Where the words looked for were found in them; empty where none were."""
    next_cursor: str | None
    """`cursor` of the next page; `null` on the last one."""


class ConsensusAnswer(Value):
    """Agreement of one round, as it was measured when the round ended."""

    session_id: str
    """Session."""
    session_status: SessionStatus
    """Its state."""
    round: int
    """Which round."""
    responses: int
    """Positions that were measured."""
    consensus: AnyConsensus
    """The measure."""
    decision: Decision | None
    """What the decision rule made of the round."""
    independent_agreement: Share | None
    """Agreement of answers given before anybody had heard anybody."""
    independent_agreement_reason: str | None
    """Why there is none."""
    exit: ExitResult | None
    """Why the debate ended or stopped."""


class OfferedAgent(Value):
    """Somebody who can debate."""

    id: str
    """What `agents` takes."""
    name: str
    """Display name."""
    provider: str
    """Provider."""
    model: str | None
    """Model; the provider's default where it is `null`."""
    persona: str | None
    """Name of the persona it speaks as."""


class AgentList(Value):
    """Who can debate here."""

    agents: tuple[OfferedAgent, ...]
    """Those at the table: they debate where a request names nobody."""
    models: tuple[str, ...]
    """Further models that a request may name."""


class ModeList(Value):
    """How debates can be held here."""

    modes: tuple[ModeOffer, ...]
    """Debate modes."""


class OfferedProfile(Value):
    """A specialised agent that a team may be made of."""

    name: str
    """What `agents` of a conversation takes."""
    tools: tuple[str, ...]
    """What it can do besides speaking."""
    max_steps: int
    """Most model calls of one turn."""
    on_error: ErrorAction
    """What follows when its turn fails."""


class ProfileList(Value):
    """Whom teams can be made of here."""

    profiles: tuple[OfferedProfile, ...]
    """Specialised agents."""


class LimitLeft(Value):
    """What is left of one limit."""

    limit: Literal["conversations", "rounds", "concurrent"]
    """Which."""
    quota: int
    """How much it allows."""
    remaining: int
    """How much is left."""
    window_s: int | None
    """The time it goes by, in seconds; `null` for what counts while it lasts."""
    reset_s: int | None
    """Seconds until there is more left; `null` where nothing is used."""


class Me(Value):
    """Who calls, and what they may do."""

    user: str
    """Whose sessions these are."""
    scopes: tuple[Scope, ...]
    """What they may do."""
    token_id: str | None
    """The token they showed."""
    expires_at: Timestamp | None
    """When it stops working."""
    limits: tuple[LimitLeft, ...]
    """What is left of their limits."""
