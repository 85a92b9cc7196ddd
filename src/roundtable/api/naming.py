"""The name of a mode that a caller gave by name or as an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.modes import check_mode

if TYPE_CHECKING:
    from roundtable.modes import ModeRegistry
    from roundtable.protocols import DebateModeStrategy

__all__ = ["named_mode"]


def named_mode(asked: str | DebateModeStrategy, known: ModeRegistry) -> tuple[str, DebateModeStrategy | None]:
    """Give the name of a mode, and the mode itself when the caller brought it.

    Raises:
        ConfigurationError: The mode is unknown, is none, or has the name of another one.
    """
    if isinstance(asked, str):
        known.get_mode(asked)
        return asked, None
    check_mode(type(asked).__name__, asked)
    if known.has_mode(asked.name) and type(known.get_mode(asked.name)) is not type(asked):
        msg = f"{type(asked).__name__} has the name of another mode, {asked.name!r}"
        raise ConfigurationError(msg, hint="Give your mode a name of its own; sessions are stored with it.")
    return asked.name, asked
