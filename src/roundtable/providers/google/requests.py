"""A request in the words of generateContent."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from roundtable.errors import ConfigurationError
from roundtable.http.messages import HttpRequest
from roundtable.providers.schemas import GOOGLE, transformed
from roundtable.providers.wire import dump_json, merged, object_of, sent_headers, text_of

if TYPE_CHECKING:
    from roundtable.types import AgentTool, ChatRequest, ImagePart, JsonObject, JsonValue, Message

__all__ = ["build_request", "combines"]

_VERSIONED: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?:/|$)")
_GENERATION: Final = re.compile(r"gemini-(\d+)")
_UNSIGNED: Final = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made.

See https://ai.google.dev/gemini-api/docs/thought-signatures.
"""


def combines(model: str) -> bool:
    """Tell whether a model takes its own search, functions and a schema together: those from Gemini 3 on do.

    See https://ai.google.dev/gemini-api/docs/tool-combination.

    Example:
        >>> combines("gemini-3-flash-preview"), combines("gemini-2.5-flash")
        (True, False)
    """
    found = _GENERATION.search(model)
    return found is not None and int(found[1]) >= 3


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: What is asked.
        provider: Whose native content is understood.
        base_url: Root of the API; without a version in it, `/v1beta` is added.
        stream: Whether the answer is wanted in pieces.

    Raises:
        ConfigurationError: Search and functions are asked of a model that cannot do both at once.
    """
    if request.search is not None and request.tools and not combines(request.model):
        raise ConfigurationError(
            f"{request.model!r} cannot search and call functions in one call",
            provider=provider,
            hint="Use a model from Gemini 3 on, or ask in two calls; agents do so by themselves.",
        )
    body: JsonObject = {"contents": _contents(request, provider)}
    if system := [message.content for message in request.messages if message.role == "system" and message.content]:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    tools: list[JsonValue] = []
    settings: JsonObject = {}
    if request.tools:
        tools.append({"functionDeclarations": [_tool(tool) for tool in request.tools]})
        if request.tool_choice != "auto":
            settings["functionCallingConfig"] = _choice(request.tool_choice)
    if request.search is not None:
        tools.append({"googleSearch": {}})
        if request.tools:
            settings["includeServerSideToolInvocations"] = True
    if tools:
        body["tools"] = tools
    if settings:
        body["toolConfig"] = settings
    body["generationConfig"] = _generation(request)
    headers = {"content-type": "application/json", "accept": "text/event-stream" if stream else "application/json"}
    content = dump_json(merged(body, request.extra_body))
    return HttpRequest(
        "POST", _url(base_url, request.model, stream=stream), sent_headers(headers, request), content, stream
    )


def _url(base_url: str, model: str, *, stream: bool) -> str:
    root = base_url if _VERSIONED.search(base_url) else f"{base_url}/v1beta"
    name = model.rpartition("models/")[2]
    return f"{root}/models/{name}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


def _generation(request: ChatRequest) -> JsonObject:
    settings: JsonObject = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.stop:
        settings["stopSequences"] = list(request.stop)
    if request.seed is not None:
        settings["seed"] = request.seed
    if request.output_schema is not None and (combines(request.model) or not (request.tools or request.search)):
        schema = transformed(request.output_schema.definition, GOOGLE)
        settings["responseMimeType"] = "application/json"
        if schema is not None:
            settings["responseJsonSchema"] = schema
    return settings


def _contents(request: ChatRequest, provider: str) -> list[JsonValue]:
    """Give the messages; those of one side that follow each other become one, as calls and results have to."""
    spoken = [message for message in request.messages if message.role != "system"]
    history = _History(provider, signs=combines(request.model))
    wire: list[JsonValue] = []
    for is_model, group in groupby(spoken, key=lambda message: message.role == "assistant"):
        parts: list[JsonValue] = []
        for message in group:
            parts += history.said(message) if is_model else history.heard(message)
        if parts:
            wire.append({"role": "model" if is_model else "user", "parts": parts})
    return wire


class _History:
    """Remembers which call is which: a result names its function, and its id only if the call had one."""

    def __init__(self, provider: str, *, signs: bool) -> None:
        self._provider = provider
        self._signs = signs
        self._names: dict[str, str] = {}
        self._nameless: set[str] = set()

    def said(self, message: Message) -> list[JsonValue]:
        """Give the parts of an answer."""
        self._names |= {call.id: call.name for call in message.tool_calls}
        if message.native is not None and message.native.provider == self._provider:
            calls = [object_of(item.get("functionCall")) for item in message.native.items if item.get("functionCall")]
            known = {text_of(call.get("id")) for call in calls}
            self._nameless |= {call.id for call in message.tool_calls} - known
            return list(message.native.items)
        parts: list[JsonValue] = [{"text": message.content}] if message.content else []
        for place, call in enumerate(message.tool_calls):
            self._nameless.discard(call.id)
            part: JsonObject = {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}}
            if self._signs and place == 0:
                part["thoughtSignature"] = _UNSIGNED
            parts.append(part)
        return parts

    def heard(self, message: Message) -> list[JsonValue]:
        """Give the parts of a question or of a function's result."""
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            result: JsonObject = {"name": self._names.get(call_id, call_id), "response": {"result": message.content}}
            if call_id not in self._nameless:
                result["id"] = call_id
            return [{"functionResponse": result}]
        parts: list[JsonValue] = [_image(image) for image in message.images]
        return [*parts, {"text": message.content}] if message.content else parts


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"fileData": {"mimeType": image.media_type, "fileUri": image.url}}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _tool(tool: AgentTool) -> JsonObject:
    made: JsonObject = {"name": tool.name, "description": tool.description}
    if tool.parameters:
        # What cannot be said is sent as it is; the provider's own refusal says more than a silent change would.
        made["parametersJsonSchema"] = transformed(dict(tool.parameters), GOOGLE) or dict(tool.parameters)
    return made


def _choice(choice: str) -> JsonObject:
    if choice in {"none", "required"}:
        return {"mode": "NONE" if choice == "none" else "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}
