"""The `bench` commands for experiments and studies: arguments and options. `benchmarks` does the work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from roundtable.cli.context import CommandContext, CommandOptions, open_context, split_list
from roundtable.cli.options import (
    Agents,
    Analyzer,
    BaseUrls,
    Batch,
    Database,
    Json,
    Mode,
    Prices,
    Providers,
    Quiet,
    Storage,
    Timeout,
)
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bench"]

bench: typer.Typer = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compare modes in experiments; measure what debating gains.",
)

_NORMALISATIONS: Final = ("casefold", "exact", "numeric")

File = Annotated[str, typer.Argument(metavar="FILE", help="The experiment: YAML, TOML or JSON.")]
Modes = Annotated[
    list[str] | None,
    typer.Option("--filter-mode", metavar="LIST", help="Run only debates in these modes, separated by commas."),
]
Rounds = Annotated[
    list[int] | None,
    typer.Option("--filter-rounds", metavar="N", help="Run only debates with this number of rounds; can be repeated."),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder in which to store results.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the debates without running any.")]
Seconds = Annotated[float, typer.Option("--limit", metavar="SECONDS", help="Time limit for one debate.")]


def _open(arguments: Mapping[str, Any], *, keeps: bool = False) -> CommandContext:
    """Create the context; sessions stay in memory if the command does not keep them and no storage is named."""
    # The option `--seed` of a study seeds its statistics, not its debates.
    command_options = replace(CommandOptions.of(arguments), live=False, seed=0)
    in_memory = not keeps and command_options.storage is None and command_options.database is None
    return open_context(replace(command_options, storage="memory://") if in_memory else command_options)


@bench.command()
def run(
    file: File,
    *,
    dry_run: DryRun = False,
    filter_mode: Modes = None,
    filter_rounds: Rounds = None,
    output: Output = "results",
    limit: Seconds = 300,
    agents: Agents = None,
    analyzer: Analyzer = "auto",
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Run every debate of an experiment and write the results.

    Each debate gets its own folder. The exit code is 1 if any debate failed.
    """
    arguments = locals()
    from roundtable.cli.benchmarks import Plan, carry_out, list_debates

    plan = Plan(file, split_list(filter_mode, "--filter-mode"), tuple(filter_rounds or ()) or None)
    context = _open(arguments)
    if dry_run:
        return context.run(lambda context: list_debates(context, plan))
    return context.run(lambda context: carry_out(context, plan, output, limit), hears=True)


@bench.command()
def matrix(file: File, *, filter_mode: Modes = None, filter_rounds: Rounds = None, as_json: Json = False) -> int:
    """List the debates of an experiment without running any."""
    from roundtable.cli.benchmarks import Plan, list_debates

    plan = Plan(file, split_list(filter_mode, "--filter-mode"), tuple(filter_rounds or ()) or None)
    return _open({"as_json": as_json}).run(lambda context: list_debates(context, plan))


@bench.command()
def single(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The question.")],
    *,
    mode: Mode = "collaborative",
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Maximum number of rounds.")] = 3,
    repetitions: Annotated[int, typer.Option("--repetitions", help="How many times to run the debate.")] = 1,
    limit: Seconds = 300,
    agents: Agents = None,
    analyzer: Analyzer = "auto",
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Run one debate, once or several times, and show its metrics."""
    arguments = locals()
    from roundtable.cli.benchmarks import hold_single, scenario_of

    scenario = scenario_of(topic, mode, rounds)
    return _open(arguments).run(lambda context: hold_single(context, scenario, repetitions, limit), hears=True)


@bench.command(name="list")
def list_files(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder with experiments.")] = "examples/experiments",
    *,
    as_json: Json = False,
) -> int:
    """List the experiments in a folder."""
    from roundtable.cli.benchmarks import list_experiments

    return _open({"as_json": as_json}).run(lambda context: list_experiments(context, folder))


@bench.command()
def compare(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="Folder with the results to compare with.")],
    candidate: Annotated[
        str, typer.Argument(metavar="CANDIDATE", help="Folder with the results to judge against the baseline.")
    ],
    *,
    as_json: Json = False,
) -> int:
    """Compare the metrics of two folders of results.

    Recommend whether to adopt the candidate: adopt, reject or conditional.
    """
    from roundtable.cli.benchmarks import compare_folders

    return _open({"as_json": as_json}).run(lambda context: compare_folders(context, baseline, candidate))


def _check_normalise(normalise: str) -> None:
    if normalise not in _NORMALISATIONS:
        raise ConfigurationError(f"unknown value for --normalise: {normalise!r}; choose {', '.join(_NORMALISATIONS)}")


_Extract = Annotated[
    str | None,
    typer.Option(
        "--extract",
        metavar="PATTERN",
        help="Regular expression that finds the answer in a position; the last match counts. With `number`, the answer "
        "is the number that the text gives as its answer.",
    ),
]
_StudyName = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="NAME", help="Store the answers under this name; run the same command again to continue."
    ),
]


@bench.command()
def study(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Questions with gold answers (CSV, JSONL), or a study (YAML, TOML).")
    ],
    *,
    modes: Annotated[
        list[str] | None, typer.Option("--modes", metavar="LIST", help="Debate modes, separated by commas.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds of each debate.")] = 2,
    decide: Annotated[
        str, typer.Option("--decide", help="Decision rule, both for debates and for answers given without a debate.")
    ] = "plurality",
    normalise: Annotated[
        str, typer.Option("--normalise", help="How answers are compared: casefold, exact or numeric.")
    ] = "casefold",
    extract: _Extract = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Questions to run at the same time.")] = 4,
    name: _StudyName = None,
    fleet: Annotated[
        str | None,
        typer.Option("--fleet", metavar="FLEET", help="Run the debates on this fleet with all its workers."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
    report: Annotated[
        str | None,
        typer.Option(
            "--report", metavar="FOLDER", help="Write figures, tables, methods and data for a paper to this folder."
        ),
    ] = None,
    cassette: Annotated[
        str | None,
        typer.Option(
            "--cassette", metavar="FILE", help="Replay calls that this file contains; record all other calls in it."
        ),
    ] = None,
    agents: Agents = None,
    analyzer: Analyzer = "semantic",
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Measure whether debates give better answers than other methods at the same price.

    Every question is answered by a debate, and without a debate at the same price.
    """
    arguments = locals()
    from roundtable.cli.benchmarks import Asked, hold_study, study_of

    _check_normalise(normalise)
    mode_names = split_list(modes, "--modes") or ("collaborative",)
    options = Asked(
        mode_names, rounds, decide, normalise, extract, concurrency, seed, name, fleet, report, cassette, analyzer
    )
    planned = study_of(file, options)
    context = _open(arguments, keeps=planned.name is not None)
    return context.run(lambda context: hold_study(context, planned, options), hears=True)
