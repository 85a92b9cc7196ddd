"""Texts in what a model wrote, where anything may stand instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.types import JsonValue

__all__ = ["text_in", "texts_in"]


def text_in(value: JsonValue) -> str:
    """Give a text without the white space round it; an empty one of what is none.

    Example:
        >>> text_in(" Tea. "), text_in(None)
        ('Tea.', '')
    """
    return value.strip() if isinstance(value, str) else ""


def texts_in(value: JsonValue, most: int | None = None) -> tuple[str, ...]:
    """Give the texts of a list that say something, `most` of them at most; none of what is no list.

    Example:
        >>> texts_in(["Tea.", " ", 7, "Milk."], 1), texts_in("Tea.")
        (('Tea.',), ())
    """
    found = [text_in(item) for item in value] if isinstance(value, list) else []
    return tuple(text for text in found if text)[:most]
