"""Sampling: requests to the model of the client that made a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import is_version_at_least

from roundtable.core.base.text import error_text
from roundtable.core.errors import AgentError, APINetworkError
from roundtable.core.types.chat import ChatResponse, Usage
from roundtable.mcp.elicitation import ROUND_TRIPS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from roundtable.core.types.chat import ChatRequest, FinishReason, Message

__all__ = ["ClientSampler"]

_FINISH: Final[dict[str, FinishReason]] = {"maxTokens": "length", "toolUse": "tool_calls"}
_PROVIDER: Final = "client"


class ClientSampler:
    """Asks the model of the client that made a call, with the request `sampling/createMessage`.

    Args:
        ctx: The request context of the SDK.
    """

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._ctx = ctx

    @property
    def obstacle(self) -> str:
        """Why the client cannot be asked; empty if it can."""
        version = self._ctx.protocol_version
        if is_version_at_least(version, ROUND_TRIPS):
            return f"version {version} of the protocol does not have sampling"
        capabilities = self._ctx.session.client_capabilities
        return "" if capabilities is not None and capabilities.sampling is not None else "it does not support sampling"

    async def sample(self, request: ChatRequest) -> ChatResponse:
        """Return the answer of the client's model.

        Raises:
            AgentError: The client refused, gave no text, or its call has ended.
            APINetworkError: The client cannot be reached.
        """
        if not self._ctx.session.can_send_request:
            msg = "the call of the MCP client has ended, so its model cannot be asked"
            raise AgentError(msg, provider=_PROVIDER, hint="Continue the debate with a longer `wait`.")
        asked = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[_message(message) for message in request.messages if message.role != "system"],
                system_prompt=request.instructions or None,
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                stop_sequences=list(request.stop) or None,
            )
        )
        about = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            result = await self._ctx.session.send_request(asked, types.CreateMessageResult, metadata=about)
        except MCPError as error:
            msg = f"the client's model did not answer: {error_text(error)}"
            raise AgentError(msg, provider=_PROVIDER, cause=error, hint="Allow the request in the client.") from error
        except (OSError, EOFError, RuntimeError) as error:
            msg = f"the client cannot be reached: {error_text(error)}"
            raise APINetworkError(msg, provider=_PROVIDER, cause=error, retryable=False) from error
        text = result.content.text if isinstance(result.content, types.TextContent) else ""
        if not text.strip():
            raise AgentError("the client's model gave no text", provider=_PROVIDER)
        return ChatResponse(
            text=text,
            model=result.model or _PROVIDER,
            finish_reason=_FINISH.get(result.stop_reason or "", "stop"),
            # The client pays for the tokens, and does not report them.
            usage=Usage(calls=1),
        )


def _message(message: Message) -> types.SamplingMessage:
    content = types.TextContent(type="text", text=message.content)
    return types.SamplingMessage(role="assistant" if message.role == "assistant" else "user", content=content)
