"""From plugins to a catalog."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pluggy

from roundtable._version import __version__
from roundtable.errors import PluginError, RoundtableError
from roundtable.plugins import builtin, hookspecs
from roundtable.plugins.registrar import HOST_API, Catalog, Host, Registrar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["load_catalog"]

_BUILTIN_SOURCE = "roundtable-sdk"


def load_catalog(plugins: Mapping[str, object] | None = None) -> Catalog:
    """Ask the built-in plugin, then each given one, what it has to offer.

    Args:
        plugins: Plugins by the name of the distribution they come from: modules or objects with hook
            implementations.

    Raises:
        PluginError: A plugin implements a hook wrongly, or fails in one.
        ConfigurationError: Two plugins register the same name.
    """
    catalog = Catalog()
    for source, plugin in {_BUILTIN_SOURCE: builtin, **(plugins or {})}.items():
        _register(catalog, source, plugin)
    return catalog


def _register(catalog: Catalog, source: str, plugin: object) -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name=source)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as error:
        msg = f"plugin {source!r} does not fit the hooks: {error}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
    host = Host(HOST_API, __version__, frozenset(field.name for field in fields(catalog)))
    hook = manager.hook
    try:
        hook.roundtable_register_providers(registrar=Registrar(catalog.providers, source), host=host)
        hook.roundtable_register_modes(registrar=Registrar(catalog.modes, source), host=host)
        hook.roundtable_register_storages(registrar=Registrar(catalog.storages, source), host=host)
        hook.roundtable_register_tools(registrar=Registrar(catalog.tools, source), host=host)
        hook.roundtable_register_rules(registrar=Registrar(catalog.rules, source), host=host)
        hook.roundtable_register_exits(registrar=Registrar(catalog.exits, source), host=host)
    except RoundtableError:
        raise
    except Exception as error:
        msg = f"plugin {source!r} failed while it registered: {type(error).__name__}: {error}"
        raise PluginError(msg, plugin=source, stage="register", cause=error) from error
