"""The command line: commands, arguments and options. What they do stands in the modules beside this one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from roundtable._version import __version__
from roundtable.cli.codes import exit_codes_help
from roundtable.cli.desk import Ask, open_desk, split_list
from roundtable.cli.options import (
    Agents,
    Analyzer,
    BaseUrls,
    Database,
    Deadline,
    Estimate,
    ExitEarly,
    Focus,
    Html,
    Json,
    Mode,
    NoLive,
    Option,
    Options,
    Quiet,
    Session,
    Storage,
    Timeout,
)
from roundtable.cli.tokens import tokens
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def _surroundings(given: Mapping[str, Any]) -> Ask:
    """Take from the arguments of a command what all commands that debate have in common."""
    return Ask(
        as_json=given["as_json"],
        live=not given["no_live"],
        quiet=given["quiet"],
        storage=given["storage"],
        database=given["database"],
        base_urls=tuple(given["base_url"] or ()),
        timeout_s=given["timeout"],
    )


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
    focus: Focus = None,
    analyzer: Analyzer = "auto",
    quorum: Annotated[int | None, typer.Option("--quorum", help="Answers each round needs.", show_default="1")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    estimate: Estimate = False,
    deadline: Deadline = None,
    timeout: Timeout = None,
    base_url: BaseUrls = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Hold a debate; the word `debate` may be left out."""
    ask = _surroundings(locals())
    from roundtable.cli.debates import hold, weigh

    ask = replace(ask, agents=split_list(agents, "--agents"), quorum=quorum, seed=seed, analyzer=analyzer)
    chosen = (*(split_list(options, "--options") or ()), *(option or ())) or None
    asked: DebateOptions = {"mode": mode, "rounds": rounds, "decide": decide, "focus_question": focus}
    asked |= {"options": chosen, "deadline_s": deadline, "exit_on_consensus": exit_on_consensus or None}
    return open_desk(ask).run(lambda desk: weigh(desk, topic, asked) if estimate else hold(desk, topic, asked, html))


@app.command()
def resume(
    session: Session,
    *,
    deadline: Deadline = None,
    timeout: Timeout = None,
    base_url: BaseUrls = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a session that was paused, broke or was killed; no stored answer is asked for again."""
    ask = _surroundings(locals())
    from roundtable.cli.debates import resume as go_on

    return open_desk(ask).run(lambda desk: go_on(desk, session, deadline, html))


@app.command()
def extend(
    session: Session,
    *,
    rounds: Annotated[int, typer.Option("--rounds", "-r", help="Rounds to add.")] = 1,
    focus: Focus = None,
    timeout: Timeout = None,
    base_url: BaseUrls = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
    no_live: NoLive = False,
    quiet: Quiet = False,
) -> int:
    """Hold further rounds of a session."""
    ask = _surroundings(locals())
    from roundtable.cli.debates import extend as go_further

    return open_desk(ask).run(lambda desk: go_further(desk, session, rounds, focus, html))


@app.command()
def sessions(
    *,
    status: Annotated[
        str | None, typer.Option("--status", help="Only created, active, paused, completed or error ones.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", "-m", help="Only those of this mode.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only those whose topic holds this text.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most sessions listed.")] = 50,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """List the stored sessions, newest first."""
    from pydantic import ValidationError

    from roundtable.cli.sessions import list_sessions
    from roundtable.types import SessionFilter

    try:
        wanted = SessionFilter.model_validate({"status": status, "mode": mode, "topic": topic, "limit": limit})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"--{first['loc'][0]}: {first['msg']}"
        raise ConfigurationError(msg, hint="`roundtable sessions --help` says what is allowed.") from None
    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: list_sessions(desk.table, desk.place, desk.screen, wanted))


@app.command()
def show(
    session: Session,
    *,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Show a stored debate again; nobody is asked anything."""
    from roundtable.cli.debates import html_writer
    from roundtable.cli.sessions import show_session

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: show_session(desk.table, desk.place, desk.screen, session, html_writer(html)))


@app.command()
def pause(session: Session, database: Database = None, storage: Storage = None, as_json: Json = False) -> int:
    """Ask a session to pause, whoever runs it."""
    from roundtable.cli.sessions import ask_for

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: ask_for(desk.table, desk.place, desk.screen, session, "pause"))


@app.command()
def stop(session: Session, database: Database = None, storage: Storage = None, as_json: Json = False) -> int:
    """Ask a session to stop for good, whoever runs it."""
    from roundtable.cli.sessions import ask_for

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: ask_for(desk.table, desk.place, desk.screen, session, "stop"))


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
    agents: Agents = None,
    base_url: BaseUrls = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Say what is configured, what would be used, what is missing and the fix; the network is not touched."""
    from roundtable.cli.doctor import examine

    ask = Ask(
        as_json=as_json,
        storage=storage,
        database=database,
        agents=split_list(agents, "--agents"),
        base_urls=tuple(base_url or ()),
    )
    return open_desk(ask).run(examine)


@models.command()
def install(as_json: Json = False) -> int:
    """Fetch the embedded model now rather than with the first debate."""
    from roundtable.cli.weights import install_weights

    return open_desk(Ask(as_json=as_json)).run(install_weights)
