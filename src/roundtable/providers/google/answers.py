"""An answer of generateContent, whole or chunk by chunk, as ours; a chunk is a small answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.providers.draft import AnswerDraft
from roundtable.providers.google.partial import put
from roundtable.providers.wire import items_of, object_of, text_of, tokens_of
from roundtable.types import ServerCall, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.types import ChatResponse, FinishReason, JsonObject, JsonValue

__all__ = ["ContentDraft", "usage_of"]

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
_NUMBERS: Final = (
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
"""The enumeration by number, see https://ai.google.dev/api/generate-content#FinishReason."""


_REASON_CHARS: Final = 60


class ContentDraft(AnswerDraft):
    """An answer of generateContent that is being received."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self.has_candidates: bool = False
        """Whether there was an answer at all, be it an empty one."""
        self._usage_fields: JsonObject = {}
        self._queries: list[JsonValue] = []
        self._pages: list[JsonValue] = []
        self._found: list[JsonObject] = []
        self._used: set[int] = set()
        self._open: tuple[JsonObject, JsonObject] | None = None
        self._odd = ""
        self._parts: list[JsonObject] = []
        self._code: dict[str, int] = {}

    def take_chunk(self, answer: JsonObject) -> None:
        """Take an answer, or a chunk of one; the first candidate counts."""
        self.note(answer_id=text_of(answer.get("responseId")), model=text_of(answer.get("modelVersion")))
        usage = {name: value for name, value in object_of(answer.get("usageMetadata")).items() if value is not None}
        if usage:
            self._usage_fields.update(usage)
            self.set_usage(usage_of(self._usage_fields))
        candidates = [object_of(candidate) for candidate in items_of(answer.get("candidates"))]
        for candidate in candidates:
            if candidate.get("index", 0) == 0:
                self._candidate(candidate)
                break
        # A prompt that is refused has no answer at all.
        blocked = object_of(answer.get("promptFeedback")).get("blockReason")
        if not candidates and blocked and blocked != "BLOCK_REASON_UNSPECIFIED":
            self.end("content_filter")
        self.has_candidates = self.has_candidates or bool(candidates)

    def _candidate(self, candidate: JsonObject) -> None:
        for part in items_of(object_of(candidate.get("content")).get("parts")):
            self._part(object_of(part))
        self._sources(candidate)
        reason = candidate.get("finishReason")
        if isinstance(reason, int) and not isinstance(reason, bool):
            reason = _NUMBERS[reason] if 0 <= reason < len(_NUMBERS) else "OTHER"
        if isinstance(reason, str) and reason and reason != "FINISH_REASON_UNSPECIFIED":
            self.end(_FINISH.get(reason, "other"))
            odd = reason not in _FINISH and reason != "OTHER"
            self.stopped_by: str = reason[:_REASON_CHARS] if odd else ""
            self._cite()

    def _part(self, part: JsonObject) -> None:
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._call(part, call)
            return
        self._keep(part)
        if "text" in part:
            (self.add_reasoning if part.get("thought") else self.add_text)(text_of(part.get("text")))
            return
        for name in ("executableCode", "toolCall"):
            if asked := object_of(part.get(name)):
                self._code[text_of(asked.get("id"))] = len(self.server_calls)
                kind = text_of(asked.get("toolType")).lower() or "code_execution"
                self.server_calls.append(ServerCall(name=kind, input=asked.get("args", asked.get("code"))))
        for name in ("codeExecutionResult", "toolResponse"):
            if found := object_of(part.get(name)):
                self._result(found, found.get("response", found.get("output")))

    def _result(self, found: JsonObject, output: JsonValue) -> None:
        place = self._code.get(text_of(found.get("id")))
        if place is not None:
            if isinstance(output, dict):
                # Markup for a widget, not a result.
                output = {name: value for name, value in output.items() if name != "search_suggestions"}
            self.server_calls[place] = self.server_calls[place].model_copy(update={"output": output})

    def _call(self, part: JsonObject, call: JsonObject) -> None:
        if text_of(call.get("name")):
            self._close()
            given = call.get("args")
            arguments: JsonObject = dict(object_of(given))
            # What is no object goes to whoever runs the tool as it came, and back to the provider as an empty one.
            self._odd = "" if given is None or isinstance(given, dict) else json.dumps(given, ensure_ascii=False)
            self._open = ({**part, "functionCall": {**call, "args": arguments}}, arguments)
            self.add_call(len(self.calls), call_id=text_of(call.get("id")), name=text_of(call.get("name")))
        if self._open is None:
            return
        whole, arguments = self._open
        if signature := part.get("thoughtSignature"):
            whole["thoughtSignature"] = signature
        for piece in map(object_of, items_of(call.get("partialArgs"))):
            put(arguments, text_of(piece.get("jsonPath")), _value(piece))
        if not call.get("willContinue"):
            self._close()

    def _close(self) -> None:
        """End the call that is open, with all its arguments."""
        if self._open is None:
            return
        (whole, arguments), self._open = self._open, None
        call = object_of(whole["functionCall"])
        whole["functionCall"] = {name: call[name] for name in ("id", "name", "args") if name in call}
        self._parts.append(whole)
        # One piece of JSON: the places of the pieces need not be in the order of the text.
        written = json.dumps(arguments, ensure_ascii=False) if arguments else self._odd
        self.add_call(len(self.calls) - 1, arguments=written)

    def _keep(self, part: JsonObject) -> None:
        """Keep a part for the next call; plain texts that follow each other are one."""
        last = self._parts[-1] if self._parts else {}
        text = part.get("text")
        joins = part.keys() <= {"text", "thought"} and last.keys() <= {"text", "thought"}
        if joins and self._parts and isinstance(text, str) and bool(part.get("thought")) == bool(last.get("thought")):
            last["text"] = text_of(last.get("text")) + text
        elif part.keys() != {"text"} or text:
            self._parts.append(dict(part))

    def _sources(self, candidate: JsonObject) -> None:
        grounding = object_of(candidate.get("groundingMetadata"))
        found = [object_of(chunk) for chunk in items_of(grounding.get("groundingChunks"))]
        # Places count over all chunks of a stream; some list again what they listed before.
        known = len(self._found)
        self._found += found[known:] if found[:known] == self._found else found
        for support in map(object_of, items_of(grounding.get("groundingSupports"))):
            places = items_of(support.get("groundingChunkIndices"))
            self._used |= {place for place in places if isinstance(place, int) and not isinstance(place, bool)}
        recited = object_of(candidate.get("citationMetadata"))
        for source in map(object_of, items_of(recited.get("citations") or recited.get("citationSources"))):
            self.add_citation(text_of(source.get("uri")), text_of(source.get("title")))
        self._queries += [query for query in items_of(grounding.get("webSearchQueries")) if query not in self._queries]
        pages = object_of(candidate.get("urlContextMetadata")).get("urlMetadata")
        self._pages += [page for page in items_of(pages) if page not in self._pages]

    def _cite(self) -> None:
        """Add the sources that the text rests on; all that were found where it does not say on which."""
        used = [source for place, source in enumerate(self._found) if place in self._used]
        for chunk in used or self._found:
            for kind in ("web", "maps", "retrievedContext"):
                source = object_of(chunk.get(kind))
                self.add_citation(text_of(source.get("uri")), text_of(source.get("title")), text_of(source.get("text")))

    def response(self) -> ChatResponse:
        """Give the answer."""
        self._close()
        self._cite()
        if self._queries:
            self.server_calls.append(ServerCall(name="google_search", input={"queries": list(self._queries)}))
        if self._pages:
            self.server_calls.append(ServerCall(name="url_context", output=list(self._pages)))
        if any(part.keys() - {"text"} for part in self._parts):
            self.send_back(self._parts)
        return super().response()


def _value(piece: JsonObject) -> JsonValue:
    for name in ("stringValue", "numberValue", "boolValue"):
        if name in piece:
            return piece[name]
    return None


def usage_of(usage: JsonObject) -> Usage:
    """Read the usage of one call. Google counts reasoning and what its tools put into the prompt apart.

    Example:
        >>> usage = usage_of({"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 30})
        >>> usage.output_tokens, usage.reasoning_tokens
        (32, 30)
    """
    thought = tokens_of(usage.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=tokens_of(usage.get("promptTokenCount")) + tokens_of(usage.get("toolUsePromptTokenCount")),
        output_tokens=tokens_of(usage.get("candidatesTokenCount")) + thought,
        cache_read_tokens=tokens_of(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
        calls=1,
    )
