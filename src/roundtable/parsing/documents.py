"""Finding JSON objects in what a model wrote, in linear time and without guessing."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pydantic_core
from json_repair import repair_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundtable.types import JsonValue

__all__ = ["Document", "find_document"]

MAX_CHARS = 1_048_576
"""Text beyond this many characters is not looked at."""
_MAX_REPAIR_CHARS = 65_536
_MAX_STARTS = 64
_OBJECT_START = re.compile(r"\{(?=\s*[\"'}A-Za-z_“])")
_DIGITS = 400


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object found in a text."""

    fields: dict[str, JsonValue]
    """Its members; strings hold no unpaired surrogates, numbers are finite."""
    partial: frozenset[str]
    """Members whose text was cut off."""
    repaired: bool
    """Whether it was not valid JSON as it stood."""
    span: tuple[int, int]
    """Where it stands in the text."""


def find_document(text: str, wanted: Callable[[dict[str, JsonValue]], bool]) -> Document | None:
    """Give the last object of the wanted shape.

    Valid JSON comes first; among several valid objects the last one counts, since models quote
    before they conclude. Only when none is valid, an object with slips (trailing commas, single
    quotes, missing end) is repaired, again the last one first.

    Args:
        text: What the model wrote, code fences and prose around it included.
        wanted: Tells whether an object has the members looked for.
    """
    text = text[:MAX_CHARS]
    spans = list(_balanced_spans(text))
    for start, end in reversed(spans):
        fields = _strict(text[start:end])
        if fields is not None and wanted(fields):
            return Document(fields, frozenset(), repaired=False, span=(start, end))
    for start, end in reversed(spans):
        fields = _repair(text[start:end])
        if fields is not None and wanted(fields):
            return Document(fields, frozenset(), repaired=True, span=(start, end))
    return _truncated(text, spans[-1][1] if spans else 0, wanted)


def _balanced_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield outermost `{...}` spans; a start that never closes is passed over, 64 of them at most."""
    at, tries = 0, 0
    while tries < _MAX_STARTS:
        match = _OBJECT_START.search(text, at)
        if match is None:
            return
        start = match.start()
        end = _closing(text, start)
        if end is None:
            tries += 1
            at = start + 1
        else:
            yield start, end
            at = end


_STRUCTURE = re.compile(r"[{}\"\\]")


def _closing(text: str, start: int) -> int | None:
    depth, in_string, at = 0, False, start
    while True:
        match = _STRUCTURE.search(text, at)
        if match is None:
            return None
        char, at = match.group(), match.end()
        if char == "\\":
            at += in_string
        elif char == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if char == "{" else -1
            if depth == 0:
                return at


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _strict(text: str) -> dict[str, JsonValue] | None:
    try:
        value = json.loads(
            text, parse_constant=lambda _: None, parse_float=lambda raw: _finite(float(raw)), parse_int=_number
        )
    except (ValueError, RecursionError):
        return None
    return _clean(value)


def _repair(text: str) -> dict[str, JsonValue] | None:
    if len(text) > _MAX_REPAIR_CHARS or text.count("{") + text.count("[") > _MAX_STARTS:
        return None
    try:
        value = json.loads(repair_json(text), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return _clean(value)


def _truncated(text: str, after: int, wanted: Callable[[dict[str, JsonValue]], bool]) -> Document | None:
    """Read an object whose end is missing: whole members as they are, the cut one marked as partial."""
    match = _OBJECT_START.search(text, after)
    if match is None:
        return None
    rest = text[match.start() :]
    try:
        cut = pydantic_core.from_json(rest, allow_partial="trailing-strings", allow_inf_nan=False)
        whole = pydantic_core.from_json(rest, allow_partial=True, allow_inf_nan=False)
    except ValueError:
        return None
    fields, kept = _clean(cut), _clean(whole)
    if fields is None or kept is None or not wanted(fields):
        return None
    partial = frozenset(name for name in fields if name not in kept or kept[name] != fields[name])
    return Document(fields, partial, repaired=True, span=(match.start(), len(text)))


def _clean(value: JsonValue) -> dict[str, JsonValue] | None:
    if not isinstance(value, dict):
        return None
    return {str(name): _well_formed(item) for name, item in value.items()}


def _well_formed(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _well_formed(item) for name, item in value.items()}
    return value
