"""What a caller hears when something goes wrong: the error format of seed 004, never a stack."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from roundtable.errors import RoundtableError, SessionBusy, SessionConflict, SessionNotFound
from roundtable.server.limits import RateLimited
from roundtable.server.requests import REQUEST_ID, logger

if TYPE_CHECKING:
    from roundtable.types import JsonObject

__all__ = ["answer", "error_body", "error_event", "status_of", "tell_failures"]

_STATUSES: Final = {
    "VALIDATION_ERROR": 400,
    "MAX_ROUNDS_EXCEEDED": 400,
    "CONFIGURATION_ERROR": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "AGENT_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "RATE_LIMIT_EXCEEDED": 429,
    "AGENT_EXECUTION_FAILED": 502,
    "QUORUM_LOST": 502,
    "SERVER_BUSY": 503,
    "STORAGE_ERROR": 503,
    "CONVERSATION_TIMEOUT": 504,
}


def status_of(error: RoundtableError) -> int:
    """Give the HTTP status of an error."""
    if isinstance(error, SessionNotFound):
        return 404
    if isinstance(error, (SessionBusy, SessionConflict)):
        return 409
    return _STATUSES.get(error.code, 500)


def error_body(error: RoundtableError) -> JsonObject:
    """Give an error as the body of an answer, with its time and the number of the request."""
    body: JsonObject = {"error": error.message, "code": error.code}
    if error.details:
        body["details"] = dict(error.details)
    if error.hint:
        body["hint"] = error.hint
    body["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    body["requestId"] = REQUEST_ID.get()
    return body


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
    app.exception_handler(Exception)(_unforeseen)


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


async def _ours(request: Request, error: RoundtableError) -> JSONResponse:
    status = status_of(error)
    if status >= 500:
        logger.warning("%s %s: %s", request.method, request.url.path, error, extra={"request": REQUEST_ID.get()})
    return answer(error)


async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:])
    message = first["msg"].removeprefix("Value error, ")
    details: JsonObject = {"field": field, "message": message}
    return answer(RoundtableError(f"{field or 'body'}: {message}", code="VALIDATION_ERROR", details=details))


async def _plain(_: Request, error: HTTPException) -> JSONResponse:
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "VALIDATION_ERROR")
    return answer(RoundtableError(str(error.detail), code=code), error.status_code)


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    number = REQUEST_ID.get()
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error, extra={"request": number})
    told = RoundtableError("Internal server error", code="INTERNAL_ERROR", hint=f"Report the request {number}.")
    return answer(told, 500)
