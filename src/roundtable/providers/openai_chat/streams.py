"""A streamed answer of Chat Completions, put together from bytes that are cut anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError
from roundtable.providers.openai_chat.answers import ChatDraft, error_inside
from roundtable.providers.streaming import EventDecoder, ReadWhole
from roundtable.providers.wire import items_of, object_of, text_of

if TYPE_CHECKING:
    from roundtable.http.sse import SseEvent
    from roundtable.types import JsonObject

__all__ = ["ChatStreamDecoder"]

_DONE: Final = b"[DONE]"


class ChatStreamDecoder(EventDecoder[ChatDraft]):
    """Decodes one streamed answer.

    Args:
        draft: Where the answer is put together.
        whole: Reads an answer that is no stream.
        done_required: Whether the stream is whole only with its `[DONE]`.
    """

    def __init__(self, draft: ChatDraft, *, whole: ReadWhole, done_required: bool) -> None:
        super().__init__(draft, whole=whole)
        self._done_required = done_required
        self._last_word = b""

    def take_word(self, data: bytes) -> bool:
        """Take the terminator."""
        if data != _DONE:
            return False
        self.is_done = True
        return True

    def is_whole(self) -> bool:
        """Tell whether the answer is complete."""
        return not self._done_required and self.draft.reason is not None

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            RoundtableError: It reports an error, or repeats the last one.
        """
        self.draft.take_header(fields)
        if error := error_inside(self.draft.provider, self.draft.headers, fields):
            with self.draft.charged():
                raise error
        for choice in map(object_of, items_of(fields.get("choices"))):
            if choice.get("index", 0) == 0:
                self.draft.take_message(object_of(choice.get("delta")))
                if reason := text_of(choice.get("finish_reason")):
                    self._finish(reason, event.data)

    def _finish(self, reason: str, data: bytes) -> None:
        # Some servers name the reason again together with the usage; the very same event twice is another
        # matter: then all the text has come twice, and there is no telling where.
        if data == self._last_word:
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        self._last_word = data
        self.draft.reason = reason
        self.draft.take_end()
