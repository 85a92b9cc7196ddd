"""A request in the words of Messages."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from roundtable.http.messages import HttpRequest
from roundtable.providers.schemas import ANTHROPIC, transformed
from roundtable.providers.wire import dump_json, merged, sent_headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.types import AgentTool, ChatRequest, ImagePart, JsonObject, JsonValue, Message, NativeSearch

__all__ = ["VERSION", "build_request", "refuses_temperature"]

VERSION: Final = "2023-06-01"
"""Version of the API, see https://docs.claude.com/en/api/versioning."""

_CACHE: Final[JsonObject] = {"type": "ephemeral"}
_MODEL: Final = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")


def refuses_temperature(model: str) -> bool:
    """Tell whether a model refuses sampling parameters: those from version 4.7 on do.

    See https://platform.claude.com/docs/en/about-claude/models/migration-guide.

    Example:
        >>> [refuses_temperature(f"claude-{model}") for model in ("sonnet-4-5", "opus-4-8", "sonnet-4-20250514")]
        [False, True, False]
    """
    found = _MODEL.search(model)
    if found is None:
        return bool(re.search(r"claude-(?:mythos|fable)", model))
    return (int(found[1]), int(found[2] or 0)) >= (4, 7)


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: What is asked.
        provider: Whose native content is understood.
        base_url: Root of the API, without `/v1`.
        stream: Whether the answer is wanted in pieces.
    """
    body: JsonObject = {"model": request.model, "max_tokens": request.max_tokens}
    if system := _system(request.messages):
        body["system"] = system
    body["messages"] = _messages(request.messages, provider)
    thinks = isinstance(request.extra_body.get("thinking"), dict)
    if request.temperature is not None and not thinks and not refuses_temperature(request.model):
        # The scale of the API ends at 1.
        body["temperature"] = min(request.temperature, 1.0)
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    tools: list[JsonValue] = [_tool(tool) for tool in request.tools]
    if request.search is not None:
        tools.append(_search(request.search))
    if tools:
        body["tools"] = tools
        if request.tool_choice != "auto":
            body["tool_choice"] = _choice(request.tool_choice)
    if request.output_schema is not None and request.search is None:
        # Found pages are cited, and citations do not go together with a schema.
        schema = transformed(request.output_schema.definition, ANTHROPIC)
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if stream:
        body["stream"] = True
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        "anthropic-version": VERSION,
    }
    url = f"{base_url.removesuffix('/v1')}/v1/messages"
    return HttpRequest("POST", url, sent_headers(headers, request), dump_json(merged(body, request.extra_body)), stream)


def _system(messages: Iterable[Message]) -> JsonValue:
    said = [message for message in messages if message.role == "system" and message.content]
    if not any(message.cache for message in said):
        return "\n\n".join(message.content for message in said)
    return [_marked({"type": "text", "text": message.content}, message) for message in said]


def _messages(messages: Iterable[Message], provider: str) -> list[JsonValue]:
    """Give the messages; those of one side that follow each other become one, as the API would read them."""
    spoken = [message for message in messages if message.role != "system"]
    wire: list[JsonValue] = []
    for is_ours, group in groupby(spoken, key=lambda message: message.role == "assistant"):
        blocks: list[JsonValue] = []
        for message in group:
            blocks += _assistant(message, provider) if is_ours else _user(message)
        if blocks:
            wire.append({"role": "assistant" if is_ours else "user", "content": _plain(blocks)})
    return wire


def _plain(blocks: list[JsonValue]) -> JsonValue:
    """Give the text alone where there is nothing else."""
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, dict) and only.keys() == {"type", "text"}:
        return only["text"]
    return blocks


def _user(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        result: JsonObject = {"type": "tool_result", "tool_use_id": message.tool_call_id or ""}
        if message.content:
            result["content"] = message.content
        return [_marked(result, message)]
    blocks: list[JsonValue] = [_image(image) for image in message.images]
    if message.content:
        blocks.append(_marked({"type": "text", "text": message.content}, message))
    return blocks


def _assistant(message: Message, provider: str) -> list[JsonValue]:
    if message.native is not None and message.native.provider == provider:
        # The API gives empty texts and refuses to take them back.
        return [item for item in message.native.items if item.get("type") != "text" or item.get("text")]
    blocks: list[JsonValue] = []
    if message.content.rstrip():
        blocks.append(_marked({"type": "text", "text": message.content.rstrip()}, message))
    for call in message.tool_calls:
        used: JsonObject = {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        blocks.append(used)
    return blocks


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _marked(block: JsonObject, message: Message) -> JsonObject:
    return {**block, "cache_control": dict(_CACHE)} if message.cache else block


def _tool(tool: AgentTool) -> JsonObject:
    schema: JsonObject = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _search(search: NativeSearch) -> JsonObject:
    """Ask for the server's own search, see https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool."""
    tool: JsonObject = {"type": "web_search_20250305", "name": "web_search", "max_uses": search.max_uses}
    # The API takes one of both lists.
    if search.allowed_domains:
        tool["allowed_domains"] = list(search.allowed_domains)
    elif search.blocked_domains:
        tool["blocked_domains"] = list(search.blocked_domains)
    return tool


def _choice(choice: str) -> JsonObject:
    if choice in {"none", "required"}:
        return {"type": "none" if choice == "none" else "any"}
    return {"type": "tool", "name": choice}
