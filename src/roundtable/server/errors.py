"""Error responses: one JSON format for every failure, without a stack trace."""

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

from roundtable.auth.guard import IDENTITY
from roundtable.auth.identity import public_error
from roundtable.core.errors import ContextTooLong, RoundtableError, SessionBusy, SessionConflict, SessionNotFound
from roundtable.server.limits import RateLimited
from roundtable.server.rendering import failure_page, wants_page
from roundtable.server.request_context import REQUEST_ID, logger

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.core.types.base import JsonObject

__all__ = [
    "STATUSES",
    "UnexpectedErrors",
    "add_error_handlers",
    "answer",
    "error_body",
    "error_event",
    "invalid_field",
    "status_of",
]


STATUSES: Final = {
    "VALIDATION_ERROR": 400,
    "MAX_ROUNDS_EXCEEDED": 400,
    "CONFIGURATION_ERROR": 400,
    "ATTACHMENT_INVALID": 400,
    "ATTACHMENT_UNSEEN": 400,
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
"""HTTP status of each error code; all other codes have status 500."""

_COPIED_HEADERS: Final = ("retry-after", "ratelimit", "ratelimit-policy")


def status_of(error: RoundtableError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, SessionNotFound):
        return 404
    if isinstance(error, ContextTooLong):
        return 400
    if isinstance(error, (SessionBusy, SessionConflict)):
        return 409
    return STATUSES.get(error.code, 500)


def error_body(error: RoundtableError) -> JsonObject:
    """Return the JSON body for an error, with the time and the id of the request."""
    error = public_error(error)
    message = error.message
    body: JsonObject = {"error": message, "code": error.code}
    details: JsonObject = {} if error.session_id is None else {"sessionId": error.session_id}
    details |= error.details or {}
    if details:
        base: JsonObject = {"message": message} if "field" in details else {}
        body["details"] = base | details
    if error.hint:
        body["hint"] = error.hint
    body["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    body["requestId"] = REQUEST_ID.get()
    return body


def invalid_field(field: str, message: str) -> RoundtableError:
    """Return the error for an invalid field of a request."""
    details: JsonObject = {"field": field, "message": message}
    return RoundtableError(f"{field}: {message}", code="VALIDATION_ERROR", details=details)


def error_event(error: RoundtableError) -> bytes:
    """Return an error as the last event of a stream."""
    body = error_body(error)
    data = {"error": body["error"], "code": body["code"], "recoverable": True, "timestamp": body["timestamp"]}
    return b"data: " + to_json({"type": "error", "data": data}) + b"\n\n"


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers so that an application answers all failures in the same format."""
    app.exception_handler(RoundtableError)(_on_library_error)
    app.exception_handler(RequestValidationError)(_on_invalid_request)
    app.exception_handler(HTTPException)(_on_http_error)


def answer(error: RoundtableError, status: int | None = None) -> JSONResponse:
    """Return the JSON response for an error, with `Retry-After` if the error says how long to wait.

    Args:
        error: The error.
        status: HTTP status; when left out, the status of the error's code.
    """
    headers = {"cache-control": "no-store"}
    if isinstance(error, RateLimited):
        headers |= error.headers
    if error.retry_after_s is not None:
        headers["retry-after"] = str(ceil(error.retry_after_s))
    return JSONResponse(error_body(error), status or status_of(error), headers)


def _respond(request: Request, error: RoundtableError, status: int | None = None) -> Response:
    """Return an error as JSON, or as a page for a browser."""
    as_json = answer(error, status)
    if not wants_page(request.scope):
        return as_json
    public = public_error(error)
    html = failure_page(as_json.status_code, public.message, public.hint, request.scope.get(IDENTITY))
    html.headers.update({name: as_json.headers[name] for name in _COPIED_HEADERS if name in as_json.headers})
    return html


async def _on_library_error(request: Request, error: RoundtableError) -> Response:
    status = status_of(error)
    if status >= 500:
        logger.warning("%s %s: %s", request.method, request.url.path, error, extra={"request": REQUEST_ID.get()})
    return _respond(request, error)


async def _on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or "body"
    message = first["msg"].removeprefix("Value error, ")
    return _respond(request, invalid_field(field, message))


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "VALIDATION_ERROR")
    response = _respond(request, RoundtableError(str(error.detail), code=code), error.status_code)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["allow"] = ", ".join(_allowed_methods(request))
    return response


def _allowed_methods(request: Request) -> list[str]:
    """List the methods of a path; the framework itself lists only the methods of one endpoint."""
    routes = request.app.router.routes
    return [
        method
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


class UnexpectedErrors:
    """ASGI middleware that answers unexpected exceptions with status 500, without details; runs in `RequestNumbers`.

    Args:
        app: The server.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http" or started:
                raise  # a response that has started can only be cut off
            request_id = REQUEST_ID.get()
            logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error, extra={"request": request_id})
            hint = f"Report the request {request_id}."
            failure = RoundtableError("Internal server error", code="INTERNAL_ERROR", hint=hint)
            await _respond(Request(scope), failure, 500)(scope, receive, send)
