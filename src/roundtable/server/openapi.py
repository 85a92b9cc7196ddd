"""The OpenAPI document: FastAPI's document, completed with bodies, events, errors and tokens."""

from __future__ import annotations

import ast
import asyncio  # noqa: TID251  (for a task outside any request; the server runs only on asyncio)
import inspect
import itertools
import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

import anyio
from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from pydantic_core import to_json

from roundtable.analysis.arguments import ArgumentGraph
from roundtable.core.types.consensus import SynthesisResult
from roundtable.core.types.debate import RoundRecord
from roundtable.core.types.events import Event
from roundtable.results.audit import DecisionAudit
from roundtable.results.debate_result import DebateResult
from roundtable.server import request_bodies, response_bodies
from roundtable.server.openapi_parts import EVENTS, JSON, STREAM_PARAMETERS, reference
from roundtable.server.request_context import ROOT_PATH, logger
from roundtable.server.response_bodies import ErrorBody
from roundtable.server.routes.chat import MultiAgentRequest
from roundtable.server.state import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from roundtable.auth.guard import Message, Receive, Send

__all__ = ["Application", "classes_of", "component_schemas", "reachable_models", "router"]

_SECTION: Final = re.compile(r"\n\s*(?:Args|Example|Raises|Returns):")

_DESCRIPTION: Final = """Several LLM agents debate a question in rounds, or work as a team on a request.

Every request needs a token from `roundtable tokens create`: `Authorization: Bearer rt_...`. Users see only their own
sessions; for other users, a session seems not to exist. Names are camelCase; unknown names are refused.

Endpoints that start a run answer with 202, and the run continues in the background. With `?wait=`, the request waits
for the result. With `Accept: text/event-stream`, the response streams the events."""

_TAGS: Final = {
    "debates": "Start debates and conversations.",
    "sessions": "The caller's sessions: list, show, watch, export, delete.",
    "conversations": "Conversations of teams, in the team chat protocol.",
    "control": "Pause, stop and resume sessions; extend, fork and synthesize them.",
    "offers": "Agents, modes and profiles of this server, and who the caller is.",
    "monitoring": "Metrics of the server, for its operator.",
    "health": "Whether the server runs; needs no token.",
}

_ERROR_DESCRIPTIONS: Final = {
    "400": "The request is not valid: `VALIDATION_ERROR` with `field` and `message` in `details`, "
    "`MAX_ROUNDS_EXCEEDED`, or `CONFIGURATION_ERROR` for something that this server does not have.",
    "401": "The token is missing, unknown, expired, revoked, or meant for another server: `UNAUTHORIZED`.",
    "402": "The budget does not cover the first call: `BUDGET_EXCEEDED`.",
    "403": "The token does not have the scope, or the `Origin` is not allowed: `FORBIDDEN`.",
    "404": "The caller has no session with this id: `SESSION_ERROR`; or the session does not have the requested part: "
    "`NOT_FOUND`; or the server does not offer an agent of this name: `AGENT_NOT_FOUND`.",
    "408": "The body did not arrive in time: `REQUEST_TIMEOUT`.",
    "409": "The state of the session does not allow this, or the session is running: `SESSION_ERROR`; or the first "
    "request with this key is still being answered: `IDEMPOTENCY_KEY_IN_USE`; or `Last-Event-ID` is not an id "
    "of this server, or not of this session: `UNKNOWN_EVENT_ID`.",
    "413": "The body is too large: `PAYLOAD_TOO_LARGE`.",
    "415": "The body is not sent as JSON: `UNSUPPORTED_MEDIA_TYPE`.",
    "421": "The server does not serve the host in the `Host` header: `MISDIRECTED_REQUEST`.",
    "422": "The idempotency key was used for another request: `IDEMPOTENCY_KEY_REUSED`.",
    "429": "A limit of the caller is used up: `RATE_LIMIT_EXCEEDED`; `Retry-After` says how long to wait.",
    "500": "Unexpected failure: `INTERNAL_ERROR`. The server's log has the details under the id of the request.",
    "502": "The models failed: `QUORUM_LOST`, `AGENT_EXECUTION_FAILED`, or the error of a provider.",
    "503": "The server, its storage or a provider is overloaded or has failed: `SERVER_BUSY`, `STORAGE_ERROR`, "
    "`API_RATE_LIMIT`; or the server is shutting down: `SERVER_SHUTDOWN`.",
    "504": "A time limit was exceeded: `CONVERSATION_TIMEOUT`, `API_TIMEOUT`.",
}
_PUBLIC_PATHS: Final = frozenset({"/health", "/ready"})
_RUN_STATUSES: Final = ("402", "404", "409", "422", "429", "502", "503", "504")
_ERROR_EXAMPLE: Final = {
    "error": "rounds: Input should be greater than or equal to 1",
    "code": "VALIDATION_ERROR",
    "details": {"field": "rounds", "message": "Input should be greater than or equal to 1"},
    "timestamp": "2026-11-22T10:00:00.000000Z",
    "requestId": "5f0c1a2b3c4d5e6f708192a3b4c5d6e7",
}


def schema_mode(kind: type[BaseModel]) -> JsonSchemaMode:
    """Return the mode of a type's schema: `serialization` if its JSON has computed fields, else `validation`."""
    return "serialization" if kind.model_computed_fields else "validation"


def component_schemas() -> dict[str, Any]:
    """Return the schemas of request bodies, responses and events."""
    events = tuple(classes_of(Event))
    kinds: list[type[BaseModel]] = [
        *_exported_models(request_bodies),
        *_exported_models(response_bodies),
        MultiAgentRequest,
        DebateResult,
        DecisionAudit,
        ArgumentGraph,
        RoundRecord,
        SynthesisResult,
        *events,
    ]
    _, document = models_json_schema(
        [(kind, schema_mode(kind)) for kind in kinds], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Any] = document["$defs"]
    kinds_by_name = reachable_models(kinds)
    for name, schema in schemas.items():
        _describe_schema(schema, kinds_by_name.get(name))
    for kind in events:
        schemas[f"{kind.__name__}Message"] = _message_schema(kind, schemas.pop(kind.__name__))
    messages = {kind.model_fields["type"].default: f"#/components/schemas/{kind.__name__}Message" for kind in events}
    schemas["EventMessage"] = {
        "description": "An event of a session; `type` is the kind of event. Durable events are numbered (`seq`) and "
        "stored. A live event has the number of the durable event before it (`after`). Empty fields are left out.",
        "oneOf": [{"$ref": path} for path in messages.values()],
        "discriminator": {"propertyName": "type", "mapping": messages},
    }
    return schemas


def _message_schema(kind: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an event as streams send it: `type`, and all other fields in `data`."""
    data["properties"].pop("type")
    name = kind.model_fields["type"].default
    return {
        "type": "object",
        "description": data.pop("description", ""),
        "properties": {"type": {"const": name, "type": "string"}, "data": data},
        "required": ["type", "data"],
        "additionalProperties": False,
    }


def _exported_models(module: ModuleType) -> Iterator[type[BaseModel]]:
    for name in module.__all__:
        yield from classes_of(getattr(module, name))


def classes_of(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models in a type, such as those of a union."""
    if isinstance(annotation, type):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for part in get_args(annotation):
        yield from classes_of(part)


def reachable_models(roots: Iterable[type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """Return models by name, including all models that their fields contain."""
    models: dict[str, type[BaseModel]] = {}
    pending = list(roots)
    while pending:
        kind = pending.pop()
        if kind.__name__ not in models:
            models[kind.__name__] = kind
            # The types of computed fields are known only after this.
            kind.model_rebuild()
            contained = [field.annotation for field in kind.model_fields.values()]
            contained += [field.return_type for field in kind.model_computed_fields.values()]
            for annotation in contained:
                pending.extend(classes_of(annotation))
    return models


def _describe_schema(schema: dict[str, Any], kind: type[BaseModel] | None) -> None:
    """Add descriptions from docstrings, and remove the titles that pydantic derives from names."""
    _remove_titles(schema)
    if kind is None:
        return
    schema["description"] = _summary(inspect.getdoc(kind) or "")
    descriptions: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("roundtable."):
            descriptions |= _field_docs(base)
    for name, field in kind.model_fields.items():
        field_schema = schema.get("properties", {}).get(field.alias or name)
        if field_schema is not None and name in descriptions:
            field_schema.setdefault("description", descriptions[name].replace("`None`", "`null`"))


def _remove_titles(schema: object) -> None:
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for value in schema.values():
            _remove_titles(value)
    elif isinstance(schema, list):
        for value in schema:
            _remove_titles(value)


def _summary(text: str) -> str:
    return " ".join(_SECTION.split(f"{text}\n")[0].split()).replace("`None`", "`null`")


@cache
def _field_docs(kind: type) -> dict[str, str]:
    """Return the docstrings of a class's fields, parsed from its source; empty if there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        statement.target.id: " ".join(following.value.value.split())
        for statement, following in itertools.pairwise(body)
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    }


router: APIRouter = APIRouter(prefix="/api")


@router.get("/openapi.json", include_in_schema=False)
async def document(_: Reader, request: Request) -> Response:
    """Return the OpenAPI document. Building it takes a second, so it runs in a thread."""
    content = await to_thread.run_sync(request.app.openapi)
    if root := ROOT_PATH.get():
        content = {**content, "servers": [{"url": root}]}
    return Response(to_json(content), media_type=JSON)


class Application(FastAPI):
    """The application, with a complete OpenAPI document; it can be mounted in another application.

    The lifespan of a mounted application does not run by itself. If the outer application does not run it, it starts
    with the first request and ends with the event loop.
    """

    _document: dict[str, Any] | None = None
    _lifespan_task: asyncio.Task[None] | None = None
    _started: anyio.Event
    _failure: Exception | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request as if the application were mounted at the root."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        if not hasattr(self.state, "roundtable"):
            await self._ensure_started()
        root, path = scope.get("root_path", "").rstrip("/"), scope["path"]
        if root and (path == root or path.startswith(f"{root}/")):
            path = path[len(root) :] or "/"
        reset_token = ROOT_PATH.set(root)
        try:
            await super().__call__({**scope, "root_path": "", "path": path}, receive, send)
        finally:
            ROOT_PATH.reset(reset_token)

    async def _ensure_started(self) -> None:
        """Enter the lifespan once, in a task that lasts as long as the event loop."""
        if self._lifespan_task is None or self._lifespan_task.done():
            self._started, self._failure = anyio.Event(), None
            # The task must outlive the request, and a mounted application has no other long-lived task.
            self._lifespan_task = asyncio.get_running_loop().create_task(self._run_lifespan(self._started))
        await self._started.wait()
        if self._failure is not None:
            raise self._failure

    async def _run_lifespan(self, started: anyio.Event) -> None:
        try:
            async with self.router.lifespan_context(self):
                started.set()
                await anyio.sleep_forever()
        except Exception as error:  # noqa: BLE001  (raised in the requests that wait)
            self._failure = error
            if started.is_set():
                logger.error("the server stopped with an error; the next request starts it again", exc_info=error)
        finally:
            started.set()
            if hasattr(self.state, "roundtable"):
                del self.state.roundtable

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, built once."""
        if self._document is None:
            self._document = _complete(super().openapi())
        return self._document


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    document["openapi"] = "3.2.0"  # `itemSchema` of event streams is new in it
    document["info"]["description"] = _DESCRIPTION
    document["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    document["security"] = [{"bearer": []}]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _describe(path, method, operation)
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    used = {tag for operation in operations for tag in operation.get("tags", ())}
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
    if path in _PUBLIC_PATHS:
        operation["security"] = []
    if _streams(operation):
        operation["parameters"] = [*operation.get("parameters", ()), *STREAM_PARAMETERS]
    for status in _error_statuses(path, method, operation):
        responses.setdefault(status, _failure(status))
    operation["responses"] = dict(sorted(responses.items()))
    for response in operation["responses"].values():
        response.setdefault("headers", {})["X-Request-Id"] = {
            "description": "Id of the request in the server's log.",
            "schema": {"type": "string"},
        }


def _error_statuses(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the error statuses that an operation may answer with."""
    yield from ("403", "421", "500")
    if path not in _PUBLIC_PATHS:
        yield from ("401", "503")
    if path.startswith("/api/"):
        yield "400"
    if "requestBody" in operation:
        yield from ("408", "413", "415")
    if "{sessionId}" in path:
        yield "404"
        if method != "get" or path.endswith("/audit"):
            yield "409"
    if method == "post" and (_streams(operation) or path.endswith("/synthesize")):
        yield from _RUN_STATUSES
    if _streams(operation):
        yield "429"


def _streams(operation: dict[str, Any]) -> bool:
    return any(EVENTS in response.get("content", {}) for response in operation["responses"].values())


def _failure(status: str) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": _ERROR_DESCRIPTIONS[status],
        "content": {JSON: {"schema": reference(ErrorBody)}},
    }
    if status == "400":
        response["content"][JSON]["example"] = _ERROR_EXAMPLE
    if status == "429":
        headers = {
            "Retry-After": "Seconds to wait.",
            "RateLimit": "What is left of the limits.",
            "RateLimit-Policy": "The limits.",
        }
        response["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
        }
    return response
