"""The four-layer response: decide at a glance, dig where it matters."""

from __future__ import annotations

from typing import Literal, TypeAlias

from roundtable.types.base import JsonObject, Share, Value
from roundtable.types.debate import DebateMode
from roundtable.types.requests import ContextRequest

__all__ = [
    "ActionRecommendation",
    "ActionRecommendationType",
    "AgentResponseSummary",
    "ConfidenceChange",
    "Conflict",
    "ConflictPosition",
    "ConsensusLevel",
    "DecisionLayer",
    "DetailReference",
    "EvidenceLayer",
    "EvidenceUsed",
    "MetadataLayer",
    "RoundtableResponse",
    "RoundtableStatus",
    "VerificationHint",
]

ConsensusLevel: TypeAlias = Literal["high", "medium", "low"]
"""`high` from 0.7, `medium` from 0.4, else `low`."""

ActionRecommendationType: TypeAlias = Literal["proceed", "verify", "query_detail"]
"""What the reader should do next."""

RoundtableStatus: TypeAlias = Literal["completed", "needs_context", "in_progress"]
"""State of the debate behind a response."""


class ActionRecommendation(Value):
    """What to do next, and why."""

    type: ActionRecommendationType
    """What to do."""
    reason: str
    """Why."""


class DecisionLayer(Value):
    """Layer 1: can I act on this?"""

    consensus_level: ConsensusLevel
    """Agreement in three steps."""
    agreement_score: Share
    """Agreement in [0, 1]."""
    action_recommendation: ActionRecommendation
    """What to do next."""


class ConfidenceChange(Value):
    """How an agent's confidence moved since its previous round."""

    delta: float
    """Difference in [-1, 1]."""
    previous_round: int
    """Round compared with."""
    reason: str
    """Direction in a word."""


class EvidenceUsed(Value):
    """What an agent leaned on."""

    web_searches: int
    """Searches made."""
    citations: int
    """Sources cited."""
    tool_calls: tuple[str, ...] = ()
    """Distinct tools used."""


class AgentResponseSummary(Value):
    """Layer 2: one agent in brief."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name."""
    position: str
    """Its position."""
    key_points: tuple[str, ...] = ()
    """Two to four points of its reasoning."""
    confidence: Share
    """Reported confidence."""
    confidence_change: ConfidenceChange | None = None
    """Movement since the previous round."""
    evidence_used: EvidenceUsed
    """What it leaned on."""


class ConflictPosition(Value):
    """One side of a conflict."""

    agent_id: str
    """Who."""
    stance: str
    """What they hold."""


class Conflict(Value):
    """Agents that contradict each other on one issue."""

    issue: str
    """On what."""
    positions: tuple[ConflictPosition, ...]
    """The sides."""


class EvidenceLayer(Value):
    """Layer 3: what it rests on."""

    total_citations: int
    """Sources cited by all agents."""
    conflicts: tuple[Conflict, ...] = ()
    """Contradictions."""
    consensus_summary: str
    """Agreement in words."""


class DetailReference(Value):
    """Which tool gives the rest."""

    tool: str
    """Tool name."""
    params: JsonObject
    """Its arguments."""


class VerificationHint(Value):
    """What deserves a second look."""

    field: str
    """Where."""
    reason: str
    """Why."""
    suggested_tool: str
    """Tool that shows it."""


class MetadataLayer(Value):
    """Layer 4: where to dig."""

    detail_reference: DetailReference
    """The full record."""
    verification_hints: tuple[VerificationHint, ...] = ()
    """What deserves a second look."""
    has_more_details: bool = True
    """Whether the full record holds more than this response."""


class RoundtableResponse(Value):
    """One round in four layers."""

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    round_number: int
    """Round shown."""
    total_rounds: int
    """Rounds planned."""
    status: RoundtableStatus = "in_progress"
    """State of the debate."""
    decision: DecisionLayer
    """Layer 1."""
    agent_responses: tuple[AgentResponseSummary, ...]
    """Layer 2."""
    evidence: EvidenceLayer
    """Layer 3."""
    metadata: MetadataLayer
    """Layer 4."""
    context_requests: tuple[ContextRequest, ...] | None = None
    """What agents asked the caller for."""
