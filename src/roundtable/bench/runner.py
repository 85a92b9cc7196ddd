"""Functions and classes that run scenarios, one after another or in parallel, and compare them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from statistics import fmean, median_low, pstdev
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from anyio import move_on_after
from pydantic import Field

from roundtable.api.checks import check_seconds, check_whole
from roundtable.api.many import run_jobs
from roundtable.bench.metrics import (
    BenchmarkMetrics,
    Comparison,
    ConsensusMetrics,
    ContentMetrics,
    Delta,
    InteractionMetrics,
    LatencyMetrics,
    calculate_delta,
    compare_metrics,
    interaction_score,
    metrics_of,
    read_threshold,
)
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.stages import error_info
from roundtable.core.types.base import Value
from roundtable.core.types.chat import Usage
from roundtable.core.types.debate import ErrorInfo, Topic
from roundtable.results.debate_result import DebateResult

if TYPE_CHECKING:
    from roundtable.api import Roundtable

__all__ = [
    "AT_ONCE",
    "BenchmarkRunner",
    "BenchmarkScenario",
    "Executor",
    "RepeatedScenario",
    "ScenarioRun",
    "Spread",
    "combine_runs",
    "hold_scenario",
    "mean_metrics",
]

AT_ONCE: Final = 8
"""Maximum debates that run at the same time."""


class BenchmarkScenario(Value):
    """One debate to run and measure.

    Example:
        >>> BenchmarkScenario(name="quick", topic="Tea or coffee?").mode
        'collaborative'
    """

    name: str
    """Name of the scenario."""
    topic: Topic
    """The question."""
    mode: str = "collaborative"
    """Debate mode."""
    agents: tuple[str, ...] | None = None
    """The agents, as `"provider:model"`; `None` for the agents of the table."""
    rounds: Annotated[int, Field(ge=1)] = 3
    """Maximum number of rounds."""


class ScenarioRun(Value):
    """One run of a scenario."""

    scenario: BenchmarkScenario
    """The scenario."""
    success: bool
    """Whether the debate completed."""
    metrics: BenchmarkMetrics | None = None
    """Metrics of the debate, even if it did not complete; `None` without a result."""
    result: DebateResult | None = None
    """Result of the debate, if there is one."""
    error: ErrorInfo | None = None
    """The error of a failed run."""


class Spread(Value):
    """Population standard deviations over runs; 0 for a single run."""

    latency_ms: float
    """Standard deviation of the total time, in milliseconds."""
    agreement: float
    """Standard deviation of the agreement level."""
    interaction: float
    """Standard deviation of the interaction score."""


class RepeatedScenario(Value):
    """A scenario that was run several times."""

    scenario: BenchmarkScenario
    """The scenario."""
    runs: tuple[ScenarioRun, ...]
    """All runs."""
    metrics: BenchmarkMetrics | None
    """Means over successful runs; `None` if none succeeded."""
    spread: Spread | None
    """Standard deviations over successful runs; `None` if none succeeded."""

    @property
    def success_rate(self) -> float:
        """Share of runs that succeeded, in [0, 1]."""
        return sum(run.success for run in self.runs) / len(self.runs) if self.runs else 0.0


def combine_runs(scenario: BenchmarkScenario, runs: Sequence[ScenarioRun]) -> RepeatedScenario:
    """Combine the runs of one scenario."""
    measured = [run.metrics for run in runs if run.success and run.metrics is not None]
    spread = None
    if measured:
        spread = Spread(
            latency_ms=pstdev(run_metrics.latency.total_ms for run_metrics in measured),
            agreement=pstdev(run_metrics.consensus.agreement_level for run_metrics in measured),
            interaction=pstdev(interaction_score(run_metrics.interaction) for run_metrics in measured),
        )
    metrics = mean_metrics(measured) if measured else None
    return RepeatedScenario(scenario=scenario, runs=tuple(runs), metrics=metrics, spread=spread)


def mean_metrics(all_metrics: Sequence[BenchmarkMetrics]) -> BenchmarkMetrics:
    """Return the mean of each metric.

    It is the majority for flags, the median for the convergence round, and the sum for usage and for the number of
    runs.

    Args:
        all_metrics: The metrics of at least one debate.
    """
    rounds = [
        metrics.consensus.convergence_round
        for metrics in all_metrics
        if metrics.consensus.convergence_round is not None
    ]
    methods = dict.fromkeys(metrics.consensus.method for metrics in all_metrics)
    return BenchmarkMetrics(
        session_id=all_metrics[0].session_id,
        total_rounds=all_metrics[0].total_rounds,
        rounds_held=fmean(metrics.rounds_held for metrics in all_metrics),
        latency=_mean_latency([metrics.latency for metrics in all_metrics]),
        interaction=InteractionMetrics(
            cross_reference_count=fmean(metrics.interaction.cross_reference_count for metrics in all_metrics),
            rebuttal_depth=fmean(metrics.interaction.rebuttal_depth for metrics in all_metrics),
            question_response_pairs=fmean(metrics.interaction.question_response_pairs for metrics in all_metrics),
        ),
        content=ContentMetrics(
            avg_confidence=fmean(metrics.content.avg_confidence for metrics in all_metrics),
            confidence_variance=fmean(metrics.content.confidence_variance for metrics in all_metrics),
            tool_calls_per_agent=_mean_by_key([dict(metrics.content.tool_calls_per_agent) for metrics in all_metrics]),
            citation_count=fmean(metrics.content.citation_count for metrics in all_metrics),
            role_violations=fmean(metrics.content.role_violations for metrics in all_metrics),
        ),
        consensus=ConsensusMetrics(
            agreement_level=fmean(metrics.consensus.agreement_level for metrics in all_metrics),
            agreement_at_most=fmean(metrics.consensus.agreement_at_most for metrics in all_metrics),
            method="+".join(methods),
            convergence_round=median_low(rounds) if 2 * len(rounds) > len(all_metrics) else None,
            groupthink_warning=2 * sum(metrics.consensus.groupthink_warning for metrics in all_metrics)
            > len(all_metrics),
        ),
        usage=sum((metrics.usage for metrics in all_metrics), Usage()),
        runs=sum(metrics.runs for metrics in all_metrics),
    )


def _mean_latency(latencies: Sequence[LatencyMetrics]) -> LatencyMetrics:
    longest = max(len(latency.per_round_ms) for latency in latencies)
    by_round = [
        [latency.per_round_ms[number] for latency in latencies if number < len(latency.per_round_ms)]
        for number in range(longest)
    ]
    return LatencyMetrics(
        total_ms=fmean(latency.total_ms for latency in latencies),
        per_round_ms=tuple(fmean(durations) for durations in by_round),
        per_agent_ms=_mean_by_key([dict(latency.per_agent_ms) for latency in latencies]),
    )


def _mean_by_key(mappings: Sequence[dict[str, float]]) -> dict[str, float]:
    keys = dict.fromkeys(key for mapping in mappings for key in mapping)
    return {key: fmean(mapping.get(key, 0.0) for mapping in mappings) for key in keys}


Executor: TypeAlias = Callable[[BenchmarkScenario], Awaitable[DebateResult]]
"""A function that runs the debate of a scenario."""


async def hold_scenario(table: Roundtable, scenario: BenchmarkScenario) -> DebateResult:
    """Run the debate of a scenario at a table."""
    agents = None if scenario.agents is None else [*scenario.agents]
    return await table.debate(scenario.topic, mode=scenario.mode, rounds=scenario.rounds, agents=agents)


class BenchmarkRunner:
    """Runner that runs scenarios and measures them.

    Args:
        executor: What runs a debate: a table, or a function that takes a scenario and returns a result.
        repetitions: Number of runs of each scenario.
        timeout_s: Maximum time of a run, in seconds. After that, its debate is cancelled, and the run has failed.
        parallel: Whether to run up to eight debates at the same time. If so, the times include waiting for each other.
        groupthink_threshold: As for `MetricsCollector`.

    Raises:
        ConfigurationError: An argument is not valid.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> runner = BenchmarkRunner(Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://"))
        >>> run = anyio.run(runner.run_scenario, BenchmarkScenario(name="tea", topic="Tea?", rounds=1))
        >>> run.success, run.metrics.content.avg_confidence
        (True, 0.8)
    """

    def __init__(
        self,
        executor: Roundtable | Executor,
        *,
        repetitions: int = 1,
        timeout_s: float = 300.0,
        parallel: bool = False,
        groupthink_threshold: float = 0.9,
    ) -> None:
        if not callable(executor) and not callable(getattr(executor, "debate", None)):
            raise ConfigurationError(f"executor must be a table, or a function that runs a scenario, not {executor!r}")
        check_whole("repetitions", repetitions)
        check_seconds("timeout_s", timeout_s)
        if repetitions < 1:
            raise ConfigurationError(f"repetitions must be at least 1, not {repetitions}")
        if not timeout_s or not timeout_s > 0:
            raise ConfigurationError(f"timeout_s must be above 0, not {timeout_s}")
        self._executor = executor
        self._repetitions = repetitions
        self._timeout_s = timeout_s
        self._parallel = parallel
        self._threshold = read_threshold(groupthink_threshold)

    async def run_scenario(self, scenario: BenchmarkScenario) -> ScenarioRun:
        """Run a scenario once. A failure is recorded in the returned run; only cancellation is raised."""
        result: DebateResult | None = None
        failure: RoundtableError | None = None
        with move_on_after(self._timeout_s) as limit:
            try:
                result = await self._hold(scenario)
            except RoundtableError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  (the executor is the caller's code; other runs must continue)
                failure = RoundtableError(f"{type(error).__name__}: {error_text(error)}", cause=error)
        if limit.cancelled_caught:
            failure = RoundtableError(f"the run took longer than {self._timeout_s:g} s")
        elif result is not None and result.status != "completed":
            why = result.exit.details if result.exit else ""
            failure = RoundtableError(f"the debate is {result.status}: {why}")
        return ScenarioRun(
            scenario=scenario,
            success=failure is None,
            metrics=None if result is None else metrics_of(result, groupthink_threshold=self._threshold),
            result=result,
            error=None if failure is None else error_info(failure),
        )

    def _hold(self, scenario: BenchmarkScenario) -> Awaitable[DebateResult]:
        executor = self._executor
        return executor(scenario) if callable(executor) else hold_scenario(executor, scenario)

    async def run_scenario_with_repetitions(self, scenario: BenchmarkScenario) -> RepeatedScenario:
        """Run a scenario `repetitions` times, and return the means and standard deviations."""
        return (await self.run_scenarios([scenario]))[0]

    async def run_scenarios(self, scenarios: Sequence[BenchmarkScenario]) -> tuple[RepeatedScenario, ...]:
        """Run every scenario `repetitions` times, one after another or in parallel."""
        planned = [scenario for scenario in scenarios for _ in range(self._repetitions)]
        at_once = AT_ONCE if self._parallel else 1
        runs = await run_jobs([partial(self.run_scenario, scenario) for scenario in planned], at_once=at_once)
        repetitions = self._repetitions
        return tuple(
            combine_runs(scenario, runs[number * repetitions : (number + 1) * repetitions])
            for number, scenario in enumerate(scenarios)
        )

    async def compare_scenarios(self, baseline: BenchmarkScenario, candidate: BenchmarkScenario) -> Comparison:
        """Run two scenarios and compare their means.

        Raises:
            RoundtableError: All runs of a scenario failed.
        """
        metrics: list[BenchmarkMetrics] = []
        for outcome in await self.run_scenarios([baseline, candidate]):
            if outcome.metrics is None:
                error = outcome.runs[-1].error
                raise RoundtableError(
                    f"no run of {outcome.scenario.name!r} succeeded: {error.message if error else ''}"
                )
            metrics.append(outcome.metrics)
        return self.compare(*metrics)

    @staticmethod
    def compare(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Comparison:
        """Recommend whether a candidate should replace a baseline; see `compare_metrics`."""
        return compare_metrics(baseline, candidate)

    @staticmethod
    def calculate_delta(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Delta:
        """Compute the change from a baseline to a candidate; see the function `calculate_delta`."""
        return calculate_delta(baseline, candidate)
