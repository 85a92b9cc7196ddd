"""The blocking facade for scripts and notebooks: the same methods, without `await`.

It also works inside a running event loop, as in a notebook, because it has its own loop in another thread.
"""

# Written by `tools/twins.py` from the asynchronous classes; change those.

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from roundtable.api.sync_fronts import SyncFrontTable
from roundtable.api.table import Roundtable as AsyncRoundtable
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.portal import BlockingIterator, shared_portal
from roundtable.core.types.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from os import PathLike
    from pathlib import Path
    from types import TracebackType
    from typing import Literal

    from roundtable.api.changes import OnChange
    from roundtable.api.files import ExportFormat
    from roundtable.api.many import DebateQueue, OnError
    from roundtable.api.options import ConverseOptions, DebateOptions, Perspectives
    from roundtable.api.profiles import ProfileLike
    from roundtable.api.runs import DebateHandle as AsyncHandle
    from roundtable.api.runs import DebateStream as AsyncStream
    from roundtable.api.runs import Watch as AsyncWatch
    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.table_options import SeatLike
    from roundtable.api.tools import ToolLike
    from roundtable.bench.arms import Extract
    from roundtable.bench.questions import Question
    from roundtable.bench.report import StudyReport
    from roundtable.core.base.portal import Portal
    from roundtable.core.engine.patience import WaitFor
    from roundtable.core.protocols import ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.core.record.chain import ChainHead
    from roundtable.core.types.agents import AgentProfile, ProviderConfig
    from roundtable.core.types.answers import ContextResult
    from roundtable.core.types.attachments import AttachmentLike
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import ModeName, RuleName, SessionStatus
    from roundtable.core.types.events import RunningCalls
    from roundtable.core.types.request import DebateRequest
    from roundtable.core.types.storage import SearchHit, SessionFilter, SessionSummary
    from roundtable.core.types.teams import ChatMessage, TeamOrder
    from roundtable.exits import Exit
    from roundtable.gateway import StreamingModel
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.providers import Cassette
    from roundtable.record.verification import Verification
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.frames import Frame, FrameBackend, FrameKind
    from roundtable.results.many import Progress, RecoveredSession, Results
    from roundtable.results.reruns import RerunAudit, RerunChange
    from roundtable.scoring import Normalise, Rule
    from roundtable.settings import Settings
    from roundtable.tools import Approver

__all__ = ["DebateHandle", "DebateStream", "Roundtable", "Watch", "debate_sync", "run_study"]


class DebateStream(BlockingIterator[Event]):
    """Runs a debate and yields its events as they happen; enter it with `with`, then iterate."""

    _source: AsyncStream

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._source.session_id

    @property
    def result(self) -> DebateResult:
        """The result, once the debate is over or the block was left."""
        return self._source.result


class Watch(BlockingIterator[Event]):
    """Iterator over the events of a session that runs in this or another process; it never runs the session itself."""

    _source: AsyncWatch

    def close(self) -> None:
        """Stop following; idempotent."""
        self._portal.make(self._source.close)


@explains_arguments
class DebateHandle:
    """A running debate, returned by `Roundtable.start`, `start_resume` or `start_fork`."""

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
        """Follow the debate from the event after number `after`, until it ends here for any reason."""
        return Watch(self._portal.make(lambda: self._handle.events(after=after)), self._portal)

    def begun(self) -> None:
        """Wait until the debate has begun to run here, or is over."""
        self._portal.call(self._handle.begun)

    def wait(self) -> None:
        """Wait until the debate is over, whether it succeeds or fails; `result` returns the outcome."""
        self._portal.call(self._handle.wait)

    def result(self) -> DebateResult:
        """Wait for the end and return the result, or raise the error that `Roundtable.debate` would raise."""
        return self._portal.call(self._handle.result)

    def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause; `Roundtable.resume` continues it."""
        self._portal.call(lambda: self._handle.pause(running=running))

    def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        self._portal.call(lambda: self._handle.stop(running=running))


@explains_arguments
class Roundtable(SyncFrontTable):
    """The blocking version of `roundtable.Roundtable`; see there for arguments, results and errors.

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
        tool_dependencies: object = None,
        approve_tools: Approver | None = None,
        profiles: Sequence[ProfileLike] = (),
        analyzer: str | ConsensusMeter = "auto",
        search: SearchLike = "auto",
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
        self._portal = shared_portal()
        self._table = AsyncRoundtable(
            agents,
            providers=providers,
            storage=storage,
            tools=tools,
            tool_dependencies=tool_dependencies,
            approve_tools=approve_tools,
            profiles=profiles,
            analyzer=analyzer,
            search=search,
            seats=seats,
            budget=budget,
            quorum=quorum,
            concurrency=concurrency,
            timeout_s=timeout_s,
            turn_timeout_s=turn_timeout_s,
            seed=seed,
            observers=observers,
            plugins=plugins,
            prices=prices,
            cassette=cassette,
            tenant=tenant,
            settings=settings,
        )
        self._context: AbstractContextManager[AsyncRoundtable] | None = None

    def __repr__(self) -> str:
        return f"sync.{self._table!r}"

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

    def close(self) -> None:
        """Release connections, models and files; idempotent. The blocking version of `aclose`."""
        self._portal.call(self._table.aclose)

    @property
    def may_be_extended(self) -> bool:
        """Whether this table may have parts that are neither built in nor from installed plugins; nothing is loaded."""
        return self._table.may_be_extended

    def debate(
        self,
        topic: str,
        *,
        mode: ModeName | DebateModeStrategy = "collaborative",
        rounds: int = 3,
        agents: Sequence[AgentLike] | None = None,
        options: Sequence[str] | None = None,
        attachments: Sequence[AttachmentLike] = (),
        decide: RuleName | Rule | None = None,
        vote: bool | Literal["every"] = False,
        exit_when: str | Exit | None = None,
        exit_on_consensus: bool | None = None,
        quorum: int | None = None,
        focus_question: str | None = None,
        perspectives: Perspectives = None,
        search: SearchLike | None = None,
        baseline: bool = False,
        synthesize: bool = False,
        claims: bool = False,
        answer_schema: Mapping[str, JsonValue] | type | None = None,
        skip_rounds_when: float | None = None,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Run a debate and return its result."""
        return self._portal.call(
            lambda: self._table.debate(
                topic,
                mode=mode,
                rounds=rounds,
                agents=agents,
                options=options,
                attachments=attachments,
                decide=decide,
                vote=vote,
                exit_when=exit_when,
                exit_on_consensus=exit_on_consensus,
                quorum=quorum,
                focus_question=focus_question,
                perspectives=perspectives,
                search=search,
                baseline=baseline,
                synthesize=synthesize,
                claims=claims,
                answer_schema=answer_schema,
                skip_rounds_when=skip_rounds_when,
                budget=budget,
                deadline_s=deadline_s,
                metadata=metadata,
            )
        )

    def debate_once(
        self,
        session_id: str,
        topic: str,
        *,
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
        **options: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run a debate at most once under an id that you choose; a second call continues it or returns its result."""
        return self._portal.call(
            lambda: self._table.debate_once(session_id, topic, wait_for=wait_for, outage_s=outage_s, **options)
        )

    def describe(self, topic: str, **options: Unpack[DebateOptions]) -> JsonObject:
        """Return what determines a debate, as JSON: its settings and its agents; see `debate` for the arguments."""
        return self._table.describe(topic, **options)

    def debate_many(
        self,
        topics: Sequence[str | DebateRequest | Mapping[str, JsonValue]],
        *,
        modes: Sequence[ModeName | DebateModeStrategy] = ("collaborative",),
        concurrency: int = 8,
        on_error: OnError = "record",
        name: str | None = None,
        on: DebateQueue | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        wait_for: WaitFor = "all",
        outage_s: float = 600.0,
        adapt: bool = True,
        **options: Unpack[DebateOptions],
    ) -> Results:
        """Run a debate of every question in every mode, a few at a time, and return all results."""
        return self._portal.call(
            lambda: self._table.debate_many(
                topics,
                modes=modes,
                concurrency=concurrency,
                on_error=on_error,
                name=name,
                on=on,
                on_progress=on_progress,
                wait_for=wait_for,
                outage_s=outage_s,
                adapt=adapt,
                **options,
            )
        )

    def resume_many(
        self,
        results: Results,
        *,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        concurrency: int = 8,
        on_error: OnError = "record",
        on_progress: Callable[[Progress], None] | None = None,
        wait_for: WaitFor = "all",
        outage_s: float = 600.0,
        adapt: bool = True,
    ) -> Results:
        """Continue the unfinished debates of many, a few at a time, and return all results in the same order."""
        return self._portal.call(
            lambda: self._table.resume_many(
                results,
                budget=budget,
                deadline_s=deadline_s,
                concurrency=concurrency,
                on_error=on_error,
                on_progress=on_progress,
                wait_for=wait_for,
                outage_s=outage_s,
                adapt=adapt,
            )
        )

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Return the most that a debate may consume, without any call; see `debate` for the arguments."""
        return self._table.estimate(topic, most_calls=most_calls, **options)

    def stream(self, topic: str, **options: Unpack[DebateOptions]) -> DebateStream:
        """Run a debate and yield its events as they happen; see `debate` for the arguments."""
        return DebateStream(self._portal.make(lambda: self._table.stream(topic, **options)), self._portal)

    def stream_fork(self, session_id: str, *, at_round: int, **changes: Unpack[DebateOptions]) -> DebateStream:
        """Fork a session, run the new one and yield its events as they happen; see `fork` for the arguments."""
        return DebateStream(
            self._portal.make(lambda: self._table.stream_fork(session_id, at_round=at_round, **changes)), self._portal
        )

    def start(
        self,
        topic: str,
        *,
        step: bool = False,
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
        **options: Unpack[DebateOptions],
    ) -> DebateHandle:
        """Start a debate in the background, while the table is entered; see `debate` for the other arguments."""
        return DebateHandle(
            self._portal.call(
                lambda: self._table.start(topic, step=step, wait_for=wait_for, outage_s=outage_s, **options)
            ),
            self._portal,
        )

    def watch(self, session_id: str, *, after: int = 0) -> Watch:
        """Follow a session that runs here or in another process, from the event after number `after`."""
        return Watch(self._portal.make(lambda: self._table.watch(session_id, after=after)), self._portal)

    def chat_model(self, name: str) -> StreamingModel:
        """Return a guarded model by `"provider:model"`."""
        return self._table.chat_model(name)

    def reset_breakers(self) -> None:
        """Close all circuit breakers, so that the next call to every provider is made."""
        self._portal.make(self._table.reset_breakers)

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
        """Run a team of specialised agents on a request."""
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
        """Run a team and yield its events as they happen; see `converse` for the arguments."""
        return DebateStream(
            self._portal.make(lambda: self._table.stream_conversation(agents=agents, messages=messages, **options)),
            self._portal,
        )

    def start_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateHandle:
        """Start a conversation in the background, while the table is entered; see `converse` for the arguments."""
        return DebateHandle(
            self._portal.call(lambda: self._table.start_conversation(agents=agents, messages=messages, **options)),
            self._portal,
        )

    def start_resume(
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
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
    ) -> DebateHandle:
        """Continue a stored session in the background, while the table is entered."""
        return DebateHandle(
            self._portal.call(
                lambda: self._table.start_resume(
                    session_id,
                    rounds=rounds,
                    step=step,
                    focus_question=focus_question,
                    context_results=context_results,
                    force=force,
                    budget=budget,
                    deadline_s=deadline_s,
                    on_change=on_change,
                    wait_for=wait_for,
                    outage_s=outage_s,
                )
            ),
            self._portal,
        )

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
        """Continue a session that was paused, failed, or whose process died."""
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

    def recover(
        self, *, concurrency: int = 8, cancelled: bool = True, on_change: OnChange = "error"
    ) -> tuple[RecoveredSession, ...]:
        """Continue all sessions that an ended process left unfinished, and wait for their ends."""
        return self._portal.call(
            lambda: self._table.recover(concurrency=concurrency, cancelled=cancelled, on_change=on_change)
        )

    def fork(
        self,
        session_id: str,
        *,
        at_round: int,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run a "what if": a new session that shares another session's past up to a round, and continues from there."""
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
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
        **changes: Unpack[DebateOptions],
    ) -> DebateHandle:
        """Fork a session as `fork` does, and run the new session in the background, while the table is entered."""
        return DebateHandle(
            self._portal.call(
                lambda: self._table.start_fork(
                    session_id,
                    at_round=at_round,
                    step=step,
                    context_results=context_results,
                    wait_for=wait_for,
                    outage_s=outage_s,
                    **changes,
                )
            ),
            self._portal,
        )

    def reread(self, session_id: str) -> DebateResult:
        """Read the answers of a completed debate again, by the present rules, and store a new session."""
        return self._portal.call(lambda: self._table.reread(session_id))

    def rerun(
        self,
        session_id: str,
        *,
        times: int = 5,
        change: RerunChange = "seats",
        without: str | None = None,
        concurrency: int = 4,
        budget: Budget | None = None,
    ) -> RerunAudit:
        """Repeat the last complete round with a change, and count how often the answer stays the same."""
        return self._portal.call(
            lambda: self._table.rerun(
                session_id, times=times, change=change, without=without, concurrency=concurrency, budget=budget
            )
        )

    def estimate_rerun(
        self, session_id: str, *, times: int = 5, change: RerunChange = "seats", without: str | None = None
    ) -> Estimate:
        """Return the most that `rerun` may consume, without any call; see there for the arguments."""
        return self._portal.call(
            lambda: self._table.estimate_rerun(session_id, times=times, change=change, without=without)
        )

    def extend(
        self,
        session_id: str,
        *,
        rounds: int = 1,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Run further rounds of a session."""
        return self._portal.call(
            lambda: self._table.extend(
                session_id,
                rounds=rounds,
                focus_question=focus_question,
                context_results=context_results,
                force=force,
                budget=budget,
                deadline_s=deadline_s,
                on_change=on_change,
            )
        )

    def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Write the synthesis of a session with one model and store it; a stored synthesis is returned at no cost."""
        return self._portal.call(lambda: self._table.synthesize(session_id, by=by))

    def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause, in any process that runs it: no further call starts."""
        self._portal.call(lambda: self._table.pause(session_id, running=running))

    def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good, in any process that runs it; it ends as completed."""
        self._portal.call(lambda: self._table.stop(session_id, running=running))

    def session(self, session_id: str) -> DebateResult:
        """Return the current result of a stored session; no model is called."""
        return self._portal.call(lambda: self._table.session(session_id))

    def prompt_texts(self, session_id: str) -> dict[str, str]:
        """Return the texts of the mode's instructions with which a session started."""
        return self._portal.call(lambda: self._table.prompt_texts(session_id))

    def sessions(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List stored sessions, newest first: all of them, or as many as the `limit` of the filter allows."""
        return self._portal.call(lambda: self._table.sessions(wanted))

    def frames(
        self, kind: FrameKind = "turns", backend: FrameBackend = "pandas", *, wanted: SessionFilter | None = None
    ) -> Frame:
        """Return the turns, sessions, votes, pairs or events of stored sessions as a frame, newest session first."""
        return self._portal.call(lambda: self._table.frames(kind, backend, wanted=wanted))

    def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Search for words in positions and their reasoning; hits in newer sessions come first."""
        return self._portal.call(lambda: self._table.search(text, session_id=session_id, limit=limit))

    def delete(self, session_id: str, *, force: bool = False) -> None:
        """Remove a session and all its events; a running session only with `force`."""
        self._portal.call(lambda: self._table.delete(session_id, force=force))

    def prune(self, *, before: datetime, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a given time, except for those that are running."""
        return self._portal.call(lambda: self._table.prune(before=before, status=status))

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy everything in the storage, of all tenants, to a new file; debates may continue meanwhile."""
        self._portal.call(lambda: self._table.backup(path))

    def export(self, session_id: str, format: ExportFormat | str = "markdown") -> str:
        """Return a stored session as text; no model is called."""
        return self._portal.call(lambda: self._table.export(session_id, format))

    def export_file(
        self,
        session_id: str,
        path: str | PathLike[str],
        *,
        format: ExportFormat | str | None = None,
        sign_with: str | PathLike[str] | None = None,
    ) -> Path:
        """Write a stored session to a file, part by part, and return the file's path."""
        return self._portal.call(lambda: self._table.export_file(session_id, path, format=format, sign_with=sign_with))

    def verify(self, session_id: str, *, head: ChainHead | str | None = None) -> Verification:
        """Check whether a stored session was changed later: each event contains the hash of everything before it."""
        return self._portal.call(lambda: self._table.verify(session_id, head=head))

    def import_(self, source: str | bytes | PathLike[str], *, new_id: bool = False, run_programs: bool = False) -> str:
        """Store a session that was exported as JSON, and return its id; no model is called."""
        return self._portal.call(lambda: self._table.import_(source, new_id=new_id, run_programs=run_programs))

    def for_tenant(self, tenant: str, *, observers: Sequence[Observer | Callable[[Event], None]] = ()) -> Roundtable:
        """Return a table for the sessions of another tenant; it shares everything else with this table."""
        table = Roundtable()
        table._table = self._table.for_tenant(tenant, observers=observers)
        return table


@explains_arguments
def debate_sync(
    topic: str,
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    plugins: PluginChoice = None,
    storage: str | Storage | None = None,
    **options: Unpack[DebateOptions],
) -> DebateResult:
    """Run one debate with the agents and settings of the environment, in a script or a notebook.

    See `roundtable.debate` for the arguments, and `Roundtable.debate` for the result and the errors.
    """
    with Roundtable(providers=providers, plugins=plugins, storage=storage) as table:
        return table.debate(topic, **options)


@explains_arguments
def run_study(
    table: Roundtable,
    questions: Sequence[Question],
    *,
    modes: Sequence[str] = ("collaborative",),
    normalise: Normalise = "casefold",
    extract: Extract | None = None,
    concurrency: int = 4,
    study: str | None = None,
    on: DebateQueue | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    wait_for: WaitFor = "all",
    outage_s: float = 600.0,
    adapt: bool = True,
    resamples: int = 10000,
    seed: int = 0,
    **options: Unpack[DebateOptions],
) -> StudyReport:
    """Answer questions with and without debates, and test which differences are more than chance.

    See `roundtable.bench.run_study` for the arguments, the report and the errors. It works in a notebook: interrupt the
    cell, and with `study` the same cell continues.
    """
    from roundtable.bench.study import run_study as run

    # Of a class in this module.
    portal = table._portal  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    asynchronous = table._table  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return portal.call(
        lambda: run(
            asynchronous,
            questions,
            modes=modes,
            normalise=normalise,
            extract=extract,
            concurrency=concurrency,
            study=study,
            on=on,
            on_progress=on_progress,
            wait_for=wait_for,
            outage_s=outage_s,
            adapt=adapt,
            resamples=resamples,
            seed=seed,
            **options,
        )
    )
