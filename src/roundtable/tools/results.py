"""From what a tool gave to what a model is told: JSON, and not too much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_core import PydanticSerializationError, from_json, to_json

from roundtable._foreign import error_text
from roundtable.types import ToolResult

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["MOST_RESULT_BYTES", "capped", "failed", "to_result", "unfit"]

MOST_RESULT_BYTES: Final = 20_000
"""Bytes of JSON that a model is told of one result."""
_MOST_ERROR_CHARS: Final = 500


def to_result(given: object) -> ToolResult:
    """Make a result of whatever a tool returned.

    Figures that are no numbers become their names, as JSON has none; models, dataclasses and times become JSON.

    Raises:
        ValueError: It fits into no JSON: bytes that are no text, an endless structure, an object of a foreign kind.

    Example:
        >>> to_result({"share": float("nan")}).data
        {'share': 'NaN'}
    """
    if isinstance(given, ToolResult):
        return capped(given)
    try:
        text = to_json(given, by_alias=True, inf_nan_mode="strings")
        short = len(text) <= MOST_RESULT_BYTES
        return ToolResult(success=True, data=from_json(text) if short else _cut(given, text))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        msg = f"what the tool returned ({type(given).__name__}) does not fit into JSON: {error}"
        raise ValueError(msg) from error


def capped(result: ToolResult) -> ToolResult:
    """Give a result whose data are at most 20 kB of JSON; longer ones become the beginning of that text."""
    text = to_json(result.data)
    if len(text) > MOST_RESULT_BYTES:
        result = result.model_copy(update={"data": _cut(result.data, text)})
    if len(result.error or "") > _MOST_ERROR_CHARS:
        result = result.model_copy(update={"error": (result.error or "")[:_MOST_ERROR_CHARS]})
    return result


def _cut(data: object, text: bytes) -> str:
    """Give the beginning of a text, or of the JSON of something else: so much that its own JSON is short enough."""
    text = data.encode() if isinstance(data, str) else text
    room = MOST_RESULT_BYTES
    while len(to_json(begun := text[:room].decode(errors="ignore"))) > MOST_RESULT_BYTES + 2:
        room = room * MOST_RESULT_BYTES // len(to_json(begun)) - 1
    return f"{begun} … (cut)"


def unfit(error: ValidationError) -> ToolResult:
    """Give the result of a call whose arguments a model of pydantic refused, in words that a model can use."""
    faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
    return failed(f"the arguments do not fit: {'; '.join(faults)}")


def failed(error: BaseException | str) -> ToolResult:
    """Give the result of a tool that did not do its work.

    Example:
        >>> failed(ValueError("no such city")).error
        'ValueError: no such city'
    """
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error_text(error)}"
    return ToolResult(success=False, error=text.encode("utf-8", "replace").decode()[:_MOST_ERROR_CHARS])
