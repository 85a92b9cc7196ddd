"""What plugins there are, what became of them, and the commands they bring."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from roundtable._foreign import error_text
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import Line, line
from roundtable.errors import PluginError, RoundtableError
from roundtable.report import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from roundtable.cli.desk import Desk
    from roundtable.cli.screen import Screen
    from roundtable.plugins import LoadedPlugins, PluginReport

__all__ = ["list_plugins", "run_plugin_command", "show_plugin_commands"]

_COMMAND: Final = re.compile(r"[a-z][a-z0-9_/.-]*")


async def list_plugins(desk: Desk) -> ExitCode:
    """Say which plugins are installed, what they bring, and why one cannot be used."""
    screen, reports = desk.screen, desk.table.wiring.plugins.reports()
    if screen.as_json:
        screen.data([report.to_dict() for report in reports])
    elif not reports:
        screen.show([line("No plugin is installed.")])
    else:
        for report in reports:
            screen.show([line(_head(report), "bold"), *(line(text, indent=2, hang=2) for text in _facts(report))])
    return ExitCode.FAILED if any(report.failed for report in reports) else ExitCode.OK


def _head(report: PluginReport) -> str:
    version = f" {report.version}" if report.version else ""
    failed = f"failed ({report.stage})" if report.failed else report.stage
    return f"{report.name}{version}: {failed}"


def _facts(report: PluginReport) -> list[str]:
    facts = [", ".join(report.provides)] if report.provides and not report.failed else []
    if report.error is not None:
        facts += [report.error.message, report.error.hint or ""]
    return [fact for fact in (*facts, *report.notes) if fact]


def show_plugin_commands(screen: Screen, ours: Collection[str]) -> None:
    """Say which commands plugins bring, below those of the library; without any, say nothing.

    Args:
        screen: Where to.
        ours: Names of commands that are no plugin's, whatever a plugin says.
    """
    if not _any_installed():
        return
    try:
        loaded = _loaded()
    except RoundtableError as error:  # help is given whatever is wrong with the environment
        screen.show([line(""), line(f"Commands of plugins cannot be told: {error.message}")])
        return
    found = [entry for entry in loaded.catalog.commands if entry.name not in ours]
    broken = sum(report.failed for report in loaded.reports())
    if not found and not broken:
        return
    wide = max((len(entry.name) for entry in found), default=0) + 2
    screen.show([line(""), line("Commands of plugins:")])
    for entry in sorted(found, key=lambda entry: entry.name):
        what = plain(entry.summary or f"A command of {entry.source}.")
        screen.show([Line(f"{plain(entry.name):{wide}}{what}", indent=2, hang=wide)])
    if broken:
        screen.show([line(f"(could not be loaded: {broken}; `roundtable plugins` says why)", indent=2)])


def _any_installed() -> bool:
    """Tell whether there may be a plugin, without loading anything: help without plugins is as quick as ever."""
    try:
        return bool(entry_points(group="roundtable"))
    except Exception:  # noqa: BLE001  (names come from files that anything may have written; the loader judges them)
        return True


def _loaded() -> LoadedPlugins:
    """Load every installed plugin, each by itself; what one prints meanwhile goes to standard error."""
    # Late on purpose: a word that is a command of ours needs no plugin.
    from roundtable.plugins import Plugins, load_plugins
    from roundtable.settings import Settings

    return load_plugins(Plugins.load(to_stderr=True), Settings.from_env())


def run_plugin_command(words: Sequence[str]) -> int | None:
    """Run the command of a plugin; `None` when none has this one.

    Raises:
        PluginError: The plugin it belongs to could not be loaded, or the command failed.
    """
    if not words or not _COMMAND.fullmatch(words[0]):
        return None
    commands = _loaded().catalog.commands
    if words[0] not in commands:
        return None
    entry = commands.entry(words[0])
    try:
        code: object = entry.thing(list(words[1:]))
    except SystemExit as error:
        code = error.code
    except Exception as error:
        msg = f"the command {entry.name!r} of {entry.source} failed: {type(error).__name__}: {error_text(error)}"
        raise PluginError(msg, plugin=entry.source, stage="use", cause=error) from error
    return code if isinstance(code, int) else ExitCode.OK if code is None else ExitCode.FAILED
