"""The context of a command: settings, storage, screen and table; and parsers for shared options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio
from pydantic import ValidationError

from roundtable.cli.event_printer import Line, line
from roundtable.cli.render import Screen
from roundtable.cli.storage_location import StorageLocation, find_storage, redact_url
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.answers import ContextResult
from roundtable.core.types.budget import Budget
from roundtable.core.types.request import DebateRequest
from roundtable.logs import configure_logging
from roundtable.settings import Settings

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from roundtable.api import Roundtable
    from roundtable.api.changes import OnChange
    from roundtable.api.options import DebateOptions
    from roundtable.api.tools import ToolLike
    from roundtable.cli.exit_codes import ExitCode
    from roundtable.core.protocols import Storage
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.results.debate_result import DebateResult
    from roundtable.tools import Approver

__all__ = [
    "CommandContext",
    "CommandOptions",
    "ResumeOptions",
    "load_settings",
    "make_table",
    "open_context",
    "read_budget",
    "read_context",
    "read_debate_options",
    "read_metadata",
    "request_lines",
    "split_list",
]

_LIMITS: Final[Mapping[str, str]] = {
    "usd": "max_cost_usd",
    "tokens": "max_tokens",
    "seconds": "max_seconds",
    "calls": "max_calls",
}

_OF_THE_TABLE: Final = frozenset({"topic", "agents", "search"})
"""Arguments that are not passed as options of the debate: the topic, and arguments for the table."""

_SEARCHES: Final[Mapping[str, bool | str]] = {"auto": "auto", "off": False}
"""Values of `--search` that are not names of services."""


class ResumeOptions(NamedTuple):
    """What the user supplies when resuming or extending a session."""

    results: tuple[ContextResult, ...] = ()
    """Answers to the agents' context requests."""
    force: bool = False
    """Whether to resume without required answers."""
    adopt: bool = False
    """Whether to accept prompts and agents that changed since the session began."""
    budget: Budget | None = None
    """Limits for the whole debate."""
    deadline_s: float | None = None
    """Seconds after which running calls are cancelled."""

    @property
    def on_change(self) -> OnChange:
        """The value of `adopt` as the `on_change` argument of `Roundtable.resume`."""
        return "adopt" if self.adopt else "error"


def read_context(answers: Sequence[str] | None) -> tuple[ContextResult, ...]:
    """Parse `--context` answers: `REQUEST=TEXT`, or `REQUEST=@FILE` to read the answer from a file.

    Raises:
        ConfigurationError: An answer has another form, or its file cannot be read.

    Example:
        >>> read_context(["ctx-1=Two boxes."])[0].result
        'Two boxes.'
    """
    return tuple(_parse_answer(text) for text in answers or ())


def read_budget(texts: Sequence[str] | None) -> Budget | None:
    """Parse `--budget` limits such as `usd=0.5,calls=40`; return `None` without limits.

    Raises:
        ConfigurationError: A limit has another form, is unknown, repeated, or out of range.

    Example:
        >>> limits = read_budget(["usd=0.5,calls=40"])
        >>> limits.max_cost_usd, limits.max_calls
        (0.5, 40)
    """
    limits: dict[str, str] = {}
    for entry in [part.strip() for text in texts or () for part in text.split(",")]:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if name not in _LIMITS or not equals or not value:
            msg = f"--budget takes LIMIT=NUMBER, where LIMIT is {' or '.join(_LIMITS)}, not {entry!r}"
            raise ConfigurationError(msg, hint="Write --budget usd=0.5,calls=40.")
        if _LIMITS[name] in limits:
            msg = f"--budget: {name!r} is given twice"
            raise ConfigurationError(msg, hint=f"Write {name}=NUMBER once.")
        limits[_LIMITS[name]] = value
    try:
        return Budget.model_validate(limits) if limits else None
    except ValidationError as error:
        first = error.errors()[0]
        word = next(word for word, field in _LIMITS.items() if field in first["loc"])
        msg = f"--budget: {word}={first['input']!r} cannot be used: {first['msg']}"
        raise ConfigurationError(msg, hint="Write numbers above 0, as in --budget usd=0.5,calls=40.") from None


def read_metadata(entries: Sequence[str] | None) -> dict[str, JsonValue]:
    """Parse metadata written as `key=value`; a value is parsed as JSON if possible, else it is text.

    Raises:
        ConfigurationError: An entry has no key.

    Example:
        >>> read_metadata(["team=core", "run=7"])
        {'team': 'core', 'run': 7}
    """
    metadata: dict[str, JsonValue] = {}
    for entry in entries or ():
        key, equals, value = entry.partition("=")
        if not key or not equals:
            msg = f"--meta takes KEY=VALUE, not {entry!r}"
            raise ConfigurationError(msg, hint="For example: --meta team=core")
        try:
            metadata[key] = json.loads(value)
        except (ValueError, RecursionError):
            metadata[key] = value
    return metadata


def read_debate_options(arguments: Mapping[str, Any]) -> DebateOptions:
    """Parse the options of a debate or a fork; options that are not given are left out.

    Args:
        arguments: The arguments of the command by name.

    Raises:
        ConfigurationError: A list, a budget or an entry of the metadata has another form.
    """
    listed = split_list(arguments.get("options"), "--options") or ()
    perspectives = arguments.get("perspective")
    plain = [name for name in DebateRequest.model_fields if name in arguments and name not in _OF_THE_TABLE]
    options = {name: arguments[name] for name in plain} | {
        "options": (*listed, *(arguments.get("option") or ())),
        "perspectives": "auto" if perspectives == ["auto"] else perspectives,
        "focus_question": arguments.get("focus"),
        "vote": "every" if arguments.get("vote_every") else arguments.get("vote"),
        "deadline_s": arguments.get("deadline"),
        "budget": read_budget(arguments.get("budget")),
        "metadata": read_metadata(arguments.get("meta")),
        "answer_schema": _read_schema(arguments.get("answer_schema")),
    }
    # Keep 0, although it is false: it is either a valid value, or one that the debate must refuse.
    supplied = {name: value for name, value in options.items() if not any(value is none for none in (None, False))}
    return cast("DebateOptions", {name: value for name, value in supplied.items() if value not in ((), {})})


def _read_schema(file: str | None) -> JsonObject | None:
    """Read a JSON Schema from a file; `None` if none is named.

    Raises:
        ConfigurationError: The file cannot be read, or contains no JSON object.
    """
    if file is None:
        return None
    try:
        schema: JsonValue = json.loads(Path(file).expanduser().read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"--answer-schema: {file!r} cannot be read as JSON: {error}"
        raise ConfigurationError(msg, hint="Name a file with a JSON Schema in UTF-8.") from error
    if not isinstance(schema, dict):
        raise ConfigurationError(f"--answer-schema: {file!r} contains no JSON object", hint="Name a JSON Schema.")
    return schema


def _parse_answer(text: str) -> ContextResult:
    request_id, equals, answer = text.partition("=")
    if not request_id.strip() or not equals or not answer.strip():
        msg = f"--context takes REQUEST=TEXT or REQUEST=@FILE, not {text[:80]!r}"
        raise ConfigurationError(msg, hint="`roundtable show ID` lists the agents' requests.")
    if answer.startswith("@"):
        path = Path(answer[1:]).expanduser()
        try:
            answer = path.read_text("utf-8")
        except (OSError, ValueError) as error:
            msg = f"--context: {str(path)!r} cannot be read as text: {error}"
            raise ConfigurationError(msg, hint="Name a text file in UTF-8.") from error
    return ContextResult(request_id=request_id.strip(), success=True, result=answer)


def request_lines(result: DebateResult) -> list[Line]:
    """List the agents' context requests with their ids, which an answer must name."""
    names = {agent.id: agent.name for agent in result.agents}
    requests = ((names.get(request.agent_id, request.agent_id), request) for request in result.context_requests)
    return [
        line(f"{name} asks ({request.priority}) {request.id}: {request.query}", "magenta") for name, request in requests
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """The options of a command line that determine its context."""

    as_json: bool = False
    live: bool = True
    quiet: bool = False
    storage: str | None = None
    database: str | None = None
    agents: tuple[str, ...] | None = None
    base_urls: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    seed: int = 0
    analyzer: str = "auto"
    timeout_s: float | None = None
    tools: tuple[str, ...] = ()
    search: str | None = None
    fetch: bool = False
    approve_tools: bool = False
    profiles: tuple[str, ...] = ()
    cassette: str | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> CommandOptions:
        """Create the options from the arguments of a command, named as in `options`; missing ones get defaults.

        Raises:
            ConfigurationError: A list has an empty entry.
        """
        return cls(
            as_json=arguments.get("as_json", False),
            live=not arguments.get("no_live", False),
            quiet=arguments.get("quiet", False),
            storage=arguments.get("storage"),
            database=arguments.get("database"),
            agents=split_list(arguments.get("agents"), "--agents"),
            base_urls=tuple(arguments.get("base_url") or ()),
            endpoints=tuple(arguments.get("provider") or ()),
            prices=tuple(arguments.get("price") or ()),
            batches=split_list(arguments.get("batch"), "--batch") or (),
            seed=arguments.get("seed", 0),
            analyzer=arguments.get("analyzer", "auto"),
            timeout_s=arguments.get("timeout"),
            tools=split_list(arguments.get("tools"), "--tools") or (),
            search=arguments.get("search"),
            fetch=arguments.get("fetch", False),
            approve_tools=arguments.get("approve_tools", False),
            profiles=tuple(arguments.get("profiles") or ()),
            cassette=arguments.get("cassette"),
        )


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What one command works with."""

    settings: Settings
    place: StorageLocation
    screen: Screen
    table: Roundtable

    def run(
        self, work: Callable[[CommandContext], Awaitable[ExitCode]], *, writes: bool = True, hears: bool = False
    ) -> int:
        """Run the command's work and release all resources afterwards.

        Args:
            work: The command's work.
            writes: Whether it writes results to standard output.
            hears: Whether a signal such as Ctrl-C cancels the work, so that debates are paused; `False` if the work
                handles signals itself.

        Raises:
            OSError: Standard output is closed.
        """
        if writes:
            self.screen.check()
        return anyio.run(partial(self._run, _interruptible(work) if hears else work))

    async def _run(self, work: Callable[[CommandContext], Awaitable[ExitCode]]) -> ExitCode:
        async with self.table:
            return await work(self)


def _interruptible(
    work: Callable[[CommandContext], Awaitable[ExitCode]],
) -> Callable[[CommandContext], Awaitable[ExitCode]]:
    """Wrap work so that a signal cancels it."""
    from roundtable.cli.signals import interruptible

    async def run_until_signal(context: CommandContext) -> ExitCode:
        outcome = await interruptible(partial(work, context), context.screen)
        return outcome.code or outcome.value or outcome.code

    return run_until_signal


def open_context(
    command_options: CommandOptions, *, asks_people: bool = False, approve_tools: Approver | None = None
) -> CommandContext:
    """Read the settings and create the command's context; nothing is opened or connected yet.

    Args:
        command_options: Options from the command line.
        asks_people: Whether `human` agents are asked on this terminal; other commands do not read typed answers.
        approve_tools: As for `make_table`.

    Raises:
        ConfigurationError: The environment or the command line is invalid.
    """
    settings, location = load_settings(command_options)
    screen = Screen(
        as_json=command_options.as_json,
        # A live view would overwrite what the person types.
        live=command_options.live and not command_options.approve_tools,
        quiet=command_options.quiet,
        debug=settings.debug_mode,
    )
    url = None if location.is_default else location.url
    table = make_table(command_options, settings, url, asks_people=asks_people, approve_tools=approve_tools)
    for name in (*_base_urls(command_options.base_urls), *command_options.batches):
        table.catalog.providers.entry(name)
    _check_batches(command_options)
    return CommandContext(settings, location, screen, table)


def _check_batches(command_options: CommandOptions) -> None:
    """Check that each provider named with `--batch` is the provider of an agent, if agents are named.

    Raises:
        ConfigurationError: No agent uses the provider, so no call would be batched at half the price.
    """
    agents = command_options.agents or ()
    used = {agent.partition(":")[0].strip() for agent in agents}
    for name in command_options.batches:
        if agents and name not in used:
            msg = f"--batch {name}: no agent uses this provider"
            raise ConfigurationError(
                msg, hint=f"The agents are {', '.join(agents)}. Leave out --batch, or name the provider of an agent."
            )


def load_settings(command_options: CommandOptions) -> tuple[Settings, StorageLocation]:
    """Read the settings, configure logging, and locate the stored sessions.

    Raises:
        ConfigurationError: The environment or the command line is invalid.
    """
    settings = Settings.from_env()
    handler = configure_logging(settings.log_level, secrets=settings.secrets, stack=settings.debug_mode)
    if not command_options.as_json and not command_options.quiet and "LOG_LEVEL" not in settings.environment:
        handler.addFilter(_is_not_on_screen)
    location = find_storage(settings, command_options.storage, command_options.database)
    return settings, location.with_servers(_base_urls(command_options.base_urls), _tool_arguments(command_options))


def make_table(
    command_options: CommandOptions,
    settings: Settings,
    storage: str | Storage | None,
    tenant: str = "default",
    *,
    asks_people: bool = False,
    approve_tools: Approver | None = None,
) -> Roundtable:
    """Create the table that the command line describes; nothing is opened or connected yet.

    Args:
        command_options: Options from the command line.
        settings: Settings from the environment.
        storage: Where sessions are stored; the default storage when `None`.
        tenant: Owner of the sessions.
        asks_people: As for `open_context`.
        approve_tools: Function that approves tool calls with `--approve-tools`, if not the person at the terminal.

    Raises:
        ConfigurationError: The command line is invalid.
    """
    # Imported late: `--help` must not load the engine.
    from roundtable.api import Roundtable
    from roundtable.api.endpoints import read_endpoints
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.plugins import Plugins

    urls = _base_urls(command_options.base_urls)
    providers = read_endpoints(command_options.endpoints, "--provider")
    for name in (*urls, *command_options.batches):
        config = providers.get(name, ProviderConfig())
        url = urls.get(name, config.base_url)
        providers[name] = replace(config, base_url=url, batch=name in command_options.batches)
    if asks_people:
        from roundtable.cli.terminal import Terminal
        from roundtable.providers import HumanProvider

        terminal = Terminal()
        providers["human"] = ProviderConfig(client=terminal.ask, timeout_s=HumanProvider.patience_s)
        approve_tools = approve_tools or terminal.approve
    return Roundtable(
        command_options.agents,
        providers=providers,
        prices=_prices(command_options.prices),
        storage=storage,
        tools=_tools(command_options),
        approve_tools=approve_tools if command_options.approve_tools else None,
        search="auto"
        if command_options.search is None
        else _SEARCHES.get(command_options.search, command_options.search),
        profiles=command_options.profiles,
        seed=command_options.seed,
        analyzer=command_options.analyzer,
        timeout_s=command_options.timeout_s,
        plugins=Plugins.load(to_stderr=True),
        cassette=command_options.cassette,
        tenant=tenant,
        settings=settings,
    )


def _is_not_on_screen(record: logging.LogRecord) -> bool:
    """Check whether a log record is about something that the screen does not show anyway, as it does for turns."""
    return not hasattr(record, "agent") and not record.name.startswith("roundtable.providers.local")


def _tool_arguments(command_options: CommandOptions) -> Iterator[str]:
    """Return the command-line arguments that select endpoints, providers called in batches, and the agents' tools."""
    for endpoint in command_options.endpoints:
        yield from ("--provider", _without_secrets(endpoint))
    for provider in command_options.batches:
        yield from ("--batch", provider)
    if command_options.tools:
        yield from ("--tools", ",".join(map(_without_secrets, command_options.tools)))
    if command_options.search is not None:
        yield from ("--search", _without_secrets(command_options.search))
    if command_options.fetch:
        yield "--fetch"


def _without_secrets(tool: str) -> str:
    """Return the name of a tool or a search provider without the secrets in its address."""
    at = tool.find("http")
    return tool if at < 0 else tool[:at] + redact_url(tool[at:])


def _tools(command_options: CommandOptions) -> list[ToolLike]:
    """Return the tools that agents can call."""
    from roundtable.tools import FetchUrl

    tools: list[ToolLike] = list(command_options.tools)
    if command_options.fetch:
        tools.append(FetchUrl())
    return tools


def _base_urls(base_urls: Sequence[str]) -> dict[str, str]:
    urls = {}
    for text in base_urls:
        name, equals, url = text.partition("=")
        if not name.strip() or not equals or not url.strip():
            msg = f"--base-url takes provider=URL, not {text!r}"
            raise ConfigurationError(msg, hint="For example: --base-url compatible=http://127.0.0.1:8080/v1")
        urls[name.strip()] = url.strip()
    return urls


def _prices(entries: Sequence[str]) -> dict[str, dict[str, str]]:
    prices: dict[str, dict[str, str]] = {}
    for text in entries:
        name, _, amounts = (part.strip() for part in text.rpartition("="))
        price = tuple(amount.strip() for amount in amounts.split(","))
        if not name or len(price) != 2 or not all(price):
            msg = f"--price takes PROVIDER:MODEL=INPUT,OUTPUT in US dollars per million tokens, not {text!r}"
            raise ConfigurationError(msg, hint="For example: --price compatible:llama3=0.2,0.6")
        if name in prices:
            raise ConfigurationError(f"--price: {name!r} is given twice", hint="Give every model one price.")
        prices[name] = dict(zip(("input", "output"), price, strict=True))
    return prices


def split_list(texts: Sequence[str] | None, option: str) -> tuple[str, ...] | None:
    """Split a list option that was written with commas, repeated, or both.

    Raises:
        ConfigurationError: An entry is empty.

    Example:
        >>> split_list(["anthropic, compatible:llama3", "local"], "--agents")
        ('anthropic', 'compatible:llama3', 'local')
    """
    if not texts:
        return None
    entries = tuple(entry.strip() for text in texts for entry in text.split(","))
    if not all(entries):
        msg = f"{option} has an empty entry"
        raise ConfigurationError(msg, hint=f"Remove extra commas: {option} one,two")
    return entries
