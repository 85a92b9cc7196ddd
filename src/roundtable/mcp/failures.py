"""What a caller hears when a tool cannot do what it was asked: the error itself, as JSON, never a stack."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final

from roundtable.errors import RoundtableError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from roundtable.types import JsonObject, JsonValue

__all__ = ["InvalidArguments", "NotThere", "error_of", "refused_arguments", "refused_value"]

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
    """Give an error as callers see it.

    One of the library says all it knows. Of one that nobody foresaw they see its kind alone, because its words may hold
    what is not theirs, such as a path or a key; the log has it whole, under the reference that they are given.
    """
    if isinstance(error, RoundtableError):
        found = error.to_dict()
        if error.session_id is not None:
            found["sessionId"] = error.session_id
        return found
    reference = secrets.token_hex(4)
    logger.error("a tool failed (%s): %s", reference, error, exc_info=error)
    told = RoundtableError(
        f"the server failed in a way nobody foresaw ({type(error).__name__})",
        code="INTERNAL_ERROR",
        request_id=reference,
        hint=f"Report it, with what the log of the server says under {reference}. What was stored is not lost.",
    )
    return told.to_dict()


def refused_value(tool: str, field: str, problem: str, allowed: JsonValue) -> InvalidArguments:
    """Say that an argument does not fit what is stored, and what would.

    Args:
        tool: Name of the tool.
        field: The argument.
        problem: What is wrong with it.
        allowed: What is allowed.
    """
    problems: list[JsonValue] = [{"field": field, "problem": problem, "allowed": allowed}]
    message = f"{tool} was called with arguments that do not fit. {field}: {problem}"
    return InvalidArguments(message, details={"problems": problems})
