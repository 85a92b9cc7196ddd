"""Responses as OpenAI and some others speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.openai_responses.answers import ResponseDraft
from roundtable.providers.openai_responses.requests import build_request
from roundtable.providers.openai_responses.streams import ResponseDecoder
from roundtable.providers.wire import items_of, load_object, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.messages import HttpRequest
    from roundtable.providers.spec import Decoder
    from roundtable.types import ChatRequest, ChatResponse

__all__ = ["OpenAIResponses"]


class OpenAIResponses:
    """The dialect `openai`, see https://platform.openai.com/docs/api-reference/responses.

    Args:
        provider: Name for errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> ask = ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=20)
        >>> OpenAIResponses().build_request(ask, base_url="https://api.openai.com/v1", stream=False).body
        b'{"model":"m","input":[{"role":"user","content":"Hi"}],"max_output_tokens":20,"store":false}'
    """

    def __init__(self, provider: str = "openai") -> None:
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
        draft = ResponseDraft(self.provider, headers)
        draft.take_usage(answer)
        with draft.charged():
            if answer.get("error") or text_of(answer.get("status")) in {"failed", "cancelled"}:
                raise error_for(self.provider, status, headers, read_refusal(answer))
            if not isinstance(answer.get("output"), list):
                raise AgentError("the answer holds no output", provider=self.provider, retryable=True)
        draft.take_answer(answer, [object_of(item) for item in items_of(answer.get("output"))])
        return draft.response()

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Give a decoder for one streamed answer."""
        return ResponseDecoder(self.provider, headers, whole=self.parse_response)

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""
        return error_for(self.provider, status, headers, read_refusal(body))
