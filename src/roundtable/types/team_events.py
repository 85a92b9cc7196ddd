"""What is told of a team, besides what is told of every debate; the names are those of seed 004."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from roundtable.types.chat import ToolCall
from roundtable.types.event_base import DurableBase, LiveBase
from roundtable.types.exits import ExitResult
from roundtable.types.turns import Turn

__all__ = [
    "ConversationComplete",
    "ConversationStart",
    "InitiatorComplete",
    "InitiatorStart",
    "InitiatorToolCall",
    "SummarizerChunk",
    "SummarizerStart",
]


class ConversationStart(DurableBase):
    """The conversation of a team begins."""

    type: Literal["conversation_start"] = "conversation_start"
    agents: tuple[str, ...]
    """Who works."""
    rounds: int
    """Rounds planned."""


class InitiatorStart(LiveBase):
    """The initiator begins to turn the request into a goal."""

    type: Literal["initiator_start"] = "initiator_start"
    agent: str = "initiator"
    """Agent id."""


class InitiatorToolCall(DurableBase):
    """The initiator calls a tool."""

    type: Literal["initiator_tool_call"] = "initiator_tool_call"
    tool_call: ToolCall
    """The call."""


class InitiatorComplete(DurableBase):
    """The goal is set."""

    type: Literal["initiator_complete"] = "initiator_complete"
    turn: Turn
    """The turn, whole."""
    goal: str
    """What the team works towards."""
    strategy: str
    """How."""
    success_criteria: tuple[str, ...]
    """How the team knows that it is done."""


class SummarizerStart(LiveBase):
    """The summarizer begins."""

    type: Literal["summarizer_start"] = "summarizer_start"


class SummarizerChunk(LiveBase):
    """A piece of the summary as the model sends it."""

    type: Literal["summarizer_chunk"] = "summarizer_chunk"
    chunk: str
    """Text added."""


class ConversationComplete(DurableBase):
    """All rounds were held and summed up; the last event of a conversation."""

    type: Literal["conversation_complete"] = "conversation_complete"
    turn: Turn | None = None
    """The summarizer's turn, whole; `None` where it failed."""
    summary: str
    """The summary; where the summarizer failed, the contributions of the last round as they are."""
    total_rounds: int
    """Rounds held."""
    total_agents: int
    """Agents that were to work."""
    execution_time: Annotated[float, Field(ge=0)]
    """Seconds since the session was created."""
    exit: ExitResult
    """Why it ends here."""
