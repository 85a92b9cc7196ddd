"""Errors of tools as JSON for their callers, without stack traces."""

from __future__ import annotations

import logging
import re
import secrets
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from roundtable.auth.identity import public_error
from roundtable.core.base.text import error_text
from roundtable.core.errors import RoundtableError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = [
    "InvalidArguments",
    "NotFoundInSession",
    "error_of",
    "invalid_arguments",
    "invalid_value",
]


logger: logging.Logger = logging.getLogger(f"{ROOT}.mcp")

_MAX_PROBLEMS: Final = 20
_MAX_NAME_CHARS: Final = 80
_PYTHON_TERMS: Final = (
    (re.compile("^Value error, "), ""),
    (re.compile("valid dictionary or instance of [A-Za-z]+"), "valid object"),
    (re.compile("^Tuple"), "List"),
    (re.compile("valid tuple"), "valid list"),
    (re.compile(" after validation"), ""),
)


class InvalidArguments(RoundtableError):
    """The arguments of a tool are invalid; `details["problems"]` lists them, with the allowed values."""

    default_message = "The arguments are invalid"
    default_code = "INVALID_ARGUMENTS"


class NotFoundInSession(RoundtableError):
    """The session does not have the requested round, agent or measurement."""

    default_message = "Not found in this session"
    default_code = "NOT_FOUND"


def invalid_arguments(tool: str, error: ValidationError, schema: JsonObject) -> InvalidArguments:
    """Return an error that lists the invalid arguments and the allowed values.

    Args:
        tool: Name of the tool.
        error: The validation error.
        schema: JSON Schema of the tool's arguments.
    """
    definitions, properties = _members(schema, "$defs"), _members(schema, "properties")
    problem_by_text: dict[str, JsonValue] = {}
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        field = _field(detail["loc"], definitions)
        problem = _without_python_terms(detail["msg"])
        names: list[JsonValue] = [*sorted(properties)]
        allowed = _resolve_refs(properties.get(str(detail["loc"][0]) if detail["loc"] else "", names), definitions)
        problem_by_text.setdefault(f"{field}: {problem}", {"field": field, "problem": problem, "allowed": allowed})
    texts = [*problem_by_text][:_MAX_PROBLEMS]
    problems: list[JsonValue] = [problem_by_text[text] for text in texts]
    message = f"{tool} was called with invalid arguments. {'; '.join(texts)}"
    hint = f"{tool} takes: {', '.join(properties) or 'nothing'}."
    return InvalidArguments(message, hint=hint, details={"problems": problems})


def _members(schema: JsonObject, name: str) -> JsonObject:
    members = schema.get(name)
    return members if isinstance(members, dict) else {}


def _field(loc: tuple[int | str, ...], definitions: JsonObject) -> str:
    """Return the dotted name of an argument, without the union members that pydantic names in a location."""
    parts = [str(part) for part in loc]
    names = [*parts[:1], *(part for part in parts[1:] if "[" not in part and part not in {*definitions, "bool"})]
    return ".".join(name[:_MAX_NAME_CHARS] for name in names)


def _without_python_terms(message: str) -> str:
    """Return a message of pydantic in JSON terms."""
    for pattern, replacement in _PYTHON_TERMS:
        message = pattern.sub(replacement, message)
    return message


def _resolve_refs(schema: JsonValue, definitions: JsonObject) -> JsonValue:
    """Replace each `$ref` in a schema with its definition."""
    if isinstance(schema, list):
        return [_resolve_refs(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return _resolve_refs(definitions[name], definitions)
    return {key: _resolve_refs(value, definitions) for key, value in schema.items()}


def error_of(error: Exception, *, for_remote_caller: bool = False) -> JsonObject:
    """Return an error as callers see it.

    Errors of the library are shown in full. For an unexpected error, only its class is shown, because its message may
    contain a path or a key that is not meant for the caller. The log has the full error under the reference in
    `requestId`.

    Args:
        error: What went wrong.
        for_remote_caller: Whether the caller may be on another machine, and so must not see the names of local files.
    """
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]  # the first failure among the tasks of one call
    if isinstance(error, RoundtableError):
        shown = public_error(error) if for_remote_caller else error
        if shown is not error:
            logger.warning("a tool failed: %s", error)
        as_json = shown.to_dict()
        if shown.session_id is not None:
            as_json["sessionId"] = shown.session_id
        return as_json
    reference = secrets.token_hex(4)
    logger.error("a tool failed (%s): %s", reference, error_text(error), exc_info=error)
    unexpected = RoundtableError(
        f"unexpected error in the server ({type(error).__name__})",
        code="INTERNAL_ERROR",
        request_id=reference,
        hint=f"Report it with the entry {reference} of the server log. Stored data is not lost.",
    )
    return unexpected.to_dict()


def invalid_value(tool: str, field: str, problem: str, allowed: JsonValue) -> InvalidArguments:
    """Return an error about an argument that does not fit the stored session.

    Args:
        tool: Name of the tool.
        field: Name of the argument.
        problem: What is wrong with the argument.
        allowed: Allowed values.
    """
    problems: list[JsonValue] = [{"field": field, "problem": problem, "allowed": allowed}]
    message = f"{tool} was called with invalid arguments. {field}: {problem}"
    return InvalidArguments(message, details={"problems": problems})
