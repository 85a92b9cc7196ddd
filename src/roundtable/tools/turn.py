"""What a tool may know of the turn it is called in, and what it leaves behind there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from roundtable.protocols import Tool
    from roundtable.types import ContextRequest, DebateContext, JsonObject

__all__ = ["ToolTurn", "TurnTool"]


@dataclass(slots=True)
class ToolTurn:
    """One turn of one agent in one debate; made for the turn and gone with it, so that no two debates mix."""

    context: DebateContext
    """What the agent sees, and nothing besides: hidden turns and hidden names are hidden from its tools too."""
    requests: list[ContextRequest] = field(default_factory=list)
    """What the agent asked the caller for."""
    submitted: JsonObject | None = None
    """The answer handed in by a tool; it takes the place of the text."""

    @property
    def agent_id(self) -> str:
        """Id of the agent that calls; empty where no turn is taken."""
        return self.context.turn.agent if self.context.turn else ""

    @property
    def is_last_round(self) -> bool:
        """Whether no round comes after this one."""
        return self.context.current_round >= self.context.total_rounds


@runtime_checkable
class TurnTool(Protocol):
    """What a `Tool` may have besides: a form of its own for each turn. Its results are never shared."""

    def for_turn(self, turn: ToolTurn) -> Tool | None:
        """Give the tool for one turn; `None` where the turn has no use for it."""
