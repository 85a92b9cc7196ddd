"""What plugins may implement besides their protocol; see `roundtable.protocols`. No code runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from roundtable.core.protocols import ChatModel, ConsensusMeter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from decimal import Decimal
    from os import PathLike

    from roundtable.core.errors import RoundtableError
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.chat import (
        ChatRequest,
        ModelCall,
        ToolCall,
    )
    from roundtable.core.types.consensus import Measured
    from roundtable.core.types.debate import DebateConfig, DebateContext
    from roundtable.core.types.model_facts import ModelFacts, RetryNotice
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.core.types.storage import (
        LeaseOwner,
        QueueDatabase,
        SearchHit,
        SearchQuery,
    )

__all__ = [
    "AnnouncesCalls",
    "Backup",
    "CallObserver",
    "ComparingMeter",
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
    "Prepares",
    "PricesCalls",
    "RecordsCalls",
    "SearchingAgent",
    "WrapsModels",
]


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


@runtime_checkable
class FollowsApprovals(Protocol):
    """Optional part of a `TurnListener`: learns which tool calls wait for approval, and how each was decided."""

    async def approval_requested(self, step: int, call: ToolCall) -> None:
        """The approver is about to be asked about a tool call from model call `step` of the turn."""

    async def approval_decided(self, step: int, call: ToolCall, *, allowed: bool, reason: str | None) -> None:
        """The approver allowed or refused the call; `reason` is why it was refused, if a reason was given."""


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


@runtime_checkable
class CallObserver(Protocol):
    """An observer that also receives each model call of the `Roundtable`, in debates and outside of them."""

    def notify_call(self, call: ModelCall) -> None:
        """Receive one try of a call after it has ended, before the events that result from it.

        This method is called in the event loop, so it must not wait or block. An exception that it raises is logged and
        changes nothing.
        """
