"""Exact numbers: what is typed as 0.8 is eight tenths, not the nearest binary fraction."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from roundtable.errors import ConfigurationError

__all__ = ["LARGEST", "Number", "exact", "exact_or_none", "share", "whole"]

Number: TypeAlias = int | float | Fraction | Decimal | str
"""A number however it is written; text may be a decimal (`"0.8"`) or a fraction (`"2/3"`)."""

LARGEST: Final = 10**100
"""Numbers of ballots and weights lie within this, so that their sums and products can be shown as floats."""

# Exponents are bounded, since "1e999999999" as an exact number would not fit into memory.
_DECIMAL = r"(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:e[+-]?\d{1,3})?"
_TEXT = re.compile(rf"[+-]?(?:\d{{1,400}}/\d{{1,400}}|{_DECIMAL})", re.IGNORECASE)


def exact_or_none(value: object) -> Fraction | None:
    """Read a number exactly, or give `None` for what is not a finite number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, float | Decimal):
        return _parse(str(value))
    return _parse(value) if isinstance(value, str) else None


def _parse(text: str) -> Fraction | None:
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return Fraction(found.group())
    except ZeroDivisionError:
        return None


def exact(value: object, what: str = "the number") -> Fraction:
    """Read a number exactly: a float by its shortest decimal, text as a decimal or a fraction.

    Args:
        value: An int, float, Fraction, Decimal or text.
        what: What it is, for the message.

    Raises:
        ConfigurationError: It is not a finite number.

    Example:
        >>> exact(0.8), exact("2/3")
        (Fraction(4, 5), Fraction(2, 3))
    """
    found = exact_or_none(value)
    if found is None:
        raise ConfigurationError(f"{what} must be a finite number, not {value!r}")
    return found


def share(value: object, what: str = "the share") -> Fraction:
    """Read a share in [0, 1] exactly.

    Raises:
        ConfigurationError: It is not a number in [0, 1].

    Example:
        >>> share("0.75")
        Fraction(3, 4)
    """
    found = exact(value, what)
    if not 0 <= found <= 1:
        raise ConfigurationError(f"{what} must lie in [0, 1], not {value!r}")
    return found


def whole(value: object, what: str, least: int) -> int:
    """Read a whole number, however it is written.

    Raises:
        ConfigurationError: It is none, or below `least`.

    Example:
        >>> whole(3.0, "voters", 1), whole("4", "voters", 1)
        (3, 4)
    """
    found = exact_or_none(value)
    if found is None or found.denominator != 1 or found < least:
        msg = f"{what} must be a whole number of at least {least}, not {value!r}"
        raise ConfigurationError(msg, hint=f"Give a number such as {max(least, 1)}.")
    return int(found)
