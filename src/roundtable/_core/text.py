"""Text from third-party code: error messages, and characters that cannot be encoded."""

from __future__ import annotations

from typing import TypeVar, cast

__all__ = ["cause_text", "encodable", "error_text", "well_formed", "well_formed_data"]

J = TypeVar("J")


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
