"""Response bodies of the server, except results and rounds, whose types belong to the library."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from pydantic import Field, JsonValue

from roundtable.api.offered import ModeOffer
from roundtable.auth import Scope
from roundtable.core.types.base import Share, Timestamp, Value
from roundtable.core.types.chat import OpenApproval
from roundtable.core.types.consensus import AnyConsensus, Decision
from roundtable.core.types.debate import DebateMode, ExitReason, ExitResult, SessionStatus
from roundtable.core.types.storage import SearchHit
from roundtable.core.types.teams import ErrorAction
from roundtable.server.request_context import from_root

__all__ = [
    "AgentList",
    "ApprovalList",
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


class ApprovalList(Value):
    """The tool calls of a session that wait for approval."""

    approvals: tuple[OpenApproval, ...]
    """The calls, oldest first."""


class ErrorBody(Value):
    """An error."""

    error: str
    """Message for people."""
    code: str
    """Stable code for programs."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """Facts that belong to the code, such as `field` and `message` of an invalid request, or the `sessionId` of a
    debate that failed."""
    hint: str | None = None
    """How to fix the error."""
    timestamp: Timestamp
    """When the error happened."""
    request_id: str
    """Id of the request in the server's log, also in `X-Request-Id`."""


class Links(Value):
    """Paths of a session's endpoints."""

    self: str
    """The session, as a result."""
    events: str
    """The session's events, as server-sent events."""
    consensus: str
    """The agreement of its rounds."""
    export: str
    """The session as a document."""
    pause: str
    """Pauses the session."""
    stop: str
    """Stops the session for good; its results so far are kept."""


def links_of(session_id: str) -> Links:
    """Return the links of a session."""
    # The id of an imported session may contain any characters.
    path = from_root(f"/api/sessions/{quote(session_id, safe='')}")
    return Links(
        self=path,
        events=f"{path}/events",
        consensus=f"{path}/consensus",
        export=f"{path}/export",
        pause=f"{path}/pause",
        stop=f"{path}/stop",
    )


class Started(Value):
    """A session that runs in the background."""

    session_id: str
    """Id of the session."""
    session_status: SessionStatus
    """Its state now."""
    links: Links
    """Paths of its endpoints."""


class SessionEntry(Value):
    """A session in a list."""

    session_id: str
    """Id of the session."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode; `team` for the conversation of a team."""
    session_status: SessionStatus
    """Its state."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned."""
    agents: tuple[str, ...]
    """Ids of the agents."""
    response_count: int
    """Number of stored positions."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""
    metadata: dict[str, JsonValue]
    """The caller's own metadata."""
    exit_reason: ExitReason | None = None
    """Why its last run ended, such as `max_rounds` or `stopped`; omitted until a run has ended."""
    error: str | None = None
    """Why the session cannot be read, if it is damaged."""


class SessionPage(Value):
    """Sessions, newest first."""

    sessions: tuple[SessionEntry, ...]
    """Sessions of this page."""
    hits: tuple[SearchHit, ...]
    """Where the search words occur in these sessions; empty without a search."""
    next_cursor: str | None
    """`cursor` of the next page; `null` on the last page."""


class ConsensusAnswer(Value):
    """Agreement of one round, as measured when the round ended."""

    session_id: str
    """Id of the session."""
    session_status: SessionStatus
    """Its state."""
    round: int
    """Number of the round."""
    responses: int
    """Number of positions that were measured."""
    consensus: AnyConsensus
    """The measured agreement."""
    decision: Decision | None
    """Result of the decision rule for the round."""
    independent_agreement: Share | None
    """Agreement of the answers that agents gave before they had seen any other answer."""
    independent_agreement_at_most: Share | None
    """The largest possible value of the independent agreement: all answers that nobody compared count as the same."""
    independent_agreement_reason: str | None
    """Why there is no independent agreement."""
    exit: ExitResult | None
    """Why the debate ended or stopped."""


class OfferedAgent(Value):
    """An agent that can debate."""

    id: str
    """Id to send in `agents`."""
    name: str
    """Display name."""
    provider: str
    """Name of the provider."""
    model: str | None
    """Model id; `null` if a local server decides."""
    persona: str | None
    """Name of its persona."""
    active: bool = True
    """Whether the agent can be used, according to its last call or health check; false if its key was refused."""
    error: str | None = None
    """Why the agent is not active."""


class AgentList(Value):
    """Agents and models that can debate on this server."""

    agents: tuple[OfferedAgent, ...]
    """Default agents, which debate if a request names no agents."""
    models: tuple[str, ...]
    """Models that a request may name in addition to the agents."""


class ModeList(Value):
    """Debate modes of this server."""

    modes: tuple[ModeOffer, ...]
    """Debate modes."""


class OfferedProfile(Value):
    """A specialised agent for teams."""

    name: str
    """Name to send in `agents` of a conversation."""
    tools: tuple[str, ...]
    """Names of its tools."""
    max_steps: int
    """Maximum number of model calls in one turn."""
    on_error: ErrorAction
    """What happens when its turn fails."""


class ProfileList(Value):
    """Profiles that teams of this server can use."""

    profiles: tuple[OfferedProfile, ...]
    """Specialised agents."""


class LimitLeft(Value):
    """What is left of one limit."""

    limit: Literal["conversations", "rounds", "concurrent"]
    """Name of the limit."""
    quota: int
    """How much the limit allows."""
    remaining: int
    """How much is left."""
    window_s: int | None
    """Time window of the limit in seconds; `null` if it counts only what runs now."""
    reset_s: int | None
    """Seconds until more is available; `null` if nothing is used."""


class Me(Value):
    """The caller and their permissions."""

    user: str
    """Name of the user."""
    scopes: tuple[Scope, ...]
    """Scopes of the user."""
    token_id: str | None
    """Id of the user's token."""
    expires_at: Timestamp | None
    """When the token expires."""
    limits: tuple[LimitLeft, ...]
    """What is left of the user's limits."""
