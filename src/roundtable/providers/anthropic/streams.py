"""A streamed answer of Messages, put together from its events.

See https://docs.claude.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.anthropic.answers import MessageDraft
from roundtable.providers.streaming import EventDecoder, ReadWhole
from roundtable.providers.wire import load_json, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.sse import SseEvent
    from roundtable.types import JsonObject, JsonValue

__all__ = ["MessageDecoder"]


@dataclass(slots=True)
class _Block:
    start: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[JsonValue] = field(default_factory=list)
    is_closed: bool = False

    def add(self, name: str, value: JsonValue) -> str:
        text = text_of(value)
        self.pieces.setdefault(name, []).append(text)
        return text

    def whole(self) -> JsonObject:
        """Give the block as a plain answer would hold it."""
        block = dict(self.start)
        for name, texts in self.pieces.items():
            if name != "partial_json":
                block[name] = text_of(block.get(name)) + "".join(texts)
        if written := "".join(self.pieces.get("partial_json", ())).strip():
            try:
                block["input"] = object_of(load_json(written))
            except RoundtableError:
                # What the model wrote is kept in the tool call; the provider wants an object back.
                block["input"] = {}
        if self.citations:
            block["citations"] = self.citations
        return block


class MessageDecoder(EventDecoder[MessageDraft]):
    """Decodes one streamed answer; it is whole with its `message_stop`."""

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ReadWhole) -> None:
        super().__init__(MessageDraft(provider, headers), whole=whole)
        self._blocks: dict[int, _Block] = {}
        self._message: JsonObject | None = None
        self._rest: JsonObject = {}

    def is_whole(self) -> bool:
        """Tell whether the answer is complete."""
        return self.is_done

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            AgentError: The stream repeats itself.
        """
        match fields.get("type"):
            case "message_start":
                self._start(object_of(fields.get("message")))
            case "content_block_start":
                self._open(fields)
            case "content_block_delta":
                self._delta(_index(fields), self._block(fields), object_of(fields.get("delta")))
            case "content_block_stop":
                self._close(self._block(fields), _index(fields))
            case "message_delta":
                delta = object_of(fields.get("delta"))
                self._rest |= {name: value for name, value in delta.items() if value is not None}
                self.draft.take_usage(fields.get("usage"))
                self.draft.take_stop(text_of(delta.get("stop_reason")))
            case "message_stop":
                self._stop()
            case _:
                # `ping`, and kinds of event that are still to come; the documentation asks to pass them over.
                return

    def _start(self, message: JsonObject) -> None:
        if self._message is not None:
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        self._message = message
        self.draft.take_message(message)

    def _open(self, fields: JsonObject) -> None:
        index = _index(fields)
        if index in self._blocks:
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        start = object_of(fields.get("content_block"))
        self._blocks[index] = _Block(start)
        match start.get("type"):
            case "text":
                self.draft.add_text(text_of(start.get("text")))
            case "thinking":
                self.draft.add_reasoning(text_of(start.get("thinking")))
            case "tool_use":
                self.draft.add_call(index, call_id=text_of(start.get("id")), name=text_of(start.get("name")))
            case _:
                # Blocks of other kinds say nothing before they are whole.
                return

    def _block(self, fields: JsonObject) -> _Block:
        block = self._blocks.get(_index(fields))
        if block is None or block.is_closed:
            raise AgentError("an event of the stream belongs to no open block", provider=self.draft.provider)
        return block

    def _delta(self, index: int, block: _Block, delta: JsonObject) -> None:
        match delta.get("type"):
            case "text_delta":
                self.draft.add_text(block.add("text", delta.get("text")))
            case "thinking_delta":
                self.draft.add_reasoning(block.add("thinking", delta.get("thinking")))
            case "input_json_delta":
                block.add("partial_json", delta.get("partial_json"))
                if block.start.get("type") == "tool_use":
                    self.draft.add_call(index, arguments=text_of(delta.get("partial_json")))
            case "citations_delta":
                citation = object_of(delta.get("citation"))
                block.citations.append(citation)
                self.draft.take_citation(citation)
            case "signature_delta":
                block.add("signature", delta.get("signature"))
            case "compaction_delta":
                block.add("content", delta.get("content"))
            case _:
                return

    def _close(self, block: _Block, index: int) -> None:
        block.is_closed = True
        kind = block.start.get("type")
        if kind == "tool_use":
            given = block.start.get("input")
            if given and "partial_json" not in block.pieces:
                self.draft.add_call(index, arguments=given)
        elif kind not in {"text", "thinking"}:
            self.draft.take_block(block.whole())

    def _stop(self) -> None:
        self.is_done = True
        blocks = [block.whole() for _, block in sorted(self._blocks.items())]
        self.draft.keep(blocks)
        if self._message is not None:
            content: list[JsonValue] = [*blocks]
            self.draft.raw = {**self._message, **self._rest, "content": content}


def _index(fields: JsonObject) -> int:
    index = fields.get("index")
    return index if isinstance(index, int) else 0
