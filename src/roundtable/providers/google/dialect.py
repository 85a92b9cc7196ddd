"""generateContent and streamGenerateContent as the Gemini API and Vertex AI speak them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import AgentError, RoundtableError
from roundtable.http.json_array import JsonArrayFramer
from roundtable.http.sse import SseEvent
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.google.answers import ContentDraft
from roundtable.providers.google.requests import build_request
from roundtable.providers.streaming import EventDecoder, ReadWhole
from roundtable.providers.wire import items_of, load_json, load_object, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.messages import HttpRequest
    from roundtable.providers.spec import Decoder
    from roundtable.types import ChatRequest, ChatResponse, JsonObject

__all__ = ["GoogleGenerate"]


class GoogleGenerate:
    """The dialect `google`, see https://ai.google.dev/api/generate-content.

    Args:
        provider: Name for errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> GoogleGenerate().build_request(ask, base_url="https://generativelanguage.googleapis.com", stream=True).url
        'https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse'
    """

    def __init__(self, provider: str = "google") -> None:
        self.provider: str = provider

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Put a request into the wire's words, without a key."""
        return build_request(request, provider=self.provider, base_url=base_url, stream=stream)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Read a complete answer, also a stream that was collected into one array.

        Raises:
            RoundtableError: The body reports an error, or is no answer.
        """
        draft = ContentDraft(self.provider, headers)
        if body.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"["):
            answers = [object_of(item) for item in items_of(load_json(body))]
        else:
            answers = [load_object(body, self.provider)]
        with draft.charged():
            for answer in answers:
                draft.take_chunk(answer)
                if answer.get("error"):
                    raise error_for(self.provider, status, headers, read_refusal(answer))
                draft.raw = answer
            if not draft.has_candidates and draft.finish is None:
                raise AgentError("the answer holds no candidates", provider=self.provider, retryable=True)
            return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Give a decoder for one streamed answer."""
        return ContentDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))


class ContentDecoder(EventDecoder[ContentDraft]):
    """Decodes one streamed answer, events or a JSON array; it is whole with a finish reason."""

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ReadWhole) -> None:
        super().__init__(ContentDraft(provider, headers), whole=whole)
        self._array: JsonArrayFramer | None = None
        self._is_first = True
        self._last_word = b""

    def is_whole(self) -> bool:
        """Tell whether the answer is complete."""
        return self.draft.finish is not None

    def is_document(self, start: bytes) -> bool:
        """Tell from its first byte whether the answer is one document; an array is a stream."""
        return start in b"{<"

    def frame(self, chunk: bytes) -> list[SseEvent]:
        """Cut bytes into events."""
        if self._is_first and chunk.strip():
            self._is_first = False
            if chunk.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"["):
                self._array = JsonArrayFramer()
        if self._array is not None:
            return [SseEvent("message", item) for item in self._array.feed(chunk)]
        return super().frame(chunk)

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one chunk.

        Raises:
            RoundtableError: The chunk reports an error, or the stream repeats itself.
        """
        if fields.get("error"):
            raise error_for(self.draft.provider, 200, self.draft.headers, read_refusal(fields))
        if self._last_word and event.data == self._last_word:
            raise AgentError("the stream repeats itself", provider=self.draft.provider, retryable=True)
        self.draft.take_chunk(fields)
        if self.draft.finish is not None:
            self._last_word = event.data
