"""A request in the words of Responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.http.messages import HttpRequest
from roundtable.providers.openai_models import reasons, refuses_temperature
from roundtable.providers.schemas import strict_or_not
from roundtable.providers.wire import dump_json, merged, sent_headers, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.types import AgentTool, ChatRequest, JsonObject, JsonValue, Message, NativeSearch, OutputSchema

__all__ = ["build_request"]

LEAST_TOKENS: Final = 16
"""The API refuses a lower limit."""


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key. Nothing is stored at the provider; reasoning comes back encrypted instead.

    Args:
        request: What is asked.
        provider: Whose native content is understood.
        base_url: Root of the API, such as `https://api.openai.com/v1`.
        stream: Whether the answer is wanted in pieces.
    """
    body: JsonObject = {"model": request.model}
    if instructions := _instructions(request.messages):
        body["instructions"] = instructions
    body["input"] = list(_input(request.messages, provider))
    body["max_output_tokens"] = max(request.max_tokens, LEAST_TOKENS)
    body["store"] = False
    thinks = request.extra_body.get("reasoning") is not None
    if request.temperature is not None and not thinks and not refuses_temperature(request.model):
        body["temperature"] = request.temperature
    include: list[JsonValue] = ["reasoning.encrypted_content"] if reasons(request.model) else []
    tools: list[JsonValue] = [_tool(tool) for tool in request.tools]
    if request.search is not None:
        tools.append(_search(request.search))
        include.append("web_search_call.action.sources")
    if tools:
        body["tools"] = tools
        if request.tool_choice != "auto":
            body["tool_choice"] = _choice(request.tool_choice)
    if include:
        body["include"] = include
    if request.output_schema is not None:
        body["text"] = {"format": _format(request.output_schema)}
    if stream:
        body["stream"] = True
    headers = {"content-type": "application/json", "accept": "text/event-stream" if stream else "application/json"}
    content = dump_json(merged(body, request.extra_body))
    return HttpRequest("POST", f"{base_url}/responses", sent_headers(headers, request), content, stream)


def _instructions(messages: Iterable[Message]) -> str:
    return "\n\n".join(message.content for message in messages if message.role == "system" and message.content)


def _input(messages: Iterable[Message], provider: str) -> Iterator[JsonValue]:
    custom: set[str] = set()
    for message in messages:
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            kind = "custom_tool_call_output" if call_id in custom else "function_call_output"
            yield {"type": kind, "call_id": call_id, "output": message.content}
        elif message.role == "user":
            yield {"role": "user", "content": _content(message)}
        elif message.role == "assistant":
            if message.native is not None and message.native.provider == provider:
                items = _taken_back(message.native.items)
                custom |= {text_of(item.get("call_id")) for item in items if item.get("type") == "custom_tool_call"}
                yield from items
            else:
                yield from _said(message)


def _content(message: Message) -> JsonValue:
    if not message.images:
        return message.content
    parts: list[JsonValue] = [
        {"type": "input_image", "detail": "auto", "image_url": image.url} for image in message.images
    ]
    return [*parts, {"type": "input_text", "text": message.content}] if message.content else parts


def _said(message: Message) -> Iterator[JsonValue]:
    if message.content:
        yield {"role": "assistant", "content": message.content}
    for call in message.tool_calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def _taken_back(items: tuple[JsonObject, ...]) -> list[JsonObject]:
    """Give the items of an answer as they may be sent back.

    Reasoning that did not come encrypted is not stored anywhere and cannot be referred to; the items that came after it
    then lose their ids, by which the API would look for it.
    """
    kept = [item for item in items if item.get("type") != "reasoning" or item.get("encrypted_content")]
    if len(kept) == len(items):
        return kept
    bare = ("function_call", "custom_tool_call", "message")
    return [
        {name: value for name, value in item.items() if name != "id"} if item.get("type") in bare else item
        for item in kept
    ]


def _tool(tool: AgentTool) -> JsonObject:
    parameters: JsonObject = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": False,
    }


def _search(search: NativeSearch) -> JsonObject:
    """Ask for the server's own search, see https://platform.openai.com/docs/guides/tools-web-search."""
    tool: JsonObject = {"type": "web_search", "search_context_size": search.context_size}
    if search.allowed_domains:
        tool["filters"] = {"allowed_domains": list(search.allowed_domains)}
    return tool


def _choice(choice: str) -> JsonValue:
    return choice if choice in {"none", "required"} else {"type": "function", "name": choice}


def _format(schema: OutputSchema) -> JsonObject:
    definition, strict = strict_or_not(schema.definition)
    return {"type": "json_schema", "name": schema.name, "schema": definition, "strict": strict}
