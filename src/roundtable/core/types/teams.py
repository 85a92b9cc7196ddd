"""Teams: agents with their own tools that work towards one goal."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.core.types.agents import ErrorAction
from roundtable.core.types.answers import ToolCallRecord
from roundtable.core.types.argument_value import ArgumentValue
from roundtable.core.types.base import NonEmpty, Timestamp, Value
from roundtable.core.types.chat import ToolCall

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
"""Id, stage and role of the agent that derives a goal from the request."""
SUMMARIZER: Final = "summarizer"
"""Id, stage and role of the agent that summarizes the contributions."""

TeamOrder: TypeAlias = Literal["sequential", "parallel"]
"""Whether the agents of a round work one after another, each seeing earlier contributions, or work concurrently."""


class ChatMessage(ArgumentValue):
    """One message of the conversation with the team.

    Example:
        >>> ChatMessage(role="user", content="Whom should we call?").role
        'user'
    """

    role: Literal["user", "assistant", "system"]
    """Role of the author."""
    content: str
    """Text of the message."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """Tools that were called for this message."""
    timestamp: Timestamp | None = None
    """When the message was sent."""


class TeamMember(Value):
    """What one agent of a team may do, and what happens if its turn fails."""

    agent: NonEmpty
    """Agent id."""
    tools: tuple[str, ...] = ()
    """Names of the tools that the agent may call."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 4
    """Maximum model calls of one turn, including those after tool calls."""
    on_error: ErrorAction = "skip"
    """What happens if the agent's turn fails."""


class Team(Value):
    """Configuration of a team, stored with its session."""

    members: tuple[TeamMember, ...]
    """Members of the team, in speaking order."""
    initiator: TeamMember = TeamMember(agent=INITIATOR)
    """The member that sets the goal."""
    summarizer: TeamMember = TeamMember(agent=SUMMARIZER)
    """The member that writes the summary."""
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
    """Contribution of the agent."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools that the agent used."""
    steps: int
    """Number of model calls that the agent made."""


class TeamOutcome(Value):
    """Result of a team, in addition to the fields of every result."""

    goal: str | None = None
    """The goal of the team; `None` until the initiator has spoken."""
    strategy: str | None = None
    """How the team planned to reach the goal; `None` if the initiator failed, so that the request itself was the
    goal."""
    success_criteria: tuple[str, ...] = ()
    """Conditions under which the goal is reached."""
    summary: str | None = None
    """Text of the summarizer; `None` if it has not spoken yet, or if it failed."""
    rounds: tuple[tuple[AgentResult, ...], ...] = ()
    """Contributions by round, without those of failed turns."""
    execution_time_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds from the creation of the session to its last event."""
