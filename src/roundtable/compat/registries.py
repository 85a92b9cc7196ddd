"""Shared registries, one per process; the library itself never uses them."""

from __future__ import annotations

from functools import cache

from roundtable.agents.registry import AgentRegistry
from roundtable.modes.registry import ModeRegistry

__all__ = ["get_global_mode_registry", "get_global_registry", "reset_global_mode_registry", "reset_global_registry"]


@cache
def get_global_registry() -> AgentRegistry:
    """Return the shared registry of agents, for code without a registry of its own."""
    return AgentRegistry()


def reset_global_registry() -> None:
    """Discard the shared registry of agents; the next call of `get_global_registry` makes a new one."""
    get_global_registry.cache_clear()


@cache
def get_global_mode_registry() -> ModeRegistry:
    """Return the shared registry of modes, for code without a registry of its own."""
    return ModeRegistry()


def reset_global_mode_registry() -> None:
    """Discard the shared registry of modes; the next call of `get_global_mode_registry` makes a new one."""
    get_global_mode_registry.cache_clear()
