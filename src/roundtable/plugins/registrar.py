"""What hooks are handed: typed registrars, and the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from roundtable._registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.exits import ExitFactory
    from roundtable.protocols import DebateModeStrategy, Storage, Tool
    from roundtable.providers.spec import ProviderFactory
    from roundtable.scoring import Rule

__all__ = [
    "HOST_API",
    "Catalog",
    "ExitRegistrar",
    "Host",
    "ModeRegistrar",
    "ProviderRegistrar",
    "Registrar",
    "RuleRegistrar",
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


class Host(NamedTuple):
    """The library a plugin runs in."""

    api: int
    """Number of the plugin contract."""
    version: str
    """Version of the library."""
    capabilities: frozenset[str]
    """Names of things that can be registered."""


class Registrar(Generic[T]):
    """Adds things of one kind on behalf of one plugin."""

    def __init__(self, registry: Registry[T], source: str, check: Callable[[str, object], None]) -> None:
        self._registry = registry
        self._source = source
        self._check = check

    def add(self, name: str, thing: T, *, summary: str = "") -> None:
        """Register a thing under a name.

        Raises:
            ConfigurationError: The name is taken, or is no usable name, or the thing is of another kind.
        """
        self._check(name, thing)
        self._registry.add(name, thing, summary=summary, source=self._source)


ProviderRegistrar: TypeAlias = "Registrar[ProviderFactory]"
"""Takes providers."""
ModeRegistrar: TypeAlias = "Registrar[DebateModeStrategy]"
"""Takes debate modes."""
StorageRegistrar: TypeAlias = "Registrar[StorageFactory]"
"""Takes storages by address scheme."""
ToolRegistrar: TypeAlias = "Registrar[ToolFactory]"
"""Takes tools."""
RuleRegistrar: TypeAlias = "Registrar[Rule]"
"""Takes decision rules."""
ExitRegistrar: TypeAlias = "Registrar[ExitFactory]"
"""Takes stop criteria by their kind."""


@dataclass(slots=True)
class Catalog:
    """Everything a table can be asked for by name."""

    providers: Registry[ProviderFactory] = field(default_factory=lambda: Registry("provider"))
    """Providers."""
    modes: Registry[DebateModeStrategy] = field(default_factory=lambda: Registry("mode"))
    """Debate modes."""
    storages: Registry[StorageFactory] = field(default_factory=lambda: Registry("storage"))
    """Storages by address scheme."""
    tools: Registry[ToolFactory] = field(default_factory=lambda: Registry("tool"))
    """Tools. Collected and checked for clashes; no table offers them to its agents yet."""
    rules: Registry[Rule] = field(default_factory=lambda: Registry("rule"))
    """Decision rules."""
    exits: Registry[ExitFactory] = field(default_factory=lambda: Registry("exit"))
    """Stop criteria by their kind."""
