"""One plugin tried apart: what it registers goes into a catalog of its own."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import pluggy

from roundtable._foreign import error_text
from roundtable._version import __version__
from roundtable.errors import ConfigurationError, PluginError, RoundtableError
from roundtable.modes.registry import check_mode
from roundtable.plugins import hookspecs
from roundtable.plugins.registrar import HOST_API, Catalog, Host, Registrar
from roundtable.scoring import Rule
from roundtable.types import Persona
from roundtable.types.profiles import AgentProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HOOKS", "check_api", "try_out"]


def _check_callable(name: str, thing: object) -> None:
    if not callable(thing):
        msg = f"{name!r} is registered with {type(thing).__name__}, where a function is wanted"
        raise ConfigurationError(msg, hint="Give what makes the thing when it is called, not the thing.")


def _check_rule(name: str, thing: object) -> None:
    if not isinstance(thing, Rule):
        msg = f"{name!r} is registered with {type(thing).__name__}, where a Rule is wanted"
        raise ConfigurationError(msg, hint="Give roundtable.scoring.Rule(name, count, summary).")


def _check_persona(name: str, thing: object) -> None:
    if not isinstance(thing, Persona):
        msg = f"{name!r} is registered with {type(thing).__name__}, where a Persona is wanted"
        raise ConfigurationError(msg, hint='Give roundtable.Persona(name="...", description="...").')


def _check_profile(name: str, thing: object) -> None:
    if not isinstance(thing, AgentProfile) or thing.name != name:
        msg = f"{name!r} is registered with {type(thing).__name__}, where an AgentProfile of this name is wanted"
        raise ConfigurationError(msg, hint=f"Give roundtable.api.AgentProfile({name!r}, instructions=...).")


def _check_exporter(name: str, thing: object) -> None:
    if name == "json":
        raise ConfigurationError("'json' is the session itself, which no exporter writes", hint="Use another name.")
    _check_callable(name, thing)


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
"""Kind, which is the end of its hook's name, to what looks at a thing before it is registered."""


def check_api(source: str, plugin: object) -> None:
    """Compare the numbers of the contract a plugin was written for with this library's.

    Raises:
        PluginError: `ROUNDTABLE_API` is no pair of numbers, or the library's is not within.
    """
    try:
        wanted: object = getattr(plugin, "ROUNDTABLE_API", None)
    # A property, or a module's `__getattr__`: code of the plugin's.
    except (Exception, SystemExit) as error:
        msg = f"ROUNDTABLE_API of {source!r} cannot be read: {type(error).__name__}: {error_text(error)}"
        raise PluginError(msg, plugin=source, stage="api", cause=error) from error
    if wanted is None:
        return
    if not (isinstance(wanted, tuple) and len(wanted) == 2 and all(type(number) is int for number in wanted)):
        msg = f"ROUNDTABLE_API of {source!r} must be a pair such as (1, 1), not {wanted!r}"
        raise PluginError(msg, plugin=source, stage="api", hint="Write ROUNDTABLE_API = (1, 1).")
    least, most = wanted
    if not least <= HOST_API <= most:
        msg = f"plugin {source!r} is written for the plugin contract {least} to {most}; this library has {HOST_API}"
        older = "Update roundtable-sdk." if least > HOST_API else f"Update {source}, or use an older roundtable-sdk."
        raise PluginError(msg, plugin=source, stage="api", hint=older)


def try_out(source: str, plugin: object, scratch: Catalog) -> None:
    """Have a plugin register into a catalog of its own, which holds what it had registered also when it fails.

    Raises:
        PluginError: It implements no hook, or one wrongly, or fails in one.
        ConfigurationError: It registers a thing that is none, or one name twice.
    """
    manager = _manager(source, plugin)
    host = Host(HOST_API, __version__, frozenset(HOOKS))
    for kind, registry in scratch.registries().items():
        registrar: Registrar[object] = Registrar(registry, source, HOOKS[kind])
        call = getattr(manager.hook, f"roundtable_register_{kind}")
        try:
            given = call(registrar=registrar, host=host)
        except RoundtableError:
            raise
        # A plugin that wants to end the program ends its own part in it.
        except (Exception, SystemExit) as error:
            msg = f"plugin {source!r} failed while it registered: {type(error).__name__}: {error_text(error)}"
            raise PluginError(msg, plugin=source, stage="register", cause=error) from error
        finally:
            registrar.close()
        _check_given(source, kind, given)


def _manager(source: str, plugin: object) -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name=source)
        manager.check_pending()
    # Looking through its attributes runs code of the plugin's, so anything may come of it.
    except (Exception, SystemExit) as error:
        msg = f"plugin {source!r} does not fit the hooks: {error_text(error)}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
    if not manager.get_hookcallers(plugin):
        msg = f"plugin {source!r} implements no hook"
        raise PluginError(
            msg,
            plugin=source,
            stage="register",
            hint="Mark its functions with @roundtable.hookimpl, and name them as the hooks are named.",
        )
    return manager


def _check_given(source: str, kind: str, given: list[object]) -> None:
    """Refuse a hook that was not run: whatever else it returns means nothing."""
    for one in given:
        if inspect.iscoroutine(one):
            one.close()
            msg = f"plugin {source!r}: roundtable_register_{kind} is a coroutine function, and nobody awaits it"
            raise PluginError(msg, plugin=source, stage="register", hint="Write `def`, not `async def`.")
