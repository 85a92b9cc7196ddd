"""Chat Completions as OpenAI and many others speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.openai_chat.answers import ChatDraft, error_inside, read_answer
from roundtable.providers.openai_chat.requests import build_request
from roundtable.providers.openai_chat.servers import OPENAI, PLAIN, ChatServer
from roundtable.providers.openai_chat.streams import ChatStreamDecoder
from roundtable.providers.wire import load_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.errors import RoundtableError
    from roundtable.http.messages import HttpRequest
    from roundtable.providers.spec import Decoder
    from roundtable.types import ChatRequest, ChatResponse

__all__ = ["OpenAIChat"]


class OpenAIChat:
    """The dialect `openai-chat`, see https://platform.openai.com/docs/api-reference/chat.

    Args:
        provider: Name for errors.
        openai: Whether the server is OpenAI's own. Then the token limit is `max_completion_tokens`, models that
            refuse a temperature are sent none, and a stream is whole only with its `[DONE]`; of other servers
            a finish reason is enough.
        server: What is particular about the server; wins over `openai`.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> OpenAIChat("acme").build_request(ask, base_url="https://acme.example/v1", stream=False).body
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}'
    """

    def __init__(self, provider: str, *, openai: bool = False, server: ChatServer | None = None) -> None:
        self.provider: str = provider
        self.server: ChatServer = server or (OPENAI if openai else PLAIN)

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Put a request into the wire's words, without a key."""
        return build_request(request, base_url=base_url, stream=stream, provider=self.provider, server=self.server)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Read a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is no answer.
        """
        answer, draft = load_object(body, self.provider), self._draft(headers)
        if error := error_inside(self.provider, headers, answer):
            draft.take_header(answer)
            with draft.charged():
                raise error
        return read_answer(draft, answer)

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Give a decoder for one streamed answer."""
        draft = self._draft(headers)
        return ChatStreamDecoder(draft, whole=self.parse_response, done_required=self.server.done_required)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))

    def _draft(self, headers: Mapping[str, str]) -> ChatDraft:
        """Give an empty answer to fill."""
        return ChatDraft(self.provider, headers, self.server.reasoning_back)
