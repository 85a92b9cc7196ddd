"""Write the reference of the HTTP server from its OpenAPI document, and the document itself."""
# ruff: noqa: E501  (the page is Markdown with long lines)

from __future__ import annotations

import json
from functools import cache
from typing import Any

from reference_kinds import cell, kind_of

from roundtable import Roundtable
from roundtable.server import create_app

__all__ = ["document", "page"]

HEAD = """# HTTP API

All endpoints of the server. This page is generated from its [OpenAPI document](openapi.json), which the server also
returns at `/api/openapi.json`.

- **Authentication.** Send a token with every request, `Authorization: Bearer rt_...`, except for endpoints marked
  *open*.
- **Bodies** are JSON with `Content-Type: application/json`. Names are camelCase. Unknown fields are refused.
- **Errors** are `{error, code, details, hint, timestamp, requestId}`; see [the status codes](#errors).
- **Runs.** Endpoints that start a run return `202` with the session, which then runs in the background. With
  `?wait=60`, they wait up to that many seconds and return `200` with the [result](schemas/DebateResult.json) if it
  arrives in time. With `Accept: text/event-stream`, they stream the [events](events.md) instead.
- **Idempotency.** The server remembers an `Idempotency-Key` for 24 hours: the same request with the same key returns
  the same session and starts nothing new.
"""


@cache
def _document() -> dict[str, Any]:
    app = create_app(Roundtable(storage="memory://"))
    told = json.loads(json.dumps(app.openapi()))
    told["info"]["version"] = "1"  # of the API; the library's would change this file with every release
    return told


def document() -> str:
    """Return the OpenAPI document."""
    return json.dumps(_document(), indent=1, ensure_ascii=False) + "\n"


def page() -> str:
    """Return the page of the reference."""
    told = _document()
    lines = [HEAD]
    for tag in told["tags"]:
        lines += [f"## {tag['name'].capitalize()}", "", tag["description"], ""]
        for path, item in told["paths"].items():
            for method, operation in item.items():
                if tag["name"] in operation.get("tags", ()):
                    lines += _operation(path, method, operation)
    return "\n".join([*lines, *_events(told), *_errors(told)]).rstrip() + "\n"


def _operation(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    mark = " *(open)*" if operation.get("security") == [] else ""
    lines = [f"### {method.upper()} {path}{mark}", "", cell(operation.get("description", "")), ""]
    parameters = [one for one in operation.get("parameters", ()) if one["name"] != "sessionId"]
    if parameters:
        lines += ["| parameter | in | values | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{one['name']}` | {one['in']} | {kind_of(one['schema'])} | {cell(one.get('description', one['schema'].get('description', '')))} |"
            for one in parameters
        ]
        lines.append("")
    body = operation.get("requestBody")
    if body is not None:
        lines += _body(body)
    given = [
        f"`{status}` {told['description']}" for status, told in operation["responses"].items() if status.startswith("2")
    ]
    refused = [f"`{status}`" for status in operation["responses"] if not status.startswith("2")]
    return [*lines, f"Responses: {' '.join(given)} Errors: {', '.join(refused)}.", ""]


def _body(body: dict[str, Any]) -> list[str]:
    content = body["content"]["application/json"]
    schema = _resolved(content["schema"])
    lines = ["| field | values | default | meaning |", "|---|---|---|---|"]
    needed = set(schema.get("required", ()))
    for name, place in schema["properties"].items():
        default = "required" if name in needed else _default(place.get("default"))
        lines.append(f"| `{name}` | {kind_of(place)} | {default} | {cell(place.get('description', ''))} |")
    lines.append("")
    for name, example in content.get("examples", {}).items():
        shown = json.dumps(example["value"], indent=2, ensure_ascii=False)
        lines += [f"Example, {name}:", "", "```json", shown, "```", ""]
    return lines


def _events(told: dict[str, Any]) -> list[str]:
    """List the events of streams."""
    lines = [
        "## Events of streams",
        "",
        'Each event is `data: {"type": ..., "data": {...}}`. The inner `data` always has `sessionId`, `timestamp`, and `seq` (durable events) or `after` (live events).',
        "",
    ]
    lines += ["| type | fields of `data` |", "|---|---|"]
    for name, place in told["components"]["schemas"]["EventMessage"]["discriminator"]["mapping"].items():
        fields = told["components"]["schemas"][place.rpartition("/")[2]]["properties"]["data"]["properties"]
        shown = [f"`{field}`" for field in fields if field not in {"sessionId", "timestamp", "seq", "after"}]
        lines.append(f"| `{name}` | {', '.join(shown)} |")
    return [*lines, ""]


def _errors(told: dict[str, Any]) -> list[str]:
    found: dict[str, str] = {}
    for item in told["paths"].values():
        for operation in item.values():
            for status, answer in operation["responses"].items():
                if "ErrorBody" in str(answer):
                    found.setdefault(status, answer["description"])
    lines = ["## Errors", "", "| status | meaning |", "|---|---|"]
    return [*lines, *(f"| `{status}` | {cell(found[status])} |" for status in sorted(found)), ""]


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    place = schema.get("$ref")
    return _document()["components"]["schemas"][place.rpartition("/")[2]] if place else schema


def _default(value: object) -> str:
    return "" if value in (None, {}, []) else f"`{json.dumps(value)}`"
