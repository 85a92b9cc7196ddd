"""What the decoders of all wires have in common: events from bytes, and when a stream is whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.http.sse import SseEvent, SseFramer
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.wire import load_json, object_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.providers.draft import AnswerDraft
    from roundtable.types import ChatDelta, ChatResponse, JsonObject

__all__ = ["EventDecoder", "ReadWhole"]

_SPACE: Final = b" \t\r\n\xef\xbb\xbf"
_TAIL: Final = 64 * 1024

DraftT = TypeVar("DraftT", bound="AnswerDraft")

ReadWhole: TypeAlias = "Callable[[int, Mapping[str, str], bytes], ChatResponse]"
"""Reads an answer that is no stream, from status, headers and body."""


class EventDecoder(ABC, Generic[DraftT]):
    """Decodes one streamed answer; a dialect says what an event means and when the answer is whole.

    A server that answers with one JSON document although a stream was asked for is understood as well. What comes
    behind the terminator is passed over. An event that is cut off by the end of the stream counts if it is whole.

    Args:
        draft: Where the answer is put together.
        whole: Reads an answer that is no stream.
    """

    def __init__(self, draft: DraftT, *, whole: ReadWhole) -> None:
        self.draft: DraftT = draft
        self.is_done: bool = False
        """Whether the terminator has come."""
        self._whole = whole
        self._framer = SseFramer()
        self._document: bytearray | None = bytearray()
        self._tail = bytearray()
        self._events = 0

    @abstractmethod
    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event and its JSON object.

        Raises:
            RoundtableError: The event reports an error or breaks the format.
        """

    @abstractmethod
    def is_whole(self) -> bool:
        """Tell, after the last event, whether the answer is complete."""

    def take_word(self, data: bytes) -> bool:
        """Take data that is no JSON, such as a terminator; tell whether it is one."""
        return False

    def feed(self, chunk: bytes) -> Sequence[ChatDelta]:
        """Take the next bytes; give what they complete.

        Raises:
            RoundtableError: The stream reports an error or breaks its format.
        """
        if self._document is not None:
            chunk = self._sniff(self._document, chunk)
        for event in self.frame(chunk):
            self._handle(event)
        return self.draft.deltas()

    def finish(self) -> ChatResponse:
        """Give the whole answer after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
            AgentError: There was nothing in it.
        """
        if self._document:
            return self._whole(200, self.draft.headers, bytes(self._document))
        last = self._framer.finish()
        if last is not None and self._is_uncut(last):
            self._handle(last)
        self._raise_stray_error()
        if not self._events:
            raise AgentError("the stream was empty", provider=self.draft.provider, retryable=True)
        if not self.is_done and not self.is_whole():
            raise APINetworkError(
                "the stream ended before the answer was complete",
                provider=self.draft.provider,
                hint="Try again; a proxy with a short time-out may be in the way.",
            )
        return self.draft.response()

    def frame(self, chunk: bytes) -> list[SseEvent]:
        """Cut bytes into events."""
        self._tail += chunk
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]
        return self._framer.feed(chunk)

    def is_document(self, start: bytes) -> bool:
        """Tell from its first byte whether the answer is a document instead of a stream of events."""
        return start in b"{[<"

    def _sniff(self, document: bytearray, chunk: bytes) -> bytes:
        """Keep a document apart; give the bytes that belong to a stream."""
        if not document:
            # Dropped at once: there may be no end of it, and to look through all of it with every chunk takes minutes.
            chunk = chunk.lstrip(_SPACE)
        if not chunk:
            return b""
        if document or self.is_document(chunk[:1]):
            document += chunk
            return b""
        self._document = None
        return chunk

    def _handle(self, event: SseEvent) -> None:
        if self.is_done:
            return
        if event.data[:1] != b"{" and self.take_word(event.data.strip()):
            self._events += 1
            return
        value = load_json(event.data)
        if event.event == "error" or (isinstance(value, dict) and value.get("type") == "error"):
            raise error_for(self.draft.provider, 200, self.draft.headers, read_refusal(value))
        if value is None:
            return
        if not isinstance(value, dict):
            raise AgentError("an event of the stream is no JSON object", provider=self.draft.provider)
        self._events += 1
        self.take(event, value)

    def _is_uncut(self, event: SseEvent) -> bool:
        if self.is_done:
            return False
        try:
            return isinstance(load_json(event.data), dict)
        except RoundtableError:
            return self.take_word(event.data.strip())

    def _raise_stray_error(self) -> None:
        """Find the error that some servers write as bare JSON into a stream that has begun."""
        if self.is_done or self.is_whole():
            return
        lines = bytes(self._tail).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        starts = [place for place, line in enumerate(lines) if line.lstrip().startswith((b"{", b"["))]
        for place in starts[:1]:
            try:
                value = load_json(b"\n".join(lines[place:]))
            except RoundtableError:
                return
            if isinstance(value, list):
                value = value[0] if value else None
            if error := object_of(object_of(value).get("error")):
                raise error_for(self.draft.provider, 200, self.draft.headers, read_refusal({"error": error}))
