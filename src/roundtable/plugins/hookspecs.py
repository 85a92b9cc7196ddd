"""All hooks that plugins can implement.

Every hook is called once per table, when the table is created or the plugin is first needed, and must not block. A hook
gets a *registrar*, to which it adds things, and the *host*, which describes the library. If you annotate the
parameters, a type checker finds mistakes.

A hook implementation can take fewer parameters than its specification. Later versions of the library only add
parameters to hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pluggy

if TYPE_CHECKING:
    from roundtable.plugins.registrar import (
        AnalyzerRegistrar,
        CommandRegistrar,
        ExitRegistrar,
        ExporterRegistrar,
        Host,
        ModeRegistrar,
        ObserverRegistrar,
        PersonaRegistrar,
        ProfileRegistrar,
        ProviderRegistrar,
        RuleRegistrar,
        SearchProviderRegistrar,
        StorageRegistrar,
        ToolRegistrar,
    )

__all__ = [
    "PROJECT",
    "hookimpl",
    "hookspec",
    "roundtable_register_analyzers",
    "roundtable_register_commands",
    "roundtable_register_exits",
    "roundtable_register_exporters",
    "roundtable_register_modes",
    "roundtable_register_observers",
    "roundtable_register_personas",
    "roundtable_register_profiles",
    "roundtable_register_providers",
    "roundtable_register_rules",
    "roundtable_register_search_providers",
    "roundtable_register_storages",
    "roundtable_register_tools",
]

PROJECT: Final = "roundtable"
"""Name of the hook project and of the entry-point group."""

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker(PROJECT)
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker(PROJECT)
"""Marker for functions that implement one of these hooks."""


@hookspec
def roundtable_register_providers(registrar: ProviderRegistrar, host: Host) -> None:
    """Add providers: `registrar.add("acme", factory, summary="...")`, where `factory` is a `ProviderFactory`."""


@hookspec
def roundtable_register_modes(registrar: ModeRegistrar, host: Host) -> None:
    """Add debate modes: `registrar.add("court", CourtMode(), summary="...")`."""


@hookspec
def roundtable_register_rules(registrar: RuleRegistrar, host: Host) -> None:
    """Add decision rules: `registrar.add("veto", Rule("veto", count), summary="...")`."""


@hookspec
def roundtable_register_analyzers(registrar: AnalyzerRegistrar, host: Host) -> None:
    """Add analyzers, which measure consensus: `registrar.add("themes", make_meter, summary="...")`."""


@hookspec
def roundtable_register_exits(registrar: ExitRegistrar, host: Host) -> None:
    """Add exit criteria by kind: `registrar.add("night", Night.from_spec, summary="...")`."""


@hookspec
def roundtable_register_storages(registrar: StorageRegistrar, host: Host) -> None:
    """Add storages by address scheme: `registrar.add("redis", open_redis, summary="...")`."""


@hookspec
def roundtable_register_tools(registrar: ToolRegistrar, host: Host) -> None:
    """Add tools by name: `registrar.add("weather", make_weather_tool, summary="...")`."""


@hookspec
def roundtable_register_search_providers(registrar: SearchProviderRegistrar, host: Host) -> None:
    """Add web searches: `registrar.add("acme", make_search, summary="...")`."""


@hookspec
def roundtable_register_personas(registrar: PersonaRegistrar, host: Host) -> None:
    """Add personas: `registrar.add("nurse", Persona(name="Nurse", description="..."))`."""


@hookspec
def roundtable_register_profiles(registrar: ProfileRegistrar, host: Host) -> None:
    """Add agents of teams: `registrar.add("scout", AgentProfile("scout", instructions="...", tools=["look"]))`."""


@hookspec
def roundtable_register_exporters(registrar: ExporterRegistrar, host: Host) -> None:
    """Add export formats: `registrar.add("yaml", write_yaml, summary="...")`."""


@hookspec
def roundtable_register_observers(registrar: ObserverRegistrar, host: Host) -> None:
    """Add observers: `registrar.add("chat", make_observer, summary="...")`; each runs on its own thread."""


@hookspec
def roundtable_register_commands(registrar: CommandRegistrar, host: Host) -> None:
    """Add commands, typer apps or functions of words: `registrar.add("score", score, summary="...")`."""
