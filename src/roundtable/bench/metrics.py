"""Metrics of one debate, to compare debates by: time, interaction, content and agreement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean, pvariance
from typing import Annotated, Final

from pydantic import Field, model_validator

from roundtable.types import AgentResponse, Share, Usage, Value
from roundtable.types.base import with_upper_bound

__all__ = [
    "BenchmarkMetrics",
    "ConsensusMetrics",
    "ContentMetrics",
    "InteractionMetrics",
    "LatencyMetrics",
    "interaction_score",
    "measure_content",
    "measure_interaction",
]

_Amount = Annotated[float, Field(ge=0)]

_GENERIC: Final = re.compile(
    r"""
    \b(?:
        previous\ (?:speaker|agent|response|argument|point)s?
      | as\ [\w'-]+(?:\ [\w'-]+)?\ (?:said|says|noted|notes|mentioned|mentions|argued|argues|pointed\ out|points\ out)
      | (?:dis)?agree(?:s|ing|d)?\ with
      | (?:counter|rebut|refute)(?:s|ing|ed)?\ (?:the|that|this|an?|their|his|her)\ (?:argument|claim|point)s?
      | (?:respond|repl(?:y|ies|ied|ying))(?:s|ing|ed)?\ to
      | build(?:s|ing)?\ (?:up)?on\ (?:the|that|this|what)
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Phrases that refer to another speaker without a name."""
_MOST_QUESTIONS: Final = 3


class LatencyMetrics(Value):
    """How long a debate took."""

    total_ms: _Amount
    """Milliseconds of all rounds together."""
    per_round_ms: tuple[_Amount, ...] = ()
    """Milliseconds of each round."""
    per_agent_ms: Mapping[str, _Amount] = Field(default_factory=dict)
    """Milliseconds of all turns of each agent, by agent id."""


class InteractionMetrics(Value):
    """How much agents responded to each other, detected by names and phrases."""

    cross_reference_count: _Amount
    """References to earlier speakers, at most one per answer and speaker."""
    rebuttal_depth: _Amount
    """Most consecutive rounds with such a reference."""
    question_response_pairs: _Amount
    """Questions, at most three per answer, of agents that are referred to in the next round."""


class ContentMetrics(Value):
    """The content of the answers."""

    avg_confidence: Share
    """Mean reported confidence of all answers."""
    confidence_variance: _Amount
    """Population variance of the confidence."""
    tool_calls_per_agent: Mapping[str, _Amount] = Field(default_factory=dict)
    """Tools called, by agent id."""
    citation_count: _Amount
    """Citations in all answers."""
    role_violations: _Amount = 0
    """Answers that left their assigned side, or did not state it."""


class ConsensusMetrics(Value):
    """How much agents agreed in the end, and how soon."""

    agreement_level: Share
    """Agreement of the last round that is certain."""
    agreement_at_most: Share = 1.0
    """The same if answers that nobody compared say the same. Equal to `agreement_level` if it is left out."""
    method: str
    """How it was measured: the method of the debate, or `"declared"` if the debate did not measure it."""
    convergence_round: int | None = None
    """First round in which confidence hardly changed and all agents are known to give their last answer again; `None`
    if there is none."""
    groupthink_warning: bool = False
    """Whether agreement was high from the first round, or high although no agent referred to another."""

    @model_validator(mode="before")
    @classmethod
    def _one_level(cls, data: object) -> object:
        return with_upper_bound(data, "agreement_level", "agreement_at_most")


class BenchmarkMetrics(Value):
    """Everything that is measured of one debate, or the means of several."""

    session_id: str
    """Session id; for means, that of the first debate."""
    total_rounds: int
    """Rounds planned."""
    rounds_held: _Amount
    """Rounds that were held."""
    latency: LatencyMetrics
    """Time."""
    interaction: InteractionMetrics
    """Exchange."""
    content: ContentMetrics
    """Answers."""
    consensus: ConsensusMetrics
    """Agreement."""
    usage: Usage = Usage()
    """What it consumed; for means, the sum."""


def interaction_score(found: InteractionMetrics) -> float:
    """Return one score for the interaction: `2 references + 3 depth + pairs`, no unit, at least 0.

    Example:
        >>> interaction_score(InteractionMetrics(cross_reference_count=4, rebuttal_depth=2, question_response_pairs=1))
        15.0
    """
    return 2.0 * found.cross_reference_count + 3.0 * found.rebuttal_depth + found.question_response_pairs


def measure_content(rounds: Sequence[Sequence[AgentResponse]]) -> ContentMetrics:
    """Measure the content of the answers of all rounds."""
    answers = [answer for round_responses in rounds for answer in round_responses]
    confidences = [answer.confidence for answer in answers]
    tools: dict[str, float] = {}
    for answer in answers:
        tools[answer.agent_id] = tools.get(answer.agent_id, 0) + len(answer.tool_calls)
    return ContentMetrics(
        avg_confidence=fmean(confidences) if confidences else 0.0,
        confidence_variance=pvariance(confidences) if confidences else 0.0,
        tool_calls_per_agent=tools,
        citation_count=sum(len(answer.citations) for answer in answers),
        role_violations=sum(answer.role_violation is not None for answer in answers),
    )


def measure_interaction(rounds: Sequence[Sequence[AgentResponse]]) -> InteractionMetrics:
    """Count references of agents to each other.

    A reference is the whole name of an agent that has spoken before. Without a name, a phrase such as "I disagree with"
    counts as a reference to the other agent that spoke first. Names of one letter are ignored.
    """
    speakers: dict[str, str] = {}
    references: list[list[frozenset[str]]] = []
    for round_responses in rounds:
        round_references: list[frozenset[str]] = []
        for response in round_responses:
            round_references.append(_references(response, speakers))
            speakers.setdefault(response.agent_id, response.agent_name)
        references.append(round_references)
    pairs = 0
    for round_responses, next_references in zip(rounds, references[1:], strict=False):
        taken_up = frozenset[str]().union(*next_references)
        counts = (
            min((response.position + response.reasoning).count("?"), _MOST_QUESTIONS) for response in round_responses
        )
        pairs += sum(
            count for response, count in zip(round_responses, counts, strict=True) if response.agent_id in taken_up
        )
    return InteractionMetrics(
        cross_reference_count=sum(
            len(speaker_ids) for round_references in references for speaker_ids in round_references
        ),
        rebuttal_depth=_longest_run([any(round_references) for round_references in references]),
        question_response_pairs=pairs,
    )


def _references(response: AgentResponse, speakers: Mapping[str, str]) -> frozenset[str]:
    others = {agent: name for agent, name in speakers.items() if agent != response.agent_id}
    text = f"{response.position}\n{response.reasoning}"
    named = frozenset(agent for agent, name in others.items() if _names(name, text))
    if not named and others and _GENERIC.search(text):
        return frozenset({next(iter(others))})
    return named


def _names(name: str, text: str) -> bool:
    return len(name) > 1 and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _longest_run(flags: Sequence[bool]) -> int:
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best
