"""The command that serves debates and conversations over HTTP, with pages to watch them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.models import OptionInfo

from roundtable.cli.codes import ExitCode
from roundtable.cli.desk import Ask, Desk, open_desk
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
    NoAuth,
    Port,
    Search,
    Storage,
    Timeout,
    Tools,
)
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.server import Limits, ServerOptions

__all__ = ["serve"]

serve: typer.Typer = typer.Typer(rich_markup_mode=None)


def _limit(name: str, what: str) -> OptionInfo:
    told = f"{what}; `none` is no limit."
    info: OptionInfo = typer.Option(f"--limit-{name}", metavar="N", help=told, show_default="from the environment")
    return info


_Https = Annotated[bool, typer.Option("--https", help="Browsers reach it over https, through a proxy that ends TLS.")]
_OpenMetrics = Annotated[
    bool, typer.Option("--open-metrics", help="Let programs of this machine read /metrics without a token.")
]
_ReusePort = Annotated[
    bool, typer.Option("--reuse-port", help="Share the port with other processes that say the same.")
]
_Drain = Annotated[
    float, typer.Option("--drain", metavar="SECONDS", min=0, help="Go on for so long when asked to end.")
]
_Conversations = Annotated[str | None, _limit("conversations", "Conversations a user may begin in an hour")]
_Concurrent = Annotated[str | None, _limit("concurrent", "Conversations of a user at the same time")]
_Rounds = Annotated[str | None, _limit("rounds", "Rounds a user may ask for in 24 hours")]
_UserStreams = Annotated[str | None, _limit("user-streams", "Streams a user may have open")]
_Streams = Annotated[str | None, _limit("streams", "Streams that may be open in all")]
_Profiles = Annotated[
    list[str] | None,
    typer.Option("--profiles", metavar="FILE", help="Profiles of agents for teams (TOML, YAML); may be repeated."),
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
    profiles: _Profiles = None,
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
    """Serve conversations and debates to web applications, and pages to watch them.

    `roundtable tokens create NAME --audience http` makes a token for each user.
    """
    given = locals()
    door = Door(host, port, (*(allow_host or ()),), (*(allow_origin or ()),), asks=not no_auth)
    counter = Counter(
        door, _limits(given), https=https, open_metrics=open_metrics, reuse_port=reuse_port, drain_s=drain
    )
    return open_desk(Ask.of(given)).run(counter.serve)


@dataclass(frozen=True, slots=True)
class Counter:
    """How a command line wants to serve."""

    door: Door
    limits: Mapping[str, int | Literal["unsaid"] | None]
    https: bool
    open_metrics: bool
    reuse_port: bool
    drain_s: float

    async def serve(self, desk: Desk) -> ExitCode:
        """Serve until the process is asked to end."""
        await self.door.open(desk)
        from roundtable.server import create_app
        from roundtable.server.serving import serve

        options: ServerOptions = {"limits": self._limits(desk), "open_metrics": self.open_metrics}
        options |= {"hosts": self.door.names, "origins": self.door.origins}
        if self.https:
            options["https"] = True
        app = create_app(desk.table, auth=self.door.authenticator(desk.table.wiring.storage, "http"), **options)
        await serve(
            app,
            host=self.door.host,
            port=self.door.port,
            reuse_port=self.reuse_port,
            drain_s=self.drain_s,
            listening=lambda url: self.door.tell(desk, url, "http"),
        )
        return ExitCode.OK

    def _limits(self, desk: Desk) -> Limits:
        """Take limits from the command line, and what it leaves open from the environment."""
        from roundtable.server import Limits

        said = {name: limit for name, limit in self.limits.items() if limit != "unsaid"}
        return Limits.from_settings(desk.settings).model_copy(update=said)


def _limits(given: Mapping[str, str | None]) -> dict[str, int | Literal["unsaid"] | None]:
    """Read limits from the arguments of the command."""
    fields = {
        "conversations_per_hour": "conversations",
        "concurrent": "concurrent",
        "rounds_per_day": "rounds",
        "streams_per_user": "user_streams",
        "streams_total": "streams",
    }
    return {field: _quota(name.replace("_", "-"), given[name]) for field, name in fields.items()}


def _quota(option: str, text: str | None) -> int | Literal["unsaid"] | None:
    if text is None:
        return "unsaid"
    if text.casefold() == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        raise ConfigurationError(f"--limit-{option} takes a whole number from 1, or none, not {text!r}")
    return int(text)
