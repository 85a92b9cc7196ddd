"""Commands of plugins, and the lists of plugins, agents and modes."""

from __future__ import annotations

import re
import shlex
import traceback
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typer import Typer

from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.typer_commands import call, plain_command
from roundtable.core.base.registry import Registry
from roundtable.core.base.text import error_text
from roundtable.core.errors import PluginError, RoundtableError
from roundtable.report import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic import JsonValue

    from roundtable.api.offered import ModeOffer
    from roundtable.api.seats import Offer
    from roundtable.cli.context import CommandContext
    from roundtable.cli.render import Screen
    from roundtable.core.base.registry import Entry
    from roundtable.core.types.agents import AgentConfig
    from roundtable.plugins import Command, LoadedPlugins, PluginReport

__all__ = [
    "find_plugin_commands",
    "list_agents",
    "list_modes",
    "list_plugins",
    "offer_data",
    "run_plugin_command",
    "show_plugin_commands",
    "write_new",
]


_HELP_CHARS: Final = 200
_COMMAND: Final = re.compile(r"[a-z][a-z0-9_/.-]*")


async def list_plugins(context: CommandContext, *, with_traceback: bool = False) -> ExitCode:
    """List installed plugins, what they add, and the reason if one failed to load.

    Args:
        context: Context of the command.
        with_traceback: Whether to show the traceback of each plugin that failed, in text and in JSON.
    """
    screen, reports = context.screen, context.table.plugin_reports()
    if screen.as_json:
        screen.data([_report_data(report, with_traceback=with_traceback) for report in reports])
    elif not reports:
        screen.show([line("No plugin is installed.")])
    else:
        for report in reports:
            screen.show(
                [
                    line(_report_title(report), "bold"),
                    *(line(text, indent=2, hang=2) for text in _report_details(report)),
                    *(line(text, indent=2) for text in (_traceback_of(report) if with_traceback else [])),
                ]
            )
    return ExitCode.FAILED if any(report.failed for report in reports) else ExitCode.OK


def _report_title(report: PluginReport) -> str:
    version = f" {report.version}" if report.version else ""
    failed = f"failed ({report.stage})" if report.failed else report.stage
    return f"{report.name}{version}: {failed}"


def _report_details(report: PluginReport) -> list[str]:
    facts = [", ".join(report.provides)] if report.provides and not report.failed else []
    if report.error is not None:
        facts += [report.error.message, report.error.hint or ""]
    return [fact for fact in (*facts, *report.notes) if fact]


def _report_data(report: PluginReport, *, with_traceback: bool) -> JsonValue:
    data: dict[str, JsonValue] = report.to_dict()
    return {**data, "traceback": [*_traceback_of(report)]} if with_traceback else data


def _traceback_of(report: PluginReport) -> list[str]:
    """Return the lines of the traceback of a plugin's failure; no lines if the library refused the plugin."""
    cause = None if report.error is None else report.error.__cause__
    if cause is None:
        return []
    lines = "".join(traceback.format_exception(cause)).splitlines()
    return [text for shown in lines if (text := plain(shown)).strip(" ^~")]


async def write_new(name: str, kinds: Sequence[str], into: str | None, context: CommandContext) -> ExitCode:
    """Write the package of a new plugin."""
    # Imported late: the other commands write no plugin.
    from roundtable.plugins.template import write_plugin

    folder = Path(into or f"roundtable-{name}")
    plugin, paths = write_plugin(name, kinds, folder)
    screen = context.screen
    if screen.as_json:
        screen.data({"name": plugin.distribution, "kinds": list(plugin.kinds), "files": [str(path) for path in paths]})
        return ExitCode.OK
    screen.show([line(f"{plugin.distribution}: {', '.join(plugin.kinds)}", "bold")])
    screen.show([line(str(path), indent=2, wraps=False) for path in paths])
    screen.show([line(f'Next: cd {shlex.quote(str(folder))} && pip install -e ".[test]" && pytest', wraps=False)])
    return ExitCode.OK


def show_plugin_commands(screen: Screen, ours: Collection[str]) -> None:
    """Print the commands of plugins below those of the library; print nothing if plugins have no commands.

    Args:
        screen: Where to print them.
        ours: Names of the library's own commands, which no plugin can replace.
    """
    if not _any_installed():
        return
    try:
        loaded = _load_installed()
    except RoundtableError as error:  # help must work even with an invalid environment
        screen.show([line(""), line(f"Commands of plugins cannot be listed: {error.message}")])
        return
    entries = [entry for entry in loaded.catalog.commands if entry.name not in ours]
    broken = sum(report.failed for report in loaded.reports())
    if not entries and not broken:
        return
    width = max((len(entry.name) for entry in entries), default=0) + 2
    screen.show([line(""), line("Commands of plugins:")])
    for entry in sorted(entries, key=lambda entry: entry.name):
        summary = plain(entry.summary or _help_of(entry.thing) or f"A command of {entry.source}.")
        screen.show([Line(f"{plain(entry.name):{width}}{summary}", indent=2, hang=width)])
    if broken:
        screen.show([line(f"(could not be loaded: {broken}; `roundtable plugins` shows why)", indent=2)])


def _help_of(command: Command) -> str:
    """Return the first sentence of a typer app's own help; empty if it has none, or if the app cannot be built."""
    if not isinstance(command, Typer):
        return ""
    try:
        return str(plain_command(command).get_short_help_str(_HELP_CHARS))
    except Exception:  # noqa: BLE001  (the app is foreign code, and the help of the other commands must be shown)
        return ""


def _any_installed() -> bool:
    """Check whether a plugin may be installed, without loading any; without plugins, help stays fast."""
    try:
        return bool(entry_points(group="roundtable"))
    except Exception:  # noqa: BLE001  (metadata files can contain anything; the loader reports what is wrong)
        return True


def _load_installed() -> LoadedPlugins:
    """Load every installed plugin in isolation; what plugins print while they load goes to standard error."""
    # Imported late: the library's own commands need no plugins.
    from roundtable.plugins import Plugins, load_plugins
    from roundtable.settings import Settings

    return load_plugins(Plugins.load(to_stderr=True), Settings.from_env())


def find_plugin_commands(word: str) -> Registry[Command]:
    """Return the commands of all installed plugins; none if the first word of the command line names no command."""
    if not _COMMAND.fullmatch(word):
        return Registry("command")
    return _load_installed().catalog.commands


def run_plugin_command(entry: Entry[Command], words: Sequence[str]) -> int:
    """Run the command of a plugin and return its exit code.

    Args:
        entry: The command: a typer app, or a function of the words.
        words: The words after the command's name.

    Raises:
        RoundtableError: The command raised it, or the words do not fit the options of a typer app.
        PluginError: The command failed in another way.
    """
    try:
        if isinstance(entry.thing, Typer):
            return call(plain_command(entry.thing), words, f"roundtable {entry.name}")
        code: object = entry.thing(list(words))
    except SystemExit as error:
        code = error.code
    except RoundtableError:
        raise
    except Exception as error:
        msg = f"the command {entry.name!r} of {entry.source} failed: {type(error).__name__}: {error_text(error)}"
        raise PluginError(msg, plugin=entry.source, stage="use", cause=error) from error
    return code if isinstance(code, int) else ExitCode.OK if code is None else ExitCode.FAILED


async def list_agents(context: CommandContext) -> ExitCode:
    """List the agents that would debate, why, and which other providers are available."""
    table, screen = context.table, context.screen
    offers, seats = table.providers(), table.agents()
    is_named = table.given_agents is not None
    reasons = {offer.provider: offer.because for offer in offers if offer.usable}
    reason_of = {seat.id: "named on the command line" if is_named else reasons.get(seat.provider, "") for seat in seats}
    if screen.as_json:
        screen.data({"agents": [_seat_data(seat, reason_of[seat.id]) for seat in seats], "offers": offer_data(offers)})
        return ExitCode.OK
    screen.show([line("Agents:", "bold")])
    for seat in seats:
        model = f"{seat.provider}:{seat.model}" if seat.model else f"{seat.provider} (default model)"
        persona = f", speaks as {seat.persona.name}" if seat.persona else ""
        screen.show([line(f"{seat.name}: {model}{persona}; {reason_of[seat.id]}", indent=2, hang=2)])
    unused = [offer for offer in offers if not offer.usable]
    if unused:
        screen.show([Line(""), line("Other providers that you could use:", "bold")])
        screen.show([line(f"{offer.provider} ({offer.because}): {offer.fix}", indent=2, hang=2) for offer in unused])
    return ExitCode.OK


def _seat_data(seat: AgentConfig, because: str) -> JsonValue:
    data: dict[str, JsonValue] = seat.model_dump(mode="json")
    return {**data, "because": because}


def offer_data(offers: tuple[Offer, ...]) -> JsonValue:
    """Return offers as JSON values."""
    return [
        {"provider": offer.provider, "because": offer.because, "usable": offer.usable, "fix": offer.fix}
        for offer in offers
    ]


async def list_modes(context: CommandContext) -> ExitCode:
    """List debate modes."""
    screen, modes = context.screen, context.table.modes()
    if screen.as_json:
        screen.data([{**mode.model_dump(mode="json"), "options": [*mode.options]} for mode in modes])
        return ExitCode.OK
    for mode in modes:
        screen.show(_mode_lines(mode))
    return ExitCode.OK


def _mode_lines(mode: ModeOffer) -> list[Line]:
    rounds = f"{mode.min_rounds} to {mode.max_rounds} rounds"
    lines = [
        line(mode.name, "bold"),
        line(f"{mode.summary} {rounds}, {mode.agents_in_words}.", indent=2, paragraph=True),
    ]
    if mode.use_when:
        lines.append(line(f"Use it when: {mode.use_when}", indent=2, paragraph=True))
    if mode.options:
        example = ", ".join(f"{mode.name}:{name}={value}" for name, value in mode.options.items())
        lines.append(line(f"Options: {example}", indent=2, paragraph=True))
    return lines
