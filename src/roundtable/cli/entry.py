"""From the words of a command line to an exit code. No traceback gets out, unless in debug mode."""

from __future__ import annotations

import difflib
import errno
import os
import sys
import traceback
from functools import cache
from typing import TYPE_CHECKING, Final

import typer
import typer.main

from roundtable._foreign import error_text
from roundtable.cli.app import app
from roundtable.cli.codes import ExitCode, exit_code
from roundtable.cli.plugins import run_plugin_command, show_plugin_commands
from roundtable.cli.screen import Screen
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["complete_words", "run"]

OF_THE_ROOT: Final = frozenset({"-h", "--help", "--version", "--install-completion", "--show-completion"})
"""Options that belong to no command."""
FLAGS: Final = frozenset(
    {
        "--estimate",
        "--exit-on-consensus",
        "--baseline",
        "--synthesize",
        "--fetch",
        "--json",
        "--no-live",
        "--quiet",
        "-q",
    }
)
"""Options of a debate that take no value."""
_made = cache(typer.main.get_command)
"""Makes the command of its functions' types, which takes longer than most commands do."""
HELP: Final = "`roundtable --help`, and `--help` after a command, show what is allowed."


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
"""What writing to a full or broken place says."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code.

    Args:
        arguments: The words after the name of the command.
    """
    as_json = "--json" in arguments
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except RoundtableError as error:
        error.hint = error.hint or HELP
        _report(error, as_json=as_json)
        _show_stack(error)
        return exit_code(error)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone.
        _let_go_of_stdout()
        return ExitCode.FAILED
    except OSError as error:
        if error.errno not in _FULL:
            _report(_internal(error), as_json=as_json)
            _show_stack(error)
        else:
            sys.stderr.write(f"The output cannot be written: {error.strerror}\n")
            _let_go_of_stdout()
        return ExitCode.FAILED
    # A fault of ours or of a plugin: one line for the user, the stack only for those who ask for it.
    except Exception as error:  # noqa: BLE001
        _report(_internal(error), as_json=as_json)
        _show_stack(error)
        return ExitCode.FAILED
    return code


def _internal(error: Exception) -> RoundtableError:
    text = f"internal error: {type(error).__name__}: {error_text(error)}"
    return RoundtableError(text, cause=error, hint="ROUNDTABLE_DEBUG_MODE=true shows where; please report it.")


def _report(error: RoundtableError, *, as_json: bool) -> None:
    """Show an error where results go, or in one line on standard error when that cannot be written."""
    try:
        Screen(as_json=as_json, debug=_debug()).error(error)
        sys.stdout.flush()
    except OSError:
        sys.stderr.write(f"{error.message}\n")
        _let_go_of_stdout()


def _let_go_of_stdout() -> None:
    """Keep Python from complaining when it flushes what nobody can take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] not in _command_names():
        code = run_plugin_command(arguments)
        if code is not None:
            return code
    words = complete_words(arguments)
    try:
        code = _made(app).main(words, prog_name="roundtable", standalone_mode=False)
    except typer.TyperException as error:
        usage = f"{error.format_message()}"
        raise ConfigurationError(usage or "something is missing", hint=HELP) from None
    except typer.Abort:
        return ExitCode.INTERRUPTED
    if words[0] in {"-h", "--help"}:
        show_plugin_commands(Screen(), _command_names())
    return code if isinstance(code, int) else ExitCode.OK


def complete_words(arguments: list[str]) -> list[str]:
    """Put in the word `debate` where a topic stands in the place of a command.

    Raises:
        ConfigurationError: The word looks like a command, but is none.

    Example:
        >>> complete_words(["Tea or coffee?", "--rounds", "2"])
        ['debate', 'Tea or coffee?', '--rounds', '2']
        >>> complete_words(["sessions"])
        ['sessions']
    """
    if arguments in ([], ["models"]):
        return [*arguments, "--help"]
    if arguments[0] in OF_THE_ROOT:
        return arguments
    first = arguments[0]
    names = _command_names()
    if first in names:
        return arguments
    if first.startswith("-"):
        _check_order(arguments, names)
        return ["debate", *arguments]
    near = [] if " " in first else difflib.get_close_matches(first, names, n=1, cutoff=0.75)
    if near:
        msg = f"there is no command {first!r}; did you mean {near[0]!r}?"
        raise ConfigurationError(msg, hint=f"To debate about it: roundtable debate {first}")
    return ["debate", *arguments]


def _check_order(arguments: list[str], names: list[str]) -> None:
    """Refuse a command behind its options: nobody wants a paid debate about the word `sessions`."""
    words = iter(arguments)
    for word in words:
        if word == "--":
            return
        if not word.startswith("-"):
            if word in names:
                msg = f"the command {word!r} comes first, before its options"
                raise ConfigurationError(msg, hint=f"To debate about the word: roundtable debate {word}")
            return
        if word not in FLAGS and "=" not in word:
            next(words, None)


def _command_names() -> list[str]:
    # A group without a name lends its commands to the root.
    merged = [group.typer_instance for group in app.registered_groups if not group.name]
    commands = [command for one in (app, *merged) if one is not None for command in one.registered_commands]
    names = [command.name or getattr(command.callback, "__name__", "") for command in commands]
    return [*names, *(group.name for group in app.registered_groups if group.name)]


def _debug() -> bool:
    try:
        return Settings.from_env().debug_mode
    except RoundtableError:
        return False


def _show_stack(error: Exception) -> None:
    if _debug():
        traceback.print_exception(error)
