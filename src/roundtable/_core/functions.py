"""Checks of functions that callers pass as arguments."""

from __future__ import annotations

import inspect

__all__ = ["is_async"]


def is_async(function: object) -> bool:
    """Check whether a function, or the `__call__` of an object, is `async`."""
    call = getattr(type(function), "__call__", None)  # noqa: B004  (the method itself is needed)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
