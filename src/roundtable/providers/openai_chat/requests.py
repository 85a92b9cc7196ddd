"""A request in the words of Chat Completions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from roundtable.http.messages import HttpRequest
from roundtable.providers.wire import dump_json

if TYPE_CHECKING:
    from roundtable.types import AgentTool, ChatRequest, JsonObject, JsonValue, Message, OutputSchema

__all__ = ["NO_TEMPERATURE", "build_request"]

NO_TEMPERATURE: Final = re.compile(r"(?:o\d|gpt-5(?:$|-(?!chat)))")
"""Models of OpenAI that refuse a sampling temperature: reasoning cannot be switched off in them."""

_STRICT_WORDS: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "description",
        "title",
    }
)


def build_request(request: ChatRequest, *, base_url: str, stream: bool, openai: bool) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: What is asked.
        base_url: Root of the API.
        stream: Whether the answer is wanted in pieces.
        openai: Whether the server is OpenAI's own, whose newer models know `max_completion_tokens` only.
    """
    body: JsonObject = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "max_completion_tokens" if openai else "max_tokens": request.max_tokens,
    }
    if request.temperature is not None and not (openai and NO_TEMPERATURE.match(request.model)):
        body["temperature"] = request.temperature
    if request.seed is not None:
        body["seed"] = request.seed
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output_schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": _schema(request.output_schema)}
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
    }
    return HttpRequest("POST", f"{base_url}/chat/completions", headers, dump_json(body), stream)


def _message(message: Message) -> JsonObject:
    said: JsonObject = {"role": message.role, "content": message.content}
    if message.tool_calls:
        said["content"] = message.content or None
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        said["tool_call_id"] = message.tool_call_id
    return said


def _tool(tool: AgentTool) -> JsonObject:
    parameters: JsonObject = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _schema(schema: OutputSchema) -> JsonObject:
    return {"name": schema.name, "schema": schema.definition, "strict": is_strict(schema.definition)}


def is_strict(schema: JsonValue) -> bool:
    """Tell whether a schema is within what OpenAI can enforce; outside it, `strict` is refused.

    Every object must forbid further properties and require all it has, and only a few keywords are known.

    Example:
        >>> is_strict({"type": "object", "properties": {"a": {"type": "string"}}})
        False
    """
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _STRICT_WORDS:
        return False
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return False
    if schema.get("type") == "object" or properties:
        required = schema.get("required", [])
        whole = isinstance(required, list) and {str(name) for name in required} == properties.keys()
        if not whole or schema.get("additionalProperties") is not False:
            return False
    choices = schema.get("anyOf", [])
    inner = [schema.get("items"), *properties.values(), *(choices if isinstance(choices, list) else [])]
    return all(is_strict(item) for item in inner)
