"""Read texts, numbers and sides in members of a JSON object."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roundtable.core.types.answers import Stance
    from roundtable.core.types.base import JsonValue

__all__ = ["DECORATION", "stance_in", "text_in", "text_or_number", "texts_in"]

DECORATION: Final = (
    " \t\r\n()<>[]{}|*_`\"'.,;:!\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d"
)
"""Signs that may stand around a short member."""


def text_in(value: JsonValue) -> str:
    """Return a text without surrounding white space; empty if the value is not a text.

    Example:
        >>> text_in(" Tea. "), text_in(None)
        ('Tea.', '')
    """
    return value.strip() if isinstance(value, str) else ""


def texts_in(value: JsonValue, most: int | None = None) -> tuple[str, ...]:
    """Return the non-blank texts of a list, at most `most` of them; empty if the value is not a list.

    Example:
        >>> texts_in(["Tea.", " ", 7, "Milk."], 1), texts_in("Tea.")
        (('Tea.',), ())
    """
    texts = [text_in(item) for item in value] if isinstance(value, list) else []
    return tuple(text for text in texts if text)[:most]


def text_or_number(value: JsonValue) -> str:
    """Return a text, or a number as text, since `42` answers a question as well as `"42"` does.

    Example:
        >>> text_or_number(42), text_or_number(" 42 "), text_or_number(True)
        ('42', '42', '')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text_in(value)
    return str(value) if math.isfinite(value) else ""


def stance_in(value: JsonValue) -> Stance | None:
    """Return the side that a text names, whatever signs stand around it; `None` if it names none.

    Example:
        >>> stance_in("**Yes**"), stance_in("perhaps")
        ('YES', None)
    """
    match text_in(value).strip(DECORATION).upper():
        case "YES":
            return "YES"
        case "NO":
            return "NO"
        case "NEUTRAL":
            return "NEUTRAL"
        case _:
            return None
