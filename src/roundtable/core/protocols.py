"""What plugins implement; see `roundtable.protocols`. No code runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from decimal import Decimal
    from os import PathLike

    from roundtable.core.errors import RoundtableError
    from roundtable.core.types.agents import AgentHealth, AgentInfo, ModelProfile
    from roundtable.core.types.answers import AgentResponse, ToolCallRecord, TurnKey
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import (
        AgentTool,
        ChatDelta,
        ChatRequest,
        ChatResponse,
        ModelCall,
        ToolCall,
        ToolResult,
    )
    from roundtable.core.types.consensus import AnyConsensus, Measured
    from roundtable.core.types.debate import DebateConfig, DebateContext, ExitResult, SessionRecord, TurnResult
    from roundtable.core.types.events import DurableEvent, Event
    from roundtable.core.types.model_facts import ModelFacts, RetryNotice
    from roundtable.core.types.plan import Plan
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.core.types.storage import (
        Lease,
        LeaseOwner,
        QueueDatabase,
        SearchHit,
        SearchQuery,
        SessionFilter,
        SessionSummary,
    )

__all__ = [
    "Agent",
    "AgentToolkit",
    "AnnouncesCalls",
    "Backup",
    "CallObserver",
    "ChatModel",
    "Clock",
    "ComparingMeter",
    "ConsensusMeter",
    "DebateModeStrategy",
    "ExitCriterion",
    "ExitRound",
    "Facilitated",
    "FollowsApprovals",
    "FullText",
    "HasBackupHint",
    "HasEndpoint",
    "HasFacts",
    "HasFirstRequest",
    "HoldsQueues",
    "KeyValue",
    "Leases",
    "LimitsCalls",
    "Notify",
    "Observer",
    "Prepares",
    "PricesCalls",
    "RecordsCalls",
    "SearchingAgent",
    "SleepingClock",
    "Storage",
    "Tool",
    "TurnListener",
    "WrapsModels",
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


@runtime_checkable
class Prepares(Protocol):
    """Optional part of a `ChatModel`, for a model that must fetch or load something before its first call."""

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
        """Address that the model's calls go to."""


@runtime_checkable
class HasFacts(Protocol):
    """Optional part of a `ChatModel`: what limits, prices and deadlines need to know about it.

    Models without this part have the default facts, or those of their attributes with the names of the fields of
    `ModelFacts`.
    """

    @property
    def facts(self) -> ModelFacts:
        """The facts. A table reads the price for each call, and the rest once."""


@runtime_checkable
class WrapsModels(Protocol):
    """Optional part of a `ChatModel` that passes its calls on to other models, such as a cache, a log or a router.

    With this part, a table treats the model like a `FallbackModel`: each inner model has its own limits, retries,
    deadline and price, health checks and notices of retries reach the inner models, and an estimate counts a call of
    each. Without it, a table knows only the model itself. The facts are those of the first inner model, and all inner
    models are prepared, unless the model declares `facts` or has its own `prepare`.

    Example:
        >>> class Shout:
        ...     def __init__(self, inner):
        ...         self.inner = inner
        ...         self.provider, self.model, self.profile = inner.provider, inner.model, inner.profile
        ...
        ...     @property
        ...     def inner_models(self):
        ...         return (self.inner,)
        ...
        ...     def with_inner_models(self, models):
        ...         return Shout(*models)
        ...
        ...     async def complete(self, request):
        ...         answer = await self.inner.complete(request)
        ...         return answer.model_copy(update={"text": answer.text.upper()})
        ...
        ...     async def stream(self, request):
        ...         yield await self.complete(request)
        ...
        ...     async def aclose(self):
        ...         await self.inner.aclose()
        >>> from roundtable.providers import ScriptedModel
        >>> isinstance(Shout(ScriptedModel(["Yes."])), WrapsModels)
        True
    """

    @property
    def inner_models(self) -> Sequence[ChatModel]:
        """The models that calls are passed on to, the first choice first; at least one."""

    def with_inner_models(self, models: Sequence[ChatModel], /) -> ChatModel:
        """Return a copy of this model that passes its calls on to these models, in the order of `inner_models`.

        A copy may be made for each call, so it shares what the model keeps, such as a cache.
        """


@runtime_checkable
class AnnouncesCalls(Protocol):
    """Optional part of a `ChatModel` that makes several tries of a call, such as the models of a table."""

    def asking(
        self,
        before: Callable[[], Awaitable[None]],
        on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None,
    ) -> ChatModel:
        """Return a copy of this model that runs callbacks.

        Args:
            before: Awaited before each try; if it raises an error, the try does not start.
            on_retry: Awaited with each retry, before the wait. With this callback, a stream that was cut off may be
                retried even if it has passed on pieces, because the callback learns that they are void.
        """


@runtime_checkable
class LimitsCalls(Protocol):
    """Optional part of a `ChatModel` that retries and refuses calls itself, such as the models of a table."""

    @property
    def most_tries(self) -> int:
        """Most tries of one call, from 1."""

    @property
    def trouble(self) -> str | None:
        """Why calls fail now, such as a refused key; `None` if they may succeed."""

    @property
    def refused_at(self) -> float:
        """Time of the last refusal of the key, on the gateway clock's `monotonic`; 0 if there was none."""

    def without_retries(self, timeout_s: float, /) -> ChatModel:
        """Return a copy of this model for a test call: one try within `timeout_s` seconds, even with a refused key."""


@runtime_checkable
class PricesCalls(ChatModel, Protocol):
    """A `ChatModel` that knows the price of its calls in advance, such as the models of a table."""

    @property
    def provider_info(self) -> ProviderInfo:
        """What the provider declares; for a named endpoint, what the provider declares that it was made from."""

    @property
    def is_priced(self) -> bool:
        """Whether the price of the model is known, or the model enforces its own limit."""

    def worst_cost(self, model: str, tokens_in: int, tokens_out: int, *, searches: int = 0) -> Decimal | None:
        """Return the most US dollars that a call of a model with these tokens may cost; `None` if that is unknown."""


@runtime_checkable
class RecordsCalls(Protocol):
    """Optional part of a `ChatModel` that answers calls from a recording, such as one with a cassette."""

    def is_replayed(self, request: ChatRequest) -> bool:
        """Check whether a call will be answered from the recording, so that no rate limit delays it."""

    def is_recorded(self, request: ChatRequest) -> bool:
        """Check whether the recording contains a call, which was allowed then, so that no breaker refuses it now."""

    def deadline_missed(self, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
        """Receive the error of a call that the gateway ended at its deadline; the model only saw a cancellation.

        Args:
            request: The call.
            error: Error with which the call ended.
            shown: Pieces of text that the stream passed on before that.
        """


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


@runtime_checkable
class FollowsApprovals(Protocol):
    """Optional part of a `TurnListener`: learns which tool calls wait for approval, and how each was decided."""

    async def approval_requested(self, step: int, call: ToolCall) -> None:
        """The approver is about to be asked about a tool call from model call `step` of the turn."""

    async def approval_decided(self, step: int, call: ToolCall, *, allowed: bool, reason: str | None) -> None:
        """The approver allowed or refused the call; `reason` is why it was refused, if a reason was given."""


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


@runtime_checkable
class HasFirstRequest(Protocol):
    """Optional part of an `Agent` that answers through a chat model; `estimate` needs it.

    A turn of such an agent counts like one of a `BaseAgent`: the first request, one more after each round of the tools
    in its attribute `toolkit`, and one more if the answer cannot be read. What other agents use is unknown.
    """

    @property
    def chat_model(self) -> ChatModel:
        """The model that the agent calls; a table puts one with limits and prices into a copy of the agent."""

    def first_request(self, context: DebateContext) -> ChatRequest:
        """Return the first request of the turn `context.turn`, without tools; nothing is sent.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
        """


@runtime_checkable
class SearchingAgent(Protocol):
    """Optional part of an `Agent` that searches the web through its provider's own search."""

    def search_refused(self, session_id: str) -> None:
        """Turn the search off for a session in which the provider has already refused it.

        This is called when a session is resumed in which an answer of the agent has a warning that begins with "the
        provider refused its own web search".
        """


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


@runtime_checkable
class Facilitated(Protocol):
    """Optional part of a `DebateModeStrategy`: turns of a model that does not debate, such as one that prepares it.

    Without this part, a mode can only ask debaters. The model is that of the seat `facilitator`, or a debater's light
    model.
    """

    def needs_facilitator(self, config: DebateConfig) -> bool:
        """Whether a debate with this configuration has a facilitator."""

    def with_facilitator(self, facilitator: str) -> DebateModeStrategy:
        """Return a copy of the mode whose facilitator is the agent with this id, who is not in `view.agents`."""


class ConsensusMeter(Protocol):
    """Measures how far the positions of one round agree; if measuring fails, the round is kept."""

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure the positions of a round; the `method` of the consensus says how.

        Calls to models are charged to the session. With `groupthink`, the meter also looks for signs of groupthink.
        """


@runtime_checkable
class ComparingMeter(ConsensusMeter, Protocol):
    """A meter that also uses the agents' own comparisons with answers of earlier rounds."""

    compares_earlier: ClassVar[bool]
    """Whether `measure` takes the argument `earlier`; set it to `True` in the class."""

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
            session_id: The session that calls are charged to.
            groupthink: Whether to look for signs of groupthink.
            earlier: Earlier answers by turn, to which `AgentResponse.compared` may refer.
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


@runtime_checkable
class FullText(Protocol):
    """Optional part of a `Storage`: full-text search in the agents' positions."""

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Return the positions that contain all words: by session, newest first, in the order of each session."""


@runtime_checkable
class Backup(Protocol):
    """Optional part of a `Storage`: a copy of all its data, made while the storage is in use.

    A storage that needs other tools for a backup names these tools instead: see `HasBackupHint`.
    """

    async def backup(self, path: str | PathLike[str]) -> None:
        """Write a copy to a new file: one consistent state of the storage, complete or not at all.

        Raises:
            StorageError: The file exists, or cannot be written.
        """


@runtime_checkable
class HoldsQueues(Protocol):
    """Optional part of a `Storage`: a fleet can keep its queue beside the sessions."""

    def queue_database(self) -> QueueDatabase:
        """Return the database of the queue; nothing is opened or created."""


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
        """One sentence without secrets, such as a command to run; the hint of the error when a backup is requested."""


@runtime_checkable
class Leases(Protocol):
    """Optional part of a `Storage`: finds out who runs a session, without taking its lease."""

    async def holder(self, session_id: str, *, tenant: str = "default") -> LeaseOwner | None:
        """Return the lease's owner; `None` if there is no lease, it has expired, or its process is provably dead."""


@runtime_checkable
class Notify(Protocol):
    """Optional part of a `Storage`: notices that other processes have stored events.

    Without it, followers of a session read its log four times a second.
    """

    def listen(
        self, session_id: str, heard: Callable[[], object], *, tenant: str = "default"
    ) -> AbstractContextManager[None]:
        """Call `heard` when another process may have stored events of a session, while the block is open.

        The storage may call `heard` on any thread, also on several threads at once, and on a thread without an event
        loop. So `heard` must be thread-safe, return at once, and not use the storage. It usually wakes the event loop
        that reads the log, for example with `loop.call_soon_threadsafe(wake.set)`. If `heard` raises, the storage logs
        the error and still calls the other listeners.

        Entering and leaving the block must not wait for the network, because both happen in event loops. After the
        block, `heard` is not called again; only a call that has already started may still run.

        Notices may be late or lost, so the log must still be read now and then. One notice may announce several events,
        and a notice may come although there is no new event. Appends through this same object need no notice.

        Args:
            session_id: The session; it does not have to exist.
            heard: Called without arguments; its result is ignored.
            tenant: Tenant of the session; another tenant's session with the same id is a different session.
        """


class KeyValue(Protocol):
    """Small JSON values by key, each with a tenant and, optionally, an expiry."""

    async def get(self, key: str, *, tenant: str = "default") -> JsonValue:
        """Return a value; `None` if there is no value or it has expired."""

    async def put(self, key: str, value: JsonValue, *, ttl_s: float | None = None, tenant: str = "default") -> None:
        """Store a value, replacing an existing one."""

    async def delete(self, key: str, *, tenant: str = "default") -> bool:
        """Delete a value; return whether there was one."""

    async def scan(self, prefix: str = "", *, tenant: str = "default") -> tuple[tuple[str, JsonValue], ...]:
        """Return the keys with this prefix and their values, in key order."""

    async def update(
        self, key: str, fn: Callable[[JsonValue], JsonValue], *, ttl_s: float | None = None, tenant: str = "default"
    ) -> JsonValue:
        """Replace a value by `fn(current value)` in one transaction; return the new value."""


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


@runtime_checkable
class CallObserver(Protocol):
    """An observer that also receives each model call of the `Roundtable`, in debates and outside of them."""

    def notify_call(self, call: ModelCall) -> None:
        """Receive one try of a call after it has ended, before the events that result from it.

        This method is called in the event loop, so it must not wait or block. An exception that it raises is logged and
        changes nothing.
        """
