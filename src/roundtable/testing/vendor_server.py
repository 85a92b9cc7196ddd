"""A test server on the loopback address that speaks the wire format of a vendor: answers, streams, calls and refusals.

A program under test sends the requests that it would send to the vendor, over real HTTP, and gets the replies that a
test has scripted.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias, assert_never

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import ProviderConfig
from roundtable.testing.servers import LoopbackServer, WireReply, http_reply, sse_reply
from roundtable.vendors import VENDORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.testing.servers import Seen
    from roundtable.vendors import Vendor, Wire

__all__ = ["VendorAnswer", "VendorRefusal", "VendorReply", "VendorServer"]

_KEY: Final = "a-test-key"


@dataclass(frozen=True, slots=True)
class VendorAnswer:
    """An answer of a model, which the server writes in the wire format of its vendor."""

    text: str = ""
    """Its text."""
    calls: Sequence[tuple[str, Mapping[str, JsonValue]]] = ()
    """Names and arguments of the tools that the answer calls; Perplexity's models call no tools."""
    citations: Sequence[str] = ()
    """Addresses of pages that the answer cites; only Perplexity's wire format has them."""
    is_cut: bool = False
    """Whether the answer is cut off at the token limit."""
    input_tokens: int = 11
    """Reported number of tokens of the request."""
    output_tokens: int = 7
    """Reported number of tokens of the answer."""


@dataclass(frozen=True, slots=True)
class VendorRefusal:
    """An error in the format of the vendor."""

    status: int = 429
    """HTTP status."""
    message: str = "too many requests"
    """What the vendor says."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers, such as `retry-after`."""


VendorReply: TypeAlias = "str | Mapping[str, object] | VendorAnswer | VendorRefusal | WireReply"
"""A scripted reply: a text; a mapping, which is sent as JSON text; an answer; a refusal; or raw bytes."""


def _say_ok(_request: Seen) -> VendorReply:
    return "ok"


class VendorServer:
    """Serve the API of a vendor on 127.0.0.1, on separate threads, so that any event loop can call it.

    Queued replies are used first, then the replies that `answer` returns. If a request asks for a stream, the reply is
    streamed. If a request has no key, or its path is not the path of the API, the server refuses it as the vendor
    would. Such a request uses up no reply.

    Args:
        vendor: Name of the vendor: `"anthropic"` (Messages), `"openai"` (Responses), `"google"` (generateContent),
            `"perplexity"` (Sonar), `"openai-chat"` (Chat Completions), or another provider that speaks one of these.
        answer: Function that returns the reply to a request; by default, every reply is `"ok"`.

    Raises:
        ConfigurationError: The vendor is unknown.

    Example:
        >>> import roundtable as rt
        >>> def answer(seen):
        ...     return {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
        >>> with VendorServer("anthropic", answer) as server:
        ...     table = rt.sync.Roundtable(["anthropic"], providers={"anthropic": server.config}, storage="memory://")
        ...     with table:
        ...         print(table.debate("Tea or coffee?", rounds=1).answer, server.seen[0].path)
        Tea /v1/messages
    """

    def __init__(self, vendor: str, answer: Callable[[Seen], VendorReply] | None = None) -> None:
        if vendor not in VENDORS:
            known = ", ".join(VENDORS)
            raise ConfigurationError(f"unknown vendor {vendor!r}", hint=f"Choose from {known}.")
        self.vendor: Vendor = VENDORS[vendor]
        """What the library knows about the vendor."""
        self._wire = _format_of(self.vendor.wire)
        self._answer = answer or _say_ok
        self._queue: deque[VendorReply] = deque()
        self._server = LoopbackServer(self._reply)
        self.seen: list[Seen] = []
        """Requests that used up a reply, in order of arrival."""

    @property
    def url(self) -> str:
        """Base URL of the API, in the vendor's own convention."""
        return f"{self._server.origin}{self._wire.root}"

    @property
    def config(self) -> ProviderConfig:
        """Configuration of the provider: `Roundtable(..., providers={"anthropic": server.config})`."""
        return ProviderConfig(base_url=self.url, api_key=_KEY)

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which another program calls this server: `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`, ..."""
        address = {self.vendor.base_url_env: self.url} if self.vendor.base_url_env else {}
        return {**address, **dict.fromkeys(self.vendor.key_env[:1], _KEY)}

    def queue(self, *replies: VendorReply) -> None:
        """Queue replies to the next requests, one for each."""
        self._queue.extend(replies)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    def _reply(self, request: Seen) -> WireReply:
        if not self._has_key(request):
            return self._refuse(VendorRefusal(401, "the request has no valid key"))
        if request.method != "POST" or not self._wire.path.fullmatch(request.path):
            return self._refuse(VendorRefusal(404, f"{request.method} {request.path} is not part of this API"))
        self.seen.append(request)
        reply = self._next_reply(request)
        if isinstance(reply, WireReply):
            return reply
        if isinstance(reply, VendorRefusal):
            return self._refuse(reply)
        if not isinstance(reply, VendorAnswer):
            reply = VendorAnswer(reply if isinstance(reply, str) else json.dumps(dict(reply), ensure_ascii=False))
        if reply.calls and not self.vendor.profile.calls_tools:
            return self._refuse(VendorRefusal(400, f"models of {self.vendor.display_name} call no tools"))
        model = self._wire.model(request)
        if self._wire.wants_stream(request):
            return sse_reply(self._wire.events(reply, model))
        return http_reply(_dumped(self._wire.document(reply, model)))

    def _next_reply(self, request: Seen) -> VendorReply:
        try:
            return self._queue.popleft()
        except IndexError:
            pass
        try:
            return self._answer(request)
        except Exception as error:  # noqa: BLE001  (it would end this thread, and the program would wait for a reply)
            return VendorRefusal(400, f"the function of this server raised {type(error).__name__}: {error}")

    def _has_key(self, request: Seen) -> bool:
        if not self.vendor.key_required:
            return True
        header = "authorization" if self.vendor.auth == "bearer" else self.vendor.auth
        return bool(request.headers.get(header, "").removeprefix("Bearer").strip())

    def _refuse(self, refusal: VendorRefusal) -> WireReply:
        body = _dumped(self._wire.refusal(refusal))
        return http_reply(body, status=refusal.status, headers={"content-type": "application/json", **refusal.headers})


def _dumped(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _pieces(text: str, count: int = 4) -> list[str]:
    """Cut a text into a few pieces of about the same size."""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


class _WireFormat(ABC):
    """The form of a vendor's API: its address, its answers, and its refusals."""

    root: str = ""
    """Part of the base URL after the host."""
    path: re.Pattern[str]
    """The path of the API."""

    def wants_stream(self, request: Seen) -> bool:
        """Check whether a request asks for a stream."""
        return request.wants_stream

    def model(self, request: Seen) -> str:
        """Return the model that a request names."""
        return str(request.json.get("model", ""))

    @abstractmethod
    def document(self, answer: VendorAnswer, model: str) -> JsonObject:
        """Return an answer as one document."""

    @abstractmethod
    def events(self, answer: VendorAnswer, model: str) -> Iterator[bytes]:
        """Yield an answer as the events of a stream."""

    def refusal(self, refusal: VendorRefusal) -> JsonObject:
        """Return an error as a document."""
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        return {"error": {"message": refusal.message, "type": kind, "param": None, "code": None}}


class _Messages(_WireFormat):
    """Anthropic's Messages."""

    path = re.compile(r"/v1/messages")

    def document(self, answer: VendorAnswer, model: str) -> JsonObject:
        """Return an answer as one document."""
        calls: list[JsonValue] = [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": dict(arguments)}
            for number, (name, arguments) in enumerate(answer.calls, start=1)
        ]
        texts: list[JsonValue] = [{"type": "text", "text": answer.text}] if answer.text else []
        return {
            **self._message(model),
            "content": [*texts, *calls],
            "stop_reason": self._stop_reason(answer),
            "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
        }

    @staticmethod
    def _message(model: str) -> JsonObject:
        facts: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
        return {**facts, "content": [], "stop_reason": None, "stop_sequence": None}

    @staticmethod
    def _stop_reason(answer: VendorAnswer) -> str:
        return "max_tokens" if answer.is_cut else "tool_use" if answer.calls else "end_turn"

    def events(self, answer: VendorAnswer, model: str) -> Iterator[bytes]:
        """Yield an answer as the events of a stream."""
        usage: JsonObject = {"input_tokens": answer.input_tokens, "output_tokens": 1}
        yield self._event("message_start", message={**self._message(model), "usage": usage})
        index = 0
        if answer.text:
            yield self._event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            yield self._event("ping")
            for piece in _pieces(answer.text):
                yield self._event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
            yield self._event("content_block_stop", index=index)
            index += 1
        for number, (name, arguments) in enumerate(answer.calls, start=1):
            call: JsonObject = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
            yield self._event("content_block_start", index=index, content_block=call)
            for piece in _pieces(json.dumps(dict(arguments), ensure_ascii=False), 2):
                delta: JsonObject = {"type": "input_json_delta", "partial_json": piece}
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
            index += 1
        end: JsonObject = {"stop_reason": self._stop_reason(answer), "stop_sequence": None}
        yield self._event("message_delta", delta=end, usage={"output_tokens": answer.output_tokens})
        yield self._event("message_stop")

    @staticmethod
    def _event(name: str, **fields: JsonValue) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (name.encode(), _dumped({"type": name, **fields}))

    def refusal(self, refusal: VendorRefusal) -> JsonObject:
        """Return an error as a document."""
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        kind = kinds.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "req_1"}


class _Responses(_WireFormat):
    """OpenAI's Responses."""

    root = "/v1"
    path = re.compile(r"/v1/responses")

    def document(self, answer: VendorAnswer, model: str) -> JsonObject:
        """Return an answer as one document."""
        usage: JsonObject = {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        }
        return {
            **self._response(model),
            "status": "incomplete" if answer.is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut else None,
            "output": [*self._items(answer)],
            "usage": usage,
        }

    @staticmethod
    def _response(model: str) -> JsonObject:
        facts: JsonObject = {"id": "resp_1", "object": "response", "created_at": 0, "model": model, "output": []}
        return {**facts, "status": "in_progress", "error": None, "incomplete_details": None, "usage": None}

    @staticmethod
    def _items(answer: VendorAnswer) -> Iterator[JsonObject]:
        if answer.text:
            text: JsonObject = {"type": "output_text", "text": answer.text, "annotations": []}
            yield {
                "type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text],
            }  # fmt: skip
        for number, (name, arguments) in enumerate(answer.calls, start=1):
            yield {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": name,
                "arguments": json.dumps(dict(arguments), ensure_ascii=False),
                "status": "completed",
            }

    def events(self, answer: VendorAnswer, model: str) -> Iterator[bytes]:
        """Yield an answer as the events of a stream."""
        numbers = iter(range(10_000))

        def event(name: str, **fields: JsonValue) -> bytes:
            body: JsonObject = {"type": name, "sequence_number": next(numbers), **fields}
            return b"event: %b\ndata: %b\n\n" % (name.encode(), _dumped(body))

        yield event("response.created", response=self._response(model))
        for index, item in enumerate(self._items(answer)):
            ids: dict[str, JsonValue] = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                yield event("response.output_item.added", output_index=index, item={**item, "content": []})
                part: JsonObject = {"type": "output_text", "text": "", "annotations": []}
                yield event("response.content_part.added", **ids, content_index=0, part=part)
                for piece in _pieces(answer.text):
                    yield event("response.output_text.delta", **ids, content_index=0, delta=piece)
                yield event("response.output_text.done", **ids, content_index=0, text=answer.text)
            else:
                arguments = str(item["arguments"])
                yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
                for piece in _pieces(arguments, 2):
                    yield event("response.function_call_arguments.delta", **ids, delta=piece)
                yield event("response.function_call_arguments.done", **ids, arguments=arguments)
            yield event("response.output_item.done", output_index=index, item=item)
        end = "response.incomplete" if answer.is_cut else "response.completed"
        yield event(end, response=self.document(answer, model))


class _ChatCompletions(_WireFormat):
    """Chat Completions."""

    root = "/v1"
    path = re.compile(r"/v1/chat/completions")

    def document(self, answer: VendorAnswer, model: str) -> JsonObject:
        """Return an answer as one document."""
        message: JsonObject = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [*self._calls(answer)]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": self._finish(answer)}
        return {**self._facts(model, "chat.completion"), **self._sources(answer), "choices": [choice],
                "usage": self._usage(answer)}  # fmt: skip

    @staticmethod
    def _facts(model: str, kind: str) -> JsonObject:
        return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": model}

    @staticmethod
    def _sources(_answer: VendorAnswer) -> JsonObject:
        return {}

    @staticmethod
    def _calls(answer: VendorAnswer) -> Iterator[JsonObject]:
        for number, (name, arguments) in enumerate(answer.calls, start=1):
            function: JsonObject = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False)}
            yield {"id": f"call_{number}", "type": "function", "function": function}

    @staticmethod
    def _finish(answer: VendorAnswer) -> str:
        return "length" if answer.is_cut else "tool_calls" if answer.calls else "stop"

    @staticmethod
    def _usage(answer: VendorAnswer) -> JsonObject:
        total = answer.input_tokens + answer.output_tokens
        return {
            "prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total,
        }  # fmt: skip

    def events(self, answer: VendorAnswer, model: str) -> Iterator[bytes]:
        """Yield an answer as the events of a stream."""

        def event(choices: list[JsonValue], **fields: JsonValue) -> bytes:
            facts = self._facts(model, "chat.completion.chunk")
            return b"data: %b\n\n" % _dumped({**facts, **self._sources(answer), "choices": choices, **fields})

        def chunk(delta: JsonObject, finish: str | None = None, **fields: JsonValue) -> bytes:
            return event([{"index": 0, "delta": delta, "finish_reason": finish}], **fields)

        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(answer.text):
            yield chunk({"content": piece})
        for index, call in enumerate(self._calls(answer)):
            yield chunk({"tool_calls": [{"index": index, **call}]})
        yield from self._end(answer, chunk, event)

    def _end(self, answer: VendorAnswer, chunk: Callable[..., bytes], event: Callable[..., bytes]) -> Iterator[bytes]:
        yield chunk({}, self._finish(answer))
        yield event([], usage=self._usage(answer))
        yield b"data: [DONE]\n\n"


class _Sonar(_ChatCompletions):
    """Perplexity's Sonar: Chat Completions with sources, and with the usage in the event of the finish reason."""

    root = ""
    path = re.compile(r"/chat/completions")

    @staticmethod
    def _sources(answer: VendorAnswer) -> JsonObject:
        results: list[JsonValue] = [{"title": url, "url": url, "date": None} for url in answer.citations]
        return {"citations": [*answer.citations], "search_results": results} if answer.citations else {}

    def _end(self, answer: VendorAnswer, chunk: Callable[..., bytes], event: Callable[..., bytes]) -> Iterator[bytes]:
        yield chunk({}, self._finish(answer), usage=self._usage(answer))


class _GenerateContent(_WireFormat):
    """Google's generateContent."""

    path = re.compile(r"/v1beta/models/[^/:]+:(?:generateContent|streamGenerateContent\?alt=sse)")

    def wants_stream(self, request: Seen) -> bool:
        """Check whether a request asks for a stream."""
        return ":streamGenerateContent" in request.path

    def model(self, request: Seen) -> str:
        """Return the model that a request names."""
        return request.path.partition("/models/")[2].partition(":")[0]

    def document(self, answer: VendorAnswer, model: str) -> JsonObject:
        """Return an answer as one document."""
        texts: list[JsonValue] = [{"text": answer.text}] if answer.text else []
        return self._chunk([*texts, *self._calls(answer)], answer, model, is_last=True)

    @staticmethod
    def _calls(answer: VendorAnswer) -> list[JsonValue]:
        return [{"functionCall": {"name": name, "args": dict(arguments)}} for name, arguments in answer.calls]

    @staticmethod
    def _chunk(parts: list[JsonValue], answer: VendorAnswer, model: str, *, is_last: bool) -> JsonObject:
        candidate: JsonObject = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage: JsonObject = {"promptTokenCount": answer.input_tokens, "totalTokenCount": answer.input_tokens}
        if is_last:
            candidate["finishReason"] = "MAX_TOKENS" if answer.is_cut else "STOP"
            total = answer.input_tokens + answer.output_tokens
            usage |= {"candidatesTokenCount": answer.output_tokens, "totalTokenCount": total}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "r1"}

    def events(self, answer: VendorAnswer, model: str) -> Iterator[bytes]:
        """Yield an answer as the events of a stream."""
        chunks: list[list[JsonValue]] = [[{"text": piece}] for piece in _pieces(answer.text)]
        chunks += [[call] for call in self._calls(answer)]
        chunks = chunks or [[]]
        for number, parts in enumerate(chunks, start=1):
            chunk = self._chunk(parts, answer, model, is_last=number == len(chunks))
            yield b"data: %b\r\n\r\n" % _dumped(chunk)

    def refusal(self, refusal: VendorRefusal) -> JsonObject:
        """Return an error as a document."""
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
                 503: "UNAVAILABLE"}  # fmt: skip
        status = names.get(refusal.status, "INTERNAL")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def _format_of(wire: Wire) -> _WireFormat:
    match wire:
        case "anthropic":
            return _Messages()
        case "openai-responses":
            return _Responses()
        case "openai-chat":
            return _ChatCompletions()
        case "google":
            return _GenerateContent()
        case "perplexity":
            return _Sonar()
        case _:
            assert_never(wire)
