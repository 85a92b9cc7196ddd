"""The OpenAPI document: what FastAPI knows of the endpoints, with bodies, events, errors and tokens put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from pydantic_core import to_json

from roundtable.server.answers import ErrorBody
from roundtable.server.describing import EVENTS, JSON, STREAM_PARAMETERS, reference
from roundtable.server.schemas import component_schemas
from roundtable.server.state import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["Application", "router"]

_ABOUT: Final = """Several LLM agents debate a question in rounds, or work as a team on a request.

Everything belongs to the user whose token is shown: `Authorization: Bearer rt_...`, as `roundtable tokens create`
makes it. A session of somebody else is answered like one that does not exist. Names are camelCase; names that are not
known are refused.

What begins a run answers 202 and lets it run by itself; `?wait=` waits for the result, `Accept: text/event-stream`
streams the events."""

_TAGS: Final = {
    "debates": "Beginning debates and conversations.",
    "sessions": "The caller's sessions: found, shown, followed, exported, removed.",
    "conversations": "Conversations of teams, in the words of clients that know the first version of this API.",
    "control": "Pausing, stopping and going on; extending, forking, putting together.",
    "offers": "What there is here, and who the caller is.",
    "monitoring": "Figures of the server, for its owner.",
    "health": "Whether the server runs; needs no token.",
}

_WHY: Final = {
    "400": "Something does not fit: `VALIDATION_ERROR` with `field` and `message` in `details`, "
    "`MAX_ROUNDS_EXCEEDED`, or `CONFIGURATION_ERROR` for what does not exist here.",
    "401": "The token is missing, unknown, expired, revoked, or for another server: `UNAUTHORIZED`.",
    "402": "The budget does not cover the first call: `BUDGET_EXCEEDED`.",
    "403": "The token lacks the scope, or pages of this Origin may not call: `FORBIDDEN`.",
    "404": "The caller has no such session, or it has no such part (`SESSION_ERROR`, `NOT_FOUND`); or an agent is "
    "not offered here (`AGENT_NOT_FOUND`).",
    "408": "The body did not come in time: `REQUEST_TIMEOUT`.",
    "409": "The session is in no state for this, or somebody is running it: `SESSION_ERROR`; or the first request with "
    "this key is still being answered: `IDEMPOTENCY_KEY_IN_USE`; or `Last-Event-ID` is no id of this server: "
    "`UNKNOWN_EVENT_ID`.",
    "413": "The body is too large: `PAYLOAD_TOO_LARGE`.",
    "415": "The body is not sent as JSON: `UNSUPPORTED_MEDIA_TYPE`.",
    "421": "The server does not answer to this Host: `MISDIRECTED_REQUEST`.",
    "422": "The key stands for another request: `IDEMPOTENCY_KEY_REUSED`.",
    "429": "A limit of the caller is used up: `RATE_LIMIT_EXCEEDED`; `Retry-After` says when to come again.",
    "500": "Something nobody foresaw: `INTERNAL_ERROR`. The log has it under the number of the request.",
    "502": "The models failed: `QUORUM_LOST`, `AGENT_EXECUTION_FAILED`, or the error of a provider.",
    "503": "The server, its storage or a provider has no room: `SERVER_BUSY`, `STORAGE_ERROR`, `API_RATE_LIMIT`.",
    "504": "The time is over: `CONVERSATION_TIMEOUT`, `API_TIMEOUT`.",
}
_OPEN: Final = frozenset({"/health", "/ready"})
_RUNS: Final = ("402", "404", "409", "422", "429", "502", "503", "504")
_EXAMPLE: Final = {
    "error": "rounds: Input should be greater than or equal to 1",
    "code": "VALIDATION_ERROR",
    "details": {"field": "rounds", "message": "Input should be greater than or equal to 1"},
    "timestamp": "2026-11-22T10:00:00.000000Z",
    "requestId": "5f0c1a2b3c4d5e6f708192a3b4c5d6e7",
}


router: APIRouter = APIRouter(prefix="/api")


@router.get("/openapi.json", include_in_schema=False)
async def document(_: Reader, request: Request) -> Response:
    """Give the document. It takes a second to make, which others need not wait for."""
    told = await to_thread.run_sync(request.app.openapi)
    return Response(to_json(told), media_type=JSON)


class Application(FastAPI):
    """The application, with a complete OpenAPI document."""

    _told: dict[str, Any] | None = None

    def openapi(self) -> dict[str, Any]:
        """Give the document; made once."""
        if self._told is None:
            self._told = _completed(super().openapi())
        return self._told


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    document["openapi"] = "3.2.0"  # `itemSchema` of event streams is new in it
    document["info"]["description"] = _ABOUT
    document["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    document["security"] = [{"bearer": []}]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _describe(path, method, operation)
    used = {tag for item in document["paths"].values() for one in item.values() for tag in one.get("tags", ())}
    document["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items() if name in used]
    components = document.setdefault("components", {})
    schemas = components.get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    components["schemas"] = dict(sorted((schemas | component_schemas()).items()))
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "A token that `roundtable tokens create` made."}
    }
    return document


def _describe(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
    if path in _OPEN:
        operation["security"] = []
    if _streams(operation):
        operation["parameters"] = [*operation.get("parameters", ()), *STREAM_PARAMETERS]
    for status in _failures(path, method, operation):
        responses.setdefault(status, _failure(status))
    operation["responses"] = dict(sorted(responses.items()))
    for told in operation["responses"].values():
        told.setdefault("headers", {})["X-Request-Id"] = {
            "description": "Number of the request in the server's log.",
            "schema": {"type": "string"},
        }


def _failures(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """Say which errors an operation may answer with."""
    yield from ("403", "421", "500")
    if path not in _OPEN:
        yield from ("401", "503")
    if path.startswith("/api/"):
        yield "400"
    if "requestBody" in operation:
        yield from ("408", "413", "415")
    if "{sessionId}" in path:
        yield "404"
        if method != "get":
            yield "409"
    if method == "post" and (_streams(operation) or path.endswith("/synthesize")):
        yield from _RUNS
    if _streams(operation):
        yield "429"


def _streams(operation: dict[str, Any]) -> bool:
    return any(EVENTS in told.get("content", {}) for told in operation["responses"].values())


def _failure(status: str) -> dict[str, Any]:
    told: dict[str, Any] = {"description": _WHY[status], "content": {JSON: {"schema": reference(ErrorBody)}}}
    if status == "400":
        told["content"][JSON]["example"] = _EXAMPLE
    if status == "429":
        headers = {"Retry-After": "Seconds to wait.", "RateLimit": "What is left.", "RateLimit-Policy": "The limits."}
        told["headers"] = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}
    return told
