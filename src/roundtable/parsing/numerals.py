"""Read a number in a member of a JSON object."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonValue

__all__ = ["finite_number", "score_number"]

_NUMERAL: Final = re.compile(
    r"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?)\s*+(%|per ?cent|)\s*+", re.IGNORECASE
)
_POINTS: Final = re.compile(r"\s++(?:points?|pts?\.?|marks?)\s*+\Z", re.IGNORECASE)
_OUT_OF: Final = re.compile(r"\s*+(?:/|\bout\s++of\b)\s*+", re.IGNORECASE)


def finite_number(value: JsonValue, *, percent_of: int | None = None) -> float | None:
    """Return a finite number, or a text that is only a number; a percentage only if `percent_of` is given.

    Args:
        value: The value of a member.
        percent_of: The number that is 100 %.

    Example:
        >>> finite_number(" 7.5 "), finite_number("80 %", percent_of=1), finite_number("seven")
        (7.5, 0.8, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value)
    numeral = _NUMERAL.fullmatch(value)
    if numeral is None or (numeral[2] and percent_of is None):
        return None
    number = float(numeral[1])
    if numeral[2]:
        number *= (percent_of or 1) / 100
    return number if math.isfinite(number) else None


def score_number(value: JsonValue, high: float | None) -> float | None:
    """Return a score: a number, a number of points, or a number out of the highest score.

    Args:
        value: What stands for the score.
        high: Highest score of the scale; `None` for no limit.

    Example:
        >>> score_number("9.5 points", None), score_number("9/10", 10), score_number("9/10", 5)
        (9.5, 9.0, None)
    """
    if not isinstance(value, str):
        return finite_number(value)
    # Runs of white space would be searched anew from each of their places.
    parts = _OUT_OF.split(_POINTS.sub("", " ".join(value.split())), maxsplit=2)
    if len(parts) > 2 or (len(parts) == 2 and (high is None or finite_number(parts[1]) != high)):
        return None
    return finite_number(parts[0])
