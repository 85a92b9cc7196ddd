"""The registry of debate modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from roundtable.core.base.registry import Registry
from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import split_mode_name
from roundtable.modes.adversarial import AdversarialMode
from roundtable.modes.collaborative import CollaborativeMode
from roundtable.modes.council import CouncilMode
from roundtable.modes.delphi import DelphiMode
from roundtable.modes.devils_advocate import DevilsAdvocateMode
from roundtable.modes.expert_panel import ExpertPanelMode
from roundtable.modes.free_mad import FreeMadMode
from roundtable.modes.freeform import FreeformMode
from roundtable.modes.independent import IndependentVoteMode, SelfConsistencyMode
from roundtable.modes.oxford import OxfordMode
from roundtable.modes.red_team_blue_team import RedTeamBlueTeamMode
from roundtable.modes.socratic import SocraticMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.protocols import DebateModeStrategy

__all__ = ["BUILTIN_MODES", "ModeRegistry", "check_mode"]

_SHIPPED: Final[tuple[type[BaseModeStrategy], ...]] = (
    CollaborativeMode,
    AdversarialMode,
    SocraticMode,
    ExpertPanelMode,
    DevilsAdvocateMode,
    DelphiMode,
    RedTeamBlueTeamMode,
    FreeformMode,
    OxfordMode,
    CouncilMode,
    FreeMadMode,
    SelfConsistencyMode,
    IndependentVoteMode,
)

BUILTIN_MODES: tuple[tuple[str, type[BaseModeStrategy], str], ...] = tuple(
    (kind.name, kind, kind.summary) for kind in _SHIPPED
)
"""Name, class and summary of the modes that ship with the library."""


_OPTIONS_HINT: Final = "`roundtable modes` lists what can be set in each mode."
_REQUIRED_PARTS = (
    "next_stage",
    "build_agent_prompt",
    "name",
    "rounds",
    "assigns_stances",
    "needs_groupthink_detection",
)


def check_mode(mode: str, strategy: object) -> None:
    """Raise an error if an object is not a mode.

    Args:
        mode: Name of the mode, for the error message.
        strategy: The object to check.

    Raises:
        ConfigurationError: The object has no `next_stage`, lacks another part of `DebateModeStrategy`, or is a class.
    """
    if isinstance(strategy, type):
        msg = f"mode {mode!r}: give an instance, {strategy.__name__}(), not the class"
        raise ConfigurationError(msg)
    missing = [part for part in _REQUIRED_PARTS if not hasattr(strategy, part)]
    if missing:
        kind, lacks = type(strategy).__name__, ", ".join(missing)
        msg = f"mode {mode!r}: {kind} has no {lacks}; a mode plans its stages in next_stage(view)"
        raise ConfigurationError(msg, hint="Inherit from BaseModeStrategy, and write only next_stage.")


class ModeRegistry:
    """A registry of debate modes by name.

    Args:
        builtin: Whether to start with the built-in modes.

    Example:
        >>> ModeRegistry().get_available_modes()[:3]
        ('collaborative', 'adversarial', 'socratic')
    """

    def __init__(self, *, builtin: bool = True) -> None:
        self.registry: Registry[DebateModeStrategy] = Registry("mode")
        if builtin:
            self.reset()

    def register_mode(self, mode: str, strategy: DebateModeStrategy, *, summary: str = "") -> None:
        """Add a mode; it replaces a mode of the same name.

        Raises:
            ConfigurationError: The strategy has no `next_stage`, lacks another part of `DebateModeStrategy`, or is a
                class.
        """
        check_mode(mode, strategy)
        self.registry.add(mode, strategy, summary=summary, replace=True)

    def get_mode(self, mode: str) -> DebateModeStrategy:
        """Return a mode.

        Args:
            mode: Its name, optionally with options after a colon: `"adversarial:visibility=predecessor"`.

        Raises:
            ConfigurationError: The mode is unknown (the message lists the known modes), or it does not have such an
                option.

        Example:
            >>> ModeRegistry().get_mode("red-team-blue-team:cross_team=true").cross_team
            True
        """
        if mode in self.registry or ":" not in mode:
            return self.registry.get(mode)
        try:
            name, settings = split_mode_name(mode)
        except ValueError as error:
            msg = f"mode {mode!r}: {error}"
            raise ConfigurationError(msg, hint="Write 'mode:option=value,option=value', each option once.") from error
        return _configure(self.registry.get(name), mode, settings)

    def find_mode(self, mode: str) -> DebateModeStrategy | None:
        """Return a mode as `get_mode` does; `None` if it is not known, or cannot be created with its options.

        Example:
            >>> ModeRegistry().find_mode("court") is None, ModeRegistry().find_mode("delphi").name
            (True, 'delphi')
        """
        try:
            return self.get_mode(mode)
        except Exception:  # noqa: BLE001  (a mode may be foreign code; `get_mode` raises the error)
            return None

    def has_mode(self, mode: str) -> bool:
        """Check whether a mode is known."""
        return mode in self.registry or mode.partition(":")[0] in self.registry

    def get_available_modes(self) -> tuple[str, ...]:
        """List the modes in the order in which they were added."""
        return self.registry.names()

    def remove_mode(self, mode: str) -> bool:
        """Remove a mode; return whether it was known."""
        return self.registry.remove(mode)

    def clear(self) -> None:
        """Remove all modes."""
        self.registry.clear()

    def reset(self) -> None:
        """Restore the built-in modes."""
        self.registry.clear()
        for name, kind, summary in BUILTIN_MODES:
            self.registry.add(name, kind(), summary=summary)


def _configure(strategy: DebateModeStrategy, mode: str, settings: dict[str, str]) -> DebateModeStrategy:
    """Return a new instance of a mode, with these options."""
    readers = strategy.options if isinstance(strategy, BaseModeStrategy) else {}
    options: dict[str, object] = {}
    for name, text in settings.items():
        if name not in readers:
            names = ", ".join(readers) or "none"
            raise ConfigurationError(f"mode {mode!r}: unknown option {name!r}; known: {names}", hint=_OPTIONS_HINT)
        try:
            options[name] = readers[name](text)
        except ValueError as error:
            raise ConfigurationError(f"mode {mode!r}: {name}: {error}", hint=_OPTIONS_HINT) from error
    build = cast("Callable[..., DebateModeStrategy]", type(strategy))
    return build(**options, prompts=getattr(strategy, "prompts", None))
