"""Read the confidence that an answer states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.types.debate import ASSUMED_CONFIDENCE
from roundtable.parsing.numerals import finite_number

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["DEFAULT_CONFIDENCE", "loose_confidence", "stated_confidence"]

DEFAULT_CONFIDENCE: Final = 0.5
"""The confidence that is assumed if none is stated."""


def stated_confidence(fields: JsonObject, scale: int) -> tuple[float, tuple[str, ...]]:
    """Return the confidence that a form states as a share, or the default one, and a warning if it was not usable.

    Args:
        fields: The members of the form.
        scale: Upper end of the requested scale.

    Example:
        >>> stated_confidence({"confidence": 80}, 100)
        (0.8, ())
        >>> stated_confidence({}, 1)
        (0.5, ('no usable confidence was given; 0.5 is assumed',))
    """
    raw = finite_number(fields.get("confidence"), percent_of=scale)
    if raw is None:
        return DEFAULT_CONFIDENCE, (ASSUMED_CONFIDENCE,)
    # Adding zero turns -0.0 into 0.0.
    share = raw / scale + 0.0
    if 0.0 <= share <= 1.0:
        return share, ()
    return (0.0 if share < 0 else 1.0), (
        f"confidence {raw:g} lies outside 0 to {scale} and was moved to the nearest end",
    )


def loose_confidence(value: JsonValue, scale: int) -> tuple[float, tuple[str, ...]]:
    """Return a confidence from JSON of another form, with a warning as above: a share, or a number on the scale.

    Args:
        value: The value of the member.
        scale: Upper end of the requested scale.

    Example:
        >>> loose_confidence(0.9, 100)
        (0.9, ())
    """
    raw = finite_number(value, percent_of=scale)
    if raw is not None and 0 < raw < 1 and not isinstance(value, str):
        raw *= scale
    return stated_confidence({"confidence": raw}, scale)
