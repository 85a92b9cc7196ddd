"""What a caller hears when a tool cannot do what it was asked: the error itself, as JSON, never a stack."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from roundtable._foreign import error_text
from roundtable.errors import RoundtableError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from roundtable.types import JsonObject, JsonValue

__all__ = ["InvalidArguments", "NotThere", "error_of", "refused_arguments"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.mcp")

_MOST: Final = 20


class InvalidArguments(RoundtableError):
    """Arguments of a tool do not fit; `details["problems"]` says which, and what is allowed."""

    default_message = "The arguments do not fit"
    default_code = "INVALID_ARGUMENTS"


class NotThere(RoundtableError):
    """A round, an agent or a measure that a session does not have."""

    default_message = "There is no such thing in this session"
    default_code = "NOT_FOUND"


def refused_arguments(tool: str, error: ValidationError, properties: Mapping[str, JsonValue]) -> InvalidArguments:
    """Say which arguments do not fit, and what is allowed.

    Args:
        tool: Name of the tool.
        error: What does not fit.
        properties: What the tool takes, as its JSON schema says it.
    """
    problems: list[JsonValue] = []
    told: list[str] = []
    for one in error.errors(include_url=False, include_input=False, include_context=False)[:_MOST]:
        place = [str(part) for part in one["loc"]]
        field = place[0] if place else ""
        said = one["msg"].removeprefix("Value error, ")
        names: list[JsonValue] = [*sorted(properties)]
        allowed = properties.get(field, names)
        problems.append({"field": ".".join(place), "problem": said, "allowed": allowed})
        told.append(f"{'.'.join(place) or 'arguments'}: {said}")
    message = f"{tool} was called with arguments that do not fit. {'; '.join(told)}"
    hint = f"{tool} takes: {', '.join(properties) or 'nothing'}."
    return InvalidArguments(message, hint=hint, details={"problems": problems})


def error_of(error: Exception) -> JsonObject:
    """Give an error as callers see it; one that nobody foresaw is written to the log with its stack."""
    if isinstance(error, RoundtableError):
        found = error.to_dict()
        if error.session_id is not None:
            found["sessionId"] = error.session_id
        return found
    logger.error("a tool failed: %s", error_text(error), exc_info=error)
    wrapped = RoundtableError(f"{type(error).__name__}: {error_text(error)}", code="INTERNAL_ERROR")
    return {**wrapped.to_dict(), "name": type(error).__name__}
