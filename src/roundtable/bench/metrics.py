"""What one debate took and how its agents dealt with each other, as figures that two debates can be compared by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean, pvariance
from typing import Annotated, Final

from pydantic import Field

from roundtable.analysis.lexicon import STOP_WORDS
from roundtable.types import AgentResponse, Share, Usage, Value

__all__ = [
    "BenchmarkMetrics",
    "ConsensusMetrics",
    "ContentMetrics",
    "InteractionMetrics",
    "LatencyMetrics",
    "interaction_score",
    "keywords",
    "lexical_level",
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
"""Words that answer somebody without a name."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_MOST_QUESTIONS: Final = 3


class LatencyMetrics(Value):
    """How long a debate took."""

    total_ms: _Amount
    """Milliseconds of all rounds together."""
    per_round_ms: tuple[_Amount, ...] = ()
    """Milliseconds of each round."""
    per_agent_ms: Mapping[str, _Amount] = Field(default_factory=dict)
    """Milliseconds that each agent took in all its turns, by agent id."""


class InteractionMetrics(Value):
    """How far agents took up what others had said; read off names and turns of phrase."""

    cross_reference_count: _Amount
    """Answers that refer to an earlier speaker, once for each speaker they refer to."""
    rebuttal_depth: _Amount
    """Most rounds in a row that hold such a reference."""
    question_response_pairs: _Amount
    """Questions of an answer, at most three each, that somebody refers to in the next round."""


class ContentMetrics(Value):
    """What the answers hold."""

    avg_confidence: Share
    """Mean reported confidence of all answers."""
    confidence_variance: _Amount
    """Population variance of it."""
    tool_calls_per_agent: Mapping[str, _Amount] = Field(default_factory=dict)
    """Tools called, by agent id."""
    citation_count: _Amount
    """Sources named in all answers."""
    role_violations: _Amount = 0
    """Answers that left the side they were given, or did not say it."""


class ConsensusMetrics(Value):
    """How far agents agreed in the end, and how soon."""

    agreement_level: Share
    """Agreement of the last round."""
    method: str
    """How it was measured: that of the debate; `"lexical"`, which is no agreement at all, where nobody measured it."""
    convergence_round: int | None = None
    """First round after which neither confidence nor words moved much; `None` when there is none."""
    groupthink_warning: bool = False
    """Whether agreement was high from the first round, or high without anybody taking up a word of another."""


class BenchmarkMetrics(Value):
    """Everything that is measured of one debate, or the means of several."""

    session_id: str
    """Session id; of the first, for means."""
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
    """What it consumed; of all, for means."""


def interaction_score(found: InteractionMetrics) -> float:
    """Give one number for the exchange: `2 references + 3 depth + pairs`, no unit, from 0.

    Example:
        >>> interaction_score(InteractionMetrics(cross_reference_count=4, rebuttal_depth=2, question_response_pairs=1))
        15.0
    """
    return 2.0 * found.cross_reference_count + 3.0 * found.rebuttal_depth + found.question_response_pairs


def keywords(responses: Sequence[AgentResponse]) -> list[frozenset[str]]:
    """Give the words of each answer that may be evidence of a subject: three letters or more, no stop words."""
    texts = (f"{said.position} {said.reasoning}".casefold() for said in responses)
    return [frozenset(_WORD.findall(text)) - STOP_WORDS for text in texts]


def lexical_level(responses: Sequence[AgentResponse]) -> float:
    """Give the stand-in for agreement of a round that nobody measured: `0.4 mean confidence + 0.6 common words`.

    Common words are the share of all words that every answer holds. One answer or none gives 1.

    Example:
        >>> said = [AgentResponse(agent_id=name, agent_name=name, position="Green tea") for name in ("ada", "bo")]
        >>> lexical_level(said)
        0.8
    """
    if len(responses) < 2:
        return 1.0
    held = keywords(responses)
    everything = frozenset[str]().union(*held)
    common = len(frozenset.intersection(*held)) / len(everything) if everything else 0.0
    return round(0.4 * fmean(said.confidence for said in responses) + 0.6 * common, 9)


def measure_content(rounds: Sequence[Sequence[AgentResponse]]) -> ContentMetrics:
    """Measure what the answers of all rounds hold."""
    said = [one for held in rounds for one in held]
    sure = [one.confidence for one in said]
    tools: dict[str, float] = {}
    for one in said:
        tools[one.agent_id] = tools.get(one.agent_id, 0) + len(one.tool_calls)
    return ContentMetrics(
        avg_confidence=fmean(sure) if sure else 0.0,
        confidence_variance=pvariance(sure) if sure else 0.0,
        tool_calls_per_agent=tools,
        citation_count=sum(len(one.citations) for one in said),
        role_violations=sum(one.role_violation is not None for one in said),
    )


def measure_interaction(rounds: Sequence[Sequence[AgentResponse]]) -> InteractionMetrics:
    """Count who takes up what others have said.

    A reference is the whole name of an agent that has spoken before, or else one of a few turns of phrase such as
    "I disagree with", which counts for the other agent that spoke first. Names of one letter are not looked for.
    """
    spoken: dict[str, str] = {}
    referred: list[list[frozenset[str]]] = []
    for held in rounds:
        of_round: list[frozenset[str]] = []
        for said in held:
            of_round.append(_references(said, spoken))
            spoken.setdefault(said.agent_id, said.agent_name)
        referred.append(of_round)
    pairs = 0
    for held, after in zip(rounds, referred[1:], strict=False):
        taken_up = frozenset[str]().union(*after)
        counts = (min((said.position + said.reasoning).count("?"), _MOST_QUESTIONS) for said in held)
        pairs += sum(count for said, count in zip(held, counts, strict=True) if said.agent_id in taken_up)
    return InteractionMetrics(
        cross_reference_count=sum(len(one) for held in referred for one in held),
        rebuttal_depth=_longest_run([any(held) for held in referred]),
        question_response_pairs=pairs,
    )


def _references(said: AgentResponse, spoken: Mapping[str, str]) -> frozenset[str]:
    others = {agent: name for agent, name in spoken.items() if agent != said.agent_id}
    text = f"{said.position}\n{said.reasoning}"
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
