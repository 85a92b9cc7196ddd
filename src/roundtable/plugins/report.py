"""What became of each plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable.errors import RoundtableError

__all__ = ["PluginReport", "PluginStage"]

PluginStage: TypeAlias = Literal["metadata", "requires", "import", "api", "register", "ready", "idle", "off"]
"""How far a plugin came: where it failed (its metadata could not be read, it requires another version of the library,
importing it, its `ROUNDTABLE_API`, its hooks), or `ready`; `idle` when it was not needed yet, `off` when it is switched
off."""

_FINE: Final = frozenset({"ready", "idle", "off"})


@dataclass(frozen=True, slots=True)
class PluginReport:
    """What became of one plugin.

    Example:
        >>> PluginReport("roundtable-acme", "1.2", "ready", provides=("provider acme",)).to_dict()["provides"]
        ['provider acme']
    """

    name: str
    """Its distribution; of a plugin that was handed over, the name of its module or class."""
    version: str | None
    """Version of the distribution, where there is one."""
    stage: PluginStage
    """How far it came."""
    error: RoundtableError | None = None
    """Why it came no further; the cause is the plugin's own error."""
    provides: tuple[str, ...] = ()
    """What it registered, as `"kind name"`; of one that failed, what it had registered before."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of one that is ready, such as names that others have too."""
    entry_point: str | None = None
    """Name of its entry point."""

    @property
    def failed(self) -> bool:
        """Whether nothing of it can be used."""
        return self.stage not in _FINE

    def to_dict(self) -> dict[str, JsonValue]:
        """Give the report as JSON values, camelCase."""
        return {
            "name": self.name,
            "version": self.version,
            "stage": self.stage,
            "error": None if self.error is None else self.error.to_dict(),
            "provides": list(self.provides),
            "notes": list(self.notes),
            "entryPoint": self.entry_point,
        }
