"""The command `mcp`: serve one client on standard input and output, or many clients over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from roundtable.cli.context import CommandContext, CommandOptions, load_settings, make_table, open_context
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.http_binding import HttpBinding
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
    Prices,
    Providers,
    Search,
    Storage,
    Timeout,
    Tools,
)
from roundtable.cli.render import Screen
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.tools import Approver

__all__ = ["mcp"]

_HTTP_OPTIONS: Final = ("host", "port", "allow_host", "allow_origin", "no_auth")
"""Options that need `--http`."""

_ApproveTools = Annotated[
    bool, typer.Option("--approve-tools", help="Ask the client's user before each call of a tool.")
]

mcp: typer.Typer = typer.Typer(rich_markup_mode=None)


@mcp.command(name="mcp")
def serve_mcp(
    context: typer.Context,
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
    provider: Providers = None,
    price: Prices = None,
    search: Search = None,
    fetch: Fetch = False,
    approve_tools: _ApproveTools = False,
    database: Database = None,
    storage: Storage = None,
) -> int:
    """Serve debates as MCP tools to assistants and IDEs.

    MCP clients start this command themselves and use its standard input and output. With --http, each client needs a
    token: `roundtable tokens create NAME --audience mcp`.
    """
    command_options = CommandOptions.of(locals())
    # The assistant that calls the tools can answer context requests of the agents.
    command_options = replace(
        command_options, quiet=True, tools=tuple(dict.fromkeys((*command_options.tools, "request_context")))
    )
    if not http:
        if http_options := [name for name in _HTTP_OPTIONS if _is_typed(context, name)]:
            names = " and ".join("--" + name.replace("_", "-") for name in http_options)
            msg = f"{names} {'needs' if len(http_options) == 1 else 'need'} --http"
            raise ConfigurationError(msg, hint=f"Add --http to serve over HTTP, or leave out {names}.")
        Screen().check()
        return anyio.run(_serve_one, command_options)
    binding = HttpBinding(host, port, (*(allow_host or ()),), (*(allow_origin or ()),), asks=not no_auth)
    approver = _approver(command_options)
    opened = open_context(command_options, approve_tools=approver)
    return opened.run(lambda context: _serve_many(context, binding), writes=False)


def _approver(command_options: CommandOptions) -> Approver | None:
    """Return the function that asks the client's user about tool calls; `None` without `--approve-tools`."""
    if not command_options.approve_tools:
        return None
    from roundtable.mcp.approval import ask_client

    return ask_client


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


async def _serve_one(command_options: CommandOptions) -> ExitCode:
    """Serve on standard input and output; create the table at the first call, so that the server starts fast."""
    from roundtable.mcp import create_mcp_server

    settings, location = load_settings(command_options)
    storage = None if location.is_default else location.url
    signal_number = await create_mcp_server(
        tables=lambda tenant: make_table(
            command_options, settings, storage, tenant, approve_tools=_approver(command_options)
        )
    ).start()
    return ExitCode.OK if signal_number is None else ExitCode(128 + signal_number)


async def _serve_many(context: CommandContext, binding: HttpBinding) -> ExitCode:
    """Serve over HTTP; all users share one storage and the limits of one table."""
    await binding.open(context)
    from roundtable.mcp import create_mcp_server

    server = create_mcp_server(tables=context.table.for_tenant)
    authenticator = binding.authenticator(context.table.storage, "mcp")
    await server.serve_http(
        authenticator,
        host=binding.host,
        port=binding.port,
        listening=lambda url: binding.show_address(context, url, "mcp"),
        hosts=binding.names,
        origins=binding.origins,
    )
    return ExitCode.OK
