"""Modes by name, with the TypeScript API's method names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.collaborative import CollaborativeMode

if TYPE_CHECKING:
    from roundtable.protocols import DebateModeStrategy

__all__ = ["BUILTIN_MODES", "ModeRegistry", "check_mode", "get_global_mode_registry", "reset_global_mode_registry"]

BUILTIN_MODES: tuple[tuple[str, type[BaseModeStrategy], str], ...] = (
    ("collaborative", CollaborativeMode, "All at once, looking for common ground."),
)
"""Name, class and summary of the modes that ship with the library."""

PLANNED_MODES: frozenset[str] = frozenset(
    {"adversarial", "delphi", "devils-advocate", "expert-panel", "red-team-blue-team", "socratic"}
)
"""Modes of later versions; a plugin may bring one of these names before."""

_PARTS = ("next_stage", "build_agent_prompt", "name", "rounds", "assigns_stances", "needs_groupthink_detection")


def check_mode(mode: str, strategy: object) -> None:
    """Refuse what cannot be a mode.

    Args:
        mode: How to name it in a message.
        strategy: What was given.

    Raises:
        ConfigurationError: It plans no stages, lacks another part of `DebateModeStrategy`, or is a class.
    """
    if isinstance(strategy, type):
        msg = f"mode {mode!r}: give an instance, {strategy.__name__}(), not the class"
        raise ConfigurationError(msg)
    missing = [part for part in _PARTS if not hasattr(strategy, part)]
    if missing:
        kind, lacks = type(strategy).__name__, ", ".join(missing)
        msg = f"mode {mode!r}: {kind} has no {lacks}; a mode plans its stages in next_stage(view)"
        raise ConfigurationError(msg, hint="Inherit from BaseModeStrategy, which has all but next_stage.")


class ModeRegistry:
    """Knows debate modes by name; starts with the built-in ones.

    Args:
        builtin: Whether to start with the built-in modes.

    Example:
        >>> ModeRegistry().get_available_modes()
        ('collaborative',)
    """

    def __init__(self, *, builtin: bool = True) -> None:
        self.registry: Registry[DebateModeStrategy] = Registry("mode", planned=PLANNED_MODES)
        if builtin:
            self.reset()

    def register_mode(self, mode: str, strategy: DebateModeStrategy, *, summary: str = "") -> None:
        """Add a mode, replacing one of the same name.

        Raises:
            ConfigurationError: The strategy plans no stages, lacks another part of `DebateModeStrategy`, or
                is a class.
        """
        check_mode(mode, strategy)
        self.registry.add(mode, strategy, summary=summary, replace=True)

    def get_mode(self, mode: str) -> DebateModeStrategy:
        """Give a mode.

        Raises:
            ConfigurationError: It is unknown; the message lists those available.
        """
        return self.registry.get(mode)

    def has_mode(self, mode: str) -> bool:
        """Tell whether a mode is known."""
        return mode in self.registry

    def get_available_modes(self) -> tuple[str, ...]:
        """List the modes in the order they were added."""
        return self.registry.names()

    def remove_mode(self, mode: str) -> bool:
        """Forget a mode; tell whether it was known."""
        return self.registry.remove(mode)

    def clear(self) -> None:
        """Forget all modes."""
        self.registry.clear()

    def reset(self) -> None:
        """Go back to the built-in modes."""
        self.registry.clear()
        for name, kind, summary in BUILTIN_MODES:
            self.registry.add(name, kind(), summary=summary)


@cache
def get_global_mode_registry() -> ModeRegistry:
    """Give the registry shared by code that was handed none. The library itself never uses it."""
    return ModeRegistry()


def reset_global_mode_registry() -> None:
    """Forget the shared registry; the next call makes a fresh one."""
    get_global_mode_registry.cache_clear()
