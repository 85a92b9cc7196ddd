"""Plugins: hook specifications, typed registrars, and the loading of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.hooks import (
        HOST_API,
        AnalyzerFactory,
        AnalyzerRegistrar,
        Catalog,
        Command,
        CommandRegistrar,
        ExitRegistrar,
        ExporterRegistrar,
        Host,
        ModeRegistrar,
        ObserverFactory,
        ObserverRegistrar,
        PersonaRegistrar,
        PluginReport,
        PluginStage,
        ProfileRegistrar,
        ProviderRegistrar,
        Registrar,
        RuleRegistrar,
        SearchProviderFactory,
        SearchProviderRegistrar,
        StorageFactory,
        StorageRegistrar,
        ToolFactory,
        ToolRegistrar,
        hookimpl,
    )
    from roundtable.plugins.exporters import Exporter, ResultExporter, SessionExporter
    from roundtable.plugins.loader import LoadedPlugins, load_catalog, load_plugins
    from roundtable.plugins.selection import PluginChoice, Plugins

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
    "LoadedPlugins",
    "ModeRegistrar",
    "ObserverFactory",
    "ObserverRegistrar",
    "PersonaRegistrar",
    "PluginChoice",
    "PluginReport",
    "PluginStage",
    "Plugins",
    "ProfileRegistrar",
    "ProviderRegistrar",
    "Registrar",
    "ResultExporter",
    "RuleRegistrar",
    "SearchProviderFactory",
    "SearchProviderRegistrar",
    "SessionExporter",
    "StorageFactory",
    "StorageRegistrar",
    "ToolFactory",
    "ToolRegistrar",
    "hookimpl",
    "load_catalog",
    "load_plugins",
]

_NAMES = {
    "exporters": "Exporter ResultExporter SessionExporter",
    "loader": "LoadedPlugins load_catalog load_plugins",
    "selection": "PluginChoice Plugins",
}
"""Names by the file that has them; the others are in `core/hooks.py`."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: _HOMES.get(name, ".core.hooks") for name in __all__})
