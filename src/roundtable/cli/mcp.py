"""The command that serves MCP: to one program on standard input and output, or to many over HTTP."""

from __future__ import annotations

from dataclasses import replace

import anyio
import typer

from roundtable.cli.codes import ExitCode
from roundtable.cli.desk import Ask, Desk, find_surroundings, make_table, open_desk
from roundtable.cli.door import Door
from roundtable.cli.options import (
    Agents,
    AllowHosts,
    AllowOrigins,
    Analyzer,
    BaseUrls,
    Database,
    Fetch,
    Host,
    Http,
    NoAuth,
    Port,
    Search,
    Storage,
    Timeout,
    Tools,
)
from roundtable.errors import ConfigurationError

__all__ = ["mcp"]

mcp: typer.Typer = typer.Typer(rich_markup_mode=None)


@mcp.command(name="mcp")
def serve_mcp(
    *,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    allow_host: AllowHosts = None,
    allow_origin: AllowOrigins = None,
    no_auth: NoAuth = False,
    agents: Agents = None,
    analyzer: Analyzer = "auto",
    timeout: Timeout = None,
    tools: Tools = None,
    base_url: BaseUrls = None,
    search: Search = None,
    fetch: Fetch = False,
    database: Database = None,
    storage: Storage = None,
) -> int:
    """Serve debates to assistants and IDEs as tools (MCP): on standard input and output, or with --http.

    Clients start it by themselves; with --http, `roundtable tokens create NAME --audience mcp` makes a token for each.
    """
    ask = Ask.of(locals())
    # The assistant that calls can answer what agents ask for.
    ask = replace(ask, quiet=True, tools=tuple(dict.fromkeys((*ask.tools, "request_context"))))
    if not http and (allow_host or allow_origin or no_auth):
        raise ConfigurationError("--allow-host, --allow-origin and --no-auth go with --http")
    if not http:
        anyio.run(_serve_one, ask)
        return ExitCode.OK
    door = Door(host, port, (*(allow_host or ()),), (*(allow_origin or ()),), asks=not no_auth)
    return open_desk(ask).run(lambda desk: _serve_many(desk, door))


async def _serve_one(ask: Ask) -> None:
    """Serve on standard input and output. The table is made for the first call: a client waits for the start."""
    from roundtable.mcp import create_mcp_server

    settings, place = find_surroundings(ask)
    await create_mcp_server(tables=lambda tenant: make_table(ask, settings, place.url, tenant)).start()


async def _serve_many(desk: Desk, door: Door) -> ExitCode:
    """Serve over HTTP; all users share one storage, and the limits of one table."""
    await door.open(desk)
    from roundtable.mcp import create_mcp_server

    server = create_mcp_server(tables=desk.table.for_tenant)
    authenticator = door.authenticator(desk.table.wiring.storage, "mcp")
    await server.serve_http(
        authenticator,
        host=door.host,
        port=door.port,
        listening=lambda url: door.tell(desk, url, "mcp"),
        hosts=door.names,
        origins=door.origins,
    )
    return ExitCode.OK
