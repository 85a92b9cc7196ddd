"""Run the hooks of one plugin in isolation: the plugin registers its objects in a separate catalog."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import pluggy

from roundtable._version import __version__
from roundtable.core import hooks
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, PluginError, RoundtableError
from roundtable.core.hooks import HOST_API, Catalog, Host, Registrar
from roundtable.core.types.agents import AgentProfile, Persona
from roundtable.modes.registry import check_mode
from roundtable.plugins.exporters import SessionExporter
from roundtable.scoring import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HOOKS", "check_api", "run_hooks"]


def _check_callable(name: str, registered: object) -> None:
    if not callable(registered):
        msg = f"{name!r} must be registered with a function, not {type(registered).__name__}"
        raise ConfigurationError(msg, hint="Register a factory: a function that returns the object.")


def _check_rule(name: str, registered: object) -> None:
    if not isinstance(registered, Rule):
        msg = f"{name!r} must be registered with a Rule, not {type(registered).__name__}"
        raise ConfigurationError(msg, hint="Use roundtable.scoring.Rule(name, count, summary).")


def _check_persona(name: str, registered: object) -> None:
    if not isinstance(registered, Persona):
        msg = f"{name!r} must be registered with a Persona, not {type(registered).__name__}"
        raise ConfigurationError(msg, hint='Use roundtable.Persona(name="...", description="...").')


def _check_profile(name: str, registered: object) -> None:
    if not isinstance(registered, AgentProfile) or registered.name != name:
        actual = f"one named {registered.name!r}" if isinstance(registered, AgentProfile) else type(registered).__name__
        msg = f"{name!r} must be registered with an AgentProfile of this name, not {actual}"
        raise ConfigurationError(msg, hint=f"Use roundtable.api.AgentProfile({name!r}, instructions=...).")


def _check_exporter(name: str, registered: object) -> None:
    if not isinstance(registered, SessionExporter):
        _check_callable(name, registered)
    endings: object = getattr(registered, "file_endings", ())
    if not isinstance(endings, tuple | list) or not all(_is_ending(each) for each in endings):
        msg = f"file_endings of {name!r} must be endings of file names, not {endings!r:.80}"
        raise ConfigurationError(msg, hint='Write them with a dot, in lower case: (".yaml", ".yml").')


def _is_ending(text: object) -> bool:
    return isinstance(text, str) and len(text) > 1 and text.startswith(".") and text == text.lower()


HOOKS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "providers": _check_callable,
    "modes": check_mode,
    "rules": _check_rule,
    "analyzers": _check_callable,
    "exits": _check_callable,
    "storages": _check_callable,
    "tools": _check_callable,
    "search_providers": _check_callable,
    "personas": _check_persona,
    "profiles": _check_profile,
    "exporters": _check_exporter,
    "observers": _check_callable,
    "commands": _check_callable,
}
"""Checks of an object before it is registered, one for each kind; the key is the last part of the hook's name."""


def check_api(source: str, plugin: object) -> None:
    """Check that a plugin supports the plugin contract of this library.

    Raises:
        PluginError: `ROUNDTABLE_API` is not a pair of numbers, or `HOST_API` is not in the range between them.
    """
    try:
        versions: object = getattr(plugin, "ROUNDTABLE_API", None)
    # A property, or a `__getattr__` of the module, runs code of the plugin.
    except (Exception, SystemExit) as error:
        msg = f"ROUNDTABLE_API of {source!r} cannot be read: {type(error).__name__}: {error_text(error)}"
        raise PluginError(msg, plugin=source, stage="api", cause=error) from error
    if versions is None:
        return
    if not (isinstance(versions, tuple) and len(versions) == 2 and all(type(number) is int for number in versions)):
        msg = f"ROUNDTABLE_API of {source!r} must be a pair such as (1, 1), not {versions!r}"
        raise PluginError(msg, plugin=source, stage="api", hint="Write ROUNDTABLE_API = (1, 1).")
    lowest, highest = versions
    if not lowest <= HOST_API <= highest:
        msg = f"plugin {source!r} is written for the plugin contract {lowest} to {highest}; this library has {HOST_API}"
        hint = "Update roundtable-sdk." if lowest > HOST_API else f"Update {source}, or use an older roundtable-sdk."
        raise PluginError(msg, plugin=source, stage="api", hint=hint)


def run_hooks(source: str, plugin: object, scratch: Catalog) -> None:
    """Run the hooks of a plugin with a separate catalog. If a hook fails, the catalog holds what was registered before.

    Raises:
        PluginError: The plugin implements no hook, implements a hook wrongly, or fails in a hook.
        ConfigurationError: The plugin registers an object of the wrong kind, or registers a name twice.
    """
    manager = _manager(source, plugin)
    host = Host(HOST_API, __version__, frozenset(HOOKS))
    for kind, registry in scratch.registries().items():
        registrar: Registrar[object] = Registrar(registry, source, HOOKS[kind])
        call = getattr(manager.hook, f"roundtable_register_{kind}")
        try:
            returned = call(registrar=registrar, host=host)
        except RoundtableError:
            raise
        # A plugin that raises SystemExit must not end the program.
        except (Exception, SystemExit) as error:
            msg = f"plugin {source!r} failed while it registered: {type(error).__name__}: {error_text(error)}"
            raise PluginError(msg, plugin=source, stage="register", cause=error) from error
        finally:
            registrar.close()
        _check_awaited(source, kind, returned)


def _manager(source: str, plugin: object) -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    try:
        manager.register(plugin, name=source)
        manager.check_pending()
    # Inspecting the attributes of the plugin runs its code, which can raise anything.
    except (Exception, SystemExit) as error:
        msg = f"plugin {source!r} does not fit the hooks: {error_text(error)}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
    if not manager.get_hookcallers(plugin):
        msg = f"plugin {source!r} implements no hook"
        raise PluginError(
            msg,
            plugin=source,
            stage="register",
            hint="Mark its functions with @roundtable.hookimpl, and give them the names of the hooks.",
        )
    return manager


def _check_awaited(source: str, kind: str, returned: list[object]) -> None:
    """Reject a hook that returned a coroutine, because it did not run; other return values are ignored."""
    for value in returned:
        if inspect.iscoroutine(value):
            value.close()
            msg = f"plugin {source!r}: roundtable_register_{kind} is a coroutine function, which is never awaited"
            raise PluginError(msg, plugin=source, stage="register", hint="Write `def`, not `async def`.")
