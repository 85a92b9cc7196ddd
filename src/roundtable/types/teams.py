"""A team: agents with tools of their own that work towards one goal."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.types.answers import ToolCallRecord
from roundtable.types.base import NonEmpty, Timestamp, Value
from roundtable.types.chat import ToolCall
from roundtable.types.profiles import ErrorAction

__all__ = [
    "INITIATOR",
    "SUMMARIZER",
    "AgentResult",
    "ChatMessage",
    "ErrorAction",
    "Team",
    "TeamMember",
    "TeamOrder",
    "TeamOutcome",
]

INITIATOR: Final = "initiator"
"""Id, stage and role of the agent that turns the request into a goal."""
SUMMARIZER: Final = "summarizer"
"""Id, stage and role of the agent that puts the contributions together."""

TeamOrder: TypeAlias = Literal["sequential", "parallel"]
"""Whether the agents of a round work one after another, each seeing what was found before, or all at once."""


class ChatMessage(Value):
    """One message of the conversation in which the team is asked.

    Example:
        >>> ChatMessage(role="user", content="Whom should we call?").role
        'user'
    """

    role: Literal["user", "assistant", "system"]
    """Who speaks."""
    content: str
    """What is said."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """Tools that were called on the way."""
    timestamp: Timestamp | None = None
    """When."""


class TeamMember(Value):
    """What one agent of a team may do, and what follows when it fails."""

    agent: NonEmpty
    """Agent id."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may call."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 4
    """Most model calls of one turn, tool loop included."""
    on_error: ErrorAction = "skip"
    """What follows when its turn fails."""


class Team(Value):
    """How a team works, as it is stored with its session."""

    members: tuple[TeamMember, ...]
    """Who works, in speaking order."""
    initiator: TeamMember = TeamMember(agent=INITIATOR)
    """Who sets the goal."""
    summarizer: TeamMember = TeamMember(agent=SUMMARIZER)
    """Who sums up."""
    order: TeamOrder = "sequential"
    """How the members of a round take turns."""
    messages: tuple[ChatMessage, ...] = ()
    """The conversation before the request."""

    def member(self, agent: str) -> TeamMember:
        """Give what is set for an agent.

        Raises:
            KeyError: No such agent belongs to the team.
        """
        return {one.agent: one for one in (*self.members, self.initiator, self.summarizer)}[agent]


class AgentResult(Value):
    """What one agent contributed to a round."""

    agent: str
    """Agent id."""
    response: str
    """Its contribution."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools it used."""
    steps: int
    """Model calls it made."""


class TeamOutcome(Value):
    """What a team came to, beside what every result has."""

    goal: str | None = None
    """What it worked towards; `None` before the initiator has spoken."""
    strategy: str | None = None
    """How; `None` where the initiator failed, and the request itself was the goal."""
    success_criteria: tuple[str, ...] = ()
    """How it knows that it is done."""
    summary: str | None = None
    """What the summarizer wrote; `None` where it has not spoken, or failed."""
    rounds: tuple[tuple[AgentResult, ...], ...] = ()
    """Contributions by round; agents that failed are missing."""
    execution_time_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds from the creation of the session to its last event."""
