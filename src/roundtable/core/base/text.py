"""Text from third-party code: error messages, characters that cannot be encoded, and Unicode normal forms."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final, Literal, TypeVar, cast

__all__ = [
    "LONGEST_RUN_OF_MARKS",
    "bounded_marks",
    "cause_text",
    "encodable",
    "error_text",
    "normal_form",
    "unquoted",
    "well_formed",
    "well_formed_data",
]

J = TypeVar("J")

LONGEST_RUN_OF_MARKS: Final = 30
"""Maximum length of a run of combining marks in a stream-safe text (UAX 15); no language needs that many."""
_JOINER: Final = "\u034f"
"""The combining grapheme joiner, which is invisible and ends a run of marks."""
_LONG_RUN: Final = re.compile(rb"[^\0]{%d}(?=[^\0])" % LONGEST_RUN_OF_MARKS)
"""A run of marks that is too long, in the combining classes of a text: marks have a class above 0."""
_MARKS_IN_DISGUISE: Final = {0x0F73: 0x0F72, 0x0F75: 0x0F74, 0x0F81: 0x0F80, 0xFF9E: 0x3099, 0xFF9F: 0x309A}
"""Characters of the class 0 that become marks when they are normalised, each with such a mark."""
_TWO_MARKS: Final = {0x0344: "\u0308\u0301", 0x0F73: "\u0f71\u0f72", 0x0F75: "\u0f71\u0f74", 0x0F81: "\u0f71\u0f80"}
"""Marks that every normal form writes as two marks."""


def bounded_marks(text: str) -> str:
    """Return a stream-safe text: an invisible character ends each run of combining marks after 30 marks.

    Normalisation sorts each run of marks, in a time that grows with the square of its length. Other texts stay as they
    are, except that a mark that stands for two marks may be written as these two.

    Example:
        >>> len(bounded_marks("a" + "\u0301" * 60)), bounded_marks("e\u0301") == "e\u0301"
        (62, True)
    """
    if text.isascii():
        return text
    written = text.translate(_TWO_MARKS) if any(chr(mark) in text for mark in _TWO_MARKS) else text
    shown = written.translate(_MARKS_IN_DISGUISE) if any(chr(mark) in text for mark in _MARKS_IN_DISGUISE) else written
    ends = [match.end() for match in _LONG_RUN.finditer(bytes(map(unicodedata.combining, shown)))]
    return _JOINER.join(written[start:end] for start, end in pairwise([0, *ends, len(written)]))


def normal_form(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> str:
    """Return a normal form of a text, in a time that grows with its length only, whatever the text is.

    Example:
        >>> normal_form("e\u0301", "NFC") == "\u00e9"
        True
    """
    return text if text.isascii() else unicodedata.normalize(form, bounded_marks(text))


def encodable(text: str) -> str:
    """Return a text that can be encoded: a lone surrogate is replaced by its escape sequence."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def error_text(error: object) -> str:
    """Return an error as text; the `__str__` of a third-party error may raise another error.

    Example:
        >>> class Mute(Exception):
        ...     def __str__(self):
        ...         raise LookupError
        >>> error_text(Mute()), error_text(ValueError("no tea"))
        ('(it cannot be shown: LookupError)', 'no tea')
    """
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001  (third-party code)
        return f"(it cannot be shown: {type(fault).__name__})"


def unquoted(text: str) -> str:
    """Return a setting without the white space and the quotes around it that env files and shells leave there.

    Example:
        >>> unquoted(' "sk-1"' + chr(10)), unquoted("'sk-1'"), unquoted('"'), unquoted("")
        ('sk-1', 'sk-1', '"', '')
    """
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1].strip() if is_quoted else text


def well_formed(text: str) -> str:
    """Join surrogate pairs, and replace a lone surrogate, which cannot be encoded, by U+FFFD.

    Example:
        >>> well_formed("a" + chr(0xD800) + "b") == "a" + chr(0xFFFD) + "b"
        True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def well_formed_data(value: J) -> J:
    """Return plain data with lone surrogates replaced in every text."""
    match value:
        case str():
            cleaned: object = well_formed(value)
        case dict():
            cleaned = {well_formed_data(name): well_formed_data(item) for name, item in value.items()}
        case list():
            cleaned = [well_formed_data(item) for item in value]
        case tuple():
            cleaned = tuple(well_formed_data(item) for item in value)
        case _:
            return value
    return cast("J", cleaned)


def cause_text(error: BaseException) -> str | None:
    """Return the cause of an error as text; `None` if it has no cause."""
    cause = error.__cause__
    return None if cause is None else encodable(error_text(cause)) or type(cause).__name__
