"""Errors of tools as JSON for their callers, without stack traces."""

from __future__ import annotations

import json
import logging
import re
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp import types
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from roundtable._core.text import error_text, well_formed
from roundtable.auth.identity import public_error
from roundtable.errors import RoundtableError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from roundtable.types import JsonObject, JsonValue

__all__ = [
    "InvalidArguments",
    "InvalidMessage",
    "NotFoundInSession",
    "error_of",
    "invalid_arguments",
    "invalid_value",
    "message_error",
    "parse_message",
]


class InvalidMessage(NamedTuple):
    """Why a text is not a valid message."""

    code: int
    """JSON-RPC error code."""
    message: str
    """Error message; never contains parts of the input."""
    id: str | int | None = None
    """Id of the request, if it could be read: the sender waits for an answer with this id."""

    def to_json(self) -> str:
        """Return the error response as JSON."""
        error = types.ErrorData(code=self.code, message=self.message)
        return types.JSONRPCError(jsonrpc="2.0", id=self.id, error=error).model_dump_json(
            by_alias=True, exclude_unset=True
        )


def message_error(text: str | bytes) -> InvalidMessage | None:
    """Return why a text is not a single message; `None` if it is one. A list of messages is invalid."""
    message = parse_message(text)
    return message if isinstance(message, InvalidMessage) else None


def parse_message(text: str | bytes) -> types.JSONRPCMessage | InvalidMessage:
    """Parse a message, or return why the text is not one."""
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        is_json = error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid"
    request_id = _request_id(text)
    if request_id is not None and not is_json:
        # The standard library accepts half of a surrogate pair, which no valid text contains.
        return InvalidMessage(types.INVALID_PARAMS, "A text of the message holds half of a surrogate pair", request_id)
    if is_json:
        return InvalidMessage(types.INVALID_REQUEST, "Invalid request", request_id)
    return InvalidMessage(types.PARSE_ERROR, "Parse error")


def _request_id(text: str | bytes) -> str | int | None:
    """Return the request id of an invalid message; `None` if it has none."""
    try:
        message: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "method" not in message:
        return None
    request_id = message.get("id")
    if isinstance(request_id, str):
        return request_id if request_id.isprintable() and well_formed(request_id) == request_id else None
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None


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


def error_of(error: Exception, *, elsewhere: bool = False) -> JsonObject:
    """Return an error as callers see it.

    An error of the library is shown in full. Of an unexpected error only its class is shown, because its message may
    contain a path or a key that is not meant for the caller; the log has the full error under the reference in
    `requestId`.

    Args:
        error: What went wrong.
        elsewhere: Whether the caller may be on another machine and must not see the names of local files.
    """
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]  # the first failure among the tasks of one call
    if isinstance(error, RoundtableError):
        shown = public_error(error) if elsewhere else error
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
        problem: What is wrong with it.
        allowed: Allowed values.
    """
    problems: list[JsonValue] = [{"field": field, "problem": problem, "allowed": allowed}]
    message = f"{tool} was called with invalid arguments. {field}: {problem}"
    return InvalidArguments(message, details={"problems": problems})
