"""An answer of Chat Completions, whole or put together from pieces, as ours."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.failures import error_for, read_refusal, request_id_of
from roundtable.providers.wire import items_of, load_json, object_of, text_of, tokens_of
from roundtable.types import ChatResponse, Citation, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.types import FinishReason, JsonObject, JsonValue

__all__ = ["Draft", "content_text", "error_inside", "read_answer", "usage_of"]

_FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "refusal",
}


@dataclass(slots=True)
class CallDraft:
    """A tool call that is still being received."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """An answer that is still being received; plain answers fill it at once, streams by pieces."""

    provider: str
    headers: Mapping[str, str]
    text: list[str] = field(default_factory=list)
    refused: bool = False
    calls: dict[int, CallDraft] = field(default_factory=dict)
    links: dict[str, Citation] = field(default_factory=dict)
    finish: str | None = None
    usage: JsonObject | None = None
    model: str | None = None

    def take_header(self, answer: JsonObject) -> None:
        """Take what stands beside the choices."""
        self.model = text_of(answer.get("model")) or self.model
        if isinstance(usage := answer.get("usage"), dict):
            self.usage = usage
        for url in items_of(answer.get("citations")):
            self._link(text_of(url), "")

    def take_message(self, message: JsonObject) -> str:
        """Take a message, or a piece of one; give the text it adds."""
        said, refused = content_text(message.get("content")), text_of(message.get("refusal"))
        if not said:
            said = text_of(object_of(message.get("audio")).get("transcript"))
        self.text.append(said + refused)
        self.refused = self.refused or bool(refused)
        for place, call in enumerate(items_of(message.get("tool_calls"))):
            self._call(place, object_of(call))
        if function := object_of(message.get("function_call")):
            self._call(0, {"function": function})
        for note in items_of(message.get("annotations")):
            link = object_of(object_of(note).get("url_citation"))
            self._link(text_of(link.get("url")), text_of(link.get("title")))
        return said + refused

    def _call(self, place: int, piece: JsonObject) -> None:
        index = piece.get("index")
        call = self.calls.setdefault(index if isinstance(index, int) else place, CallDraft())
        function = object_of(piece.get("function"))
        call.id = text_of(piece.get("id")) or call.id
        call.name = text_of(function.get("name")) or call.name
        arguments = function.get("arguments")
        call.arguments.append(json.dumps(arguments) if isinstance(arguments, dict) else text_of(arguments))

    def _link(self, url: str, title: str) -> None:
        if url and url not in self.links:
            self.links[url] = Citation(title=title or _host(url), url=url)

    def response(self) -> ChatResponse:
        """Give the answer.

        Raises:
            AgentError: It is empty, or the arguments of a tool call are no JSON object.
        """
        calls = tuple(self._tool_calls())
        finish: FinishReason = "refusal" if self.refused else _FINISH.get((self.finish or "").lower(), "other")
        if finish in {"other", "stop"} and calls:
            finish = "tool_calls"
        text = "".join(self.text)
        if not text.strip() and not calls and finish in {"stop", "other"}:
            raise AgentError(
                "the answer is empty",
                provider=self.provider,
                retryable=True,
                request_id=request_id_of(self.headers),
                hint="Try again; if it stays so, use another model or a larger `max_tokens`.",
            )
        return ChatResponse(
            text=text,
            finish_reason=finish,
            tool_calls=calls,
            citations=tuple(self.links.values()),
            usage=usage_of(self.usage or {}),
            model=self.model,
            request_id=request_id_of(self.headers),
        )

    def _tool_calls(self) -> Iterable[ToolCall]:
        seen: set[str] = set()
        for index, call in sorted(self.calls.items()):
            name = call.id or f"call_{index}"
            while name in seen:
                name += "+"
            seen.add(name)
            yield ToolCall(id=name, name=call.name, arguments=self._arguments(call))

    def _arguments(self, call: CallDraft) -> JsonObject:
        text = "".join(call.arguments)
        try:
            value = load_json(text) if text.strip() else {}
        except RoundtableError:
            value = text
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise AgentError(
                f"the model called the tool {call.name[:80]!r} with arguments that are no JSON object",
                provider=self.provider,
                retryable=True,
                request_id=request_id_of(self.headers),
            )
        return value


def content_text(content: JsonValue) -> str:
    """Read the content of a message: text, a list of parts of which the text ones count, or a JSON document."""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        parts = [object_of(part) for part in content]
        return "".join(
            text_of(part.get("text")) for part in parts if part.get("type", "text") in {"text", "output_text"}
        )
    return text_of(content)


def usage_of(usage: JsonObject) -> Usage:
    """Read the usage of one call; what is missing or makes no sense counts 0.

    Example:
        >>> usage_of({"prompt_tokens": 9, "completion_tokens": -1}).total_tokens
        9
    """
    sent, made = object_of(usage.get("prompt_tokens_details")), object_of(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=tokens_of(usage.get("prompt_tokens")),
        output_tokens=tokens_of(usage.get("completion_tokens")),
        cache_read_tokens=tokens_of(sent.get("cached_tokens")),
        cache_write_tokens=tokens_of(sent.get("cache_write_tokens")),
        reasoning_tokens=tokens_of(made.get("reasoning_tokens")),
        calls=1,
    )


def read_answer(provider: str, headers: Mapping[str, str], answer: JsonObject) -> ChatResponse:
    """Read a complete answer; the choice numbered 0 counts, else the first.

    Raises:
        AgentError: It holds no answer.
    """
    draft = Draft(provider, headers)
    draft.take_header(answer)
    choices = [object_of(choice) for choice in items_of(answer.get("choices"))]
    if not choices:
        raise AgentError(
            "the answer holds no choices", provider=provider, retryable=True, request_id=request_id_of(headers)
        )
    choice = next((one for one in choices if one.get("index") == 0), choices[0])
    draft.take_message(object_of(choice.get("message")))
    draft.finish = text_of(choice.get("finish_reason")) or None
    return draft.response()


def error_inside(provider: str, headers: Mapping[str, str], answer: JsonObject) -> RoundtableError | None:
    """Find the error inside an answer, or a piece of a stream, whose status says that all is well."""
    for place in (answer, *(object_of(choice) for choice in items_of(answer.get("choices")))):
        if place.get("error"):
            return error_for(provider, 200, headers, read_refusal(place))
    return None


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or url).removeprefix("www.")
    except ValueError:
        return url
