"""JSON-RPC messages of MCP, and the errors for texts that are not valid messages."""

from __future__ import annotations

import json
from typing import NamedTuple

from mcp import types
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from roundtable.core.base.text import well_formed

__all__ = ["InvalidMessage", "message_error", "parse_message"]


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
    """Return why a text is not a single message; `None` if it is a message. A list of messages is invalid."""
    message = parse_message(text)
    return message if isinstance(message, InvalidMessage) else None


def parse_message(text: str | bytes) -> types.JSONRPCMessage | InvalidMessage:
    """Parse a message, or return why the text is not a message."""
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        is_json = error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid"
    else:
        if not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(text):
            return message
        # A request whose id is neither a text nor an integer; its sender would wait for an answer without end.
        return InvalidMessage(types.INVALID_REQUEST, "The id of a request must be a text or an integer")
    request_id = _request_id(text)
    if request_id is not None and not is_json:
        # The standard library accepts half of a surrogate pair, which no valid text contains.
        return InvalidMessage(types.INVALID_PARAMS, "The message contains half of a surrogate pair", request_id)
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
