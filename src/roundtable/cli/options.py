"""Options shared by several commands."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Adopt",
    "Agents",
    "AllowHosts",
    "AllowOrigins",
    "Analyzer",
    "AnswerSchema",
    "ApproveTools",
    "Attach",
    "BaseUrls",
    "Baseline",
    "Batch",
    "BudgetLimits",
    "Claims",
    "Context",
    "Database",
    "Deadline",
    "ExitEarly",
    "ExitWhen",
    "Fetch",
    "Focus",
    "Force",
    "Host",
    "Html",
    "Http",
    "Json",
    "Metadata",
    "Mode",
    "NoAuth",
    "NoLive",
    "Option",
    "Options",
    "Perspectives",
    "Port",
    "Prices",
    "Providers",
    "Quiet",
    "Quorum",
    "Search",
    "Session",
    "SkipRounds",
    "Storage",
    "Synthesize",
    "Timeout",
    "Tools",
    "Vote",
    "VoteEvery",
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text, even for an error.")]
NoLive = Annotated[bool, typer.Option("--no-live", help="Print plain lines, even on a terminal.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only the result.")]
Database = Annotated[
    str | None, typer.Option("--db", metavar="FILE", help="SQLite file that stores sessions and access tokens.")
]
Storage = Annotated[
    str | None, typer.Option("--storage", metavar="URL", help="Storage, such as sqlite:///debates.db or memory://.")
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agents", "-a", metavar="LIST", help="Agents of the debate: provider or provider:model, separated by commas."
    ),
]
BaseUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--base-url",
        metavar="PROVIDER=URL",
        help="Base URL of a provider; can be repeated. For a proxy, set ROUNDTABLE_PROXY.",
    ),
]
Providers = Annotated[
    list[str] | None,
    typer.Option(
        "--provider",
        metavar="NAME=KIND,URL|FILE",
        help="A server as a provider of its own, such as box-a=compatible,http://127.0.0.1:8001/v1, or a TOML file "
        "with several; can be repeated.",
    ),
]
Prices = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="PROVIDER:MODEL=INPUT,OUTPUT",
        help="Price of a model in US dollars per million tokens of input and of output, such as "
        "compatible:llama3=0.2,0.6; PROVIDER:* stands for all other models of a provider. Can be repeated.",
    ),
]
Batch = Annotated[
    list[str] | None,
    typer.Option(
        "--batch",
        metavar="PROVIDER",
        help="Send calls to this provider in batches, at half the price; an answer may take a day. Can be repeated.",
    ),
]
Session = Annotated[
    str, typer.Argument(metavar="ID", help="Session id or a unique beginning of it; `last` is the newest session.")
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", help="Time limit for one model call, retries included.", show_default="120"
    ),
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the result to an HTML file as well.")]
Mode = Annotated[str, typer.Option("--mode", "-m", help="Debate mode; `roundtable modes` lists them.")]
Options = Annotated[
    list[str] | None, typer.Option("--options", metavar="LIST", help="Options to choose from, separated by commas.")
]
Option = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="TEXT", help="One option, which can contain commas; can be repeated."),
]
Analyzer = Annotated[
    str,
    typer.Option(
        "--analyzer",
        metavar="NAME",
        help="How to measure agreement: auto, ai, declared, semantic, stance, basic, or a plugin's.",
    ),
]
Search = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="HOW",
        help="Let agents search the web: auto (the search of each agent's provider), off, or a search service: brave, "
        "tavily, searxng:URL, static:FILE, or a plugin's.",
        show_default="auto",
    ),
]
Fetch = Annotated[bool, typer.Option("--fetch", help="Let agents open pages on the public web.")]
ApproveTools = Annotated[
    bool,
    typer.Option("--approve-tools", help="Ask on the terminal before each call of a tool."),
]
Tools = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="LIST", help="Names of tools that agents can call, separated by commas."),
]
BudgetLimits = Annotated[
    list[str] | None,
    typer.Option("--budget", metavar="LIMIT=N", help="Limit the whole debate: usd, tokens, seconds or calls."),
]
Vote = Annotated[bool, typer.Option("--vote", help="Let the agents vote on their answers after the last round.")]
Baseline = Annotated[bool, typer.Option("--baseline", help="Ask every agent alone first; no agent sees these answers.")]
ExitWhen = Annotated[
    str | None,
    typer.Option(
        "--exit-when",
        metavar="TEXT",
        help="End early when a criterion is met, such as 'consensus(0.9) & min_rounds(2)'.",
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="REQUEST=TEXT",
        help="Answer an agent's request for information; REQUEST=@FILE reads the answer from a file; can be repeated.",
    ),
]
Http = Annotated[bool, typer.Option("--http", help="Serve over HTTP; clients need a token.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="Host name that clients use for the server; can be repeated."),
]
AllowOrigins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="URL",
        help="Web origin whose pages can call the server; * is not allowed; can be repeated.",
    ),
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Accept requests without a token; needs a loopback address.")]
Deadline = Annotated[
    float | None,
    typer.Option("--deadline", metavar="SECONDS", help="Stop after this time; finished answers are kept."),
]
Attach = Annotated[
    list[str] | None,
    typer.Option(
        "--attach",
        metavar="FILE",
        help="Attach an image, a PDF document or a text to the question; can be repeated.",
    ),
]
VoteEvery = Annotated[bool, typer.Option("--vote-every", help="Let the agents vote after every round.")]
Synthesize = Annotated[
    bool, typer.Option("--synthesize", help="Ask one model to synthesize the debate at its end: one extra call.")
]
Claims = Annotated[
    bool,
    typer.Option("--claims", help="Ask agents for their reasons as claims that support or attack earlier claims."),
]
AnswerSchema = Annotated[
    str | None,
    typer.Option(
        "--answer-schema",
        metavar="FILE",
        help="JSON Schema of an object that every agent returns in addition to its position.",
    ),
]
SkipRounds = Annotated[
    float | None,
    typer.Option(
        "--skip-rounds-when",
        metavar="LEVEL",
        help="Skip all later rounds if the agreement of the independent answers is at least LEVEL, 0 to 1.",
    ),
]
ExitEarly = Annotated[
    bool, typer.Option("--exit-on-consensus", help="End early on agreement, convergence or confidence.")
]
Quorum = Annotated[
    int | None,
    typer.Option(
        "--quorum", metavar="NUMBER", help="Minimum number of answers per stage, or per round if agents take turns."
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Store this metadata with the session; can be repeated."),
]
Perspectives = Annotated[
    list[str] | None,
    typer.Option("--perspective", metavar="TEXT", help="A perspective of an expert panel, or `auto`; can be repeated."),
]
Adopt = Annotated[
    bool,
    typer.Option(
        "--adopt", help="Continue although prompts or agents have changed since the session began; use the new ones."
    ),
]
Focus = Annotated[str | None, typer.Option("--focus", help="Narrower question for the next rounds.")]
Force = Annotated[
    bool, typer.Option("--force", help="Continue even if required requests for information are unanswered.")
]
