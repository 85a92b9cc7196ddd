"""Run a command line and return its exit code. Tracebacks are shown only in debug mode."""

from __future__ import annotations

import difflib
import errno
import sys
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import typer
import typer.main

from roundtable.cli.app import app
from roundtable.cli.exit_codes import ExitCode, exit_code
from roundtable.cli.plugins import find_plugin_commands, run_plugin_command, show_plugin_commands
from roundtable.cli.render import Screen
from roundtable.cli.typer_commands import HELP, call
from roundtable.core.base.files import discard_stdout, report_stdout_error
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["complete_words", "run"]


ROOT_OPTIONS: Final = frozenset({"-h", "--help", "--version", "--install-completion", "--show-completion"})
"""Options that belong to no command."""
_build_command = cache(typer.main.get_command)
"""Builds the command from the type hints of its functions; cached, since building takes longer than most commands."""

_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EPIPE})
"""Errors of writing to a full disk, or to a broken or closed stream."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: The arguments after `roundtable`.
    """
    as_json, code = "--json" in arguments, int(ExitCode.OK)
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except RoundtableError as error:
        error.hint = error.hint or HELP
        _report(error, as_json=as_json)
        _show_traceback(error)
        return exit_code(error)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return ExitCode.INTERRUPTED
    except OSError as error:
        if error.errno in _UNWRITABLE:
            failed = report_stdout_error(error)
            return code or failed
        _report(_internal_error(error), as_json=as_json)
        _show_traceback(error)
        return ExitCode.FAILED
    # A bug of the library or of a plugin: one line for the user, the traceback only in debug mode.
    except Exception as error:  # noqa: BLE001
        _report(_internal_error(error), as_json=as_json)
        _show_traceback(error)
        return ExitCode.FAILED
    return code


def _internal_error(error: Exception) -> RoundtableError:
    text = f"internal error: {type(error).__name__}: {error_text(error)}"
    return RoundtableError(text, cause=error, hint="ROUNDTABLE_DEBUG_MODE=true shows the traceback; please report it.")


def _report(error: RoundtableError, *, as_json: bool) -> None:
    """Show an error on its stream; if the stream cannot be written, show one line on standard error."""
    try:
        Screen(as_json=as_json, debug=_is_debug_mode()).error(error)
        sys.stdout.flush()
    except OSError:
        Screen().write_note(error.message)
        discard_stdout()


def _run(arguments: list[str]) -> int:
    own = _command_names()
    others: tuple[str, ...] = ()
    if arguments and arguments[0] not in own:
        commands = find_plugin_commands(arguments[0])
        if arguments[0] in commands:
            return run_plugin_command(commands.entry(arguments[0]), arguments[1:])
        others = commands.names()
    words = complete_words(arguments, others)
    code = call(_build_command(app), words, "roundtable")
    if words[0] in {"-h", "--help"}:
        show_plugin_commands(Screen(), own)
    return code


def complete_words(arguments: list[str], others: Collection[str] = ()) -> list[str]:
    """Insert the word `debate` if the command line starts with a topic or an option instead of a command.

    Args:
        arguments: The words of the command line.
        others: Names of commands of plugins, which may be misspelt too.

    Raises:
        ConfigurationError: The first word looks like a misspelt command, or options stand before a command.

    Example:
        >>> complete_words(["Tea or coffee?", "--rounds", "2"])
        ['debate', 'Tea or coffee?', '--rounds', '2']
        >>> complete_words(["sessions"])
        ['sessions']
    """
    if arguments in ([], ["models"]):
        return [*arguments, "--help"]
    if arguments[0] in ROOT_OPTIONS:
        return arguments
    first = arguments[0]
    names = _command_names()
    if first in names:
        return arguments
    if first.startswith("-"):
        _check_order(arguments, names)
        return ["debate", *arguments]
    matches = [] if " " in first else difflib.get_close_matches(first, [*names, *others], n=1, cutoff=0.75)
    if matches:
        msg = f"unknown command {first!r}; did you mean {matches[0]!r}?"
        raise ConfigurationError(msg, hint=f"To debate about this word: roundtable debate {first}")
    return ["debate", *arguments]


def _check_order(arguments: list[str], names: list[str]) -> None:
    """Reject options before a command; otherwise a paid debate about, for example, `sessions` would start."""
    flags, words = _flags(), iter(arguments)
    for word in words:
        if word == "--":
            return
        if not word.startswith("-"):
            if word in names:
                msg = f"the command {word!r} must come before its options"
                hint = f"Write: roundtable {word} [OPTIONS]. To debate about the word: roundtable debate {word}"
                raise ConfigurationError(msg, hint=hint)
            return
        if word not in flags and "=" not in word:
            next(words, None)


def _flags() -> set[str]:
    """Return the options of a debate that take no value."""
    commands: dict[str, Any] = getattr(_build_command(app), "commands", {})
    return {name for option in commands["debate"].params if getattr(option, "is_flag", False) for name in option.opts}


def _command_names() -> list[str]:
    # The commands of a group without a name belong to the root.
    nameless = [group.typer_instance for group in app.registered_groups if not group.name]
    commands = [
        command for typer_app in (app, *nameless) if typer_app is not None for command in typer_app.registered_commands
    ]
    names = [command.name or getattr(command.callback, "__name__", "") for command in commands]
    return [*names, *(group.name for group in app.registered_groups if group.name)]


def _is_debug_mode() -> bool:
    try:
        return Settings.from_env().debug_mode
    except RoundtableError:
        return False


def _show_traceback(error: Exception) -> None:
    if _is_debug_mode():
        traceback.print_exception(error)
