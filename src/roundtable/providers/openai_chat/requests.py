"""A request in the words of Chat Completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.http.messages import HttpRequest
from roundtable.providers.wire import dump_json, merged, sent_headers

if TYPE_CHECKING:
    from roundtable.providers.openai_chat.servers import ChatServer
    from roundtable.types import AgentTool, ChatRequest, JsonObject, JsonValue, Message, NativeSearch, OutputSchema

__all__ = ["build_request", "is_strict"]

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


def build_request(
    request: ChatRequest, *, base_url: str, stream: bool, provider: str, server: ChatServer
) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: What is asked.
        base_url: Root of the API.
        stream: Whether the answer is wanted in pieces.
        provider: Whose native content is understood.
        server: What is particular about the server.
    """
    body: JsonObject = {
        "model": request.model,
        "messages": [_message(message, provider) for message in request.messages],
        server.limit_field: request.max_tokens,
    }
    if request.temperature is not None and not server.refuses_temperature(request.model):
        body["temperature"] = request.temperature
    if request.seed is not None and server.seed is not None:
        body[server.seed] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = _choice(request.tool_choice)
    if request.search is not None:
        _search(body, request.search, server)
    if request.output_schema is not None and server.schema == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": _schema(request.output_schema)}
    elif request.output_schema is not None and server.schema == "json_object":
        body["response_format"] = {"type": "json_object"}
    if stream:
        body["stream"] = True
        if server.stream_usage:
            body["stream_options"] = {"include_usage": True}
    headers = {"content-type": "application/json", "accept": "text/event-stream" if stream else "application/json"}
    content = dump_json(merged(body, request.extra_body))
    return HttpRequest("POST", f"{base_url}/chat/completions", sent_headers(headers, request), content, stream)


def _message(message: Message, provider: str) -> JsonObject:
    said: JsonObject = {"role": message.role, "content": _content(message)}
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
    if message.native is not None and message.native.provider == provider:
        for fields in message.native.items:
            said |= fields
    return said


def _content(message: Message) -> JsonValue:
    if not message.images:
        return message.content
    parts: list[JsonValue] = [{"type": "image_url", "image_url": {"url": image.url}} for image in message.images]
    return [*parts, {"type": "text", "text": message.content}] if message.content else parts


def _choice(choice: str) -> JsonValue:
    return choice if choice in {"none", "required"} else {"type": "function", "function": {"name": choice}}


def _search(body: JsonObject, search: NativeSearch, server: ChatServer) -> None:
    """Ask for the server's own search, where it has one.

    See https://platform.openai.com/docs/guides/tools-web-search and https://openrouter.ai/docs/features/web-search.
    """
    if server.search == "options":
        body["web_search_options"] = {"search_context_size": search.context_size}
    elif server.search == "plugin":
        body["plugins"] = [{"id": "web", "max_results": search.max_uses}]


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
