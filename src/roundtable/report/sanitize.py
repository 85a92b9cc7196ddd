"""Sanitizing of text: removes control characters and Markdown marks, and allows only web and mail links."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from roundtable.core.base.addresses import split_address

__all__ = ["INLINE_MARKUP", "plain", "safe_url", "unmarked"]

_SAFE_SCHEMES: Final = {"http", "https", "mailto"}
_LINE_BREAKS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN: Final = {"Cc", "Cf", "Cs"}
# Line breaks and tabs are handled separately. Persian, Indic scripts and emoji need the two joiners.
_ALLOWED: Final = "\n\t\u200c\u200d"

INLINE_MARKUP: Final = re.compile(
    r"""
    (?=[*`!\[h])(?:                                     # most characters begin no mark: skip them at once
    (?<!\w)\*\*([^*\s](?:[^*]*[^*\s])?)\*\*(?!\w)      # strong
    | (?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?!\w)     # emphasis
    | `([^`]+)`                                         # code
    | !?\[([^\[\]]+)\]\(([^()\s]{1,2000})\)            # a link, or a picture, which is shown as a link
    | (?<!\w)(https?://[^\s<>()\[\]"'`*]{1,2000})      # an address
    )
    """,
    re.VERBOSE,
)
"""The Markdown marks within a line that reports render."""
_HEADING: Final = re.compile(r"^[ ]*#{1,6}[ ]+(?=\S)", re.MULTILINE)
_QUOTE: Final = re.compile(r"^[ ]*(?:>[ ]?)+(?=\S)", re.MULTILINE)


def plain(text: str, *, lines: bool = False) -> str:
    """Remove control, format and surrogate characters; unless `lines` is set, also put the text on one line."""
    if not text.isprintable():
        text = _LINE_BREAKS.sub("\n", text)
        dropped = {ord(char): None for char in set(text) if _is_hidden(char)}
        text = text.translate({**dropped, ord("\t"): " "})
    return text if lines else " ".join(text.split())


def _is_hidden(char: str) -> bool:
    return not char.isprintable() and char not in _ALLOWED and unicodedata.category(char) in _HIDDEN


def safe_url(url: str) -> str | None:
    """Return the URL without control characters if its scheme is http, https or mailto; else `None`."""
    cleaned = url
    if not url.isprintable():
        cleaned = "".join(char for char in url if unicodedata.category(char) not in _HIDDEN)
    cleaned = re.sub(r"\s", "%20", cleaned.strip())
    try:
        return cleaned if split_address(cleaned).scheme.lower() in _SAFE_SCHEMES else None
    except ValueError:
        return None


def unmarked(text: str) -> str:
    """Return text without Markdown marks, for output without markup, such as a terminal.

    A `>` at the start of a line is a quotation only in texts of several lines, since an answer may be `> 5 %`.

    Example:
        >>> unmarked("**Tabs**: see [the study](https://example.org)")
        'Tabs: see the study'
        >>> unmarked("> 5 %"), unmarked("2**3**4")
        ('> 5 %', '2**3**4')
    """
    lines = _HEADING.sub("", text)
    return INLINE_MARKUP.sub(_without_marks, _QUOTE.sub("", lines) if "\n" in text else lines)


def _without_marks(match: re.Match[str]) -> str:
    strong, emphasis, code, label, _, address = match.groups()
    return next(part for part in (strong, emphasis, code, label, address) if part is not None)
