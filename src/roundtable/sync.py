"""The facade for scripts and notebooks: the same methods, without `await`.

Works inside a running event loop too, as in a notebook, since everything runs on a loop of its own.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from roundtable._portal import Portal
from roundtable.api.table import Roundtable as AsyncRoundtable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from os import PathLike
    from pathlib import Path
    from types import TracebackType

    from roundtable.api.changes import OnChange
    from roundtable.api.files import ExportFormat
    from roundtable.api.handle import DebateHandle as AsyncHandle
    from roundtable.api.options import DebateOptions, Perspectives, SeatLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.stream import DebateStream as AsyncStream
    from roundtable.api.stream import Watch as AsyncWatch
    from roundtable.api.tools import ToolLike
    from roundtable.exits import Exit
    from roundtable.gateway import StreamingModel
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.protocols import ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.providers import Cassette
    from roundtable.result import DebateResult
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.types import (
        Budget,
        ContextResult,
        Estimate,
        Event,
        JsonValue,
        ProviderConfig,
        RunningCalls,
        SearchHit,
        SessionFilter,
        SessionStatus,
        SessionSummary,
    )

__all__ = ["DebateHandle", "DebateStream", "Roundtable", "Watch", "debate_sync"]

T = TypeVar("T")


@cache
def _shared_portal() -> Portal:
    """Give the one portal of this process; several would be several threads for nothing."""
    return Portal()


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
        return Watch(_made(self._portal, lambda: self._handle.events(after=after)), self._portal)

    def result(self) -> DebateResult:
        """Wait for the end and give the result; raises what `Roundtable.debate` would have raised."""
        return self._portal.call(self._handle.result)

    def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause."""
        self._portal.call(lambda: self._handle.pause(running=running))

    def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        self._portal.call(lambda: self._handle.stop(running=running))


def _made(portal: Portal, make: Callable[[], T]) -> T:
    """Make an object on the portal's loop, which some objects bind to when they are made."""

    async def run() -> T:
        return make()

    return portal.call(run)


class Roundtable:
    """`roundtable.Roundtable` without `await`; see there for arguments, results and errors.

    Example:
        >>> from roundtable.testing import scripted_agents
        >>> with Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        ...     table.debate("Tea or coffee?", rounds=1).answer
        'Tea'
    """

    def __init__(
        self,
        agents: Sequence[AgentLike] | None = None,
        *,
        providers: Mapping[str, ProviderConfig] | None = None,
        storage: str | Storage | None = None,
        tools: Sequence[ToolLike] = (),
        analyzer: str | ConsensusMeter = "auto",
        seats: Mapping[str, SeatLike | Sequence[SeatLike]] | None = None,
        budget: Budget | None = None,
        quorum: int | None = None,
        concurrency: int = 8,
        timeout_s: float | None = None,
        turn_timeout_s: float | None = None,
        seed: int = 0,
        observers: Sequence[str | Observer | Callable[[Event], None]] = (),
        plugins: PluginChoice = None,
        prices: Mapping[str, PriceLike] | None = None,
        cassette: str | PathLike[str] | Cassette | None = None,
        tenant: str = "default",
        settings: Settings | None = None,
    ) -> None:
        # The same arguments as over there, which a test checks.
        given = {name: value for name, value in locals().items() if name != "self"}
        self._portal = _shared_portal()
        self._table = AsyncRoundtable(**given)
        self._context: AbstractContextManager[AsyncRoundtable] | None = None

    def __repr__(self) -> str:
        return f"sync.{self._table!r}"

    def debate(
        self,
        topic: str,
        *,
        mode: str | DebateModeStrategy = "collaborative",
        rounds: int = 3,
        options: Sequence[str] | None = None,
        decide: str | Rule = "plurality",
        exit_when: Exit | None = None,
        exit_on_consensus: bool | None = None,
        focus_question: str | None = None,
        perspectives: Perspectives = None,
        agents: Sequence[AgentLike] | None = None,
        budget: Budget | None = None,
        baseline: bool = False,
        skip_rounds_when: float | None = None,
        deadline_s: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Hold a debate and give its result."""
        return self._portal.call(
            lambda: self._table.debate(
                topic,
                mode=mode,
                rounds=rounds,
                options=options,
                decide=decide,
                exit_when=exit_when,
                exit_on_consensus=exit_on_consensus,
                focus_question=focus_question,
                perspectives=perspectives,
                agents=agents,
                budget=budget,
                baseline=baseline,
                skip_rounds_when=skip_rounds_when,
                deadline_s=deadline_s,
                metadata=metadata,
            )
        )

    def estimate(self, topic: str, **options: Unpack[DebateOptions]) -> Estimate:
        """Give the most that a debate may take, without any call."""
        return self._table.estimate(topic, **options)

    def stream(self, topic: str, **options: Unpack[DebateOptions]) -> DebateStream:
        """Hold a debate and give its events as they happen; enter it with `with`."""
        return DebateStream(self._table.stream(topic, **options), self._portal)

    def start(self, topic: str, **options: Unpack[DebateOptions]) -> DebateHandle:
        """Begin a debate that runs by itself while the table is entered."""
        return DebateHandle(self._portal.call(lambda: self._table.start(topic, **options)), self._portal)

    def watch(self, session_id: str, *, after: int = 0) -> Watch:
        """Follow a session that runs here or elsewhere, from the event after number `after`."""
        return Watch(_made(self._portal, lambda: self._table.watch(session_id, after=after)), self._portal)

    def resume(
        self,
        session_id: str,
        *,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Go on with a session that was paused, broke, or whose process died."""
        return self._portal.call(
            lambda: self._table.resume(
                session_id,
                budget=budget,
                deadline_s=deadline_s,
                context_results=context_results,
                force=force,
                on_change=on_change,
            )
        )

    def fork(
        self,
        session_id: str,
        *,
        at_round: int,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateResult:
        """Hold a "what if": a new session that shares the past of another up to a round, and goes on from there."""
        return self._portal.call(
            lambda: self._table.fork(session_id, at_round=at_round, context_results=context_results, **changes)
        )

    def extend(
        self,
        session_id: str,
        *,
        rounds: int = 1,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Hold further rounds of a session."""
        return self._portal.call(
            lambda: self._table.extend(
                session_id,
                rounds=rounds,
                focus_question=focus_question,
                context_results=context_results,
                force=force,
                on_change=on_change,
            )
        )

    def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause, whoever runs it."""
        self._portal.call(lambda: self._table.pause(session_id, running=running))

    def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good, whoever runs it."""
        self._portal.call(lambda: self._table.stop(session_id, running=running))

    def session(self, session_id: str) -> DebateResult:
        """Give the result of a stored session as it stands now."""
        return self._portal.call(lambda: self._table.session(session_id))

    def sessions(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List stored sessions, newest first."""
        return self._portal.call(lambda: self._table.sessions(wanted))

    def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning, the newest session first."""
        return self._portal.call(lambda: self._table.search(text, session_id=session_id, limit=limit))

    def delete(self, session_id: str) -> None:
        """Remove a session and all that was said in it."""
        self._portal.call(lambda: self._table.delete(session_id))

    def prune(self, *, before: datetime, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a moment; give their number."""
        return self._portal.call(lambda: self._table.prune(before=before, status=status))

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy all that the storage holds to a new file, while debates go on."""
        self._portal.call(lambda: self._table.backup(path))

    def export(self, session_id: str, format: ExportFormat = "markdown") -> str:
        """Give a stored session as text."""
        return self._portal.call(lambda: self._table.export(session_id, format))

    def export_file(self, session_id: str, path: str | PathLike[str], *, format: ExportFormat | None = None) -> Path:
        """Write a stored session to a file, and give the file's path."""
        return self._portal.call(lambda: self._table.export_file(session_id, path, format=format))

    def import_(self, source: str | bytes | PathLike[str], *, new_id: bool = False, run_programs: bool = False) -> str:
        """Store a session that was exported as JSON, and give its id."""
        return self._portal.call(lambda: self._table.import_(source, new_id=new_id, run_programs=run_programs))

    def chat_model(self, name: str) -> StreamingModel:
        """Give a guarded model by `"provider:model"`."""
        return self._table.chat_model(name)

    def close(self) -> None:
        """Release connections, models and files; idempotent. Stands for `aclose`."""
        self._portal.call(self._table.aclose)

    def __enter__(self) -> Self:
        context = self._portal.wrap(self._table)
        context.__enter__()
        self._context = context
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(kind, error, trace)


def debate_sync(
    topic: str, *, plugins: PluginChoice = None, storage: str | Storage | None = None, **options: Unpack[DebateOptions]
) -> DebateResult:
    """Hold one debate with what the environment offers, in a script or a notebook.

    See `roundtable.debate` for the arguments, and `Roundtable.debate` for the result and the errors.
    """
    with Roundtable(plugins=plugins, storage=storage) as table:
        return table.debate(topic, **options)
