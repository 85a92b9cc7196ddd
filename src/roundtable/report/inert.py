"""Text that does nothing: no control character, no hidden direction, and links to the web and to mail alone."""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

__all__ = ["plain", "safe_url"]

_SAFE_SCHEMES: Final = {"http", "https", "mailto"}
_LINE_BREAKS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN: Final = {"Cc", "Cf", "Cs"}
# Line breaks and tabs are seen to; the joiners belong to the spelling of Persian, Indic scripts and emoji.
_SPELT: Final = "\n\t\u200c\u200d"


def plain(text: str, *, lines: bool = False) -> str:
    """Drop control, format and surrogate characters; fold line breaks unless `lines` are kept."""
    if not text.isprintable():
        text = _LINE_BREAKS.sub("\n", text)
        dropped = {ord(char): None for char in set(text) if _is_hidden(char)}
        text = text.translate({**dropped, ord("\t"): " "})
    return text if lines else " ".join(text.split())


def _is_hidden(char: str) -> bool:
    return not char.isprintable() and char not in _SPELT and unicodedata.category(char) in _HIDDEN


def safe_url(url: str) -> str | None:
    """Give the URL if its scheme is http, https or mailto once controls are stripped; else `None`."""
    bare = "".join(char for char in url if unicodedata.category(char) not in _HIDDEN)
    bare = re.sub(r"\s", "%20", bare.strip())
    try:
        return bare if urlsplit(bare).scheme.lower() in _SAFE_SCHEMES else None
    except ValueError:
        return None
