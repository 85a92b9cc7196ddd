"""Where JSON objects begin and end in a text, told by braces and strings alone, in one pass."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Scan", "last_comma", "scan"]

# A brace that opens an object has a quote, a bare key or the closing brace behind it: `{ x + 1 }` is prose.
# Repeats are possessive throughout, so that no input makes a match try twice.
_START = re.compile(r"\{(?=\s*+(?:[\"'}\u201c\u2018]|[A-Za-z_]\w*+\s*+:))")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"{_STRING}|[{{}}]", re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_MEMBER = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over a text found."""

    before: list[tuple[int, int]]
    """Outermost objects, in order; those before `unclosed` if there is one."""
    unclosed: int | None
    """Start of an object that does not end; it may be prose."""
    inside: list[tuple[int, int]]
    """Objects that begin and end behind `unclosed`."""
    tokens: int
    """Braces and strings looked at."""


def scan(text: str, at: int, budget: int) -> Scan:
    """Find the objects from a place on, looking at no more than `budget` braces and strings."""
    tokens = 0
    closed: list[tuple[int, int]] = []
    # Start of each open brace, and how many closed objects lie before it.
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
    """Give the place of the last comma between members of the object that `text` begins with, or 1."""
    depth, comma, at = 0, 1, 0
    # Commas further in are passed over without a look: a long list costs nothing.
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
