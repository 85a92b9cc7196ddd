"""The four-layer response: recommendation, positions, evidence, references to details. Pure, without a model."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self

from roundtable.analysis.decision import unread_turns
from roundtable.analysis.findings import independent_consensus
from roundtable.analysis.health import has_collapsed
from roundtable.analysis.key_points import key_points_by_rules
from roundtable.analysis.movement import have_all_changed
from roundtable.core.base.words import counted, listing, shortened
from roundtable.core.types.layers import (
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
from roundtable.scoring.numbers import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from roundtable.analysis.findings import DebateFacts
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import RoundRecord
    from roundtable.core.types.layers import ConsensusLevel, RoundtableStatus
    from roundtable.settings import Settings

__all__ = ["HIGH_AGREEMENT", "MEDIUM_AGREEMENT", "ResponseSettings", "build_response", "cut_at_sentence", "level_of"]

HIGH_AGREEMENT: Final = Decimal("0.7")
"""Agreement from which on the level is `high`."""
MEDIUM_AGREEMENT: Final = Decimal("0.4")
"""Agreement from which on the level is `medium`."""

_MAX_ITEMS: Final = 3
_MAX_ISSUE_CHARS: Final = 60
_FAR_BELOW: Final = Fraction(3, 10)
_CUT_FROM: Final = 0.7
_SENTENCE_END: Final = re.compile(r"[.!?]+(?=\s)|[。\uff01\uff1f]")
_SEARCHES: Final = ("search", "web", "perplexity")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSettings:
    """Thresholds of the response; they are compared exactly, as decimals."""

    high_consensus: Decimal = HIGH_AGREEMENT
    """`ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD`: agreement from which on the level is `high`."""
    medium_consensus: Decimal = MEDIUM_AGREEMENT
    """`ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD`: agreement from which on the level is `medium`."""
    low_confidence: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD`: answers with a confidence below this should be verified."""
    confidence_variance: Decimal = Decimal("0.04")
    """`ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD`: above this variance, the confidences conflict."""
    min_reasoning_ratio: Decimal = Decimal("0.5")
    """`ROUNDTABLE_MIN_REASONING_LENGTH_RATIO`: reasoning that is shorter than this share of the mean length should be
    verified."""
    high_confidence_action: Decimal = Decimal("0.8")
    """`ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD`: with high agreement, this mean confidence outweighs conflicts."""
    low_confidence_action: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD`: below this mean confidence, one conflict leads to `verify`."""
    very_low_confidence_action: Decimal = Decimal("0.5")
    """`ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD`: below this mean confidence, the recommendation is
    `query_detail`."""
    summary_chars: int = 200
    """`ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH`: maximum characters of the summary; 0 for no limit."""
    debug: bool = False
    """`ROUNDTABLE_DEBUG_MODE`: the summary is not cut."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Create the thresholds from the settings."""
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


def build_response(result: DebateFacts, settings: ResponseSettings = _DEFAULTS) -> RoundtableResponse | None:
    """Summarise the last complete round in four layers; `None` if there is none.

    The recommendation comes from the first rule that applies:

    1. `query_detail` on low agreement, several conflicts, or a mean confidence below 0.5. High agreement with a mean
       confidence of at least 0.8 outweighs conflicts.
    2. `verify` if one of these is true:
        - there is a single answer, or no answer states a confidence;
        - an agent did not answer, abstained or cast no vote, or its answer or vote could not be read;
        - the agreement is not certainly high;
        - all agree only after they read each other's answers;
        - the agreement before they read each other's answers was more than 0.3 lower, or may have been;
        - there are no independent answers to compare with;
        - every agent gave another answer in the first round;
        - there is no decision;
        - there is a conflict, with medium agreement or a mean confidence below 0.6.
    3. `proceed` otherwise.

    An interval of agreement is low if its upper bound is low, and certainly high if its lower bound is high. The
    confidence of agents that abstained never counts.
    """
    complete = [entry for entry in result.rounds if entry.complete and entry.consensus is not None]
    if not complete:
        return None
    last, previous = complete[-1].as_stated, complete[-2].as_stated if len(complete) > 1 else None
    consensus = last.consensus
    assert consensus is not None  # noqa: S101  (only measured rounds are selected)
    responses = last.responses
    answering = _answering(responses, consensus)
    conflicts = _conflicts(answering, consensus, settings)
    params: dict[str, JsonValue] = {"sessionId": result.session_id, "roundNumber": last.number}
    return RoundtableResponse(
        session_id=result.session_id,
        topic=result.topic,
        mode=result.mode,
        round_number=last.number,
        total_rounds=result.total_rounds,
        status=_status(result, last),
        decision=_decision(result, last, consensus, conflicts, settings),
        agent_responses=tuple(_summary(response, consensus, previous) for response in responses),
        evidence=EvidenceLayer(
            total_citations=sum(len(response.citations) for response in responses),
            conflicts=conflicts,
            consensus_summary=consensus.summary
            if settings.debug
            else cut_at_sentence(consensus.summary, settings.summary_chars),
        ),
        metadata=MetadataLayer(
            detail_reference=DetailReference(tool="get_round_details", params=params),
            verification_hints=_hints(answering, settings),
        ),
        context_requests=result.context_requests or None,
    )


def _status(result: DebateFacts, last: RoundRecord) -> RoundtableStatus:
    if result.session_status == "completed" or last.number >= result.total_rounds:
        return "completed"
    waits = any(request.priority == "required" for request in result.context_requests)
    return "needs_context" if waits else "in_progress"


def level_of(score: float, settings: ResponseSettings = _DEFAULTS) -> ConsensusLevel:
    """Return the level of an agreement score; the score and the thresholds are compared as exact decimals.

    Example:
        >>> level_of(0.7), level_of(0.4), level_of(0.39999)
        ('high', 'medium', 'low')
    """
    level = exact(score)
    if level >= exact(settings.high_consensus):
        return "high"
    return "medium" if level >= exact(settings.medium_consensus) else "low"


def _answering(responses: Sequence[AgentResponse], consensus: AnyConsensus) -> tuple[AgentResponse, ...]:
    """Return the answers of a round without those of agents that abstained."""
    return tuple(response for response in responses if response.agent_id not in consensus.abstained)


def _stated(responses: Sequence[AgentResponse]) -> list[tuple[AgentResponse, float]]:
    """Return the answers that state a confidence, with that confidence."""
    return [(response, response.confidence) for response in responses if response.confidence is not None]


def _mean(responses: Sequence[AgentResponse]) -> Fraction | None:
    """Return the mean of the stated confidences; `None` if none is stated."""
    stated = [exact(confidence) for _, confidence in _stated(responses)]
    return sum(stated, Fraction(0)) / len(stated) if stated else None


def _decision(
    result: DebateFacts,
    last: RoundRecord,
    consensus: AnyConsensus,
    conflicts: Sequence[Conflict],
    settings: ResponseSettings,
) -> DecisionLayer:
    score = consensus.agreement_level
    level = level_of(score, settings)
    is_known = level == level_of(consensus.agreement_at_most, settings) and not _is_alone(last, consensus)
    return DecisionLayer(
        consensus_level=level if is_known else "unknown",
        agreement_score=score,
        agreement_at_most=consensus.agreement_at_most,
        action_recommendation=_advice(result, last, consensus, conflicts, settings),
    )


def _advice(
    result: DebateFacts,
    last: RoundRecord,
    consensus: AnyConsensus,
    conflicts: Sequence[Conflict],
    settings: ResponseSettings,
) -> ActionRecommendation:
    """Return the recommendation for a round; the worst problem of the round decides."""
    level = level_of(consensus.agreement_level, settings)
    answering = _answering(last.responses, consensus)
    mean = _mean(answering)
    agreement = _agreement_in_words(last, consensus, settings)
    finding = agreement if mean is None else f"{agreement}, with a mean confidence of {float(mean):.0%}"
    issues = ", ".join(shortened(conflict.issue, _MAX_ISSUE_CHARS) for conflict in conflicts)
    conflict_count = f"there {_are(conflicts)} {counted(len(conflicts), 'conflict')} ({issues})"
    is_sure = level == "high" and mean is not None and mean >= exact(settings.high_confidence_action)
    is_low = level_of(consensus.agreement_at_most, settings) == "low"
    is_unsure = mean is not None and mean < exact(settings.very_low_confidence_action)
    is_unclear = is_low or len(conflicts) > 1 or is_unsure
    conflict_note = f", and {conflict_count}" if conflicts else ""
    doubts = list(_doubts(result, last, consensus))
    doubts += ["no answer states a confidence"] if answering and mean is None else []
    if is_unclear and not is_sure:
        return ActionRecommendation(type="query_detail", reason=f"{'; '.join([f'{finding}{conflict_note}', *doubts])}.")
    if conflicts and (level == "medium" or mean is None or mean < exact(settings.low_confidence_action)):
        doubts.append(conflict_count)
    if _is_single(last, consensus) or doubts or level != "high":
        return ActionRecommendation(type="verify", reason=f"{'; '.join([finding, *doubts])}.")
    return ActionRecommendation(type="proceed", reason=f"{finding}{conflict_note}.")


def _is_single(last: RoundRecord, consensus: AnyConsensus) -> bool:
    return len(last.responses) - len(consensus.abstained) == 1


def _is_alone(last: RoundRecord, consensus: AnyConsensus) -> bool:
    """Check whether there are fewer than two answers, so that nothing can agree."""
    return len(last.responses) - len(consensus.abstained) < 2


def _agreement_in_words(last: RoundRecord, consensus: AnyConsensus, settings: ResponseSettings) -> str:
    least, most = consensus.agreement_level, consensus.agreement_at_most
    if consensus.abstained and not consensus.answers:
        return "Nobody gave an answer"
    if _is_single(last, consensus):
        return "One agent alone gave a position"
    if level_of(least, settings) == level_of(most, settings):
        return f"Agreement is {level_of(least, settings)}"
    is_open = consensus.not_compared or consensus.is_lead_open or consensus.method != "ai"
    why = "since it isn't known whether some answers say the same" if is_open else "as they were read"
    if (least, most) == (0, 1):
        return f"Agreement is not measured, {why}"
    return f"Agreement lies between {least:.2f} and {most:.2f}, {why}"


def _doubts(result: DebateFacts, last: RoundRecord, consensus: AnyConsensus) -> Iterator[str]:
    """Yield reasons to verify even high agreement."""
    names = {turn.agent_id: turn.agent_name or turn.agent_id for turn in last.turns}
    failed = [turn.agent_id for turn in last.missing]
    silent = last.decision.abstained if last.decision is not None else ()
    # Decisions of debates list voters by name; only decisions on plain lists of ballots list them by index.
    not_voting = [str(agent) for agent in silent if agent not in {*failed, *consensus.abstained}]
    unread = tuple(dict.fromkeys(turn.agent_id for turn in unread_turns(last)))
    silences: tuple[tuple[Sequence[str], str], ...] = (
        (failed, "did not answer"),
        (unread, "gave an answer that could not be read"),
        (consensus.abstained, "abstained"),
        (not_voting, "did not vote"),
    )
    for agents, verb in silences:
        if agents:
            yield f"{listing([names.get(agent, agent) for agent in agents])} {verb}"
    if last.decision is not None and last.decision.winner is None and not _is_single(last, consensus):
        yield "no answer was decided on"
    complete = [entry for entry in result.rounds if entry.complete]
    if has_collapsed(complete):
        yield "all agree only after they read each other's answers"
        return
    if have_all_changed(complete):
        yield "every agent gave another answer in the first round"
    before = independent_consensus(complete)
    if result.independent_agreement is None and result.independent_agreement_reason:
        yield f"there are no independent answers to compare with: {result.independent_agreement_reason}"
    if before is None or result.independent_agreement is None:
        return
    enough = exact(consensus.agreement_level) - _FAR_BELOW
    if exact(before.agreement_at_most) < enough:
        yield f"before they read each other's answers, agreement was at most {before.agreement_at_most:.2f}"
    elif exact(before.agreement_level) < enough:
        yield "it isn't known whether they agreed before they read each other's answers"


def _are(conflicts: Sequence[Conflict]) -> str:
    return "is" if len(conflicts) == 1 else "are"


def _summary(response: AgentResponse, consensus: AnyConsensus, previous: RoundRecord | None) -> AgentResponseSummary:
    tools = [call.tool_name for call in response.tool_calls]
    points = consensus.key_points.get(response.agent_id) or key_points_by_rules(response.reasoning or response.position)
    return AgentResponseSummary(
        agent_id=response.agent_id,
        agent_name=response.agent_name,
        position=response.position,
        key_points=points,
        confidence=response.confidence,
        confidence_change=_change(response, previous),
        evidence_used=EvidenceUsed(
            web_searches=sum(any(word in tool.lower() for word in _SEARCHES) for tool in tools),
            citations=len(response.citations),
            tool_calls=tuple(dict.fromkeys(tools)),
        ),
    )


def _change(response: AgentResponse, previous: RoundRecord | None) -> ConfidenceChange | None:
    earlier = [answer for answer in previous.responses if answer.agent_id == response.agent_id] if previous else []
    if previous is None or not earlier or response.confidence is None or earlier[-1].confidence is None:
        return None
    delta = exact(response.confidence) - exact(earlier[-1].confidence)
    reason = "strengthened" if delta > 0 else "reconsidered" if delta < 0 else "maintained"
    return ConfidenceChange(delta=float(delta), previous_round=previous.number, reason=reason)


def _conflicts(
    responses: Sequence[AgentResponse], consensus: AnyConsensus, settings: ResponseSettings
) -> tuple[Conflict, ...]:
    """Return the conflicts of a round: very different confidences, opposite stances, different camps."""
    if len(responses) < 2:
        return ()
    conflicts: list[Conflict] = []
    if _variance(responses) > exact(settings.confidence_variance):
        conflicts.append(
            _conflict(
                "Confidence",
                ((response, f"{round(confidence * 100)} % sure") for response, confidence in _stated(responses)),
            )
        )
    if {"YES", "NO"} <= {response.stance for response in responses} and len(consensus.clusters) != 1:
        conflicts.append(
            _conflict("Stance", ((response, response.stance) for response in responses if response.stance))
        )
    themes = {agent: cluster.theme for cluster in consensus.clusters for agent in cluster.agent_ids}
    unclear = set(themes) if consensus.is_lead_open else set(consensus.not_compared)
    with_theme = [
        (response, response.choice or response.bottom_line or themes[response.agent_id])
        for response in responses
        if response.agent_id in themes and response.agent_id not in unclear
    ]
    if len({themes[response.agent_id] for response, _ in with_theme}) > 1:
        points = consensus.disagreement_points
        conflicts.append(_conflict(points[0] if points and consensus.method == "ai" else "Position", with_theme))
    return tuple(conflicts[:_MAX_ITEMS])


def _conflict(issue: str, stances: Iterable[tuple[AgentResponse, str]]) -> Conflict:
    return Conflict(
        issue=issue,
        positions=tuple(ConflictPosition(agent_id=response.agent_id, stance=stance) for response, stance in stances),
    )


def _variance(responses: Sequence[AgentResponse]) -> Fraction:
    stated = [exact(confidence) for _, confidence in _stated(responses)]
    mean = sum(stated, Fraction(0)) / max(1, len(stated))
    return sum(((confidence - mean) ** 2 for confidence in stated), Fraction(0)) / max(1, len(stated))


def _hints(responses: Sequence[AgentResponse], settings: ResponseSettings) -> tuple[VerificationHint, ...]:
    hints: list[VerificationHint] = []
    unsure = [
        response.agent_name
        for response, confidence in _stated(responses)
        if exact(confidence) < exact(settings.low_confidence)
    ]
    if unsure:
        reason = f"Low confidence: {', '.join(unsure)}"
        hints.append(VerificationHint(field="confidence", reason=reason, suggested_tool="get_thoughts"))
    without_sources = [response.agent_name for response in responses if not response.citations]
    if without_sources and len(without_sources) < len(responses):
        reason = f"No sources: {', '.join(without_sources)}"
        hints.append(VerificationHint(field="citations", reason=reason, suggested_tool="get_citations"))
    mean = math.fsum(len(response.reasoning) for response in responses) / len(responses) if responses else 0.0
    short = [
        response.agent_name
        for response in responses
        if len(response.reasoning) < mean * float(settings.min_reasoning_ratio)
    ]
    if short:
        reason = f"Much shorter reasoning than the others: {', '.join(short)}"
        hints.append(VerificationHint(field="reasoning", reason=reason, suggested_tool="get_round_details"))
    return tuple(hints[:_MAX_ITEMS])


def cut_at_sentence(text: str, limit: int) -> str:
    """Shorten a text: after a whole sentence if at least 70 % of the limit remains, else anywhere, with dots.

    A full stop within a word or a number does not end a sentence.

    Example:
        >>> cut_at_sentence("They agree on the goal. They part on the way.", 30)
        'They agree on the goal.'
        >>> cut_at_sentence("They agree on the goal. They part on the way.", 20), cut_at_sentence("All.", 0)
        ('They agree on the...', 'All.')
    """
    if limit <= 0 or len(text) <= limit:
        return text
    head = text[:limit]
    end = max((match.end() for match in _SENTENCE_END.finditer(text, 0, limit + 1) if match.end() <= limit), default=0)
    if end >= limit * _CUT_FROM:
        return head[:end]
    return head[: max(0, limit - 3)].rstrip() + "..."[: min(3, limit)]
