"""Every event of a debate or a team, with one class for each `type`.

*Durable* events have a number (`seq`, from 1, without gaps). They are stored in the same transaction as the change that
they report, and can be replayed. *Live* events are sent once and have no number; their `after` is the number of the
durable event before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter
from pydantic_core import to_json

from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.answers import ContextRequest, ContextResult, ToolCallRecord
from roundtable.core.types.base import JsonObject, JsonValue, Share, Timestamp, Value
from roundtable.core.types.chat import FinishReason, ToolCall, Usage
from roundtable.core.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.core.types.debate import (
    DebateMode,
    ErrorInfo,
    ExitResult,
    FailedTurn,
    ProviderWait,
    SessionStatus,
    Turn,
)
from roundtable.core.types.teams import AgentResult, ErrorAction

__all__ = [
    "AgentComplete",
    "AgentError",
    "AgentResponseChunk",
    "AgentStart",
    "AgentToolCall",
    "AgentToolResult",
    "ApprovalDecided",
    "ApprovalRequested",
    "ConsensusMeasured",
    "ContextRequested",
    "Control",
    "ControlAction",
    "ConversationComplete",
    "ConversationStart",
    "DebateComplete",
    "DebateError",
    "DebateExit",
    "DebateStart",
    "DurableBase",
    "DurableEvent",
    "Event",
    "EventBase",
    "InitiatorComplete",
    "InitiatorStart",
    "InitiatorToolCall",
    "LiveBase",
    "LiveEvent",
    "Retry",
    "RoundComplete",
    "RoundStart",
    "RunningCalls",
    "SummarizerChunk",
    "SummarizerStart",
    "SynthesisComplete",
    "WaitReason",
    "Waiting",
    "durable_event",
    "sse_event_id",
    "wire_event",
]

_EVENT_ID: Final = re.compile(r"(?:([0-9A-Za-z_-]{1,100}):)?([0-9]{1,15})", re.ASCII)


class EventBase(Value):
    """Fields of every event."""

    session_id: str
    """Session id."""
    timestamp: Timestamp
    """When the event happened."""

    def to_wire(self) -> JsonObject:
        """Return the form in which every event stream sends the event: `{"type": ..., "data": {...}}` in camelCase."""
        data = self.model_dump(mode="json", exclude_none=True)
        kind = data.pop("type")
        return {"type": kind, "data": data}

    def to_sse(self) -> str:
        r"""Return the event as a server-sent event, in the form that the HTTP server sends.

        The id of a durable event is `<session>:<number>`. It is only the number if the id of the session is longer than
        100 characters, or has other characters than letters, digits, `_` and `-`. When a browser reconnects, it sends
        this id in `Last-Event-ID`, which `sse_event_id` parses.

        Example:
            >>> from datetime import UTC, datetime
            >>> now = datetime(2026, 1, 1, tzinfo=UTC)
            >>> RoundStart(session_id="s1", timestamp=now, round=1, agents=("ada",), seq=2).to_sse()[:44]
            'id: s1:2\ndata: {"type":"round_start","data":'
        """
        message = f"data: {to_json(self.to_wire()).decode()}\n\n"
        return f"id: {self.sse_id}\n{message}" if self.sse_id else message

    @property
    def sse_id(self) -> str:
        """Id of the event in a stream of server-sent events; empty for an event that cannot be replayed."""
        number: int = getattr(self, "seq", 0)
        name = f"{self.session_id}:{number}"
        return "" if not number else name if _EVENT_ID.fullmatch(name) else str(number)


def sse_event_id(text: str | None) -> tuple[str, int]:
    """Return the session and the number of the event in a `Last-Event-ID`; `("", 0)` if it names no event.

    A number alone is also accepted; the session is then empty.

    Example:
        >>> sse_event_id("s1:7"), sse_event_id("7"), sse_event_id(None), sse_event_id("no id")
        (('s1', 7), ('', 7), ('', 0), ('', 0))
    """
    match = _EVENT_ID.fullmatch((text or "").strip())
    return ("", 0) if match is None else (match[1] or "", int(match[2]))


class DurableBase(EventBase):
    """Fields of every durable event."""

    durable: ClassVar[Literal[True]] = True

    seq: Annotated[int, Field(ge=0)] = 0
    """Number of this event in its session, from 1; 0 until it is stored."""
    previous_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Hash of everything stored before this event. `None` in events of older versions, and in requests of other
    processes to pause or stop. `roundtable verify` checks this hash."""


class LiveBase(EventBase):
    """Fields of every live event, which is sent but not stored."""

    durable: ClassVar[Literal[False]] = False

    after: Annotated[int, Field(ge=0)] = 0
    """Number of the last durable event before this one."""
    missed: Annotated[int, Field(ge=1)] | None = None
    """Number of live events that this listener missed before this event because it was too slow; `None` if it missed
    none. The answer in `agent_complete` contains the text of missed pieces."""


class ConversationStart(DurableBase):
    """The conversation of a team begins."""

    type: Literal["conversation_start"] = "conversation_start"
    agents: tuple[str, ...]
    """Ids of the team's agents."""
    rounds: int
    """Number of planned rounds."""


class InitiatorStart(LiveBase):
    """The initiator begins to derive a goal from the request."""

    type: Literal["initiator_start"] = "initiator_start"
    agent: str = "initiator"
    """Agent id."""


class InitiatorToolCall(DurableBase):
    """The initiator calls a tool."""

    type: Literal["initiator_tool_call"] = "initiator_tool_call"
    tool_call: ToolCall
    """The call."""


class InitiatorComplete(DurableBase):
    """The initiator has set the goal."""

    type: Literal["initiator_complete"] = "initiator_complete"
    turn: Turn
    """The whole turn."""
    goal: str
    """The goal of the team."""
    strategy: str
    """How the team plans to reach the goal."""
    success_criteria: tuple[str, ...]
    """Conditions under which the goal is reached."""


class SummarizerStart(LiveBase):
    """The summarizer begins."""

    type: Literal["summarizer_start"] = "summarizer_start"


class SummarizerChunk(LiveBase):
    """A piece of the summary, published as soon as the model sends it."""

    type: Literal["summarizer_chunk"] = "summarizer_chunk"
    chunk: str
    """Text that this piece adds."""


class ConversationComplete(DurableBase):
    """All rounds are over and summarized; the last event of a conversation."""

    type: Literal["conversation_complete"] = "conversation_complete"
    turn: Turn | None = None
    """The summarizer's whole turn; `None` if it failed."""
    summary: str
    """The summary; if the summarizer failed, the contributions of the last round, unchanged."""
    total_rounds: int
    """Number of rounds."""
    total_agents: int
    """Number of agents in the team."""
    execution_time: Annotated[float, Field(ge=0)]
    """Seconds since the session was created."""
    exit: ExitResult
    """Why the conversation ends."""


ControlAction: TypeAlias = Literal["pause", "resume", "stop", "extend"]
"""Action that a control event requests."""


RunningCalls: TypeAlias = Literal["settle", "cancel"]
"""What happens to running model calls when a debate pauses or stops: they may finish, or they are cancelled."""


class DebateStart(DurableBase):
    """The debate begins."""

    type: Literal["debate_start"] = "debate_start"
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    agents: tuple[str, ...]
    """Ids of the debating agents."""
    rounds: int
    """Number of planned rounds."""


class RoundStart(DurableBase):
    """A round begins."""

    type: Literal["round_start"] = "round_start"
    round: int
    """Round, from 1."""
    agents: tuple[str, ...]
    """Ids of the debating agents."""
    focus_question: str | None = None
    """Narrower question of this round."""
    context_results: tuple[ContextResult, ...] = ()
    """Information that the caller supplied for this round."""
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
    """Maximum model calls of this turn."""


class AgentResponseChunk(LiveBase):
    """A piece of an agent's answer, published as soon as the model sends it."""

    type: Literal["agent_response_chunk"] = "agent_response_chunk"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    stage: str | None = None
    """Stage; together with `slot`, it identifies the turn of an agent."""
    slot: int | None = None
    """Slot."""
    chunk: str
    """Text that this piece adds."""


class Retry(LiveBase):
    """A model is asked again: a call failed, or its answer was not readable. Discard earlier pieces of this turn."""

    type: Literal["retry"] = "retry"
    agent: str | None = None
    """Agent id."""
    round: int | None = None
    """Round."""
    stage: str | None = None
    """Stage."""
    slot: int | None = None
    """Slot."""
    attempt: int
    """Number of the next attempt, from 2."""
    delay_s: float
    """Seconds until the next attempt."""
    error: ErrorInfo
    """Why the model is asked again."""


WaitReason: TypeAlias = Literal["rate", "breaker", "retry", "slot", "approval", "lease"]
"""Why something waits: for the calls or tokens per minute that a provider allows (`rate`), for a provider that is out
(`breaker`), for the next try of a failed call (`retry`), for fewer calls at once (`slot`), for a person who approves a
tool call (`approval`), or for another process that runs the session (`lease`)."""


class Waiting(LiveBase):
    """A wait of more than a second begins, or goes on."""

    type: Literal["waiting"] = "waiting"
    reason: WaitReason
    """What kind of wait it is."""
    detail: str
    """What is waited for, such as `the rate of 60 calls a minute`."""
    remaining_s: Annotated[float, Field(ge=0)] | None = None
    """Seconds until the end of the wait; `None` if that is not known."""
    agent: str | None = None
    """Id of the agent that waits; `None` if the debate as a whole waits, or a call that belongs to no agent."""
    round: int | None = None
    """Round."""
    stage: str | None = None
    """Stage."""
    slot: int | None = None
    """Slot."""

    @property
    def text(self) -> str:
        """The wait in words.

        Example:
            >>> from datetime import UTC, datetime
            >>> now = datetime(2026, 1, 1, tzinfo=UTC)
            >>> Waiting(session_id="s", timestamp=now, reason="slot", detail="a free slot", remaining_s=12.4).text
            'waits 12 s for a free slot'
        """
        length = "" if self.remaining_s is None else f" {self.remaining_s:.0f} s"
        return f"waits{length} for {self.detail}"


class AgentToolCall(DurableBase):
    """An agent calls a tool."""

    type: Literal["agent_tool_call"] = "agent_tool_call"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Number of the model call within the turn, from 1."""
    tool_call: ToolCall
    """The call."""


class AgentToolResult(DurableBase):
    """A tool returned a result to an agent."""

    type: Literal["agent_tool_result"] = "agent_tool_result"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Number of the model call within the turn, from 1."""
    tool_call_id: str
    """Id of the tool call."""
    result: JsonValue = None
    """Result that the tool returned."""


class ApprovalRequested(DurableBase):
    """A tool call waits for approval: the approver, such as a person, is asked now."""

    type: Literal["approval_requested"] = "approval_requested"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Number of the model call within the turn, from 1."""
    tool_call_id: str
    """Id of the tool call; the event of the call has its arguments."""
    tool_name: str
    """The tool."""


class ApprovalDecided(DurableBase):
    """The approver allowed or refused a tool call. A turn that is cancelled while its call waits has no such event."""

    type: Literal["approval_decided"] = "approval_decided"
    agent: str
    """Agent id."""
    round: int
    """Round."""
    step: int
    """Number of the model call within the turn, from 1."""
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """The tool."""
    allowed: bool
    """Whether the tool may be called."""
    reason: str | None = None
    """Reason for a refusal, as the agent reads it; `None` if the call is allowed, or if no reason was given."""


class AgentComplete(DurableBase):
    """An agent answered."""

    type: Literal["agent_complete"] = "agent_complete"
    turn: Turn
    """The whole turn."""
    agent: str
    """Agent id."""
    round: int
    """Round."""
    response: str | None = None
    """Text of the answer, for teams."""
    tool_calls: tuple[ToolCallRecord, ...] | None = None
    """Tools that the agent used, for teams."""
    steps: int | None = None
    """Number of model calls, for teams."""
    finish_reason: FinishReason | None = None
    """Why the answer ended, for teams."""


class AgentError(DurableBase):
    """An agent's turn failed; the debate continues."""

    type: Literal["agent_error"] = "agent_error"
    turn: FailedTurn
    """The whole turn."""
    agent: str
    """Agent id."""
    round: int
    """Round."""
    error: str
    """Error message."""
    action: ErrorAction = "skip"
    """What happens next: `skip`; `retry` if the agent is asked again, for example after a wait for its provider; or
    `abort`. With `wait_for="quorum"`, a debate that could not continue otherwise asks agents again after `skip`."""


class ConsensusMeasured(DurableBase):
    """Agreement of a round, which is measured and paid for only once."""

    type: Literal["consensus"] = "consensus"
    round: int
    """Round."""
    consensus: AnyConsensus
    """Measured agreement."""
    decision: Decision | None = None
    """Outcome of the decision rule."""
    baseline: AnyConsensus | None = None
    """Agreement of the private answers that were given before the round, if there are any."""
    independent_agreement: Share | None = None
    """Agreement of independent answers; only the first round that can have such answers has this field."""
    independent_agreement_reason: str | None = None
    """Why there is no independent agreement."""
    usage: Usage | None = None
    """Usage of the analysis."""


class ContextRequested(DurableBase):
    """Agents asked the caller for information."""

    type: Literal["context_requested"] = "context_requested"
    round: int
    """Round."""
    requests: tuple[ContextRequest, ...]
    """Requests of the agents."""


class RoundComplete(DurableBase):
    """A round ended."""

    type: Literal["round_complete"] = "round_complete"
    round: int
    """Round."""
    answered: int
    """Number of answered turns."""
    failed: int
    """Number of failed turns."""
    results: tuple[AgentResult, ...] | None = None
    """Contributions of the agents, for teams."""
    step: bool | None = None
    """Whether rounds run one at a time, so that the session waits for its caller after this round. `None` in logs of
    earlier versions, and in the past of a fork."""
    waits: tuple[ProviderWait, ...] | None = None
    """Waits for providers during the round; `None` if there were none."""


class DebateExit(DurableBase):
    """The debate stops for a reason."""

    type: Literal["exit"] = "exit"
    exit: ExitResult
    """The reason, and its figures."""
    usage: Usage | None = None
    """Usage of calls for turns that were cancelled before they had an outcome; their tokens are unknown."""
    waits: tuple[ProviderWait, ...] | None = None
    """Waits for providers in the round that is left open, by the run that ends here; `None` if there were none."""


class Control(DurableBase):
    """A request to pause, resume, stop or extend the session; it can be appended without a lease."""

    type: Literal["control"] = "control"
    action: ControlAction
    """Requested action."""
    by: str | None = None
    """Who made the request."""
    total_rounds: Annotated[int, Field(ge=1)] | None = None
    """New number of planned rounds, for `extend`."""
    focus_question: str | None = None
    """Narrower question for the coming rounds."""
    context_results: tuple[ContextResult, ...] = ()
    """Answers to context requests."""
    running: RunningCalls | None = None
    """What happens to running calls. With `None`, they finish on `pause`, and are cancelled on `stop`."""
    agents: tuple[AgentConfig, ...] | None = None
    """New configurations of the agents, for `resume`; the session's configurations if omitted."""
    prompt_version: str | None = None
    """New version of the prompt texts, for `resume`."""

    @property
    def cancels(self) -> bool:
        """Whether to cancel running calls."""
        return (self.running or ("cancel" if self.action == "stop" else "settle")) == "cancel"


class SynthesisComplete(DurableBase):
    """A model wrote the synthesis of the debate, or failed to write it."""

    type: Literal["synthesis_complete"] = "synthesis_complete"
    synthesis: SynthesisResult | None = None
    """The synthesis."""
    error: ErrorInfo | None = None
    """Why there is no synthesis."""
    usage: Usage | None = None
    """Usage of the synthesis."""


class DebateComplete(DurableBase):
    """A run of the debate is over; this is the last event of a run without an error."""

    type: Literal["debate_complete"] = "debate_complete"
    status: SessionStatus
    """State of the session at the end of the run."""
    total_rounds: int
    """Number of rounds."""


class DebateError(DurableBase):
    """A run of the debate ended with an error; everything stored before is kept."""

    type: Literal["error"] = "error"
    error: str
    """Error message."""
    code: str
    """Stable machine-readable code."""
    info: ErrorInfo
    """The whole error."""
    agent: str | None = None
    """Id of the agent whose failed turn caused the error, if there is one."""
    round: int | None = None
    """Round in which the error happened."""
    recoverable: bool = True
    """Whether `resume` can continue the debate."""


DurableEvent: TypeAlias = Annotated[
    DebateStart
    | RoundStart
    | AgentToolCall
    | AgentToolResult
    | ApprovalDecided
    | ApprovalRequested
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
"""Any durable event, discriminated by `type`."""

LiveEvent: TypeAlias = Annotated[
    AgentStart | AgentResponseChunk | Retry | Waiting | InitiatorStart | SummarizerStart | SummarizerChunk,
    Field(discriminator="type"),
]
"""Any live event, discriminated by `type`."""

Event: TypeAlias = DurableEvent | LiveEvent
"""Any event of a debate or of a team conversation."""


@cache
def _durable_adapter() -> TypeAdapter[DurableEvent]:
    return TypeAdapter(DurableEvent)


@cache
def _event_adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Event)


def wire_event(wire: Mapping[str, JsonValue]) -> Event:
    """Parse an event from the form that `EventBase.to_wire` returns.

    Raises:
        pydantic.ValidationError: The value is not an event of this version.
    """
    data = wire.get("data")
    return _event_adapter().validate_python({**(data if isinstance(data, dict) else {}), "type": wire.get("type")})


def durable_event(text: str | bytes) -> DurableEvent:
    """Parse a stored event from its JSON.

    Raises:
        pydantic.ValidationError: The text is not an event of this version.
    """
    return _durable_adapter().validate_json(text)
