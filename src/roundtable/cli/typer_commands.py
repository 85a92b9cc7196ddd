"""Build and call the commands of typer apps: those of `roundtable` itself, and those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import typer
import typer.main

from roundtable.cli.exit_codes import ExitCode
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HELP", "BuiltCommand", "call", "plain_command"]

HELP: Final = "See `roundtable --help`, or `--help` after a command."


class BuiltCommand(Protocol):
    """A command as typer builds it, or a group of commands."""

    def main(self, args: list[str], prog_name: str, *, standalone_mode: bool) -> object:
        """Run the command."""

    def get_short_help_str(self, limit: int) -> str:
        """Return the first sentence of the help, in at most `limit` characters."""


def plain_command(app: typer.Typer) -> BuiltCommand:
    """Build the command of a plugin's typer app, with the plain help and the plain errors of `roundtable`.

    The app itself is not changed. An app with one command needs no name of a subcommand.

    Raises:
        RuntimeError: The app has no command.
    """
    plain = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    plain.info, plain.registered_callback = app.info, app.registered_callback
    plain.registered_commands, plain.registered_groups = app.registered_commands, app.registered_groups
    command = typer.main.get_command(plain)
    command.context_settings = {"help_option_names": ["-h", "--help"], **command.context_settings}
    return command


def call(command: BuiltCommand, words: Sequence[str], name: str) -> int:
    """Call a built command and return its exit code; a command that returns no number has succeeded.

    Args:
        command: The command, as typer builds it.
        words: The words after its name.
        name: Its name in usage lines, such as `roundtable`.

    Raises:
        ConfigurationError: The command line does not fit the command.
    """
    try:
        code: object = command.main(list(words), name, standalone_mode=False)
    except typer.TyperException as error:
        usage = f"{error.format_message()}"
        raise ConfigurationError(usage or "the command line is incomplete", hint=HELP) from None
    except typer.Abort:
        return ExitCode.INTERRUPTED
    return code if isinstance(code, int) else ExitCode.OK
