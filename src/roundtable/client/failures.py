"""What a server answered instead of what was asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, Final

from roundtable.errors import RoundtableError, SessionConflict, SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http import HttpResponse

__all__ = ["ServerError", "error_from", "error_in_stream"]

_AGAIN: Final = frozenset({408, 429, 502, 503, 504})
_PASSES: Final = frozenset({"SERVER_SHUTDOWN", "SERVER_BUSY", "STORAGE_ERROR"})
"""Codes of last events after which to connect again may help, unlike the end of a token."""
_MOST_CHARS: Final = 500
_RESUME: Final = "The process that ran it is gone. `resume` goes on with it."
_MEND: Final = "Change the request as the message says."


class ServerError(RoundtableError):
    """The server refused a request or failed; `code` is what it says, `status` the status of HTTP.

    Attributes:
        status: Status code; 200 where the error came in a stream of events.

    Example:
        >>> ServerError("slow down", code="RATE_LIMIT_EXCEEDED", retryable=True).status
        500
    """

    default_message = "The server failed"
    default_code = "SERVER_ERROR"
    default_hint: ClassVar[str | None] = "Ask whoever runs the server; `request_id` is in its log."
    status: int = 500


def error_from(response: HttpResponse) -> RoundtableError:
    """Give the error that an answer tells."""
    status = response.status
    told = _told(response.body)
    code, message, hint = (told.get(name) for name in ("code", "error", "hint"))
    details = told.get("details")
    if code == "SESSION_ERROR" and status in {404, 409}:
        kind = SessionNotFound if status == 404 else SessionConflict
        return kind(str(message), hint=str(hint) if hint else None)
    error = ServerError(
        str(message) if message else f"the server answered with status {status}",
        code=str(code) if code else None,
        retryable=status in _AGAIN,
        hint=str(hint) if hint else _MEND if status in {400, 413} else None,
        request_id=str(told.get("requestId") or response.headers.get("x-request-id") or "") or None,
        retry_after_s=_seconds(response.headers.get("retry-after")),
        details=details if isinstance(details, dict) else None,
    )
    error.status = status
    return error


def error_in_stream(data: Mapping[str, object]) -> ServerError:
    """Give the error of an event that belongs to no session, such as the end of a token."""
    code = str(data.get("code") or "SERVER_ERROR")
    hint = _RESUME if code == "SESSION_INTERRUPTED" else None
    error = ServerError(str(data.get("error")), code=code, retryable=code in _PASSES, hint=hint)
    error.status = 200
    return error


def _told(body: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {"error": body[:_MOST_CHARS].decode("utf-8", "replace").strip()}
    return found if isinstance(found, dict) else {}


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None
