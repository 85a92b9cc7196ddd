"""Streams, handles and conversations without `await`, for `roundtable.sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar, Unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from roundtable._portal import Portal
    from roundtable.api.converse import ConverseOptions
    from roundtable.api.handle import DebateHandle as AsyncHandle
    from roundtable.api.stream import DebateStream as AsyncStream
    from roundtable.api.stream import Watch as AsyncWatch
    from roundtable.api.table import Roundtable as AsyncRoundtable
    from roundtable.result import DebateResult
    from roundtable.types import Budget, ChatMessage, Event, JsonValue, RunningCalls
    from roundtable.types.profiles import AgentProfile
    from roundtable.types.teams import TeamOrder

__all__ = ["DebateHandle", "DebateStream", "TeamTable", "Watch", "made"]

T = TypeVar("T")


class _Events:
    """Iterates over events of the loop behind the portal."""

    def __init__(self, source: AsyncStream | AsyncWatch, portal: Portal) -> None:
        self._source = source
        self._portal = portal

    def __enter__(self) -> Self:
        self._portal.call(self._source.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(lambda: self._source.__aexit__(None, None, None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._portal.call(self._next)
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> Event | None:
        try:
            return await self._source.__anext__()
        except StopAsyncIteration:
            return None


class DebateStream(_Events):
    """Runs a debate and gives its events as they happen; enter it with `with`, then iterate."""

    _source: AsyncStream

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._source.session_id

    @property
    def result(self) -> DebateResult:
        """The result, once the debate is over or the block was left."""
        return self._source.result


class Watch(_Events):
    """Follows a session that runs here or in another process; never runs it."""

    _source: AsyncWatch

    def close(self) -> None:
        """Stop following; idempotent."""

        async def close() -> None:
            self._source.close()

        self._portal.call(close)


class DebateHandle:
    """A running debate, made by `Roundtable.start`."""

    def __init__(self, handle: AsyncHandle, portal: Portal) -> None:
        self._handle = handle
        self._portal = portal

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._handle.session_id

    @property
    def done(self) -> bool:
        """Whether the debate is over."""
        return self._handle.done

    def events(self, *, after: int = 0) -> Watch:
        """Follow the debate from the event after number `after`."""
        return Watch(made(self._portal, lambda: self._handle.events(after=after)), self._portal)

    def result(self) -> DebateResult:
        """Wait for the end and give the result; raises what `Roundtable.debate` would have raised."""
        return self._portal.call(self._handle.result)

    def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause."""
        self._portal.call(lambda: self._handle.pause(running=running))

    def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        self._portal.call(lambda: self._handle.stop(running=running))


def made(portal: Portal, make: Callable[[], T]) -> T:
    """Make an object on the portal's loop, which some objects bind to when they are made."""

    async def run() -> T:
        return make()

    return portal.call(run)


class TeamTable:
    """Conversations of teams without `await`; see `roundtable.Roundtable` for arguments, results and errors."""

    _portal: Portal
    _table: AsyncRoundtable

    def converse(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        rounds: int = 2,
        order: TeamOrder = "sequential",
        initiator: AgentProfile | None = None,
        summarizer: AgentProfile | None = None,
        timeout_s: float | None = None,
        budget: Budget | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Have a team of specialised agents work on a request."""
        return self._portal.call(
            lambda: self._table.converse(
                agents=agents,
                messages=messages,
                rounds=rounds,
                order=order,
                initiator=initiator,
                summarizer=summarizer,
                timeout_s=timeout_s,
                budget=budget,
                metadata=metadata,
            )
        )

    def stream_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateStream:
        """Have a team work and give its events as they happen; enter it with `with`."""
        stream = self._table.stream_conversation(agents=agents, messages=messages, **options)
        return DebateStream(stream, self._portal)

    def start_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateHandle:
        """Begin a conversation that runs by itself while the table is entered."""

        async def start() -> AsyncHandle:
            return await self._table.start_conversation(agents=agents, messages=messages, **options)

        return DebateHandle(self._portal.call(start), self._portal)
