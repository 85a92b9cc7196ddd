"""Text that foreign code made: what its errors say, and what no wire would carry."""

from __future__ import annotations

__all__ = ["cause_text", "encodable", "error_text", "well_formed"]


def encodable(text: str) -> str:
    """Give text that every wire can carry: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def error_text(error: object) -> str:
    """Give an error as text; a foreign one may raise another where it should say what it is.

    Example:
        >>> class Mute(Exception):
        ...     def __str__(self):
        ...         raise LookupError
        >>> error_text(Mute()), error_text(ValueError("no tea"))
        ('(it cannot be shown: LookupError)', 'no tea')
    """
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001  (the error's own code)
        return f"(it cannot be shown: {type(fault).__name__})"


def well_formed(text: str) -> str:
    """Join surrogate pairs, and put U+FFFD for a half without the other, which no encoding can carry.

    Example:
        >>> well_formed("a" + chr(0xD800) + "b") == "a" + chr(0xFFFD) + "b"
        True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cause_text(error: BaseException) -> str | None:
    """Give what an error wraps as text; `None` where it wraps nothing."""
    cause = error.__cause__
    return None if cause is None else encodable(error_text(cause)) or type(cause).__name__
