"""The wire format of Anthropic's Messages API."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import AgentError, RoundtableError
from roundtable.core.types.base import ServerCall
from roundtable.core.types.chat import Usage
from roundtable.http.client import HttpRequest
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.http_model import EventDecoder, ParseDocument
from roundtable.providers.model_names import CALL_ID, claude_rejects_temperature
from roundtable.providers.response_builder import ResponseBuilder, arguments_of
from roundtable.providers.schemas import ANTHROPIC, parameters_schema, to_dialect
from roundtable.providers.wire import (
    at_tier,
    cost_of,
    dump_json,
    items_of,
    joined_halves,
    load_object,
    merged,
    object_of,
    sent_headers,
    text_of,
    tokens_of,
    wire_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.core.types.base import FilePart, ImagePart, JsonObject, JsonValue, NativeSearch
    from roundtable.core.types.chat import AgentTool, ChatRequest, ChatResponse, FinishReason, Message
    from roundtable.http.sse import SseEvent
    from roundtable.providers.spec import Decoder

__all__ = [
    "VERSION",
    "AnthropicMessages",
    "MessageBuilder",
    "MessageDecoder",
    "build_request",
    "usage_of",
]

_FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "refusal",
}
_PLAIN: Final = frozenset({"type", "text", "citations"})
_OTHER_MODELS: Final = frozenset({"advisor_message", "fallback_message"})
"""Kinds of the parts of a call that another model answered; the totals of the usage leave out some parts of such a
call. See https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool and
https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback."""

VERSION: Final = "2023-06-01"
"""Version of the API, see https://docs.claude.com/en/api/versioning."""

_CALL_ID_CHARS: Final = 40
_CACHE: Final[JsonObject] = {"type": "ephemeral"}


class MessageBuilder(ResponseBuilder):
    """A Messages answer under construction."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self._server_call_index: dict[str, int] = {}
        self._usage_fields: JsonObject = {}

    def take_message(self, message: JsonObject) -> None:
        """Add everything but the content."""
        self.note(answer_id=text_of(message.get("id")), model=text_of(message.get("model")))
        self.take_usage(message.get("usage"))
        self.take_stop(text_of(message.get("stop_reason")))

    def take_stop(self, reason: str) -> None:
        """Set the reason why the answer ended."""
        if reason:
            self.end(_FINISH.get(reason, "other"), explicit=reason == "stop_sequence")

    def take_usage(self, usage: JsonValue) -> None:
        """Set the usage; in a stream, later values replace earlier ones."""
        known = {name: value for name, value in object_of(usage).items() if value is not None}
        if known:
            self._usage_fields.update(known)
            self.set_usage(usage_of(self._usage_fields))

    def take_block(self, block: JsonObject) -> None:
        """Add a complete block that is not text, thinking or tool use."""
        kind = text_of(block.get("type"))
        if kind.endswith("_tool_result"):
            self._add_result(kind, block)
        elif kind.endswith("_tool_use"):
            self._server_call_index[text_of(block.get("id"))] = len(self.server_calls)
            self.server_calls.append(ServerCall(name=text_of(block.get("name")) or kind, input=block.get("input")))
        elif kind == "fallback":
            # The first event of a stream names the requested model, which declined; its calls must not run.
            self.note(model=text_of(object_of(block.get("to")).get("model")))
            self.drop_calls()

    def take_whole(self, block: JsonObject) -> None:
        """Add a complete block of any kind."""
        match block.get("type"):
            case "text":
                self.add_text(text_of(block.get("text")))
                for citation in items_of(block.get("citations")):
                    self.take_citation(object_of(citation))
            case "thinking":
                self.add_reasoning(text_of(block.get("thinking")))
            case "tool_use":
                arguments = block.get("input")
                self.add_call(
                    self.call_count,
                    call_id=text_of(block.get("id")),
                    name=text_of(block.get("name")),
                    arguments=json.dumps(arguments, ensure_ascii=False) if arguments else "",
                )
            case _:
                self.take_block(block)

    def take_citation(self, citation: JsonObject) -> None:
        """Add a citation; citations of documents in the prompt have no address and are ignored."""
        url = text_of(citation.get("url")) or text_of(citation.get("source"))
        if "://" in url:
            self.add_citation(url, text_of(citation.get("title")), text_of(citation.get("cited_text")))

    def keep(self, blocks: list[JsonObject]) -> None:
        """Set the content to send back with the next call, unless it is only text."""
        blocks = [_with_input_object(block) for block in _without_declined(blocks)]
        if not all(block.keys() <= _PLAIN and not block.get("citations") for block in blocks):
            self.send_back(blocks)

    def _add_result(self, kind: str, block: JsonObject) -> None:
        index = self._server_call_index.get(text_of(block.get("tool_use_id")))
        output = _without_encrypted(block.get("content"))
        if index is None:
            self.server_calls.append(ServerCall(name=kind.removesuffix("_tool_result"), output=output))
        else:
            self.server_calls[index] = self.server_calls[index].model_copy(update={"output": output})


def _with_input_object(block: JsonObject) -> JsonObject:
    """Return a block whose input is an object, as the API requires; some servers encode it as a text."""
    value = block.get("input")
    return {**block, "input": arguments_of(value)[0]} if isinstance(value, str) else block


def _without_declined(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return the content without the thoughts and open calls of models that declined; the API does not accept them.

    See https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback.
    """
    last = max((index for index, block in enumerate(blocks) if block.get("type") == "fallback"), default=0)
    answered = {text_of(block.get("tool_use_id")) for block in blocks[:last]}

    def is_declined(block: JsonObject) -> bool:
        kind = text_of(block.get("type"))
        is_open = kind.endswith("_tool_use") and text_of(block.get("id")) not in answered
        return is_open or kind in {"thinking", "redacted_thinking", "connector_text", "tool_use"}

    return [*(block for block in blocks[:last] if not is_declined(block)), *blocks[last:]]


def _without_encrypted(content: JsonValue) -> JsonValue:
    """Return a result without its encrypted fields."""
    if isinstance(content, list):
        return [_without_encrypted(item) for item in content]
    if isinstance(content, dict):
        return {name: value for name, value in content.items() if not name.startswith("encrypted_")}
    return content


def usage_of(usage: JsonObject) -> Usage:
    """Parse the usage of one call. Anthropic counts cached input separately; here it is part of the input tokens.

    Example:
        >>> usage_of({"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 5}).input_tokens
        13
    """
    main = _usage_of_model(usage)
    parts = [object_of(part) for part in items_of(usage.get("iterations"))]
    kinds = {text_of(part.get("type")) for part in parts}
    cost = cost_of(usage)  # OpenRouter states the cost of the whole call.
    is_listed = not kinds & _OTHER_MODELS and usage.get("inference_geo") != "us"
    if kinds & _OTHER_MODELS:
        summed = sum(map(_usage_of_model, parts), Usage())
        main = summed.model_copy(
            update={"reasoning_tokens": max(main.reasoning_tokens, summed.reasoning_tokens), "searches": main.searches}
        )
    else:
        # The totals leave out what compaction consumed, see
        # https://platform.claude.com/docs/en/build-with-claude/compaction.
        main = sum((_usage_of_model(part) for part in parts if part.get("type") == "compaction"), main)
    partial = None if is_listed or cost is not None else 0.0
    main = main.model_copy(update={"calls": 1, "cost_usd": cost, "partial_cost_usd": partial})
    # See https://platform.claude.com/docs/en/about-claude/pricing.
    return at_tier(main, usage.get("service_tier"), usage.get("speed"))


def _usage_of_model(usage: JsonObject) -> Usage:
    read, written = tokens_of(usage.get("cache_read_input_tokens")), tokens_of(usage.get("cache_creation_input_tokens"))
    # https://platform.claude.com/docs/en/build-with-claude/prompt-caching; only `extra_body` can ask for an hour.
    written_long = tokens_of(object_of(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    return Usage(
        input_tokens=tokens_of(usage.get("input_tokens")) + read + written,
        output_tokens=tokens_of(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        long_cache_write_tokens=min(written, written_long),
        reasoning_tokens=tokens_of(object_of(usage.get("output_tokens_details")).get("thinking_tokens")),
        searches=tokens_of(object_of(usage.get("server_tool_use")).get("web_search_requests")),
        calls=1,
    )


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: The chat request.
        provider: Name of the provider; earlier answers of this provider are sent back in its own format.
        base_url: Root of the API, without `/v1`.
        stream: Whether to stream the answer.
    """
    body: JsonObject = {"model": request.model, "max_tokens": request.max_tokens}
    if system := _system(request.messages):
        body["system"] = system
    body["messages"] = _messages(request.messages, provider)
    thinks = object_of(request.extra_body.get("thinking")).get("type", "disabled") != "disabled"
    if request.temperature is not None and not thinks and not claude_rejects_temperature(request.model):
        # The API accepts at most 1.
        body["temperature"] = min(request.temperature, 1.0)
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    tools: list[JsonValue] = [_tool(tool) for tool in request.tools]
    choice = request.tool_choice
    if not tools and not request.search and (earlier := _called_tools(request.messages)):
        # The API rejects messages with calls and results of tools if the request defines no tool at all. With the
        # search, it defines one, which the model may still use.
        tools.extend(earlier)
        choice = "none"
    if request.search:
        tools.append(_search(request.search))
    if tools:
        body["tools"] = tools
        if choice != "auto":
            body["tool_choice"] = _choice(choice)
    if request.output_schema is not None and not request.search:
        # Search results are cited, and the API does not combine citations with a schema.
        schema = to_dialect(request.output_schema.definition, ANTHROPIC)
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
    parts = [message for message in messages if message.role == "system" and message.content]
    if not any(message.cache for message in parts):
        return "\n\n".join(message.content for message in parts)
    return [_with_cache_control({"type": "text", "text": message.content}, message) for message in parts]


def _messages(messages: Iterable[Message], provider: str) -> list[JsonValue]:
    """Return the messages; consecutive messages of one side become one, as the API merges them anyway."""
    conversation = [message for message in messages if message.role != "system"]
    wire: list[JsonValue] = []
    for is_assistant, group in groupby(conversation, key=lambda message: message.role == "assistant"):
        blocks: list[JsonValue] = []
        for message in group:
            blocks += _assistant(message, provider) if is_assistant else _user(message)
        for block in map(object_of, blocks):
            _map_call_id(block)
        if blocks:
            wire.append({"role": "assistant" if is_assistant else "user", "content": _plain(blocks)})
    return wire


def _map_call_id(block: JsonObject) -> None:
    """Replace the id of a call or a result by one that the API accepts; another provider may have made the call."""
    name = {"tool_use": "id", "tool_result": "tool_use_id"}.get(text_of(block.get("type")), "")
    if call_id := text_of(block.get(name)):
        block[name] = wire_id(call_id, CALL_ID, _CALL_ID_CHARS)


def _plain(blocks: list[JsonValue]) -> JsonValue:
    """Return the text alone if there is only one text block."""
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, dict) and only.keys() == {"type", "text"}:
        return only["text"]
    return blocks


def _user(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        result: JsonObject = {"type": "tool_result", "tool_use_id": message.tool_call_id or ""}
        if message.content:
            result["content"] = message.content
        return [_with_cache_control(result, message)]
    blocks: list[JsonValue] = [*map(_document, message.files), *map(_image, message.images)]
    if message.content:
        blocks.append(_with_cache_control({"type": "text", "text": message.content}, message))
    return blocks


def _assistant(message: Message, provider: str) -> list[JsonValue]:
    if message.native is not None and message.native.provider == provider:
        # The API returns texts that are empty or only white space, but rejects them in a request.
        return [
            dict(item)
            for item in message.native.items
            if item.get("type") != "text" or text_of(item.get("text")).strip()
        ]
    blocks: list[JsonValue] = []
    if message.content.rstrip():
        blocks.append(_with_cache_control({"type": "text", "text": message.content.rstrip()}, message))
    for call in message.tool_calls:
        tool_use: JsonObject = {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        blocks.append(tool_use)
    return blocks


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _document(file: FilePart) -> JsonObject:
    source: JsonObject = {"type": "base64", "media_type": file.media_type, "data": file.data}
    return {"type": "document", "source": source, "title": file.name}


def _with_cache_control(block: JsonObject, message: Message) -> JsonObject:
    return {**block, "cache_control": dict(_CACHE)} if message.cache else block


def _tool(tool: AgentTool) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": parameters_schema(tool.parameters)}


def _called_tools(messages: Iterable[Message]) -> list[JsonObject]:
    """Return a definition of each tool that was called in these messages; its parameters are not known any more."""
    names = dict.fromkeys(call.name for message in messages for call in message.tool_calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _search(search: NativeSearch) -> JsonObject:
    """Return the tool of the server-side search, see https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool."""
    tool: JsonObject = {"type": "web_search_20250305", "name": "web_search", "max_uses": search.max_uses}
    # The API accepts only one of the two lists.
    if search.allowed_domains:
        tool["allowed_domains"] = list(search.allowed_domains)
    elif search.blocked_domains:
        tool["blocked_domains"] = list(search.blocked_domains)
    return tool


def _choice(choice: str) -> JsonObject:
    if choice in {"none", "required"}:
        return {"type": "none" if choice == "none" else "any"}
    return {"type": "tool", "name": choice}


@dataclass(slots=True)
class _Block:
    start: JsonObject
    number: int
    """Position in the answer; the numbers that servers give may repeat."""
    replaces: _Block | None = None
    """Earlier block to which the server gave the same number."""
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[JsonValue] = field(default_factory=list)
    is_closed: bool = False

    @property
    def says_something(self) -> bool:
        """Whether the block has more than its type."""
        return any(value for name, value in self.whole().items() if name not in {"type", "citations"})

    def add(self, name: str, value: JsonValue) -> str:
        text = text_of(value)
        self.pieces.setdefault(name, []).append(text)
        return text

    def whole(self) -> JsonObject:
        """Return the block in the form that it has in an answer without streaming."""
        block = dict(self.start)
        for name, texts in self.pieces.items():
            if name != "partial_json":
                block[name] = text_of(block.get(name)) + "".join(texts)
        if arguments := "".join(self.pieces.get("partial_json", ())).strip():
            # A tool call keeps an invalid text; in the content, the provider expects an object.
            block["input"] = arguments_of(joined_halves(arguments))[0]
        if self.citations:
            block["citations"] = self.citations
        return block


class MessageDecoder(EventDecoder[MessageBuilder]):
    """Decoder of one streamed answer, which is complete when `message_stop` arrives."""

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ParseDocument) -> None:
        super().__init__(MessageBuilder(provider, headers), whole=whole)
        self._blocks: list[_Block] = []
        self._numbered: dict[int, _Block] = {}
        """Last block of each number that the server gives."""
        self._message: JsonObject | None = None
        self._end_fields: JsonObject = {}

    def is_whole(self) -> bool:
        """Check whether the answer is complete."""
        return self.is_done

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            RoundtableError: The stream reports an error, or starts a message or block a second time.
        """
        match fields.get("type"):
            case "message_start":
                self._start(object_of(fields.get("message")))
            case "content_block_start":
                self._open(fields)
            case "content_block_delta":
                self._delta(self._block(fields), object_of(fields.get("delta")))
            case "content_block_stop":
                self._stop_block(_block_index(fields))
            case "message_delta":
                delta = object_of(fields.get("delta"))
                self._end_fields |= {name: value for name, value in delta.items() if value is not None}
                self.draft.take_usage(fields.get("usage"))
                self.draft.take_stop(text_of(delta.get("stop_reason")))
            case "message_stop":
                self._stop()
            case _ if fields.get("error"):
                raise self.reported_error(fields)
            case _:
                # `ping` and unknown events; the documentation asks clients to ignore them.
                return

    def _start(self, message: JsonObject) -> None:
        if self._message is not None:
            raise AgentError(
                "the stream repeats itself: it started a second message", provider=self.draft.provider, retryable=True
            )
        self._message = message
        self.draft.take_message(message)

    def _open(self, fields: JsonObject) -> None:
        """Begin a block. Some servers begin with a number again whose block has ended."""
        index = _block_index(fields)
        earlier = self._numbered.get(index)
        if earlier is not None and not earlier.is_closed:
            raise self._repetition(index)
        start = object_of(fields.get("content_block"))
        block = _Block(start, len(self._blocks), replaces=earlier)
        self._blocks.append(block)
        self._numbered[index] = block
        match start.get("type"):
            case "text":
                self.draft.add_text(text_of(start.get("text")))
            case "thinking":
                self.draft.add_reasoning(text_of(start.get("thinking")))
            case "tool_use":
                self.draft.add_call(block.number, call_id=text_of(start.get("id")), name=text_of(start.get("name")))
            case _:
                # Other blocks are added when they are complete.
                return

    def _repetition(self, index: int) -> AgentError:
        return AgentError(
            f"the stream repeats itself: it sent block {index} a second time",
            provider=self.draft.provider,
            retryable=True,
        )

    def _block(self, fields: JsonObject) -> _Block:
        block = self._numbered.get(_block_index(fields))
        if block is None or block.is_closed:
            raise AgentError("an event of the stream does not belong to an open block", provider=self.draft.provider)
        return block

    def _delta(self, block: _Block, delta: JsonObject) -> None:
        match delta.get("type"):
            case "text_delta":
                self.draft.add_text(block.add("text", delta.get("text")))
            case "thinking_delta":
                self.draft.add_reasoning(block.add("thinking", delta.get("thinking")))
            case "input_json_delta":
                block.add("partial_json", delta.get("partial_json"))
                if block.start.get("type") == "tool_use":
                    self.draft.add_call(block.number, arguments=text_of(delta.get("partial_json")))
            case "citations_delta":
                citation = object_of(delta.get("citation"))
                block.citations.append(citation)
                self.draft.take_citation(citation)
            case "signature_delta":
                block.add("signature", delta.get("signature"))
            case "compaction_delta":
                # The summary arrives in one piece; null, if it failed, and encrypted content go back unchanged.
                block.start = {**block.start, **delta, "type": block.start.get("type")}
            case _:
                return

    def _stop_block(self, index: int) -> None:
        """End a block; an end without an open block says nothing."""
        block = self._numbered.get(index)
        if block is None or block.is_closed:
            return
        block.is_closed = True
        if block.replaces is not None and block.says_something and block.whole() == block.replaces.whole():
            raise self._repetition(index)
        kind = block.start.get("type")
        if kind == "tool_use":
            arguments = block.start.get("input")
            if arguments and "partial_json" not in block.pieces:
                self.draft.add_call(block.number, arguments=arguments)
        elif kind not in {"text", "thinking"}:
            self.draft.take_block(block.whole())

    def _stop(self) -> None:
        self.is_done = True
        blocks = [block.whole() for block in self._blocks]
        self.draft.keep(blocks)
        if self._message is not None:
            content: list[JsonValue] = [*blocks]
            self.draft.raw = {**self._message, **self._end_fields, "content": content}


def _block_index(fields: JsonObject) -> int:
    index = fields.get("index")
    return index if isinstance(index, int) else 0


class AnthropicMessages:
    """The dialect `anthropic`, see https://docs.claude.com/en/api/messages.

    Args:
        provider: Name of the provider in errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> AnthropicMessages().build_request(ask, base_url="https://api.anthropic.com", stream=False).body
        b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
    """

    def __init__(self, provider: str = "anthropic") -> None:
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
        draft = MessageBuilder(self.provider, headers)
        draft.take_message(answer)
        with draft.add_usage_to_errors():
            if answer.get("type") == "error" or answer.get("error"):
                raise error_for(self.provider, status, headers, read_refusal(answer))
            if not isinstance(answer.get("content"), list):
                raise AgentError("the answer has no content", provider=self.provider, retryable=True)
        blocks = [object_of(block) for block in items_of(answer.get("content"))]
        for block in blocks:
            draft.take_whole(block)
        draft.keep(blocks)
        draft.raw = answer
        return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Create the decoder of one streamed answer."""
        return MessageDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Return the error of an answer with a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))
