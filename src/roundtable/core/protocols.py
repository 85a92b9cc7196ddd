"""What plugins implement; see `roundtable.protocols`. No code runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from datetime import datetime

    from roundtable.core.errors import RoundtableError
    from roundtable.core.types.agents import AgentHealth, AgentInfo, ModelProfile
    from roundtable.core.types.answers import AgentResponse, ToolCallRecord
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.chat import (
        AgentTool,
        ChatDelta,
        ChatRequest,
        ChatResponse,
        ToolCall,
        ToolResult,
    )
    from roundtable.core.types.consensus import AnyConsensus, Measured
    from roundtable.core.types.debate import DebateContext, ExitResult, SessionRecord, TurnResult
    from roundtable.core.types.events import DurableEvent, Event
    from roundtable.core.types.plan import Plan
    from roundtable.core.types.storage import (
        Lease,
        LeaseOwner,
        SessionFilter,
        SessionSummary,
    )

__all__ = [
    "Agent",
    "AgentToolkit",
    "ChatModel",
    "Clock",
    "ConsensusMeter",
    "DebateModeStrategy",
    "ExitCriterion",
    "ExitRound",
    "Observer",
    "SleepingClock",
    "Storage",
    "Tool",
    "TurnListener",
]


class Clock(Protocol):
    """Source of time; passed in so that tests do not have to wait."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC, with its time zone."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""


class SleepingClock(Clock, Protocol):
    """A clock that can also wait."""

    async def sleep(self, seconds: float) -> None:
        """Wait this many seconds of this clock."""


class ChatModel(Protocol):
    """Turns messages into a completion: one model of one provider, over any transport."""

    @property
    def provider(self) -> str:
        """Name of the provider."""

    @property
    def model(self) -> str:
        """Model id used when a request names no model."""

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: The call failed; `retryable` says whether it may succeed later.
        """

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces: any number of deltas, then exactly one complete response.

        Closing the iterator early ends the call. Models that cannot stream yield the response alone.

        Raises:
            RoundtableError: The call failed, or the stream ended before its terminator.
        """

    async def aclose(self) -> None:
        """Release the model's resources, such as connections; idempotent."""


class TurnListener(Protocol):
    """Follows a turn while the agent takes it."""

    @property
    def wants_pieces(self) -> bool:
        """Whether the listener wants pieces of the answer now; if not, the model is asked for the whole answer."""

    async def chunk(self, text: str) -> None:
        """A piece of the answer arrived."""

    async def before_call(self) -> None:
        """A model call is about to start.

        Raises:
            BaseException: Any exception prevents the call and ends the turn.
        """

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """The model is asked again: a call failed or its answer could not be parsed. Earlier pieces are void.

        Args:
            attempt: Number of the next try, from 2.
            delay_s: Seconds until the next try.
            error: Why the last try failed.
        """

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """A tool call from model call `step` of the turn is about to start; too long arguments are left out."""

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """A tool call ended; `record` holds its result."""


class Agent(Protocol):
    """Takes turns. `BaseAgent` is the usual way to get one.

    An agent without a chat model can take part in a debate with attached files only if its attribute `inputs` lists the
    kinds of files that it reads from `DebateContext.attachments`: `"image"`, `"pdf"`, `"text"`.
    """

    @property
    def id(self) -> str:
        """Unique within a debate."""

    @property
    def name(self) -> str:
        """Display name."""

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        """Answer `context.turn` from what `context` shows.

        Raises:
            RoundtableError: The agent could not answer; the debate records the error and continues.
        """

    async def health_check(self) -> AgentHealth:
        """Try a minimal call; failures are reported, never raised."""

    def get_info(self) -> AgentInfo:
        """Describe this agent."""


class AgentToolkit(Protocol):
    """Tools offered to an agent."""

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools."""

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Run a tool; a failure is returned as a result, never raised."""


class Tool(Protocol):
    """Something an agent can do."""

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Run the tool; return a failure as a result. An exception is turned into such a result."""


class DebateModeStrategy(Protocol):
    """A debate mode: a pure function that plans the next stage from the turns so far.

    The same view always gives the same plan. A mode awaits nothing, calls no model, and takes randomness only from
    `view.seed`.
    """

    @property
    def name(self) -> str:
        """Name under which the mode is registered."""

    @property
    def needs_groupthink_detection(self) -> bool:
        """Whether to look for groupthink, which is agreement reached too easily."""

    @property
    def rounds(self) -> range:
        """Numbers of rounds that make sense in this mode."""

    @property
    def assigns_stances(self) -> bool:
        """Whether agents argue assigned sides, so that agreement says nothing about what they believe."""

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan what happens next: a stage of turns, the end of the round, or the end of the debate."""

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Return the mode's instructions for the turn `context.turn`."""


class ConsensusMeter(Protocol):
    """Measures how far the positions of one round agree; if measuring fails, the round is kept."""

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure the positions of a round; the `method` of the consensus says how.

        Calls to models are charged to the session. With `groupthink`, the meter also looks for signs of groupthink.
        """


class ExitCriterion(Protocol):
    """Decides after each round whether the debate ends; a pure function of the rounds."""

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Decide from the complete rounds so far; there is at least one."""

    def to_spec(self) -> JsonObject:
        """Return this criterion as data, so that a stored session can be resumed with it."""


class ExitRound(Protocol):
    """A complete round as an exit criterion sees it; `RoundRecord` satisfies this protocol."""

    @property
    def number(self) -> int:
        """Round, from 1."""

    @property
    def responses(self) -> tuple[AgentResponse, ...]:
        """Positions of the round."""

    @property
    def consensus(self) -> AnyConsensus | None:
        """Measured agreement."""


class Storage(Protocol):
    """An append-only log of events per session; everything else about a session is computed from it.

    A turn is identified by session, round, stage, slot and attempt. If a turn is written again with the same body, it
    counts once; if it is written again with another body, it is refused. All methods raise `StorageError` when the
    medium fails, and `SessionNotFound` when the tenant has no such session.
    """

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session.

        Raises:
            SessionConflict: The id exists.
            StorageError: The record could not be read again.
        """

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        """Store either all of the events or none, and return the number of the last event.

        Without `token` and `expected_seq`, only `control` events are accepted, so that anyone may pause or stop the
        session.

        Raises:
            LeaseLost: The token is missing or stale.
            StaleSequence: `expected_seq` is not the number of the last stored event.
            SessionConflict: A turn is already stored with another body.
            StorageError: An event could not be read again; it may be nested too deeply, for example.
        """

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return the session and its events with numbers above `after`, in order."""

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first."""

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take or renew the right to append. The same owner keeps its token; `ttl_s=0` releases the lease.

        If the current owner's process ran on this host and is provably dead, its lease is taken over at once. Any other
        lease is taken over once it has expired.

        Raises:
            SessionBusy: Another owner holds the lease; `details` name the owner and the time at which the lease
                expires.
        """

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events."""

    async def aclose(self) -> None:
        """Release the medium; idempotent."""


class Observer(Protocol):
    """Receives every event of a `Roundtable`. A function that takes one event is an observer too.

    The class attribute `wants_pieces = False` means that the observer needs no pieces of answers. Unless another
    listener wants pieces, models are asked for whole answers, which costs less. If another listener wants pieces, this
    observer gets them too.
    """

    def notify(self, event: Event) -> None:
        """Receive one event; durable events arrive after they have been stored.

        This method is called in the event loop of the debate, so it must not wait or block. An exception that it raises
        is logged and changes nothing.
        """
