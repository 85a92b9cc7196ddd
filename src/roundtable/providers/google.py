"""The wire format of Google's generateContent API."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final, cast

from roundtable.core.errors import AgentError, ConfigurationError, RoundtableError
from roundtable.core.types.base import ServerCall, utc_now
from roundtable.core.types.chat import Usage
from roundtable.http.client import HttpRequest
from roundtable.http.json_array import JsonArrayFramer
from roundtable.http.sse import SseEvent
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.http_model import EventDecoder, ParseDocument
from roundtable.providers.model_names import UNSIGNED, is_gemini_3_or_later
from roundtable.providers.response_builder import ResponseBuilder, arguments_of
from roundtable.providers.schemas import GOOGLE, to_dialect
from roundtable.providers.wire import (
    at_tier,
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
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.base import ImagePart, JsonObject, JsonValue, NativeSearch
    from roundtable.core.types.chat import AgentTool, ChatRequest, ChatResponse, FinishReason, Message
    from roundtable.providers.spec import Decoder

__all__ = ["ContentBuilder", "GoogleGenerate", "PartialArguments", "build_request", "usage_of"]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d{1,4})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_MAX_DEPTH: Final = 32

_FINISH: Final[Mapping[str, FinishReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
}
_FINISH_NAMES: Final = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
)
"""The enumeration in its numeric order, see https://ai.google.dev/api/generate-content#FinishReason."""

_REASON_CHARS: Final = 60

_VERSIONED: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?:/|$)")
_AGES: Final[Mapping[str, timedelta]] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}


class PartialArguments:
    """The arguments of a function call under construction.

    Texts are joined once, at the end, so the work is linear in the length of the answer.

    Args:
        arguments: Arguments that are already complete.

    Example:
        >>> arguments = PartialArguments({})
        >>> for piece in ("ap", "ple"):
        ...     arguments.put("$.items[0].name", piece)
        >>> arguments.whole()
        {'items': [{'name': 'apple'}]}
    """

    def __init__(self, arguments: JsonObject) -> None:
        self._root: dict[str, object] = dict(arguments)

    def put(self, path: str, value: JsonValue) -> None:
        """Set the value at a path; a text is appended to a text that is there already.

        Raises:
            AgentError: The path is invalid, such as an index far beyond the end of a list.
        """
        steps = _steps(path)
        container: object = self._root
        for step, next_step in zip(steps, [*steps[1:], None], strict=True):
            if next_step is None:
                _set(container, step, value)
            else:
                container = _enter(container, step, [] if isinstance(next_step, int) else {})

    def whole(self) -> JsonObject:
        """Return the arguments so far as plain JSON."""
        return {name: _plain(value) for name, value in self._root.items()}


class _Text:
    """A text in pieces."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = list(pieces)


def _plain(node: object) -> JsonValue:
    if isinstance(node, _Text):
        return "".join(node.pieces)
    if isinstance(node, dict):
        return {name: _plain(value) for name, value in node.items()}
    return [_plain(item) for item in node] if isinstance(node, list) else cast("JsonValue", node)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    offset = 1
    while (match := _STEP.match(path, offset)) is not None and len(steps) < _MAX_DEPTH:
        name, index, quoted, double_quoted = match.groups()
        steps.append(int(index) if index is not None else name or quoted or double_quoted or "")
        offset = match.end()
    if not steps or offset != len(path) or not path.startswith("$"):
        raise AgentError("a piece of a function call has an invalid path")
    return steps


def _enter(container: object, step: str | int, empty: object) -> object:
    if isinstance(container, dict) and isinstance(step, str):
        return container.setdefault(step, empty)
    if isinstance(container, list) and isinstance(step, int) and step <= len(container):
        if step == len(container):
            container.append(empty)
        return container[step]
    raise AgentError("a piece of a function call has an invalid path")


def _set(container: object, step: str | int, value: object) -> None:
    current = _enter(container, step, None)
    if isinstance(value, str) and isinstance(current, _Text):
        current.pieces.append(value)
        return
    if isinstance(value, str) and isinstance(current, str):
        value = _Text(current, value)
    if isinstance(container, list) and isinstance(step, int):
        container[step] = value
    if isinstance(container, dict) and isinstance(step, str):
        container[step] = value


class ContentBuilder(ResponseBuilder):
    """A generateContent answer under construction."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self.has_candidates: bool = False
        """Whether there was any candidate, even an empty one."""
        self._usage_fields: JsonObject = {}
        self._queries: dict[str, JsonValue] = {}
        self._pages: dict[str, JsonValue] = {}
        self._chunks: list[JsonObject] = []
        self._used: set[int] = set()
        self._uncited: set[int] = set()
        self._cited_count = 0
        self._open_call: tuple[JsonObject, PartialArguments] | None = None
        self._invalid_arguments = ""
        self._parts: list[JsonObject] = []
        self._text_pieces: list[str] = []
        self._server_call_index: dict[str, int] = {}

    def take_chunk(self, answer: JsonObject) -> None:
        """Add an answer or a chunk of one; only the first candidate counts."""
        self.note(answer_id=text_of(answer.get("responseId")), model=text_of(answer.get("modelVersion")))
        usage = {name: value for name, value in object_of(answer.get("usageMetadata")).items() if value is not None}
        if usage:
            self._usage_fields.update(usage)
            self.set_usage(usage_of(self._usage_fields))
        candidates = [object_of(candidate) for candidate in items_of(answer.get("candidates"))]
        for candidate in candidates:
            if not candidate.get("index"):
                self._add_candidate(candidate)
                break
        # A rejected prompt has no candidates.
        blocked = object_of(answer.get("promptFeedback")).get("blockReason")
        if not candidates and blocked and blocked != "BLOCK_REASON_UNSPECIFIED":
            self.end("content_filter")
        self.has_candidates = self.has_candidates or bool(candidates)

    def _add_candidate(self, candidate: JsonObject) -> None:
        parts = [object_of(part) for part in items_of(object_of(candidate.get("content")).get("parts"))]
        reason = _reason_of(candidate)
        if (
            self.finish is not None
            and not reason
            and any(part.get("text") or part.get("functionCall") for part in parts)
        ):
            # Some models send the finish reason with every chunk; other text after the end is not part of the answer.
            raise AgentError("the stream goes on after the end of the answer", provider=self.provider, retryable=True)
        for part in parts:
            self._add_content_part(part)
        self._add_sources(candidate)
        if reason:
            self.end(_FINISH.get(reason, "other"))
            is_fault = reason not in _FINISH and reason != "OTHER"
            self.stopped_by: str = reason[:_REASON_CHARS] if is_fault else ""
            self._cite()

    def _add_content_part(self, part: JsonObject) -> None:
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._add_call_part(part, call)
            return
        self._store_part(part)
        if "text" in part:
            (self.add_reasoning if part.get("thought") else self.add_text)(text_of(part.get("text")))
            return
        if part.keys() & {"inlineData", "fileData"}:
            self.has_media = True
        for name in ("executableCode", "toolCall"):
            if call_part := object_of(part.get(name)):
                self._server_call_index[text_of(call_part.get("id"))] = len(self.server_calls)
                kind = text_of(call_part.get("toolType")).lower() or "code_execution"
                self.server_calls.append(ServerCall(name=kind, input=call_part.get("args", call_part.get("code"))))
        for name in ("codeExecutionResult", "toolResponse"):
            if result_part := object_of(part.get(name)):
                self._add_result(result_part, result_part.get("response", result_part.get("output")))

    def _add_result(self, result: JsonObject, output: JsonValue) -> None:
        index = self._server_call_index.get(text_of(result.get("id")))
        if index is not None:
            if isinstance(output, dict):
                # Markup for a widget, not a result.
                output = {name: value for name, value in output.items() if name != "search_suggestions"}
            self.server_calls[index] = self.server_calls[index].model_copy(update={"output": output})

    def _add_call_part(self, part: JsonObject, call: JsonObject) -> None:
        if text_of(call.get("name")):
            self._close_call()
            raw_arguments = call.get("args")
            # Arguments that are not an object go to the tool unchanged; the provider gets an empty object instead.
            self._invalid_arguments = ""
            if raw_arguments is not None and not isinstance(raw_arguments, dict):
                raw_arguments, invalid = arguments_of(json.dumps(raw_arguments))
                self._invalid_arguments = invalid or ""
            self._open_call = (dict(part), PartialArguments(raw_arguments or {}))
            self.add_call(self.call_count, call_id=text_of(call.get("id")), name=text_of(call.get("name")))
        if self._open_call is None:
            return
        whole, arguments = self._open_call
        if signature := part.get("thoughtSignature"):
            whole["thoughtSignature"] = signature
        for piece in map(object_of, items_of(call.get("partialArgs"))):
            arguments.put(text_of(piece.get("jsonPath")), _value(piece))
        if not call.get("willContinue"):
            self._close_call()

    def _close_call(self) -> None:
        """Finish the open call, with all its arguments."""
        if self._open_call is None:
            return
        (whole, partial), self._open_call = self._open_call, None
        arguments = partial.whole()
        call = {**object_of(whole["functionCall"]), "args": arguments}
        whole["functionCall"] = {name: call[name] for name in ("id", "name", "args") if name in call}
        self._add_part(whole)
        # Only one delta: the pieces may arrive in a different order than in the JSON text.
        text = json.dumps(arguments, ensure_ascii=False) if arguments else self._invalid_arguments
        self.add_call(self.call_count - 1, arguments=text)

    def _store_part(self, part: JsonObject) -> None:
        """Store a part to send back; consecutive plain texts become one part, joined when it is complete."""
        last = self._parts[-1] if self._parts else {}
        text = part.get("text")
        joins = part.keys() <= {"text", "thought"} and last.keys() <= {"text", "thought"}
        if joins and self._parts and isinstance(text, str) and bool(part.get("thought")) == bool(last.get("thought")):
            self._text_pieces.append(text)
        elif part.keys() != {"text"} or text:
            self._add_part(dict(part))

    def _add_part(self, part: JsonObject) -> None:
        """Start a new part; the previous part is complete."""
        self._join_text()
        self._parts.append(part)

    def _join_text(self) -> None:
        if self._text_pieces:
            last = self._parts[-1]
            last["text"] = text_of(last.get("text")) + "".join(self._text_pieces)
            self._text_pieces.clear()

    def _add_sources(self, candidate: JsonObject) -> None:
        grounding = object_of(candidate.get("groundingMetadata"))
        chunks = [object_of(chunk) for chunk in items_of(grounding.get("groundingChunks"))]
        # Indices refer to the sources of the whole stream; some chunks repeat earlier sources.
        count = len(self._chunks)
        self._chunks += chunks[count:] if count <= len(chunks) and chunks[:count] == self._chunks else chunks
        for support in map(object_of, items_of(grounding.get("groundingSupports"))):
            indices = items_of(support.get("groundingChunkIndices"))
            for index in indices:
                if isinstance(index, int) and not isinstance(index, bool) and index not in self._used:
                    self._used.add(index)
                    self._uncited.add(index)
        recited = object_of(candidate.get("citationMetadata"))
        for source in map(object_of, items_of(recited.get("citations") or recited.get("citationSources"))):
            self.add_citation(text_of(source.get("uri")), text_of(source.get("title")))
        for query in (*items_of(grounding.get("webSearchQueries")), *items_of(grounding.get("imageSearchQueries"))):
            self._queries.setdefault(json.dumps(query), query)
        self.set_searches(len(self._queries))
        for page in items_of(object_of(candidate.get("urlContextMetadata")).get("urlMetadata")):
            self._pages.setdefault(json.dumps(page, sort_keys=True), page)

    def _cite(self) -> None:
        """Add the sources that support the text; all sources if no support is stated."""
        count = len(self._chunks)
        indices = sorted(index for index in self._uncited if 0 <= index < count)
        if indices:
            self._uncited -= set(indices)
        elif len(self._used) == len(self._uncited):
            # No source is referenced.
            indices = list(range(self._cited_count, count))
            self._cited_count = count
        for chunk in [self._chunks[index] for index in indices]:
            for kind in ("web", "maps", "retrievedContext", "image"):
                source = object_of(chunk.get(kind))
                url = text_of(source.get("uri")) or text_of(source.get("sourceUri"))
                self.add_citation(url, text_of(source.get("title")), text_of(source.get("text")))

    def response(self) -> ChatResponse:
        """Return the response."""
        self._close_call()
        self._cite()
        if self._queries:
            self.server_calls.append(ServerCall(name="google_search", input={"queries": list(self._queries.values())}))
        if self._pages:
            self.server_calls.append(ServerCall(name="url_context", output=list(self._pages.values())))
        self._join_text()
        if any(part.keys() - {"text"} for part in self._parts):
            self.send_back(self._parts)
        return super().response()


def _reason_of(candidate: JsonObject) -> str:
    """Return the finish reason of a candidate; empty if it has none. Some servers send the number of the reason."""
    reason = candidate.get("finishReason")
    if isinstance(reason, int) and not isinstance(reason, bool):
        reason = _FINISH_NAMES[reason] if 0 <= reason < len(_FINISH_NAMES) else "OTHER"
    return "" if reason == "FINISH_REASON_UNSPECIFIED" else text_of(reason)


def _value(piece: JsonObject) -> JsonValue:
    for name in ("stringValue", "numberValue", "boolValue"):
        if name in piece:
            return piece[name]
    return None


def usage_of(usage: JsonObject) -> Usage:
    """Parse the usage of one call. Google counts reasoning and the prompt tokens of its tools separately.

    Example:
        >>> usage = usage_of({"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 30})
        >>> usage.output_tokens, usage.reasoning_tokens
        (32, 30)
    """
    sent = tokens_of(usage.get("promptTokenCount")) + tokens_of(usage.get("toolUsePromptTokenCount"))
    written, thought = tokens_of(usage.get("candidatesTokenCount")), tokens_of(usage.get("thoughtsTokenCount"))
    uncounted = uncounted_tokens(usage.get("totalTokenCount"), sent, written, thought)
    thought += uncounted
    counts = Usage(
        input_tokens=sent,
        output_tokens=written + thought,
        cache_read_tokens=tokens_of(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
        calls=1,
    )
    return at_tier(counts, usage.get("serviceTier"), usage.get("trafficType"))


def build_request(request: ChatRequest, *, provider: str, base_url: str, stream: bool) -> HttpRequest:
    """Build the request, without a key.

    Args:
        request: The chat request.
        provider: Name of the provider; earlier answers of this provider are sent back in its own format.
        base_url: Root of the API; `/v1beta` is added if it has no version.
        stream: Whether to stream the answer.

    Raises:
        ConfigurationError: The request has search and functions, and the model cannot combine them.
    """
    if request.search and request.tools and not is_gemini_3_or_later(request.model):
        raise ConfigurationError(
            f"{request.model!r} cannot search and call functions in one call",
            provider=provider,
            hint="Use a model of Gemini 3 or later, or make two calls, as agents do automatically.",
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
    if request.search:
        tools.append({"googleSearch": _search(request.search)})
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
    if request.output_schema is not None and (
        is_gemini_3_or_later(request.model) or not (request.tools or request.search)
    ):
        schema = to_dialect(request.output_schema.definition, GOOGLE)
        settings["responseMimeType"] = "application/json"
        if schema is not None:
            settings["responseJsonSchema"] = schema
    return settings


def _contents(request: ChatRequest, provider: str) -> list[JsonValue]:
    """Return the messages; consecutive messages of one side become one, as the API requires for calls and results."""
    conversation = [message for message in request.messages if message.role != "system"]
    history = _History(provider, signs=is_gemini_3_or_later(request.model))
    wire: list[JsonValue] = []
    for is_model, group in groupby(conversation, key=lambda message: message.role == "assistant"):
        parts: list[JsonValue] = []
        for message in group:
            parts += history.model_parts(message) if is_model else history.user_parts(message)
        if parts:
            wire.append({"role": "model" if is_model else "user", "parts": parts})
    return wire


class _History:
    """Names and ids of earlier calls. A result has the name of its function, and an id only if the call had one."""

    def __init__(self, provider: str, *, signs: bool) -> None:
        self._provider = provider
        self._signs = signs
        self._names: dict[str, str] = {}
        self._nameless: set[str] = set()

    def model_parts(self, message: Message) -> list[JsonValue]:
        """Return the parts of an answer."""
        self._names |= {call.id: call.name for call in message.tool_calls}
        if message.native is not None and message.native.provider == self._provider:
            calls = [object_of(item.get("functionCall")) for item in message.native.items if item.get("functionCall")]
            call_ids = {text_of(call.get("id")) for call in calls}
            self._nameless |= {call.id for call in message.tool_calls} - call_ids
            return list(message.native.items)
        parts: list[JsonValue] = [{"text": message.content}] if message.content else []
        for index, call in enumerate(message.tool_calls):
            self._nameless.discard(call.id)
            part: JsonObject = {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}}
            if self._signs and index == 0:
                part["thoughtSignature"] = UNSIGNED
            parts.append(part)
        return parts

    def user_parts(self, message: Message) -> list[JsonValue]:
        """Return the parts of a question or of a function result."""
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            result: JsonObject = {"name": self._names.get(call_id, call_id), "response": {"result": message.content}}
            if call_id not in self._nameless:
                result["id"] = call_id
            return [{"functionResponse": result}]
        parts: list[JsonValue] = [
            {"inlineData": {"mimeType": file.media_type, "data": file.data}} for file in message.files
        ]
        parts += map(_image, message.images)
        return [*parts, {"text": message.content}] if message.content else parts


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"fileData": {"mimeType": image.media_type, "fileUri": image.url}}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _tool(tool: AgentTool) -> JsonObject:
    declaration: JsonObject = {"name": tool.name, "description": tool.description}
    if tool.parameters:
        # An unsupported schema is sent unchanged: the error of the provider says more than a silent change.
        declaration["parametersJsonSchema"] = to_dialect(dict(tool.parameters), GOOGLE) or dict(tool.parameters)
    return declaration


def _search(search: NativeSearch) -> JsonObject:
    """Return the settings of the server-side search, see https://ai.google.dev/api/caching#GoogleSearch."""
    if search.recency is None:
        return {}
    now = utc_now()
    since, until = (at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in (now - _AGES[search.recency], now))
    return {"timeRangeFilter": {"startTime": since, "endTime": until}}


def _choice(choice: str) -> JsonObject:
    if choice in {"none", "required"}:
        return {"mode": "NONE" if choice == "none" else "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


class GoogleGenerate:
    """The dialect `google`, see https://ai.google.dev/api/generate-content.

    Args:
        provider: Name of the provider in errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> GoogleGenerate().build_request(ask, base_url="https://generativelanguage.googleapis.com", stream=True).url
        'https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse'
    """

    def __init__(self, provider: str = "google") -> None:
        self.provider: str = provider

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Build the HTTP request of a chat request, without the key."""
        return build_request(request, provider=self.provider, base_url=base_url, stream=stream)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Parse a complete answer, or a stream that was collected into one array.

        Raises:
            RoundtableError: The body reports an error, or is not an answer.
        """
        draft = ContentBuilder(self.provider, headers)
        if body.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"["):
            answers = [object_of(item) for item in items_of(load_json(body, keep_halves=True))]
        else:
            answers = [load_object(body, self.provider)]
        with draft.add_usage_to_errors():
            for answer in answers:
                draft.take_chunk(answer)
                if answer.get("error"):
                    raise error_for(self.provider, status, headers, read_refusal(answer))
                draft.raw = answer
            if not draft.has_candidates and draft.finish is None:
                raise AgentError("the answer has no candidates", provider=self.provider, retryable=True)
            return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Create the decoder of one streamed answer."""
        return ContentDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Return the error of an answer with a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))


class ContentDecoder(EventDecoder[ContentBuilder]):
    """Decoder of one answer, streamed as events or as a JSON array. A finish reason completes the answer."""

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ParseDocument) -> None:
        super().__init__(ContentBuilder(provider, headers), whole=whole)
        self._array: JsonArrayFramer | None = None
        self._is_first = True
        self._last_event = b""

    def is_whole(self) -> bool:
        """Check whether the answer is complete."""
        return self.draft.finish is not None

    def take_word(self, data: bytes) -> bool:
        """Handle the terminator that some proxies add."""
        if data != b"[DONE]":
            return False
        if self.is_whole():
            self.is_done = True
        return True

    def is_document(self, start: bytes) -> bool:
        """Check whether the answer is a document, by its first byte; an array is a stream."""
        return start in b"{<"

    def frame(self, chunk: bytes) -> list[SseEvent]:
        """Cut bytes into events."""
        if self._is_first and chunk.strip():
            self._is_first = False
            if chunk.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"["):
                self._array = JsonArrayFramer()
        if self._array is not None:
            return [SseEvent("message", item) for item in self._array.feed(chunk)]
        return super().frame(chunk)

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one chunk.

        Raises:
            RoundtableError: The chunk reports an error, or the stream repeats itself.
        """
        if fields.get("error"):
            raise self.reported_error(fields)
        if self._last_event and event.data == self._last_event and not _adds_text(fields):
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        self.draft.take_chunk(fields)
        if self.draft.finish is not None:
            self._last_event = event.data


def _adds_text(chunk: JsonObject) -> bool:
    """Check whether a chunk that equals the previous chunk adds new text; if not, the stream repeats itself.

    Some models send the finish reason with every chunk, and may send the same word twice. If the chunk has a token
    count, it is a repetition: new text would have raised the count.
    """
    if tokens_of(object_of(chunk.get("usageMetadata")).get("candidatesTokenCount")):
        return False
    contents = [object_of(object_of(candidate).get("content")) for candidate in items_of(chunk.get("candidates"))]
    return any(object_of(part).get("text") for content in contents for part in items_of(content.get("parts")))
