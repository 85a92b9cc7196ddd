"""All hooks of plugins, and the catalog that they fill: everything that can be added to the library, on one page.

Every hook is called once per table, when the table is created or the plugin is first needed, and must not block. A hook
gets a *registrar*, to which it adds things, and the *host*, which describes the library. If you annotate the
parameters, a type checker finds mistakes.

A hook implementation can take fewer parameters than its specification. Later versions of the library only add
parameters to hooks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import pluggy

from roundtable.core.base.registry import Registry
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.providers import ProviderInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from roundtable.core.errors import RoundtableError
    from roundtable.core.protocols import ChatModel, ConsensusMeter, DebateModeStrategy, Observer, Storage, Tool
    from roundtable.core.types.agents import AgentProfile, Persona
    from roundtable.exits import ExitFactory
    from roundtable.plugins.exporters import Exporter
    from roundtable.providers.spec import ProviderFactory
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.tools import WebSearchProvider

__all__ = [
    "HOST_API",
    "PROJECT",
    "AnalyzerFactory",
    "AnalyzerRegistrar",
    "Catalog",
    "Command",
    "CommandRegistrar",
    "ExitRegistrar",
    "ExporterRegistrar",
    "Host",
    "ModeRegistrar",
    "ObserverFactory",
    "ObserverRegistrar",
    "PersonaRegistrar",
    "PluginReport",
    "PluginStage",
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
    "hookimpl",
    "hookspec",
    "roundtable_register_analyzers",
    "roundtable_register_commands",
    "roundtable_register_exits",
    "roundtable_register_exporters",
    "roundtable_register_modes",
    "roundtable_register_observers",
    "roundtable_register_personas",
    "roundtable_register_profiles",
    "roundtable_register_providers",
    "roundtable_register_rules",
    "roundtable_register_search_providers",
    "roundtable_register_storages",
    "roundtable_register_tools",
]

PluginStage: TypeAlias = Literal["metadata", "requires", "import", "api", "register", "ready", "idle", "off"]
"""How far the loading of a plugin got.

- A plugin that failed has the stage of the failure: `metadata` (it could not be read), `requires` (the plugin requires
  another version of the library), `import`, `api` (its `ROUNDTABLE_API`) or `register` (its hooks).
- Other plugins are `ready`, or `idle` if they were not needed yet, or `off` if they are disabled.
"""

_NOT_FAILED: Final = frozenset({"ready", "idle", "off"})

HOST_API: Final = 1
"""Number of the plugin contract; it grows when plugins have to change."""


@dataclass(frozen=True, slots=True)
class PluginReport:
    """The state of one plugin.

    Example:
        >>> PluginReport("roundtable-acme", "1.2", "ready", provides=("provider acme",)).to_dict()["provides"]
        ['provider acme']
    """

    name: str
    """Name of the plugin's distribution; for a plugin that was passed as an object, the name of its module or class."""
    version: str | None
    """Version of the distribution; `None` without a distribution."""
    stage: PluginStage
    """How far loading got."""
    error: RoundtableError | None = None
    """Why the plugin failed; the cause is the plugin's own error."""
    provides: tuple[str, ...] = ()
    """What the plugin registered, as `"kind name"`; for a failed plugin, what it registered before the failure."""
    notes: tuple[str, ...] = ()
    """Notes on a plugin that is ready, such as names that another plugin has registered as well."""
    entry_point: str | None = None
    """Name of the plugin's entry point."""

    @property
    def failed(self) -> bool:
        """Whether the plugin cannot be used."""
        return self.stage not in _NOT_FAILED

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the report as JSON values with camelCase keys."""
        return {
            "name": self.name,
            "version": self.version,
            "stage": self.stage,
            "error": None if self.error is None else self.error.to_dict(),
            "provides": list(self.provides),
            "notes": list(self.notes),
            "entryPoint": self.entry_point,
        }


T = TypeVar("T")

StorageFactory: TypeAlias = "Callable[[str], Storage]"
"""Function that opens a storage from its address, such as `sqlite:///debates.db`."""

ToolFactory: TypeAlias = "Callable[[], Tool]"
"""Creates a tool."""

AnalyzerFactory: TypeAlias = "Callable[[ChatModel | None], ConsensusMeter]"
"""Function that creates a meter of consensus; it gets the table's light model, or `None`.

A `roundtable.analysis.DebateAnalyzerFactory` gets more: all models that can read the answers, and the options."""

SearchProviderFactory: TypeAlias = "Callable[[str, Settings], WebSearchProvider]"
"""Function that creates a provider of web searches, from the text after the colon in its name and from the settings."""

ObserverFactory: TypeAlias = "Callable[[Settings], Observer]"
"""Creates an observer for one table."""

Command: TypeAlias = "Callable[[Sequence[str]], int]"
"""Function that runs a command with the arguments after the command's name, and returns the exit code.

A `typer.Typer`, which is callable too, gets options, help and errors like those of the built-in commands."""


class Host(NamedTuple):
    """Information on the library that a plugin runs in.

    Example:
        >>> host = Host(api=1, version="0.3.0", capabilities=frozenset({"modes"}))
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
    """Object that adds things of one kind for one plugin, as long as the plugin's hook runs."""

    def __init__(self, registry: Registry[T], source: str, check: Callable[[str, object], None]) -> None:
        self._registry = registry
        self._source = source
        self._check = check
        self._open = True

    def add(self, name: str, thing: T, *, summary: str = "") -> None:
        """Register a thing under a name.

        Args:
            name: Name by which to look up the thing; not empty, without `:` and `/`, and without spaces around it.
            thing: The object to register, or a factory that creates the object when it is needed.
            summary: A description in one line.

        Raises:
            ConfigurationError: The name is taken or invalid, the object is of another kind, or the hook has already
                returned.
        """
        if not self._open:
            raise ConfigurationError(f"{self._source} registers {name!r} after its hook has returned")
        if not isinstance(summary, str):
            raise ConfigurationError(f"the summary of {name!r} must be a text, not {type(summary).__name__}")
        if "/" in str(name):
            msg = f"the {self._registry.kind} name {name!r} contains '/', which separates a distribution from a name"
            raise ConfigurationError(msg, hint="Use a name without '/'.")
        self._check(name, thing)
        self._registry.add(name, thing, summary=summary, source=self._source)

    def close(self) -> None:
        """Reject further registrations."""
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
    """Everything that a table can look up by name.

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
    known_providers: Mapping[str, ProviderInfo] = field(default_factory=dict)
    """What the library knows about providers that declare nothing, or that nobody registered, by name."""

    def provider_info(self, name: str) -> ProviderInfo:
        """Return what a provider declares about itself; an unknown provider, or one that declares nothing, has a name.

        Example:
            >>> Catalog().provider_info("acme").label
            'acme'
        """
        # `in` asks only what is registered; a lookup would load a plugin for a model that merely has this provider.
        info: object = getattr(self.providers.get(name), "info", None) if name in self.providers else None
        if not isinstance(info, ProviderInfo):
            return self.known_providers.get(name) or ProviderInfo(name=name)
        # The registered name counts: under another one, the key of one provider would choose another.
        return info if info.name == name else replace(info, name=name, price_table=info.price_table or info.name)

    def provider_infos(self) -> tuple[ProviderInfo, ...]:
        """Return what all providers declare, without named endpoints.

        Those in `known_providers` with a key come first, even if they are not registered; then the others as they were
        added.
        """
        known = [name for name, info in self.known_providers.items() if info.key_env]
        infos = map(self.provider_info, dict.fromkeys((*known, *self.providers.names())))
        return tuple(info for info in infos if info.kind is None)

    def providers_by_key(self) -> dict[tuple[str, ...], tuple[ProviderInfo, ...]]:
        """Group what providers declare by the variables of their key; providers without a key are left out.

        Example:
            >>> acme = ProviderInfo(name="acme", key_env=("ACME_API_KEY",))
            >>> [info.name for info in Catalog(known_providers={"acme": acme}).providers_by_key()["ACME_API_KEY",]]
            ['acme']
        """
        groups: dict[tuple[str, ...], tuple[ProviderInfo, ...]] = {}
        for info in self.provider_infos():
            if info.key_env:
                groups[info.key_env] = (*groups.get(info.key_env, ()), info)
        return groups

    def registries(self) -> dict[str, Registry[object]]:
        """Return all registries; the keys are the names of the kinds, as in `Host.capabilities`."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Registry)}


PROJECT: Final = "roundtable"
"""Name of the hook project and of the entry-point group."""

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker(PROJECT)
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker(PROJECT)
"""Marker for functions that implement one of these hooks."""


@hookspec
def roundtable_register_providers(registrar: ProviderRegistrar, host: Host) -> None:
    """Add providers: `registrar.add("acme", factory, summary="...")`, where `factory` is a `ProviderFactory`."""


@hookspec
def roundtable_register_modes(registrar: ModeRegistrar, host: Host) -> None:
    """Add debate modes: `registrar.add("court", CourtMode(), summary="...")`."""


@hookspec
def roundtable_register_rules(registrar: RuleRegistrar, host: Host) -> None:
    """Add decision rules: `registrar.add("veto", Rule("veto", count), summary="...")`."""


@hookspec
def roundtable_register_analyzers(registrar: AnalyzerRegistrar, host: Host) -> None:
    """Add analyzers, which measure consensus: `registrar.add("themes", make_meter, summary="...")`."""


@hookspec
def roundtable_register_exits(registrar: ExitRegistrar, host: Host) -> None:
    """Add exit criteria by kind: `registrar.add("night", Night.from_spec, summary="...")`."""


@hookspec
def roundtable_register_storages(registrar: StorageRegistrar, host: Host) -> None:
    """Add storages by address scheme: `registrar.add("redis", open_redis, summary="...")`."""


@hookspec
def roundtable_register_tools(registrar: ToolRegistrar, host: Host) -> None:
    """Add tools by name: `registrar.add("weather", make_weather_tool, summary="...")`."""


@hookspec
def roundtable_register_search_providers(registrar: SearchProviderRegistrar, host: Host) -> None:
    """Add web searches: `registrar.add("acme", make_search, summary="...")`."""


@hookspec
def roundtable_register_personas(registrar: PersonaRegistrar, host: Host) -> None:
    """Add personas: `registrar.add("nurse", Persona(name="Nurse", description="..."))`."""


@hookspec
def roundtable_register_profiles(registrar: ProfileRegistrar, host: Host) -> None:
    """Add agents of teams: `registrar.add("scout", AgentProfile("scout", instructions="...", tools=["look"]))`."""


@hookspec
def roundtable_register_exporters(registrar: ExporterRegistrar, host: Host) -> None:
    """Add export formats: `registrar.add("yaml", write_yaml, summary="...")`."""


@hookspec
def roundtable_register_observers(registrar: ObserverRegistrar, host: Host) -> None:
    """Add observers: `registrar.add("chat", make_observer, summary="...")`; each runs on its own thread."""


@hookspec
def roundtable_register_commands(registrar: CommandRegistrar, host: Host) -> None:
    """Add commands, typer apps or functions of words: `registrar.add("score", score, summary="...")`."""
