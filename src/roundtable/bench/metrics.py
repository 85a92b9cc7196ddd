"""Metrics of debates in benchmarks: how they are collected, computed from results, and compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from roundtable.analysis import DeclaredAnalyzer
from roundtable.bench.statistics import exact_mean
from roundtable.core.base.clock import SystemClock
from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.base import Share, Value, with_upper_bound
from roundtable.core.types.chat import Usage
from roundtable.scoring import Number, share
from roundtable.scoring.camps import answers_by_turn, compare_answers, to_open_answer
from roundtable.scoring.numbers import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundtable.core.protocols import Clock
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import RoundRecord
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "BenchmarkMetrics",
    "Comparison",
    "ConsensusMetrics",
    "ContentMetrics",
    "Delta",
    "InteractionMetrics",
    "LatencyMetrics",
    "MetricsCollector",
    "Recommendation",
    "calculate_delta",
    "compare_metrics",
    "interaction_score",
    "measure_content",
    "measure_interaction",
    "metrics_of",
    "read_threshold",
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

_MAX_CONFIDENCE_CHANGE: Final = 0.1

_ADOPT_QUALITY: Final = 60.0
_REJECT_QUALITY: Final = 30.0
_ADOPT_SLOWDOWN: Final = 10.0
_REJECT_SLOWDOWN: Final = 50.0


class LatencyMetrics(Value):
    """How long a debate took."""

    total_ms: _Amount
    """Time of all rounds together, in milliseconds."""
    per_round_ms: tuple[_Amount, ...] = ()
    """Time of each round, in milliseconds."""
    per_agent_ms: Mapping[str, _Amount] = Field(default_factory=dict)
    """Time of all turns of each agent, in milliseconds, by agent id."""


class InteractionMetrics(Value):
    """How much agents responded to each other, detected by names and phrases."""

    cross_reference_count: _Amount
    """Number of references to earlier speakers, at most one per answer and speaker."""
    rebuttal_depth: _Amount
    """Largest number of successive rounds with such a reference."""
    question_response_pairs: _Amount
    """Number of questions by agents to whom others refer in the next round, at most three per answer."""


class ContentMetrics(Value):
    """The content of the answers."""

    avg_confidence: Share
    """Mean reported confidence of all answers."""
    confidence_variance: _Amount
    """Population variance of the reported confidence."""
    tool_calls_per_agent: Mapping[str, _Amount] = Field(default_factory=dict)
    """Number of tool calls, by agent id."""
    citation_count: _Amount
    """Number of citations in all answers."""
    role_violations: _Amount = 0
    """Number of answers that took another side than the assigned one, or did not state it."""


class ConsensusMetrics(Value):
    """How much agents agreed in the end, and when they converged."""

    agreement_level: Share
    """Lower bound of the agreement in the last round."""
    agreement_at_most: Share = 1.0
    """Upper bound of the agreement in the last round: answers that nobody compared may say the same. If omitted, it is
    equal to `agreement_level`."""
    method: str
    """How the agreement was measured: the method of the debate, or `"declared"` if the debate did not measure it."""
    convergence_round: int | None = None
    """First round in which confidence hardly changed, and in which all agents certainly repeat their previous answer;
    `None` if there is no such round."""
    groupthink_warning: bool = False
    """Whether agreement was high in the first round, or was high in the end although no agent referred to another."""

    @model_validator(mode="before")
    @classmethod
    def _one_level(cls, data: object) -> object:
        return with_upper_bound(data, "agreement_level", "agreement_at_most")


class BenchmarkMetrics(Value):
    """All metrics of one debate, or the means over several debates."""

    session_id: str
    """Session id; for means, the id of the first debate."""
    total_rounds: int
    """Number of planned rounds."""
    rounds_held: _Amount
    """Number of rounds that ran."""
    latency: LatencyMetrics
    """Time."""
    interaction: InteractionMetrics
    """Exchange."""
    content: ContentMetrics
    """Answers."""
    consensus: ConsensusMetrics
    """Agreement."""
    usage: Usage = Usage()
    """Usage of the debate; for means, the sum."""
    runs: Annotated[int, Field(ge=1)] = 1
    """Number of debates; above 1 only for means."""


def interaction_score(found: InteractionMetrics) -> float:
    """Return one score for the interaction: `2 references + 3 depth + pairs`. It has no unit, and is at least 0.

    Example:
        >>> interaction_score(InteractionMetrics(cross_reference_count=4, rebuttal_depth=2, question_response_pairs=1))
        15.0
    """
    return 2.0 * found.cross_reference_count + 3.0 * found.rebuttal_depth + found.question_response_pairs


def measure_content(rounds: Sequence[Sequence[AgentResponse]]) -> ContentMetrics:
    """Measure the content of the answers of all rounds."""
    answers = [answer for round_responses in rounds for answer in round_responses]
    confidences = [answer.confidence for answer in answers if answer.confidence is not None]
    tools: dict[str, float] = {}
    for answer in answers:
        tools[answer.agent_id] = tools.get(answer.agent_id, 0) + len(answer.tool_calls)
    return ContentMetrics(
        avg_confidence=exact_mean(confidences) if confidences else 0.0,
        confidence_variance=pvariance(confidences) if confidences else 0.0,
        tool_calls_per_agent=tools,
        citation_count=sum(len(answer.citations) for answer in answers),
        role_violations=sum(answer.role_violation is not None for answer in answers),
    )


def measure_interaction(rounds: Sequence[Sequence[AgentResponse]]) -> InteractionMetrics:
    """Count references of agents to each other.

    An answer refers to an agent that has spoken before if it contains its whole name. If it contains no such name, a
    phrase such as "I disagree with" counts as a reference to the first speaker other than its author. Names of one
    letter are ignored.
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


@dataclass(slots=True)
class _MeasuredRound:
    responses: list[AgentResponse] = field(default_factory=list)
    total_ms: float = 0.0
    started_at: float | None = None
    consensus: AnyConsensus | None = None

    def agreement(self, earlier: Mapping[TurnKey, AgentResponse]) -> AnyConsensus:
        """Return the agreement that the debate measured, else the agreement by the answers' own evidence."""
        return self.consensus or DeclaredAnalyzer().analyze(self.responses, earlier)


def read_threshold(groupthink_threshold: Number) -> float:
    """Return the agreement that counts as a sign of groupthink.

    Raises:
        ConfigurationError: It is not a number in [0, 1].
    """
    return float(share(groupthink_threshold, "groupthink_threshold"))


class MetricsCollector:
    """Collector that records what happens in one debate, and computes its metrics.

    Args:
        session_id: Id of the debate's session.
        total_rounds: Number of planned rounds.
        groupthink_threshold: Agreement that counts as a sign of groupthink, in [0, 1].
        min_convergence_rounds: Number of the first round that can count as converged, at least 2.
        clock: Source of time.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> collector = MetricsCollector("s1", 1)
        >>> collector.record_response(1, AgentResponse(agent_id="ada", agent_name="Ada", position="Tea"))
        >>> collector.get_metrics().content.avg_confidence
        0.5
    """

    def __init__(
        self,
        session_id: str,
        total_rounds: int,
        *,
        groupthink_threshold: float = 0.9,
        min_convergence_rounds: int = 2,
        clock: Clock | None = None,
    ) -> None:
        self._groupthink_threshold = read_threshold(groupthink_threshold)
        self._min_convergence_rounds = whole(min_convergence_rounds, "min_convergence_rounds", 2)
        self.session_id = session_id
        self.total_rounds = total_rounds
        self._clock = clock or SystemClock()
        self.reset()

    def reset(self) -> None:
        """Delete everything that was recorded."""
        self._rounds: dict[int, _MeasuredRound] = {}
        self._agent_ms: dict[str, float] = {}
        self._turn_started_at: dict[str, float] = {}
        self._usage = Usage()
        self._answers: dict[TurnKey, AgentResponse] = {}

    def record_round_start(self, number: int) -> None:
        """Record the start of a round."""
        self._round(number).started_at = self._clock.monotonic()

    def record_round_end(self, number: int, consensus: AnyConsensus | None = None) -> None:
        """Record the end of a round and its consensus."""
        measured = self._round(number)
        if measured.started_at is not None:
            measured.total_ms += (self._clock.monotonic() - measured.started_at) * 1000
            measured.started_at = None
        measured.consensus = consensus

    def record_agent_start(self, agent_id: str) -> None:
        """Record the start of an agent's turn."""
        self._turn_started_at[agent_id] = self._clock.monotonic()

    def record_agent_end(self, agent_id: str) -> None:
        """Record the end of an agent's turn."""
        started_at = self._turn_started_at.pop(agent_id, None)
        if started_at is not None:
            self._agent_ms[agent_id] = self._agent_ms.get(agent_id, 0.0) + (self._clock.monotonic() - started_at) * 1000

    def record_response(self, number: int, response: AgentResponse) -> None:
        """Record an answer of a round."""
        self._round(number).responses.append(response)

    def record_responses(self, number: int, responses: Iterable[AgentResponse]) -> None:
        """Record answers of a round, in speaking order."""
        self._round(number).responses.extend(responses)

    def record_usage(self, usage: Usage) -> None:
        """Add the usage of calls."""
        self._usage += usage

    def record_round(self, held: RoundRecord) -> None:
        """Record a stored round, with the times of its turns."""
        self.record_responses(held.number, held.responses)
        self._answers |= answers_by_turn(held.turns)
        measured = self._round(held.number)
        measured.consensus = held.consensus
        spans = [(turn.timestamp.timestamp(), turn.duration_s, turn.agent_id) for turn in held.turns]
        if spans:
            measured.total_ms += (
                max(end for end, _, _ in spans) - min(end - duration_s for end, duration_s, _ in spans)
            ) * 1000
        for _, duration_s, agent_id in spans:
            self._agent_ms[agent_id] = self._agent_ms.get(agent_id, 0.0) + duration_s * 1000

    def get_responses(self, number: int | None = None) -> tuple[AgentResponse, ...]:
        """Return the answers of a round, or of all rounds in order."""
        rounds = self._ordered_rounds if number is None else [self._rounds[number]] if number in self._rounds else []
        return tuple(response for measured in rounds for response in measured.responses)

    def get_metrics(self) -> BenchmarkMetrics:
        """Compute the metrics from everything that was recorded so far."""
        rounds = [measured.responses for measured in self._ordered_rounds]
        interaction = measure_interaction(rounds)
        return BenchmarkMetrics(
            session_id=self.session_id,
            total_rounds=self.total_rounds,
            rounds_held=len(rounds),
            latency=LatencyMetrics(
                total_ms=sum(measured.total_ms for measured in self._ordered_rounds),
                per_round_ms=tuple(measured.total_ms for measured in self._ordered_rounds),
                per_agent_ms=dict(self._agent_ms),
            ),
            interaction=interaction,
            content=measure_content(rounds),
            consensus=self._consensus(answered=interaction.cross_reference_count > 0),
            usage=self._usage,
        )

    @property
    def _ordered_rounds(self) -> list[_MeasuredRound]:
        return [self._rounds[number] for number in sorted(self._rounds)]

    def _round(self, number: int) -> _MeasuredRound:
        return self._rounds.setdefault(number, _MeasuredRound())

    def _consensus(self, *, answered: bool) -> ConsensusMetrics:
        rounds = [measured for measured in self._ordered_rounds if measured.responses]
        if not rounds:
            return ConsensusMetrics(agreement_level=0.0, method="none")
        first, last = (measured.agreement(self._answers) for measured in (rounds[0], rounds[-1]))
        several = len(rounds[0].responses) > 1
        return ConsensusMetrics(
            agreement_level=last.agreement_level,
            agreement_at_most=max(last.agreement_level, last.agreement_at_most),
            method=last.method,
            convergence_round=self._convergence_round(),
            groupthink_warning=several and (self._is_high(first) or (self._is_high(last) and not answered)),
        )

    def _is_high(self, agreement: AnyConsensus) -> bool:
        """Check whether agreement is certainly high; a single answer does not agree with anybody."""
        return agreement.answers not in {0, 1} and agreement.agreement_level >= self._groupthink_threshold

    def _convergence_round(self) -> int | None:
        answered = [
            (number, measured.responses) for number, measured in sorted(self._rounds.items()) if measured.responses
        ]
        for (_, before), (number, now) in pairwise(answered):
            means = [
                [response.confidence for response in responses if response.confidence is not None]
                for responses in (before, now)
            ]
            # Without stated confidences, the answers alone show whether the debate has converged.
            moved = round(abs(fmean(means[1]) - fmean(means[0])), 9) if all(means) else 0.0
            is_late_enough = number >= self._min_convergence_rounds
            if is_late_enough and moved < _MAX_CONFIDENCE_CHANGE and self._is_unmoved(before, now):
                return number
        return None

    def _is_unmoved(self, before: Sequence[AgentResponse], now: Sequence[AgentResponse]) -> bool:
        """Check whether all agents certainly say the same in two rounds; abstaining twice counts as the same."""
        old, new = ({response.agent_id: response for response in responses} for responses in (before, now))
        placed = [
            (f"{index} {agent}", response)
            for index, by_agent in enumerate((old, new))
            for agent, response in by_agent.items()
        ]
        verdicts = compare_answers(to_open_answer(name, response, self._answers) for name, response in placed)
        names = [(f"0 {agent}", f"1 {agent}") for agent in old]
        answered = [pair for pair in names if pair[0] in verdicts or pair[1] in verdicts]
        is_same = all(verdicts.get(first, {}).get(second) == "same" for first, second in answered)
        return bool(answered) and old.keys() == new.keys() and is_same


def metrics_of(result: DebateResult, *, groupthink_threshold: float = 0.9) -> BenchmarkMetrics:
    """Compute the metrics of a debate from its result; the times are those that are stored with its turns.

    Args:
        result: The debate.
        groupthink_threshold: As for `MetricsCollector`.

    Example:
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "I disagree with Ada"})) as table:
        ...     metrics = metrics_of(table.debate("Tea?", mode="adversarial", rounds=1))
        >>> metrics.interaction.cross_reference_count, metrics.consensus.method
        (1.0, 'declared')
    """
    collector = MetricsCollector(result.session_id, result.total_rounds, groupthink_threshold=groupthink_threshold)
    for record in result.rounds:
        collector.record_round(record)
    collector.record_usage(result.usage)
    return collector.get_metrics()


Recommendation: TypeAlias = Literal["adopt", "reject", "conditional"]
"""Recommendation for a candidate."""


class Delta(Value):
    """The change from a baseline to a candidate."""

    latency_reduction: float
    """Time that the candidate saves, in per cent of the baseline's time; negative if it is slower."""
    interaction_change: float
    """Change of the interaction score in per cent, from -100 to 100."""
    quality_score: float
    """Change of quality as a score from 0 to 100; 50 is no change."""


class Comparison(Value):
    """A comparison of a candidate with a baseline."""

    baseline: BenchmarkMetrics
    """Metrics of the current configuration."""
    candidate: BenchmarkMetrics
    """Metrics of the configuration that may replace it."""
    delta: Delta
    """The change."""
    recommendation: Recommendation
    """Recommendation for the candidate."""
    reasons: tuple[str, ...]
    """Reasons in words."""


def _are_comparable(before: ConsensusMetrics, after: ConsensusMetrics) -> bool:
    """Check whether two agreements are single figures, measured by the same method."""
    is_measured = all(metrics.agreement_level == metrics.agreement_at_most for metrics in (before, after))
    return is_measured and before.method == after.method


def calculate_delta(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Delta:
    """Compute the change from a baseline to a candidate.

    The quality score is 50 plus `20 dConfidence + 7.5 dCitations + 12.5 dInteraction + 12.5 dAgreement`, plus 3 if a
    groupthink warning disappears, minus 3 if one appears. The changes of confidence and agreement are differences; the
    changes of citations and interaction are relative, in [-1, 1]. Agreement counts only if it is a single figure in
    both debates, measured by the same method.

    Args:
        baseline: Metrics of the current configuration.
        candidate: Metrics of the configuration that may replace it.
    """
    old_score, new_score = interaction_score(baseline.interaction), interaction_score(candidate.interaction)
    exchange = _relative(old_score, new_score)
    before, after = baseline.consensus, candidate.consensus
    quality = (
        50.0
        + 20.0 * (candidate.content.avg_confidence - baseline.content.avg_confidence)
        + 7.5 * _relative(baseline.content.citation_count, candidate.content.citation_count)
        + 12.5 * exchange
        + 12.5 * (after.agreement_level - before.agreement_level if _are_comparable(before, after) else 0.0)
        + 3.0 * (before.groupthink_warning - after.groupthink_warning)
    )
    baseline_ms = baseline.latency.total_ms
    return Delta(
        latency_reduction=round((baseline_ms - candidate.latency.total_ms) / baseline_ms * 100, 6)
        if baseline_ms
        else 0.0,
        interaction_change=round(exchange * 100, 6),
        quality_score=round(min(100.0, max(0.0, quality)), 6),
    )


def _relative(old: float, new: float) -> float:
    if not old:
        return 1.0 if new else 0.0
    return min(1.0, max(-1.0, (new - old) / old))


def compare_metrics(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Comparison:
    """Recommend whether a candidate should replace a baseline.

    `adopt` needs a quality score of at least 60, and at most 10 % more time. A quality score below 30, or more than 50
    % more time, leads to `reject`. All other cases are `conditional`. One pair of debates proves nothing; `run_study`
    tests which differences are more than chance.

    Args:
        baseline: Metrics of the current configuration.
        candidate: Metrics of the configuration that may replace it.
    """
    delta = calculate_delta(baseline, candidate)
    slower = -delta.latency_reduction
    if delta.quality_score < _REJECT_QUALITY or slower > _REJECT_SLOWDOWN:
        verdict: Recommendation = "reject"
    else:
        is_better = delta.quality_score >= _ADOPT_QUALITY and slower <= _ADOPT_SLOWDOWN
        verdict = "adopt" if is_better else "conditional"
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        delta=delta,
        recommendation=verdict,
        reasons=_reasons(baseline, candidate, delta),
    )


def _reasons(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics, delta: Delta) -> tuple[str, ...]:
    speed = delta.latency_reduction
    reasons = [
        f"quality {delta.quality_score:.1f} of 100, where 50 is no change",
        f"{abs(speed):.1f} % {'faster' if speed >= 0 else 'slower'}",
        f"interaction {delta.interaction_change:+.1f} %",
    ]
    before, after = baseline.consensus, candidate.consensus
    if before.method != after.method:
        reasons.append(f"agreement is not compared: measured by {before.method} and by {after.method}")
    if before.groupthink_warning != after.groupthink_warning:
        reasons.append("signs of groupthink are new" if after.groupthink_warning else "signs of groupthink are gone")
    old_calls, new_calls = (Fraction(metrics.usage.calls, metrics.runs) for metrics in (baseline, candidate))
    if old_calls and new_calls != old_calls:
        reasons.append(f"{float(new_calls / old_calls):.2g} calls for each call")
    return tuple(reasons)
