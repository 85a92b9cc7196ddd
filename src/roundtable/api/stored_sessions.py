"""Operations on stored sessions: the methods of `Roundtable` that take a session id instead of a question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Unpack

from roundtable.api.checks import check_whole
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from os import PathLike

    from roundtable.api.assembly import TableParts
    from roundtable.api.changes import OnChange
    from roundtable.api.debates import Debates
    from roundtable.api.options import DebateOptions
    from roundtable.api.runs import DebateHandle, Prepared
    from roundtable.core.engine.patience import WaitFor
    from roundtable.core.types.answers import ContextResult
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import SessionStatus
    from roundtable.core.types.events import RunningCalls
    from roundtable.core.types.storage import SearchHit, SessionFilter, SessionSummary
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.frames import Frame, FrameBackend, FrameKind
    from roundtable.results.many import RecoveredSession
    from roundtable.results.reruns import RerunAudit, RerunChange

__all__ = ["NEEDED", "StoredSessions"]


NEEDED: Final = (
    *("importlib.resources.readers", "pydantic.dataclasses"),
    *("roundtable.api.models", "roundtable.api.debates", "roundtable.api.many", "roundtable.api.runs"),
    *("roundtable.api.teams", "roundtable.api.assembly", "roundtable.plugins.builtin", "roundtable.plugins.loader"),
    *("roundtable.plugins.observer_thread", "roundtable.scoring.rules", "roundtable.storage.locations"),
    *("roundtable.storage.memory", "roundtable.storage.rules"),
)
"""Modules that every debate needs; importing them loads the rest."""
_SESSIONS_AT_ONCE: Final = 1_000
"""Number of sessions that are read from the storage at a time."""
_MOST_AT_ONCE: Final = 1_000
"""Maximum number of sessions that may be recovered at the same time."""


def check_running(running: RunningCalls) -> RunningCalls:
    """Check that a value is a valid `running`."""
    if running not in ("settle", "cancel"):
        msg = f"running must be 'settle' or 'cancel', not {running!r}"
        raise ConfigurationError(msg)
    return running


@explains_arguments
class StoredSessions(ABC):
    """Methods to resume, control, find, copy and remove stored sessions; base class of `Roundtable`."""

    @abstractmethod
    async def _load(self) -> None:
        """Load the modules that debates need, on a thread; once per process, this takes some tenths of a second."""

    @property
    @abstractmethod
    def _wiring(self) -> TableParts:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """The object that creates, runs and continues debates."""

    @abstractmethod
    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Return a function that runs a prepared session in the background."""

    async def start_resume(
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
        """Continue a stored session in the background, while the table is entered.

        Args:
            session_id: Which session.
            rounds: Rounds to add, counted as in `extend`; with 0, the session continues as planned, as with `resume`.
            step: Whether to run only the next round.
            focus_question: Narrower question for the next rounds.
            context_results: Answers to the agents' requests for information.
            force: As for `resume`.
            budget: As for `resume`.
            deadline_s: As for `debate`.
            on_change: As for `resume`.
            wait_for: Which agents a round waits for if their providers fail: `all`, `quorum` or `none`, as for
                `debate_many`.
            outage_s: Most seconds that the debate waits in each outage, as for `debate_many`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or for the same reasons as in `extend` and
                `resume`.
            SessionNotFound: No session has this id.
            SessionConflict: The session is completed and no round is added.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
            ...     async with Roundtable(agents, storage="memory://") as table:
            ...         first = await (await table.start("Tea or coffee?", rounds=2, step=True)).result()
            ...         handle = await table.start_resume(first.session_id, focus_question="And at night?")
            ...         return len(first.rounds), len((await handle.result()).rounds)
            >>> anyio.run(main)
            (1, 2)
        """
        begin = self._starter("start_resume")
        patience = self._debates.patience(wait_for=wait_for, outage_s=outage_s)
        prepared = await self._debates.prepare_resume(
            session_id,
            rounds=rounds,
            step=step,
            focus_question=focus_question,
            context_results=context_results,
            force=force,
            budget=budget,
            deadline_s=deadline_s,
            on_change=on_change,
            patience=patience,
        )
        return begin(prepared)

    async def resume(
        self,
        session_id: str,
        *,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Continue a session that was paused, failed, or whose process died.

        Stored answers are kept; no agent is asked for them again. Question, mode, agents with their models and
        personas, seed, exit criteria and the remaining budget come from the session. If an agent of this table has the
        same id as an agent of the session, and its configuration has not changed, the table's agent takes the turns.

        Args:
            session_id: Which session.
            budget: Limits for the whole debate from its start, which apply to this run only; the original budget when
                left out.
            deadline_s: As for `debate`.
            context_results: Answers to the agents' requests in `result.context_requests`.
            force: Whether to continue without information that the agents require; the prompt names the missing
                information.
            on_change: What to do if agents of this table with the same ids, or the library's prompt texts, have changed
                since the session began: refuse (`"error"`), or continue with the changed ones and record the change in
                the session (`"adopt"`).

        Raises:
            ConfigurationError: Something changed and `on_change` is `"error"`; `details["changes"]` lists the changes.
            SessionNotFound: No session has this id.
            SessionConflict: The session is completed, or waits for information, which `details["missing"]` lists.
            BudgetExceeded: The budget is used up; the session stays as it was.
            SessionBusy: Another owner runs the session. If the owner's process is dead, `resume` first waits until the
                lease ends.
        """
        await self._load()
        from roundtable.api.debates import finish

        return await finish(
            await self._debates.prepare_resume(
                session_id,
                budget=budget,
                deadline_s=deadline_s,
                context_results=context_results,
                force=force,
                on_change=on_change,
            )
        )

    async def recover(
        self, *, concurrency: int = 8, cancelled: bool = True, on_change: OnChange = "error"
    ) -> tuple[RecoveredSession, ...]:
        """Continue all sessions that an ended process left unfinished, and wait for their ends.

        Call this method when a program starts, in a separate task: `tasks.start_soon(table.recover)`. Several processes
        may call it at the same time: only one of them continues each session, and running sessions are left alone. If a
        process on another host holds the lease of a session, this method waits once until that lease would have
        expired.

        Sessions that failed, were paused, or ended early because of their budget or deadline are not continued; use
        `resume` for them.

        Args:
            concurrency: Maximum number of sessions that are continued at the same time, 1 to 1000.
            cancelled: Whether to continue also sessions whose run was cancelled in an orderly way. All causes look the
                same: the program was asked to end, left a stream, cancelled the task, or reached its own time limit. If
                your program cancels debates that must not continue, stop these debates instead, or pass `False`.
            on_change: As for `resume`.

        Returns:
            The outcome of each session, the oldest session first.

        Raises:
            ConfigurationError: An argument is not valid.
            StorageError: The sessions could not be listed.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     async with Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
            ...         async with table.stream("Tea or coffee?", rounds=2) as events:
            ...             await anext(events)  # then the block is left, as by a program that ends
            ...         return [(one.topic, one.outcome) for one in await table.recover()]
            >>> anyio.run(main)
            [('Tea or coffee?', 'completed')]
        """
        check_whole("concurrency", concurrency)
        if not 1 <= concurrency <= _MOST_AT_ONCE:
            raise ConfigurationError(f"concurrency must be 1 to {_MOST_AT_ONCE} sessions at a time, not {concurrency}")
        await self._load()
        from roundtable.api.changes import check_on_change
        from roundtable.api.recovery import recover

        check_on_change(on_change)
        return await recover(
            self._debates, self._wiring, concurrency=concurrency, cancelled=cancelled, on_change=on_change
        )

    async def fork(
        self,
        session_id: str,
        *,
        at_round: int,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run a "what if": a new session that shares another session's past up to a round, and continues from there.

        The other session does not change. Its turns up to the end of that round are copied, so no agent is asked again.
        Their cost stays with the other session: `usage` and budget of the fork count only the fork's own spending.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both sessions share; 0 shares only the question.
            context_results: Answers to the agents' requests for information, for the next rounds.
            changes: Options to change, as for `debate`: `mode`, `agents`, `rounds` (the total), `decide`,
                `focus_question` and so on; all other options stay the same. An exit criterion that is already met at
                the end of the shared past does not end the fork, even if it comes from `exit_when`.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The round was not completed; or agents required information at its end that
                `context_results` does not contain, which `details["missing"]` lists.
            ConfigurationError: No round would be left to run, or for the same reasons as in `debate` and `resume`.
        """
        await self._load()
        from roundtable.api.debates import finish

        return await finish(await self._debates.prepare_fork(session_id, at_round, context_results, changes))

    async def start_fork(
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
        """Fork a session as `fork` does, and run the new session in the background, while the table is entered.

        The handle has the id of the new session at once. It yields the session's events as they happen, starting with
        the shared past.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both sessions share; 0 shares only the question.
            step: Whether to run only one round; `start_resume` runs the next round.
            context_results: As for `fork`.
            wait_for: Which agents a round waits for if their providers fail: `all`, `quorum` or `none`, as for
                `debate_many`.
            outage_s: Most seconds that the debate waits in each outage, as for `debate_many`.
            changes: As for `fork`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or for the same reasons as in `fork`.
            SessionNotFound: No session has this id.
            SessionConflict: The round was not completed.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
            ...     async with Roundtable(agents, storage="memory://") as table:
            ...         first = await table.debate("Tea or coffee?", rounds=2)
            ...         handle = await table.start_fork(first.session_id, at_round=1, mode="adversarial")
            ...         async with handle.events() as events:
            ...             rounds = [event.round async for event in events if event.type == "round_complete"]
            ...         return rounds, (await handle.result()).usage.calls
            >>> anyio.run(main)
            ([1, 2], 2)
        """
        begin = self._starter("start_fork")
        patience = self._debates.patience(wait_for=wait_for, outage_s=outage_s)
        return begin(
            await self._debates.prepare_fork(
                session_id, at_round, context_results, changes, step=step, patience=patience
            )
        )

    async def reread(self, session_id: str) -> DebateResult:
        """Read the answers of a completed debate again, by the present rules, and store a new session.

        The other session does not change, and no model is called. A session keeps the readings that it was stored with;
        this method shows what the rules of this version find in the same answers, also in sessions of versions that
        stored no readings. If the answers of a round now say something else, its agreement is measured again without a
        model (by equal answers, options, and what the agents declared), and the decision rule counts again. Other
        rounds keep their figures, and so do decisions by judges and by votes on the answers. The end of the debate
        stays the same too. The usage of the new session is 0: the cost stays with the other session.

        Answers to closed questions keep their readings, since only the answer was stored, not its text; so do votes.

        Args:
            session_id: Which session.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session is not completed.
            ConfigurationError: The session is a team conversation.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            ...     first = await table.debate("Tea or coffee?", rounds=1)
            ...     again = await table.reread(first.session_id)
            ...     return again.answer, again.usage.calls, again.session_id != first.session_id
            >>> anyio.run(main)
            ('Tea', 0, True)
        """
        await self._load()
        from secrets import token_hex

        from roundtable.core.mode.base import vote_options_of
        from roundtable.engine.reread import reread_session
        from roundtable.record.session_edit import store_whole

        wiring = self._wiring
        record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        mode = self._debates.mode_of(record)
        new, read = await reread_session(
            record,
            events,
            token_hex(16),
            groupthink=mode is None or mode.needs_groupthink_detection,
            rules=wiring.catalog.rules,
            vote_options=() if mode is None else vote_options_of(mode),
            now=wiring.sessions.clock.now(),
        )
        await store_whole(wiring.storage, new, read)
        return await self._debates.load(new.id)

    async def rerun(
        self,
        session_id: str,
        *,
        times: int = 5,
        change: RerunChange = "seats",
        without: str | None = None,
        concurrency: int = 4,
        budget: Budget | None = None,
    ) -> RerunAudit:
        """Repeat the last complete round with a change, and count how often the answer stays the same.

        The prompts state the same planned number of rounds as in the original debate. If the original ended with this
        round, a repetition ends with it too. If the original was interrupted, a repetition is stopped after the round,
        without a final vote.

        Each repetition is a fork whose id is computed from the arguments. So if you make the same call again, only
        missing repetitions are run, and a larger `times` keeps the earlier repetitions. Several processes can make the
        call at the same time; each repetition is run only once. Repetitions call models; `estimate_rerun` returns how
        often.

        Args:
            session_id: The session of the debate; it does not change.
            times: Number of repetitions, 1 to 100.
            change: `"seats"` shuffles the order of the agents and changes the seed; `"labels"` changes only the seed.
                The seed determines the labels of anonymous answers, and influences models that accept a seed.
            without: Id of an agent to leave out of the round; its earlier answers stay in the record.
            concurrency: Maximum number of repetitions that run at the same time, 1 to 64.
            budget: Limits for each repetition, without the earlier rounds; those of the original debate when left out.
                If a repetition stopped because of its budget, make the call again with a larger one.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session has no complete round, or is a team conversation; or a repetition stopped
                before its end.
            ConfigurationError: An argument is not valid, or the mode needs the agent that is left out.
            RoundtableError: A repetition failed; make the same call again to continue.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     agents = scripted_agents({"ada": ["Tea"] * 4, "bo": ["Tea"] * 4, "cy": ["Milk"] * 4})
            ...     async with Roundtable(agents, storage="memory://") as table:
            ...         first = await table.debate("Tea or milk?", rounds=1, options=["Tea", "Milk"])
            ...         again = await table.rerun(first.session_id, times=3)
            ...     return again.answer, again.held, [round(bound, 2) for bound in again.interval]
            >>> anyio.run(main)
            ('Tea', 3, [0.44, 1.0])
        """
        await self._load()
        from roundtable.api.rerun import Rerun

        repetitions = Rerun(
            session_id=session_id,
            times=times,
            change=change,
            without=without,
            concurrency=concurrency,
            budget=budget,
        )
        return await repetitions.hold(self._debates)

    async def estimate_rerun(
        self, session_id: str, *, times: int = 5, change: RerunChange = "seats", without: str | None = None
    ) -> Estimate:
        """Return the most that `rerun` may consume, without any call; see there for the arguments.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session has no complete round, or is a team conversation.
            ConfigurationError: An argument is not valid, or the mode needs the agent that is left out.
        """
        await self._load()
        from roundtable.api.rerun import Rerun

        return await Rerun(session_id=session_id, times=times, change=change, without=without).estimate(self._debates)

    async def extend(
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
        """Run further rounds of a session.

        The new total depends on the session. If the session is completed, the total is the number of rounds begun so
        far plus `rounds`. A round that was stopped half-way counts as begun, and is finished first. Planned rounds that
        an early end skipped are not run. If the session is not completed, the total is the number of planned rounds
        plus `rounds`, and the session continues from where it stopped. The total has the same limit as a debate: 10, or
        `ROUNDTABLE_MAX_ROUNDS`.

        Args:
            session_id: Which session.
            rounds: Rounds to add.
            focus_question: Narrower question for these rounds.
            context_results: Answers to the agents' requests for information.
            force: As for `resume`.
            budget: Limits for the whole debate from its start, as for `resume`.
            deadline_s: As for `debate`, for these rounds.
            on_change: As for `resume`.

        Raises:
            ConfigurationError: Something changed, as for `resume`; or the total is above the limit or above the mode's
                maximum.
            SessionConflict: The agents require information that `context_results` lacks; `details["missing"]` lists it.
            BudgetExceeded: The budget is used up; the session stays as it was, with no round added.
            SessionNotFound: No session has this id.
            SessionBusy: Another owner runs the session.
        """
        await self._load()
        return await self._debates.extend(
            session_id,
            rounds,
            focus_question,
            context_results,
            force=force,
            budget=budget,
            deadline_s=deadline_s,
            on_change=on_change,
        )

    async def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Write the synthesis of a session with one model and store it; a stored synthesis is returned at no cost.

        The model is the first of these that exists: the model in `seats={"synthesizer": ...}`, the light model of the
        first provider that has one, the first agent's model. If neither its first nor its second answer can be parsed,
        `readable` is False and `conclusion` contains the text; the next call of this method asks the model again. A
        synthesis is void as soon as later turns are stored. Concurrent callers of this table share one call. While
        another process writes a synthesis, the session is busy; afterwards, the synthesis is stored in the session.

        Args:
            session_id: Which session.
            by: Id of the agent whose model to use instead; a stored synthesis by another agent is replaced.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: No agent has answered in the session yet.
            SessionBusy: Another owner runs the session.
            ConfigurationError: No model can write the synthesis, or there is no agent `by`.
            RoundtableError: The model failed, or its answer was blank twice; its usage is stored nevertheless.

        Example:
            >>> import anyio
            >>> import roundtable
            >>> from roundtable.providers.scripted import ScriptedModel
            >>> from roundtable.testing import scripted_agents
            >>> clerk = ScriptedModel([{"conclusion": "Tea keeps; coffee wakes."}])
            >>> agents = scripted_agents({"ada": "Tea", "bo": "Coffee"})
            >>> table = roundtable.Roundtable(agents, storage="memory://", seats={"synthesizer": clerk})
            >>> async def main():
            ...     first = await table.debate("Tea or coffee?", rounds=1)
            ...     await table.synthesize(first.session_id)
            ...     return await table.session(first.session_id)
            >>> result = anyio.run(main)
            >>> result.answer, result.answer_source
            ('Tea keeps; coffee wakes.', 'synthesis')
        """
        await self._load()
        return await self._debates.synthesize(session_id, by)

    async def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause, in any process that runs it: no further call starts.

        Args:
            session_id: Which session.
            running: What happens to running calls: they have 60 seconds to finish (`"settle"`), so that their cost is
                not lost; or they are cancelled at once (`"cancel"`). Cancelled calls are made again on `resume`.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session is not running.
            ConfigurationError: `running` is neither `"settle"` nor `"cancel"`.
        """
        await self._load()
        await self._debates.pause(session_id, check_running(running))

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good, in any process that runs it; it ends as completed.

        Args:
            session_id: Which session.
            running: What happens to running calls: they are cancelled (`"cancel"`), or they have 60 seconds to finish
                (`"settle"`).

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session is already completed, or failed.
            ConfigurationError: `running` is neither `"settle"` nor `"cancel"`.
        """
        await self._load()
        await self._debates.stop(session_id, check_running(running))

    async def session(self, session_id: str) -> DebateResult:
        """Return the current result of a stored session; no model is called.

        While the session runs, here or in another process, `status` is `running` and the result contains what is known
        so far: its `answer` is interim, and later rounds may change it. If the storage does not know who runs a session
        (see `roundtable.protocols.Leases`), the status is `partial` instead.

        Raises:
            SessionNotFound: No session has this id.
        """
        await self._load()
        return await self._debates.load(session_id)

    async def prompt_texts(self, session_id: str) -> dict[str, str]:
        """Return the texts of the mode's instructions with which a session started.

        The storage keeps each text once for all sessions. Sessions of earlier versions, sessions that were imported
        into another storage, and modes without a file of instructions have no texts here.

        Args:
            session_id: Which session.

        Returns:
            The texts as JSON, by the name of their file, such as `"delphi"`.

        Raises:
            SessionNotFound: No session has this id.

        Example:
            ```python
            texts = await table.prompt_texts(result.session_id)
            ```
        """
        await self._load()
        return await self._wiring.sessions.prompt_texts(session_id)

    async def sessions(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List stored sessions, newest first: all of them, or as many as the `limit` of the filter allows.

        Args:
            wanted: Which sessions; all if omitted. If the filter sets no `limit`, the list is complete.
        """
        await self._load()
        from roundtable.core.types.storage import SessionFilter

        if not isinstance(wanted, SessionFilter | None):
            msg = f"sessions() takes a SessionFilter, not {wanted!r}"
            raise ConfigurationError(msg, hint='Write sessions(SessionFilter(status="paused")).')
        wanted = wanted or SessionFilter()
        if "limit" in wanted.model_fields_set:
            return await self._wiring.sessions.summaries(wanted)
        summaries: list[SessionSummary] = []
        page_filter = wanted.model_copy(update={"limit": _SESSIONS_AT_ONCE})
        while len(page := await self._wiring.sessions.summaries(page_filter)) == _SESSIONS_AT_ONCE:
            summaries += page
            page_filter = page_filter.model_copy(update={"after": page[-1].cursor})
        return (*summaries, *page)

    async def frames(
        self, kind: FrameKind = "turns", backend: FrameBackend = "pandas", *, wanted: SessionFilter | None = None
    ) -> Frame:
        """Return the turns, sessions, votes, pairs or events of stored sessions as a frame, newest session first.

        The columns are `roundtable.results.frames.FRAME_COLUMNS`. Damaged sessions are left out.

        Args:
            kind: Kind of rows: `turns`, `sessions`, `votes`, `pairs` or `events`.
            backend: `pandas` (extra `frames`), `polars` or `arrow` (`pip install polars`, `pyarrow`); or `records`,
                `csv` or `latex`, which need no further library.
            wanted: Which sessions; all if omitted.

        Raises:
            ConfigurationError: An argument is not valid, or the library of the backend is not installed.
        """
        from roundtable.results.frames import FrameBuilder, event_rows, rows_of

        builder = FrameBuilder(kind, backend)
        for summary in await self.sessions(wanted):
            if summary.error is not None:
                continue
            if kind == "events":
                _, events = await self._wiring.storage.read(summary.id, tenant=self._wiring.options.tenant)
                builder.add(event_rows(events))
            else:
                builder.add(rows_of(kind, await self._debates.load(summary.id)))
        return builder.build()

    async def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Search for words in positions and their reasoning; hits in newer sessions come first.

        All words must occur; case and accents do not matter. Words in double quotes form a phrase, and a star matches
        any ending of a word: `'cost "five years" micro*'`.

        Args:
            text: The query, 1 to 1000 characters.
            session_id: Search only this session.
            limit: Maximum hits returned, 1 to 1000.

        Raises:
            ConfigurationError: The storage has no full-text search, or the query is not valid.
        """
        await self._load()
        return await self._wiring.sessions.search(text, session_id=session_id, limit=limit)

    async def delete(self, session_id: str, *, force: bool = False) -> None:
        """Remove a session and all its events; a running session only with `force`.

        Args:
            session_id: Which session.
            force: Whether to remove the session even while it runs; the run ends with an error at its next write.

        Raises:
            SessionNotFound: No session has this id.
            SessionBusy: The session is running, and `force` is false.
        """
        await self._load()
        await self._wiring.sessions.delete_session(session_id, force=force)

    async def prune(self, *, before: datetime, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a given time, except for those that are running.

        Args:
            before: The time; a time without a zone counts as UTC.
            status: Only sessions in this state.

        Returns:
            The number of removed sessions.
        """
        await self._load()
        return await self._wiring.sessions.prune(before, status=status)

    async def backup(self, path: str | PathLike[str]) -> None:
        """Copy everything in the storage, of all tenants, to a new file; debates may continue meanwhile.

        The copy is one consistent state of the storage, complete and on disk when this returns. Open it with
        `storage="sqlite:///copy.db"`.

        Raises:
            ConfigurationError: The storage cannot be copied; `memory://` cannot.
            StorageError: The file exists, or cannot be written.
        """
        await self._load()
        await self._wiring.sessions.backup(path)
