"""Helpers that describe request bodies and responses of endpoints in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

__all__ = ["EVENTS", "EVENT_STREAM", "JSON", "STREAM_PARAMETERS", "json_body", "json_response", "reference", "streams"]


JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

EVENT_STREAM: Final[Mapping[str, object]] = {
    "itemSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "`<session>:<number>` of a durable event, if the stream has ids."},
            "data": {
                "type": "string",
                "contentMediaType": JSON,
                "contentSchema": {"$ref": "#/components/schemas/EventMessage"},
            },
        },
        "required": ["data"],
    }
}
"""Schema of the server-sent events of a session."""


STREAM_PARAMETERS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "ids",
        "in": "query",
        "description": "`1` adds ids to durable events, so that the client can later send `Last-Event-ID`. Streams of "
        "a session that already exists always have ids.",
        "schema": {"type": "string"},
    },
    {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "Id of the last event that you have; the stream continues after it.",
        "schema": {"type": "string"},
    },
)
"""Additional parameters of endpoints that stream events."""


def reference(kind: type[BaseModel]) -> dict[str, Any]:
    """Return a reference to the schema of a type."""
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def json_response(
    description: str, kind: type[BaseModel], *, status: int = 200, example: Mapping[str, object] | None = None
) -> dict[int | str, dict[str, Any]]:
    """Describe a JSON response."""
    content: dict[str, Any] = {"schema": reference(kind)}
    if example is not None:
        content["example"] = dict(example)
    return {status: {"description": description, "content": {JSON: content}}}


def streams(description: str, kind: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """Describe a response of server-sent events, and the JSON response to requests that don't accept events."""
    content: dict[str, Any] = {EVENTS: dict(EVENT_STREAM)}
    if kind is not None:
        content[JSON] = {"schema": reference(kind)}
    return {200: {"description": description, "content": content}}


def json_body(
    kind: type[BaseModel], *, required: bool = True, examples: Mapping[str, Mapping[str, object]] | None = None
) -> dict[str, Any]:
    """Describe a JSON request body, with named examples."""
    content: dict[str, Any] = {"schema": reference(kind)}
    if examples:
        content["examples"] = {name: {"value": dict(value)} for name, value in examples.items()}
    return {"requestBody": {"required": required, "content": {JSON: content}}}
