"""Messages as Anthropic speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.anthropic.answers import MessageDraft
from roundtable.providers.anthropic.requests import build_request
from roundtable.providers.anthropic.streams import MessageDecoder
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.wire import items_of, load_object, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.messages import HttpRequest
    from roundtable.providers.spec import Decoder
    from roundtable.types import ChatRequest, ChatResponse

__all__ = ["AnthropicMessages"]


class AnthropicMessages:
    """The dialect `anthropic`, see https://docs.claude.com/en/api/messages.

    Args:
        provider: Name for errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)
        >>> AnthropicMessages().build_request(ask, base_url="https://api.anthropic.com", stream=False).body
        b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
    """

    def __init__(self, provider: str = "anthropic") -> None:
        self.provider: str = provider

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Put a request into the wire's words, without a key."""
        return build_request(request, provider=self.provider, base_url=base_url, stream=stream)

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Read a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is no answer.
        """
        answer = load_object(body, self.provider)
        draft = MessageDraft(self.provider, headers)
        draft.take_message(answer)
        with draft.charged():
            if answer.get("type") == "error" or answer.get("error"):
                raise error_for(self.provider, status, headers, read_refusal(answer))
            if not isinstance(answer.get("content"), list):
                raise AgentError("the answer holds no content", provider=self.provider, retryable=True)
        blocks = [object_of(block) for block in items_of(answer.get("content"))]
        for block in blocks:
            draft.take_whole(block)
        draft.keep(blocks)
        draft.raw = answer
        return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Give a decoder for one streamed answer."""
        return MessageDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))
