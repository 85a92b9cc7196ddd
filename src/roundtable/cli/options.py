"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Adopt",
    "Agents",
    "AllowHosts",
    "AllowOrigins",
    "Analyzer",
    "BaseUrls",
    "Baseline",
    "Context",
    "Database",
    "Deadline",
    "Estimate",
    "ExitEarly",
    "Fetch",
    "Focus",
    "Force",
    "Host",
    "Html",
    "Http",
    "Json",
    "Mode",
    "NoAuth",
    "NoLive",
    "Option",
    "Options",
    "Perspectives",
    "Port",
    "Quiet",
    "Search",
    "Session",
    "SkipRounds",
    "Storage",
    "Synthesize",
    "Timeout",
    "Tools",
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of lines; errors too.")]
NoLive = Annotated[bool, typer.Option("--no-live", help="Plain lines on a terminal too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only how it ended.")]
Database = Annotated[str | None, typer.Option("--db", metavar="FILE", help="SQLite file that sessions are kept in.")]
Storage = Annotated[
    str | None, typer.Option("--storage", metavar="URL", help="Storage, such as sqlite:///debates.db or memory://.")
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agents", "-a", metavar="LIST", help="Who debates: provider or provider:model, with commas between."
    ),
]
BaseUrls = Annotated[
    list[str] | None,
    typer.Option("--base-url", metavar="PROVIDER=URL", help="Where a provider is reached; may be repeated."),
]
Session = Annotated[
    str, typer.Argument(metavar="ID", help="Session id, or its beginning where that is unique; `last` is the newest.")
]
Deadline = Annotated[
    float | None,
    typer.Option("--deadline", metavar="SECONDS", help="Stop after this time; what is answered is kept."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="Deadline of one model call.", show_default="120")
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the result to an HTML file as well.")]
Mode = Annotated[str, typer.Option("--mode", "-m", help="Debate mode; `roundtable modes` lists them.")]
Options = Annotated[
    list[str] | None, typer.Option("--options", metavar="LIST", help="Options to choose from, with commas between.")
]
Option = Annotated[
    list[str] | None, typer.Option("--option", metavar="TEXT", help="One option, whole; may be repeated.")
]
Baseline = Annotated[
    bool, typer.Option("--baseline", help="Have everybody answer alone first; nobody sees these answers.")
]
Synthesize = Annotated[
    bool, typer.Option("--synthesize", help="Have one model put the debate together at its end: one call more.")
]
SkipRounds = Annotated[
    float | None,
    typer.Option(
        "--skip-rounds-when", metavar="LEVEL", help="Hold one round where independent answers agree so far, 0 to 1."
    ),
]
Analyzer = Annotated[
    str,
    typer.Option(
        "--analyzer",
        metavar="NAME",
        help="How agreement is measured: auto, ai, semantic, stance, basic, or a plugin's.",
    ),
]
ExitEarly = Annotated[
    bool, typer.Option("--exit-on-consensus", help="End early on agreement, convergence or confidence.")
]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Say what the debate may take at most, and hold none; nothing is called.")
]
Perspectives = Annotated[
    list[str] | None,
    typer.Option("--perspective", metavar="TEXT", help="A perspective of an expert panel, or `auto`; may be repeated."),
]
Adopt = Annotated[
    bool,
    typer.Option("--adopt", help="Go on with prompt texts or agents that changed since it began, from here on."),
]
Focus = Annotated[str | None, typer.Option("--focus", help="Narrower question for the rounds to come.")]
Search = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="SERVICE",
        help="Let agents search the web: brave, tavily, searxng:URL, static:FILE, or a plugin's.",
    ),
]
Fetch = Annotated[bool, typer.Option("--fetch", help="Let agents open pages of the public web.")]
Tools = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="LIST", help="Tools that agents may call, by name, with commas between."),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="REQUEST=TEXT",
        help="Answer to what agents ask; REQUEST=@FILE reads one; may be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Go on without answers that the agents require.")]
Http = Annotated[bool, typer.Option("--http", help="Serve over HTTP, to whoever has a token.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="Name by which clients call the server; may be repeated."),
]
AllowOrigins = Annotated[
    list[str] | None,
    typer.Option("--allow-origin", metavar="URL", help="Web origin whose pages may call the server; may be repeated."),
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Ask for no token; only on an address of this machine.")]
