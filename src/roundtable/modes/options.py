"""Readers of what can be set in a mode's name, as in `"adversarial:visibility=predecessor"`."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["count", "flag", "one_of", "split_mode_name"]


def split_mode_name(text: str) -> tuple[str, dict[str, str]]:
    """Split a mode's name from what is set in it.

    Raises:
        ValueError: A setting has no value.

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
        found[key.strip().replace("-", "_")] = value.strip()
    return name, found


def one_of(*allowed: str) -> Callable[[str], object]:
    """Make a reader of one of a few words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is none of {', '.join(allowed)}")
        return text

    return read


def flag(text: str) -> bool:
    """Read true or false."""
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def count(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isascii() or not text.isdigit() or len(text) > 4 or int(text) < 1:
        raise ValueError(f"{text!r} is no whole number from 1")
    return int(text)
