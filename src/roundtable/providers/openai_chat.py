"""The wire format of Chat Completions, for OpenAI-compatible servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import AgentError, APINetworkError, RoundtableError
from roundtable.core.types.chat import Usage
from roundtable.http.client import HttpRequest
from roundtable.providers.chat_servers import OPENAI, PLAIN
from roundtable.providers.failures import base_code_of, error_for, read_refusal, request_id_of
from roundtable.providers.http_model import EventDecoder, ParseDocument
from roundtable.providers.model_names import UNSIGNED, call_id_rule, is_gemini_3_or_later
from roundtable.providers.response_builder import ResponseBuilder
from roundtable.providers.schemas import is_strict, parameters_schema
from roundtable.providers.wire import (
    at_tier,
    cost_of,
    dump_json,
    items_of,
    load_json,
    load_object,
    merged,
    object_of,
    sent_headers,
    text_of,
    tokens_of,
    uncounted_tokens,
    wire_id,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.base import FilePart, JsonObject, JsonValue, NativeSearch
    from roundtable.core.types.chat import AgentTool, ChatRequest, ChatResponse, FinishReason, Message, OutputSchema
    from roundtable.http.sse import SseEvent
    from roundtable.providers.chat_servers import ChatServer
    from roundtable.providers.spec import Decoder

__all__ = [
    "ChatResponseBuilder",
    "ChatStreamDecoder",
    "OpenAIChat",
    "build_request",
    "content_text",
    "error_inside",
    "read_answer",
    "usage_of",
]

_FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "refusal": "refusal",
}
_BROKEN_OFF: Final = frozenset({"abort", "aborted", "error", "insufficient_system_resource", "network_error"})
"""Finish reasons of an answer that a fault of the server cut short."""
_REASONING: Final = ("reasoning_content", "reasoning")
_DETAIL_TEXTS: Final = ("text", "summary", "data")
SNIPPET_CHARS: Final = 500
"""The most characters of a snippet; some servers send the whole page."""

_TEXT_ALONE: Final = frozenset({"role", "content"})
"""Fields of a delta that holds only text."""

_DONE: Final = b"[DONE]"


class ChatResponseBuilder(ResponseBuilder):
    """An answer under construction; a complete answer fills it in one step, a stream fills it piece by piece.

    Args:
        provider: Name of the provider in errors.
        headers: Headers of the answer.
        back: Fields that must be part of the answer when it is sent back.
    """

    def __init__(self, provider: str, headers: Mapping[str, str], back: tuple[str, ...] = ()) -> None:
        super().__init__(provider, headers)
        self.reason: str | None = None
        """Finish reason as the server names it."""
        self._tier: JsonValue = None
        self._refused = False
        self._back: dict[str, list[str]] = {}
        self._details: list[_Detail] = []
        self._fields = back
        self._extras: dict[int, JsonValue] = {}
        self._call_numbers: dict[int, int] = {}
        """Numbers of the calls that are being received, by the index that the server gives them."""

    def take_header(self, answer: JsonObject) -> None:
        """Add everything but the choices."""
        if not (self.id and self.model):
            self.note(answer_id=text_of(answer.get("id")), model=text_of(answer.get("model")))
        self._tier = answer.get("service_tier") or self._tier
        self.take_usage(answer.get("usage"))
        self.take_sources(answer)

    def take_usage(self, usage: JsonValue) -> None:
        """Set the usage of the answer so far."""
        if isinstance(usage, dict):
            self.set_usage(at_tier(usage_of(usage), self._tier))

    def take_sources(self, answer: JsonObject) -> None:
        """Add the addresses of sources."""
        for url in items_of(answer.get("citations")):
            self.add_citation(text_of(url))

    def take_message(self, message: JsonObject) -> None:
        """Add a message or a delta."""
        text = message.get("content")
        if isinstance(text, str) and message.keys() <= _TEXT_ALONE:
            # Nearly every delta of a stream is like this; a search for all other fields would cost more than parsing.
            self.add_text(text)
            return
        self._add_reasoning(message)
        content, refusal = content_text(message.get("content")), text_of(message.get("refusal"))
        if not content:
            content = text_of(object_of(message.get("audio")).get("transcript"))
        self.add_text(content + refusal)
        self._refused = self._refused or bool(refusal)
        if message.get("images") or object_of(message.get("audio")).get("data"):
            self.has_media = True
        calls = items_of(message.get("tool_calls"))
        for index, call in enumerate(calls):
            self._add_call(index, object_of(call))
        # The older form of a call; some servers add an empty one to each answer.
        function = object_of(message.get("function_call"))
        if not calls and (function.get("name") or function.get("arguments")):
            self._add_call(0, {"function": function})
        for annotation in items_of(message.get("annotations")):
            link = object_of(object_of(annotation).get("url_citation"))
            snippet = text_of(link.get("content"))[:SNIPPET_CHARS]
            self.add_citation(text_of(link.get("url")), text_of(link.get("title")), snippet)

    def take_end(self) -> None:
        """Handle the end of the text; for subclasses that need the complete text."""

    def response(self) -> ChatResponse:
        """Return the response.

        Raises:
            APINetworkError: A fault of the server cut the answer short.
            AgentError: The answer is empty.
        """
        # Gemini adds its own reason, as in "content_filter: PROHIBITED_CONTENT".
        reason = (self.reason or "").lower().partition(":")[0]
        if reason in _BROKEN_OFF:
            with self.add_usage_to_errors():
                raise APINetworkError(
                    f"the server broke off the answer, with the finish reason {self.reason!r}",
                    provider=self.provider,
                    request_id=request_id_of(self.headers),
                )
        self.take_end()
        self.end("refusal" if self._refused else _FINISH.get(reason))
        back: JsonObject = {name: "".join(texts) for name, texts in self._back.items()}
        if self._details:
            back["reasoning_details"] = [detail.whole() for detail in self._details]
        if self._extras:
            numbers = [number for number, call in sorted(self._calls.items()) if not call.is_blank]
            back["extra_content"] = [self._extras.get(number) for number in numbers]
        if back:
            self.send_back([back])
        return super().response()

    def _add_reasoning(self, message: JsonObject) -> None:
        details = [object_of(detail) for detail in items_of(message.get("reasoning_details"))]
        for name in _REASONING:
            if text := text_of(message.get(name)):
                self.add_reasoning(text)
                break
        else:
            self.add_reasoning("".join(text_of(detail.get("text") or detail.get("summary")) for detail in details))
            self.add_reasoning(_thinking(message.get("content")))
        for name in self._fields:
            if name == "reasoning_details" and details:
                self._add_details(details)
            elif text := text_of(message.get(name)):
                self._back.setdefault(name, []).append(text)

    def _add_details(self, details: list[JsonObject]) -> None:
        """Collect pieces of reasoning; pieces with the same index and type are joined."""
        for piece in details:
            last = self._details[-1] if self._details else None
            if last is not None and "index" in piece and last.goes_on(piece):
                last.add(piece)
            else:
                self._details.append(_Detail(piece))

    def _add_call(self, position: int, piece: JsonObject) -> None:
        index = piece.get("index")
        function = object_of(piece.get("function"))
        call_id, name, arguments = text_of(piece.get("id")), text_of(function.get("name")), function.get("arguments")
        wire_index = index if isinstance(index, int) else position
        number = self._call_numbers.get(wire_index)
        if number is None or (name and self._begins_call(number, call_id, name, has_arguments=bool(arguments))):
            number = wire_index if wire_index not in self._calls else max(self._calls) + 1
            self._call_numbers[wire_index] = number
        self.add_call(number, call_id=call_id, name=name, arguments=arguments)
        if "extra_content" in self._fields and piece.get("extra_content"):
            self._extras[number] = piece["extra_content"]

    def _begins_call(self, number: int, call_id: str, name: str, *, has_arguments: bool) -> bool:
        """Check whether a piece begins another call, although its index is that of a call that has begun.

        Some servers give every call of a stream the index 0, or none. Others repeat the name with every piece of a
        call, under a new id each time; so a piece continues a call whose arguments are not complete yet.
        """
        call = self._calls[number]
        if not call.name or (call_id and call_id == call.id):
            return False
        if call_id and call.id and name != call.name:
            return True
        return has_arguments and _is_object(call.arguments)


def _is_object(pieces: Sequence[str]) -> bool:
    """Check whether pieces are a whole JSON object; without its last character, they are not parsed, to save time."""
    last = next((piece for piece in reversed(pieces) if piece.strip()), "")
    if not last.rstrip().endswith("}"):
        return False
    try:
        return isinstance(load_json("".join(pieces)), dict)
    except RoundtableError:
        return False


class _Detail:
    """A reasoning detail under construction."""

    def __init__(self, piece: JsonObject) -> None:
        self._fields = dict(piece)
        self._texts = {name: [text_of(piece[name])] for name in _DETAIL_TEXTS if name in piece}
        self._is_joined = False

    def goes_on(self, piece: JsonObject) -> bool:
        """Check whether a piece continues this detail."""
        return all(piece.get(name) == self._fields.get(name) for name in ("index", "type"))

    def add(self, piece: JsonObject) -> None:
        """Add a piece; fields that are not text replace earlier values."""
        self._is_joined = True
        self._fields |= {name: value for name, value in piece.items() if value is not None}
        for name in _DETAIL_TEXTS:
            if name in piece:
                self._texts.setdefault(name, []).append(text_of(piece[name]))

    def whole(self) -> JsonObject:
        """Return the detail in the form that it has in an answer without streaming."""
        if not self._is_joined:
            return self._fields
        return {**self._fields, **{name: "".join(texts) for name, texts in self._texts.items()}}


def _thinking(content: JsonValue) -> str:
    """Return the reasoning that some servers put among the parts of the content."""
    parts = [object_of(part) for part in items_of(content)]
    thoughts = [part.get("thinking") for part in parts if part.get("type") == "thinking"]
    return "".join(thought if isinstance(thought, str) else content_text(thought) for thought in thoughts)


def content_text(content: JsonValue) -> str:
    """Return the text of a message: a string, the text parts of a list, or a JSON document."""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        parts = [object_of(part) for part in content]
        return "".join(
            text_of(part.get("text")) for part in parts if part.get("type", "text") in {"text", "output_text"}
        )
    return text_of(content)


def usage_of(usage: JsonObject) -> Usage:
    """Parse the usage of one call; missing and senseless counts are 0. A price is included if there is one.

    Example:
        >>> usage_of({"prompt_tokens": 9, "completion_tokens": -1}).total_tokens
        9
    """
    input_details = object_of(usage.get("prompt_tokens_details"))
    output_details = object_of(usage.get("completion_tokens_details"))
    counts = (input_details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    cached = next((count for count in counts if count is not None), None)
    sent, written = tokens_of(usage.get("prompt_tokens")), tokens_of(usage.get("completion_tokens"))
    thought = tokens_of(output_details.get("reasoning_tokens", usage.get("reasoning_tokens")))
    # xAI counts reasoning apart from the completion, and gateways to Gemini only in the total. See
    # https://docs.x.ai/docs/key-information/consumption-and-rate-limits.
    uncounted = uncounted_tokens(usage.get("total_tokens"), sent, written)
    written, thought = written + uncounted, thought or uncounted
    return Usage(
        input_tokens=sent,
        output_tokens=written,
        cache_read_tokens=tokens_of(cached),
        cache_write_tokens=tokens_of(input_details.get("cache_write_tokens")),
        reasoning_tokens=thought,
        calls=1,
        cost_usd=cost_of(usage),
    )


def read_answer(draft: ChatResponseBuilder, answer: JsonObject) -> ChatResponse:
    """Parse a complete answer: the choice with index 0, or the first choice if none has this index.

    Raises:
        AgentError: There are no choices, or the answer is empty.
    """
    draft.take_header(answer)
    draft.raw = answer
    choices = [object_of(choice) for choice in items_of(answer.get("choices"))]
    if not choices:
        request_id = request_id_of(draft.headers)
        with draft.add_usage_to_errors():
            raise AgentError(
                "the answer has no choices", provider=draft.provider, retryable=True, request_id=request_id
            )
    choice = next((choice for choice in choices if choice.get("index") == 0), choices[0])
    draft.take_message(object_of(choice.get("message")))
    draft.reason = text_of(choice.get("finish_reason")) or None
    return draft.response()


def error_inside(provider: str, headers: Mapping[str, str], answer: JsonObject) -> RoundtableError | None:
    """Return the error in the body of an answer or event with status 200; `None` if there is none."""
    for part in (answer, *items_of(answer.get("choices"))):
        if isinstance(part, dict) and (part.get("error") or ("base_resp" in part and base_code_of(part))):
            return error_for(provider, 200, headers, read_refusal(part))
    return None


def build_request(
    request: ChatRequest, *, base_url: str, stream: bool, provider: str, server: ChatServer
) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: The chat request.
        base_url: Root of the API.
        stream: Whether to stream the answer.
        provider: Name of the provider; earlier answers of this provider are sent back in its own format.
        server: Settings of the server.
    """
    body: JsonObject = {
        "model": request.model,
        "messages": _messages(request, provider, server),
        server.limit_field_of(request.model): request.max_tokens,
    }
    if request.temperature is not None and not server.rejects_temperature(request.model):
        lowest, highest = server.temperatures
        body["temperature"] = min(max(request.temperature, lowest), highest)
    if request.seed is not None and server.seed is not None:
        body[server.seed] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = _choice(request.tool_choice)
    if request.search:
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


def _messages(request: ChatRequest, provider: str, server: ChatServer) -> list[JsonValue]:
    made = [_message(message, provider, server) for message in request.messages]
    rule = server.call_ids or call_id_rule(request.model)
    if rule is not None:
        for message in made:
            _map_call_ids(message, *rule)
    if "extra_content" in server.reasoning_back and is_gemini_3_or_later(request.model):
        for message in made:
            _sign(message)
    if server.needs_reasoning and any("tool_calls" in message for message in made):
        for message in made:
            if message["role"] == "assistant":
                # The answers of other models, and answers without a thought, have none; an empty text is rejected too.
                message["reasoning_content"] = message.get("reasoning_content") or " "
    return [*made]


def _message(message: Message, provider: str, server: ChatServer) -> JsonObject:
    wire: JsonObject = {"role": message.role, "content": _content(message, server)}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.native is not None and message.native.provider == provider:
        # The answer may come from another compatible server, whose fields this one may reject.
        for fields in message.native.items:
            wire |= {name: value for name, value in fields.items() if name in server.reasoning_back}
    if "extra_content" in wire:
        extras = items_of(wire.pop("extra_content"))
        for call, extra in zip(items_of(wire.get("tool_calls")), extras, strict=False):
            if isinstance(call, dict) and extra:
                call["extra_content"] = extra
    return wire


def _map_call_ids(message: JsonObject, allowed: re.Pattern[str], length: int) -> None:
    """Replace the ids of calls and results by ids that the server accepts; another provider may have made the calls."""
    for call in map(object_of, items_of(message.get("tool_calls"))):
        call["id"] = wire_id(text_of(call.get("id")), allowed, length)
    if "tool_call_id" in message:
        message["tool_call_id"] = wire_id(text_of(message["tool_call_id"]), allowed, length)


def _sign(message: JsonObject) -> None:
    """Add a placeholder if no call of a message has a signature, because another model made them."""
    calls = [object_of(call) for call in items_of(message.get("tool_calls"))]
    if calls and not any(call.get("extra_content") for call in calls):
        calls[0]["extra_content"] = {"google": {"thought_signature": UNSIGNED}}


def _file(file: FilePart, server: ChatServer) -> JsonObject:
    if server.files == "file_url":
        return {"type": "file_url", "file_url": {"url": file.data}, "file_name": file.name}
    return {"type": "file", "file": {"filename": file.name, "file_data": file.url}}


def _content(message: Message, server: ChatServer) -> JsonValue:
    if not message.images and not message.files:
        return message.content
    parts: list[JsonValue] = []
    parts.extend(_file(file, server) for file in message.files)
    parts.extend({"type": "image_url", "image_url": {"url": image.url}} for image in message.images)
    if message.content:
        parts.append({"type": "text", "text": message.content})
    return parts


def _choice(choice: str) -> JsonValue:
    return choice if choice in {"none", "required"} else {"type": "function", "function": {"name": choice}}


def _search(body: JsonObject, search: NativeSearch, server: ChatServer) -> None:
    """Request the server-side search, if the server has one.

    See https://platform.openai.com/docs/guides/tools-web-search and https://openrouter.ai/docs/features/web-search.
    """
    if server.search == "options":
        body["web_search_options"] = {"search_context_size": search.context_size}
    elif server.search == "plugin":
        body["plugins"] = [{"id": "web", "max_results": search.max_uses}]


def _tool(tool: AgentTool) -> JsonObject:
    parameters = parameters_schema(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _schema(schema: OutputSchema) -> JsonObject:
    return {"name": schema.name, "schema": schema.definition, "strict": is_strict(schema.definition)}


class ChatStreamDecoder(EventDecoder[ChatResponseBuilder]):
    """Decoder of one streamed answer.

    Args:
        draft: Collects the answer.
        whole: Parses an answer that is not a stream.
        done_required: Whether the stream is complete only with `[DONE]`.
    """

    def __init__(self, draft: ChatResponseBuilder, *, whole: ParseDocument, done_required: bool) -> None:
        super().__init__(draft, whole=whole)
        self._done_required = done_required
        self._last_event = b""

    def take_word(self, data: bytes) -> bool:
        """Handle the terminator."""
        if data != _DONE:
            return False
        self.is_done = True
        return True

    def is_whole(self) -> bool:
        """Check whether the answer is complete."""
        return not self._done_required and self.draft.reason is not None

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            RoundtableError: The event reports an error, or repeats the previous event.
        """
        self.draft.take_header(fields)
        if error := error_inside(self.draft.provider, self.draft.headers, fields):
            self.draft.charge(error, is_cut_off=self.draft.reason is None)
            raise error
        for choice in map(object_of, items_of(fields.get("choices"))):
            if not choice.get("index"):
                if "usage" in choice and not fields.get("usage"):
                    # Moonshot writes the usage here.
                    self.draft.take_usage(choice["usage"])
                delta = object_of(choice.get("delta"))
                if not delta and not self.draft.has_begun:
                    # Some proxies send the whole answer as one event.
                    delta = object_of(choice.get("message"))
                self.draft.take_message(delta)
                if reason := text_of(choice.get("finish_reason")):
                    counted = tokens_of(object_of(fields.get("usage")).get("completion_tokens")) > 0
                    self._finish(reason, event.data, more=bool(content_text(delta.get("content"))), counted=counted)

    def _finish(self, reason: str, data: bytes, *, more: bool, counted: bool) -> None:
        # Some servers repeat the reason with every delta, or with the usage. But two identical events are an error:
        # the rest of the text may be duplicated as well. Events with text but without a token count are an exception:
        # a model may write the same text twice, and only a count could show that there was no new text.
        if data == self._last_event and (counted or not more):
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        if not self._last_event or not more:
            self.draft.take_end()
        self._last_event = data
        self.draft.reason = reason


class OpenAIChat:
    """The dialect `openai-chat`, see https://platform.openai.com/docs/api-reference/chat.

    Args:
        provider: Name of the provider in errors.
        openai: Whether the server is OpenAI's own. If it is, the token limit is sent as `max_completion_tokens`,
            models that reject a temperature get none, and a stream is complete only with `[DONE]`. For other servers,
            a finish reason completes a stream.
        server: Settings of the server; wins over `openai`.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> OpenAIChat("acme").build_request(ask, base_url="https://acme.example/v1", stream=False).body
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}'
    """

    def __init__(self, provider: str, *, openai: bool = False, server: ChatServer | None = None) -> None:
        self.provider: str = provider
        self.server: ChatServer = server or (OPENAI if openai else PLAIN)

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Build the HTTP request of a chat request, without the key."""
        return build_request(request, base_url=base_url, stream=stream, provider=self.provider, server=self.server)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Parse a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is not an answer.
        """
        answer, draft = load_object(body, self.provider), self._draft(headers)
        if error := error_inside(self.provider, headers, answer):
            draft.take_header(answer)
            with draft.add_usage_to_errors():
                raise error
        return read_answer(draft, answer)

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Create the decoder of one streamed answer."""
        draft = self._draft(headers)
        return ChatStreamDecoder(draft, whole=self.parse_response, done_required=self.server.done_required)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Return the error of an answer with a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))

    def _draft(self, headers: Mapping[str, str]) -> ChatResponseBuilder:
        """Create an empty answer to fill."""
        return ChatResponseBuilder(self.provider, headers, self.server.reasoning_back)
