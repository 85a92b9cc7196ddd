"""Commands on tokens: make, list and revoke what opens the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from roundtable.cli.codes import ExitCode
from roundtable.cli.desk import Ask, Desk, open_desk, split_list
from roundtable.cli.lines import Line, line
from roundtable.cli.options import Database, Json, Storage
from roundtable.errors import ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from roundtable.auth import Scope, TokenInfo, TokenStore

__all__ = ["tokens"]

_SERVERS: Final = ("mcp", "http")

tokens: typer.Typer = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Tokens that open the MCP server and the HTTP server."
)


@tokens.command()
def create(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose token it is, and whose sessions it opens.")],
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="LIST", help="read, write, admin.", show_default="read,write"),
    ] = None,
    days: Annotated[float | None, typer.Option("--days", help="How long it works.", show_default="90")] = None,
    never: Annotated[bool, typer.Option("--never-expires", help="It works until it is revoked.")] = False,
    audience: Annotated[
        str | None, typer.Option("--audience", help="The only server that takes it: mcp or http.", show_default="any")
    ] = None,
    label: Annotated[str, typer.Option("--label", help="What it is for.")] = "",
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Make a token and show it, this once: only a digest of it is kept."""
    from roundtable.auth.tokens import DEFAULT_DAYS

    scopes = split_list(scope, "--scope") or ("read", "write")
    if never and days is not None:
        raise ConfigurationError("a token works for --days, or --never-expires, not both")
    if audience not in {None, *_SERVERS}:
        raise ConfigurationError(f"--audience is one of {', '.join(_SERVERS)}, not {audience!r}")
    lasting = None if never else DEFAULT_DAYS if days is None else days

    async def work(desk: Desk) -> ExitCode:
        store = await _store(desk)
        issued = await store.create(
            user, scopes=cast("tuple[Scope, ...]", scopes), days=lasting, audience=audience, label=label
        )
        if desk.screen.as_json:
            desk.screen.data({"token": issued.secret, **issued.info.model_dump(mode="json")})
            return ExitCode.OK
        shown = f"Shown this once. Revoke it with: {desk.place.command('tokens', 'revoke', issued.info.id)}"
        desk.screen.show([line(issued.secret), line(_told(issued.info)), line(shown)])
        return ExitCode.OK

    return open_desk(Ask(as_json=as_json, storage=storage, database=database)).run(work)


@tokens.command(name="list")
def list_tokens(
    *,
    user: Annotated[str | None, typer.Option("--user", help="Only those of this user.")] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """List the tokens there are, never the tokens themselves."""

    async def work(desk: Desk) -> ExitCode:
        found = () if desk.place.is_empty() else await (await _store(desk)).list(user)
        if desk.screen.as_json:
            desk.screen.data([info.model_dump(mode="json") for info in found])
        elif found:
            desk.screen.show(
                [Line("ID               USER, SCOPES, END", "bold"), *(line(_told(info)) for info in found)]
            )
        else:
            whose = "" if user is None else f" of {user}"
            desk.screen.show([line(f"No token{whose} in {desk.place.shown}.")])
        return ExitCode.OK

    return open_desk(Ask(as_json=as_json, storage=storage, database=database)).run(work)


@tokens.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `tokens list` shows it.")],
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Make a token worthless; open streams of it end within a minute."""

    async def work(desk: Desk) -> ExitCode:
        if desk.place.is_empty() or not await (await _store(desk)).revoke(token):
            raise RoundtableError(f"there is no token {token!r}", hint=f"See {desk.place.command('tokens', 'list')}")
        if desk.screen.as_json:
            desk.screen.data({"id": token, "revoked": True})
        else:
            desk.screen.show([line(f"Token {token} is revoked.")])
        return ExitCode.OK

    return open_desk(Ask(as_json=as_json, storage=storage, database=database)).run(work)


async def _store(desk: Desk) -> TokenStore:
    from roundtable.auth import TokenStore

    return TokenStore.of(desk.table.wiring.storage)


def _told(info: TokenInfo) -> str:
    end = "never expires" if info.expires_at is None else f"until {info.expires_at:%Y-%m-%d %H:%M} UTC"
    only = f", for {info.audience} alone" if info.audience else ""
    label = f": {info.label}" if info.label else ""
    return f"{info.id}  {info.user}, {'+'.join(info.scopes)}, {end}{only}{label}"
