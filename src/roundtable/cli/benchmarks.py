"""Carrying out experiments and studies from the command line, and showing what they found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from pydantic import ValidationError

from roundtable.bench import (
    BenchmarkRunner,
    BenchmarkScenario,
    compare_metrics,
    extract_last,
    interaction_score,
    read_experiment,
    read_metrics,
    read_questions,
    run_experiment,
    run_study,
)
from roundtable.bench.scenarios import mean_metrics
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import Line, line
from roundtable.errors import ConfigurationError
from roundtable.scoring.words import counted
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.bench import BenchmarkMetrics, Experiment, ExperimentRun
    from roundtable.cli.desk import Desk

__all__ = [
    "Asked",
    "Plan",
    "carry_out",
    "compare_folders",
    "hold_single",
    "hold_study",
    "list_debates",
    "list_experiments",
    "scenario_of",
]

_ENDINGS: Final = (".yaml", ".yml", ".toml", ".json")


class Plan(NamedTuple):
    """Which debates of which experiment."""

    file: str
    modes: tuple[str, ...] | None
    rounds: tuple[int, ...] | None

    def read(self) -> tuple[Experiment, tuple[BenchmarkScenario, ...]]:
        """Read the experiment, and give the debates that are wanted."""
        found = read_experiment(self.file)
        return found, found.scenarios(modes=self.modes, rounds=self.rounds)


class Asked(NamedTuple):
    """What a study is asked to do."""

    modes: tuple[str, ...]
    rounds: int
    decide: str
    normalise: str
    extract: str | None
    concurrency: int
    seed: int


async def list_debates(desk: Desk, plan: Plan) -> ExitCode:
    """List debates without holding them."""
    experiment, scenarios = plan.read()
    if desk.screen.as_json:
        desk.screen.data([scenario.model_dump(mode="json") for scenario in scenarios])
        return ExitCode.OK
    desk.screen.show(
        [line(f"{experiment.name}: {counted(len(scenarios), 'debate')}. {experiment.description}", "bold", hang=2)]
    )
    desk.screen.show([line(_shown(scenario), indent=2, hang=2) for scenario in scenarios])
    return ExitCode.OK


def _shown(scenario: BenchmarkScenario) -> str:
    return f"{scenario.mode}, {counted(scenario.rounds, 'round')}: {scenario.topic}"


async def carry_out(desk: Desk, plan: Plan, output: str, limit_s: float) -> ExitCode:
    """Hold the debates of an experiment; each is shown and written as it ends."""
    experiment, scenarios = plan.read()
    if desk.table.wiring.options.agents is not None:
        scenarios = tuple(one.model_copy(update={"agents": None}) for one in scenarios)

    def show(done: ExperimentRun) -> None:
        if not desk.screen.as_json:
            desk.screen.show(list(_run_lines(done)))

    runs = await run_experiment(
        desk.table, experiment, scenarios=scenarios, folder=output, timeout_s=limit_s, on_done=show
    )
    failed = sum(not done.run.success for done in runs)
    if desk.screen.as_json:
        desk.screen.data(
            [
                {
                    "scenario": done.run.scenario.model_dump(mode="json"),
                    "success": done.run.success,
                    "error": None if done.run.error is None else done.run.error.message,
                    "metrics": None if done.run.metrics is None else done.run.metrics.model_dump(mode="json"),
                    "folder": str(done.folder),
                }
                for done in runs
            ]
        )
    else:
        desk.screen.show([line(f"{len(runs) - failed} of {len(runs)} debates held to their end.", "bold")])
    return ExitCode.FAILED if failed else ExitCode.OK


def _run_lines(done: ExperimentRun) -> Iterator[Line]:
    run = done.run
    yield line(_shown(run.scenario), "bold", hang=2)
    if run.error is not None:
        yield line(f"FAILED: {run.error.message}", "bold red", indent=2, hang=2)
    if run.metrics is not None:
        yield from _figures(run.metrics)
    if done.folder is not None:
        yield line(f"Wrote {done.folder}", "dim", indent=2, hang=2)


def _figures(found: BenchmarkMetrics) -> Iterator[Line]:
    level, exchange = found.consensus, found.interaction
    converged = "no" if level.convergence_round is None else f"in round {level.convergence_round}"
    deep = f"depth {exchange.rebuttal_depth:g}, {exchange.question_response_pairs:g} questions taken up"
    rows = (
        f"Agreement {level.agreement_level:.2f} ({level.method}), converged: {converged}",
        f"Interaction {interaction_score(exchange):g}: {exchange.cross_reference_count:g} references, {deep}",
        f"Confidence {found.content.avg_confidence:.2f}, {found.content.citation_count:g} sources",
        f"Time {found.latency.total_ms / 1000:.2f} s, {found.usage.calls} calls, {found.usage.total_tokens} tokens",
    )
    yield from (line(row, indent=2, hang=2) for row in rows)
    if found.content.role_violations:
        yield line(f"{found.content.role_violations:g} answers left the side they were given", "yellow", indent=2)
    if level.groupthink_warning:
        yield line("Signs of groupthink", "yellow", indent=2)


async def hold_single(desk: Desk, scenario: BenchmarkScenario, repetitions: int, limit_s: float) -> ExitCode:
    """Hold one debate, as often as asked, and show its figures."""
    runner = BenchmarkRunner(desk.table, repetitions=repetitions, timeout_s=limit_s)
    held = await runner.run_scenario_with_repetitions(scenario)
    if desk.screen.as_json:
        desk.screen.data(held.model_dump(mode="json", exclude={"runs": {"__all__": {"result", "scenario"}}}))
    else:
        shown = [
            line(f"{_shown(scenario)}; {held.success_rate:.0%} of {len(held.runs)} held to the end", "bold", hang=2)
        ]
        shown += [] if held.metrics is None else list(_figures(held.metrics))
        if held.spread is not None and len(held.runs) > 1:
            spread = f"{held.spread.agreement:.3f}, of the time {held.spread.latency_ms / 1000:.2f} s"
            shown.append(line(f"Standard deviation of agreement {spread}", indent=2, hang=2))
        errors = dict.fromkeys(run.error.message for run in held.runs if run.error is not None)
        shown += [line(f"FAILED: {message}", "bold red", indent=2, hang=2) for message in errors]
        desk.screen.show(shown)
    return ExitCode.OK if held.success_rate == 1 else ExitCode.FAILED


async def list_experiments(desk: Desk, folder: str) -> ExitCode:
    """List the experiments in a folder."""
    files = _files(folder)
    if not files:
        raise ConfigurationError(f"{folder!r} holds no experiment", hint="Name a folder with YAML, TOML or JSON files.")
    found = [(file, read_experiment(file)) for file in files]
    if desk.screen.as_json:
        desk.screen.data([{"file": str(file), **one.model_dump(mode="json")} for file, one in found])
        return ExitCode.OK
    for file, one in found:
        desk.screen.show([line(f"{file}: {counted(len(one.scenarios()), 'debate')}", "bold", hang=2)])
        desk.screen.show([line(one.description, indent=2, paragraph=True)])
    return ExitCode.OK


def _files(folder: str) -> list[Path]:
    return sorted(file for file in Path(folder).expanduser().glob("*") if file.suffix.lower() in _ENDINGS)


async def compare_folders(desk: Desk, baseline: str, candidate: str) -> ExitCode:
    """Compare the mean figures of two folders of results."""
    found = compare_metrics(*(mean_metrics(read_metrics(folder)) for folder in (baseline, candidate)))
    if desk.screen.as_json:
        desk.screen.data(found.model_dump(mode="json"))
        return ExitCode.OK
    desk.screen.show([line(found.recommendation, "bold")])
    desk.screen.show([line(reason, indent=2, hang=2) for reason in found.reasons])
    return ExitCode.OK


async def hold_study(desk: Desk, file: str, asked: Asked) -> ExitCode:
    """Hold a study and show its tables."""
    report = await run_study(
        desk.table,
        read_questions(file),
        modes=asked.modes,
        rounds=asked.rounds,
        decide=asked.decide,
        normalise=cast("Literal['casefold', 'exact', 'numeric']", asked.normalise),
        extract=None if asked.extract is None else extract_last(asked.extract),
        concurrency=asked.concurrency,
        seed=asked.seed,
    )
    if desk.screen.as_json:
        desk.screen.data(report.model_dump(mode="json"))
    else:
        desk.screen.document(report.to_markdown().rstrip())
    return ExitCode.FAILED if report.failed else ExitCode.OK


def scenario_of(topic: str, mode: str, rounds: int) -> BenchmarkScenario:
    """Make a scenario of what was typed.

    Raises:
        ConfigurationError: The question or the number of rounds makes no sense.
    """
    try:
        return BenchmarkScenario(name="single", topic=topic, mode=mode, rounds=rounds)
    except ValidationError as error:
        raise ConfigurationError(": ".join(first_misfit(error)), cause=error) from None
