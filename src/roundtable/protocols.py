"""What others implement whole. Protocols only; nothing here does anything.

A class satisfies a protocol by having its methods; it need not import it. `roundtable.testing` checks
signatures, since `isinstance` on a protocol looks at names alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime
    from os import PathLike

    from roundtable.errors import RoundtableError
    from roundtable.types import (
        AgentHealth,
        AgentInfo,
        AgentResponse,
        AgentTool,
        AnyConsensus,
        ChatDelta,
        ChatRequest,
        ChatResponse,
        DebateContext,
        DurableEvent,
        Event,
        ExitResult,
        JsonObject,
        JsonValue,
        Lease,
        Measured,
        ModelProfile,
        Owner,
        Plan,
        SearchHit,
        SearchQuery,
        SessionFilter,
        SessionRecord,
        SessionSummary,
        ToolCall,
        ToolCallRecord,
        ToolResult,
        TurnResult,
    )

__all__ = [
    "Agent",
    "AgentToolkit",
    "Backup",
    "ChatModel",
    "Clock",
    "ConsensusMeter",
    "DebateModeStrategy",
    "ExitCriterion",
    "ExitRound",
    "FullText",
    "HasEndpoint",
    "KeyValue",
    "Leases",
    "Observer",
    "Prepares",
    "SleepingClock",
    "Storage",
    "Tool",
    "TurnListener",
]


class Clock(Protocol):
    """Where time comes from; injected so that tests need not wait."""

    def now(self) -> datetime:
        """Give the wall time, aware and in UTC."""

    def monotonic(self) -> float:
        """Give seconds that never run backwards."""


class SleepingClock(Clock, Protocol):
    """A clock that can also be waited on."""

    async def sleep(self, seconds: float) -> None:
        """Wait so long, as this clock counts."""


class ChatModel(Protocol):
    """Turns messages into a completion: one model of one provider, whatever the transport."""

    @property
    def provider(self) -> str:
        """Name of the provider."""

    @property
    def model(self) -> str:
        """Model id used when a request names none."""

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: The call failed; `retryable` says whether it may succeed later.
        """

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces: any number of deltas, then exactly one response, whole.

        Closing the iterator early ends the call. Models that cannot stream give the response alone.

        Raises:
            RoundtableError: The call failed, also when the stream ended before its terminator.
        """

    async def aclose(self) -> None:
        """Release what the model holds; idempotent."""


@runtime_checkable
class Prepares(Protocol):
    """What a `ChatModel` may have besides: something to fetch or load before its first call."""

    async def prepare(self) -> None:
        """Make ready, before the deadline of any call runs; idempotent.

        Raises:
            RoundtableError: What is needed cannot be had.
        """


@runtime_checkable
class HasEndpoint(Protocol):
    """What a `ChatModel` may have besides: an address; models of one address share limits."""

    @property
    def endpoint(self) -> str:
        """Where its calls go."""


class TurnListener(Protocol):
    """Hears a turn while it is taken."""

    async def chunk(self, text: str) -> None:
        """A piece of the answer arrived."""

    async def before_call(self) -> None:
        """A model call is about to start.

        Raises:
            BaseException: To keep the call from starting; the turn ends.
        """

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """A model call failed and is made once more; what it sent so far is void.

        Args:
            attempt: Number of the try to come, from 2.
            delay_s: Seconds until then.
            error: Why the last one failed.
        """

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """A tool is about to be called, as model call `step` of the turn asked for; too long arguments are left out."""

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """A tool call ended; `record` says what came of it."""


class Agent(Protocol):
    """Takes turns. `BaseAgent` is the usual way to get one."""

    @property
    def id(self) -> str:
        """Unique within a debate."""

    @property
    def name(self) -> str:
        """Display name."""

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        """Answer `context.turn` from what `context` shows.

        Raises:
            RoundtableError: No answer could be had; the debate records it and goes on.
        """

    async def health_check(self) -> AgentHealth:
        """Try a minimal call; failures are reported, never raised."""

    def get_info(self) -> AgentInfo:
        """Say who this agent is."""


class AgentToolkit(Protocol):
    """Tools offered to an agent."""

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools."""

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Run one; failures are results, never raised."""


class Tool(Protocol):
    """Something an agent can do."""

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Do it; a failure is a result, and what is raised becomes one."""


class DebateModeStrategy(Protocol):
    """A debate mode: a pure function of what has been said.

    Given the same view it gives the same plan; it awaits nothing, calls no model and draws no
    randomness but from `view.seed`.
    """

    @property
    def name(self) -> str:
        """Name the mode is registered under."""

    @property
    def needs_groupthink_detection(self) -> bool:
        """Whether easy agreement should be looked into."""

    @property
    def rounds(self) -> range:
        """Numbers of rounds that make sense."""

    @property
    def assigns_stances(self) -> bool:
        """Whether agents argue a side they were given, so that agreement says nothing about belief."""

    def next_stage(self, view: DebateContext) -> Plan:
        """Say what happens next: a stage of turns, the end of the round, or the end of the debate."""

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the mode's instructions for the turn `context.turn`."""


class ConsensusMeter(Protocol):
    """Measures how far the positions of one round agree; never loses the round."""

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure the positions of a round; the `method` of the consensus says how.

        Calls to models are charged to the session; signs of groupthink are looked for where that is asked for.
        """


class ExitCriterion(Protocol):
    """Decides after each round whether the debate ends; pure."""

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Look at the complete rounds so far, of which there is one at the least."""

    def to_spec(self) -> JsonObject:
        """Give this criterion as data, so that a stored session can be resumed with it."""


class ExitRound(Protocol):
    """A complete round as an exit sees it; `RoundRecord` is one."""

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
    """An append-only log of events per session; everything else about a session is a fold of it.

    A turn (session, round, stage, slot, attempt) written twice with the same body counts once; with another body it is
    refused. All methods raise `StorageError` when the medium fails, `SessionNotFound` for one that a tenant lacks.
    """

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session.

        Raises:
            SessionConflict: The id exists.
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
        """Store events, all or none, and give the number of the last one.

        Without `token` and `expected_seq` only `control` events are taken, so that anyone may pause or stop.

        Raises:
            LeaseLost: There is no token, or a stale one.
            StaleSequence: `expected_seq` is not the last number.
            SessionConflict: A turn is stored with another body.
        """

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Give the session and its events numbered above `after`, in order."""

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first."""

    async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take or renew the right to append; the same owner keeps its token, `ttl_s=0` gives it up.

        An owner that is provably dead on this host is taken over at once, any other when its lease has expired.

        Raises:
            SessionBusy: Another owner holds it; `details` say who and until when.
        """

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events."""

    async def aclose(self) -> None:
        """Release the medium; idempotent."""


@runtime_checkable
class FullText(Protocol):
    """What a `Storage` may have besides: finding words in what was said."""

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Give the positions that hold all words: newest session first, then in the order of the session."""


@runtime_checkable
class Backup(Protocol):
    """What a `Storage` may have besides: a copy of all it holds, made while it is in use."""

    async def backup(self, path: str | PathLike[str]) -> None:
        """Write a copy to a file that does not exist yet: one state of the storage, whole or not at all.

        Raises:
            StorageError: The file exists, or cannot be written.
        """


@runtime_checkable
class Leases(Protocol):
    """What a `Storage` may have besides: telling who runs a session, without taking it."""

    async def holder(self, session_id: str, *, tenant: str = "default") -> Owner | None:
        """Give who holds the lease; `None` where nobody does, it has lapsed, or its process is provably dead."""


class KeyValue(Protocol):
    """Small JSON values by key, with tenant and expiry."""

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Give a value; `None` when there is none or it expired."""

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, replacing an old one."""

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; tell whether there was one."""

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Give keys with this prefix and their values, in key order."""

    async def update(
        self, key: str, fn: Callable[[JsonValue], JsonValue], *, ttl_s: float | None = None, tenant: str = "default"
    ) -> JsonValue:
        """Replace a value by a function of the present one, in one transaction; give the new value."""


class Observer(Protocol):
    """Hears every event of a table. A function of one event is an observer too."""

    def notify(self, event: Event) -> None:
        """Take one event, durable ones once they are stored.

        Called in the loop that debates, so it must not wait or block. What it raises is logged and changes nothing.
        """
