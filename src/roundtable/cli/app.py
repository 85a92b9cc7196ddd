"""The commands of `roundtable`: arguments and options. The other modules of this package do the work."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from roundtable._version import __version__
from roundtable.cli.bench import bench
from roundtable.cli.context import CommandOptions, open_context, split_list
from roundtable.cli.exit_codes import exit_codes_help
from roundtable.cli.fleet import fleet
from roundtable.cli.mcp import mcp
from roundtable.cli.options import (
    Adopt,
    Agents,
    Analyzer,
    AnswerSchema,
    ApproveTools,
    Attach,
    Baseline,
    BaseUrls,
    Batch,
    BudgetLimits,
    Claims,
    Context,
    Database,
    Deadline,
    ExitEarly,
    ExitWhen,
    Fetch,
    Focus,
    Force,
    Html,
    Json,
    Metadata,
    Mode,
    NoLive,
    Option,
    Options,
    Perspectives,
    Prices,
    Providers,
    Quiet,
    Quorum,
    Search,
    Session,
    SkipRounds,
    Storage,
    Synthesize,
    Timeout,
    Tools,
    Vote,
    VoteEvery,
)
from roundtable.cli.serve import serve
from roundtable.cli.session_commands import stored_session_commands
from roundtable.cli.tokens import tokens

__all__ = ["app"]

EPILOG: Final = f"\b\nExit codes:\n{exit_codes_help()}"

app: typer.Typer = typer.Typer(
    name="roundtable",
    no_args_is_help=True,
    # Plain help and plain errors: what the user types is never interpreted as markup.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
models: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Manage the embedded model.")
app.add_typer(models, name="models")
app.add_typer(tokens, name="tokens")
app.add_typer(bench, name="bench")
app.add_typer(fleet, name="fleet")
app.add_typer(stored_session_commands)  # without a name, so its commands are on the same level as those below
app.add_typer(mcp)
app.add_typer(serve)


AttachToFork = Annotated[
    list[str] | None,
    typer.Option(
        "--attach",
        metavar="FILE",
        help="Replace the session's files with this image, PDF document or text; can be repeated.",
    ),
]
Estimate = Annotated[
    bool,
    typer.Option("--estimate", help="Show the maximum calls, tokens and cost of the debate, and call no model."),
]


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"roundtable {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Several LLM agents debate a question in rounds.

    `roundtable "your question"` is short for `roundtable debate "your question"`. Without any key a small model on this
    machine debates; `roundtable doctor` shows what else is available.
    """


@app.command()
def debate(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The question, 1 to 10,000 characters.")],
    *,
    mode: Mode = "collaborative",
    agents: Agents = None,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Maximum number of rounds.")] = 3,
    options: Options = None,
    option: Option = None,
    attachments: Attach = None,
    decide: Annotated[
        str | None,
        typer.Option(
            "--decide", help="Decision rule for the last round.", show_default="plurality; schulze with --vote"
        ),
    ] = None,
    vote: Vote = False,
    vote_every: VoteEvery = False,
    exit_when: ExitWhen = None,
    exit_on_consensus: ExitEarly = False,
    perspective: Perspectives = None,
    focus: Focus = None,
    analyzer: Analyzer = "auto",
    baseline: Baseline = False,
    synthesize: Synthesize = False,
    claims: Claims = False,
    answer_schema: AnswerSchema = None,
    skip_rounds_when: SkipRounds = None,
    quorum: Quorum = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed for all random choices.")] = 0,
    estimate: Estimate = False,
    deadline: Deadline = None,
    budget: BudgetLimits = None,
    meta: Metadata = None,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: ApproveTools = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Run a debate; the word `debate` can be left out."""
    arguments = locals()
    from roundtable.cli.context import read_debate_options
    from roundtable.cli.debates import hold, show_estimate

    debate_options = read_debate_options(arguments)
    return open_context(CommandOptions.of(arguments), asks_people=True).run(
        lambda context: (
            show_estimate(context, topic, debate_options) if estimate else hold(context, topic, debate_options, html)
        )
    )


@app.command()
def resume(
    session: Session,
    *,
    context: Context = None,
    force: Force = False,
    adopt: Adopt = False,
    deadline: Deadline = None,
    budget: BudgetLimits = None,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: ApproveTools = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Resume a session that was paused or killed, or that failed.

    Stored answers are not requested again.
    """
    command_options = CommandOptions.of(locals())
    from roundtable.cli.context import ResumeOptions, read_budget, read_context
    from roundtable.cli.debates import resume as resume_session

    supplied = ResumeOptions(
        read_context(context), force=force, adopt=adopt, budget=read_budget(budget), deadline_s=deadline
    )
    return open_context(command_options, asks_people=True).run(
        lambda context: resume_session(context, session, html, supplied=supplied)
    )


@app.command()
def extend(
    session: Session,
    *,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds to add.")] = 1,
    focus: Focus = None,
    context: Context = None,
    force: Force = False,
    adopt: Adopt = False,
    deadline: Deadline = None,
    budget: BudgetLimits = None,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: ApproveTools = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Add rounds to a session."""
    command_options = CommandOptions.of(locals())
    from roundtable.cli.context import ResumeOptions, read_budget, read_context
    from roundtable.cli.debates import extend as extend_session

    supplied = ResumeOptions(
        read_context(context), force=force, adopt=adopt, budget=read_budget(budget), deadline_s=deadline
    )
    return open_context(command_options, asks_people=True).run(
        lambda context: extend_session(context, session, rounds, focus, html, supplied=supplied)
    )


@app.command()
def fork(
    session: Session,
    at_round: Annotated[
        int, typer.Option("--at-round", help="Last round to copy from the session; 0 copies only the question.")
    ],
    *,
    mode: Annotated[
        str | None, typer.Option("--mode", "-m", help="Debate mode.", show_default="that of the session")
    ] = None,
    agents: Agents = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", "-r", help="Total number of rounds, including the copied ones.")
    ] = None,
    options: Options = None,
    option: Option = None,
    attachments: AttachToFork = None,
    decide: Annotated[
        str | None, typer.Option("--decide", help="Decision rule.", show_default="that of the session")
    ] = None,
    vote: Vote = False,
    vote_every: VoteEvery = False,
    exit_when: ExitWhen = None,
    exit_on_consensus: ExitEarly = False,
    perspective: Perspectives = None,
    focus: Focus = None,
    baseline: Baseline = False,
    synthesize: Synthesize = False,
    claims: Claims = False,
    answer_schema: AnswerSchema = None,
    skip_rounds_when: SkipRounds = None,
    quorum: Quorum = None,
    deadline: Deadline = None,
    budget: BudgetLimits = None,
    meta: Metadata = None,
    timeout: Timeout = None,
    tools: Tools = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: ApproveTools = False,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    batch: Batch = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Start a "what if" session from the first rounds of another session.

    The new session continues with another mode, other agents, or another number of rounds.
    """
    arguments = locals()
    from roundtable.cli.context import read_debate_options
    from roundtable.cli.debates import fork as fork_session

    changes = read_debate_options(arguments)
    if (new_agents := split_list(agents, "--agents")) is not None:
        changes["agents"] = new_agents
    return open_context(CommandOptions.of(arguments), asks_people=True).run(
        lambda context: fork_session(context, session, at_round, changes, html)
    )


@app.command(name="agents")
def list_agents(
    agents: Agents = None, base_url: BaseUrls = None, provider: Providers = None, as_json: Json = False
) -> int:
    """List the agents that would debate, and why."""
    from roundtable.cli import plugins

    command_options = CommandOptions(
        as_json=as_json,
        agents=split_list(agents, "--agents"),
        base_urls=tuple(base_url or ()),
        endpoints=tuple(provider or ()),
    )
    return open_context(command_options, asks_people=True).run(plugins.list_agents)


@app.command(name="modes")
def list_modes(as_json: Json = False) -> int:
    """List debate modes."""
    from roundtable.cli import plugins

    return open_context(CommandOptions(as_json=as_json)).run(plugins.list_modes)


plugins_commands: typer.Typer = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="List installed plugins, or write a new one."
)
app.add_typer(plugins_commands, name="plugins")


@plugins_commands.callback()
def list_plugins(
    context: typer.Context,
    *,
    as_json: Json = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of each plugin that failed.")] = False,
) -> int:
    """List installed plugins, and the reason if one failed to load; or write a new plugin.

    The exit code is 1 if any plugin failed.
    """
    if context.invoked_subcommand is not None:
        return 0
    from roundtable.cli import plugins

    options = CommandOptions(as_json=as_json)
    return open_context(options).run(partial(plugins.list_plugins, with_traceback=debug))


@plugins_commands.command(name="new")
def new_plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the plugin, such as acme.")],
    *,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="LIST",
            help="What the plugin adds: provider, mode, tool, storage, rule, exit, analyzer, observer.",
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FOLDER", help="New folder for the package.", show_default="roundtable-NAME"),
    ] = None,
    as_json: Json = False,
) -> int:
    """Create the package of a new plugin, with conformance tests, a CI file and an example."""
    from roundtable.cli import plugins

    kinds = split_list(kind, "--kind") or ()
    return open_context(CommandOptions(as_json=as_json)).run(partial(plugins.write_new, name, kinds, into))


@app.command()
def doctor(
    *,
    agents: Agents = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    salvage: Annotated[
        str | None,
        typer.Option(
            "--salvage", metavar="FILE", help="Save the readable part of the damaged --db file to this new file."
        ),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Check what is configured and what is missing, and show how to fix it.

    No network calls are made. With --db, the whole file is checked.
    """
    from roundtable.cli.doctor import run_checks, save_readable

    command_options = CommandOptions(
        as_json=as_json,
        storage=storage,
        database=database,
        agents=split_list(agents, "--agents"),
        base_urls=tuple(base_url or ()),
        endpoints=tuple(provider or ()),
    )
    return open_context(command_options).run(
        lambda context: run_checks(context) if salvage is None else save_readable(context, salvage)
    )


@models.command()
def install(as_json: Json = False) -> int:
    """Download the embedded model before the first debate."""
    from roundtable.cli.model_install import install_weights

    return open_context(CommandOptions(as_json=as_json)).run(install_weights)
