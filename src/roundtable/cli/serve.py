"""The command that serves debates and conversations over HTTP, with pages to watch them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from roundtable.cli.codes import ExitCode
from roundtable.cli.desk import Ask, Desk, open_desk, split_list
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


def _limit(variable: str, what: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(
        f"--limit-{variable}", metavar="N", help=f"{what}; `none` is no limit.", show_default="from the environment"
    )
    return info


@serve.command(name="serve")
def serve_http(
    *,
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    allow_host: AllowHosts = None,
    allow_origin: AllowOrigins = None,
    no_auth: NoAuth = False,
    https: Annotated[
        bool, typer.Option("--https", help="Browsers reach it over https, through a proxy that ends TLS.")
    ] = False,
    open_metrics: Annotated[
        bool, typer.Option("--open-metrics", help="Let programs of this machine read /metrics without a token.")
    ] = False,
    reuse_port: Annotated[
        bool, typer.Option("--reuse-port", help="Share the port with other processes that say the same.")
    ] = False,
    drain: Annotated[
        float, typer.Option("--drain", metavar="SECONDS", min=0, help="Go on for so long when asked to end.")
    ] = 0.0,
    conversations: Annotated[str | None, _limit("conversations", "Conversations a user may begin in an hour")] = None,
    concurrent: Annotated[str | None, _limit("concurrent", "Conversations of a user at the same time")] = None,
    rounds: Annotated[str | None, _limit("rounds", "Rounds a user may ask for in 24 hours")] = None,
    user_streams: Annotated[str | None, _limit("user-streams", "Streams a user may have open")] = None,
    streams: Annotated[str | None, _limit("streams", "Streams that may be open in all")] = None,
    profiles: Annotated[
        list[str] | None,
        typer.Option("--profiles", metavar="FILE", help="Profiles of agents for teams (TOML, YAML); may be repeated."),
    ] = None,
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
    ask = Ask(
        storage=storage,
        database=database,
        agents=split_list(agents, "--agents"),
        profiles=(*(profiles or ()),),
        base_urls=tuple(base_url or ()),
        analyzer=analyzer,
        timeout_s=timeout,
        tools=split_list(tools, "--tools") or (),
        search=search,
        fetch=fetch,
    )
    door = Door(host, port, (*(allow_host or ()),), (*(allow_origin or ()),), asks=not no_auth)
    limits = {
        "conversations_per_hour": _quota("conversations", conversations),
        "concurrent": _quota("concurrent", concurrent),
        "rounds_per_day": _quota("rounds", rounds),
        "streams_per_user": _quota("user-streams", user_streams),
        "streams_total": _quota("streams", streams),
    }
    counter = Counter(door, limits, https=https, open_metrics=open_metrics, reuse_port=reuse_port, drain_s=drain)
    return open_desk(ask).run(counter.serve)


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
        self.door.check()
        if self.door.asks and not desk.place.lasts:
            msg = "tokens are kept with the sessions, and these are kept in memory, where nobody can make one"
            raise ConfigurationError(msg, hint="Name a file with --db, or add --no-auth.")
        from roundtable.server import create_app
        from roundtable.server.serving import serve

        options: ServerOptions = {"limits": self._limits(desk), "open_metrics": self.open_metrics}
        options |= {"hosts": self.door.names, "origins": self.door.origins}
        if self.https:
            options["https"] = True
        app = create_app(desk.table, auth=self.door.authenticator(desk.table.wiring.storage, "http"), **options)

        def listening(url: str) -> None:
            desk.screen.remark(f"AI Roundtable answers at {url}")
            if self.door.asks:
                made = desk.place.command("tokens", "create", "NAME", "--audience", "http")
                desk.screen.remark(f"Make a token for each user: {made}")

        await serve(
            app,
            host=self.door.host,
            port=self.door.port,
            reuse_port=self.reuse_port,
            drain_s=self.drain_s,
            listening=listening,
        )
        return ExitCode.OK

    def _limits(self, desk: Desk) -> Limits:
        """Take limits from the command line, and what it leaves open from the environment."""
        from roundtable.server import Limits

        said = {name: limit for name, limit in self.limits.items() if limit != "unsaid"}
        return Limits.from_settings(desk.settings).model_copy(update=said)


def _quota(option: str, text: str | None) -> int | Literal["unsaid"] | None:
    if text is None:
        return "unsaid"
    if text.casefold() == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        raise ConfigurationError(f"--limit-{option} takes a whole number from 1, or none, not {text!r}")
    return int(text)
