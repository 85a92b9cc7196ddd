"""The table and its methods, without `await`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from roundtable._portal import shared_portal
from roundtable.api.table import Roundtable as AsyncRoundtable
from roundtable.sync.streams import DebateHandle, DebateStream, Watch, made_on_loop
from roundtable.sync.teams import TeamTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from os import PathLike
    from pathlib import Path
    from types import TracebackType

    from roundtable.api.changes import OnChange
    from roundtable.api.files import ExportFormat
    from roundtable.api.many import OnError
    from roundtable.api.options import DebateOptions, Perspectives, SeatLike
    from roundtable.api.profiles import ProfileLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.tools import ToolLike
    from roundtable.exits import Exit
    from roundtable.gateway import StreamingModel
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.protocols import ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.providers import Cassette
    from roundtable.result import DebateResult
    from roundtable.results import Results
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
        SynthesisResult,
    )

__all__ = ["Roundtable", "debate_sync"]


class Roundtable(TeamTable):
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
        profiles: Sequence[ProfileLike] = (),
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
        self._portal = shared_portal()
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
        synthesize: bool = False,
        skip_rounds_when: float | None = None,
        deadline_s: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Hold a debate and give its result."""
        given = {name: value for name, value in locals().items() if name != "self"}
        return self._portal.call(lambda: self._table.debate(**given))

    def debate_many(
        self,
        topics: Sequence[str],
        *,
        modes: Sequence[str | DebateModeStrategy] = ("collaborative",),
        concurrency: int = 8,
        on_error: OnError = "record",
        **options: Unpack[DebateOptions],
    ) -> Results:
        """Hold a debate of every question in every mode, a few at a time, and give all results."""
        return self._portal.call(
            lambda: self._table.debate_many(topics, modes=modes, concurrency=concurrency, on_error=on_error, **options)
        )

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Give the most that a debate may take, without any call."""
        return self._table.estimate(topic, most_calls=most_calls, **options)

    def stream(self, topic: str, **options: Unpack[DebateOptions]) -> DebateStream:
        """Hold a debate and give its events as they happen; enter it with `with`."""
        return DebateStream(self._table.stream(topic, **options), self._portal)

    def start(self, topic: str, *, step: bool = False, **options: Unpack[DebateOptions]) -> DebateHandle:
        """Begin a debate that runs by itself while the table is entered."""
        return DebateHandle(self._portal.call(lambda: self._table.start(topic, step=step, **options)), self._portal)

    def carry_on(
        self,
        session_id: str,
        *,
        rounds: int = 0,
        step: bool = False,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        on_change: OnChange = "error",
    ) -> DebateHandle:
        """Go on with a stored session that then runs by itself while the table is entered."""
        handle = self._portal.call(
            lambda: self._table.carry_on(
                session_id,
                rounds=rounds,
                step=step,
                focus_question=focus_question,
                context_results=context_results,
                force=force,
                budget=budget,
                deadline_s=deadline_s,
                on_change=on_change,
            )
        )
        return DebateHandle(handle, self._portal)

    def watch(self, session_id: str, *, after: int = 0) -> Watch:
        """Follow a session that runs here or elsewhere, from the event after number `after`."""
        return Watch(made_on_loop(self._portal, lambda: self._table.watch(session_id, after=after)), self._portal)

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

    def start_fork(
        self,
        session_id: str,
        *,
        at_round: int,
        step: bool = False,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateHandle:
        """Fork a session, and let the new one run by itself while the table is entered."""
        handle = self._portal.call(
            lambda: self._table.start_fork(
                session_id, at_round=at_round, step=step, context_results=context_results, **changes
            )
        )
        return DebateHandle(handle, self._portal)

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

    def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Have one model put a session together; what is stored is given again."""
        return self._portal.call(lambda: self._table.synthesize(session_id, by=by))

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

    def export(self, session_id: str, format: ExportFormat | str = "markdown") -> str:
        """Give a stored session as text."""
        return self._portal.call(lambda: self._table.export(session_id, format))

    def export_file(
        self, session_id: str, path: str | PathLike[str], *, format: ExportFormat | str | None = None
    ) -> Path:
        """Write a stored session to a file, and give the file's path."""
        return self._portal.call(lambda: self._table.export_file(session_id, path, format=format))

    def import_(self, source: str | bytes | PathLike[str], *, new_id: bool = False, run_programs: bool = False) -> str:
        """Store a session that was exported as JSON, and give its id."""
        return self._portal.call(lambda: self._table.import_(source, new_id=new_id, run_programs=run_programs))

    def for_tenant(self, tenant: str, *, observers: Sequence[Observer | Callable[[Event], None]] = ()) -> Roundtable:
        """Give a table with the sessions of somebody else and all else of this one."""
        theirs = Roundtable()
        theirs._table = self._table.for_tenant(tenant, observers=observers)
        return theirs

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
    topic: str,
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    plugins: PluginChoice = None,
    storage: str | Storage | None = None,
    **options: Unpack[DebateOptions],
) -> DebateResult:
    """Hold one debate with what the environment offers, in a script or a notebook.

    See `roundtable.debate` for the arguments, and `Roundtable.debate` for the result and the errors.
    """
    with Roundtable(providers=providers, plugins=plugins, storage=storage) as table:
        return table.debate(topic, **options)
