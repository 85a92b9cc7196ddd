"""What JSON from outside may contain: objects with distinct names, and no more levels than can be read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

__all__ = ["MOST_DEPTH", "TOO_DEEP", "is_too_deep", "shallow", "unique_names"]

J = TypeVar("J")

MOST_DEPTH: Final = 64
"""Maximum number of levels to which objects and lists may be nested. Stored events and results add levels of their
own; pydantic reads JSON of at most 200 levels, and writes at most 255."""
TOO_DEEP: Final = f"nested more than {MOST_DEPTH} levels deep"
"""Description of a value that is nested too deeply, for messages."""


def is_too_deep(value: object, levels: int = MOST_DEPTH) -> bool:
    """Check whether objects and lists are nested more than 64 levels deep, or more than another number of levels.

    The check is not recursive, since recursion could exceed the stack.

    Example:
        >>> is_too_deep([{"a": [1]}]), is_too_deep([{"a": [1]}], 2)
        (False, True)
    """
    level: list[object] = [value]
    for _ in range(levels + 1):
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


def unique_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the names and values of a JSON object; the argument `object_pairs_hook` of `json.loads`.

    Raises:
        ValueError: A name occurs twice. Parsers differ in which value they take.

    Example:
        >>> import json
        >>> json.loads('{"rounds": 1, "rounds": 9}', object_pairs_hook=unique_names)
        Traceback (most recent call last):
        ValueError: the name 'rounds' occurs twice in one object
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        duplicate = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {duplicate[:100]!r} occurs twice in one object")
    return fields
