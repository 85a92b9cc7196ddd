"""How endpoints say in the OpenAPI document what they take and give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

__all__ = ["EVENTS", "EVENT_STREAM", "JSON", "STREAM_PARAMETERS", "gives", "reference", "streams", "takes"]

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

EVENT_STREAM: Final[Mapping[str, object]] = {
    "itemSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "`<session>:<number>` of a durable event, where ids are on."},
            "data": {
                "type": "string",
                "contentMediaType": JSON,
                "contentSchema": {"$ref": "#/components/schemas/EventMessage"},
            },
        },
        "required": ["data"],
    }
}
"""Server-sent events that tell a session."""


STREAM_PARAMETERS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "ids",
        "in": "query",
        "description": "Whether durable events of a stream have ids, for `Last-Event-ID`: `1`. Streams of a session "
        "that exists already always have them.",
        "schema": {"type": "string"},
    },
    {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "Id of the last event you have; the stream goes on after it.",
        "schema": {"type": "string"},
    },
)
"""What an endpoint that streams events takes besides."""


def reference(kind: type[BaseModel]) -> dict[str, Any]:
    """Point to the schema of a type."""
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def gives(
    description: str, kind: type[BaseModel], *, status: int = 200, example: Mapping[str, object] | None = None
) -> dict[int | str, dict[str, Any]]:
    """Describe an answer in JSON."""
    content: dict[str, Any] = {"schema": reference(kind)}
    if example is not None:
        content["example"] = dict(example)
    return {status: {"description": description, "content": {JSON: content}}}


def streams(description: str, kind: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """Describe an answer of server-sent events, and a type that is given instead where no events are asked for."""
    content: dict[str, Any] = {EVENTS: dict(EVENT_STREAM)}
    if kind is not None:
        content[JSON] = {"schema": reference(kind)}
    return {200: {"description": description, "content": content}}


def takes(
    kind: type[BaseModel], *, required: bool = True, examples: Mapping[str, Mapping[str, object]] | None = None
) -> dict[str, Any]:
    """Describe a body in JSON, with examples by what they show."""
    content: dict[str, Any] = {"schema": reference(kind)}
    if examples:
        content["examples"] = {name: {"value": dict(value)} for name, value in examples.items()}
    return {"requestBody": {"required": required, "content": {JSON: content}}}
