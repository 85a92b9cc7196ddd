"""What a caller hears when a tool cannot do what it was asked: the error itself, as JSON, never a stack."""

from __future__ import annotations

import logging
import re
import secrets
from typing import TYPE_CHECKING, Final

from roundtable._foreign import error_text
from roundtable.auth.errors import told_elsewhere
from roundtable.errors import RoundtableError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from pydantic import ValidationError

    from roundtable.types import JsonObject, JsonValue

__all__ = ["InvalidArguments", "NotThere", "error_of", "refused_arguments", "refused_value"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.mcp")

_MOST: Final = 20
_MOST_NAME: Final = 80
_PYTHON: Final = (
    (re.compile("^Value error, "), ""),
    (re.compile("valid dictionary or instance of [A-Za-z]+"), "valid object"),
    (re.compile("^Tuple"), "List"),
    (re.compile("valid tuple"), "valid list"),
    (re.compile(" after validation"), ""),
)


class InvalidArguments(RoundtableError):
    """Arguments of a tool do not fit; `details["problems"]` says which, and what is allowed."""

    default_message = "The arguments do not fit"
    default_code = "INVALID_ARGUMENTS"


class NotThere(RoundtableError):
    """A round, an agent or a measure that a session does not have."""

    default_message = "There is no such thing in this session"
    default_code = "NOT_FOUND"


def refused_arguments(tool: str, error: ValidationError, schema: JsonObject) -> InvalidArguments:
    """Say which arguments do not fit, and what is allowed.

    Args:
        tool: Name of the tool.
        error: What does not fit.
        schema: What the tool takes, as JSON Schema.
    """
    kinds, properties = _members(schema, "$defs"), _members(schema, "properties")
    found: dict[str, JsonValue] = {}
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        field = _field(one["loc"], kinds)
        problem = _in_words_of_json(one["msg"])
        names: list[JsonValue] = [*sorted(properties)]
        allowed = _whole(properties.get(str(one["loc"][0]) if one["loc"] else "", names), kinds)
        found.setdefault(f"{field}: {problem}", {"field": field, "problem": problem, "allowed": allowed})
    told = [*found][:_MOST]
    problems: list[JsonValue] = [found[one] for one in told]
    message = f"{tool} was called with arguments that do not fit. {'; '.join(told)}"
    hint = f"{tool} takes: {', '.join(properties) or 'nothing'}."
    return InvalidArguments(message, hint=hint, details={"problems": problems})


def _members(schema: JsonObject, name: str) -> JsonObject:
    held = schema.get(name)
    return held if isinstance(held, dict) else {}


def _field(loc: tuple[int | str, ...], kinds: JsonObject) -> str:
    """Name an argument, without the kinds of value that were tried for it."""
    parts = [str(part) for part in loc]
    named = [*parts[:1], *(part for part in parts[1:] if "[" not in part and part not in kinds)]
    return ".".join(part[:_MOST_NAME] for part in named)


def _in_words_of_json(said: str) -> str:
    """Say what pydantic says without words of Python."""
    for pattern, word in _PYTHON:
        said = pattern.sub(word, said)
    return said


def _whole(schema: JsonValue, kinds: JsonObject) -> JsonValue:
    """Put what a schema refers to in its place."""
    if isinstance(schema, list):
        return [_whole(one, kinds) for one in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in kinds:
        return _whole(kinds[name], kinds)
    return {key: _whole(value, kinds) for key, value in schema.items()}


def error_of(error: Exception, *, elsewhere: bool = False) -> JsonObject:
    """Give an error as callers see it.

    Args:
        error: What went wrong.
        elsewhere: Whether the caller is a user of a service; they see no names of files of its machine.

    One of the library says all it knows. Of one that nobody foresaw they see its kind alone, because its words may hold
    what is not theirs, such as a path or a key; the log has it whole, under the reference that they are given.
    """
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]  # of several tasks of one call, the first that failed
    if isinstance(error, RoundtableError):
        told = told_elsewhere(error) if elsewhere else error
        if told is not error:
            logger.warning("a tool failed: %s", error)
        found = told.to_dict()
        if told.session_id is not None:
            found["sessionId"] = told.session_id
        return found
    reference = secrets.token_hex(4)
    logger.error("a tool failed (%s): %s", reference, error_text(error), exc_info=error)
    unforeseen = RoundtableError(
        f"the server failed in a way nobody foresaw ({type(error).__name__})",
        code="INTERNAL_ERROR",
        request_id=reference,
        hint=f"Report it, with what the log of the server says under {reference}. What was stored is not lost.",
    )
    return unforeseen.to_dict()


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
