"""An answer of Responses, whole or item by item, as ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.providers.draft import AnswerDraft
from roundtable.providers.wire import items_of, object_of, price_of, text_of, tokens_of
from roundtable.types import ServerCall, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.types import FinishReason, JsonObject

__all__ = ["ResponseDraft", "usage_of"]

_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_ASKED: Final = ("query", "queries", "url", "pattern", "code", "arguments", "command", "commands", "operation", "input")
_FOUND: Final = ("status", "sources", "results", "outputs", "output", "error")


class ResponseDraft(AnswerDraft):
    """An answer of Responses that is being received."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self._thought: tuple[int, ...] | None = None

    def take_thought(self, place: tuple[int, ...], text: str) -> None:
        """Take shown reasoning, or a piece of it; each part of it is a paragraph."""
        if text and self._thought not in {None, place}:
            self.add_reasoning("\n\n")
        if text:
            self._thought = place
            self.add_reasoning(text)

    def take_call(self, index: int, item: JsonObject) -> None:
        """Take a call without its arguments."""
        self.add_call(index, call_id=text_of(item.get("call_id")), name=text_of(item.get("name")))

    def take_note(self, note: JsonObject) -> None:
        """Take an annotation; only those of pages have an address."""
        note = object_of(note.get("url_citation")) or note
        self.add_citation(text_of(note.get("url")), text_of(note.get("title")), text_of(note.get("content")))

    def take_usage(self, answer: JsonObject) -> None:
        """Take what the answer says it consumed."""
        if usage := object_of(answer.get("usage")):
            self.set_usage(usage_of(usage))

    def take_answer(self, answer: JsonObject, items: Sequence[JsonObject]) -> None:
        """Take the whole answer, with the items of its output."""
        refused = [self._item(index, item) for index, item in enumerate(items)]
        for url in items_of(answer.get("citations")):
            self.add_citation(text_of(url))
        self.note(answer_id=text_of(answer.get("id")), model=text_of(answer.get("model")))
        self.take_usage(answer)
        # An answer that is still being made in the background has no text yet; one that asks for leave has none.
        waits = text_of(answer.get("status")) in {"queued", "in_progress"}
        waits = waits or any(item.get("type") == "mcp_approval_request" for item in items)
        self.end(_finish(answer, refused=any(refused)), explicit=waits)
        # Text alone can be said again in our own words.
        if any(item.get("type") != "message" for item in items):
            self.send_back(list(items))
        self.raw: JsonObject | None = answer

    def _item(self, index: int, item: JsonObject) -> bool:
        """Take an item of the output; tell whether the model refuses in it."""
        kind = text_of(item.get("type"))
        refused = False
        if kind in {"function_call", "custom_tool_call"}:
            self.take_call(index, item)
            self.add_call(index, arguments=_arguments(kind, item))
        elif kind == "message":
            for part in map(object_of, items_of(item.get("content"))):
                refusal = text_of(part.get("refusal"))
                self.add_text(text_of(part.get("text")) + refusal)
                refused = refused or bool(refusal)
                for note in items_of(part.get("annotations")):
                    self.take_note(object_of(note))
        elif kind == "reasoning":
            for number, word in enumerate(("summary", "content")):
                for place, thought in enumerate(items_of(item.get(word))):
                    self.take_thought((index, number, place), text_of(object_of(thought).get("text")))
        elif kind.endswith("_call"):
            self.server_calls.append(_server_call(kind.removesuffix("_call"), item))
        return refused


def _finish(answer: JsonObject, *, refused: bool) -> FinishReason:
    status = text_of(answer.get("status"))
    if status == "incomplete":
        return _INCOMPLETE.get(text_of(object_of(answer.get("incomplete_details")).get("reason")), "other")
    if refused:
        return "refusal"
    return "stop" if status in {"completed", "complete", ""} else "other"


def _arguments(kind: str, item: JsonObject) -> str:
    if kind == "custom_tool_call":
        # Its input is a text of any kind, not JSON.
        return json.dumps({"input": item.get("input")}, ensure_ascii=False)
    arguments = item.get("arguments")
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _server_call(name: str, item: JsonObject) -> ServerCall:
    action = object_of(item.get("action"))
    asked: JsonObject = {word: value for word in _ASKED if (value := action.get(word, item.get(word))) is not None}
    found: JsonObject = {word: value for word in _FOUND if (value := item.get(word, action.get(word))) is not None}
    return ServerCall(name=name, input=asked, output=found)


def usage_of(usage: JsonObject) -> Usage:
    """Read the usage of one call; a price is kept where the server names one in dollars.

    Example:
        >>> usage_of({"input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}).calls
        1
    """
    sent, made = object_of(usage.get("input_tokens_details")), object_of(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=tokens_of(usage.get("input_tokens")),
        output_tokens=tokens_of(usage.get("output_tokens")),
        cache_read_tokens=tokens_of(sent.get("cached_tokens")),
        cache_write_tokens=tokens_of(sent.get("cache_write_tokens")),
        reasoning_tokens=tokens_of(made.get("reasoning_tokens")),
        calls=1,
        cost_usd=price_of(usage.get("cost")),
    )
