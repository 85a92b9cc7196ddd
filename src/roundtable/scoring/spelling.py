"""When two spellings name the same option: a named, pure step before anything is counted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal, TypeAlias

from roundtable.errors import ConfigurationError
from roundtable.scoring.precise import exact_or_none

__all__ = ["Normalise", "casefold", "normalise", "normaliser"]

Normalise: TypeAlias = Literal["casefold", "exact", "numeric"] | Callable[[str], str]
"""How spellings are compared: a built-in way by name, or a function from spelling to key."""

# "C#" is not "C" and "5%" is not "5": these stay at the end of a word.
_KEPT_AT_END = "#%‰"
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def casefold(text: str) -> str:
    """Fold case, width and compatibility forms, collapse white space, strip outer punctuation.

    NFKC, Unicode case folding, NFKC again. Of outer punctuation these stay: a sign or
    decimal point before a digit (`-5` is not `5`), and `#`, `%` and `‰` at the end. Text that is all
    punctuation stays as it is, so that `+` and `-` are two options. Idempotent.

    Example:
        >>> casefold("  **Yes.** "), casefold("C#."), casefold("-5")
        ('yes', 'c#', '-5')
    """
    if text.isascii():  # most texts are, and hold nothing to normalise
        folded = text.casefold()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    collapsed = " ".join(folded.split())
    return _strip(collapsed) or collapsed


def _is_outer(character: str) -> bool:
    return not character.isalnum() and (character in " `" or unicodedata.category(character).startswith("P"))


def _strip(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _is_outer(text[start]) and not _is_number(text, start):
        start += 1
    while end > start and _is_outer(text[end - 1]) and text[end - 1] not in _KEPT_AT_END:
        end -= 1
    return text[start:end]


def _is_number(text: str, start: int) -> bool:
    """Tell whether a sign or decimal point stands directly before a digit."""
    if text[start] == "." or unicodedata.category(text[start]) == "Pd":
        rest = text[start + 1 : start + 3]
        return rest[:1].isdigit() or (text[start] != "." and rest[:1] == "." and rest[1:].isdigit())
    return False


def _exact(text: str) -> str:
    return text


def _numeric(text: str) -> str:
    """Read numbers by value, all else by `casefold`."""
    folded = casefold(text)
    number = folded.replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    percent = number.endswith("%")
    digits = number.removesuffix("%").strip()
    value = exact_or_none(digits.replace(",", "") if _GROUPED.fullmatch(digits) else digits)
    if value is None:
        return folded
    return str(value / 100 if percent else value)


_BUILT_IN: dict[str, Callable[[str], str]] = {"casefold": casefold, "exact": _exact, "numeric": _numeric}


def normaliser(how: Normalise = "casefold") -> Callable[[str], str]:
    """Give the function behind a way of comparing spellings.

    Raises:
        ConfigurationError: There is no such way.
    """
    if callable(how):
        return how
    found = next((function for name, function in _BUILT_IN.items() if name == how), None)
    if found is None:
        raise ConfigurationError(f"unknown normalisation {how!r}; use 'casefold', 'exact', 'numeric' or a function")
    return found


def normalise(text: str, how: Normalise = "casefold") -> str:
    """Give the key under which a spelling is counted.

    Args:
        text: The spelling.
        how: `"casefold"` as the function of that name; `"exact"` changes nothing; `"numeric"` compares numbers by
            value (`4`, `4.0`, `4e0`, `8/2` and `400%` are one; `1,000` is a thousand) and other text as `casefold`;
            a function gives its own key.

    Raises:
        ConfigurationError: There is no such way.

    Example:
        >>> normalise("Alpha."), normalise("4.0", "numeric"), normalise("Alpha.", "exact")
        ('alpha', '4', 'Alpha.')
    """
    return normaliser(how)(text)
