"""Run experiments and studies from the command line, and show their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from pydantic import ValidationError

from roundtable.bench import (
    BenchmarkRunner,
    BenchmarkScenario,
    Study,
    compare_metrics,
    interaction_score,
    print_progress,
    read_experiment,
    read_metrics,
    read_questions,
    read_study,
    run_experiment,
    write_paper,
)
from roundtable.bench.runner import mean_metrics
from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.base import invalid_field_text
from roundtable.results.plots import check_plots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.bench import BenchmarkMetrics, ConsensusMetrics, Experiment, ExperimentRun, StudyReport
    from roundtable.cli.context import CommandContext
    from roundtable.core.types.base import JsonObject
    from roundtable.fleet import Fleet

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
    "study_of",
]

_SUFFIXES: Final = (".yaml", ".yml", ".toml", ".json")

_STUDY_FILES: Final = frozenset({".yaml", ".yml", ".toml"})
"""Suffixes of files that contain a whole study; other files contain only its questions."""


class Plan(NamedTuple):
    """The debates to run, and the experiment they belong to."""

    file: str
    modes: tuple[str, ...] | None
    rounds: tuple[int, ...] | None

    def read(self) -> tuple[Experiment, tuple[BenchmarkScenario, ...]]:
        """Read the experiment and select its debates."""
        experiment = read_experiment(self.file)
        return experiment, experiment.scenarios(modes=self.modes, rounds=self.rounds)


class Asked(NamedTuple):
    """The options of a study."""

    modes: tuple[str, ...]
    rounds: int
    decide: str
    normalise: str
    extract: str | None
    concurrency: int
    seed: int
    study: str | None
    fleet: str | None
    report: str | None
    cassette: str | None
    analyzer: str


async def list_debates(context: CommandContext, plan: Plan) -> ExitCode:
    """List debates without running them."""
    experiment, scenarios = plan.read()
    if context.screen.as_json:
        context.screen.data([scenario.model_dump(mode="json") for scenario in scenarios])
        return ExitCode.OK
    context.screen.show(
        [line(f"{experiment.name}: {counted(len(scenarios), 'debate')}. {experiment.description}", "bold", hang=2)]
    )
    context.screen.show([line(_describe(scenario), indent=2, hang=2) for scenario in scenarios])
    return ExitCode.OK


def _describe(scenario: BenchmarkScenario) -> str:
    return f"{scenario.mode}, {counted(scenario.rounds, 'round')}: {scenario.topic}"


async def carry_out(context: CommandContext, plan: Plan, output: str, limit_s: float) -> ExitCode:
    """Run the debates of an experiment; show and write the result of each debate when it ends."""
    experiment, scenarios = plan.read()
    if context.table.given_agents is not None:
        scenarios = tuple(scenario.model_copy(update={"agents": None}) for scenario in scenarios)

    def show(finished: ExperimentRun) -> None:
        if not context.screen.as_json:
            context.screen.show(list(_run_lines(finished)))

    runs = await run_experiment(
        context.table, experiment, scenarios=scenarios, folder=output, timeout_s=limit_s, on_done=show
    )
    failed = sum(not finished.run.success for finished in runs)
    if context.screen.as_json:
        context.screen.data(
            [
                {
                    "scenario": finished.run.scenario.model_dump(mode="json"),
                    "success": finished.run.success,
                    "error": None if finished.run.error is None else finished.run.error.message,
                    "metrics": None if finished.run.metrics is None else finished.run.metrics.model_dump(mode="json"),
                    "folder": str(finished.folder),
                }
                for finished in runs
            ]
        )
    else:
        context.screen.show([line(f"{len(runs) - failed} of {counted(len(runs), 'debate')} completed.", "bold")])
    return ExitCode.FAILED if failed else ExitCode.OK


def _run_lines(finished: ExperimentRun) -> Iterator[Line]:
    run = finished.run
    yield line(_describe(run.scenario), "bold", hang=2)
    if run.error is not None:
        yield line(f"FAILED: {run.error.message}", "bold red", indent=2, hang=2)
    if run.metrics is not None:
        yield from _figures(run.metrics)
    if finished.folder is not None:
        yield line(f"Wrote {finished.folder}", "dim", indent=2, wraps=False)


def _level_in_words(level: ConsensusMetrics) -> str:
    if (level.agreement_level, level.agreement_at_most) == (0, 1):
        return "not measured"
    least, most = f"{level.agreement_level:.2f}", f"{level.agreement_at_most:.2f}"
    return least if least == most else f"{least} to {most}"


def _figures(metrics: BenchmarkMetrics) -> Iterator[Line]:
    level, exchange = metrics.consensus, metrics.interaction
    converged = "no" if level.convergence_round is None else f"in round {level.convergence_round}"
    depth = f"depth {exchange.rebuttal_depth:g}, {exchange.question_response_pairs:g} question-response pairs"
    calls = counted(metrics.usage.calls, "call")
    rows = (
        f"Agreement {_level_in_words(level)} ({level.method}), converged: {converged}",
        f"Interaction {interaction_score(exchange):g}: {exchange.cross_reference_count:g} references, {depth}",
        f"Confidence {metrics.content.avg_confidence:.2f}, {metrics.content.citation_count:g} sources",
        f"Time {metrics.latency.total_ms / 1000:.2f} s, {calls}, {metrics.usage.total_tokens} tokens",
    )
    yield from (line(row, indent=2, hang=2) for row in rows)
    if metrics.content.role_violations:
        yield line(f"{metrics.content.role_violations:g} answers left their assigned side", "yellow", indent=2)
    if level.groupthink_warning:
        yield line("Signs of groupthink", "yellow", indent=2)


async def hold_single(
    context: CommandContext, scenario: BenchmarkScenario, repetitions: int, limit_s: float
) -> ExitCode:
    """Run one debate `repetitions` times and show its metrics."""
    runner = BenchmarkRunner(context.table, repetitions=repetitions, timeout_s=limit_s)
    repeated = await runner.run_scenario_with_repetitions(scenario)
    if context.screen.as_json:
        context.screen.data(repeated.model_dump(mode="json", exclude={"runs": {"__all__": {"result", "scenario"}}}))
    else:
        lines = [
            line(
                f"{_describe(scenario)}; {repeated.success_rate:.0%} of {len(repeated.runs)} completed",
                "bold",
                hang=2,
            )
        ]
        lines += [] if repeated.metrics is None else list(_figures(repeated.metrics))
        if repeated.spread is not None and len(repeated.runs) > 1:
            spread = f"agreement {repeated.spread.agreement:.3f}, time {repeated.spread.latency_ms / 1000:.2f} s"
            lines.append(line(f"Standard deviation: {spread}", indent=2, hang=2))
        errors = dict.fromkeys(run.error.message for run in repeated.runs if run.error is not None)
        lines += [line(f"FAILED: {message}", "bold red", indent=2, hang=2) for message in errors]
        context.screen.show(lines)
    return ExitCode.OK if repeated.success_rate == 1 else ExitCode.FAILED


async def list_experiments(context: CommandContext, folder: str) -> ExitCode:
    """List the experiments in a folder."""
    files = _files(folder)
    if not files:
        raise ConfigurationError(
            f"{folder!r} contains no experiment", hint="Name a folder with YAML, TOML or JSON files."
        )
    experiments = [(file, read_experiment(file)) for file in files]
    if context.screen.as_json:
        context.screen.data(
            [{"file": str(file), **experiment.model_dump(mode="json")} for file, experiment in experiments]
        )
        return ExitCode.OK
    for file, experiment in experiments:
        context.screen.show([line(f"{file}: {counted(len(experiment.scenarios()), 'debate')}", "bold", hang=2)])
        context.screen.show([line(experiment.description, indent=2, paragraph=True)])
    return ExitCode.OK


def _files(folder: str) -> list[Path]:
    return sorted(file for file in Path(folder).expanduser().glob("*") if file.suffix.lower() in _SUFFIXES)


async def compare_folders(context: CommandContext, baseline: str, candidate: str) -> ExitCode:
    """Compare the mean metrics of two folders of results."""
    comparison = compare_metrics(*(mean_metrics(read_metrics(folder)) for folder in (baseline, candidate)))
    if context.screen.as_json:
        context.screen.data(comparison.model_dump(mode="json"))
        return ExitCode.OK
    context.screen.show([line(comparison.recommendation, "bold")])
    context.screen.show([line(reason, indent=2, hang=2) for reason in comparison.reasons])
    return ExitCode.OK


async def hold_study(context: CommandContext, study: Study, asked: Asked) -> ExitCode:
    """Run a study and show its tables."""
    if asked.report is not None:
        check_plots()
    if study.name is not None and not context.screen.quiet:
        context.screen.write_note("Every answer is stored. If this ends early, run the same command again to continue.")
    if asked.fleet is None:
        report = await _hold_study(context, study, asked)
    else:
        from roundtable.fleet import Fleet

        async with Fleet(context.table, name=asked.fleet) as fleet:
            report = await _hold_study(context, study, asked, fleet)
    if context.screen.as_json:
        context.screen.data(report.model_dump(mode="json"))
    else:
        context.screen.document(report.to_markdown().rstrip())
    if asked.report is not None:
        folder = _write_paper(context, report, asked.report, study, asked)
        context.screen.write_note(f"The report is in {folder}.")
    return ExitCode.FAILED if report.failed else ExitCode.OK


async def _hold_study(context: CommandContext, study: Study, asked: Asked, on: Fleet | None = None) -> StudyReport:
    on_progress = None if context.screen.quiet else print_progress
    return await study.run(context.table, concurrency=asked.concurrency, on=on, on_progress=on_progress)


def _write_paper(context: CommandContext, report: StudyReport, folder: str, study: Study, asked: Asked) -> Path:
    """Write the folder for a paper, with the recorded calls if there are any."""
    if asked.cassette is None:
        return write_paper(report, folder)
    seats = context.table.describe(study.questions[0].question)["agents"]
    agents = [AgentConfig.model_validate(seat) for seat in cast("list[JsonObject]", seats)]
    return write_paper(report, folder, cassette=asked.cassette, study=study, agents=agents, analyzer=asked.analyzer)


def study_of(file: str, asked: Asked) -> Study:
    """Return the study in a file, with the name and seed of the command; or make a study from a file of questions.

    Raises:
        ConfigurationError: The file cannot be read, an option is out of range, or the command has an option that the
            study's file sets.
    """
    if Path(file).suffix.lower() in _STUDY_FILES:
        return _study_in(file, asked)
    try:
        return Study(
            name=asked.study,
            questions=read_questions(file),
            modes=asked.modes,
            normalise=cast("Literal['casefold', 'exact', 'numeric']", asked.normalise),
            extract=asked.extract,
            seed=asked.seed,
            debate={"rounds": asked.rounds, "decide": asked.decide},
        )
    except ValidationError as error:
        raise ConfigurationError(invalid_field_text(error, Study), cause=error) from None


def _study_in(file: str, asked: Asked) -> Study:
    values = (asked.modes, asked.rounds, asked.decide, asked.normalise, asked.extract)
    usual = (("collaborative",), 2, "plurality", "casefold", None)
    names = ("--modes", "--rounds", "--decide", "--normalise", "--extract")
    for name, value, default in zip(names, values, usual, strict=True):
        if value != default:
            raise ConfigurationError(f"{name} is not an option for the study in {file!r}", hint="Set it in the file.")
    study = read_study(file)
    return study.model_copy(update={"name": asked.study or study.name, "seed": asked.seed or study.seed})


def scenario_of(topic: str, mode: str, rounds: int) -> BenchmarkScenario:
    """Create a scenario from command-line arguments.

    Raises:
        ConfigurationError: The question or the number of rounds is out of range.
    """
    try:
        return BenchmarkScenario(name="single", topic=topic, mode=mode, rounds=rounds)
    except ValidationError as error:
        raise ConfigurationError(invalid_field_text(error, BenchmarkScenario), cause=error) from None
