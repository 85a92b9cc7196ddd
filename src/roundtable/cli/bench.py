"""Commands on experiments and studies: arguments and options. What they do stands in `benchmarks`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roundtable.cli.desk import Ask, Desk, open_desk, split_list
from roundtable.cli.options import Agents, Analyzer, BaseUrls, Database, Json, Mode, Quiet, Storage, Timeout
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bench"]

bench: typer.Typer = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Experiments that compare modes, and studies that say whether debating pays.",
)

File = Annotated[str, typer.Argument(metavar="FILE", help="The experiment: YAML, TOML or JSON.")]
Modes = Annotated[
    list[str] | None, typer.Option("--filter-mode", metavar="LIST", help="Only these modes, with commas between.")
]
Rounds = Annotated[
    list[int] | None, typer.Option("--filter-rounds", metavar="N", help="Only this number of rounds; may be repeated.")
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where folders of results are made.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the debates, and hold none.")]
Seconds = Annotated[float, typer.Option("--limit", metavar="SECONDS", help="Seconds that one debate may take.")]


def _desk(given: Mapping[str, Any]) -> Desk:
    """Make ready; sessions are kept in memory alone unless a place is named, since results are written to folders."""
    # The seed that a study takes is that of its statistics.
    ask = replace(Ask.of(given), live=False, seed=0)
    nowhere = ask.storage is None and ask.database is None
    return open_desk(replace(ask, storage="memory://") if nowhere else ask)


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
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Hold every debate of an experiment and write each to a folder; exit code 1 when one failed."""
    given = locals()
    from roundtable.cli.benchmarks import Plan, carry_out, list_debates

    plan = Plan(file, split_list(filter_mode, "--filter-mode"), tuple(filter_rounds or ()) or None)
    desk = _desk(given)
    return desk.run(lambda desk: list_debates(desk, plan) if dry_run else carry_out(desk, plan, output, limit))


@bench.command()
def matrix(file: File, *, filter_mode: Modes = None, filter_rounds: Rounds = None, as_json: Json = False) -> int:
    """List the debates of an experiment; none is held."""
    from roundtable.cli.benchmarks import Plan, list_debates

    plan = Plan(file, split_list(filter_mode, "--filter-mode"), tuple(filter_rounds or ()) or None)
    return _desk({"as_json": as_json}).run(lambda desk: list_debates(desk, plan))


@bench.command()
def single(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The question.")],
    *,
    mode: Mode = "collaborative",
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds to hold at most.")] = 3,
    repetitions: Annotated[int, typer.Option("--repetitions", help="How often to hold it.")] = 1,
    limit: Seconds = 300,
    agents: Agents = None,
    analyzer: Analyzer = "auto",
    base_url: BaseUrls = None,
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Hold one debate, or the same several times, and show its figures."""
    given = locals()
    from roundtable.cli.benchmarks import hold_single, scenario_of

    scenario = scenario_of(topic, mode, rounds)
    return _desk(given).run(lambda desk: hold_single(desk, scenario, repetitions, limit))


@bench.command(name="list")
def list_files(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where experiments are.")] = "examples/experiments",
    *,
    as_json: Json = False,
) -> int:
    """List the experiments in a folder."""
    from roundtable.cli.benchmarks import list_experiments

    return _desk({"as_json": as_json}).run(lambda desk: list_experiments(desk, folder))


@bench.command()
def compare(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="Folder of results.")],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Folder of results that may replace them.")],
    *,
    as_json: Json = False,
) -> int:
    """Compare the figures of two folders of results: adopt, reject or conditional."""
    from roundtable.cli.benchmarks import compare_folders

    return _desk({"as_json": as_json}).run(lambda desk: compare_folders(desk, baseline, candidate))


@bench.command()
def study(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Questions with gold answers: CSV or JSONL.")],
    *,
    modes: Annotated[
        list[str] | None, typer.Option("--modes", metavar="LIST", help="Debate modes, with commas between.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds of each debate.")] = 2,
    decide: Annotated[str, typer.Option("--decide", help="Decision rule, for every way of answering.")] = "plurality",
    normalise: Annotated[str, typer.Option("--normalise", help="casefold, exact or numeric.")] = "casefold",
    extract: Annotated[
        str | None,
        typer.Option(
            "--extract", metavar="PATTERN", help="Take the last match of this in a position; `number` for a number."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Questions under way at once.")] = 4,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
    agents: Agents = None,
    analyzer: Analyzer = "semantic",
    base_url: BaseUrls = None,
    timeout: Timeout = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Say whether debating pays: every question debated, and answered without debate at the same price."""
    given = locals()
    from roundtable.cli.benchmarks import Asked, hold_study

    known = ("casefold", "exact", "numeric")
    if normalise not in known:
        raise ConfigurationError(f"--normalise is {', '.join(known)}, not {normalise!r}")
    known_modes = split_list(modes, "--modes") or ("collaborative",)
    asked = Asked(known_modes, rounds, decide, normalise, extract, concurrency, seed)
    desk = _desk(given)
    return desk.run(lambda desk: hold_study(desk, file, asked))
