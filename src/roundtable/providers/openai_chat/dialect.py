"""Chat Completions as OpenAI and many others speak it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.openai_chat.answers import error_inside, read_answer
from roundtable.providers.openai_chat.requests import build_request
from roundtable.providers.openai_chat.streams import ChatStreamDecoder
from roundtable.providers.wire import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.messages import HttpRequest
    from roundtable.types import ChatRequest, ChatResponse

__all__ = ["OpenAIChat"]

_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")


class OpenAIChat:
    """The dialect `openai-chat`.

    Args:
        provider: Name for errors.
        openai: Whether the server is OpenAI's own. Then the token limit is `max_completion_tokens`, models that
            refuse a temperature are sent none, and a stream is whole only with its `[DONE]`; of other servers
            a finish reason is enough.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> OpenAIChat("acme").build_request(ask, base_url="https://acme.example/v1", stream=False).body
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}'
    """

    def __init__(self, provider: str, *, openai: bool = False) -> None:
        self.provider = provider
        self.openai = openai

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Put a request into the wire's words, without a key."""
        return build_request(request, base_url=base_url, stream=stream, openai=self.openai)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Read a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is no answer.
        """
        if _PAGE.match(body):
            raise APINetworkError(
                "a web page came instead of an answer",
                provider=self.provider,
                hint="Check the base URL; a proxy or a login page may be in the way.",
            )
        answer = load_json(body)
        if not isinstance(answer, dict):
            raise AgentError("the answer is no JSON object", provider=self.provider)
        if error := error_inside(self.provider, headers, answer):
            raise error
        return read_answer(self.provider, headers, answer)

    def stream_decoder(self, headers: Mapping[str, str]) -> ChatStreamDecoder:
        """Give a decoder for one streamed answer."""
        return ChatStreamDecoder(self.provider, headers, whole=self.parse_response, done_required=self.openai)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))
