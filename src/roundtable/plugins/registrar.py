"""What hooks are handed: typed registrars, and the host."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from roundtable.exits import ExitFactory
    from roundtable.protocols import ChatModel, ConsensusMeter, DebateModeStrategy, Observer, Storage, Tool
    from roundtable.providers.spec import ProviderFactory
    from roundtable.result import DebateResult
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.tools import WebSearchProvider
    from roundtable.types import Persona
    from roundtable.types.profiles import AgentProfile

__all__ = [
    "HOST_API",
    "AnalyzerFactory",
    "AnalyzerRegistrar",
    "Catalog",
    "Command",
    "CommandRegistrar",
    "ExitRegistrar",
    "Exporter",
    "ExporterRegistrar",
    "Host",
    "ModeRegistrar",
    "ObserverFactory",
    "ObserverRegistrar",
    "PersonaRegistrar",
    "ProfileRegistrar",
    "ProviderRegistrar",
    "Registrar",
    "RuleRegistrar",
    "SearchProviderFactory",
    "SearchProviderRegistrar",
    "StorageFactory",
    "StorageRegistrar",
    "ToolFactory",
    "ToolRegistrar",
]

HOST_API: Final = 1
"""Number of the plugin contract; grows when a plugin has to change."""

T = TypeVar("T")

StorageFactory: TypeAlias = "Callable[[str], Storage]"
"""Opens a storage from its address, such as `sqlite:///debates.db`."""

ToolFactory: TypeAlias = "Callable[[], Tool]"
"""Makes a tool."""

AnalyzerFactory: TypeAlias = "Callable[[ChatModel | None], ConsensusMeter]"
"""Makes a meter of consensus, with a light model to ask where the table has one."""

SearchProviderFactory: TypeAlias = "Callable[[str, Settings], WebSearchProvider]"
"""Makes a provider of web searches from what stands behind the colon, and what the environment says."""

Exporter: TypeAlias = "Callable[[DebateResult], str | bytes | Iterator[str]]"
"""Writes a result in a format: as text, as bytes for a file, or as texts that are written one after the other.

An attribute `media_type`, such as `"application/pdf"`, is what a server sends it as; left out, text is sent as
`text/plain` and bytes as `application/octet-stream`."""

ObserverFactory: TypeAlias = "Callable[[Settings], Observer]"
"""Makes an observer for one table."""

Command: TypeAlias = "Callable[[Sequence[str]], int]"
"""Does what a command does with the words behind its name, and gives the exit code."""


class Host(NamedTuple):
    """The library a plugin runs in.

    Example:
        >>> host = Host(api=1, version="0.1.0", capabilities=frozenset({"modes"}))
        >>> "exporters" in host.capabilities
        False
    """

    api: int
    """Number of the plugin contract."""
    version: str
    """Version of the library."""
    capabilities: frozenset[str]
    """Names of things that can be registered, such as `"modes"`."""


class Registrar(Generic[T]):
    """Adds things of one kind on behalf of one plugin, while its hook runs."""

    def __init__(self, registry: Registry[T], source: str, check: Callable[[str, object], None]) -> None:
        self._registry = registry
        self._source = source
        self._check = check
        self._open = True

    def add(self, name: str, thing: T, *, summary: str = "") -> None:
        """Register a thing under a name.

        Args:
            name: What it is asked for by: not empty, no `:` or `/`, no outer spaces.
            thing: The thing; what is costly is made by a factory, when it is asked for.
            summary: What it is, in a line.

        Raises:
            ConfigurationError: The name is taken, or is no usable name; the thing is of another kind; or the hook has
                returned.
        """
        if not self._open:
            raise ConfigurationError(f"{self._source} registers {name!r} after its hook has returned")
        if not isinstance(summary, str):
            raise ConfigurationError(f"the summary of {name!r} must be a text, not {type(summary).__name__}")
        if "/" in str(name):
            msg = f"the {self._registry.kind} name {name!r} holds '/', which stands between a distribution and a name"
            raise ConfigurationError(msg, hint="Use another name.")
        self._check(name, thing)
        self._registry.add(name, thing, summary=summary, source=self._source)

    def close(self) -> None:
        """Take nothing more."""
        self._open = False


ProviderRegistrar: TypeAlias = "Registrar[ProviderFactory]"
"""Takes providers."""
ModeRegistrar: TypeAlias = "Registrar[DebateModeStrategy]"
"""Takes debate modes."""
RuleRegistrar: TypeAlias = "Registrar[Rule]"
"""Takes decision rules."""
AnalyzerRegistrar: TypeAlias = "Registrar[AnalyzerFactory]"
"""Takes meters of consensus."""
ExitRegistrar: TypeAlias = "Registrar[ExitFactory]"
"""Takes stop criteria by their kind."""
StorageRegistrar: TypeAlias = "Registrar[StorageFactory]"
"""Takes storages by address scheme."""
ToolRegistrar: TypeAlias = "Registrar[ToolFactory]"
"""Takes tools."""
SearchProviderRegistrar: TypeAlias = "Registrar[SearchProviderFactory]"
"""Takes providers of web searches."""
PersonaRegistrar: TypeAlias = "Registrar[Persona]"
"""Takes personas."""
ProfileRegistrar: TypeAlias = "Registrar[AgentProfile]"
"""Takes agents of teams."""
ExporterRegistrar: TypeAlias = "Registrar[Exporter]"
"""Takes formats that results are written in."""
ObserverRegistrar: TypeAlias = "Registrar[ObserverFactory]"
"""Takes observers."""
CommandRegistrar: TypeAlias = "Registrar[Command]"
"""Takes commands of the command line."""


@dataclass(slots=True)
class Catalog:
    """Everything a table can be asked for by name.

    Example:
        >>> Catalog().modes.names()
        ()
    """

    providers: Registry[ProviderFactory] = field(default_factory=lambda: Registry("provider"))
    """Providers."""
    modes: Registry[DebateModeStrategy] = field(default_factory=lambda: Registry("mode"))
    """Debate modes."""
    rules: Registry[Rule] = field(default_factory=lambda: Registry("rule"))
    """Decision rules."""
    analyzers: Registry[AnalyzerFactory] = field(default_factory=lambda: Registry("analyzer"))
    """Meters of consensus."""
    exits: Registry[ExitFactory] = field(default_factory=lambda: Registry("exit"))
    """Stop criteria by their kind."""
    storages: Registry[StorageFactory] = field(default_factory=lambda: Registry("storage"))
    """Storages by address scheme."""
    tools: Registry[ToolFactory] = field(default_factory=lambda: Registry("tool"))
    """Tools."""
    search_providers: Registry[SearchProviderFactory] = field(default_factory=lambda: Registry("search provider"))
    """Providers of web searches."""
    personas: Registry[Persona] = field(default_factory=lambda: Registry("persona"))
    """Personas."""
    profiles: Registry[AgentProfile] = field(default_factory=lambda: Registry("profile"))
    """Agents of teams."""
    exporters: Registry[Exporter] = field(default_factory=lambda: Registry("exporter"))
    """Formats that results are written in."""
    observers: Registry[ObserverFactory] = field(default_factory=lambda: Registry("observer"))
    """Observers."""
    commands: Registry[Command] = field(default_factory=lambda: Registry("command"))
    """Commands of the command line."""

    def registries(self) -> dict[str, Registry[object]]:
        """Give every registry by the name of its kind, as `Host.capabilities` lists them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}
