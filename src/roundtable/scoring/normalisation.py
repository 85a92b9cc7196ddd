"""How spellings of one option are recognised: a named, pure step before anything is counted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from roundtable.core.base.text import normal_form
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.numbers import exact_or_none
from roundtable.scoring.open_answers import MOST_KEY_CHARS, open_key

__all__ = ["Normalise", "casefold", "match_option", "normalise", "normaliser"]


Normalise: TypeAlias = Literal["casefold", "exact", "numeric", "open"] | Callable[[str], str]
"""How spellings are compared: a built-in way by name, or a function from spelling to key."""

# Signs that stay at the end of a word: "C#" is not "C", and "5%" is not "5".
_KEPT_AT_END = "#%‰"
_GROUPED = re.compile(r"[+-]?(?!0)\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def casefold(text: str) -> str:
    """Fold case, width and compatibility forms, collapse white space, strip outer punctuation.

    The text is normalised by NFKC, Unicode case folding, and NFKC again. Some outer punctuation stays: a sign or
    decimal point before a digit (`-5` is not `5`), and `#`, `%` and `‰` at the end. Text that consists of punctuation
    only stays as it is, so that `+` and `-` are two options. In a text of more than 20,000 characters, only white space
    is collapsed. Idempotent.

    Example:
        >>> casefold("  **Yes.** "), casefold("C#."), casefold("-5")
        ('yes', 'c#', '-5')
    """
    if len(text) > MOST_KEY_CHARS and len(text := " ".join(text.split())) > MOST_KEY_CHARS:
        return text
    folded = normal_form(normal_form(text, "NFKC").casefold(), "NFKC")
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
    """Check whether a sign or decimal point stands directly before a digit."""
    if text[start] == "." or unicodedata.category(text[start]) == "Pd":
        following = text[start + 1 : start + 3]
        return following[:1].isdigit() or (text[start] != "." and following[:1] == "." and following[1:].isdigit())
    return False


def _exact(text: str) -> str:
    return text


def _numeric(text: str) -> str:
    """Return one key for numbers of equal value, and the result of `casefold` for all other text."""
    folded = casefold(text)
    number = folded.replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    percent = number.endswith("%")
    digits = number.removesuffix("%").strip()
    value = exact_or_none(digits.replace(",", "") if _GROUPED.fullmatch(digits) else digits)
    if value is None:
        return folded
    return str(value / 100 if percent else value)


_BUILT_IN: dict[str, Callable[[str], str]] = {
    "casefold": casefold,
    "exact": _exact,
    "numeric": _numeric,
    "open": open_key,
}


def normaliser(how: Normalise = "casefold") -> Callable[[str], str]:
    """Return the function that compares spellings in one of the built-in ways, or the caller's own.

    Raises:
        ConfigurationError: The name is unknown.
    """
    if callable(how):
        return how
    chosen = next((function for name, function in _BUILT_IN.items() if name == how), None)
    if chosen is None:
        raise ConfigurationError(
            f"unknown normalisation {how!r}; use 'casefold', 'exact', 'numeric', 'open' or a function"
        )
    return chosen


def normalise(text: str, how: Normalise = "casefold") -> str:
    """Return the key under which a spelling is counted.

    Args:
        text: The spelling.
        how: `"casefold"` uses the function `casefold`. `"exact"` changes nothing. `"numeric"` compares numbers by value
            (`4`, `4.0`, `4e0`, `8/2` and `400%` are the same; `1,000` is a thousand), and other text, such as `0,125`,
            as `casefold` does. `"open"` uses `open_key`, which gives the same key only to answers that are certainly
            equal. A function returns its own key.

    Raises:
        ConfigurationError: The name is unknown.

    Example:
        >>> normalise("Alpha."), normalise("4.0", "numeric"), normalise("Alpha.", "exact")
        ('alpha', '4', 'Alpha.')
    """
    return normaliser(how)(text)


def match_option(text: str, options: Iterable[str], how: Normalise = "casefold") -> str | None:
    """Return the option that a text means: the one with exactly this spelling, else the only one with the same key.

    White space around a text does not count. If several options have the key, the text must spell the option exactly.

    Args:
        text: The spelling.
        options: The options.
        how: How spellings are compared, as in `normalise`.

    Example:
        >>> match_option("tea.", ("Tea", "Milk")), match_option("Co", ("CO", "Co")), match_option("co", ("CO", "Co"))
        ('Tea', 'Co', None)
    """
    known = tuple(options)
    exact = next((option for option in known if option.strip() == text.strip()), None)
    if exact is not None:
        return exact
    key_of = normaliser(how)
    key = key_of(text)
    alike = [option for option in known if key_of(option) == key]
    return alike[0] if len(alike) == 1 else None
