"""Holding scenarios, one after the other or at once, and comparing them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from anyio import move_on_after

from roundtable._foreign import error_text
from roundtable.api.together import together
from roundtable.bench.collector import metrics_of
from roundtable.bench.comparison import Comparison, Delta, calculate_delta, compare_metrics
from roundtable.bench.scenarios import BenchmarkScenario, RepeatedScenario, ScenarioRun, repeated
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.result import DebateResult
from roundtable.stages import error_info

if TYPE_CHECKING:
    from roundtable.api import Roundtable
    from roundtable.bench.metrics import BenchmarkMetrics

__all__ = ["AT_ONCE", "BenchmarkRunner", "Executor", "hold_scenario"]

Executor: TypeAlias = Callable[[BenchmarkScenario], Awaitable[DebateResult]]
"""Holds the debate of a scenario."""

AT_ONCE: Final = 8
"""Debates that are held at once, where several are."""


async def hold_scenario(table: Roundtable, scenario: BenchmarkScenario) -> DebateResult:
    """Hold the debate of a scenario at a table."""
    agents = None if scenario.agents is None else [*scenario.agents]
    return await table.debate(scenario.topic, mode=scenario.mode, rounds=scenario.rounds, agents=agents)


class BenchmarkRunner:
    """Holds scenarios and measures them.

    Args:
        executor: What holds a debate: a table, or a function from a scenario to a result.
        repetitions: How often each scenario is held.
        timeout_s: Seconds a run may take; then its debate is cancelled, and the run has failed.
        parallel: Whether runs go on at once, at most eight; latencies are then those of a busy machine.
        groupthink_threshold: As for `MetricsCollector`.

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
        if repetitions < 1:
            raise ConfigurationError(f"repetitions must be at least 1, not {repetitions}")
        if not timeout_s > 0:
            raise ConfigurationError(f"timeout_s must be above 0, not {timeout_s}")
        self._executor = executor
        self._repetitions = repetitions
        self._timeout_s = timeout_s
        self._parallel = parallel
        self._threshold = groupthink_threshold

    async def run_scenario(self, scenario: BenchmarkScenario) -> ScenarioRun:
        """Hold a scenario once. A failure is recorded, whatever it was; only a cancellation goes through."""
        result: DebateResult | None = None
        failure: RoundtableError | None = None
        with move_on_after(self._timeout_s) as limit:
            try:
                result = await self._held(scenario)
            except RoundtableError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  (an executor is foreign code; one run must not end the others)
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

    def _held(self, scenario: BenchmarkScenario) -> Awaitable[DebateResult]:
        executor = self._executor
        return executor(scenario) if callable(executor) else hold_scenario(executor, scenario)

    async def run_scenario_with_repetitions(self, scenario: BenchmarkScenario) -> RepeatedScenario:
        """Hold a scenario as often as the runner repeats; give the means and how far the runs lie apart."""
        return (await self.run_scenarios([scenario]))[0]

    async def run_scenarios(self, scenarios: Sequence[BenchmarkScenario]) -> tuple[RepeatedScenario, ...]:
        """Hold every scenario as often as the runner repeats, in order, or several at once."""
        asked = [scenario for scenario in scenarios for _ in range(self._repetitions)]
        at_once = AT_ONCE if self._parallel else 1
        runs = await together([partial(self.run_scenario, scenario) for scenario in asked], at_once=at_once)
        times = self._repetitions
        return tuple(
            repeated(scenario, runs[number * times : (number + 1) * times]) for number, scenario in enumerate(scenarios)
        )

    async def compare_scenarios(self, baseline: BenchmarkScenario, candidate: BenchmarkScenario) -> Comparison:
        """Hold two scenarios and compare their means.

        Raises:
            RoundtableError: One of them failed in every run.
        """
        found: list[BenchmarkMetrics] = []
        for held in await self.run_scenarios([baseline, candidate]):
            if held.metrics is None:
                why = held.runs[-1].error
                raise RoundtableError(f"no run of {held.scenario.name!r} succeeded: {why.message if why else ''}")
            found.append(held.metrics)
        return self.compare(*found)

    @staticmethod
    def compare(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Comparison:
        """Say whether a candidate should replace a baseline; see `compare_metrics`."""
        return compare_metrics(baseline, candidate)

    @staticmethod
    def calculate_delta(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Delta:
        """Give what a candidate changes; see the function of this name."""
        return calculate_delta(baseline, candidate)
