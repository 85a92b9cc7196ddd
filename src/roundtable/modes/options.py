"""Readers of what can be set in a mode's name, as in `"adversarial:visibility=predecessor"`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["Reader", "count", "flag", "one_of", "split_mode_name"]

_MOST: Final = 1_000


def split_mode_name(text: str) -> tuple[str, dict[str, str]]:
    """Split a mode's name from what is set in it.

    Raises:
        ValueError: A setting has no value, or is there twice.

    Example:
        >>> split_mode_name("adversarial:visibility=predecessor")
        ('adversarial', {'visibility': 'predecessor'})
    """
    name, colon, settings = text.partition(":")
    found: dict[str, str] = {}
    for item in settings.split(",") if colon else ():
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"{item!r} is no 'option=value'")
        option = key.strip().replace("-", "_")
        if option in found:
            raise ValueError(f"{option!r} is set twice")
        found[option] = value.strip()
    return name, found


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the value of an option, and says which there are."""

    takes: str
    """What may stand behind the option."""
    read: Callable[[str], object]
    """Reads it; raises a `ValueError` that says what is wrong."""

    def __call__(self, text: str) -> object:
        """Read a value."""
        return self.read(text)


def one_of(*allowed: str) -> Reader:
    """Make a reader of one of a few words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is none of {', '.join(allowed)}")
        return text

    return Reader("|".join(allowed), read)


def _flag(text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MOST)) or not 1 <= int(text) <= _MOST:
        raise ValueError(f"{text!r} is no whole number from 1 to {_MOST:,}")
    return int(text)


flag: Final = Reader("true|false", _flag)
"""Reads true or false."""
count: Final = Reader("NUMBER", _count)
"""Reads a whole number from 1 to 1,000."""
