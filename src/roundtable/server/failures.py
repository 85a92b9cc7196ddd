"""What a caller hears when something goes wrong: the error format of seed 004, never a stack."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.routing import Match

from roundtable.auth.errors import told_elsewhere
from roundtable.auth.guard import IDENTITY
from roundtable.errors import (
    ContextTooLong,
    RoundtableError,
    SessionBusy,
    SessionConflict,
    SessionNotFound,
)
from roundtable.server.limits import RateLimited
from roundtable.server.rendering import failure_page, wants_page
from roundtable.server.requests import REQUEST_ID, logger

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.types import JsonObject

__all__ = ["STATUSES", "LastResort", "answer", "error_body", "error_event", "misfit", "status_of", "tell_failures"]

STATUSES: Final = {
    "VALIDATION_ERROR": 400,
    "MAX_ROUNDS_EXCEEDED": 400,
    "CONFIGURATION_ERROR": 400,
    "UNAUTHORIZED": 401,
    "BUDGET_EXCEEDED": 402,
    "FORBIDDEN": 403,
    "AGENT_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "IDEMPOTENCY_KEY_IN_USE": 409,
    "PROGRAM_REFUSED": 409,
    "SESSION_ERROR": 409,
    "UNKNOWN_EVENT_ID": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "IDEMPOTENCY_KEY_REUSED": 422,
    "RATE_LIMIT_EXCEEDED": 429,
    "AGENT_ERROR": 502,
    "AGENT_EXECUTION_FAILED": 502,
    "API_AUTH_FAILED": 502,
    "API_NETWORK_ERROR": 502,
    "PARSE_ERROR": 502,
    "QUORUM_LOST": 502,
    "API_RATE_LIMIT": 503,
    "SERVER_BUSY": 503,
    "SERVER_SHUTDOWN": 503,
    "STORAGE_ERROR": 503,
    "API_TIMEOUT": 504,
    "CONVERSATION_TIMEOUT": 504,
}
"""HTTP status of each code; of others 500."""

_PASSED: Final = ("retry-after", "ratelimit", "ratelimit-policy")


def status_of(error: RoundtableError) -> int:
    """Give the HTTP status of an error."""
    if isinstance(error, SessionNotFound):
        return 404
    if isinstance(error, ContextTooLong):
        return 400
    if isinstance(error, (SessionBusy, SessionConflict)):
        return 409
    return STATUSES.get(error.code, 500)


def error_body(error: RoundtableError) -> JsonObject:
    """Give an error as the body of an answer, with its time and the number of the request."""
    error = told_elsewhere(error)
    message = error.message
    body: JsonObject = {"error": message, "code": error.code}
    if error.details:
        said: JsonObject = {"message": message} if "field" in error.details else {}
        body["details"] = said | error.details
    if error.hint:
        body["hint"] = error.hint
    body["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    body["requestId"] = REQUEST_ID.get()
    return body


def misfit(field: str, message: str) -> RoundtableError:
    """Give the error of a field of a request that does not fit."""
    details: JsonObject = {"field": field, "message": message}
    return RoundtableError(f"{field}: {message}", code="VALIDATION_ERROR", details=details)


def error_event(error: RoundtableError) -> bytes:
    """Give an error as the last event of a stream."""
    told = error_body(error)
    data = {"error": told["error"], "code": told["code"], "recoverable": True, "timestamp": told["timestamp"]}
    return b"data: " + to_json({"type": "error", "data": data}) + b"\n\n"


def tell_failures(app: FastAPI) -> None:
    """Have an application answer every failure in one format."""
    app.exception_handler(RoundtableError)(_ours)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_plain)


def answer(error: RoundtableError, status: int | None = None) -> JSONResponse:
    """Give the answer that tells an error, with `Retry-After` where it says how long to wait.

    Args:
        error: What went wrong.
        status: HTTP status; that of the error's code when left out.
    """
    headers = {"cache-control": "no-store"}
    if isinstance(error, RateLimited):
        headers |= error.headers
    if error.retry_after_s is not None:
        headers["retry-after"] = str(ceil(error.retry_after_s))
    return JSONResponse(error_body(error), status or status_of(error), headers)


def _told(request: Request, error: RoundtableError, status: int | None = None) -> Response:
    """Answer as JSON, or with a page where somebody looks at pages."""
    as_json = answer(error, status)
    if not wants_page(request.scope):
        return as_json
    said = told_elsewhere(error)
    shown = failure_page(as_json.status_code, said.message, said.hint, request.scope.get(IDENTITY))
    shown.headers.update({name: as_json.headers[name] for name in _PASSED if name in as_json.headers})
    return shown


async def _ours(request: Request, error: RoundtableError) -> Response:
    status = status_of(error)
    if status >= 500:
        logger.warning("%s %s: %s", request.method, request.url.path, error, extra={"request": REQUEST_ID.get()})
    return _told(request, error)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or "body"
    message = first["msg"].removeprefix("Value error, ")
    return _told(request, misfit(field, message))


async def _plain(request: Request, error: HTTPException) -> Response:
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "VALIDATION_ERROR")
    told = _told(request, RoundtableError(str(error.detail), code=code), error.status_code)
    told.headers.update(error.headers or {})
    if error.status_code == 405:
        told.headers["allow"] = ", ".join(_allowed(request))
    return told


def _allowed(request: Request) -> list[str]:
    """List the methods for a path; the framework names those of one endpoint alone."""
    routes = request.app.router.routes
    return [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


class LastResort:
    """Answers what nobody foresaw, inside of what numbers requests: with 500, and without a word of what it was.

    Args:
        app: The server.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        began = False

        async def watched(message: Message) -> None:
            nonlocal began
            began = began or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http" or began:
                raise  # what has begun can only break off
            number = REQUEST_ID.get()
            logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error, extra={"request": number})
            hint = f"Report the request {number}."
            told = RoundtableError("Internal server error", code="INTERNAL_ERROR", hint=hint)
            await _told(Request(scope), told, 500)(scope, receive, send)
