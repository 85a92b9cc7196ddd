"""The four-layer response: first a short decision, then more and more detail."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import model_validator

from roundtable.core.types.answers import ContextRequest
from roundtable.core.types.base import JsonObject, KeepsNulls, Share, Value, with_upper_bound
from roundtable.core.types.debate import DebateMode

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

ConsensusLevel: TypeAlias = Literal["high", "medium", "low", "unknown"]
"""`high` from 0.7, `medium` from 0.4, else `low`; `unknown` if the bounds of the agreement have different levels."""

ActionRecommendationType: TypeAlias = Literal["proceed", "verify", "query_detail"]
"""Recommended next step for the reader of the result."""

RoundtableStatus: TypeAlias = Literal["completed", "needs_context", "in_progress"]
"""State of the debate to which a response belongs."""


class ActionRecommendation(Value):
    """What to do next, and why."""

    type: ActionRecommendationType
    """What to do."""
    reason: str
    """Reason for the recommendation."""


class DecisionLayer(Value):
    """Layer 1: whether the reader can act on the result."""

    consensus_level: ConsensusLevel
    """Agreement as `high`, `medium` or `low`; `unknown` if some answers were not compared and several levels are
    possible."""
    agreement_score: Share
    """Agreement in [0, 1] that is certain."""
    agreement_at_most: Share = 1.0
    """Agreement if all answers that were not compared say the same. Equal to `agreement_score` if it is left out."""
    action_recommendation: ActionRecommendation
    """What to do next."""

    @model_validator(mode="before")
    @classmethod
    def _one_level(cls, data: object) -> object:
        return with_upper_bound(data, "agreement_score", "agreement_at_most")


class ConfidenceChange(Value):
    """How an agent's confidence changed since its previous round."""

    delta: float
    """Change in [-1, 1]."""
    previous_round: int
    """Round with which the confidence is compared."""
    reason: str
    """Direction of the change, in one word."""


class EvidenceUsed(Value):
    """Evidence that an agent used."""

    web_searches: int
    """Number of web searches."""
    citations: int
    """Number of cited sources."""
    tool_calls: tuple[str, ...] = ()
    """Names of the tools that were used, without duplicates."""


class AgentResponseSummary(KeepsNulls):
    """Layer 2: one agent in brief."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name."""
    position: str
    """Position of the agent."""
    key_points: tuple[str, ...] = ()
    """Two to four key points of the agent's reasoning."""
    confidence: Share | None = None
    """Reported confidence; `None` if none is stated."""
    confidence_change: ConfidenceChange | None = None
    """Change of the confidence since the previous round."""
    evidence_used: EvidenceUsed
    """Evidence that the agent used."""


class ConflictPosition(Value):
    """One side of a conflict."""

    agent_id: str
    """Agent id."""
    stance: str
    """Position of the agent."""


class Conflict(Value):
    """Agents that contradict each other on one issue."""

    issue: str
    """The issue on which the agents disagree."""
    positions: tuple[ConflictPosition, ...]
    """Position of each agent in the conflict."""


class EvidenceLayer(Value):
    """Layer 3: evidence and contradictions."""

    total_citations: int
    """Number of sources cited by all agents."""
    conflicts: tuple[Conflict, ...] = ()
    """Contradictions between agents."""
    consensus_summary: str
    """Agreement in words."""


class DetailReference(Value):
    """Tool call that returns the full record."""

    tool: str
    """Tool name."""
    params: JsonObject
    """Arguments of the tool."""


class VerificationHint(Value):
    """A part of the result that should be checked again."""

    field: str
    """Name of the field in the response."""
    reason: str
    """Why the field should be checked again."""
    suggested_tool: str
    """Tool that shows the details."""


class MetadataLayer(Value):
    """Layer 4: where to find the details."""

    detail_reference: DetailReference
    """Tool call that returns the full record."""
    verification_hints: tuple[VerificationHint, ...] = ()
    """Parts of the result that should be checked again."""
    has_more_details: bool = True
    """Whether the full record contains more than this response."""


class RoundtableResponse(Value):
    """The four-layer response for one round."""

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    round_number: int
    """Round of this response."""
    total_rounds: int
    """Number of planned rounds."""
    status: RoundtableStatus = "in_progress"
    """State of the debate."""
    decision: DecisionLayer
    """Layer 1: whether the reader can act on the result."""
    agent_responses: tuple[AgentResponseSummary, ...]
    """Layer 2: each agent in brief."""
    evidence: EvidenceLayer
    """Layer 3: evidence and contradictions."""
    metadata: MetadataLayer
    """Layer 4: where to find the details."""
    context_requests: tuple[ContextRequest, ...] | None = None
    """Information that agents requested from the caller."""
