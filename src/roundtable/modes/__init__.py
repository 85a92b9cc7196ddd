"""Debate modes as pure plans: who speaks, who sees what, what is asked."""

from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.collaborative import CollaborativeMode
from roundtable.modes.registry import (
    BUILTIN_MODES,
    ModeRegistry,
    check_mode,
    get_global_mode_registry,
    reset_global_mode_registry,
)

__all__ = [
    "BUILTIN_MODES",
    "BaseModeStrategy",
    "CollaborativeMode",
    "ModeRegistry",
    "check_mode",
    "get_global_mode_registry",
    "reset_global_mode_registry",
]
