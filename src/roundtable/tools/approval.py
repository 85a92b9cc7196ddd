"""Approval of tool calls: somebody decides about each call before it is made."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import anyio

from roundtable.core.base.eventloop import as_exception
from roundtable.core.base.functions import call_function, is_async
from roundtable.core.base.waits import Wait, reported
from roundtable.tools.definition import failed_result, is_external_interrupt

if TYPE_CHECKING:
    from roundtable.core.capabilities import FollowsApprovals
    from roundtable.core.protocols import Tool
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.chat import ToolCall, ToolResult
    from roundtable.tools.definition import ToolTurn

__all__ = ["MOST_REASON_CHARS", "Approver", "CallOrigin", "ToolRequest", "readable", "refusal"]

logger: logging.Logger = logging.getLogger("roundtable.tools")

MOST_REASON_CHARS: Final = 400
"""The most characters of the reason why a call is refused."""

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that are invisible, or change the order of the characters around them."""
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that are displayed as blank."""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that somebody has to approve."""

    tool_name: str
    """The tool."""
    arguments: JsonObject
    """Arguments of the call. A model wrote them; they match the schema of the tool."""
    description: str
    """Description of the tool, as the model sees it."""
    agent_id: str = ""
    """Id of the agent that makes the call; empty outside of a turn."""
    session_id: str = ""
    """Id of the session; empty outside of debates."""
    round: int = 0
    """Round, from 1; 0 outside of debates."""
    tenant: str = "default"
    """Tenant that owns the session, such as the user of a server."""
    topic: str = ""
    """Question of the debate."""
    call_id: str = ""
    """Id of the call, as in the events `agent_tool_call` (`tool_call.id`), `approval_requested` and `agent_tool_result`
    (`tool_call_id`); unique within the turn; empty outside of a turn."""


class CallOrigin(NamedTuple):
    """Where a tool call comes from: the call of the model, and who follows the turn."""

    call: ToolCall
    """The call, with its id."""
    step: int
    """Number of the model call within the turn, from 1."""
    listener: FollowsApprovals | None = None
    """Listener that learns whether the call waits for approval."""


Approver: TypeAlias = Callable[[ToolRequest], "bool | str | Awaitable[bool | str]"]
"""Function that decides about a tool call. `True` allows the call, `False` refuses it, and a text refuses it with a
reason for the agent.

A plain function runs in a thread of its own, an `async` function in the event loop. It may run several times at once,
because agents may speak at the same time.
"""


def readable(arguments: JsonObject, *, indent: int | None = None) -> str:
    r"""Return the arguments of a call as JSON that hides nothing: an invisible character is written as its code.

    Args:
        arguments: The arguments.
        indent: Number of spaces to indent by; if left out, the JSON is on one line.

    Example:
        >>> readable({"url": "https://example.org/" + chr(0x202E) + "gnp.exe"})
        '{"url": "https://example.org/\\u202egnp.exe"}'
    """
    return "".join(map(_visible, json.dumps(dict(arguments), ensure_ascii=False, indent=indent)))


def _visible(char: str) -> str:
    is_hidden = (
        unicodedata.category(char) in _HIDDEN or char in _BLANK or "VARIATION SELECTOR" in unicodedata.name(char, "")
    )
    return json.dumps(char)[1:-1] if is_hidden and char != "\n" else char


async def refusal(
    approve: Approver,
    tool: Tool,
    tool_input: JsonObject,
    turn: ToolTurn | None,
    origin: CallOrigin | None = None,
) -> ToolResult | None:
    """Ask for approval of a call. Return `None` if the call is allowed, else the failed result for the agent.

    If the approver raises an error or returns an unexpected value, the call is refused.

    Args:
        approve: The approver.
        tool: The tool.
        tool_input: Arguments of the call.
        turn: The turn in which the tool is called; `None` outside of a turn.
        origin: Where the call comes from; its listener is notified before the approver is asked, and of the decision.
    """
    definition = tool.definition
    context = None if turn is None else turn.context
    request = ToolRequest(
        definition.name,
        dict(tool_input),
        definition.description,
        agent_id="" if turn is None else turn.agent_id,
        session_id="" if context is None else context.session_id,
        round=0 if context is None else context.current_round,
        tenant="default" if context is None else context.tenant,
        topic="" if context is None else context.topic,
        call_id="" if origin is None else origin.call.id,
    )
    listener = None if origin is None else origin.listener
    if listener is not None and origin is not None:
        await listener.approval_requested(origin.step, origin.call)
    verdict = await _verdict(approve, request)
    allowed = verdict is True
    reason = verdict[:MOST_REASON_CHARS] if isinstance(verdict, str) and verdict else None
    if listener is not None and origin is not None:
        await listener.approval_decided(origin.step, origin.call, allowed=allowed, reason=reason)
    return None if allowed else failed_result(f"not approved: {reason}" if reason else "not approved")


async def _verdict(approve: Approver, request: ToolRequest) -> object:
    """Return what the approver decided; the reason for a refusal if it failed."""
    try:
        wait = Wait("approval", f"somebody to approve a call of {request.tool_name}")
        return await reported(partial(_ask, approve, request), wait)
    except BaseException as error:  # the approver is the caller's code; an error in it must not allow a call
        if is_external_interrupt(error):
            raise
        logger.exception("the approver of tool calls failed", extra={"tool": request.tool_name})
        return f"nobody could be asked ({type(error).__name__})"


async def _ask(approve: Approver, request: ToolRequest) -> object:
    ask = approve if is_async(approve) else partial(_ask_on_thread, approve)
    # A limiter of its own: approvers wait for people, and must not use up the threads of other work.
    return await call_function(ask, request, limiter=anyio.CapacityLimiter(1))


def _ask_on_thread(approve: Approver, request: ToolRequest) -> object:
    try:
        return approve(request)
    except Exception:
        raise
    except BaseException as error:  # Ctrl-C never arrives on this thread, and nobody cancels it
        raise as_exception(error) from error
