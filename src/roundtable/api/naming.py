"""The name of a mode that a caller gave by name or as an object, or by asking for what it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.api.checks import check_list
from roundtable.errors import ConfigurationError
from roundtable.modes import check_mode

if TYPE_CHECKING:
    from roundtable.api.options import Perspectives
    from roundtable.modes import ModeRegistry
    from roundtable.protocols import DebateModeStrategy

__all__ = ["facilitated", "named_mode"]


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


def facilitated(mode: str | DebateModeStrategy, perspectives: Perspectives, known: ModeRegistry) -> str | None:
    """Give the name of the mode that has its perspectives written, where they are `"auto"`.

    Raises:
        ConfigurationError: Perspectives are no list, or the mode cannot have them written.
    """
    if perspectives is None:
        return None
    if perspectives != "auto":
        check_list("perspectives", perspectives, "a list, or 'auto'")
        return None
    if not isinstance(mode, str):
        msg = "perspectives='auto' goes with a mode given by name"
        raise ConfigurationError(msg, hint="Make the mode with facilitated=True instead.")
    if "facilitated" not in getattr(known.get_mode(mode), "options", {}):
        msg = f"perspectives='auto' does not go with the mode {mode!r}"
        raise ConfigurationError(msg, hint="Use the mode 'expert-panel', or leave perspectives out.")
    return f"{mode}{',' if ':' in mode else ':'}facilitated=true"
