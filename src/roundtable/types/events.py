"""Everything that can be heard of a debate or a team, one class per `type`.

*Durable* events are numbered (`seq`, from 1, without gaps), stored in the transaction of what they
report and can be replayed. *Live* events are told once, carry no number and say with `after` which
durable event they follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from roundtable.types.agents import AgentConfig
from roundtable.types.answers import ToolCallRecord
from roundtable.types.base import JsonValue, Share
from roundtable.types.chat import FinishReason, ToolCall, Usage
from roundtable.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.types.debate import DebateMode, SessionStatus
from roundtable.types.event_base import DurableBase, EventBase, LiveBase
from roundtable.types.exits import ExitResult
from roundtable.types.requests import ContextRequest, ContextResult
from roundtable.types.team_events import (
    ConversationComplete,
    ConversationStart,
    InitiatorComplete,
    InitiatorStart,
    InitiatorToolCall,
    SummarizerChunk,
    SummarizerStart,
)
from roundtable.types.teams import AgentResult, ErrorAction
from roundtable.types.turns import ErrorInfo, FailedTurn, Turn

__all__ = [
    "AgentComplete",
    "AgentError",
    "AgentResponseChunk",
    "AgentStart",
    "AgentToolCall",
    "AgentToolResult",
    "ConsensusMeasured",
    "ContextRequested",
    "Control",
    "ControlAction",
    "DebateComplete",
    "DebateError",
    "DebateExit",
    "DebateStart",
    "DurableEvent",
    "Event",
    "EventBase",
    "LiveEvent",
    "Retry",
    "RoundComplete",
    "RoundStart",
    "RunningCalls",
    "SynthesisComplete",
    "durable_event",
    "wire_event",
]

ControlAction: TypeAlias = Literal["pause", "resume", "stop", "extend"]
"""What a control event asks for."""


RunningCalls: TypeAlias = Literal["settle", "cancel"]
"""What becomes of model calls under way when a debate is to pause or stop."""


class DebateStart(DurableBase):
    """The debate begins."""

    type: Literal["debate_start"] = "debate_start"
    topic: str
    """The question."""
    mode: DebateMode
    """Mode."""
    agents: tuple[str, ...]
    """Who takes part."""
    rounds: int
    """Rounds planned."""


class RoundStart(DurableBase):
    """A round begins."""

    type: Literal["round_start"] = "round_start"
    round: int
    """Round, from 1."""
    agents: tuple[str, ...]
    """Who takes part."""
    focus_question: str | None = None
    """Narrower question of this round."""
    context_results: tuple[ContextResult, ...] = ()
    """Information the caller supplied for this round."""
    goal: str | None = None
    """Shared goal, for teams."""


class AgentStart(LiveBase):
    """An agent begins its turn."""

    type: Literal["agent_start"] = "agent_start"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    stage: str
    """Stage."""
    slot: int
    """Slot."""
    role: str = "participant"
    """Role."""
    max_steps: int | None = None
    """Most model calls of this turn."""


class AgentResponseChunk(LiveBase):
    """A piece of an agent's answer as the model sends it."""

    type: Literal["agent_response_chunk"] = "agent_response_chunk"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    chunk: str
    """Text added."""


class Retry(LiveBase):
    """A model call is tried again."""

    type: Literal["retry"] = "retry"
    agent: str | None = None
    """Agent id."""
    attempt: int
    """Number of the try to come, from 2."""
    delay_s: float
    """Seconds until then."""
    error: ErrorInfo
    """Why."""


class AgentToolCall(DurableBase):
    """An agent calls a tool."""

    type: Literal["agent_tool_call"] = "agent_tool_call"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Model call within the turn, from 1."""
    tool_call: ToolCall
    """The call."""


class AgentToolResult(DurableBase):
    """A tool answered an agent."""

    type: Literal["agent_tool_result"] = "agent_tool_result"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Model call within the turn, from 1."""
    tool_call_id: str
    """Which call."""
    result: JsonValue = None
    """What the tool returned."""


class AgentComplete(DurableBase):
    """An agent answered."""

    type: Literal["agent_complete"] = "agent_complete"
    turn: Turn
    """The turn, whole."""
    agent: str
    """Agent id."""
    round: int
    """Round."""
    response: str | None = None
    """Text of the answer, for teams."""
    tool_calls: tuple[ToolCallRecord, ...] | None = None
    """Tools used, for teams."""
    steps: int | None = None
    """Model calls made, for teams."""
    finish_reason: FinishReason | None = None
    """Why the answer ended, for teams."""


class AgentError(DurableBase):
    """An agent's turn failed; the debate goes on."""

    type: Literal["agent_error"] = "agent_error"
    turn: FailedTurn
    """The turn, whole."""
    agent: str
    """Agent id."""
    round: int
    """Round."""
    error: str
    """Why, in words."""
    action: ErrorAction = "skip"
    """What follows."""


class ConsensusMeasured(DurableBase):
    """Agreement of a round, measured once and never paid for again."""

    type: Literal["consensus"] = "consensus"
    round: int
    """Round."""
    consensus: AnyConsensus
    """The measure."""
    decision: Decision | None = None
    """Outcome of the decision rule."""
    baseline: AnyConsensus | None = None
    """Agreement of the private answers given before the round, where there are any."""
    independent_agreement: Share | None = None
    """Agreement of independent answers; told with the first round that can have any."""
    independent_agreement_reason: str | None = None
    """Why there is none."""
    usage: Usage | None = None
    """What the analysis consumed."""


class ContextRequested(DurableBase):
    """Agents asked the caller for information."""

    type: Literal["context_requested"] = "context_requested"
    round: int
    """Round."""
    requests: tuple[ContextRequest, ...]
    """What they asked for."""


class RoundComplete(DurableBase):
    """A round ended."""

    type: Literal["round_complete"] = "round_complete"
    round: int
    """Round."""
    answered: int
    """Turns answered."""
    failed: int
    """Turns that failed."""
    results: tuple[AgentResult, ...] | None = None
    """What the agents contributed, for teams."""


class DebateExit(DurableBase):
    """The debate stops for a reason."""

    type: Literal["exit"] = "exit"
    exit: ExitResult
    """The reason and its figures."""


class Control(DurableBase):
    """Someone pauses, resumes, stops or extends the session; anyone may append one, without a lease."""

    type: Literal["control"] = "control"
    action: ControlAction
    """What is asked for."""
    by: str | None = None
    """Who asks."""
    total_rounds: Annotated[int, Field(ge=1)] | None = None
    """Rounds planned from now on, for `extend`."""
    focus_question: str | None = None
    """Narrower question for the rounds to come."""
    context_results: tuple[ContextResult, ...] = ()
    """Answers to context requests."""
    running: RunningCalls | None = None
    """What becomes of calls under way; `None` lets them settle on `pause` and cancels them on `stop`."""
    agents: tuple[AgentConfig, ...] | None = None
    """Configurations that hold from now on, for `resume`; those of the session when left out."""
    prompt_version: str | None = None
    """Version of the prompt texts that holds from now on, for `resume`."""

    @property
    def cancels(self) -> bool:
        """Whether calls under way are to be cancelled."""
        return (self.running or ("cancel" if self.action == "stop" else "settle")) == "cancel"


class SynthesisComplete(DurableBase):
    """The debate was put together by one model, or could not be."""

    type: Literal["synthesis_complete"] = "synthesis_complete"
    synthesis: SynthesisResult | None = None
    """The synthesis."""
    error: ErrorInfo | None = None
    """Why there is none."""
    usage: Usage | None = None
    """What it consumed."""


class DebateComplete(DurableBase):
    """This run of the debate is over; the last event of a run that did not break."""

    type: Literal["debate_complete"] = "debate_complete"
    status: SessionStatus
    """State the session was left in."""
    total_rounds: int
    """Rounds held."""


class DebateError(DurableBase):
    """This run of the debate broke; what was stored stays."""

    type: Literal["error"] = "error"
    error: str
    """Why, in words."""
    code: str
    """Stable machine-readable code."""
    info: ErrorInfo
    """The error, whole."""
    agent: str | None = None
    """Agent it happened to, if to one."""
    round: int | None = None
    """Round it happened in."""
    recoverable: bool = True
    """Whether `resume` may go on."""


DurableEvent: TypeAlias = Annotated[
    DebateStart
    | RoundStart
    | AgentToolCall
    | AgentToolResult
    | AgentComplete
    | AgentError
    | ConsensusMeasured
    | ContextRequested
    | RoundComplete
    | DebateExit
    | Control
    | SynthesisComplete
    | DebateComplete
    | DebateError
    | ConversationStart
    | InitiatorToolCall
    | InitiatorComplete
    | ConversationComplete,
    Field(discriminator="type"),
]
"""Any numbered event, told apart by `type`."""

LiveEvent: TypeAlias = Annotated[
    AgentStart | AgentResponseChunk | Retry | InitiatorStart | SummarizerStart | SummarizerChunk,
    Field(discriminator="type"),
]
"""Any event that is told but not stored."""

Event: TypeAlias = DurableEvent | LiveEvent
"""Any event of a debate or of a conversation of a team."""


@cache
def _durable_adapter() -> TypeAdapter[DurableEvent]:
    return TypeAdapter(DurableEvent)


@cache
def _event_adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Event)


def wire_event(wire: Mapping[str, JsonValue]) -> Event:
    """Read an event back from the form that `EventBase.to_wire` gives.

    Raises:
        pydantic.ValidationError: It is no event of this version.
    """
    data = wire.get("data")
    return _event_adapter().validate_python({**(data if isinstance(data, dict) else {}), "type": wire.get("type")})


def durable_event(text: str | bytes) -> DurableEvent:
    """Read a stored event back from its JSON.

    Raises:
        pydantic.ValidationError: The text is no event of this version.
    """
    return _durable_adapter().validate_json(text)
