"""Teams: agents with their own tools that work towards one goal."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.types.agents import ErrorAction
from roundtable.types.answers import ToolCallRecord
from roundtable.types.base import NonEmpty, Timestamp, Value
from roundtable.types.chat import ToolCall

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
"""Whether the agents of a round work one after another, each seeing earlier contributions, or concurrently."""


class ChatMessage(Value):
    """One message of the conversation with the team.

    Example:
        >>> ChatMessage(role="user", content="Whom should we call?").role
        'user'
    """

    role: Literal["user", "assistant", "system"]
    """Who speaks."""
    content: str
    """Text of the message."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """Tools called for this message."""
    timestamp: Timestamp | None = None
    """When it was sent."""


class TeamMember(Value):
    """What one agent of a team may do, and what happens when it fails."""

    agent: NonEmpty
    """Agent id."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may call."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 4
    """Maximum model calls of one turn, tool loop included."""
    on_error: ErrorAction = "skip"
    """What happens when its turn fails."""


class Team(Value):
    """Configuration of a team, stored with its session."""

    members: tuple[TeamMember, ...]
    """Members of the team, in speaking order."""
    initiator: TeamMember = TeamMember(agent=INITIATOR)
    """The member that sets the goal."""
    summarizer: TeamMember = TeamMember(agent=SUMMARIZER)
    """The member that sums up."""
    order: TeamOrder = "sequential"
    """How the members of a round take turns."""
    messages: tuple[ChatMessage, ...] = ()
    """The conversation before the request."""

    def member(self, agent: str) -> TeamMember:
        """Return the settings of an agent.

        Raises:
            KeyError: The agent does not belong to the team.
        """
        return {member.agent: member for member in (*self.members, self.initiator, self.summarizer)}[agent]


class AgentResult(Value):
    """Contribution of one agent to a round."""

    agent: str
    """Agent id."""
    response: str
    """Its contribution."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools it used."""
    steps: int
    """Number of model calls it made."""


class TeamOutcome(Value):
    """Result of a team, in addition to the fields of every result."""

    goal: str | None = None
    """What it worked towards; `None` until the initiator has spoken."""
    strategy: str | None = None
    """How it planned to reach the goal; `None` if the initiator failed and the request itself was the goal."""
    success_criteria: tuple[str, ...] = ()
    """Conditions under which the goal is reached."""
    summary: str | None = None
    """What the summarizer wrote; `None` if it has not spoken yet, or failed."""
    rounds: tuple[tuple[AgentResult, ...], ...] = ()
    """Contributions by round, without agents that failed."""
    execution_time_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds from the creation of the session to its last event."""
