"""Finding JSON objects in what a model wrote, in linear time and without guessing."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pydantic_core
from json_repair import repair_json

from roundtable._foreign import well_formed
from roundtable.parsing.spans import last_comma, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.types import JsonObject, JsonValue

__all__ = ["MAX_CHARS", "Document", "find_document", "is_json_like"]

MAX_CHARS = 1_048_576
"""Text beyond this many characters is not looked at."""
_MAX_TOKENS = 200_000
_MAX_RESTARTS = 8
_MAX_OBJECTS = 256
_MAX_REPAIRS = 8
_MAX_REPAIR_CHARS = 32_768
_MAX_REPAIR_PARTS = 64
_MAX_DIGITS = 300
_BIGGEST = 10**_MAX_DIGITS
_NO_CONTROLS = dict.fromkeys(range(32), " ")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019")
_VALUE_ENDS = re.compile(r"\s*+(?:[,;]?\s*+(?:\}|[\"'\u201c\u2018]?[A-Za-z_][\w \-]*+[\"'\u201d\u2019]?\s*+:)|/[/*])")
_JSON_OPENS = re.compile(r"(?:`++\w*+\s*+)?(?:\{\s*+[\"'{}]|\[\s*+[\"'{\[])")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object found in a text."""

    fields: JsonObject
    """Its members; strings hold no unpaired surrogates, numbers are finite."""
    partial: frozenset[str]
    """Members that are cut off, or whose end cannot be told. Of a text, what there is stands in `fields`;
    of anything else, `None`."""
    repaired: bool
    """Whether it was not valid JSON as it stood."""
    truncated: bool
    """Whether the text broke off before its end."""
    span: tuple[int, int]
    """Where it stands in the text."""


def find_document(text: str, wanted: Callable[[JsonObject], bool]) -> Document | None:
    """Give the last object of the wanted shape.

    Last is one that the end of the text cuts off. Else valid JSON comes first; among several valid
    objects the last one counts, since models quote before they conclude. Only when none is valid, an
    object with slips (trailing commas, single quotes, quotes within quotes) is repaired, again the last
    one first. Objects within an object are part of it and never looked at by themselves.

    Args:
        text: What the model wrote, code fences and prose around it included.
        wanted: Tells whether an object has the members looked for.
    """
    text = well_formed(text[:MAX_CHARS])
    spans, tail = _outermost(text)
    if tail is not None and wanted(tail.fields):
        return tail
    for start, end in reversed(spans):
        fields = _strict(text[start:end])
        if fields is not None and wanted(fields):
            return Document(fields, frozenset(), repaired=False, truncated=False, span=(start, end))
    return _repaired(text, spans, wanted)


def is_json_like(text: str) -> bool:
    """Tell whether a text begins like JSON, or is for the better half one JSON object."""
    if _JSON_OPENS.match(text.lstrip()):
        return True
    spans, tail = _outermost(well_formed(text[:MAX_CHARS]))
    if tail is not None:
        spans.append(tail.span)
    return any(2 * (end - start) >= len(text) for start, end in spans)


def _outermost(text: str) -> tuple[list[tuple[int, int]], Document | None]:
    """List where the last outermost objects stand, and read the one that the text breaks off in.

    A start without an end may be prose, or hide what follows behind a stray quote: the search begins
    again behind it, a few times at most.
    """
    spans: list[tuple[int, int]] = []
    at, budget = 0, _MAX_TOKENS
    inside: list[tuple[int, int]] = []
    for _ in range(_MAX_RESTARTS):
        found = scan(text, at, budget)
        spans += found.before
        inside = found.inside
        if found.unclosed is None:
            break
        tail = _truncated(text, found.unclosed)
        if tail is not None:
            return spans[-_MAX_OBJECTS:], tail
        at, budget = found.unclosed + 1, budget - found.tokens
        end = text.rfind("}", at) + 1
        if end:
            spans.append((found.unclosed, end))
    else:
        spans += inside
    return spans[-_MAX_OBJECTS:], None


def _strict(text: str) -> JsonObject | None:
    """Read valid JSON; line breaks within strings are let pass, since their meaning is plain."""
    try:
        value = json.loads(
            text, strict=False, parse_constant=lambda _: None, parse_float=_finite, parse_int=_whole_number
        )
        return _members(value)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _whole_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def _mend(raw: str) -> str:
    """Give the text with its slips put right, or as it is when that cannot be done."""
    try:
        return repair_json(raw)
    except Exception:  # noqa: BLE001  (on some texts the library trips over its own assertions)
        return raw


def _repaired(text: str, spans: list[tuple[int, int]], wanted: Callable[[JsonObject], bool]) -> Document | None:
    room = _MAX_REPAIR_CHARS
    for start, end in reversed(spans[-_MAX_REPAIRS:]):
        raw = text[start:end]
        room -= len(raw)
        if room < 0 or raw.count("{") + raw.count("[") > _MAX_REPAIR_PARTS:
            continue
        fields = _strict(_mend(raw))
        if fields is not None and wanted(fields) and len(fields) <= _MAX_REPAIR_PARTS:
            unsure = frozenset(
                name for name, value in fields.items() if isinstance(value, str) and not _stands_whole(raw, value)
            )
            return Document(fields, unsure, repaired=True, truncated=False, span=(start, end))
    return None


def _stands_whole(raw: str, value: str) -> bool:
    """Tell whether a repaired text stands between quotes, with the next member or the end behind them.

    Repair closes a text wherever it thinks best, which may be after half of it.
    """
    for spelt in (value, json.dumps(value, ensure_ascii=False)[1:-1]):
        for quotes in _QUOTES:
            at = raw.rfind(quotes[0] + spelt + quotes[1])
            if at >= 0 and _VALUE_ENDS.match(raw, at + len(spelt) + 2):
                return True
    return False


def _truncated(text: str, start: int) -> Document | None:
    """Read an object whose end is missing; `None` if it is not JSON as far as it goes."""
    rest = text[start:]
    try:
        cut = pydantic_core.from_json(rest, allow_partial="trailing-strings")
    except ValueError as error:
        if "control character" not in str(error):
            return None
        # A line break within a string, which is let pass elsewhere, too.
        rest = rest.translate(_NO_CONTROLS)
        try:
            cut = pydantic_core.from_json(rest, allow_partial="trailing-strings")
        except ValueError:
            return None
    whole = _whole_members(rest)
    partial: JsonObject = {
        name: value if isinstance(value, str) else None
        for name, value in (_members(cut) or {}).items()
        if name not in whole or whole[name] != value
    }
    span = (start, len(text))
    return Document(whole | partial, frozenset(partial), repaired=True, truncated=True, span=span)


def _whole_members(rest: str) -> JsonObject:
    """Read the members of a cut object that are complete; a number at the very end may lack digits."""
    whole = None if rest[-1] in "0123456789" else _strict(rest + "}")
    if whole is None:
        whole = _strict(rest[: last_comma(rest)] + "}")
    return whole or {}


def _members(value: JsonValue) -> JsonObject | None:
    cleaned = _cleaned(value)
    return cleaned if isinstance(cleaned, dict) else None


def _cleaned(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if -_BIGGEST < value < _BIGGEST else None
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(str(name)): _cleaned(item) for name, item in value.items()}
    return value
