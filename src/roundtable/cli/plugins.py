"""What plugins there are, what became of them, and the commands they bring."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable._foreign import error_text
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import line
from roundtable.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.cli.desk import Desk
    from roundtable.plugins import PluginReport

__all__ = ["list_plugins", "run_plugin_command"]

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


def run_plugin_command(words: Sequence[str]) -> int | None:
    """Run the command of a plugin; `None` when none has this one.

    Raises:
        PluginError: The plugin it belongs to could not be loaded, or the command failed.
    """
    if not words or not _COMMAND.fullmatch(words[0]):
        return None
    # Late on purpose: a word that is a command of ours needs no plugin.
    from roundtable.plugins import Plugins, load_plugins
    from roundtable.settings import Settings

    commands = load_plugins(Plugins.load(to_stderr=True), Settings.from_env()).catalog.commands
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
