"""From plugins to a catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from types import ModuleType

import pluggy

from roundtable._version import __version__
from roundtable.errors import ConfigurationError, PluginError, RoundtableError
from roundtable.modes.registry import check_mode
from roundtable.plugins import builtin, hookspecs
from roundtable.plugins.registrar import HOST_API, Catalog, Host, Registrar
from roundtable.scoring import Rule

__all__ = ["load_catalog"]

_BUILTIN_SOURCE = "roundtable-sdk"


def load_catalog(plugins: Sequence[object] = ()) -> Catalog:
    """Ask the built-in plugin, then each given one, what it has to offer.

    Args:
        plugins: Modules or objects with hook implementations, asked in this order.

    Raises:
        PluginError: A plugin is none, implements a hook wrongly, or fails in one.
        ConfigurationError: Two plugins register the same name.

    Example:
        >>> load_catalog().storages.names()
        ('memory', 'sqlite')
    """
    _check_list(plugins)
    catalog = Catalog()
    _register(catalog, _BUILTIN_SOURCE, builtin)
    for plugin in plugins:
        _register(catalog, _name_of(plugin), plugin)
    return catalog


def _check_list(given: object) -> None:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        msg = f"plugins must be a list of modules or objects with hook implementations, not {type(given).__name__}"
        raise PluginError(msg, stage="load", hint="Write plugins=[my_plugin].")


def _name_of(plugin: object) -> str:
    """Name a plugin for messages: a module by its name, an object by its class."""
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__qualname__


def _check_kind(source: str, plugin: object) -> None:
    if isinstance(plugin, type):
        msg = f"{plugin.__qualname__} is a class; a plugin is a module or an object"
        raise PluginError(msg, plugin=plugin.__qualname__, stage="load", hint=f"Give {plugin.__name__}().")
    if isinstance(plugin, str | bytes):
        msg = f"{plugin!r} is a text; a plugin is a module or an object"
        raise PluginError(msg, plugin=source, stage="load", hint="Import the module, and give that.")


def _check_callable(name: str, thing: object) -> None:
    if not callable(thing):
        msg = f"{name!r} is registered with {type(thing).__name__}, where a function is wanted"
        raise ConfigurationError(msg, hint="Give what makes the thing when it is called, not the thing.")


def _check_rule(name: str, thing: object) -> None:
    if not isinstance(thing, Rule):
        msg = f"{name!r} is registered with {type(thing).__name__}, where a Rule is wanted"
        raise ConfigurationError(msg, hint="Give roundtable.scoring.Rule(name, count, summary).")


def _register(catalog: Catalog, source: str, plugin: object) -> None:
    _check_kind(source, plugin)
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name=source)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as error:
        msg = f"plugin {source!r} does not fit the hooks: {error}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
    if not manager.get_hookcallers(plugin):
        msg = f"plugin {source!r} implements no hook"
        raise PluginError(
            msg,
            plugin=source,
            stage="register",
            hint="Mark its functions with @roundtable.hookimpl, and name them as the hooks are named.",
        )
    host = Host(HOST_API, __version__, frozenset(field.name for field in fields(catalog)))
    hook = manager.hook
    try:
        hook.roundtable_register_providers(registrar=Registrar(catalog.providers, source, _check_callable), host=host)
        hook.roundtable_register_modes(registrar=Registrar(catalog.modes, source, check_mode), host=host)
        hook.roundtable_register_storages(registrar=Registrar(catalog.storages, source, _check_callable), host=host)
        hook.roundtable_register_tools(registrar=Registrar(catalog.tools, source, _check_callable), host=host)
        hook.roundtable_register_rules(registrar=Registrar(catalog.rules, source, _check_rule), host=host)
        hook.roundtable_register_exits(registrar=Registrar(catalog.exits, source, _check_callable), host=host)
    except RoundtableError:
        raise
    except Exception as error:
        msg = f"plugin {source!r} failed while it registered: {type(error).__name__}: {error}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
