"""The arguments of a function call that come piece by piece, each with its place.

See https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError

if TYPE_CHECKING:
    from roundtable.types import JsonObject, JsonValue

__all__ = ["put"]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d{1,4})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_DEEPEST: Final = 32


def put(arguments: JsonObject, path: str, value: JsonValue) -> None:
    """Put a value at its place; a text that is there already goes on.

    Raises:
        AgentError: The place cannot be, such as an item far behind the end of a list.

    Example:
        >>> arguments = {}
        >>> put(arguments, "$.items[0].name", "ap"), put(arguments, "$.items[0].name", "ple")
        (None, None)
        >>> arguments
        {'items': [{'name': 'apple'}]}
    """
    steps = _steps(path)
    holder: JsonValue = arguments
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if following is None:
            _set(holder, step, value)
        else:
            holder = _enter(holder, step, [] if isinstance(following, int) else {})


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    place = 1
    while (found := _STEP.match(path, place)) is not None and len(steps) < _DEEPEST:
        name, index, quoted, double = found.groups()
        steps.append(int(index) if index is not None else name or quoted or double or "")
        place = found.end()
    if not steps or place != len(path) or not path.startswith("$"):
        raise AgentError("a piece of a function call has a place that cannot be read")
    return steps


def _enter(holder: JsonValue, step: str | int, empty: JsonValue) -> JsonValue:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, empty)
    if isinstance(holder, list) and isinstance(step, int) and step <= len(holder):
        if step == len(holder):
            holder.append(empty)
        found: JsonValue = holder[step]
        return found
    raise AgentError("a piece of a function call has a place that cannot be")


def _set(holder: JsonValue, step: str | int, value: JsonValue) -> None:
    present = _enter(holder, step, None)
    if isinstance(present, str) and isinstance(value, str):
        value = present + value
    if isinstance(holder, list) and isinstance(step, int):
        holder[step] = value
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
