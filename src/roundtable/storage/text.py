"""Text as it is stored: valid Unicode, compact JSON, comparable topics, exact times."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar, cast

from roundtable._foreign import well_formed
from roundtable.types import Value

if TYPE_CHECKING:
    from roundtable.types import JsonValue

__all__ = ["from_micros", "has_notes", "json_text", "micros", "searchable", "span_end", "value_text"]

V = TypeVar("V", bound=Value)
J = TypeVar("J")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _clean_deep(value: J) -> J:
    """Clean every text inside plain data; everything else stays as it is."""
    match value:
        case str():
            made: object = well_formed(value)
        case dict():
            made = {_clean_deep(name): _clean_deep(item) for name, item in value.items()}
        case list():
            made = [_clean_deep(item) for item in value]
        case tuple():
            made = tuple(_clean_deep(item) for item in value)
        case _:
            return value
    return cast("J", made)


def value_text(value: Value) -> str:
    """Give a value as JSON, with lone surrogates replaced."""
    try:
        return value.to_json()
    except ValueError:  # pydantic refuses to write a lone surrogate
        return type(value).model_validate(_clean_deep(value.model_dump())).to_json()


def json_text(value: JsonValue) -> str:
    """Give a plain JSON value as JSON, with lone surrogates replaced.

    Raises:
        ValueError: The value holds NaN, an infinity or itself, is nested too deeply, or has a number
            too long to be written.
        TypeError: The value is no JSON value.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise ValueError("the value is nested too deeply to be stored") from error
    cleaned = well_formed(text)
    # Cleaning may have made two names of one object equal; reading once settles which of them stays.
    return text if cleaned == text else json_text(json.loads(cleaned))


def has_notes(notes: str, wanted: str) -> bool:
    """Tell whether one JSON object has every member of another, with the very same value.

    Example:
        >>> has_notes('{"case": "a", "n": 1}', '{"n": 1}'), has_notes('{"n": true}', '{"n": 1}')
        (True, False)
    """
    there: dict[str, object] = json.loads(notes)
    asked: dict[str, object] = json.loads(wanted)
    return all(
        name in there and json.dumps(there[name], sort_keys=True) == json.dumps(value, sort_keys=True)
        for name, value in asked.items()
    )


def searchable(text: str) -> str:
    """Give text in the form in which topics are compared: upper and lower case alike."""
    return unicodedata.normalize("NFKC", well_formed(text)).casefold()


def micros(moment: datetime) -> int:
    """Give a time as whole microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(count: int) -> datetime:
    """Give the time of `micros` back.

    Example:
        >>> from_micros(micros(datetime(1, 1, 1, tzinfo=UTC))).year
        1
    """
    return _EPOCH + count * _MICROSECOND


def span_end(now: datetime, seconds: float) -> datetime:
    """Give the time so many seconds later, or the last there is.

    Raises:
        ValueError: `seconds` is negative or not a number.
    """
    if not seconds >= 0:
        msg = f"a time span must be zero seconds or more, not {seconds!r}"
        raise ValueError(msg)
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
