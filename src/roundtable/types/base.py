"""The base of every value that crosses a boundary: frozen, camelCase on the wire, snake_case in Python."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

__all__ = ["JsonObject", "JsonValue", "NonEmpty", "Share", "Timestamp", "Value", "first_misfit", "named", "utc_now"]


class Value(BaseModel):
    """A frozen value; equal fields make equal values.

    Python reads and writes snake_case; JSON is camelCase. Both are accepted on input, unknown
    names are refused so that a misspelt option is never silently ignored. What JSON cannot carry is
    refused too: NaN, infinities, and halves of surrogate pairs. A value hashes when no mapping is in it.

    Example:
        >>> from roundtable.types import Citation
        >>> Citation(title="Paper", url="https://example.org/a").to_json()
        '{"title":"Paper","url":"https://example.org/a","snippet":null}'
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,
        allow_inf_nan=False,
        # Zero allows every length, and makes pydantic check that text is encodable.
        str_min_length=0,
    )

    def to_json(self) -> str:
        """Render this value as compact camelCase JSON."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a value back from `to_json` output.

        Raises:
            pydantic.ValidationError: The text is not JSON or does not fit this type.
        """
        return cls.model_validate_json(text)


def utc_now() -> datetime:
    """Give the present moment as an aware UTC time."""
    return datetime.now(UTC)


def first_misfit(error: ValidationError) -> tuple[str, str]:
    """Say what does not fit first: its field, with dots where it is inside of others, and why it does not.

    Example:
        >>> from roundtable.types import Message
        >>> try:
        ...     Message(role="user", content=7)
        ... except ValidationError as error:
        ...     first_misfit(error)[0]
        'content'
    """
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")


def named(value: object) -> object:
    """Take a bare text for the name of what is wanted; a validator that runs before the fields are read."""
    return {"name": value} if isinstance(value, str) else value


def _as_utc(value: datetime) -> datetime:
    if value.tzinfo is UTC:
        return value
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time must lie in the years 1 to 9999, in UTC") from None


JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object as Python sees it."""

NonEmpty: TypeAlias = Annotated[str, Field(min_length=1)]
"""Text of at least one character."""

Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
"""A finite number in [0, 1]."""

Timestamp: TypeAlias = Annotated[datetime, AfterValidator(_as_utc)]
"""An aware UTC time; a naive one is read as UTC."""
