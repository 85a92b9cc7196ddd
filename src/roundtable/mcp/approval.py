"""Approval of tool calls by the user of an MCP client."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import anyio

from roundtable.core.prompts.fence import Fence, neutralise
from roundtable.mcp.elicitation import ROUND_TRIPS, can_ask
from roundtable.tools.approval import MOST_REASON_CHARS, readable

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from roundtable.tools import ToolRequest

__all__ = ["APPROVAL", "ClientApproval", "ask_client"]

_MOST_CHARS: Final = 2_000
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Allow this call", "default": False},
        "reason": {
            "type": "string",
            "title": "Reason",
            "description": "If you do not allow the call: why not. The agent reads this reason.",
            "maxLength": MOST_REASON_CHARS,
        },
    },
    "required": ["approve"],
}

APPROVAL: Final[ContextVar[ClientApproval | None]] = ContextVar("roundtable.mcp.approval", default=None)
"""The client whose user is asked; a debate inherits the client from the call that starts the debate."""


class ClientApproval:
    """Asks the user of the client that made a call whether agents may call tools, one question at a time.

    Args:
        ctx: The request context of the SDK.
    """

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._ctx = ctx
        self._turn = anyio.Lock()

    async def decide(self, request: ToolRequest) -> bool | str:
        """Return whether the user allows a call, or the reason why it is refused."""
        from mcp.types.version import is_version_at_least

        if is_version_at_least(self._ctx.protocol_version, ROUND_TRIPS):
            return f"with version {self._ctx.protocol_version} of MCP, a server cannot ask users during a call"
        if not can_ask(self._ctx):
            return "the MCP client cannot ask its user"
        async with self._turn:
            # Checked only when it is this question's turn: the call may have ended while other questions were open.
            if not self._ctx.session.can_send_request:
                return "the call of the MCP client has ended, so its user cannot be asked"
            reply = await self._ctx.session.elicit_form(_question(request), _FORM, self._ctx.request_id)
        if reply.action != "accept":
            return "the user declined" if reply.action == "decline" else "the user gave no answer"
        content = reply.content or {}
        if content.get("approve") is True:
            return True
        reason = content.get("reason")
        return reason if isinstance(reason, str) else False


async def ask_client(request: ToolRequest) -> bool | str:
    """Ask the user of the MCP client whose call runs the debate; for `Roundtable(approve_tools=...)`.

    The tool is not called if:

    - no MCP client runs the debate;
    - the client cannot show forms;
    - the client's own call has ended;
    - the client uses version 2026-07-28 of the protocol or a later version: then a server cannot ask users during a
      call.

    Example:
        >>> import anyio
        >>> from roundtable.tools import ToolRequest
        >>> anyio.run(ask_client, ToolRequest("search_web", {"query": "tea"}, "Searches the web."))
        'no MCP client runs this debate'
    """
    client = APPROVAL.get()
    return "no MCP client runs this debate" if client is None else await client.decide(request)


def _question(request: ToolRequest) -> str:
    """Return the question for the user; the arguments in it were written by a model, so they are escaped."""
    arguments = neutralise(readable(request.arguments))
    if len(arguments) > _MOST_CHARS:
        arguments = f"{arguments[:_MOST_CHARS]}\u2026 ({len(arguments):,} characters)"
    return f"{Fence.inline(request.agent_id)} wants to call the tool {Fence.inline(request.tool_name)} with {arguments}"
