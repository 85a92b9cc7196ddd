"""An answer of Messages, whole or block by block, as ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.providers.draft import AnswerDraft
from roundtable.providers.wire import items_of, object_of, text_of, tokens_of
from roundtable.types import ServerCall, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.types import FinishReason, JsonObject, JsonValue

__all__ = ["MessageDraft", "usage_of"]

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


class MessageDraft(AnswerDraft):
    """An answer of Messages that is being received."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self._server: dict[str, int] = {}
        self._usage_fields: JsonObject = {}

    def take_message(self, message: JsonObject) -> None:
        """Take what stands beside the content."""
        self.note(answer_id=text_of(message.get("id")), model=text_of(message.get("model")))
        self.take_usage(message.get("usage"))
        self.take_stop(text_of(message.get("stop_reason")))

    def take_stop(self, reason: str) -> None:
        """Take why the answer ended."""
        if reason:
            self.end(_FINISH.get(reason, "other"), explicit=reason == "stop_sequence")

    def take_usage(self, usage: JsonValue) -> None:
        """Take usage; of a stream, what comes later replaces what came before."""
        found = {name: value for name, value in object_of(usage).items() if value is not None}
        if found:
            self._usage_fields.update(found)
            self.set_usage(usage_of(self._usage_fields))

    def take_block(self, block: JsonObject) -> None:
        """Take a complete block of another kind than text, thinking and tool use."""
        kind = text_of(block.get("type"))
        if kind.endswith("_tool_result"):
            self._result(kind, block)
        elif kind.endswith("_tool_use"):
            self._server[text_of(block.get("id"))] = len(self.server_calls)
            self.server_calls.append(ServerCall(name=text_of(block.get("name")) or kind, input=block.get("input")))

    def take_whole(self, block: JsonObject) -> None:
        """Take a complete block of any kind."""
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
                    len(self.calls),
                    call_id=text_of(block.get("id")),
                    name=text_of(block.get("name")),
                    arguments=json.dumps(arguments, ensure_ascii=False) if arguments else "",
                )
            case _:
                self.take_block(block)

    def take_citation(self, citation: JsonObject) -> None:
        """Take a citation; those of documents in the prompt have no address and are passed over."""
        url = text_of(citation.get("url")) or text_of(citation.get("source"))
        if "://" in url:
            self.add_citation(url, text_of(citation.get("title")), text_of(citation.get("cited_text")))

    def keep(self, blocks: list[JsonObject]) -> None:
        """Keep the content for the next call, unless it is text alone."""
        if not all(block.keys() <= _PLAIN and not block.get("citations") for block in blocks):
            self.send_back(blocks)

    def _result(self, kind: str, block: JsonObject) -> None:
        place = self._server.get(text_of(block.get("tool_use_id")))
        output = _shown(block.get("content"))
        if place is None:
            self.server_calls.append(ServerCall(name=kind.removesuffix("_tool_result"), output=output))
        else:
            self.server_calls[place] = self.server_calls[place].model_copy(update={"output": output})


def _shown(content: JsonValue) -> JsonValue:
    """Give a result without what only the provider can read."""
    if isinstance(content, list):
        return [_shown(item) for item in content]
    if isinstance(content, dict):
        return {name: value for name, value in content.items() if not name.startswith("encrypted_")}
    return content


def usage_of(usage: JsonObject) -> Usage:
    """Read the usage of one call. Anthropic counts cached input apart, we count it as input too.

    Example:
        >>> usage_of({"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 5}).input_tokens
        13
    """
    read, written = tokens_of(usage.get("cache_read_input_tokens")), tokens_of(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=tokens_of(usage.get("input_tokens")) + read + written,
        output_tokens=tokens_of(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=tokens_of(object_of(usage.get("output_tokens_details")).get("thinking_tokens")),
        calls=1,
    )
