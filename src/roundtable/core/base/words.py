"""Format numbers, lists and values for sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

__all__ = [
    "amount",
    "counted",
    "duration",
    "is_list",
    "listing",
    "percent",
    "quoted",
    "share_text",
    "shortened",
    "span_in_words",
]

_LONGEST = 80
_LARGEST: Final = 10**100
"""The largest number that is quoted as it is."""
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MINUTE_S = 60
_HOUR_S = 3600


def quoted(text: object) -> str:
    """Quote a value, cut to a readable length."""
    # Python refuses to convert an integer of more than 4,300 digits to text.
    shown = "a number of many digits" if isinstance(text, int) and abs(text) > _LARGEST else repr(text)
    return shortened(shown, _LONGEST)


def shortened(text: str, most: int) -> str:
    """Return a text, or its beginning with an ellipsis if it has more than `most` characters.

    Example:
        >>> shortened("A rather long motion", 10), shortened("Tea", 10)
        ('A rather …', 'Tea')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def is_list(value: object) -> bool:
    """Check whether a value can be read as a list; a text or a mapping cannot.

    Example:
        >>> is_list(["a"]), is_list("a"), is_list(None)
        (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def listing(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Example:
        >>> listing(["a", "b", "c"])
        'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def amount(value: Fraction | float) -> str:
    """Write a number: a whole number as it is, any other number with up to six significant digits.

    Example:
        >>> amount(Fraction(4, 2)), amount(Fraction(1, 3))
        ('2', '0.333333')
    """
    if isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1):
        return str(int(value))
    return f"{float(value):.6g}"


def percent(value: Fraction) -> str:
    """Write a share in percent with at most one decimal; 100 % and 0 % only if they are exact.

    Example:
        >>> percent(Fraction(2, 3)), percent(Fraction(1)), percent(Fraction(9999, 10000))
        ('66.7 %', '100 %', '99.9 %')
    """
    tenths = value * 1000
    rounded = round(tenths)
    if value < 1 and rounded == 1000:
        rounded = 999
    if value > 0 and rounded == 0:
        rounded = 1
    return f"{rounded / 10:.15g} %"


def share_text(value: Fraction) -> str:
    """Write a share in [0, 1], such as agreement, with two to four decimals; 1.00 and 0.00 only if they are exact.

    Example:
        >>> share_text(Fraction(2, 3)), share_text(Fraction(1, 2)), share_text(Fraction(99999, 100000))
        ('0.6667', '0.50', '0.9999')
    """
    parts = round(value * 10_000)
    if value < 1:
        parts = min(parts, 9_999)
    if value > 0:
        parts = max(parts, 1)
    text = f"{parts / 10_000:.4f}".rstrip("0")
    return text.ljust(len("0.00"), "0")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun.

    Example:
        >>> counted(1, "ballot"), counted(2, "ballot")
        ('1 ballot', '2 ballots')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def span_in_words(least: int, most: int | None, noun: str) -> str:
    """Return how many of something there may be, such as `two or more judges`; the plural of the noun ends in `s`.

    Example:
        >>> span_in_words(1, 1, "judge"), span_in_words(2, None, "judge"), span_in_words(3, 20, "judge")
        ('one judge', 'two or more judges', 'three to 20 judges')
    """
    low, high = (_NUMBERS[n] if n is not None and n < len(_NUMBERS) else str(n) for n in (least, most))
    if least == most:
        return f"{low} {noun}" if least == 1 else f"{low} {noun}s"
    return f"{low} or more {noun}s" if most is None else f"{low} to {high} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration in the unit that reads best.

    Example:
        >>> duration(59.4), duration(59.7), duration(600), duration(9000)
        ('59 s', '1 min', '10 min', '2.5 h')
    """
    if round(seconds) < _MINUTE_S:
        return f"{seconds:.0f} s"
    if round(seconds / _MINUTE_S) * _MINUTE_S < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h"
