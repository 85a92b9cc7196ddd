"""The base of values that callers create for arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from roundtable.core.base.arguments import unknown_name_hint
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import Value, first_error

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ArgumentValue"]


class ArgumentValue(Value):
    """A value that callers create to pass it on: a call with wrong fields raises a `ConfigurationError` with a hint.

    Parsing (`model_validate`, `from_json`) raises pydantic's `ValidationError`, as for every value.

    Example:
        >>> from roundtable.errors import ConfigurationError
        >>> from roundtable.types import Budget
        >>> try:
        ...     Budget(max_cost=0.5)
        ... except ConfigurationError as error:
        ...     print(error.message, "|", error.hint)
        Budget has no field 'max_cost' | Did you mean 'max_cost_usd'?
    """

    if not TYPE_CHECKING:  # type checkers derive the constructor from the fields

        def __init__(self, /, **data: Any) -> None:  # noqa: ANN401  (as pydantic's)
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise _wrong_fields(error, type(self), data) from error

        # Tells pydantic not to call this constructor for parsed values, as for its own constructor.
        __init__.__pydantic_base_init__ = True


def _wrong_fields(error: ValidationError, kind: type[BaseModel], data: Mapping[str, object]) -> ConfigurationError:
    """Return the error for the fields with which a value cannot be created."""
    known = [*kind.model_fields]
    unknown = next((name for name in data if name not in known and name not in map(to_camel, known)), None)
    if unknown is not None:
        hint = unknown_name_hint(unknown, known) or f"Its fields are {', '.join(known)}."
        return ConfigurationError(f"{kind.__name__} has no field {unknown!r}", cause=error, hint=hint)
    field, reason = first_error(error)
    if field in known and field not in data:
        return ConfigurationError(f"{kind.__name__} needs the field {field!r}", cause=error, hint=f"Pass {field}=....")
    place = f"{kind.__name__}.{field}" if field else kind.__name__
    return ConfigurationError(f"{place}: {reason}", cause=error, hint=f"Correct {field or 'the values'} and try again.")
