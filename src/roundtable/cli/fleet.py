"""The `fleet` commands: queue jobs of many debates, run the debates, and show their progress."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
import typer

from roundtable.cli.context import CommandContext, CommandOptions, open_context, read_budget, read_debate_options
from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.options import (
    Agents,
    Analyzer,
    Baseline,
    BaseUrls,
    Batch,
    Database,
    ExitWhen,
    Fetch,
    Json,
    Mode,
    Prices,
    Providers,
    Quiet,
    Search,
    Storage,
    Timeout,
    Tools,
    Vote,
)
from roundtable.cli.storage_location import SHORT_ID
from roundtable.core.base.files import write_parts
from roundtable.core.base.words import counted, duration
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from roundtable.api.options import DebateOptions
    from roundtable.core.types.base import JsonObject
    from roundtable.fleet import Fleet, JobStatus
    from roundtable.results.many import Results

__all__ = ["fleet"]

_DEFAULT: Final = "default"
_AT_ONCE: Final = 8
_GRACE_S: Final = 20.0
_LONG_S: Final = 30.0
"""Debates that have been running for less time than this are not named."""
_SHORTEST_WATCH_S: Final = 0.5
_SUFFIXES: Final = (".jsonl", ".json", ".csv")
"""Formats of files with results."""

fleet: typer.Typer = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run many debates through a queue that survives crashes.",
)

_Job = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job; `fleet status` lists all.")]
_Name = Annotated[
    str, typer.Option("--fleet", metavar="NAME", help="Name of the fleet; fleets of different names share no jobs.")
]
_Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency",
        metavar="N",
        help="Maximum debates at the same time per worker; all workers use the value of the worker started last.",
    ),
]
_Priority = Annotated[int, typer.Option("--priority", metavar="N", help="Jobs with a lower number run first.")]
_ProviderConcurrency = Annotated[
    list[str] | None,
    typer.Option(
        "--provider-concurrency",
        metavar="PROVIDER=N",
        help="Maximum calls to a provider at the same time, for all workers together; give all workers the same value. "
        "Can be repeated.",
    ),
]
_Grace = Annotated[
    float,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        min=0,
        max=60,
        help="How long running model calls may take to finish after Ctrl-C or SIGTERM; then they are interrupted.",
    ),
]
_DebateBudget = Annotated[
    list[str] | None,
    typer.Option("--budget", metavar="LIMIT=N", help="Limit each debate: usd, tokens, seconds or calls."),
]
_JobBudget = Annotated[
    list[str] | None,
    typer.Option(
        "--job-budget", metavar="LIMIT=N", help="Limit all debates of the job together: usd, tokens or calls."
    ),
]


@fleet.command()
def submit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Questions: one JSON string or object per line (.jsonl).")
    ],
    *,
    job: Annotated[
        str | None, typer.Option("--job", metavar="NAME", help="Name of the job.", show_default="the file's name")
    ] = None,
    mode: Mode = "collaborative",
    agents: Agents = None,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Maximum number of rounds.")] = 3,
    decide: Annotated[str | None, typer.Option("--decide", help="Decision rule for the last round.")] = None,
    vote: Vote = False,
    exit_when: ExitWhen = None,
    baseline: Baseline = False,
    budget: _DebateBudget = None,
    job_budget: _JobBudget = None,
    priority: _Priority = 1_000,
    work: Annotated[
        bool | None,
        typer.Option(
            "--work/--no-work",
            help="Run the debates in this process until the job is done, or (--no-work) only queue them.",
            show_default="--work with SQLite",
        ),
    ] = None,
    concurrency: _Concurrency = _AT_ONCE,
    provider_concurrency: _ProviderConcurrency = None,
    grace: _Grace = _GRACE_S,
    name: _Name = _DEFAULT,
    analyzer: Analyzer = "auto",
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Queue a debate for each question in a file.

    Run the same command again to continue: nothing is queued twice, and no stored answer is requested again.
    """
    arguments = locals()
    limits, options = read_budget(job_budget), _options(arguments)
    job_name = Path(file).stem if job is None else job

    async def act(context: CommandContext, fleet: Fleet) -> ExitCode:
        from roundtable.fleet import read_jsonl

        status = await fleet.submit(job_name, read_jsonl(file), priority=priority, job_budget=limits, **options)
        if context.place.path is not None if work is None else work:
            return await _work(context, fleet, concurrency, job_name, grace)
        _show(context, [status])
        _suggest_workers(context, fleet, concurrency)
        return ExitCode.OK

    return _run(arguments, act)


@fleet.command(name="work")
def hold_debates(
    *,
    concurrency: _Concurrency = _AT_ONCE,
    provider_concurrency: _ProviderConcurrency = None,
    until_done: Annotated[
        str | None, typer.Option("--until-done", metavar="JOB", help="End when this job is done.", show_default="never")
    ] = None,
    grace: _Grace = _GRACE_S,
    name: _Name = _DEFAULT,
    agents: Agents = None,
    analyzer: Analyzer = "auto",
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run a worker: run queued debates until Ctrl-C or SIGTERM. You can start workers on many machines.

    When a worker ends, its running calls may finish, its running debates go back to the queue, and other workers
    continue them.
    """
    arguments = locals()
    return _run(arguments, lambda context, fleet: _work(context, fleet, concurrency, until_done, grace))


@fleet.command()
def status(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Name of the job; all jobs when left out.")] = None,
    *,
    watch: Annotated[
        float | None,
        typer.Option("--watch", metavar="SECONDS", help="Refresh every SECONDS until all jobs are done."),
    ] = None,
    name: _Name = _DEFAULT,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Show the progress, rate and consumption of jobs, and why debates failed."""
    arguments = locals()
    if watch is not None and not watch >= _SHORTEST_WATCH_S:
        raise ConfigurationError(f"--watch must be at least {_SHORTEST_WATCH_S:g} s, not {watch:g}")

    async def show(context: CommandContext, fleet: Fleet) -> ExitCode:
        while True:
            states = await fleet.jobs() if job is None else [await fleet.status(job)]
            if not states and not context.screen.as_json and await context.place.is_empty(context.table):
                context.screen.show([line(f"No job in {context.place.shown}. {context.place.missing}".rstrip())])
                return ExitCode.OK
            _show(context, states)
            if watch is None or all(state.is_done for state in states):
                return ExitCode.OK
            await anyio.sleep(watch)

    async def act(context: CommandContext, fleet: Fleet) -> ExitCode:
        if watch is None:
            return await show(context, fleet)
        from roundtable.cli.signals import interruptible

        outcome = await interruptible(partial(show, context, fleet), context.screen)
        return outcome.code or ExitCode.OK

    return _run(arguments, act)


@fleet.command()
def cancel(
    job: _Job, *, name: _Name = _DEFAULT, database: Database = None, storage: Storage = None, as_json: Json = False
) -> int:
    """Cancel the queued and running debates of a job; stored answers are kept."""

    async def act(context: CommandContext, fleet: Fleet) -> ExitCode:
        _show(context, [await fleet.cancel(job)])
        return ExitCode.OK

    return _run(locals(), act)


@fleet.command()
def retry(
    job: _Job,
    *,
    job_budget: _JobBudget = None,
    name: _Name = _DEFAULT,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Queue the failed and cancelled debates of a job again; each continues where it ended."""
    limits = read_budget(job_budget)

    async def act(context: CommandContext, fleet: Fleet) -> ExitCode:
        before = await fleet.status(job)
        _show(context, [await fleet.retry(job, job_budget=limits)])
        if context.screen.as_json:
            return ExitCode.OK
        if before.failed or before.cancelled:
            command = context.place.running("fleet", "work", "--until-done", job, *_name_of(fleet))
            context.screen.write_note(f"These debates wait for a worker. Start a worker with: {command}")
        else:
            context.screen.write_note("Nothing to retry: no debate of this job failed or was cancelled.")
        return ExitCode.OK

    return _run(locals(), act)


@fleet.command()
def results(
    job: _Job,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the answers to this file: .jsonl, .json or .csv."),
    ] = None,
    name: _Name = _DEFAULT,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Show the answers of the debates that have ended, one line each, in the order of the questions."""
    if output is not None:
        _check_suffix(output)

    async def act(context: CommandContext, fleet: Fleet) -> ExitCode:
        outcomes = await fleet.results(job)
        rows = outcomes.to_records()
        if output is not None:
            write_parts(Path(output), _parts(outcomes, rows, Path(output).suffix.lower()))
            if context.screen.as_json:
                context.screen.data({"file": output, "results": len(rows)})
            context.screen.write_note(f"{len(rows):,} results are in {output}.")
        elif context.screen.as_json:
            context.screen.data([*rows])
        else:
            context.screen.show(map(_result_line, rows) if rows else [line("No debate has ended yet.")])
        return ExitCode.OK

    return _run(locals(), act)


def _check_suffix(output: str) -> None:
    """Check that results can be written in the format that a file name asks for; without a suffix, as JSON Lines.

    Raises:
        ConfigurationError: The suffix is unknown.
    """
    suffix = Path(output).suffix
    if suffix and suffix.lower() not in _SUFFIXES:
        msg = f"--output: results cannot be written as {suffix!r}: {output!r}"
        raise ConfigurationError(msg, hint=f"Use a name that ends in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}.")


def _parts(outcomes: Results, rows: Sequence[JsonObject], suffix: str) -> Iterator[str]:
    """Yield the text of a file with results."""
    if suffix == ".csv":
        yield str(outcomes.frames("sessions", "csv"))
    elif suffix == ".json":
        yield f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n"
    else:
        for row in rows:
            yield f"{json.dumps(row, ensure_ascii=False)}\n"


def _options(arguments: dict[str, Any]) -> DebateOptions:
    """Return the options of the debates, with the names of the agents: each worker creates the agents itself."""
    options = read_debate_options(arguments)
    agents = CommandOptions.of(arguments).agents
    return options if agents is None else {**options, "agents": agents}


def _provider_limits(texts: Sequence[str]) -> dict[str, int]:
    limits = {}
    for text in texts:
        provider, _, number = text.partition("=")
        if not provider.strip() or not number.strip().isdecimal():
            msg = f"--provider-concurrency takes provider=number, not {text!r}"
            raise ConfigurationError(msg, hint="For example: --provider-concurrency openai=32")
        limits[provider.strip()] = int(number)
    return limits


def _run(arguments: dict[str, Any], act: Callable[[CommandContext, Fleet], Awaitable[ExitCode]]) -> int:
    """Open the fleet of a command line, act on it, and close it."""

    async def work(context: CommandContext) -> ExitCode:
        from roundtable.fleet import Fleet

        if not context.place.is_persistent:
            raise ConfigurationError(
                "a fleet cannot work in memory", hint="Use --db FILE or --storage postgresql://..."
            )
        limits = _provider_limits(arguments.get("provider_concurrency") or ())
        async with Fleet(context.table, name=arguments["name"], provider_concurrency=limits) as opened:
            return await act(context, opened)

    return open_context(replace(CommandOptions.of(arguments), live=False)).run(work)


async def _work(context: CommandContext, fleet: Fleet, concurrency: int, job: str | None, grace_s: float) -> ExitCode:
    """Run debates until a signal, or until a job is done; then show the state of the job."""
    from roundtable.cli.signals import interruptible

    screen = context.screen

    shown = -1

    def progress(status: JobStatus) -> None:
        nonlocal shown
        step = status.ended * 20 // status.debates
        if step > shown and not screen.quiet:
            shown = step
            failed = f", {status.failed:,} failed" if status.failed else ""
            screen.write_note(f"{status.ended:,} of {status.debates:,} debates have ended{failed}")

    if job is None and not screen.quiet:
        screen.write_note(f"Worker of the fleet {fleet.name!r} is waiting for debates. Press Ctrl-C to end it.")
    holding = partial(fleet.work, concurrency=concurrency, until_done=job, on_progress=progress, grace_s=grace_s)
    outcome = await interruptible(holding, screen, f"running calls have {grace_s:g} s to finish")
    if outcome.code:
        until = () if job is None else ("--until-done", job)
        grace = () if grace_s == _GRACE_S else ("--grace", f"{grace_s:g}")
        options = *until, *_limits_of(fleet, concurrency), *grace, *_name_of(fleet)
        screen.write_note(f"Continue with: {context.place.running('fleet', 'work', *options)}")
        return outcome.code
    if job is None:
        return ExitCode.OK
    status = await fleet.status(job)
    _show(context, [status])
    if not status.failed:
        return ExitCode.OK
    why, again = (context.place.command("fleet", word, job, *_name_of(fleet)) for word in ("results", "retry"))
    screen.write_note(f"See why debates failed with: {why}. Queue them again with: {again}")
    return ExitCode.FAILED


def _suggest_workers(context: CommandContext, fleet: Fleet, concurrency: int) -> None:
    if not context.screen.as_json:
        command = context.place.running("fleet", "work", *_limits_of(fleet, concurrency), *_name_of(fleet))
        context.screen.write_note(f"Start workers with: {command}")


def _limits_of(fleet: Fleet, concurrency: int) -> tuple[str, ...]:
    """Return the options that give another worker the same limits; without them, it would use the defaults.

    Args:
        fleet: The fleet, with the limits of its providers.
        concurrency: Maximum debates at the same time per worker.
    """
    at_once = () if concurrency == _AT_ONCE else ("--concurrency", str(concurrency))
    limits = (("--provider-concurrency", f"{provider}={most}") for provider, most in fleet.provider_concurrency.items())
    return *at_once, *chain.from_iterable(limits)


def _name_of(fleet: Fleet) -> tuple[str, ...]:
    """Return the option that names the fleet; nothing for the default fleet."""
    return () if fleet.name == _DEFAULT else ("--fleet", fleet.name)


def _show(context: CommandContext, states: list[JobStatus] | tuple[JobStatus, ...]) -> None:
    if context.screen.as_json:
        context.screen.data([state.model_dump(mode="json") for state in states])
        return
    context.screen.show(
        [text_line for state in states for text_line in _lines(state)] or [line("No job has been submitted.")]
    )


def _lines(state: JobStatus) -> list[Line]:
    counts = ", ".join(
        f"{count:,} {name}"
        for name, count in (
            ("completed", state.completed),
            ("failed", state.failed),
            ("cancelled", state.cancelled),
            ("running", state.running),
            ("queued", state.queued),
        )
        if count
    )
    lines = [Line(f"{state.job}: {counts} (of {state.debates:,})", "bold")]
    if state.set_aside:
        lines.append(line(_waiting(state), indent=2, hang=2))
    usage = state.usage
    if usage.calls:
        calls, tokens = f"{usage.calls:,}", f"{usage.total_tokens:,}"
        cost = f"{usage.known_cost_usd:.4f} USD" if usage.cost_usd is not None else "price unknown"
        if state.budget is not None:
            calls += "" if state.budget.max_calls is None else f" of {state.budget.max_calls:,}"
            tokens += "" if state.budget.max_tokens is None else f" of {state.budget.max_tokens:,}"
            cost += "" if state.budget.max_cost_usd is None else f" of {state.budget.max_cost_usd:.2f} USD"
        lines.append(line(f"  {calls} calls, {tokens} tokens, {cost}"))
    if not state.is_done and state.left_s is not None:
        rate = f"{state.per_minute:,.0f}" if state.per_minute >= 10 else f"{state.per_minute:.2g}"
        lines.append(line(f"  {rate} debates a minute, about {duration(state.left_s)} left"))
    if state.longest_running and state.longest_running[0].seconds >= _LONG_S:
        longest = ", ".join(
            f"{debate.session_id[:SHORT_ID]} ({duration(debate.seconds)})" for debate in state.longest_running
        )
        lines.append(line(f"  running for the longest time: {longest}", hang=2))
    if state.errors:
        lines.append(
            line("  failed by " + ", ".join(f"{code}: {count}" for code, count in sorted(state.errors.items())))
        )
    return lines


def _waiting(state: JobStatus) -> str:
    """Return why debates of a job wait although there may be workers."""
    return (
        f"{counted(state.set_aside, 'debate')} can run only in workers with the agents of the job: "
        f"{', '.join(state.agents or ())}; other workers leave them in the queue"
    )


def _result_line(row: JsonObject) -> Line:
    error, status = row.get("error"), row.get("status")
    answer = f"failed: {error}" if error else row.get("answer") or "(no answer)"
    unfinished = "" if error or status == "completed" else f"  ({status})"
    return line(f"{row['topic']}  ->  {answer}{unfinished}")
