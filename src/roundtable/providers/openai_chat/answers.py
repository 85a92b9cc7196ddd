"""An answer of Chat Completions, whole or put together from pieces, as ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.draft import AnswerDraft
from roundtable.providers.failures import error_for, read_refusal, request_id_of
from roundtable.providers.wire import items_of, object_of, price_of, text_of, tokens_of
from roundtable.types import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.types import ChatResponse, FinishReason, JsonObject, JsonValue

__all__ = ["ChatDraft", "content_text", "error_inside", "read_answer", "usage_of"]

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
_REASONING: Final = ("reasoning_content", "reasoning")
SNIPPET_CHARS: Final = 500
"""Most characters of a page that are kept with its address; some servers send it whole."""


_TEXT_ALONE: Final = frozenset({"role", "content"})
"""Fields of a piece that holds text and nothing else."""


class ChatDraft(AnswerDraft):
    """An answer that is still being received; plain answers fill it at once, streams by pieces.

    Args:
        provider: Name for errors.
        headers: Headers of the answer.
        back: Fields of the answer that have to be sent back with it.
    """

    def __init__(self, provider: str, headers: Mapping[str, str], back: tuple[str, ...] = ()) -> None:
        super().__init__(provider, headers)
        self.reason: str | None = None
        """Why it ended, in the server's word."""
        self._refused = False
        self._back: JsonObject = {}
        self._fields = back

    def take_header(self, answer: JsonObject) -> None:
        """Take what stands beside the choices."""
        self.note(answer_id=text_of(answer.get("id")), model=text_of(answer.get("model")))
        if isinstance(usage := answer.get("usage"), dict):
            self.set_usage(usage_of(usage))
        self.take_sources(answer)

    def take_sources(self, answer: JsonObject) -> None:
        """Take the addresses of sources."""
        for url in items_of(answer.get("citations")):
            self.add_citation(text_of(url))

    def take_message(self, message: JsonObject) -> None:
        """Take a message, or a piece of one."""
        plain = message.get("content")
        if isinstance(plain, str) and message.keys() <= _TEXT_ALONE:
            # Nearly every piece of a stream; looking for all the rest costs more than reading the JSON.
            self.add_text(plain)
            return
        self._reason(message)
        said, refused = content_text(message.get("content")), text_of(message.get("refusal"))
        if not said:
            said = text_of(object_of(message.get("audio")).get("transcript"))
        self.add_text(said + refused)
        self._refused = self._refused or bool(refused)
        for place, call in enumerate(items_of(message.get("tool_calls"))):
            self._call(place, object_of(call))
        if function := object_of(message.get("function_call")):
            self._call(0, {"function": function})
        for note in items_of(message.get("annotations")):
            link = object_of(object_of(note).get("url_citation"))
            snippet = text_of(link.get("content"))[:SNIPPET_CHARS]
            self.add_citation(text_of(link.get("url")), text_of(link.get("title")), snippet)

    def take_end(self) -> None:
        """Take it that the text is complete; for what can only be said then."""

    def response(self) -> ChatResponse:
        """Give the answer.

        Raises:
            AgentError: It is empty.
        """
        self.take_end()
        self.end("refusal" if self._refused else _FINISH.get((self.reason or "").lower()))
        if self._back:
            self.send_back([self._back])
        return super().response()

    def _reason(self, message: JsonObject) -> None:
        details = [object_of(detail) for detail in items_of(message.get("reasoning_details"))]
        for name in _REASONING:
            if text := text_of(message.get(name)):
                self.add_reasoning(text)
                break
        else:
            self.add_reasoning("".join(text_of(detail.get("text") or detail.get("summary")) for detail in details))
            self.add_reasoning(_thinking(message.get("content")))
        for name in self._fields:
            present = self._back.get(name)
            if name == "reasoning_details" and details:
                self._back[name] = _joined(list(present) if isinstance(present, list) else [], details)
            elif text := text_of(message.get(name)):
                self._back[name] = text_of(present) + text

    def _call(self, place: int, piece: JsonObject) -> None:
        index = piece.get("index")
        function = object_of(piece.get("function"))
        self.add_call(
            index if isinstance(index, int) else place,
            call_id=text_of(piece.get("id")),
            name=text_of(function.get("name")),
            arguments=function.get("arguments"),
        )


def _joined(present: list[JsonValue], pieces: list[JsonObject]) -> list[JsonValue]:
    """Add pieces of reasoning to those that are there; a text goes on where its number and kind are the same."""
    for piece in pieces:
        last = object_of(present[-1]) if present else {}
        if present and "index" in piece and all(piece.get(name) == last.get(name) for name in ("index", "type")):
            texts: JsonObject = {
                name: text_of(last.get(name)) + text_of(piece.get(name))
                for name in ("text", "summary", "data")
                if name in last or name in piece
            }
            rest = {name: value for name, value in piece.items() if value is not None}
            present[-1] = {**last, **rest, **texts}
        else:
            present.append(dict(piece))
    return present


def _thinking(content: JsonValue) -> str:
    """Read the reasoning that some servers put among the parts of the content."""
    parts = [object_of(part) for part in items_of(content)]
    thoughts = [part.get("thinking") for part in parts if part.get("type") == "thinking"]
    return "".join(thought if isinstance(thought, str) else content_text(thought) for thought in thoughts)


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
    """Read the usage of one call; what is missing or makes no sense counts 0. A price is kept where there is one.

    Example:
        >>> usage_of({"prompt_tokens": 9, "completion_tokens": -1}).total_tokens
        9
    """
    sent, made = object_of(usage.get("prompt_tokens_details")), object_of(usage.get("completion_tokens_details"))
    cost = usage.get("cost")
    return Usage(
        input_tokens=tokens_of(usage.get("prompt_tokens")),
        output_tokens=tokens_of(usage.get("completion_tokens")),
        cache_read_tokens=tokens_of(sent.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
        cache_write_tokens=tokens_of(sent.get("cache_write_tokens")),
        reasoning_tokens=tokens_of(made.get("reasoning_tokens", usage.get("reasoning_tokens"))),
        calls=1,
        cost_usd=price_of(cost.get("total_cost") if isinstance(cost, dict) else cost),
    )


def read_answer(draft: ChatDraft, answer: JsonObject) -> ChatResponse:
    """Read a complete answer; the choice numbered 0 counts, else the first.

    Raises:
        AgentError: It holds no answer.
    """
    draft.take_header(answer)
    draft.raw = answer
    choices = [object_of(choice) for choice in items_of(answer.get("choices"))]
    if not choices:
        request_id = request_id_of(draft.headers)
        with draft.charged():
            raise AgentError(
                "the answer holds no choices", provider=draft.provider, retryable=True, request_id=request_id
            )
    choice = next((one for one in choices if one.get("index") == 0), choices[0])
    draft.take_message(object_of(choice.get("message")))
    draft.reason = text_of(choice.get("finish_reason")) or None
    return draft.response()


def error_inside(provider: str, headers: Mapping[str, str], answer: JsonObject) -> RoundtableError | None:
    """Find the error inside an answer, or a piece of a stream, whose status says that all is well."""
    for place in (answer, *items_of(answer.get("choices"))):
        if isinstance(place, dict) and place.get("error"):
            return error_for(provider, 200, headers, read_refusal(place))
    return None
