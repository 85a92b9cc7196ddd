"""Commands that create, list and revoke tokens for the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from roundtable.cli.context import CommandContext, CommandOptions, open_context, split_list
from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.options import Database, Json, Storage
from roundtable.core.errors import ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from roundtable.auth import Scope, TokenInfo, TokenStore

__all__ = ["tokens"]

_SERVERS: Final = ("mcp", "http")

tokens: typer.Typer = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Manage tokens for the MCP server and the HTTP server."
)


@tokens.command()
def create(
    user: Annotated[
        str,
        typer.Argument(
            metavar="USER", help="User that owns the token; it gives access to the sessions of this user only."
        ),
    ],
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="LIST", help="What the token allows: read, write or admin.", show_default="read,write"
        ),
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", help="Days until the token expires.", show_default="90")
    ] = None,
    never: Annotated[bool, typer.Option("--never-expires", help="Keep the token valid until it is revoked.")] = False,
    audience: Annotated[
        str | None,
        typer.Option("--audience", help="The only server that accepts the token: mcp or http.", show_default="any"),
    ] = None,
    label: Annotated[str, typer.Option("--label", help="Note on the purpose of the token.")] = "",
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Create a token and show it once; only its digest is stored."""
    from roundtable.auth.tokens import DEFAULT_DAYS

    scopes = split_list(scope, "--scope") or ("read", "write")
    if never and days is not None:
        raise ConfigurationError("--days and --never-expires cannot be used together")
    if audience not in {None, *_SERVERS}:
        raise ConfigurationError(f"unknown value for --audience: {audience!r}; choose {' or '.join(_SERVERS)}")
    valid_days = None if never else DEFAULT_DAYS if days is None else days

    async def work(context: CommandContext) -> ExitCode:
        store = await _store(context)
        issued = await store.create(
            user, scopes=cast("tuple[Scope, ...]", scopes), days=valid_days, audience=audience, label=label
        )
        if context.screen.as_json:
            context.screen.data({"token": issued.secret, **issued.info.model_dump(mode="json")})
            return ExitCode.OK
        notice = f"Shown only once. Revoke it with: {context.place.command('tokens', 'revoke', issued.info.id)}"
        context.screen.show([line(issued.secret, wraps=False), line(_describe(issued.info)), line(notice, wraps=False)])
        return ExitCode.OK

    return open_context(CommandOptions(as_json=as_json, storage=storage, database=database)).run(work)


@tokens.command(name="list")
def list_tokens(
    *,
    user: Annotated[str | None, typer.Option("--user", help="Only tokens of this user.")] = None,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """List tokens: ids, users and scopes, without the secrets."""

    async def work(context: CommandContext) -> ExitCode:
        infos = () if await context.place.is_empty(context.table) else await (await _store(context)).list(user)
        if context.screen.as_json:
            context.screen.data([info.model_dump(mode="json") for info in infos])
        elif infos:
            context.screen.show(
                [Line("ID               USER, SCOPES, END", "bold"), *(line(_describe(info)) for info in infos)]
            )
        else:
            owner = "" if user is None else f" of {user}"
            context.screen.show([line(f"No token{owner} in {context.place.shown}.")])
        return ExitCode.OK

    return open_context(CommandOptions(as_json=as_json, storage=storage, database=database)).run(work)


@tokens.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `tokens list` shows it.")],
    *,
    database: Database = None,
    storage: Storage = None,
    as_json: Json = False,
) -> int:
    """Revoke a token; streams opened with it end within a minute."""

    async def work(context: CommandContext) -> ExitCode:
        if await context.place.is_empty(context.table) or not await (await _store(context)).revoke(token):
            raise RoundtableError(f"unknown token {token!r}", hint=f"See {context.place.command('tokens', 'list')}")
        if context.screen.as_json:
            context.screen.data({"id": token, "revoked": True})
        else:
            context.screen.show([line(f"Token {token} is revoked.")])
        return ExitCode.OK

    return open_context(CommandOptions(as_json=as_json, storage=storage, database=database)).run(work)


async def _store(context: CommandContext) -> TokenStore:
    from roundtable.auth import TokenStore

    return TokenStore.of(context.table.storage)


def _describe(info: TokenInfo) -> str:
    end = "never expires" if info.expires_at is None else f"until {info.expires_at:%Y-%m-%d %H:%M} UTC"
    server = f", only for {info.audience}" if info.audience else ""
    label = f": {info.label}" if info.label else ""
    return f"{info.id}  {info.user}, {'+'.join(info.scopes)}, {end}{server}{label}"
