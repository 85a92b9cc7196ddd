"""A streamed answer of Chat Completions, put together from bytes that are cut anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.http.sse import SseFramer
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.openai_chat.answers import Draft, error_inside
from roundtable.providers.wire import items_of, load_json, object_of, text_of
from roundtable.types import ChatDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.http.sse import SseEvent
    from roundtable.types import ChatResponse

__all__ = ["ChatStreamDecoder"]

_DONE: Final = b"[DONE]"
_SPACE: Final = b" \t\r\n\xef\xbb\xbf"


class ChatStreamDecoder:
    """Decodes one streamed answer.

    A server that answers with one JSON document although a stream was asked for is understood as well. What
    comes behind the terminator is passed over.

    Args:
        provider: Name for errors.
        headers: Headers of the answer.
        whole: Reads an answer that is no stream, from status, headers and body.
        done_required: Whether the stream is whole only with its `[DONE]`.
    """

    def __init__(
        self,
        provider: str,
        headers: Mapping[str, str],
        *,
        whole: Callable[[int, Mapping[str, str], bytes], ChatResponse],
        done_required: bool,
    ) -> None:
        self._provider = provider
        self._headers = headers
        self._whole = whole
        self._done_required = done_required
        self._framer = SseFramer()
        self._draft = Draft(provider, headers)
        self._document: bytearray | None = bytearray()
        self._started = False
        self._done = False
        self._events = 0
        self._last_word = b""

    def feed(self, chunk: bytes) -> list[ChatDelta]:
        """Take the next bytes; give the text they complete, in one piece however many events it came in.

        Raises:
            RoundtableError: The stream reports an error or breaks its format.
        """
        if self._document is not None:
            chunk = self._sniff(self._document, chunk)
        text = "".join([self._take(event) for event in self._framer.feed(chunk)])
        return [ChatDelta(text=text)] if text else []

    def finish(self) -> ChatResponse:
        """Give the whole answer after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
            AgentError: There was nothing in it.
        """
        if self._document:
            return self._whole(200, self._headers, bytes(self._document))
        last = self._framer.finish()
        if last is not None and self._is_whole(last):
            self._take(last)
        if not self._events:
            raise AgentError("the stream was empty", provider=self._provider, retryable=True)
        if not self._done and (self._done_required or self._draft.finish is None):
            raise APINetworkError(
                "the stream ended before the answer was complete",
                provider=self._provider,
                hint="Try again; a proxy with a short time-out may be in the way.",
            )
        return self._draft.response()

    def _sniff(self, document: bytearray, chunk: bytes) -> bytes:
        """Keep a JSON document apart; give the bytes that belong to an event stream."""
        document += chunk
        start = document.lstrip(_SPACE)[:1]
        if not start or start in b"{[<":
            return b""
        self._document = None
        return bytes(document)

    def _is_whole(self, event: SseEvent) -> bool:
        if event.data.strip() == _DONE:
            return True
        try:
            return isinstance(load_json(event.data), dict)
        except RoundtableError:
            return False

    def _take(self, event: SseEvent) -> str:
        if self._done:
            return ""
        if event.data.strip() == _DONE:
            self._done = True
            self._events += 1
            return ""
        piece = load_json(event.data)
        if event.event == "error":
            raise error_for(self._provider, 200, self._headers, read_refusal(piece))
        if not isinstance(piece, dict):
            if piece is None:
                return ""
            raise AgentError("an event of the stream is no JSON object", provider=self._provider)
        self._events += 1
        if error := error_inside(self._provider, self._headers, piece):
            raise error
        self._draft.take_header(piece)
        text = ""
        for choice in map(object_of, items_of(piece.get("choices"))):
            if choice.get("index", 0) == 0:
                text += self._draft.take_message(object_of(choice.get("delta")))
                if finish := text_of(choice.get("finish_reason")):
                    self._finish(finish, event.data)
        return text

    def _finish(self, reason: str, data: bytes) -> None:
        # Some servers name the reason again together with the usage; the very same event twice is another
        # matter: then all the text has come twice, and there is no telling where.
        if data == self._last_word:
            raise AgentError("the stream repeats itself", provider=self._provider, retryable=True)
        self._last_word = data
        self._draft.finish = reason
