"""Carrying out an experiment."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from roundtable._clock import SystemClock
from roundtable.api.together import together
from roundtable.bench.folders import experiment_folder, write_run
from roundtable.bench.runner import AT_ONCE, BenchmarkRunner
from roundtable.errors import ContextTooLong

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from pathlib import Path

    from roundtable.api import Roundtable
    from roundtable.bench.experiments import Experiment
    from roundtable.bench.runner import Executor
    from roundtable.bench.scenarios import BenchmarkScenario, ScenarioRun
    from roundtable.protocols import SleepingClock

__all__ = ["ExperimentRun", "run_experiment"]


class ExperimentRun(NamedTuple):
    """One debate of an experiment, and where it was written."""

    run: ScenarioRun
    """What became of it."""
    folder: Path | None
    """Its folder; `None` when nothing was to be written."""


def _check(table: Roundtable, scenarios: Sequence[BenchmarkScenario]) -> None:
    """Refuse what cannot be held before anybody is paid; one question stands for all."""
    kinds = {(one.mode, one.rounds, one.agents): one for one in scenarios}
    for one in kinds.values():
        agents = None if one.agents is None else [*one.agents]
        with suppress(ContextTooLong):  # of the longest answers that could be given; shorter ones may fit
            table.estimate(one.topic, mode=one.mode, rounds=one.rounds, agents=agents)


async def run_experiment(
    executor: Roundtable | Executor,
    experiment: Experiment,
    *,
    scenarios: Sequence[BenchmarkScenario] | None = None,
    folder: str | PathLike[str] | None = "results",
    timeout_s: float = 300.0,
    clock: SleepingClock | None = None,
    on_done: Callable[[ExperimentRun], None] | None = None,
) -> tuple[ExperimentRun, ...]:
    """Hold every debate of an experiment and write each down as soon as it is over.

    A debate that fails is held again as often as the experiment says, and then noted as failed.

    Args:
        executor: What holds a debate: a table, or a function from a scenario to a result.
        experiment: The plan.
        scenarios: Only these debates of it, as from `Experiment.scenarios`; all when left out.
        folder: Where folders of results are made; `None` writes nothing.
        timeout_s: Seconds a debate may take.
        clock: Where time comes from.
        on_done: Told of each debate as it ends.

    Returns:
        What became of each debate, in the order of the plan.

    Raises:
        ConfigurationError: A debate cannot be held at the table, such as in a mode that does not exist, or `timeout_s`
            makes no sense; nothing was called.
        StorageError: Results cannot be written.
    """
    asked = experiment.scenarios() if scenarios is None else tuple(scenarios)
    if not callable(executor):
        _check(executor, asked)
    runner, time = BenchmarkRunner(executor, timeout_s=timeout_s), clock or SystemClock()
    options = experiment.options
    place = None if folder is None else experiment_folder(folder, experiment, time.now().date())

    async def hold(number: int, scenario: BenchmarkScenario) -> ExperimentRun:
        if number and options.delay_between:
            await time.sleep(options.delay_between / 1000)
        run = await runner.run_scenario(scenario)
        for _ in range(options.retry_on_failure):
            if run.success:
                break
            run = await runner.run_scenario(scenario)
        done = ExperimentRun(run, None if place is None else write_run(place, experiment, run))
        if on_done is not None:
            on_done(done)
        return done

    jobs = [partial(hold, number, scenario) for number, scenario in enumerate(asked)]
    return tuple(await together(jobs, at_once=AT_ONCE if options.parallel else 1))
