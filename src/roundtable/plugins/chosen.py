"""Which plugins a table has, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._registry import same_source
from roundtable.errors import PluginError

if TYPE_CHECKING:
    from typing import Self

    from roundtable.settings import Settings

__all__ = ["PluginChoice", "Plugins", "name_of", "plugins_of"]

LOAD_LIMIT_S: Final = 10.0
_EVERY: Final = frozenset({"all", "1", "true", "yes", "on"})

PluginChoice: TypeAlias = "Plugins | Sequence[object] | None"
"""What `plugins=` takes: `Plugins`, a list of modules and objects beside those found by name, or nothing."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """Which plugins a table has. A value: making it imports nothing, and two tables may have different ones.

    Example:
        >>> Plugins.none().installed, Plugins.of("roundtable-acme").names, Plugins.load().installed
        ('none', ('roundtable-acme',), 'all')
    """

    installed: Literal["none", "asked", "named", "all"] = "asked"
    """Which installed ones: none; one only when its name is asked for; those in `names`; or all."""
    names: tuple[str, ...] = ()
    """Distributions, or entry points of theirs; of `all`, those that are left in, where any are named."""
    objects: tuple[object, ...] = ()
    """Modules and objects with hook implementations."""
    without: tuple[str, ...] = ()
    """Distributions, or entry points of theirs, that are never loaded."""
    strict: bool = False
    """Whether an installed plugin that fails is an error at once, rather than when its thing is asked for."""
    timeout_s: float = LOAD_LIMIT_S
    """Seconds that one installed plugin may take to be imported and to register."""
    to_stderr: bool = False
    """Whether what one prints meanwhile goes to standard error, for programs whose standard output is data."""

    @classmethod
    def none(cls) -> Plugins:
        """Give built-in things alone; nothing is looked up."""
        return cls("none")

    @classmethod
    def of(cls, *plugins: object, strict: bool = False) -> Plugins:
        """Give exactly these.

        Args:
            plugins: Names of distributions, or of entry points; modules; and objects.
            strict: Whether a named one that fails is an error at once.

        Raises:
            PluginError: A class was given where an object is wanted.
        """
        names = tuple(plugin for plugin in plugins if isinstance(plugin, str))
        objects = tuple(plugin for plugin in plugins if not isinstance(plugin, str))
        _check_kinds(objects)
        return cls("named" if names else "none", names, objects, strict=strict)

    @classmethod
    def load(cls, *, strict: bool = False, to_stderr: bool = False) -> Plugins:
        """Give every installed one, as the command does."""
        return cls("all", strict=strict, to_stderr=to_stderr)

    def narrowed(self, settings: Settings) -> Self:
        """Apply what the environment says: `ROUNDTABLE_PLUGINS`, and `ROUNDTABLE_DISABLE_PLUGINS`.

        Objects are not concerned: a program that hands one over means it.

        Example:
            >>> from roundtable.settings import Settings
            >>> Plugins.load().narrowed(Settings(disable_plugins="all")).installed
            'none'
        """
        disabled = _listed(settings.disable_plugins)
        if _EVERY.intersection(disabled):
            return replace(self, installed="none", names=())
        found = replace(self, without=(*self.without, *disabled))
        if settings.plugins is None or self.installed in {"none", "named"}:
            return found
        allowed = _listed(settings.plugins)
        if "none" in allowed:
            return replace(found, installed="none")
        return found if "all" in allowed else replace(found, names=allowed)

    def allows(self, distribution: str, entry_points: Sequence[str] = ()) -> bool:
        """Tell whether an installed distribution may be loaded.

        Example:
            >>> Plugins.of("acme").allows("roundtable-acme", ["acme"]), Plugins.none().allows("roundtable-acme")
            (True, False)
        """
        called = (distribution, *entry_points)

        def among(names: Sequence[str]) -> bool:
            return any(same_source(one, other) for one in called for other in names)

        if self.installed == "none" or among(self.without):
            return False
        return among(self.names) if self.names or self.installed == "named" else True


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def plugins_of(given: PluginChoice) -> Plugins:
    """Give the value for what a caller wrote as `plugins=`.

    Raises:
        PluginError: It is no list, or holds what is no plugin.
    """
    if given is None:
        return Plugins()
    if isinstance(given, Plugins):
        return given
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        msg = f"plugins must be a list of modules or objects with hook implementations, not {type(given).__name__}"
        raise PluginError(msg, stage="load", hint="Write plugins=[my_plugin], or plugins=Plugins.of('distribution').")
    _check_kinds(given)
    return Plugins(objects=tuple(given))


def _check_kinds(given: Sequence[object]) -> None:
    for plugin in given:
        if isinstance(plugin, type):
            msg = f"{plugin.__qualname__} is a class; a plugin is a module or an object"
            raise PluginError(msg, plugin=plugin.__qualname__, stage="load", hint=f"Give {plugin.__name__}().")
        if isinstance(plugin, str | bytes):
            msg = f"{plugin!r} is a text; a plugin is a module or an object"
            raise PluginError(
                msg,
                plugin=str(plugin),
                stage="load",
                hint=f"Import the module, and give that; or Plugins.of({plugin!r}).",
            )


def name_of(plugin: object) -> str:
    """Name a plugin that was handed over: a module by its name, an object by its class."""
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__qualname__
