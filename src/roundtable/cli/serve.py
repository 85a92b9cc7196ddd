"""The command `serve`: debates and conversations over HTTP, with pages to watch them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.models import OptionInfo

from roundtable.cli.context import CommandContext, CommandOptions, open_context
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
    NoAuth,
    Port,
    Prices,
    Providers,
    Search,
    Storage,
    Timeout,
    Tools,
)
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.server import Limits, ServerOptions
    from roundtable.tools import Approver

__all__ = ["serve"]

serve: typer.Typer = typer.Typer(rich_markup_mode=None)


def _limit(name: str, meaning: str) -> OptionInfo:
    help_text = f"{meaning}; `none` for no limit."
    info: OptionInfo = typer.Option(f"--limit-{name}", metavar="N", help=help_text, show_default="from the environment")
    return info


_Https = Annotated[
    bool,
    typer.Option(
        "--https", help="Set this if browsers reach the server over https, through a reverse proxy that terminates TLS."
    ),
]
_OpenMetrics = Annotated[
    bool, typer.Option("--open-metrics", help="Let programs on this machine read /metrics without a token.")
]
_ReusePort = Annotated[
    bool, typer.Option("--reuse-port", help="Share the port with other processes that use --reuse-port.")
]
_Drain = Annotated[
    float, typer.Option("--drain", metavar="SECONDS", min=0, help="How long to keep serving after a signal to stop.")
]
_Conversations = Annotated[str | None, _limit("conversations", "Maximum debates and conversations per user and hour")]
_Concurrent = Annotated[
    str | None, _limit("concurrent", "Maximum debates and conversations of a user at the same time")
]
_Rounds = Annotated[str | None, _limit("rounds", "Maximum rounds per user in 24 hours")]
_UserStreams = Annotated[str | None, _limit("user-streams", "Maximum open streams per user")]
_Streams = Annotated[str | None, _limit("streams", "Maximum open streams in total")]
_PauseAfter = Annotated[
    str | None,
    typer.Option(
        "--pause-after",
        metavar="SECONDS",
        help="Time without any client after which a debate or conversation that was started as a stream is paused; "
        "`none` to never pause.",
        show_default="from the environment, else 60",
    ),
]
_ApproveTools = Annotated[
    bool, typer.Option("--approve-tools", help="Ask on the session's page before each call of a tool.")
]
_Profiles = Annotated[
    list[str] | None,
    typer.Option("--profiles", metavar="FILE", help="Profiles of agents for teams (TOML, YAML); can be repeated."),
]


@serve.command(name="serve")
def serve_http(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: AllowHosts = None,
    allow_origin: AllowOrigins = None,
    no_auth: NoAuth = False,
    https: _Https = False,
    open_metrics: _OpenMetrics = False,
    reuse_port: _ReusePort = False,
    drain: _Drain = 0.0,
    conversations: _Conversations = None,
    concurrent: _Concurrent = None,
    rounds: _Rounds = None,
    user_streams: _UserStreams = None,
    streams: _Streams = None,
    pause_after: _PauseAfter = None,
    profiles: _Profiles = None,
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
    """Serve debates and conversations over HTTP, with web pages.

    Each user needs a token: `roundtable tokens create NAME --audience http`.
    """
    arguments = locals()
    binding = HttpBinding(host, port, (*(allow_host or ()),), (*(allow_origin or ()),), asks=not no_auth)
    server = _HttpServer(
        binding,
        _limit_arguments(arguments),
        https=https,
        open_metrics=open_metrics,
        reuse_port=reuse_port,
        drain_s=drain,
        pause_after_s=_pause_after(pause_after),
    )
    opened = open_context(CommandOptions.of(arguments), approve_tools=_approver(arguments))
    return opened.run(server.serve, writes=False)


def _approver(arguments: Mapping[str, object]) -> Approver | None:
    """Return the function that asks on pages about tool calls; `None` without `--approve-tools`."""
    if not arguments["approve_tools"]:
        return None
    from roundtable.server import ServerApproval

    return ServerApproval()


@dataclass(frozen=True, slots=True)
class _HttpServer:
    """The HTTP server that a command line describes."""

    binding: HttpBinding
    limits: Mapping[str, int | Literal["unset"] | None]
    https: bool
    open_metrics: bool
    reuse_port: bool
    drain_s: float
    pause_after_s: float | Literal["unset"] | None

    async def serve(self, context: CommandContext) -> ExitCode:
        """Serve until a signal ends the process."""
        await self.binding.open(context)
        from roundtable.server import create_app
        from roundtable.server.serving import serve

        options: ServerOptions = {"limits": self._limits(context), "open_metrics": self.open_metrics}
        options |= {"hosts": self.binding.names, "origins": self.binding.origins}
        if self.pause_after_s != "unset":
            options["pause_after_s"] = self.pause_after_s
        if self.https:
            options["https"] = True
        app = create_app(context.table, auth=self.binding.authenticator(context.table.storage, "http"), **options)
        await serve(
            app,
            host=self.binding.host,
            port=self.binding.port,
            reuse_port=self.reuse_port,
            drain_s=self.drain_s,
            listening=lambda url: self.binding.show_address(context, url, "http"),
        )
        return ExitCode.OK

    def _limits(self, context: CommandContext) -> Limits:
        """Return the limits from the command line; limits that are not given come from the environment."""
        from roundtable.server import Limits

        chosen = {name: limit for name, limit in self.limits.items() if limit != "unset"}
        return Limits.from_settings(context.settings).model_copy(update=chosen)


def _limit_arguments(arguments: Mapping[str, str | None]) -> dict[str, int | Literal["unset"] | None]:
    """Parse the limits in the arguments of the command."""
    fields = {
        "conversations_per_hour": "conversations",
        "concurrent": "concurrent",
        "rounds_per_day": "rounds",
        "streams_per_user": "user_streams",
        "streams_total": "streams",
    }
    return {field: _parse_limit(name.replace("_", "-"), arguments[name]) for field, name in fields.items()}


def _pause_after(text: str | None) -> float | Literal["unset"] | None:
    if text is None or text.casefold() == "none":
        return "unset" if text is None else None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ConfigurationError(
            f"unknown value for --pause-after: {text!r}", hint="Use a number of seconds above 0, such as 60, or `none`."
        )
    return seconds


def _parse_limit(option: str, text: str | None) -> int | Literal["unset"] | None:
    if text is None:
        return "unset"
    if text.casefold() == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        hint = "Use a whole number from 1, or `none` for no limit."
        raise ConfigurationError(f"unknown value for --limit-{option}: {text!r}", hint=hint)
    return int(text)
