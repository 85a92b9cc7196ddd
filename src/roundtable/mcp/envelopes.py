"""What is no message of the protocol gets the error that the protocol has for it, on every transport alike."""

from __future__ import annotations

from typing import NamedTuple

from mcp import types
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

__all__ = ["Fault", "fault_of", "message_of"]


class Fault(NamedTuple):
    """Why something is no message."""

    code: int
    """Code of JSON-RPC."""
    message: str
    """The same in words, with nothing of what came in."""

    def to_json(self) -> str:
        """Give the answer to it; it names no request, because none could be read."""
        error = types.ErrorData(code=self.code, message=self.message)
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=error).model_dump_json(
            by_alias=True, exclude_unset=True
        )


def fault_of(text: str | bytes) -> Fault | None:
    """Tell why a text is not one message; `None` where it is. Several in a list are none."""
    found = message_of(text)
    return found if isinstance(found, Fault) else None


def message_of(text: str | bytes) -> types.JSONRPCMessage | Fault:
    """Read a message, or tell why a text is none."""
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return Fault(types.PARSE_ERROR, "Parse error")
        return Fault(types.INVALID_REQUEST, "Invalid request")
