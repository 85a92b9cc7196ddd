"""How deep JSON values from outside may be nested: a deeper value could be stored, but no longer read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

__all__ = ["MOST_DEPTH", "TOO_DEEP", "is_too_deep", "shallow"]

J = TypeVar("J")

MOST_DEPTH: Final = 64
"""Maximum number of levels to which objects and lists may be nested. Stored events and results add levels of their
own; pydantic reads JSON of at most 200 levels, and writes at most 255."""
TOO_DEEP: Final = f"nested more than {MOST_DEPTH} levels deep"
"""Description of a value that is nested too deeply, for messages."""


def is_too_deep(value: object) -> bool:
    """Check whether objects and lists are nested more than 64 levels deep.

    The check is not recursive, since recursion could exceed the stack.

    Example:
        >>> is_too_deep([{"a": [1]}])
        False
    """
    level: list[object] = [value]
    for _ in range(MOST_DEPTH + 1):
        # One that occurs several times in a level counts once, so that shared values cost no more than others.
        containers = {id(outer): outer for outer in level if isinstance(outer, Mapping | list | tuple)}.values()
        if not containers:
            return False
        level = [inner for outer in containers for inner in (outer.values() if isinstance(outer, Mapping) else outer)]
    return True


def shallow(value: J) -> J | str:
    """Return a value; a text that states why it is missing if it is nested too deeply.

    Example:
        >>> shallow([1])
        [1]
    """
    return f"left out: {TOO_DEEP}" if is_too_deep(value) else value
