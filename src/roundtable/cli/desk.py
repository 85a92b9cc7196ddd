"""What every command starts from: settings, logging, the place of the sessions, a screen, and a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from roundtable.cli.place import Place, find_place, harmless
from roundtable.cli.screen import Screen
from roundtable.errors import ConfigurationError
from roundtable.logs import configure_logging
from roundtable.settings import Settings

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from roundtable.api import Roundtable
    from roundtable.api.tools import ToolLike
    from roundtable.cli.codes import ExitCode
    from roundtable.protocols import Storage

__all__ = ["Ask", "Desk", "find_surroundings", "make_table", "open_desk", "split_list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a command line says about the surroundings of a command."""

    as_json: bool = False
    live: bool = True
    quiet: bool = False
    storage: str | None = None
    database: str | None = None
    agents: tuple[str, ...] | None = None
    base_urls: tuple[str, ...] = ()
    quorum: int | None = None
    seed: int = 0
    analyzer: str = "auto"
    timeout_s: float | None = None
    tools: tuple[str, ...] = ()
    search: str | None = None
    fetch: bool = False
    profiles: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Ask:
        """Take it from the arguments of a command, as they are called in `options`; what a command lacks is left out.

        Raises:
            ConfigurationError: A list has an empty entry.
        """
        return cls(
            as_json=given.get("as_json", False),
            live=not given.get("no_live", False),
            quiet=given.get("quiet", False),
            storage=given.get("storage"),
            database=given.get("database"),
            agents=split_list(given.get("agents"), "--agents"),
            base_urls=tuple(given.get("base_url") or ()),
            quorum=given.get("quorum"),
            seed=given.get("seed", 0),
            analyzer=given.get("analyzer", "auto"),
            timeout_s=given.get("timeout"),
            tools=split_list(given.get("tools"), "--tools") or (),
            search=given.get("search"),
            fetch=given.get("fetch", False),
            profiles=tuple(given.get("profiles") or ()),
        )


@dataclass(frozen=True, slots=True)
class Desk:
    """The surroundings of one command."""

    settings: Settings
    place: Place
    screen: Screen
    table: Roundtable

    def run(self, work: Callable[[Desk], Awaitable[ExitCode]]) -> int:
        """Do the work of the command, and release everything afterwards."""
        return anyio.run(partial(self._run, work))

    async def _run(self, work: Callable[[Desk], Awaitable[ExitCode]]) -> ExitCode:
        async with self.table:
            return await work(self)


def open_desk(ask: Ask) -> Desk:
    """Read the settings and get everything ready; nothing is opened or connected yet.

    Raises:
        ConfigurationError: The environment or the command line does not fit.
    """
    settings, place = find_surroundings(ask)
    screen = Screen(as_json=ask.as_json, live=ask.live, quiet=ask.quiet, debug=settings.debug_mode)
    table = make_table(ask, settings, place.url)
    for name in _overrides(ask.base_urls):
        table.wiring.catalog.providers.entry(name)
    return Desk(settings, place, screen, table)


def find_surroundings(ask: Ask) -> tuple[Settings, Place]:
    """Read the settings, begin to log, and find the place of the sessions.

    Raises:
        ConfigurationError: The environment or the command line does not fit.
    """
    settings = Settings.from_env()
    handler = configure_logging(settings.log_level, secrets=settings.secrets, stack=settings.debug_mode)
    if not ask.as_json and not ask.quiet and "LOG_LEVEL" not in settings.environment:
        handler.addFilter(_is_news)
    place = find_place(settings, ask.storage, ask.database)
    return settings, place.reaching(_overrides(ask.base_urls), _tool_words(ask))


def make_table(ask: Ask, settings: Settings, storage: str | Storage, tenant: str = "default") -> Roundtable:
    """Make a table as the command line describes it; nothing is opened or connected yet.

    Args:
        ask: What the command line says.
        settings: What the environment says.
        storage: Where sessions are kept.
        tenant: Whose they are.

    Raises:
        ConfigurationError: The command line does not fit.
    """
    # Late on purpose: `--help` must not load the engine.
    from roundtable.api import Roundtable
    from roundtable.plugins import Plugins
    from roundtable.types import ProviderConfig

    return Roundtable(
        ask.agents,
        providers={name: ProviderConfig(base_url=url) for name, url in _overrides(ask.base_urls).items()},
        storage=storage,
        tools=_tools(ask),
        profiles=ask.profiles,
        quorum=ask.quorum,
        seed=ask.seed,
        analyzer=ask.analyzer,
        timeout_s=ask.timeout_s,
        plugins=Plugins.load(to_stderr=True),
        tenant=tenant,
        settings=settings,
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out what the screen tells already: what becomes of turns, and how far a download is."""
    return not hasattr(record, "agent") and not record.name.startswith("roundtable.providers.local")


def _tool_words(ask: Ask) -> Iterator[str]:
    """Give the words that say what agents may call."""
    if ask.tools:
        yield from ("--tools", ",".join(map(_shown, ask.tools)))
    if ask.search is not None:
        yield from ("--search", _shown(ask.search))
    if ask.fetch:
        yield "--fetch"


def _shown(tool: str) -> str:
    """Give the name of a tool or a search provider without what only the owner of its address may know."""
    at = tool.find("http")
    return tool if at < 0 else tool[:at] + harmless(tool[at:])


def _tools(ask: Ask) -> list[ToolLike]:
    """Give what agents may call."""
    from roundtable.tools import FetchUrl

    tools: list[ToolLike] = list(ask.tools)
    if ask.search is not None:
        # The claim checker then looks on the web as well.
        searching = (f"search_web:{ask.search}", f"fact_check:{ask.search}")
        tools = [*(name for name in ask.tools if name != "fact_check"), *searching]
    if ask.fetch:
        tools.append(FetchUrl())
    return tools


def _overrides(base_urls: Sequence[str]) -> dict[str, str]:
    found = {}
    for given in base_urls:
        name, equals, url = given.partition("=")
        if not name.strip() or not equals or not url.strip():
            msg = f"--base-url takes provider=URL, not {given!r}"
            raise ConfigurationError(msg, hint="Such as --base-url compatible=http://127.0.0.1:8080/v1")
        found[name.strip()] = url.strip()
    return found


def split_list(given: Sequence[str] | None, what: str) -> tuple[str, ...] | None:
    """Split a list that was given with commas, or by repeating an option, or both.

    Raises:
        ConfigurationError: An entry is empty.

    Example:
        >>> split_list(["anthropic, compatible:llama3", "local"], "--agents")
        ('anthropic', 'compatible:llama3', 'local')
    """
    if not given:
        return None
    found = tuple(entry.strip() for text in given for entry in text.split(","))
    if not all(found):
        msg = f"{what} has an empty entry"
        raise ConfigurationError(msg, hint=f"Write {what} one,two without further commas.")
    return found
