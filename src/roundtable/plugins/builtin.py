"""The built-in plugin: registers what ships with the library, through the same hooks as any plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents import GENERAL_PERSONAS
from roundtable.analysis import BUILTIN_ANALYZERS
from roundtable.core.hooks import hookimpl
from roundtable.exits import exit_registry
from roundtable.modes import BUILTIN_MODES
from roundtable.plugins.exporters import BUILTIN_EXPORTERS
from roundtable.providers.builtin import builtin_providers
from roundtable.scoring import BUILTIN_RULES
from roundtable.storage import open_memory, open_postgres, open_sqlite
from roundtable.tools.search import builtin_searches
from roundtable.tools.standard import BUILTIN_TOOLS

if TYPE_CHECKING:
    from roundtable.core.hooks import (
        AnalyzerRegistrar,
        ExitRegistrar,
        ExporterRegistrar,
        ModeRegistrar,
        ObserverRegistrar,
        PersonaRegistrar,
        ProviderRegistrar,
        RuleRegistrar,
        SearchProviderRegistrar,
        StorageRegistrar,
        ToolRegistrar,
    )
    from roundtable.core.protocols import Observer
    from roundtable.settings import Settings

__all__ = [
    "roundtable_register_analyzers",
    "roundtable_register_exits",
    "roundtable_register_exporters",
    "roundtable_register_modes",
    "roundtable_register_observers",
    "roundtable_register_personas",
    "roundtable_register_providers",
    "roundtable_register_rules",
    "roundtable_register_search_providers",
    "roundtable_register_storages",
    "roundtable_register_tools",
]


@hookimpl
def roundtable_register_providers(registrar: ProviderRegistrar) -> None:
    """Add the built-in providers."""
    for name, factory, summary in builtin_providers():
        registrar.add(name, factory, summary=summary)


@hookimpl
def roundtable_register_modes(registrar: ModeRegistrar) -> None:
    """Add the built-in modes."""
    for name, mode, summary in BUILTIN_MODES:
        registrar.add(name, mode(), summary=summary)


@hookimpl
def roundtable_register_analyzers(registrar: AnalyzerRegistrar) -> None:
    """Add the built-in analyzers."""
    for name, factory, summary in BUILTIN_ANALYZERS:
        registrar.add(name, factory, summary=summary)


@hookimpl
def roundtable_register_storages(registrar: StorageRegistrar) -> None:
    """Add the built-in storages."""
    registrar.add("memory", open_memory, summary="Stored in memory, until the process ends.")
    registrar.add("postgres", open_postgres, summary="Stored in a PostgreSQL database, for several hosts.")
    registrar.add("postgresql", open_postgres, summary="Stored in a PostgreSQL database, for several hosts.")
    registrar.add("sqlite", open_sqlite, summary="Stored in one file.")


@hookimpl
def roundtable_register_tools(registrar: ToolRegistrar) -> None:
    """Add the tools that need only the debate."""
    for spec, factory in BUILTIN_TOOLS:
        registrar.add(spec.name, factory, summary=spec.description)


@hookimpl
def roundtable_register_search_providers(registrar: SearchProviderRegistrar) -> None:
    """Add the built-in search services."""
    for entry in builtin_searches():
        registrar.add(entry.name, entry.thing, summary=entry.summary)


@hookimpl
def roundtable_register_personas(registrar: PersonaRegistrar) -> None:
    """Add the general personas, which agents get in any mode."""
    for persona in GENERAL_PERSONAS:
        registrar.add(persona.name.lower(), persona, summary=persona.description)


@hookimpl
def roundtable_register_exporters(registrar: ExporterRegistrar) -> None:
    """Add the built-in export formats."""
    for name, exporter, summary in BUILTIN_EXPORTERS:
        registrar.add(name, exporter, summary=summary)


@hookimpl
def roundtable_register_rules(registrar: RuleRegistrar) -> None:
    """Add the built-in decision rules."""
    for rule in BUILTIN_RULES:
        registrar.add(rule.name, rule, summary=rule.summary)


@hookimpl
def roundtable_register_observers(registrar: ObserverRegistrar) -> None:
    """Add the built-in observer, which is active only if it is requested by name."""
    registrar.add("otel", _open_telemetry, summary="Writes traces for OpenTelemetry (extra `otel`).")


def _open_telemetry(settings: Settings) -> Observer:
    # Imported late, so that it is loaded only if it is requested.
    from roundtable.plugins.otel import open_telemetry

    return open_telemetry(settings)


@hookimpl
def roundtable_register_exits(registrar: ExitRegistrar) -> None:
    """Add the built-in stop criteria."""
    for entry in exit_registry():
        registrar.add(entry.name, entry.thing, summary=entry.summary)
