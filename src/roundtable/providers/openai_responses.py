"""The wire format of OpenAI's Responses API."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import AgentError, RoundtableError
from roundtable.core.types.base import ServerCall
from roundtable.core.types.chat import Usage
from roundtable.http.client import HttpRequest
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.http_model import EventDecoder, ParseDocument
from roundtable.providers.model_names import is_openai_reasoning_model, openai_rejects_temperature
from roundtable.providers.response_builder import ResponseBuilder
from roundtable.providers.schemas import parameters_schema, strict_schema
from roundtable.providers.streamed_output import PIECES, StreamedOutput
from roundtable.providers.wire import (
    at_tier,
    cost_of,
    dump_json,
    items_of,
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roundtable.core.types.base import JsonObject, JsonValue, NativeSearch
    from roundtable.core.types.chat import AgentTool, ChatRequest, ChatResponse, FinishReason, Message, OutputSchema
    from roundtable.http.sse import SseEvent
    from roundtable.providers.spec import Decoder

__all__ = ["OpenAIResponseBuilder", "OpenAIResponses", "ResponseDecoder", "build_request", "usage_of"]

_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_INPUT_FIELDS: Final = (
    "query",
    "queries",
    "url",
    "pattern",
    "code",
    "arguments",
    "command",
    "commands",
    "operation",
    "input",
)
_OUTPUT_FIELDS: Final = ("status", "sources", "results", "outputs", "output", "error")

MOST_ID_CHARS: Final = 64
"""Most characters of the id of a call that the API accepts."""
_CALL_ID: Final = re.compile(rf".{{1,{MOST_ID_CHARS}}}", re.DOTALL)

LEAST_TOKENS: Final = 16
"""Smallest token limit that the API accepts."""


class OpenAIResponseBuilder(ResponseBuilder):
    """A Responses answer under construction."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self._last_thought: tuple[int, ...] | None = None
        self._last_message: int | None = None

    def take_text(self, index: int, text: str) -> None:
        """Add the text of a message, or a piece of it; each message of an answer becomes a paragraph."""
        if text and self._last_message not in {None, index}:
            self.add_text("\n\n")
        if text:
            self._last_message = index
            self.add_text(text)

    def take_thought(self, part_index: tuple[int, ...], text: str) -> None:
        """Add visible reasoning, or a piece of it; each part becomes a paragraph."""
        if text and self._last_thought not in {None, part_index}:
            self.add_reasoning("\n\n")
        if text:
            self._last_thought = part_index
            self.add_reasoning(text)

    def take_call(self, index: int, item: JsonObject) -> None:
        """Add a call without its arguments."""
        self.add_call(index, call_id=text_of(item.get("call_id")), name=text_of(item.get("name")))

    def take_note(self, note: JsonObject) -> None:
        """Add an annotation; only annotations of pages have an address."""
        note = object_of(note.get("url_citation")) or note
        self.add_citation(text_of(note.get("url")), text_of(note.get("title")), text_of(note.get("content")))

    def take_usage(self, answer: JsonObject) -> None:
        """Set the usage of the answer."""
        if usage := object_of(answer.get("usage")):
            self.set_usage(at_tier(usage_of(usage), answer.get("service_tier")))

    def take_answer(self, answer: JsonObject, items: Sequence[JsonObject]) -> None:
        """Add the whole answer with the items of its output."""
        # Calls for the client come at the end of an answer; calls before a message were already answered by the server.
        kinds = [text_of(item.get("type")) for item in items]
        last_message = max((index for index, kind in enumerate(kinds) if kind == "message"), default=-1)
        refused = [self._add_item(index, item, own=index > last_message) for index, item in enumerate(items)]
        for url in items_of(answer.get("citations")):
            self.add_citation(text_of(url))
        self.note(answer_id=text_of(answer.get("id")), model=text_of(answer.get("model")))
        self.take_usage(answer)
        self.set_searches(sum(map(_is_search, items)))
        # A background answer has no text yet; a request for approval never has a text.
        waits = text_of(answer.get("status")) in {"queued", "in_progress"}
        waits = waits or any(item.get("type") == "mcp_approval_request" for item in items)
        finish = _finish(answer, refused=any(refused))
        if finish in {"stop", "other"} and any(map(_is_cut_off, items)):
            finish = "length"
        self.end(finish, explicit=waits)
        # An answer that is only text is sent back as a plain message. If the API labels messages as comments or as the
        # final answer (`phase`), it asks for these labels back.
        if any(item.get("type") != "message" or item.get("phase") for item in items):
            self.send_back(list(items))
        self.raw: JsonObject | None = answer

    def _add_item(self, index: int, item: JsonObject, *, own: bool) -> bool:
        """Add an item of the output; return whether it holds a refusal. `own` is set if no message follows the item."""
        kind = text_of(item.get("type"))
        refused = False
        if kind == "custom_tool_call" and not own:
            self.server_calls.append(_server_call(text_of(item.get("name")) or "custom_tool", item))
        elif kind in {"function_call", "custom_tool_call"}:
            self.take_call(index, item)
            self.add_call(index, arguments=_arguments(kind, item))
        elif kind == "message":
            for part in map(object_of, items_of(item.get("content"))):
                refusal = text_of(part.get("refusal"))
                self.take_text(index, text_of(part.get("text")) + refusal)
                refused = refused or bool(refusal)
                for note in items_of(part.get("annotations")):
                    self.take_note(object_of(note))
        elif kind == "reasoning":
            for number, word in enumerate(("summary", "content")):
                for position, thought in enumerate(items_of(item.get(word))):
                    self.take_thought((index, number, position), text_of(object_of(thought).get("text")))
        elif kind.endswith("_call"):
            self.server_calls.append(_server_call(kind.removesuffix("_call"), item))
        return refused


def _is_search(item: JsonObject) -> bool:
    """Check whether an item is a billed search; opening a result and searching within it are not billed."""
    action = text_of(object_of(item.get("action")).get("type"))
    return item.get("type") == "web_search_call" and action in {"search", ""} and item.get("status") != "failed"


def _finish(answer: JsonObject, *, refused: bool) -> FinishReason:
    status = text_of(answer.get("status"))
    if status == "incomplete":
        return _INCOMPLETE.get(text_of(object_of(answer.get("incomplete_details")).get("reason")), "other")
    if refused:
        return "refusal"
    return "stop" if status in {"completed", "complete", ""} else "other"


def _is_cut_off(item: JsonObject) -> bool:
    """Check whether an item is a call that the token limit or a filter cut off."""
    return item.get("type") in {"function_call", "custom_tool_call"} and item.get("status") == "incomplete"


def _arguments(kind: str, item: JsonObject) -> str:
    if kind == "custom_tool_call":
        # The input of a custom tool is any text, not JSON.
        return json.dumps({"input": item.get("input")}, ensure_ascii=False)
    arguments = item.get("arguments")
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _server_call(name: str, item: JsonObject) -> ServerCall:
    action = object_of(item.get("action"))
    arguments: JsonObject = {
        key: value for key in _INPUT_FIELDS if (value := action.get(key, item.get(key))) is not None
    }
    output: JsonObject = {key: value for key in _OUTPUT_FIELDS if (value := item.get(key, action.get(key))) is not None}
    return ServerCall(name=name, input=arguments, output=output)


def usage_of(usage: JsonObject) -> Usage:
    """Parse the usage of one call; a price is included if the server states one in dollars.

    Example:
        >>> usage_of({"input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}).calls
        1
    """
    input_details = object_of(usage.get("input_tokens_details"))
    output_details = object_of(usage.get("output_tokens_details"))
    sent, written = tokens_of(usage.get("input_tokens")), tokens_of(usage.get("output_tokens"))
    uncounted = uncounted_tokens(usage.get("total_tokens"), sent, written)
    return Usage(
        input_tokens=sent,
        output_tokens=written + uncounted,
        cache_read_tokens=tokens_of(input_details.get("cached_tokens")),
        cache_write_tokens=tokens_of(input_details.get("cache_write_tokens")),
        reasoning_tokens=tokens_of(output_details.get("reasoning_tokens")) or uncounted,
        calls=1,
        cost_usd=cost_of(usage),
    )


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key. The provider stores nothing, and returns the reasoning encrypted instead.

    Args:
        request: The chat request.
        provider: Name of the provider; earlier answers of this provider are sent back in its own format.
        base_url: Root of the API, such as `https://api.openai.com/v1`.
        stream: Whether to stream the answer.
    """
    body: JsonObject = {"model": request.model}
    if instructions := _instructions(request.messages):
        body["instructions"] = instructions
    body["input"] = [_with_call_id(object_of(item)) for item in _input(request.messages, provider)]
    body["max_output_tokens"] = max(request.max_tokens, LEAST_TOKENS)
    body["store"] = False
    thinks = request.extra_body.get("reasoning") is not None
    if request.temperature is not None and not thinks and not openai_rejects_temperature(request.model):
        body["temperature"] = request.temperature
    include: list[JsonValue] = ["reasoning.encrypted_content"] if is_openai_reasoning_model(request.model) else []
    tools: list[JsonValue] = [_tool(tool) for tool in request.tools]
    if request.search:
        tools.append(_search(request.search))
        include.append("web_search_call.action.sources")
        body["max_tool_calls"] = request.search.max_uses
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
                items = _items_to_send_back(message.native.items)
                custom |= {text_of(item.get("call_id")) for item in items if item.get("type") == "custom_tool_call"}
                yield from items
            else:
                yield from _assistant_items(message)


def _with_call_id(item: JsonObject) -> JsonObject:
    """Return an item with the id of its call in the form that the API accepts; another provider may have made it."""
    call_id = text_of(item.get("call_id"))
    return {**item, "call_id": wire_id(call_id, _CALL_ID, MOST_ID_CHARS)} if call_id else item


def _content(message: Message) -> JsonValue:
    if not message.images and not message.files:
        return message.content
    parts: list[JsonValue] = []
    parts.extend({"type": "input_file", "filename": file.name, "file_data": file.url} for file in message.files)
    parts.extend({"type": "input_image", "detail": "auto", "image_url": image.url} for image in message.images)
    if message.content:
        parts.append({"type": "input_text", "text": message.content})
    return parts


def _assistant_items(message: Message) -> Iterator[JsonValue]:
    if message.content:
        yield {"role": "assistant", "content": message.content}
    for call in message.tool_calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def _items_to_send_back(items: tuple[JsonObject, ...]) -> list[JsonObject]:
    """Return the items of an answer in the form that the API accepts in a request.

    Reasoning without encrypted content is left out: it is stored nowhere, so a request cannot refer to it. If reasoning
    is left out, the other items lose their ids, because the API would look for the reasoning that belongs to an id.
    The status of reasoning is only for answers; some servers reject it in a request.
    """
    usable = [item for item in items if item.get("type") != "reasoning" or item.get("encrypted_content")]
    complete = len(usable) == len(items)
    with_id = ("function_call", "custom_tool_call", "message")

    def is_sent(item: JsonObject, name: str) -> bool:
        kind = item.get("type")
        return not (name == "status" and kind == "reasoning") and (complete or name != "id" or kind not in with_id)

    return [{name: value for name, value in item.items() if is_sent(item, name)} for item in usable]


def _tool(tool: AgentTool) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters_schema(tool.parameters),
        "strict": False,
    }


def _search(search: NativeSearch) -> JsonObject:
    """Return the tool of the server-side search, see https://platform.openai.com/docs/guides/tools-web-search."""
    tool: JsonObject = {"type": "web_search", "search_context_size": search.context_size}
    if search.allowed_domains:
        tool["filters"] = {"allowed_domains": list(search.allowed_domains)}
    return tool


def _choice(choice: str) -> JsonValue:
    return choice if choice in {"none", "required"} else {"type": "function", "name": choice}


def _format(schema: OutputSchema) -> JsonObject:
    definition, strict = strict_schema(schema.definition)
    return {"type": "json_schema", "name": schema.name, "schema": definition, "strict": strict}


class ResponseDecoder(EventDecoder[OpenAIResponseBuilder]):
    """Decoder of one streamed answer; the event `response.completed` or `response.incomplete` completes it.

    This last event repeats the whole answer, and the response is built from it; where some servers leave out what they
    have streamed, the stream counts. The deltas hold the pieces that arrived earlier, and at the end whatever only the
    last event contains.
    """

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ParseDocument) -> None:
        super().__init__(OpenAIResponseBuilder(provider, headers), whole=whole)
        self._answer: OpenAIResponseBuilder | None = None
        self._output = StreamedOutput()
        self._last_number = -1
        self._last_data = b""

    def is_whole(self) -> bool:
        """Check whether the answer is complete."""
        return self.is_done

    def take_word(self, data: bytes) -> bool:
        """Ignore the terminator that some servers add."""
        return data == b"[DONE]"

    def finish(self) -> ChatResponse:
        """Return the whole answer, after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
            AgentError: The stream was empty.
        """
        response = super().finish() if self._answer is None else None
        return response or (self._answer or self.draft).response()

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            RoundtableError: The response failed, or events came out of order.
        """
        if self._is_repeated(event, fields):
            return
        kind = text_of(fields.get("type"))
        if kind in {"response.completed", "response.incomplete", "response.done"}:
            self._end(object_of(fields.get("response")))
        elif kind in {"response.failed", "response.cancelled"} or fields.get("error"):
            answer = object_of(fields.get("response")) or fields
            self.draft.take_usage(answer)
            with self.draft.add_usage_to_errors():
                raise error_for(self.draft.provider, 200, self.draft.headers, read_refusal(answer))
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._take_item(fields, object_of(fields.get("item")))
        elif kind == "response.output_text.annotation.added":
            self.draft.take_note(object_of(fields.get("annotation")))
        else:
            self._add_piece(kind, fields)

    def _take_item(self, fields: JsonObject, item: JsonObject) -> None:
        kind = text_of(item.get("type"))
        streamed = self._output.at(kind, _number(fields, "output_index"), text_of(item.get("id")))
        streamed.item = item
        if kind == "function_call":
            self.draft.take_call(streamed.number, item)

    def _add_piece(self, kind: str, fields: JsonObject) -> None:
        """Add a piece of a text, or the whole text at its end."""
        name, _, event = kind.rpartition(".")
        at = PIECES.get(name)
        if at is None:
            return
        position = _number(fields, at.position)
        item = self._output.at(at.kind, _number(fields, "output_index"), text_of(fields.get("item_id")))
        if event == "done":
            item.put(at, position, text_of(fields.get(at.text)))
        if event != "delta":
            return
        delta = text_of(fields.get("delta"))
        item.add(at, position, delta)
        if at.kind == "message":
            self.draft.take_text(item.number, delta)
        elif at.kind == "function_call":
            self.draft.add_call(item.number, arguments=delta)
        elif at.kind == "reasoning":
            self.draft.take_thought((item.number, int(at.name == "content"), position), delta)

    def _end(self, answer: JsonObject) -> None:
        items = self._output.completed([object_of(item) for item in items_of(answer.get("output"))])
        self._answer = OpenAIResponseBuilder(self.draft.provider, self.draft.headers)
        self._answer.take_answer(answer, items)
        self.draft.catch_up(self._answer)
        self.is_done = True

    def _is_repeated(self, event: SseEvent, fields: JsonObject) -> bool:
        """Check whether an event repeats the previous one, by its sequence number; a lower number is an error."""
        number = fields.get("sequence_number")
        if not isinstance(number, int):
            return False
        if number == self._last_number and event.data == self._last_data:
            return True
        if number < self._last_number:
            raise AgentError("the events of the stream came out of order", provider=self.draft.provider, retryable=True)
        self._last_number, self._last_data = number, event.data
        return False


def _number(fields: JsonObject, name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0


class OpenAIResponses:
    """The dialect `openai`, see https://platform.openai.com/docs/api-reference/responses.

    Args:
        provider: Name of the provider in errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=20)
        >>> OpenAIResponses().build_request(ask, base_url="https://api.openai.com/v1", stream=False).body
        b'{"model":"m","input":[{"role":"user","content":"Hi"}],"max_output_tokens":20,"store":false}'
    """

    def __init__(self, provider: str = "openai") -> None:
        self.provider: str = provider

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Build the HTTP request of a chat request, without the key."""
        return build_request(request, provider=self.provider, base_url=base_url, stream=stream)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Parse a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is not an answer.
        """
        answer = load_object(body, self.provider)
        draft = OpenAIResponseBuilder(self.provider, headers)
        draft.take_usage(answer)
        with draft.add_usage_to_errors():
            if answer.get("error") or text_of(answer.get("status")) in {"failed", "cancelled"}:
                raise error_for(self.provider, status, headers, read_refusal(answer))
            if not isinstance(answer.get("output"), list):
                raise AgentError("the answer has no output", provider=self.provider, retryable=True)
        draft.take_answer(answer, [object_of(item) for item in items_of(answer.get("output"))])
        return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Create the decoder of one streamed answer."""
        return ResponseDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Return the error of an answer with a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))
