"""The command line: commands, arguments and options. What they do stands in the modules beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from roundtable._version import __version__
from roundtable.cli.bench import bench
from roundtable.cli.codes import exit_codes_help
from roundtable.cli.desk import Ask, open_desk, split_list
from roundtable.cli.kept import kept
from roundtable.cli.mcp import mcp
from roundtable.cli.options import (
    Adopt,
    Agents,
    Analyzer,
    Baseline,
    BaseUrls,
    Context,
    Database,
    Deadline,
    Estimate,
    ExitEarly,
    Fetch,
    Focus,
    Force,
    Html,
    Json,
    Mode,
    NoLive,
    Option,
    Options,
    Perspectives,
    Quiet,
    Search,
    Session,
    SkipRounds,
    Storage,
    Synthesize,
    Timeout,
    Tools,
)
from roundtable.cli.serve import serve
from roundtable.cli.tokens import tokens

if TYPE_CHECKING:
    from roundtable.api.options import DebateOptions

__all__ = ["app"]

EPILOG: Final = f"\b\nExit codes:\n{exit_codes_help()}"

app: typer.Typer = typer.Typer(
    name="roundtable",
    no_args_is_help=True,
    # Plain help and plain errors: nothing that was typed is ever read as markup.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
models: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The embedded model.")
app.add_typer(models, name="models")
app.add_typer(tokens, name="tokens")
app.add_typer(bench, name="bench")
app.add_typer(kept)  # without a name: its commands stand beside those below
app.add_typer(mcp)
app.add_typer(serve)


def _version(wanted: bool) -> None:
    if wanted:
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
    machine debates; `roundtable doctor` says what else could be used.
    """


def _chosen(options: list[str] | None, option: list[str] | None) -> tuple[str, ...] | None:
    return (*(split_list(options, "--options") or ()), *(option or ())) or None


@app.command()
def debate(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The question, 1 to 10,000 characters.")],
    *,
    mode: Mode = "collaborative",
    agents: Agents = None,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds to hold at most.")] = 3,
    options: Options = None,
    option: Option = None,
    decide: Annotated[str, typer.Option("--decide", help="Decision rule over the last round.")] = "plurality",
    exit_on_consensus: ExitEarly = False,
    perspective: Perspectives = None,
    focus: Focus = None,
    analyzer: Analyzer = "auto",
    baseline: Baseline = False,
    synthesize: Synthesize = False,
    skip_rounds_when: SkipRounds = None,
    quorum: Annotated[int | None, typer.Option("--quorum", help="Answers each round needs.", show_default="1")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    estimate: Estimate = False,
    deadline: Deadline = None,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Hold a debate; the word `debate` may be left out."""
    ask = Ask.of(locals())
    from roundtable.cli.debates import hold, weigh

    asked: DebateOptions = {"mode": mode, "rounds": rounds, "decide": decide, "focus_question": focus}
    asked |= {"baseline": baseline, "synthesize": synthesize, "skip_rounds_when": skip_rounds_when}
    asked |= {"options": _chosen(options, option), "exit_on_consensus": exit_on_consensus or None}
    asked |= {"perspectives": "auto" if perspective == ["auto"] else perspective, "deadline_s": deadline}
    return open_desk(ask).run(lambda desk: weigh(desk, topic, asked) if estimate else hold(desk, topic, asked, html))


@app.command()
def resume(
    session: Session,
    *,
    context: Context = None,
    force: Force = False,
    adopt: Adopt = False,
    deadline: Deadline = None,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a session that was paused, broke or was killed; no stored answer is asked for again."""
    ask = Ask.of(locals())
    from roundtable.cli.context import Supplied, read_context
    from roundtable.cli.debates import resume as go_on

    supplied = Supplied(read_context(context), force=force, adopt=adopt)
    return open_desk(ask).run(lambda desk: go_on(desk, session, deadline, html, supplied=supplied))


@app.command()
def extend(
    session: Session,
    *,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds to add.")] = 1,
    focus: Focus = None,
    context: Context = None,
    force: Force = False,
    adopt: Adopt = False,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Hold further rounds of a session."""
    ask = Ask.of(locals())
    from roundtable.cli.context import Supplied, read_context
    from roundtable.cli.debates import extend as go_further

    supplied = Supplied(read_context(context), force=force, adopt=adopt)
    return open_desk(ask).run(lambda desk: go_further(desk, session, rounds, focus, html, supplied=supplied))


@app.command()
def fork(
    session: Session,
    at_round: Annotated[
        int, typer.Option("--at-round", help="Last round that both share; 0 shares the question alone.")
    ],
    *,
    mode: Annotated[str | None, typer.Option("--mode", "-m", help="Another debate mode.")] = None,
    agents: Agents = None,
    rounds: Annotated[int | None, typer.Option("--rounds", "-r", help="Another number of rounds, in all.")] = None,
    focus: Focus = None,
    timeout: Timeout = None,
    tools: Tools = None,
    search: Search = None,
    fetch: Fetch = False,
    base_url: BaseUrls = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Hold a "what if": a new session that shares the past of another, and goes on in another way."""
    ask = Ask.of(locals())
    from roundtable.cli.debates import fork as go_elsewhere

    changes: DebateOptions = {}
    changes |= {} if mode is None else {"mode": mode}
    changes |= {} if rounds is None else {"rounds": rounds}
    changes |= {} if focus is None else {"focus_question": focus}
    others = split_list(agents, "--agents")
    changes |= {} if others is None else {"agents": others}
    return open_desk(ask).run(lambda desk: go_elsewhere(desk, session, at_round, changes, html))


@app.command(name="agents")
def list_agents(agents: Agents = None, base_url: BaseUrls = None, as_json: Json = False) -> int:
    """Say who would sit at the table, and why."""
    from roundtable.cli import offers

    ask = Ask(as_json=as_json, agents=split_list(agents, "--agents"), base_urls=tuple(base_url or ()))
    return open_desk(ask).run(offers.list_agents)


@app.command(name="modes")
def list_modes(as_json: Json = False) -> int:
    """Say which debate modes there are."""
    from roundtable.cli import offers

    return open_desk(Ask(as_json=as_json)).run(offers.list_modes)


@app.command(name="plugins")
def list_plugins(as_json: Json = False) -> int:
    """Say which plugins are installed, what they bring, and why one cannot be used; exit code 1 when one failed."""
    from roundtable.cli import plugins

    return open_desk(Ask(as_json=as_json)).run(plugins.list_plugins)


@app.command()
def doctor(
    *,
    agents: Agents = None,
    base_url: BaseUrls = None,
    salvage: Annotated[
        str | None,
        typer.Option("--salvage", metavar="FILE", help="Save what can be read of a damaged file into a new one."),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Say what is configured, what would be used, what is missing and the fix; the network is not touched.

    A file named with --db is looked through as a whole.
    """
    from roundtable.cli.doctor import examine, save_readable

    ask = Ask(
        as_json=as_json,
        storage=storage,
        database=database,
        agents=split_list(agents, "--agents"),
        base_urls=tuple(base_url or ()),
    )
    return open_desk(ask).run(lambda desk: examine(desk) if salvage is None else save_readable(desk, salvage))


@models.command()
def install(as_json: Json = False) -> int:
    """Fetch the embedded model now rather than with the first debate."""
    from roundtable.cli.weights import install_weights

    return open_desk(Ask(as_json=as_json)).run(install_weights)
