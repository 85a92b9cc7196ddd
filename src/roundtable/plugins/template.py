"""Write the package of a new plugin, with the kinds of parts that its author chooses."""

from __future__ import annotations

import re
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.version import Version

from roundtable._version import __version__
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["KINDS", "NewPlugin", "render_plugin", "write_plugin"]

_HOOK: Final = '''


@hookimpl
def roundtable_register_$hook(registrar: $registrar) -> None:
    """Add $added."""
    registrar.add($registers)
'''

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class _Kind(NamedTuple):
    """The content of a plugin package for one kind of parts; placeholders such as `$name` are replaced."""

    hook: str
    """Last part of the name of the hook."""
    registrar: str
    """Type of the registrar."""
    imports: str
    """Names that the hook needs from the module of the kind."""
    registers: str
    """Arguments of `registrar.add`."""
    added: str
    """Description, for people, of what the plugin adds."""
    found: str
    """Statement that checks that the part is registered."""
    at_table: str = ""
    """Argument of a table that uses the part."""
    in_debate: str = ""
    """Argument of a debate that uses the part."""


KINDS: Final[dict[str, _Kind]] = {
    "provider": _Kind(
        "providers",
        "ProviderRegistrar",
        "${Name}Provider",
        '"$name", ${Name}Provider(), summary="Says tea or coffee."',
        "the provider `$name`, with the models `$name:plain` and `$name:bold`",
        found='assert "$name" in loaded.catalog.providers',
    ),
    "mode": _Kind(
        "modes",
        "ModeRegistrar",
        "${Name}Mode",
        '"$name", ${Name}Mode(), summary=${Name}Mode.summary',
        'the mode `$name`: `mode="$name"`',
        found='assert loaded.catalog.modes.get("$name").name == "$name"',
        in_debate='mode="$name"',
    ),
    "tool": _Kind(
        "tools",
        "ToolRegistrar",
        "${snake}_words",
        '"${snake}_words", lambda: ${snake}_words, summary="Counts words."',
        'the tool `${snake}_words`: `tools=["${snake}_words"]`',
        found='assert loaded.catalog.tools.get("${snake}_words")().definition.name == "${snake}_words"',
        at_table='tools=["${snake}_words"]',
    ),
    "storage": _Kind(
        "storages",
        "StorageRegistrar",
        "open_storage",
        '"$name", open_storage, summary="Forgets everything at the end."',
        'the storage `$name://`: `storage="$name://"`',
        found='assert "$name" in loaded.catalog.storages',
        at_table='storage="$name://"',
    ),
    "rule": _Kind(
        "rules",
        "RuleRegistrar",
        "RULE",
        "RULE.name, RULE, summary=RULE.summary",
        'the decision rule `$name`: `decide="$name"`',
        found='assert loaded.catalog.rules.get("$name").name == "$name"',
        in_debate='decide="$name"',
    ),
    "exit": _Kind(
        "exits",
        "ExitRegistrar",
        "${Name}Exit",
        '${Name}Exit.kind, ${Name}Exit.from_spec, summary="Ends a debate when all agents are sure."',
        'the stop criterion `${snake}`: `exit_when="${snake}()"`',
        found='assert "${snake}" in loaded.catalog.exits',
        in_debate='exit_when="${snake}()"',
    ),
    "analyzer": _Kind(
        "analyzers",
        "AnalyzerRegistrar",
        "${Name}Analyzer",
        '"$name", lambda model: ${Name}Analyzer(), summary="Agreement of first words."',
        'the analyzer `$name`: `analyzer="$name"`',
        found='assert "$name" in loaded.catalog.analyzers',
        at_table='analyzer="$name"',
    ),
    "observer": _Kind(
        "observers",
        "ObserverRegistrar",
        "make_observer",
        '"$name", make_observer, summary="Counts events."',
        'the observer `$name`: `observers=["$name"]`',
        found='assert "$name" in loaded.catalog.observers',
        at_table='observers=["$name"]',
    ),
}
"""The kinds of parts that a new plugin can have."""


class NewPlugin(NamedTuple):
    """A plugin to write.

    Example:
        >>> NewPlugin("tea-house", ("mode",)).module
        'roundtable_tea_house'
    """

    name: str
    """Name of the plugin, such as `acme`; its distribution is `roundtable-acme`."""
    kinds: tuple[str, ...]
    """Kinds of parts that the plugin has, in the order of `KINDS`."""

    @property
    def distribution(self) -> str:
        """Name of the plugin's distribution."""
        return f"roundtable-{self.name}"

    @property
    def module(self) -> str:
        """Name of the plugin's package."""
        return self.distribution.replace("-", "_")

    @property
    def words(self) -> dict[str, str]:
        """Texts that replace the placeholders in the files."""
        camel = "".join(part.capitalize() for part in self.name.split("-"))
        return {
            "name": self.name,
            "Name": camel,
            "snake": self.name.replace("-", "_"),
            "module": self.module,
            "distribution": self.distribution,
            "requires": _requires(),
        }


def write_plugin(name: str, kinds: Sequence[str], folder: Path) -> tuple[NewPlugin, tuple[Path, ...]]:
    """Write the package of a new plugin into a folder that is new or empty.

    Args:
        name: Name of the plugin: lower-case letters, digits and single hyphens.
        kinds: Kinds of parts that the plugin has, each one of `KINDS`.
        folder: Folder to write the package into.

    Returns:
        The plugin, and the written files in order.

    Raises:
        ConfigurationError: The name or a kind is not valid, or the folder has files in it or cannot be written.
    """
    plugin = _check_names(name, kinds)
    contents = render_plugin(plugin)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigurationError(f"{str(folder)!r} is not empty", hint="Name a new folder with --into.")
        paths = []
        for path, text in contents.items():
            written = folder / path
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text, "utf-8")
            paths.append(written)
    except OSError as error:
        msg = f"{str(folder)!r} cannot be written: {error.strerror or error}"
        raise ConfigurationError(msg, cause=error, hint="Name another folder with --into.") from error
    return plugin, tuple(paths)


def _check_names(name: str, kinds: Iterable[str]) -> NewPlugin:
    if not _NAME.fullmatch(name):
        msg = f"{name!r} cannot be the name of a plugin"
        raise ConfigurationError(msg, hint="Use lower-case letters, digits and single hyphens, such as 'tea-house'.")
    wanted = set(kinds)
    unknown = sorted(wanted - KINDS.keys())
    if unknown or not wanted:
        msg = f"unknown kind of plugin: {unknown[0]!r}" if unknown else "a plugin needs at least one kind"
        raise ConfigurationError(msg, hint=f"Kinds: {', '.join(KINDS)}.")
    return NewPlugin(name, tuple(kind for kind in KINDS if kind in wanted))


def render_plugin(plugin: NewPlugin) -> dict[str, str]:
    """Return the files of a plugin's package, by path.

    Example:
        >>> sorted(render_plugin(NewPlugin("acme", ("rule",))))[-4:]
        ['src/roundtable_acme/__init__.py', 'src/roundtable_acme/rule.py', 'tests/test_plugin.py', 'tests/test_rule.py']
    """
    source = f"src/{plugin.module}"
    return {
        "pyproject.toml": _file(plugin, "pyproject.toml"),
        "README.md": _file(plugin, "README.md", added="\n".join(f"- {line}" for line in _registrations(plugin))),
        "CHANGELOG.md": _file(plugin, "CHANGELOG.md"),
        ".github/workflows/tests.yml": _file(plugin, "tests.yml"),
        "example.py": _example(plugin),
        f"{source}/__init__.py": _hooks(plugin),
        **{f"{source}/{kind}.py": _file(plugin, f"{kind}.py") for kind in plugin.kinds},
        "tests/test_plugin.py": _plugin_test(plugin),
        **{f"tests/test_{kind}.py": _file(plugin, f"test_{kind}.py") for kind in plugin.kinds},
    }


def _requires() -> str:
    version = Version(__version__)
    return f">={version.major}.{version.minor},<{version.major + 1}"


def _file(plugin: NewPlugin, name: str, **more: str) -> str:
    text = files("roundtable.plugins").joinpath("template_files", f"{name}.txt").read_text("utf-8")
    return _fill(plugin, text, **more)


def _fill(plugin: NewPlugin, text: str, **more: str) -> str:
    return Template(text).substitute(plugin.words | more)


def _registrations(plugin: NewPlugin) -> list[str]:
    return [_fill(plugin, KINDS[kind].added) for kind in plugin.kinds]


def _hooks(plugin: NewPlugin) -> str:
    """Write the module with the hooks of all kinds."""
    names = [(kind, _fill(plugin, KINDS[kind].imports)) for kind in plugin.kinds]
    hooks = "".join(
        _fill(
            plugin,
            _HOOK,
            hook=KINDS[kind].hook,
            registrar=KINDS[kind].registrar,
            added=added,
            registers=_fill(plugin, KINDS[kind].registers),
        )
        for kind, added in zip(plugin.kinds, _registrations(plugin), strict=True)
    )
    return _file(
        plugin,
        "__init__.py",
        imports="\n".join(f"from {plugin.module}.{kind} import {name}" for kind, name in sorted(names)),
        registrars="\n".join(f"        {name}," for name in sorted(KINDS[kind].registrar for kind in plugin.kinds)),
        hooks=hooks.rstrip(),
    )


def _plugin_test(plugin: NewPlugin) -> str:
    """Write the test that the installed plugin is found, and that a debate uses it."""
    found = "".join(f"    {_fill(plugin, KINDS[kind].found)}\n" for kind in plugin.kinds)
    return _file(plugin, "test_plugin.py", found=found, **_debate_parts(plugin, indent=8))


def _example(plugin: NewPlugin) -> str:
    """Write a program with a debate that uses the plugin."""
    return _file(plugin, "example.py", **_debate_parts(plugin, indent=4))


def _debate_parts(plugin: NewPlugin, *, indent: int) -> dict[str, str]:
    """Return agents, arguments of a table and of its debate, and imports, for a program that uses the plugin."""
    has_provider = "provider" in plugin.kinds
    table = [KINDS[kind].at_table for kind in plugin.kinds if KINDS[kind].at_table]
    if "storage" not in plugin.kinds:
        table.append('storage="memory://"')
    debate = ["rounds=1", *(KINDS[kind].in_debate for kind in plugin.kinds if KINDS[kind].in_debate)]
    agents = '["$name:plain", "$name:bold"]' if has_provider else 'scripted_agents({"ada": "Tea", "bo": "Coffee"})'
    return {
        "imports": "" if has_provider else "from roundtable.testing import scripted_agents\n",
        "agents": _fill(plugin, agents),
        "table": "".join(f"{' ' * indent}{_fill(plugin, argument)},\n" for argument in table),
        "debate": "".join(f"{' ' * (indent + 4)}{_fill(plugin, argument)},\n" for argument in debate),
    }
