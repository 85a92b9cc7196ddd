"""The four-layer response: what to do, who says what, what it rests on, where to dig. Pure; no model."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self

from roundtable.analysis.key_points import key_points_by_rules
from roundtable.scoring.words import counted
from roundtable.types import (
    ActionRecommendation,
    AgentResponseSummary,
    ConfidenceChange,
    Conflict,
    ConflictPosition,
    DecisionLayer,
    DetailReference,
    EvidenceLayer,
    EvidenceUsed,
    MetadataLayer,
    RoundtableResponse,
    VerificationHint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundtable.settings import Settings
    from roundtable.types import (
        AgentResponse,
        AnyConsensus,
        ConsensusLevel,
        DebateRecord,
        JsonValue,
        RoundRecord,
        RoundtableStatus,
    )

__all__ = ["HIGH_AGREEMENT", "MEDIUM_AGREEMENT", "ResponseSettings", "build_response", "cut_at_sentence", "level_of"]

HIGH_AGREEMENT: Final = Decimal("0.7")
"""Agreement from which the level is `high`."""
MEDIUM_AGREEMENT: Final = Decimal("0.4")
"""Agreement from which the level is `medium`."""

_MOST: Final = 3
_CUT_FROM: Final = 0.7
_SENTENCE_END: Final = re.compile(r"[.!?]+(?=\s)|[。\uff01\uff1f]")
_SEARCHES: Final = ("search", "web", "perplexity")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSettings:
    """Thresholds of the response; compared exactly, as decimals."""

    high_consensus: Decimal = HIGH_AGREEMENT
    """`ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD`."""
    medium_consensus: Decimal = MEDIUM_AGREEMENT
    """`ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD`."""
    low_confidence: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD`: below it an answer deserves a second look."""
    confidence_variance: Decimal = Decimal("0.04")
    """`ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD`: above it confidences conflict."""
    min_reasoning_ratio: Decimal = Decimal("0.5")
    """`ROUNDTABLE_MIN_REASONING_LENGTH_RATIO`: of the mean length; shorter reasoning deserves a second look."""
    high_confidence_action: Decimal = Decimal("0.8")
    """`ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD`: mean confidence that, with high agreement, says proceed."""
    low_confidence_action: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD`: mean confidence below which one conflict says verify."""
    very_low_confidence_action: Decimal = Decimal("0.5")
    """`ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD`: mean confidence below which details are needed."""
    summary_chars: int = 200
    """`ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH`: most characters of the summary; 0 does not limit it."""
    debug: bool = False
    """`ROUNDTABLE_DEBUG_MODE`: nothing is cut."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take the thresholds from the environment."""
        return cls(
            high_consensus=settings.high_consensus_threshold,
            medium_consensus=settings.medium_consensus_threshold,
            low_confidence=settings.low_confidence_threshold,
            confidence_variance=settings.confidence_variance_threshold,
            min_reasoning_ratio=settings.min_reasoning_length_ratio,
            high_confidence_action=settings.high_confidence_action_threshold,
            low_confidence_action=settings.low_confidence_action_threshold,
            very_low_confidence_action=settings.very_low_confidence_action_threshold,
            summary_chars=settings.consensus_summary_max_length,
            debug=settings.debug_mode,
        )


_DEFAULTS: Final = ResponseSettings()


def build_response(record: DebateRecord, settings: ResponseSettings = _DEFAULTS) -> RoundtableResponse | None:
    """Show the last complete round in four layers; `None` while there is none.

    What to do, by the first rule that fits: a single position says `verify`; high agreement and a mean confidence of
    at least 0.8 say `proceed`; more than one conflict, or one with a mean confidence below 0.6, say `verify`; a mean
    confidence below 0.5 or low agreement say `query_detail`; all else says `proceed`.
    """
    complete = [held for held in record.rounds if held.complete and held.consensus is not None]
    if not complete:
        return None
    last, before = complete[-1], complete[-2] if len(complete) > 1 else None
    consensus = last.consensus
    assert consensus is not None  # noqa: S101  (only measured rounds were taken)
    said = last.responses
    conflicts = _conflicts(said, consensus, settings)
    params: dict[str, JsonValue] = {"sessionId": record.session.id, "roundNumber": last.number}
    return RoundtableResponse(
        session_id=record.session.id,
        topic=record.session.config.topic,
        mode=record.session.config.mode,
        round_number=last.number,
        total_rounds=record.total_rounds,
        status=_status(record, last),
        decision=_decision(said, consensus, conflicts, settings),
        agent_responses=tuple(_summary(one, consensus, before) for one in said),
        evidence=EvidenceLayer(
            total_citations=sum(len(one.citations) for one in said),
            conflicts=conflicts,
            consensus_summary=consensus.summary
            if settings.debug
            else cut_at_sentence(consensus.summary, settings.summary_chars),
        ),
        metadata=MetadataLayer(
            detail_reference=DetailReference(tool="get_round_details", params=params),
            verification_hints=_hints(said, settings),
        ),
        context_requests=record.context_requests or None,
    )


def _status(record: DebateRecord, last: RoundRecord) -> RoundtableStatus:
    if record.status == "completed" or last.number >= record.total_rounds:
        return "completed"
    waits = any(asked.priority == "required" for asked in record.context_requests)
    return "needs_context" if waits else "in_progress"


def level_of(score: float, settings: ResponseSettings = _DEFAULTS) -> ConsensusLevel:
    """Give the level of an agreement score, compared as the decimals they are written as.

    Example:
        >>> level_of(0.7), level_of(0.4), level_of(0.39999)
        ('high', 'medium', 'low')
    """
    exact = Fraction(str(score))
    if exact >= Fraction(settings.high_consensus):
        return "high"
    return "medium" if exact >= Fraction(settings.medium_consensus) else "low"


def _mean(said: Sequence[AgentResponse]) -> Fraction:
    total = sum((Fraction(str(one.confidence)) for one in said), Fraction(0))
    return total / len(said) if said else Fraction(0)


def _decision(
    said: Sequence[AgentResponse], consensus: AnyConsensus, conflicts: Sequence[Conflict], settings: ResponseSettings
) -> DecisionLayer:
    score = consensus.agreement_level
    level, mean = level_of(score, settings), _mean(said)
    sure = f"a mean confidence of {float(mean):.0%}"
    many = counted(len(conflicts), "conflict")
    if len(said) == 1:
        advice = ActionRecommendation(type="verify", reason=f"One agent alone gave a position, with {sure}.")
    elif mean >= Fraction(settings.high_confidence_action) and level == "high":
        advice = ActionRecommendation(type="proceed", reason=f"Agreement is high, with {sure}.")
    elif len(conflicts) > 1 or (mean < Fraction(settings.low_confidence_action) and conflicts):
        advice = ActionRecommendation(type="verify", reason=f"There {_are(conflicts)} {many}, with {sure}.")
    elif mean < Fraction(settings.very_low_confidence_action) or level == "low":
        advice = ActionRecommendation(type="query_detail", reason=f"Agreement is {level}, with {sure}.")
    else:
        advice = ActionRecommendation(type="proceed", reason=f"Agreement is {level}, with {sure} and {many}.")
    return DecisionLayer(consensus_level=level, agreement_score=score, action_recommendation=advice)


def _are(conflicts: Sequence[Conflict]) -> str:
    return "is" if len(conflicts) == 1 else "are"


def _summary(said: AgentResponse, consensus: AnyConsensus, before: RoundRecord | None) -> AgentResponseSummary:
    tools = [call.tool_name for call in said.tool_calls]
    points = consensus.key_points.get(said.agent_id) or key_points_by_rules(said.reasoning or said.position)
    return AgentResponseSummary(
        agent_id=said.agent_id,
        agent_name=said.agent_name,
        position=said.position,
        key_points=points,
        confidence=said.confidence,
        confidence_change=_change(said, before),
        evidence_used=EvidenceUsed(
            web_searches=sum(any(word in tool.lower() for word in _SEARCHES) for tool in tools),
            citations=len(said.citations),
            tool_calls=tuple(dict.fromkeys(tools)),
        ),
    )


def _change(said: AgentResponse, before: RoundRecord | None) -> ConfidenceChange | None:
    earlier = [one for one in before.responses if one.agent_id == said.agent_id] if before else []
    if before is None or not earlier:
        return None
    delta = Fraction(str(said.confidence)) - Fraction(str(earlier[-1].confidence))
    reason = "strengthened" if delta > 0 else "reconsidered" if delta < 0 else "maintained"
    return ConfidenceChange(delta=float(delta), previous_round=before.number, reason=reason)


def _conflicts(
    said: Sequence[AgentResponse], consensus: AnyConsensus, settings: ResponseSettings
) -> tuple[Conflict, ...]:
    """Find what contradicts: confidences far apart, opposite stances, different camps."""
    if len(said) < 2:
        return ()
    found: list[Conflict] = []
    if _variance(said) > Fraction(settings.confidence_variance):
        found.append(_conflict("Confidence", ((one, f"{round(one.confidence * 100)} % sure") for one in said)))
    if {"YES", "NO"} <= {one.stance for one in said}:
        found.append(_conflict("Stance", ((one, one.stance) for one in said if one.stance)))
    camp = {agent: cluster.theme for cluster in consensus.clusters for agent in cluster.agent_ids}
    held = [(one, camp[one.agent_id]) for one in said if one.agent_id in camp]
    if len({theme for _, theme in held}) > 1:
        points = consensus.disagreement_points
        found.append(_conflict(points[0] if points and consensus.method == "ai" else "Position", held))
    return tuple(found[:_MOST])


def _conflict(issue: str, held: Iterable[tuple[AgentResponse, str]]) -> Conflict:
    return Conflict(
        issue=issue,
        positions=tuple(ConflictPosition(agent_id=one.agent_id, stance=stance) for one, stance in held),
    )


def _variance(said: Sequence[AgentResponse]) -> Fraction:
    mean = _mean(said)
    return sum(((Fraction(str(one.confidence)) - mean) ** 2 for one in said), Fraction(0)) / len(said)


def _hints(said: Sequence[AgentResponse], settings: ResponseSettings) -> tuple[VerificationHint, ...]:
    found: list[VerificationHint] = []
    unsure = [one.agent_name for one in said if Fraction(str(one.confidence)) < Fraction(settings.low_confidence)]
    if unsure:
        reason = f"Low confidence: {', '.join(unsure)}"
        found.append(VerificationHint(field="confidence", reason=reason, suggested_tool="get_thoughts"))
    bare = [one.agent_name for one in said if not one.citations]
    if bare and len(bare) < len(said):
        reason = f"No sources: {', '.join(bare)}"
        found.append(VerificationHint(field="citations", reason=reason, suggested_tool="get_citations"))
    mean = math.fsum(len(one.reasoning) for one in said) / len(said) if said else 0.0
    short = [one.agent_name for one in said if len(one.reasoning) < mean * float(settings.min_reasoning_ratio)]
    if short:
        reason = f"Much shorter reasoning than the others: {', '.join(short)}"
        found.append(VerificationHint(field="reasoning", reason=reason, suggested_tool="get_round_details"))
    return tuple(found[:_MOST])


def cut_at_sentence(text: str, limit: int) -> str:
    """Cut a text to a length: behind its last sentence where that keeps at least 70 %, else hard, with dots.

    A point within a word or a number ends no sentence.

    Example:
        >>> cut_at_sentence("They agree on the goal. They part on the way.", 30)
        'They agree on the goal.'
        >>> cut_at_sentence("They agree on the goal. They part on the way.", 20), cut_at_sentence("All.", 0)
        ('They agree on the...', 'All.')
    """
    if limit <= 0 or len(text) <= limit:
        return text
    head = text[:limit]
    end = max((found.end() for found in _SENTENCE_END.finditer(text, 0, limit + 1) if found.end() <= limit), default=0)
    if end >= limit * _CUT_FROM:
        return head[:end]
    return head[: max(0, limit - 3)].rstrip() + "..."[: min(3, limit)]
