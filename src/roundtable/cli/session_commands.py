"""Commands on stored sessions: arguments and options. The other modules of this package do the work."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from roundtable.cli.context import CommandOptions, open_context
from roundtable.cli.options import (
    ApproveTools,
    BaseUrls,
    Database,
    Fetch,
    Html,
    Json,
    NoLive,
    Prices,
    Providers,
    Search,
    Session,
    Storage,
    Timeout,
    Tools,
)
from roundtable.core.errors import ConfigurationError

__all__ = ["stored_session_commands"]


stored_session_commands: typer.Typer = typer.Typer(rich_markup_mode=None)

Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only sessions begun at this time or later, such as 2026-11-20."),
]
Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only sessions begun before this time.")]
Running = Annotated[
    str | None,
    typer.Option(
        "--running",
        metavar="settle|cancel",
        help="Model calls in progress: wait for them up to 60 s (settle) or cancel them (cancel).",
        show_default="settle for pause, cancel for stop",
    ),
]
_ONLY_WITH_RERUN = (
    "change",
    "without",
    "budget",
    "estimate",
    "timeout",
    "tools",
    "base_url",
    "provider",
    "price",
    "search",
    "fetch",
    "approve_tools",
)
_Without = Annotated[
    str | None, typer.Option("--without", metavar="AGENT", help="With --rerun: leave out the agent with this id.")
]
_RepetitionBudget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget", metavar="LIMIT=N", help="With --rerun: limit each repetition: usd, tokens, seconds or calls."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@stored_session_commands.command()
def sessions(
    *,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only sessions with this status: created, active, paused, completed or error."),
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", "-m", help="Only sessions in this mode.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only sessions with this text in the topic.")] = None,
    since: Since = None,
    until: Until = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="KEY=VALUE", help="Only sessions with this metadata; can be repeated."),
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="List the page after this cursor.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of sessions to list.")] = 50,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """List the stored sessions, newest first."""
    from pydantic import ValidationError

    from roundtable.cli.context import read_metadata
    from roundtable.cli.sessions import list_sessions, parse_date
    from roundtable.core.types.base import first_error
    from roundtable.core.types.storage import SessionFilter

    fields = {
        "status": status,
        "mode": mode,
        "topic": topic,
        "limit": limit,
        "after": after,
        "metadata": read_metadata(meta),
    }
    dates = {"created_from": parse_date(since, "--since"), "created_to": parse_date(until, "--until", before=True)}
    try:
        session_filter = SessionFilter.model_validate({**fields, **dates})
    except ValidationError as error:
        field, reason = first_error(error)
        raise ConfigurationError(f"--{field}: {reason}", hint="See `roundtable sessions --help`.") from None
    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: list_sessions(context.table, context.place, context.screen, session_filter))


@stored_session_commands.command()
def show(
    session: Session,
    *,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Show a stored debate; no model is called."""
    from roundtable.cli.debates import html_writer
    from roundtable.cli.sessions import show_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(
        lambda context: show_session(context.table, context.place, context.screen, session, html_writer(html))
    )


@stored_session_commands.command()
def reread(
    session: Session,
    *,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Read the answers of a stored debate again, by the rules of this version.

    The outcome is stored as a new session; no model is called.
    """
    from roundtable.cli.debates import html_writer
    from roundtable.cli.sessions import reread_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: reread_session(context, session, html_writer(html)))


@stored_session_commands.command()
def audit(
    session: Session,
    *,
    rerun: Annotated[
        int | None,
        typer.Option(
            "--rerun",
            metavar="N",
            help="Repeat the last round N times with calls to the models; count how often the answer stays the same.",
        ),
    ] = None,
    change: Annotated[
        Literal["seats", "labels"] | None,
        typer.Option(
            "--change",
            show_default="seats",
            help="With --rerun: `seats` shuffles the order of the agents and changes the seed; `labels` changes only "
            "the seed.",
        ),
    ] = None,
    without: _Without = None,
    budget: _RepetitionBudget = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="With --rerun: show the maximum calls, tokens and cost, and call no model."),
    ] = False,
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    provider: Providers = None,
    price: Prices = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: ApproveTools = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Audit a stored decision: show what would change it. No model is called, except with --rerun.

    The ballots are counted again: without each agent in turn, with one vote changed, by other rules, and with the
    answers from before the debate.
    """
    arguments = locals()
    from roundtable.cli.context import read_budget
    from roundtable.cli.debates import show_rerun
    from roundtable.cli.sessions import show_audit

    if rerun is None:
        unused = next(
            (name for name in _ONLY_WITH_RERUN if arguments[name] is not None and arguments[name] is not False), None
        )
        if unused is not None:
            msg = f"--{unused.replace('_', '-')} needs --rerun"
            raise ConfigurationError(msg, hint="See `roundtable audit --help`.")
    limits = read_budget(budget)
    context = open_context(CommandOptions.of(arguments), asks_people=rerun is not None)
    if rerun is None:
        return context.run(lambda context: show_audit(context, session))
    return context.run(
        lambda context: show_rerun(
            context, session, rerun, change=change or "seats", without=without, budget=limits, only_estimate=estimate
        ),
        hears=True,
    )


@stored_session_commands.command()
def arguments(
    session: Session,
    *,
    graphml: Annotated[
        str | None, typer.Option("--graphml", metavar="FILE", help="Write the graph to a GraphML file as well.")
    ] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Show the claims of a stored debate and what they refer to. No model is called.

    Show which claims nobody answered, and which claims were dropped without a reason. This needs a debate that ran with
    --claims.
    """
    from roundtable.cli.sessions import show_arguments

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: show_arguments(context, session, graphml))


@stored_session_commands.command()
def evidence(
    session: Session,
    *,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="HOST:PORT", help="Open pages of this host even if it is not public; can be repeated."
        ),
    ] = None,
    domains: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Open only pages of this domain; can be repeated."),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Check the evidence of a stored debate: fetch the pages that claims cite, and look for the quoted words.

    Only pages of the public web are opened, and no model is called. This needs a debate that ran with --claims.
    """
    from roundtable.cli.sessions import show_evidence

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: show_evidence(context, session, html, allow=allow or (), domains=domains or ()))


@stored_session_commands.command()
def synthesize(
    session: Session,
    *,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="AGENT",
            help="Id of the agent whose model writes the synthesis.",
            show_default="a light model",
        ),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Synthesize a stored debate with one model.

    An existing synthesis is shown again at no cost.
    """
    from roundtable.cli.debates import html_writer
    from roundtable.cli.sessions import show_synthesis

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: show_synthesis(context, session, by, html_writer(html)), hears=True)


def _add_control_command(action: Literal["pause", "stop"], help: str) -> None:
    """Add the command `pause` or `stop`; both have the same options."""

    @stored_session_commands.command(action, help=help)
    def control(
        session: Session,
        *,
        running: Running = None,
        database: Database = None,
        storage: Storage = None,
        as_json: Json = False,
    ) -> int:
        from roundtable.cli.sessions import request_control

        context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
        return context.run(lambda context: request_control(context, session, action, running))


_add_control_command("pause", "Ask a session to pause, even if another process runs it.")
_add_control_command("stop", "Ask a session to stop for good, even if another process runs it.")


@stored_session_commands.command()
def watch(
    session: Session,
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
    no_live: NoLive = False,
) -> int:
    """Follow a session that runs in another process, until it ends.

    With --json, print each event as a JSON document on one line.
    """
    from roundtable.cli.watch import watch_session

    context = open_context(CommandOptions(as_json=as_json, live=not no_live, storage=storage, database=database))
    return context.run(lambda context: watch_session(context, session))


@stored_session_commands.command()
def export(
    session: Session,
    *,
    format: Annotated[
        str | None,
        typer.Option("--format", help="Format: markdown, json, html, csv or a plugin's.", show_default="markdown"),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to a file; its ending selects the format. Can be repeated."
        ),
    ] = None,
    html: Html = None,
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="KEY", help="Sign a JSON file with this Ed25519 private key (a PEM file)."),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Export a session as Markdown, HTML, CSV or JSON.

    Markdown and HTML are for people, CSV for spreadsheets, and JSON for `roundtable import`.
    """
    from roundtable.cli.files import export_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: export_session(context, session, format, output or [], html, sign_with=sign))


@stored_session_commands.command()
def verify(
    session: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE",
            help="Session id, or a file from `roundtable export --format json`; `-` for standard input.",
        ),
    ],
    *,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="HEAD",
            help="Check the log against a head (NUMBER:HASH) that `verify` or a page showed earlier.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="FILE", help="Public key (a PEM file) that must have signed the exported file."),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Check that a stored or exported session was not changed.

    Show where events were changed, removed or reordered. The exit code is 1 unless the log is intact.
    """
    from roundtable.cli.files import verify_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: verify_session(context, session, head, key))


@stored_session_commands.command(name="import")
def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file from `roundtable export --format json`, or `-` for standard input."
        ),
    ],
    *,
    new_id: Annotated[bool, typer.Option("--new-id", help="Store the session under a new id, as a copy.")] = False,
    run_programs: Annotated[
        bool,
        typer.Option(
            "--run-programs", help="Allow the session to run, on this machine, the programs that its agents name."
        ),
    ] = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Import a session that was exported as JSON."""
    from roundtable.cli.files import import_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: import_session(context, file, new_id=new_id, run_programs=run_programs))


@stored_session_commands.command()
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that does not exist yet.")],
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Copy all sessions to one file while they are in use."""
    from roundtable.cli.files import backup_sessions

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: backup_sessions(context, file))


@stored_session_commands.command()
def delete(
    session: Session,
    *,
    yes: Yes = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remove the session even while it runs; the run then fails.")
    ] = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Remove a session and all its answers.

    A running session is not removed without --force.
    """
    from roundtable.cli.sessions import delete_session

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: delete_session(context, session, yes=yes, force=force))


@stored_session_commands.command()
def prune(
    before: Annotated[
        str,
        typer.Option(
            "--before", metavar="DATE", help="Remove sessions last changed before this date, such as 2026-01-31."
        ),
    ],
    *,
    status: Annotated[str | None, typer.Option("--status", help="Only sessions with this status.")] = None,
    yes: Yes = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Remove all sessions that have not changed since a date."""
    from roundtable.cli.sessions import prune_sessions

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: prune_sessions(context, before, status, yes=yes))


@stored_session_commands.command()
def search(
    words: Annotated[
        str,
        typer.Argument(
            metavar="WORDS", help='Words that must all occur; use "quotes" for a phrase, and word* for any word ending.'
        ),
    ],
    *,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only in this session.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of matches to list.")] = 20,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Search the answers of agents in all stored sessions."""
    from roundtable.cli.sessions import search_sessions

    context = open_context(CommandOptions(as_json=as_json, storage=storage, database=database))
    return context.run(lambda context: search_sessions(context, words, session, limit))
