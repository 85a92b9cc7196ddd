"""Operations on stored sessions: the part of the facade that takes a session id instead of a question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Unpack

from roundtable.api.checks import check_whole
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from os import PathLike

    from roundtable.api.assembly import TableParts
    from roundtable.api.changes import OnChange
    from roundtable.api.debates import Debates
    from roundtable.api.options import DebateOptions
    from roundtable.api.runs import DebateHandle, Prepared
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.frames import Frame, FrameBackend, FrameKind
    from roundtable.results.many import RecoveredSession
    from roundtable.results.reruns import RerunAudit, RerunChange
    from roundtable.types import (
        Budget,
        ContextResult,
        Estimate,
        RunningCalls,
        SearchHit,
        SessionFilter,
        SessionStatus,
        SessionSummary,
        SynthesisResult,
    )

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
"""Sessions that are read from the storage at a time."""
_MOST_AT_ONCE: Final = 1_000
"""Sessions that may be recovered at a time."""


def check_running(running: RunningCalls) -> RunningCalls:
    """Check that a value is a valid `running`."""
    if running not in ("settle", "cancel"):
        msg = f"running must be 'settle' or 'cancel', not {running!r}"
        raise ConfigurationError(msg)
    return running


class StoredSessions(ABC):
    """Resuming, controlling, finding, copying and removing stored sessions; base class of `Roundtable`."""

    @abstractmethod
    async def _load(self) -> None:
        """Load the modules that debates need, on a thread: it takes some tenths of a second, once per process."""

    @property
    @abstractmethod
    def wiring(self) -> TableParts:
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
    ) -> DebateHandle:
        """Continue a stored session in the background, while the table is entered.

        Args:
            session_id: Which session.
            rounds: Rounds to add, counted as in `extend`; with 0 it continues as planned, as with `resume`.
            step: Whether to run only the next round.
            focus_question: Narrower question for the next rounds.
            context_results: Answers to the agents' requests for information.
            force: As for `resume`.
            budget: As for `resume`.
            deadline_s: As for `debate`.
            on_change: As for `resume`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as for `extend` and `resume`.
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
        prepared = await self._debates.continued(
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

        No stored answer is asked for again. Question, mode, agents with their models and personas, seed, exits and
        the remaining budget come from the session. Agents of this table with the same ids take their turns, provided
        that their configuration has not changed.

        Args:
            session_id: Which session.
            budget: Limits for the whole debate from its start, for this run only; its original budget
                when left out.
            deadline_s: As for `debate`.
            context_results: Answers to the agents' requests in `result.context_requests`.
            force: Whether to continue without information that the agents require; the prompt names what is missing.
            on_change: What to do if agents of this table with the same ids, or the prompt texts of the library, have
                changed since the session began: refuse (`"error"`), or continue with the new ones and record that
                in the session (`"adopt"`).

        Raises:
            ConfigurationError: Something changed and `on_change` is `"error"`; `details["changes"]` lists it.
            SessionNotFound: No session has this id.
            SessionConflict: The session is completed, or waits for information; `details["missing"]` lists it.
            BudgetExceeded: The budget is used up; the session stays as it was.
            SessionBusy: Another owner runs the session. If that owner is dead, `resume` first waits for its lease.
        """
        await self._load()
        from roundtable.api.debates import finish

        return await finish(
            await self._debates.continued(
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

        Call it when a program starts, in a task of its own: `tasks.start_soon(table.recover)`. Several processes may
        call it at the same time: each session is continued by one of them, and running ones are left alone. If a
        process on another host holds the lease of a session, this waits once until that lease would have expired.

        Sessions that failed, that were paused, or that ended early at their budget or deadline are not touched:
        `resume` continues those.

        Args:
            concurrency: Maximum sessions that are continued at the same time, 1 to 1000.
            cancelled: Whether to continue also sessions whose run was cancelled in an orderly way, which looks alike
                for each cause: the program was asked to end, left a stream, or cancelled the task or reached a time
                limit of its own. If your program cancels debates that shall not come back, stop them, or pass `False`.
            on_change: As for `resume`.

        Returns:
            What became of each session, the oldest first.

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
            self._debates, self.wiring, concurrency=concurrency, cancelled=cancelled, on_change=on_change
        )

    async def fork(
        self,
        session_id: str,
        *,
        at_round: int,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run a "what if": a new session that shares another session's past up to a round, then goes on.

        The other session does not change. Its turns up to the end of that round are copied, not asked again, and their
        cost stays with the other session: `usage` and budget of the fork count only what it spends itself.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both share; 0 shares only the question.
            context_results: Answers to the agents' requests for information, for the next rounds.
            changes: Options to change, as for `debate`: `mode`, `agents`, `rounds` (the total), `decide`,
                `focus_question` and so on; all others stay the same. An exit criterion that is met at the end of the
                shared past, also one of `exit_when`, does not end the fork.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The round was not completed; or agents require information at its end that
                `context_results` does not hold, and `details["missing"]` lists it.
            ConfigurationError: No round would be left to run, or as for `debate` and `resume`.
        """
        await self._load()
        from roundtable.api.debates import finish

        return await finish(await self._debates.forked(session_id, at_round, context_results, changes))

    async def start_fork(
        self,
        session_id: str,
        *,
        at_round: int,
        step: bool = False,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateHandle:
        """Fork a session as `fork` does, and run the new one in the background, while the table is entered.

        The handle has its id at once, and yields its events as they happen, starting with the shared past.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both share; 0 shares only the question.
            step: Whether to run only one round; `start_resume` runs the next one.
            context_results: As for `fork`.
            changes: As for `fork`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as for `fork`.
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
        return begin(await self._debates.forked(session_id, at_round, context_results, changes, step=step))

    async def rerun(
        self,
        session_id: str,
        *,
        times: int = 5,
        change: RerunChange = "seats",
        without: str | None = None,
        concurrency: int = 4,
    ) -> RerunAudit:
        """Repeat the last complete round with something changed, and count how often the answer stays the same.

        The agents read the same planned number of rounds as in the original. If that ended with this round, so does a
        repetition; if it was interrupted, the repetition is stopped after the round, without a final vote.

        Each repetition is a fork with an id that follows from the arguments: the same call again asks only for what is
        missing, and a larger `times` keeps the earlier repetitions. Several processes can make the call at the same
        time: each repetition is held once. Models are asked; `estimate_rerun` says how often.

        Args:
            session_id: The debate; it does not change.
            times: Number of repetitions, 1 to 100.
            change: `"seats"` shuffles the order of the agents and gives another seed, on which the labels of anonymous
                answers and the answers of models that take a seed depend; `"labels"` changes only the seed.
            without: Id of an agent that is left out of the round; its earlier answers stay in the record.
            concurrency: Most repetitions that run at the same time, 1 to 64.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: It has no complete round, or is a team's; or a repetition stopped before its end.
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

        asked = Rerun(session_id=session_id, times=times, change=change, without=without, concurrency=concurrency)
        return await asked.hold(self._debates)

    async def estimate_rerun(
        self, session_id: str, *, times: int = 5, change: RerunChange = "seats", without: str | None = None
    ) -> Estimate:
        """Return the most that `rerun` may consume, without any call; see there for the arguments.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: It has no complete round, or is a team's.
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

        The new total depends on the session. If it is completed, the total is the rounds begun so far plus
        `rounds`: a round that was stopped half-way counts as begun, and is finished first; planned rounds that an
        early end skipped are not run. Otherwise the total is the rounds planned plus `rounds`, and the session
        continues from where it is. The total has the limit of a debate: 10, or `ROUNDTABLE_MAX_ROUNDS`.

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
            ConfigurationError: Something changed, as for `resume`; or the total is above the limit, or above the
                mode's maximum.
            SessionConflict: The agents require information that is not given; `details["missing"]` lists it.
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
        """Write the synthesis of a session with one model and store it; a stored one is returned again at no cost.

        The model is that of `seats={"synthesizer": ...}`, else the light model of the first provider that has one, else
        the first agent's. If its second answer cannot be read either, `readable` is False and `conclusion` holds the
        text; the next call then asks the model again. Later turns make a synthesis void. Concurrent callers of this
        table share one call; while another process writes a synthesis, the session is busy, and has it afterwards.

        Args:
            session_id: Which session.
            by: Id of the agent whose model to use instead; a stored synthesis by another agent is replaced.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: No agent has answered in it yet.
            SessionBusy: Another owner runs the session.
            ConfigurationError: No model can write it, or there is no agent `by`.
            RoundtableError: The model failed, or its answer was blank twice; its usage is stored all the same.

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
            running: Whether running calls finish first (`"settle"`), so that their cost is not lost, or are cancelled
                (`"cancel"`) and made again on `resume`.

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session is not running.
            ConfigurationError: `running` is neither.
        """
        await self._load()
        await self._debates.pause(session_id, check_running(running))

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good, in any process that runs it; it ends as completed.

        Args:
            session_id: Which session.
            running: Whether running calls are cancelled (`"cancel"`), or finish first (`"settle"`).

        Raises:
            SessionNotFound: No session has this id.
            SessionConflict: The session is already completed, or failed.
            ConfigurationError: `running` is neither.
        """
        await self._load()
        await self._debates.stop(session_id, check_running(running))

    async def session(self, session_id: str) -> DebateResult:
        """Return the current result of a stored session; no model is called.

        Raises:
            SessionNotFound: No session has this id.
        """
        await self._load()
        return await self._debates.load(session_id)

    async def sessions(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List stored sessions, newest first: all of them, or as many as the `limit` of the filter allows.

        Args:
            wanted: Which sessions; all if omitted. Without a `limit` of its own, the list is complete.
        """
        await self._load()
        from roundtable.types import SessionFilter

        wanted = wanted or SessionFilter()
        if "limit" in wanted.model_fields_set:
            return await self.wiring.sessions.summaries(wanted)
        summaries: list[SessionSummary] = []
        page_filter = wanted.model_copy(update={"limit": _SESSIONS_AT_ONCE})
        while len(page := await self.wiring.sessions.summaries(page_filter)) == _SESSIONS_AT_ONCE:
            summaries += page
            page_filter = page_filter.model_copy(update={"after": page[-1].cursor})
        return (*summaries, *page)

    async def frames(
        self, kind: FrameKind = "turns", backend: FrameBackend = "pandas", *, wanted: SessionFilter | None = None
    ) -> Frame:
        """Return the turns, sessions, votes, pairs or events of stored sessions as a frame, newest session first.

        The columns are `roundtable.results.frames.FRAME_COLUMNS`. Damaged sessions are left out.

        Args:
            kind: What a row is: `turns`, `sessions`, `votes`, `pairs` or `events`.
            backend: `pandas` (extra `frames`), `polars` or `arrow` (`pip install polars`, `pyarrow`); or `records`,
                `csv` or `latex`, which need nothing.
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
                _, events = await self.wiring.storage.read(summary.id, tenant=self.wiring.options.tenant)
                builder.add(event_rows(events))
            else:
                builder.add(rows_of(kind, await self._debates.load(summary.id)))
        return builder.build()

    async def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Search for words in positions and their reasoning, the newest session first.

        All words must occur; case and accents do not matter. Words in double quotes form a phrase, and a star matches
        any end of a word: `'cost "five years" micro*'`.

        Args:
            text: The query, 1 to 1000 characters.
            session_id: Search only this session.
            limit: Maximum hits returned, 1 to 1000.

        Raises:
            ConfigurationError: The storage has no full-text search, or the query is not valid.
        """
        await self._load()
        return await self.wiring.sessions.search(text, session_id=session_id, limit=limit)

    async def delete(self, session_id: str, *, force: bool = False) -> None:
        """Remove a session and all its events; a running session only with `force`.

        Args:
            session_id: Which session.
            force: Whether to remove it even while it runs; that run ends with an error at its next write.

        Raises:
            SessionNotFound: No session has this id.
            SessionBusy: The session is running, and `force` is false.
        """
        await self._load()
        await self.wiring.sessions.delete_session(session_id, force=force)

    async def prune(self, *, before: datetime, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a given time, except for those that are running.

        Args:
            before: The time; without a zone it is read as UTC.
            status: Only sessions in this state.

        Returns:
            How many were removed.
        """
        await self._load()
        return await self.wiring.sessions.prune(before, status=status)

    async def backup(self, path: str | PathLike[str]) -> None:
        """Copy everything in the storage, of all tenants, to a new file; debates may continue meanwhile.

        The copy is one consistent state of the storage, complete and on disk when this returns. Open it with
        `storage="sqlite:///copy.db"`.

        Raises:
            ConfigurationError: The storage cannot be copied; `memory://` cannot.
            StorageError: The file exists, or cannot be written.
        """
        await self._load()
        await self.wiring.sessions.backup(path)
