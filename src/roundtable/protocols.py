"""The protocols that users and plugins implement; no code runs here.

A class satisfies a protocol by having its methods; it does not have to import the protocol. `roundtable.testing`
checks signatures, because `isinstance` on a protocol compares names only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
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
        ModelCall,
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
        TurnKey,
        TurnResult,
    )

__all__ = [
    "Agent",
    "AgentToolkit",
    "Backup",
    "CallObserver",
    "ChatModel",
    "Clock",
    "ComparingMeter",
    "ConsensusMeter",
    "DebateModeStrategy",
    "ExitCriterion",
    "ExitRound",
    "FullText",
    "HasBackupHint",
    "HasEndpoint",
    "KeyValue",
    "Leases",
    "Notify",
    "Observer",
    "Prepares",
    "SleepingClock",
    "Storage",
    "Tool",
    "TurnListener",
]


class Clock(Protocol):
    """Source of time; passed in so that tests do not have to wait."""

    def now(self) -> datetime:
        """Return the wall time, with its zone, in UTC."""

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
        """Answer in pieces: any number of deltas, then exactly one complete response.

        Closing the iterator early ends the call. Models that cannot stream yield the response alone.

        Raises:
            RoundtableError: The call failed, also when the stream ended before its terminator.
        """

    async def aclose(self) -> None:
        """Release what the model holds; idempotent."""


@runtime_checkable
class Prepares(Protocol):
    """Optional part of a `ChatModel`: something to fetch or load before its first call."""

    async def prepare(self) -> None:
        """Prepare for calls, before the deadline of any call starts; idempotent.

        Raises:
            RoundtableError: Something needed is not available.
        """


@runtime_checkable
class HasEndpoint(Protocol):
    """Optional part of a `ChatModel`: an address. Models with the same address share limits."""

    @property
    def endpoint(self) -> str:
        """Address that its calls go to."""


class TurnListener(Protocol):
    """Follows a turn while it is taken."""

    @property
    def wants_pieces(self) -> bool:
        """Whether pieces of the answer are of use now; if not, the model is asked for the whole answer at once."""

    async def chunk(self, text: str) -> None:
        """A piece of the answer arrived."""

    async def before_call(self) -> None:
        """A model call is about to start.

        Raises:
            BaseException: To prevent the call; the turn ends.
        """

    async def retrying(self, attempt: int, delay_s: float, error: RoundtableError) -> None:
        """The model is asked once more: a call failed, or its answer could not be read. The pieces so far are void.

        Args:
            attempt: Number of the next try, from 2.
            delay_s: Seconds until the next try.
            error: Why the last try failed.
        """

    async def tool_called(self, step: int, call: ToolCall) -> None:
        """A tool is about to be called for model call `step` of the turn; arguments that are too long are left out."""

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        """A tool call ended; `record` holds its result."""


class Agent(Protocol):
    """Takes turns. `BaseAgent` is the usual way to get one.

    An agent without a chat model takes part in a debate with attached files only if it lists the kinds that it reads
    from `DebateContext.attachments` in an attribute `inputs`: `"image"`, `"pdf"`, `"text"`.
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
            RoundtableError: The agent could not answer; the debate records it and goes on.
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
        """Run a tool; failures are results, never raised."""


class Tool(Protocol):
    """Something an agent can do."""

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Run the tool; a failure is a result, and an exception becomes one."""


class DebateModeStrategy(Protocol):
    """A debate mode: a pure function of the turns so far.

    The same view always gives the same plan. A mode awaits nothing, calls no model, and takes randomness only from
    `view.seed`.
    """

    @property
    def name(self) -> str:
        """Name the mode is registered under."""

    @property
    def needs_groupthink_detection(self) -> bool:
        """Whether to look for groupthink, that is agreement reached too easily."""

    @property
    def rounds(self) -> range:
        """Numbers of rounds that make sense."""

    @property
    def assigns_stances(self) -> bool:
        """Whether agents argue assigned sides, so that agreement says nothing about what they believe."""

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan what happens next: a stage of turns, the end of the round, or the end of the debate."""

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Return the mode's instructions for the turn `context.turn`."""


class ConsensusMeter(Protocol):
    """Measures how far the positions of one round agree; a failure never loses the round."""

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure the positions of a round; the `method` of the consensus says how.

        Calls to models are charged to the session. With `groupthink`, signs of groupthink are looked for too.
        """


@runtime_checkable
class ComparingMeter(ConsensusMeter, Protocol):
    """A meter that also uses what agents declared about answers of earlier rounds."""

    compares_earlier: ClassVar[bool]
    """Whether `measure` takes the earlier answers; `True` marks the class."""

    async def measure(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        *,
        session_id: str | None = None,
        groupthink: bool = True,
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
    ) -> Measured:
        """Measure the positions of a round, as `ConsensusMeter` does.

        Args:
            responses: The answers of the round.
            topic: The question.
            session_id: The session that pays for calls.
            groupthink: Whether to look for signs of groupthink.
            earlier: Earlier answers by turn, to which `AgentResponse.compared` may refer.
        """


class ExitCriterion(Protocol):
    """Decides after each round whether the debate ends; pure."""

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Decide from the complete rounds so far; there is at least one."""

    def to_spec(self) -> JsonObject:
        """Return this criterion as data, so that a stored session can be resumed with it."""


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
    """An append-only log of events per session; everything else about a session is computed from it.

    A turn (session, round, stage, slot, attempt) written twice with the same body counts once; with another body it is
    refused. All methods raise `StorageError` when the medium fails, and `SessionNotFound` when the tenant has no such
    session.
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
        """Store events, all or none, and return the number of the last one.

        Without `token` and `expected_seq` only `control` events are accepted, so that anyone may pause or stop.

        Raises:
            LeaseLost: There is no token, or a stale one.
            StaleSequence: `expected_seq` is not the last number.
            SessionConflict: A turn is stored with another body.
        """

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return the session and its events numbered above `after`, in order."""

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first."""

    async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take or renew the right to append. The same owner keeps its token; `ttl_s=0` releases the lease.

        The lease of an owner that is provably dead on this host is taken over at once, any other once it has expired.

        Raises:
            SessionBusy: Another owner holds the lease; `details` say who and until when.
        """

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events."""

    async def aclose(self) -> None:
        """Release the medium; idempotent."""


@runtime_checkable
class FullText(Protocol):
    """Optional part of a `Storage`: full-text search in what was said."""

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Return the positions that contain all words: newest session first, then in the order of the session."""


@runtime_checkable
class Backup(Protocol):
    """Optional part of a `Storage`: a copy of all it holds, made while it is in use.

    A storage that is backed up with other tools names them instead: see `HasBackupHint`.
    """

    async def backup(self, path: str | PathLike[str]) -> None:
        """Write a copy to a new file: one consistent state of the storage, complete or not at all.

        Raises:
            StorageError: The file exists, or cannot be written.
        """


@runtime_checkable
class HasBackupHint(Protocol):
    """Optional part of a `Storage` without `Backup`: how to back it up with other tools.

    Example:
        >>> class Archive:
        ...     @property
        ...     def backup_hint(self) -> str:
        ...         return "Copy the folder sessions/."
        >>> isinstance(Archive(), HasBackupHint)
        True
    """

    @property
    def backup_hint(self) -> str:
        """One sentence, such as a command to run; the hint of the error if somebody asks for a backup. No secrets."""


@runtime_checkable
class Leases(Protocol):
    """Optional part of a `Storage`: who runs a session, without taking its lease."""

    async def holder(self, session_id: str, *, tenant: str = "default") -> Owner | None:
        """Return who holds the lease; `None` if nobody does, it has expired, or its process is provably dead."""


@runtime_checkable
class Notify(Protocol):
    """Optional part of a `Storage`: notices of what other processes store.

    Without it, followers of a session read its log four times a second.
    """

    def listen(
        self, session_id: str, heard: Callable[[], object], *, tenant: str = "default"
    ) -> AbstractContextManager[None]:
        """Call `heard` when another process may have stored events of a session, while the block is open.

        The storage may call `heard` on any thread, also on several at once, and on one without an event loop. So
        `heard` must be safe on any thread, return at once, and not use the storage; it usually wakes the loop that
        reads the log, such as with `loop.call_soon_threadsafe(wake.set)`. If it raises, the storage logs the error and
        calls the other listeners all the same.

        Entering and leaving the block must not wait for the network: it happens in event loops. After the block,
        `heard` is called no more, except for a call that is already under way.

        Notices may be late or lost, so the log must still be read now and then; one notice may stand for several
        events, and one may come without any. Appends through this same object need no notice.

        Args:
            session_id: The session; it does not have to exist.
            heard: Called without arguments; its result is ignored.
            tenant: Tenant of the session; a session with the same id of another tenant is another one.
        """


class KeyValue(Protocol):
    """Small JSON values by key, with tenant and expiry."""

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Return a value; `None` when there is none or it expired."""

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, replacing an existing one."""

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; return whether there was one."""

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Return the keys with this prefix and their values, in key order."""

    async def update(
        self, key: str, fn: Callable[[JsonValue], JsonValue], *, ttl_s: float | None = None, tenant: str = "default"
    ) -> JsonValue:
        """Replace a value by a function of the current one, in one transaction; return the new value."""


class Observer(Protocol):
    """Receives every event of a table. A function of one event is an observer too.

    With the class attribute `wants_pieces = False`, an observer needs no pieces of answers. Models are then asked for
    whole answers, which costs less, unless somebody else listens; the observer may still get pieces.
    """

    def notify(self, event: Event) -> None:
        """Receive one event; durable events arrive once they are stored.

        It is called in the event loop of the debate, so it must not wait or block. What it raises is logged and changes
        nothing.
        """


@runtime_checkable
class CallObserver(Protocol):
    """An observer that also receives each call of a model that the table makes, by debates and beside them."""

    def notify_call(self, call: ModelCall) -> None:
        """Receive one try of a call, once it is over, before the events that come of it.

        It is called in the event loop, so it must not wait or block. What it raises is logged and changes nothing.
        """
