"""What is to be benchmarked, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median_low, pstdev
from typing import Annotated

from pydantic import Field

from roundtable.bench.metrics import (
    BenchmarkMetrics,
    ConsensusMetrics,
    ContentMetrics,
    InteractionMetrics,
    LatencyMetrics,
    interaction_score,
)
from roundtable.result import DebateResult
from roundtable.types import ErrorInfo, Topic, Usage, Value

__all__ = ["BenchmarkScenario", "RepeatedScenario", "ScenarioRun", "Spread", "mean_metrics", "repeated"]


class BenchmarkScenario(Value):
    """One debate to be held and measured.

    Example:
        >>> BenchmarkScenario(name="quick", topic="Tea or coffee?").mode
        'collaborative'
    """

    name: str
    """What it is called."""
    topic: Topic
    """The question."""
    mode: str = "collaborative"
    """Debate mode."""
    agents: tuple[str, ...] | None = None
    """Who debates, as `"provider:model"`; `None` leaves it to the table."""
    rounds: Annotated[int, Field(ge=1)] = 3
    """Rounds to hold at most."""


class ScenarioRun(Value):
    """One run of a scenario."""

    scenario: BenchmarkScenario
    """Which."""
    success: bool
    """Whether the debate was held to its end."""
    metrics: BenchmarkMetrics | None = None
    """What was measured, also of a part."""
    result: DebateResult | None = None
    """The debate."""
    error: ErrorInfo | None = None
    """What went wrong."""


class Spread(Value):
    """Standard deviations over runs (of a population, so 0 with one run)."""

    latency_ms: float
    """Of the total time, in milliseconds."""
    agreement: float
    """Of the agreement level."""
    interaction: float
    """Of the interaction score."""


class RepeatedScenario(Value):
    """A scenario that was run several times."""

    scenario: BenchmarkScenario
    """Which."""
    runs: tuple[ScenarioRun, ...]
    """Every run."""
    metrics: BenchmarkMetrics | None
    """Means over the runs that succeeded; `None` when none did."""
    spread: Spread | None
    """How far these runs lie apart."""

    @property
    def success_rate(self) -> float:
        """Share of runs that succeeded, in [0, 1]."""
        return sum(run.success for run in self.runs) / len(self.runs) if self.runs else 0.0


def repeated(scenario: BenchmarkScenario, runs: Sequence[ScenarioRun]) -> RepeatedScenario:
    """Put runs of one scenario together."""
    found = [run.metrics for run in runs if run.success and run.metrics is not None]
    spread = None
    if found:
        spread = Spread(
            latency_ms=pstdev(one.latency.total_ms for one in found),
            agreement=pstdev(one.consensus.agreement_level for one in found),
            interaction=pstdev(interaction_score(one.interaction) for one in found),
        )
    metrics = mean_metrics(found) if found else None
    return RepeatedScenario(scenario=scenario, runs=tuple(runs), metrics=metrics, spread=spread)


def mean_metrics(found: Sequence[BenchmarkMetrics]) -> BenchmarkMetrics:
    """Give the mean of each figure; of yes and no what most say, of rounds the middle one, of usage the sum.

    Args:
        found: The metrics of at least one debate.
    """
    rounds = [one.consensus.convergence_round for one in found if one.consensus.convergence_round is not None]
    methods = dict.fromkeys(one.consensus.method for one in found)
    return BenchmarkMetrics(
        session_id=found[0].session_id,
        total_rounds=found[0].total_rounds,
        rounds_held=fmean(one.rounds_held for one in found),
        latency=_mean_latency([one.latency for one in found]),
        interaction=InteractionMetrics(
            cross_reference_count=fmean(one.interaction.cross_reference_count for one in found),
            rebuttal_depth=fmean(one.interaction.rebuttal_depth for one in found),
            question_response_pairs=fmean(one.interaction.question_response_pairs for one in found),
        ),
        content=ContentMetrics(
            avg_confidence=fmean(one.content.avg_confidence for one in found),
            confidence_variance=fmean(one.content.confidence_variance for one in found),
            tool_calls_per_agent=_mean_by_key([dict(one.content.tool_calls_per_agent) for one in found]),
            citation_count=fmean(one.content.citation_count for one in found),
            role_violations=fmean(one.content.role_violations for one in found),
        ),
        consensus=ConsensusMetrics(
            agreement_level=fmean(one.consensus.agreement_level for one in found),
            method="+".join(methods),
            convergence_round=median_low(rounds) if 2 * len(rounds) > len(found) else None,
            groupthink_warning=2 * sum(one.consensus.groupthink_warning for one in found) > len(found),
        ),
        usage=sum((one.usage for one in found), Usage()),
    )


def _mean_latency(found: Sequence[LatencyMetrics]) -> LatencyMetrics:
    longest = max(len(one.per_round_ms) for one in found)
    places = [[one.per_round_ms[place] for one in found if place < len(one.per_round_ms)] for place in range(longest)]
    return LatencyMetrics(
        total_ms=fmean(one.total_ms for one in found),
        per_round_ms=tuple(fmean(place) for place in places),
        per_agent_ms=_mean_by_key([dict(one.per_agent_ms) for one in found]),
    )


def _mean_by_key(found: Sequence[dict[str, float]]) -> dict[str, float]:
    keys = dict.fromkeys(key for one in found for key in one)
    return {key: fmean(one.get(key, 0.0) for one in found) for key in keys}
