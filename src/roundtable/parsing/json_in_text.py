"""Find JSON objects in a model's text, in linear time and without guesses."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pydantic_core

from roundtable.core.base.text import well_formed
from roundtable.parsing.formulas import restore_commands
from roundtable.parsing.slips import double_lone_backslashes, literal_end, without_slips
from roundtable.reading.thoughts import answer_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = [
    "MAX_CHARS",
    "MAX_OBJECTS",
    "MAX_REPAIRS",
    "Document",
    "RepairBudget",
    "Scan",
    "ends_with",
    "find_document",
    "guess_object",
    "is_json_like",
    "last_comma",
    "literal_span",
    "outermost",
    "parse_object",
    "parse_slips",
    "scan",
    "unsure_members",
]


# The brace of an object is followed by a quote, a bare key or the closing brace, so `{ x + 1 }` is prose.
# All repeats are possessive, so that no input causes backtracking.
_START = re.compile(r"\{(?=\s*+(?:[\"'}\u201c\u2018]|[A-Za-z_]\w*+\s*+:))")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"{_STRING}|[{{}}]", re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
# A percentage, a bound, a fraction or a range as the value of a member: `90%`, `<0.5`, `8 out of 10`, `0.7 to 0.9`.
_FIGURE = re.compile(
    rf"{_STRING}|(?<=[\"'\u201d\u2019])(?P<colon>\s*+:\s*+)"
    r"(?P<figure>[<>\u2264\u2265]\s*+[+-]?[0-9.]++|[+-]?[0-9][0-9.]*+\s*+(?:%|[a-z][\w .]*+))(?=\s*+[,}])",
    re.DOTALL | re.IGNORECASE,
)
# Signs of Chinese, Japanese and Arabic keyboards between members.
_WIDE_SIGN = re.compile(rf"{_STRING}|(?<=[\"0-9\]}}el])[\uff1a\uff0c\u060c]", re.DOTALL)
_ASCII_SIGNS = {"\uff1a": ":", "\uff0c": ",", "\u060c": ","}
_MEMBER = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)

MAX_CHARS = 1_048_576
"""Text beyond this many characters is ignored."""
MAX_OBJECTS = 256
"""Only the last ones of more objects are read."""
_MAX_TOKENS = 200_000
_MAX_RESTARTS = 8
MAX_REPAIRS = 8
"""At most so many objects of one text are repaired."""
_MAX_REPAIR_CHARS = 32_768
_MAX_REPAIR_PARTS = 64
_MAX_DIGITS = 300
_BIGGEST = 10**_MAX_DIGITS
_NO_CONTROLS = dict.fromkeys(range(32), " ")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019")
_VALUE_ENDS = re.compile(r"\s*+(?:[,;]?\s*+(?:\}|[\"'\u201c\u2018]?[A-Za-z_][\w \-]*+[\"'\u201d\u2019]?\s*+:|/[/*]|#))")
_LITERAL = re.compile(r"\{\s*+[rRuU]?'")
_AT_END = re.compile(r"[\s`]*+\Z")
# Also a JSON text within a JSON text.
_JSON_OPENS = re.compile(r"(?:`++\w*+\s*+)?[\"\\]*+(?:\{(?:\s|\\++[nrt])*+\\*+[\"'{}]|\[\s*+\\*+[\"'{\[])")


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one pass over a text."""

    before: list[tuple[int, int]]
    """Outermost objects in order; if there is `unclosed`, only the objects before it."""
    unclosed: int | None
    """Start of an object without an end; it may be prose."""
    inside: list[tuple[int, int]]
    """Objects that begin and end after `unclosed`."""
    tokens: int
    """Number of braces and strings that were read."""


def scan(text: str, at: int, budget: int) -> Scan:
    """Find the objects from an index on; reads at most `budget` braces and strings."""
    tokens = 0
    closed: list[tuple[int, int]] = []
    # Start of each open brace, and the number of closed objects before it.
    open_at: list[tuple[int, int]] = []
    while tokens < budget:
        match = (_TOKEN if open_at else _START).search(text, at)
        if match is None:
            break
        tokens += 1
        at = match.end()
        char = text[match.start()]
        if char == "{":
            open_at.append((match.start(), len(closed)))
        elif char == "}":
            start, before = open_at.pop()
            del closed[before:]
            closed.append((start, at))
    if not open_at:
        return Scan(closed, None, [], tokens)
    start, before = open_at[0]
    return Scan(closed[:before], start, closed[before:], tokens)


def last_comma(text: str) -> int:
    """Return the index of the last comma between members of the object at the start of `text`, or 1."""
    depth, comma, at = 0, 1, 0
    # Commas in nested values are never matched, so a long list takes almost no time.
    while match := (_MEMBER if depth == 1 else _BRACKET).search(text, at):
        at = match.end()
        char = match.group()
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
        elif char == ",":
            comma = match.start()
    return comma


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object found in a text."""

    fields: JsonObject
    """Members of the object. Strings have no unpaired surrogates, and numbers are finite."""
    partial: frozenset[str]
    """Members that are cut off, or may be. Their values in `fields` are incomplete: a text has only its first part, an
    object lacks its last member, and any other value is `None`."""
    repaired: bool
    """Whether the object was not valid JSON and had to be repaired."""
    truncated: bool
    """Whether the text broke off before the end of the object."""
    span: tuple[int, int]
    """Start and end of the object in the text."""
    contradicted: frozenset[str] = frozenset()
    """Names to which one object, at any depth, assigns several different values; `fields` has the last value."""
    guessed: bool = False
    """Whether the repair guessed where the texts of the object end."""


def find_document(text: str, wanted: Callable[[JsonObject], bool]) -> Document | None:
    """Return the last object of the wanted shape.

    If the end of the text cuts off an object, that object is the last one. Otherwise, valid JSON has priority, and the
    last valid object counts, since models quote before they conclude. Only if no object is valid, an object with slips
    (trailing commas, single quotes, quotes within quotes) is repaired, again the last one first. An object within
    another object is part of it and is never returned by itself.

    Objects in thoughts before the answer are drafts and don't count. If the thoughts have no end, an object counts only
    if the text ends with it.

    Args:
        text: The model's text, which may have code fences and prose around the object.
        wanted: Checks whether an object has the required members.

    Example:
        >>> text = 'I first thought {"level": 1}, but it is {"level": 2,}'
        >>> find_document(text, lambda fields: "level" in fields).fields
        {'level': 1}
        >>> find_document("no object", bool) is None
        True
    """
    text = well_formed(text[:MAX_CHARS])
    start = answer_start(text)
    document = _last_document(text, start or 0, wanted)
    if start is None and document is not None and not ends_with(text, document):
        return None
    return document


def ends_with(text: str, document: Document) -> bool:
    """Check whether a text ends with a whole object; white space and a fence may follow it."""
    return not document.truncated and _AT_END.match(text, document.span[1]) is not None


def _last_document(text: str, at: int, wanted: Callable[[JsonObject], bool]) -> Document | None:
    """Return the last object of the wanted shape from an index on."""
    spans, tail = outermost(text, at)
    if tail is not None and wanted(tail.fields):
        return tail
    for span in reversed(spans):
        document = parse_object(text[slice(*span)], span)
        if document is not None and wanted(document.fields):
            return document
    exact, guesses = RepairBudget(), RepairBudget()
    for span in reversed(spans):
        raw = text[slice(*span)]
        document = parse_slips(raw, span, exact) or guess_object(raw, span, guesses)
        if document is not None and wanted(document.fields):
            return document
    return None


def is_json_like(text: str) -> bool:
    """Check whether a text begins like JSON, or whether at least half of it is one JSON object."""
    if _JSON_OPENS.match(text.lstrip()):
        return True
    spans, tail = outermost(well_formed(text[:MAX_CHARS]))
    if tail is not None:
        spans.append(tail.span)
    return any(2 * (end - start) >= len(text) for start, end in spans)


def outermost(text: str, at: int = 0) -> tuple[list[tuple[int, int]], Document | None]:
    """Return the spans of the last outermost objects from an index on and, if the text breaks off in one, that object.

    An opening brace without an end may be prose, or a stray quote may hide the rest of the text. So the search starts
    again after the brace, but only a few times.
    """
    spans: list[tuple[int, int]] = []
    budget = _MAX_TOKENS
    inside: list[tuple[int, int]] = []
    for _ in range(_MAX_RESTARTS):
        scanned = scan(text, at, budget)
        spans += scanned.before
        inside = scanned.inside
        if scanned.unclosed is None:
            break
        tail = _parse_truncated(text, scanned.unclosed)
        if tail is not None:
            return spans[-MAX_OBJECTS:], tail
        at, budget = scanned.unclosed + 1, budget - scanned.tokens
        end = text.rfind("}", at) + 1
        if end:
            spans.append((scanned.unclosed, end))
    else:
        spans += inside
    return spans[-MAX_OBJECTS:], None


def _strict(text: str, contradicted: set[str] | None = None) -> JsonObject | None:
    """Parse valid JSON. Line breaks within strings are accepted, since their meaning is clear.

    Args:
        text: The text.
        contradicted: Collects the names to which an object assigns several different values.
    """

    def to_object(members: list[tuple[str, JsonValue]]) -> JsonObject:
        fields = dict(members)
        if contradicted is not None and len(fields) < len(members):
            contradicted.update(name for name, value in members if fields[name] != value)
        return fields

    try:
        value = json.loads(
            text,
            strict=False,
            parse_constant=lambda _: None,
            parse_float=_finite,
            parse_int=_whole_number,
            object_pairs_hook=to_object,
        )
        return _members(value)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _whole_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def _repair_text(raw: str) -> str:
    """Return the text with its slips repaired, or the unchanged text if that fails."""
    # Imported only when used, since most answers need no repair.
    from json_repair import repair_json

    try:
        return repair_json(raw)
    except Exception:  # noqa: BLE001  (on some texts, an assertion of the library fails)
        return raw


def _quoted_figure(match: re.Match[str]) -> str:
    """Return a figure without quotes as text, since the repair would read `90%` as 90, and `8 out of 10` as 8."""
    return match[0] if match["figure"] is None else f'{match["colon"]}"{match["figure"].strip()}"'


class RepairBudget:
    """What the repair of the objects of one text may still cost, since it may take more than linear time."""

    def __init__(self) -> None:
        """Start with the whole budget."""
        self._objects = MAX_REPAIRS
        self._chars = _MAX_REPAIR_CHARS

    def allows(self, raw: str) -> bool:
        """Charge the repair of an object, and return whether it may be repaired."""
        self._objects -= 1
        self._chars -= len(raw)
        return self._objects >= 0 and self._chars >= 0 and raw.count("{") + raw.count("[") <= _MAX_REPAIR_PARTS


def parse_object(raw: str, span: tuple[int, int]) -> Document | None:
    r"""Return an object of valid JSON; `None` if it is not valid.

    A backslash that begins no escape, such as in `\alpha`, is read as itself, since that is its only meaning.

    Args:
        raw: The text of the object.
        span: Where the object is in the whole text.
    """
    contradicted: set[str] = set()
    fields, repaired = _strict(raw, contradicted), False
    if fields is None and "\\" in raw:
        contradicted.clear()
        fields, repaired = _strict(double_lone_backslashes(raw), contradicted), True
    if fields is None:
        return None
    return Document(
        fields, frozenset(), repaired=repaired, truncated=False, span=span, contradicted=frozenset(contradicted)
    )


def literal_span(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of an object in the syntax of Python, whose texts may have braces; `None` if it has no end.

    Args:
        text: The text.
        start: Index of the opening brace.
    """
    end = literal_end(text, start, start + _MAX_REPAIR_CHARS) if _LITERAL.match(text, start) else None
    return None if end is None else (start, end)


def parse_slips(raw: str, span: tuple[int, int], budget: RepairBudget) -> Document | None:
    """Return an object whose slips have one meaning; `None` if it has others, or if that would take too long.

    Args:
        raw: The text of the object, which is not valid JSON.
        span: Where the object is in the whole text.
        budget: What may still be spent.
    """
    contradicted: set[str] = set()
    fields = _strict(without_slips(raw), contradicted) if budget.allows(raw) else None
    if fields is None or len(fields) > _MAX_REPAIR_PARTS:
        return None
    names = frozenset(contradicted)
    return Document(fields, frozenset(), repaired=True, truncated=False, span=span, contradicted=names)


def guess_object(raw: str, span: tuple[int, int], budget: RepairBudget) -> Document | None:
    """Return an object with slips, such as quotes within quotes, as it was most likely meant.

    Args:
        raw: The text of the object, which is not valid JSON.
        span: Where the object is in the whole text.
        budget: What may still be spent.
    """
    if not budget.allows(raw):
        return None
    if '"' not in raw and "\u201c" in raw:
        raw = raw.replace("\u201c", '"').replace("\u201d", '"')
    if '"' in raw:
        raw = _WIDE_SIGN.sub(lambda match: _ASCII_SIGNS.get(match[0], match[0]), raw)
    raw = _FIGURE.sub(_quoted_figure, raw)
    fields = _strict(_repair_text(raw))
    if fields is None or len(fields) > _MAX_REPAIR_PARTS:
        return None
    return Document(fields, unsure_members(raw, fields), repaired=True, truncated=False, span=span, guessed=True)


def unsure_members(raw: str, fields: JsonObject) -> frozenset[str]:
    """Return the members whose texts a repair may have closed at the wrong place."""
    return frozenset(
        name for name, value in fields.items() if isinstance(value, str) and not _is_complete_string(raw, value)
    )


def _is_complete_string(raw: str, value: str) -> bool:
    """Check whether a repaired string is in quotes and is followed by the next member or the end.

    The repair closes a string wherever that seems right, which may be in the middle of the string.
    """
    for spelling in (value, json.dumps(value, ensure_ascii=False)[1:-1]):
        for quotes in _QUOTES:
            at = raw.rfind(quotes[0] + spelling + quotes[1])
            if at >= 0 and _VALUE_ENDS.match(raw, at + len(spelling) + 2):
                return True
    return False


def _parse_truncated(text: str, start: int) -> Document | None:
    """Parse an object without its end; `None` if the existing part is not JSON."""
    remainder = double_lone_backslashes(text[start:])
    try:
        parsed = pydantic_core.from_json(remainder, allow_partial="trailing-strings")
    except ValueError as error:
        if "control character" not in str(error):
            return None
        # A line break within a string, which is also accepted in complete objects.
        remainder = remainder.translate(_NO_CONTROLS)
        try:
            parsed = pydantic_core.from_json(remainder, allow_partial="trailing-strings")
        except ValueError:
            return None
    complete = _complete_members(remainder)
    partial: JsonObject = {
        name: _whole_part(value)
        for name, value in (_members(parsed) or {}).items()
        if name not in complete or complete[name] != value
    }
    span = (start, len(text))
    return Document(complete | partial, frozenset(partial), repaired=True, truncated=True, span=span)


def _whole_part(value: JsonValue) -> JsonValue:
    """Return the usable part of a value that is cut off."""
    if isinstance(value, dict):
        return dict(list(value.items())[:-1])
    return value if isinstance(value, str) else None


def _complete_members(remainder: str) -> JsonObject:
    """Parse the complete members of an object that is cut off; a number at the end of the text may lack digits."""
    complete = None if remainder[-1] in "0123456789" else _strict(remainder + "}")
    if complete is None:
        complete = _strict(remainder[: last_comma(remainder)] + "}")
    return complete or {}


def _members(value: JsonValue) -> JsonObject | None:
    cleaned = _clean_value(value)
    return cleaned if isinstance(cleaned, dict) else None


def _clean_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return restore_commands(well_formed(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if -_BIGGEST < value < _BIGGEST else None
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(str(name)): _clean_value(item) for name, item in value.items()}
    return value
