"""Exact numbers: 0.8 is eight tenths and 5/6 is five sixths, not the nearest binary fraction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Final, TypeAlias

from roundtable.core.errors import ConfigurationError

__all__ = ["LARGEST", "Figure", "Measure", "Number", "exact", "exact_or_none", "share", "whole"]


Figure: TypeAlias = Fraction | float | int
"""A number: exact if the arithmetic is exact, otherwise a float (after logarithms or roots)."""


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
    """A value with related figures. An undefined value is `None` with a reason, never a number.

    Example:
        >>> Measure(None, "nobody voted")
        Measure(value=None, reason='nobody voted')
        >>> float(Measure(Fraction(2, 3)))
        0.6666666666666666
        >>> Measure(Fraction(2, 3) ** 60)
        Measure(value=about 2.7197e-11, reason=None)
    """

    value: Figure | None
    """The value; `None` when undefined."""
    reason: str | None = None
    """Why the value is undefined."""
    figures: Mapping[str, Figure] = field(default_factory=dict, repr=False, hash=False)
    """Further numbers about the value, such as a test statistic."""

    def __repr__(self) -> str:
        return f"Measure(value={_shown(self.value)}, reason={self.reason!r})"

    def __float__(self) -> float:
        """Return the value as a float.

        Raises:
            ValueError: The value is undefined; the message contains the reason.
        """
        if self.value is None:
            raise ValueError(f"undefined: {self.reason}")
        return float(self.value)


def _shown(value: Figure | None) -> str:
    """Return a value as text; a fraction of more digits than anybody reads is rounded. Python refuses to write some."""
    if not isinstance(value, Fraction) or max(abs(value.numerator), value.denominator) < _MANY_DIGITS:
        return repr(value)
    return f"about {Decimal(value.numerator) / Decimal(value.denominator):.5g}"


Number: TypeAlias = int | float | Fraction | Decimal | str
"""A number in any notation; text may be a decimal (`"0.8"`) or a fraction (`"2/3"`)."""

_MANY_DIGITS: Final = 10**24
"""From this number on, a fraction is rounded when it is shown."""

LARGEST: Final = 10**100
"""Largest number in a ballot and largest weight; sums and products of such numbers still fit into a float."""

_MAX_DENOMINATOR: Final = 10**6
"""Largest denominator of the fraction as which a float up to 1 may be read."""

_TYPED_DENOMINATOR: Final = 10**9
"""Denominator of a decimal with nine places. Such a decimal is taken as it was typed: no other fraction with a
denominator up to `_MAX_DENOMINATOR` gives the same float."""

# Exponents are bounded, since "1e999999999" as an exact number would not fit into memory.
_DECIMAL = r"(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:e[+-]?\d{1,3})?"
_TEXT = re.compile(rf"[+-]?(?:\d{{1,400}}/\d{{1,400}}|{_DECIMAL})", re.IGNORECASE)


def exact_or_none(value: object) -> Fraction | None:
    """Read a number exactly; return `None` for anything but a finite number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, float):
        return _of_float(value)
    if not isinstance(value, str | Decimal):
        if not isinstance(value, Rational):
            return None
        return Fraction(int(value.numerator), int(value.denominator))  # numpy's integers are of a fixed size
    text = str(value).strip()
    number = _parse(text)
    if number is None or number.denominator <= _TYPED_DENOMINATOR or abs(number) > LARGEST:
        return number
    return _of_float(float(number)) if text == str(float(number)) else number  # a float that was printed


@lru_cache(maxsize=1024)
def _of_float(value: float) -> Fraction | None:
    """Return the simple fraction from which a float was computed, if there is one, else the float's shortest decimal.

    Either result rounds to the same float, so different floats become different numbers in the same order.
    """
    decimal = _parse(str(value))
    if decimal is None or decimal.denominator <= _TYPED_DENOMINATOR:
        return decimal
    # Larger floats lie further apart. A smaller limit makes sure that each float still matches at most one fraction.
    largest = int(_MAX_DENOMINATOR / max(1.0, abs(value)))
    simple = Fraction(value).limit_denominator(largest) if largest else decimal
    return simple if float(simple) == value else decimal


def _parse(text: str) -> Fraction | None:
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    try:
        return Fraction(match.group())
    except ZeroDivisionError:
        return None


def exact(value: object, what: str = "the number") -> Fraction:
    """Return the exact number that the caller means by a value.

    A float is read as the fraction with a denominator up to a million that gives this float: `5/6` is five sixths,
    `0.8` is eight tenths. If there is no such fraction, it is read as its shortest decimal. Text is read as a decimal
    or a fraction; the text of a printed float is read like that float.

    Args:
        value: An int, float, Fraction, Decimal or text.
        what: Name of the number, for the error message.

    Raises:
        ConfigurationError: It is not a finite number.

    Example:
        >>> exact(0.8), exact(5 / 6), exact("2/3")
        (Fraction(4, 5), Fraction(5, 6), Fraction(2, 3))
    """
    number = exact_or_none(value)
    if number is None:
        msg = f"{what} must be a finite number, not {value!r}"
        raise ConfigurationError(msg, hint="Write a number such as 0.8, '5/6' or Fraction(5, 6).")
    return number


def share(value: object, what: str = "the share") -> Fraction:
    """Read a share in [0, 1] exactly.

    Raises:
        ConfigurationError: It is not a number in [0, 1].

    Example:
        >>> share("0.75")
        Fraction(3, 4)
    """
    number = exact(value, what)
    if not 0 <= number <= 1:
        msg = f"{what} must lie in [0, 1], not {value!r}"
        raise ConfigurationError(msg, hint="Write a share such as 0.8, '5/6' or Fraction(5, 6).")
    return number


def whole(value: object, what: str, least: int) -> int:
    """Read a whole number in any notation.

    Raises:
        ConfigurationError: It is not a whole number, or it is below `least`.

    Example:
        >>> whole(3.0, "voters", 1), whole("4", "voters", 1)
        (3, 4)
    """
    number = exact_or_none(value)
    if number is None or number.denominator != 1 or number < least:
        msg = f"{what} must be a whole number of at least {least}, not {value!r}"
        raise ConfigurationError(msg, hint=f"Give a number such as {max(least, 1)}.")
    return int(number)
