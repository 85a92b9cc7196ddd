"""Commands on stored sessions: arguments and options. What they do stands in the modules beside this one."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from roundtable.cli.desk import Ask, open_desk
from roundtable.cli.options import Database, Html, Json, NoLive, Session, Storage
from roundtable.errors import ConfigurationError

__all__ = ["kept"]

kept: typer.Typer = typer.Typer(rich_markup_mode=None)

Since = Annotated[
    str | None, typer.Option("--since", metavar="DATE", help="Only those begun then or later, such as 2026-11-20.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only those begun before.")]
Running = Annotated[
    str | None,
    typer.Option("--running", metavar="HOW", help="What becomes of calls under way: settle (pause) or cancel (stop)."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


@kept.command()
def sessions(
    *,
    status: Annotated[
        str | None, typer.Option("--status", help="Only created, active, paused, completed or error ones.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", "-m", help="Only those of this mode.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only those whose topic holds this text.")] = None,
    since: Since = None,
    until: Until = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="KEY=VALUE", help="Only those with this note; may be repeated."),
    ] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="CURSOR", help="The next page.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most sessions listed.")] = 50,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """List the stored sessions, newest first."""
    from pydantic import ValidationError

    from roundtable.cli.sessions import list_sessions, moment, notes
    from roundtable.types import SessionFilter
    from roundtable.types.base import first_misfit

    asked = {"status": status, "mode": mode, "topic": topic, "limit": limit, "after": after, "metadata": notes(meta)}
    dates = {"created_from": moment(since, "--since"), "created_to": moment(until, "--until", before=True)}
    try:
        wanted = SessionFilter.model_validate({**asked, **dates})
    except ValidationError as error:
        where, why = first_misfit(error)
        raise ConfigurationError(
            f"--{where}: {why}", hint="`roundtable sessions --help` says what is allowed."
        ) from None
    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: list_sessions(desk.table, desk.place, desk.screen, wanted))


@kept.command()
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


@kept.command()
def synthesize(
    session: Session,
    *,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="AGENT", help="Id of the agent whose model does it.", show_default="a light model"
        ),
    ] = None,
    database: Database = None,
    storage: Storage = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Have one model put a stored debate together; one that was is shown again, unpaid."""
    from roundtable.cli.debates import html_writer
    from roundtable.cli.sessions import show_synthesis

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: show_synthesis(desk, session, by, html_writer(html)))


def _asking(action: Literal["pause", "stop"], what: str) -> None:
    """Add the command that asks a session for something."""

    @kept.command(action, help=f"Ask a session to {what}, whoever runs it.")
    def ask(
        session: Session,
        *,
        running: Running = None,
        database: Database = None,
        storage: Storage = None,
        as_json: Json = False,
    ) -> int:
        from roundtable.cli.sessions import ask_for

        desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
        return desk.run(lambda desk: ask_for(desk, session, action, running))


_asking("pause", "pause")
_asking("stop", "stop for good")


@kept.command()
def watch(
    session: Session,
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
    no_live: NoLive = False,
) -> int:
    """Follow a session that runs elsewhere, such as in another terminal, until it ends; nothing is changed.

    With --json each event is one line of its own.
    """
    from roundtable.cli.watching import watch_session

    desk = open_desk(Ask(as_json=as_json, live=not no_live, storage=storage, database=database))
    return desk.run(lambda desk: watch_session(desk, session))


@kept.command()
def export(
    session: Session,
    *,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="markdown, json, html, csv or a plugin's, to standard output.", show_default="markdown"
        ),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to a file; its name says the format. May be repeated."
        ),
    ] = None,
    html: Html = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Write a session for people (Markdown, HTML), spreadsheets (CSV) or `roundtable import` (JSON)."""
    from roundtable.cli.files import export_session

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: export_session(desk, session, format, output or [], html))


@kept.command(name="import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `roundtable export --format json` wrote; - reads it.")
    ],
    *,
    new_id: Annotated[bool, typer.Option("--new-id", help="Store it under a new id, beside one that exists.")] = False,
    run_programs: Annotated[
        bool, typer.Option("--run-programs", help="Let it start the programs of this machine that it names as agents.")
    ] = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Store a session that was exported as JSON."""
    from roundtable.cli.files import import_session

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: import_session(desk, file, new_id=new_id, run_programs=run_programs))


@kept.command()
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that does not exist yet.")],
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Copy all sessions to one file while they are in use."""
    from roundtable.cli.files import backup_sessions

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: backup_sessions(desk, file))


@kept.command()
def delete(
    session: Session, *, yes: Yes = False, database: Database = None, storage: Storage = None, as_json: Json = False
) -> int:
    """Remove a session and all that was said in it."""
    from roundtable.cli.removing import delete_session

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: delete_session(desk, session, yes=yes))


@kept.command()
def prune(
    before: Annotated[
        str, typer.Option("--before", metavar="DATE", help="Those last changed before, such as 2026-01-31.")
    ],
    *,
    status: Annotated[str | None, typer.Option("--status", help="Only those in this state.")] = None,
    yes: Yes = False,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Remove all sessions that have not changed since a date."""
    from roundtable.cli.removing import prune_sessions

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: prune_sessions(desk, before, status, yes=yes))


@kept.command()
def search(
    words: Annotated[
        str,
        typer.Argument(metavar="WORDS", help='Words that must all occur; "in quotes" together, a star ends a word.'),
    ],
    *,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only in this session.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most places listed.")] = 20,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Find words in what agents said, in all stored sessions."""
    from roundtable.cli.sessions import search_sessions

    desk = open_desk(Ask(as_json=as_json, storage=storage, database=database))
    return desk.run(lambda desk: search_sessions(desk, words, session, limit))
