"""Asking the caller for what no tool can find: files of the project, figures of the company, a decision."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from roundtable.tools.results import failed
from roundtable.tools.sources import SnakeValue
from roundtable.tools.standard import StandardTool, ToolSpec
from roundtable.types import ContextRequest, ToolResult
from roundtable.types.base import Value

if TYPE_CHECKING:
    from typing import Self

    from roundtable.tools.turn import ToolTurn

__all__ = ["RequestContext", "request_context"]


class _Wanted(SnakeValue):
    query: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="What you need to know. Say what, not how to find it."
    )
    reason: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="What depends on it.")
    priority: Literal["required", "optional"] = Field(
        default="required", description="Whether the debate should wait for it."
    )


class _Taken(Value):
    request_id: str
    message: str


request_context: ToolSpec = ToolSpec(
    "request_context",
    "Asks whoever called the debate for information that you cannot find yourself. The answer comes with the next "
    "round; go on with what you know until then.",
    _Wanted,
    _Taken,
)
"""What `request_context` takes and gives."""


class RequestContext(StandardTool[_Wanted]):
    """Takes a request to the caller; it is stored with the turn, and answered before the next round.

    It is not offered in the last round, in which no answer could be of use any more. The same request, by whomever, has
    one id.
    """

    spec = request_context

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Give the tool for a turn that is followed by another round."""
        return None if turn.is_last_round else super().for_turn(turn)

    async def answer(self, given: _Wanted) -> ToolResult:
        """Keep the request for the turn."""
        turn = self._turn
        if turn is None:
            return failed("there is no debate in which something could be asked for")
        request = ContextRequest(
            id=_id_of(turn.context.session_id, given.query),
            agent_id=turn.agent_id,
            query=given.query,
            reason=given.reason,
            priority=given.priority,
        )
        if all(one.id != request.id for one in turn.requests):
            turn.requests.append(request)
        message = "asked for; the answer comes with the next round"
        taken = _Taken(request_id=request.id, message=message)
        return ToolResult(success=True, data=taken.model_dump(mode="json"))


def _id_of(session_id: str, query: str) -> str:
    """Give the same id to the same question of a session, whatever its case and spaces."""
    words = " ".join(query.casefold().split())
    return "ctx-" + hashlib.sha256(f"{session_id}\n{words}".encode()).hexdigest()[:10]
