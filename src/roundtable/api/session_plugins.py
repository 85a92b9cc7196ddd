"""The plugins that a session uses: recorded when it is created, and named in an error if one is missing later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.api.tools import with_service
from roundtable.core.base.registry import HOST, same_distribution
from roundtable.core.errors import PluginError
from roundtable.core.mode.shapes import split_mode_name
from roundtable.core.types.debate import PluginUse
from roundtable.scoring.rules import find_rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pydantic import JsonValue

    from roundtable.api.assembly import TableParts
    from roundtable.core.base.registry import Entry, Registry
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.debate import DebateConfig, SessionRecord

__all__ = ["check_plugins", "kinds_kept", "plugins_in_use", "tool_hints"]

_TABLE: Final = "this table"
"""Source of decision rules and exit criteria that a caller passed as objects."""
_TOOLS: Final = ("tool ", "search provider ")
_DISTRIBUTION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"[A-Za-z0-9.!+_-]+")


def kinds_kept(changes: Collection[str], *, mode: DebateModeStrategy | None) -> Collection[str]:
    """Return the kinds of objects that a stored session still needs by name after the caller's changes.

    Args:
        changes: Names of the options that the caller changes.
        mode: The mode, if the caller passed an object.
    """
    kinds = {"mode": {"mode"}, "rule": {"decide"}, "exit": {"exit_when", "exit_on_consensus"}}
    return [
        kind for kind, names in kinds.items() if not names & set(changes) and not (kind == "mode" and mode is not None)
    ]


def plugins_in_use(
    config: DebateConfig, providers: Iterable[str], wiring: TableParts, *, own_mode: bool
) -> tuple[PluginUse, ...]:
    """Return the plugins that a new session uses, for its mode, rule, exits and agents, and the storage and tools.

    Args:
        config: Configuration of the debate.
        providers: Providers of the agents that were created by name.
        wiring: The table; all names in use are loaded.
        own_mode: Whether the caller passed the mode as an object.
    """
    uses: dict[str, list[str]] = {}
    for kind, entry in _entries_in_use(config, providers, wiring, own_mode=own_mode):
        if entry.source not in {HOST, _TABLE}:
            provides = uses.setdefault(entry.source, [])
            provides.append(f"{kind} {entry.name}")
    return tuple(
        PluginUse(name=source, version=wiring.plugins.version_of(source), provides=tuple(dict.fromkeys(provides)))
        for source, provides in uses.items()
    )


def _entries_in_use(
    config: DebateConfig, providers: Iterable[str], wiring: TableParts, *, own_mode: bool
) -> Iterator[tuple[str, Entry[object]]]:
    registries, options = wiring.catalog.registries(), wiring.options
    named: list[tuple[Registry[object], Iterable[str]]] = [
        (registries["providers"], providers),
        (registries["modes"], () if own_mode or config.team else (_mode_name(config.mode),)),
        (registries["exits"], _kinds(config.exit)),
        (registries["storages"], [str(options.storage).partition(":")[0]]),
        (registries["analyzers"], [options.analyzer] if isinstance(options.analyzer, str) else ()),
    ]
    tools = [tool for tool in with_service(options.tools, wiring.search.service) if isinstance(tool, str)]
    named.append((registries["tools"], tools))
    services = (tool.split(":")[1].strip() for tool in tools if ":" in tool)
    named.append((registries["search_providers"], services))
    for registry, names in named:
        for name in names:
            # An unknown name belongs to one of the caller's objects, so it must not load a plugin.
            entry = registry.find(name) if name in registry or "/" in name else None
            if entry is not None:
                yield registry.kind, entry
    rule, _ = find_rule(config.decide, wiring.catalog.rules)
    yield from (("rule", entry) for entry in registries["rules"] if entry.thing is rule)


def _mode_name(mode: str) -> str:
    return split_mode_name(mode)[0] if ":" in mode else mode


def _kinds(spec: JsonValue) -> Iterator[str]:
    """Yield the kinds of an exit criterion and of all criteria in it."""
    if isinstance(spec, dict):
        kind = spec.get("kind")
        if isinstance(kind, str):
            yield kind
    if isinstance(spec, dict | list):
        for part in spec.values() if isinstance(spec, dict) else spec:
            yield from _kinds(part)


def check_plugins(
    record: SessionRecord, wiring: TableParts, needed: Iterable[str], *, names: Collection[str] | None = None
) -> None:
    """Refuse to continue a session if plugins are missing that provided objects that it needs.

    Args:
        record: The session as it is stored.
        wiring: The table; plugins that it may load are loaded.
        needed: Kinds of objects that are needed, such as `"mode"`.
        names: Names of objects that are needed; all objects that the plugins provided when left out.

    Raises:
        PluginError: A plugin is not installed, is not loaded, or no longer provides an object that the session needs.
    """
    registries = {registry.kind: registry for registry in wiring.catalog.registries().values()}
    wanted = set(needed)
    for use in record.plugins:
        for provided in use.provides:
            kind, _, name = provided.partition(" ")
            is_needed = kind in wanted and (names is None or any(_is_same_object(each, use, name) for each in names))
            if is_needed and not _is_there(registries[kind].find(name), use, wiring):
                raise _missing_plugin_error(record, use, f"{kind} {name!r}", wiring)


def _is_same_object(wanted: str, use: PluginUse, name: str) -> bool:
    """Check whether a name means an object that a plugin provided; both names may be full names, `"source/name"`."""
    source, _, plain = wanted.rpartition("/")
    return wanted == name or (same_distribution(source, use.name) and plain == name.rpartition("/")[2])


def _is_there(entry: Entry[object] | None, use: PluginUse, wiring: TableParts) -> bool:
    """Check whether the entry with the name is still the plugin's, or one that the caller passed in its place."""
    if entry is None or use.version is None or same_distribution(entry.source, use.name):
        return entry is not None
    return entry.source != HOST and wiring.plugins.version_of(entry.source) is None


def _missing_plugin_error(record: SessionRecord, use: PluginUse, provided: str, wiring: TableParts) -> PluginError:
    installed = next((each for each in wiring.plugins.installed if same_distribution(each.name, use.name)), None)
    if installed is None:
        why, hint = "which is not installed", _install_hint(record, use)
    elif not wiring.plugins.is_loaded(installed.name):
        why = "which is installed, but not loaded"
        hint = f"Load it: Roundtable(plugins=Plugins.of({installed.name!r}))."
    else:
        why = f"but the installed version ({installed.version or 'unknown'}) does not provide it"
        hint = _install_hint(record, use)
    msg = f"session {record.id!r} needs the {provided} of the plugin {use.name!r}"
    version = f" ({use.version})" if use.version else ""
    return PluginError(f"{msg}{version}, {why}", plugin=use.name, stage="use", hint=hint)


def _install_hint(record: SessionRecord, use: PluginUse) -> str:
    """Return how to get a plugin; warn if its name is from an imported file, and show no command for an odd name."""
    if use.version is None:
        return "Pass the plugin to the table: Roundtable(plugins=[plugin])."
    if not (_DISTRIBUTION.fullmatch(use.name) and _VERSION.fullmatch(use.version)):
        return "Install the plugin."
    hint = f"Install it: pip install '{use.name}=={use.version}'."
    warning = "The name comes from the imported file: install it only if you trust its author."
    return f"{hint} {warning}" if record.imported else hint


def tool_hints(record: SessionRecord) -> list[str]:
    """Return a sentence for each plugin that provided tools of a session."""
    brought = [(use, [provided for provided in use.provides if provided.startswith(_TOOLS)]) for use in record.plugins]
    return [f"The plugin {use} provided the {', '.join(things)}." for use, things in brought if things]
