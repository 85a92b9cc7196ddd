"""The whole extension map on one screen.

Every hook is called once per table, at start-up, and must not block. Each gets a *registrar* to add
things to and the *host* it runs in. Annotate the parameters and a type checker sees every mistake.

A hook implementation may take fewer parameters than its specification; hooks grow by parameters only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pluggy

if TYPE_CHECKING:
    from roundtable.plugins.registrar import (
        ExitRegistrar,
        Host,
        ModeRegistrar,
        ProviderRegistrar,
        RuleRegistrar,
        StorageRegistrar,
        ToolRegistrar,
    )

__all__ = [
    "PROJECT",
    "hookimpl",
    "hookspec",
    "roundtable_register_exits",
    "roundtable_register_modes",
    "roundtable_register_providers",
    "roundtable_register_rules",
    "roundtable_register_storages",
    "roundtable_register_tools",
]

PROJECT: Final = "roundtable"
"""Name of the hook project and of the entry-point group."""

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker(PROJECT)
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker(PROJECT)
"""Marks a function as an implementation of one of these hooks."""


@hookspec
def roundtable_register_providers(registrar: ProviderRegistrar, host: Host) -> None:
    """Add providers: `registrar.add("acme", factory, summary="...")`, factory as `ProviderFactory`."""


@hookspec
def roundtable_register_modes(registrar: ModeRegistrar, host: Host) -> None:
    """Add debate modes: `registrar.add("court", CourtMode(), summary="...")`."""


@hookspec
def roundtable_register_storages(registrar: StorageRegistrar, host: Host) -> None:
    """Add storages by address scheme: `registrar.add("redis", open_redis, summary="...")`."""


@hookspec
def roundtable_register_tools(registrar: ToolRegistrar, host: Host) -> None:
    """Add tools by name: `registrar.add("weather", make_weather_tool, summary="...")`.

    They are collected in the catalog; offering them to agents is planned.
    """


@hookspec
def roundtable_register_rules(registrar: RuleRegistrar, host: Host) -> None:
    """Add decision rules: `registrar.add("veto", Rule("veto", count), summary="...")`."""


@hookspec
def roundtable_register_exits(registrar: ExitRegistrar, host: Host) -> None:
    """Add stop criteria by their kind: `registrar.add("night", Night.from_spec, summary="...")`."""
