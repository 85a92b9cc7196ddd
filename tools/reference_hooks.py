"""The reference page of hooks, from their specifications and the registrars they are handed."""

from __future__ import annotations

import inspect

HEAD = """# Hooks

<!-- Written by tools/generate.py. Change the specifications in roundtable/plugins, not this page. -->

Plugins add providers, modes, tools and more through hooks. The built-in ones are registered through the same hooks.
A plugin implements the hooks it needs, as functions of a module or methods of an object, marked with
`@roundtable.hookimpl`. [Your first plugin](../tutorial/plugin.md) shows how.
The version of the plugin contract is `HOST_API` = {api}.

A hook is called with `registrar` and `host`; an implementation can take fewer arguments. It must not block or open
anything: expensive work belongs in the factory that it registers. The return value is ignored.

`host` has `api` (the version of the contract), `version` (of the library) and `capabilities`: {capabilities}.

| hook | registers | how users select it |
|---|---|---|
"""
ASKED = {
    "providers": "`agents=['NAME:model']`",
    "modes": "`mode='NAME'`",
    "rules": "`decide='NAME'`",
    "analyzers": "`analyzer='NAME'`",
    "exits": "its class in Python; its `kind` in a stored criterion",
    "storages": "`storage='NAME://...'`",
    "tools": "`tools=['NAME']`",
    "search_providers": "`--search NAME`, `tools=['search_web:NAME']`",
    "personas": "`AgentConfig(persona='NAME', ...)`",
    "profiles": '`table.converse(agents=["scout"], ...)`',
    "exporters": "`table.export(id, format='NAME')`, `roundtable export --format NAME`",
    "observers": "`observers=['NAME']`; observers of a plugin passed to a table are always active",
    "commands": "`roundtable NAME ...`",
}


def page() -> str:
    """Return the page."""
    from roundtable.core import hooks
    from roundtable.plugins.isolated import HOOKS

    if missing := sorted(HOOKS.keys() ^ ASKED.keys()):
        raise SystemExit(f"the page of hooks does not say how to select these: {', '.join(missing)}")
    listed = ", ".join(f"`{kind}`" for kind in HOOKS)
    lines = [HEAD.format(api=hooks.HOST_API, capabilities=listed)]
    lines += [f"| [`{_hook(kind)}`](#{_hook(kind)}) | {_kind(kind)} | {ASKED[kind]} |\n" for kind in HOOKS]
    for kind in HOOKS:
        spec = getattr(hooks, _hook(kind))
        annotation = spec.__annotations__["registrar"]
        taken = str(getattr(hooks, annotation)).partition("Registrar[")[2].rstrip("')]")
        lines.append(f"\n## `{_hook(kind)}`\n\n```text\n{_hook(kind)}(registrar: {annotation}, host: Host)\n```\n\n")
        lines.append(f"{inspect.getdoc(spec)}\n\nTakes: `{taken}`.\n")
    return "".join(lines)


def _hook(kind: str) -> str:
    return f"roundtable_register_{kind}"


def _kind(kind: str) -> str:
    from roundtable.core.hooks import Catalog

    return Catalog().registries()[kind].kind + "s"
