"""The choice of plugins for a table, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.core.base.registry import same_distribution
from roundtable.core.errors import PluginError

if TYPE_CHECKING:
    from typing import Self

    from roundtable.settings import Settings

__all__ = ["PluginChoice", "Plugins", "name_of", "plugins_of"]


LOAD_LIMIT_S: Final = 5.0
_DISABLE_ALL: Final = frozenset({"all", "1", "true", "yes", "on"})

PluginChoice: TypeAlias = "Plugins | Sequence[object] | None"
"""What `plugins=` accepts: `Plugins`; a list of modules and objects, in addition to plugins found by name; or
`None`."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The choice of plugins for a table. Creating it imports nothing, and each table can have a different choice.

    Example:
        >>> Plugins.none().installed, Plugins.of("roundtable-acme").names, Plugins.load().installed
        ('none', ('roundtable-acme',), 'all')
    """

    installed: Literal["none", "asked", "named", "all"] = "asked"
    """Which installed plugins to load:

    - `none`: no plugin
    - `asked`: each plugin when its name is looked up
    - `named`: the plugins in `names`
    - `all`: all plugins
    """
    names: tuple[str, ...] = ()
    """Names of distributions or entry points to load; with `all`, only these are loaded, unless `names` is empty."""
    objects: tuple[object, ...] = ()
    """Modules and objects with hook implementations."""
    without: tuple[str, ...] = ()
    """Names of distributions or entry points that are never loaded."""
    allowed: tuple[str, ...] | None = None
    """Names of the only distributions or entry points that `asked` and `all` may load; `None` allows all of them."""
    strict: bool = False
    """Whether the error of an installed plugin is raised at once, or only when something of the plugin is looked up."""
    timeout_s: float = LOAD_LIMIT_S
    """Seconds that one installed plugin may take to be imported and to register its objects."""
    to_stderr: bool = False
    """Whether the output of plugins during loading goes to standard error, for programs that write data to standard
    output."""

    @classmethod
    def none(cls) -> Plugins:
        """Choose only the built-in plugin."""
        return cls("none")

    @classmethod
    def of(cls, *plugins: object, strict: bool = False) -> Plugins:
        """Choose exactly these plugins.

        Args:
            plugins: Names of distributions or entry points; modules; and objects.
            strict: Whether the error of a named plugin is raised at once.

        Raises:
            PluginError: A plugin is a class instead of an object.
        """
        names = tuple(plugin for plugin in plugins if isinstance(plugin, str))
        objects = tuple(plugin for plugin in plugins if not isinstance(plugin, str))
        _check_kinds(objects)
        return cls("named" if names else "none", names, objects, strict=strict)

    @classmethod
    def load(cls, *, strict: bool = False, to_stderr: bool = False) -> Plugins:
        """Choose every installed plugin, as the command line does."""
        return cls("all", strict=strict, to_stderr=to_stderr)

    def apply_environment(self, settings: Settings) -> Self:
        """Apply `ROUNDTABLE_PLUGINS` and `ROUNDTABLE_DISABLE_PLUGINS` from the environment.

        Plugins passed as objects are not affected, and `ROUNDTABLE_PLUGINS` does not change the choice of `Plugins.of`.

        Example:
            >>> from roundtable.settings import Settings
            >>> Plugins.load().apply_environment(Settings(disable_plugins="all")).installed
            'none'
        """
        disabled = _split(settings.disable_plugins)
        if _DISABLE_ALL.intersection(disabled):
            return replace(self, installed="none", names=())
        narrowed = replace(self, without=(*self.without, *disabled))
        if settings.plugins is None or self.installed in {"none", "named"}:
            return narrowed
        allowed = _split(settings.plugins)
        if not allowed or "none" in allowed:
            return replace(narrowed, installed="none", names=())
        return narrowed if "all" in allowed else replace(narrowed, allowed=allowed)

    def allows(self, distribution: str, entry_points: Sequence[str] = ()) -> bool:
        """Check whether an installed distribution may be loaded.

        Example:
            >>> Plugins.of("acme").allows("roundtable-acme", ["acme"]), Plugins.none().allows("roundtable-acme")
            (True, False)
        """
        known_names = (distribution, *entry_points)

        def among(names: Sequence[str]) -> bool:
            return any(same_distribution(name, listed) for name in known_names for listed in names)

        if self.installed == "none" or among(self.without):
            return False
        if self.allowed is not None and not among(self.allowed):
            return False
        return among(self.names) if self.names or self.installed == "named" else True


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def plugins_of(plugins: PluginChoice) -> Plugins:
    """Convert the `plugins=` argument to `Plugins`.

    Raises:
        PluginError: The argument is not a list, or an item is not a plugin.
    """
    if plugins is None:
        return Plugins()
    if isinstance(plugins, Plugins):
        return plugins
    if isinstance(plugins, str | bytes) or not isinstance(plugins, Sequence):
        msg = f"plugins must be a list of modules or objects with hook implementations, not {type(plugins).__name__}"
        raise PluginError(msg, stage="load", hint="Write plugins=[my_plugin], or plugins=Plugins.of('distribution').")
    _check_kinds(plugins)
    return Plugins(objects=tuple(plugins))


def _check_kinds(plugins: Sequence[object]) -> None:
    for plugin in plugins:
        if isinstance(plugin, type):
            msg = f"{plugin.__qualname__} is a class; a plugin is a module or an object"
            raise PluginError(msg, plugin=plugin.__qualname__, stage="load", hint=f"Pass {plugin.__name__}().")
        if isinstance(plugin, str | bytes):
            name = plugin if isinstance(plugin, str) else plugin.decode("utf-8", "replace")
            msg = f"{plugin!r} is a text; a plugin is a module or an object"
            hint = f"Import the module and pass it, or use Plugins.of({name!r})."
            raise PluginError(msg, plugin=name, stage="load", hint=hint)


def name_of(plugin: object) -> str:
    """Return the name of a plugin that was passed as an object: the name of the module, or of the object's class."""
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__qualname__
