"""What can be done with stored sessions: the part of the facade that needs an id instead of a question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Unpack

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from os import PathLike

    from roundtable.api.changes import OnChange
    from roundtable.api.debates import Debates
    from roundtable.api.handle import DebateHandle
    from roundtable.api.live import Prepared
    from roundtable.api.options import DebateOptions
    from roundtable.api.wiring import Wiring
    from roundtable.result import DebateResult
    from roundtable.types import (
        Budget,
        ContextResult,
        RunningCalls,
        SearchHit,
        SessionFilter,
        SessionStatus,
        SessionSummary,
        SynthesisResult,
    )

__all__ = ["StoredSessions"]


def check_running(given: RunningCalls) -> RunningCalls:
    """Refuse what says nothing about calls under way."""
    if given not in ("settle", "cancel"):
        msg = f"running must be 'settle' or 'cancel', not {given!r}"
        raise ConfigurationError(msg)
    return given


class StoredSessions(ABC):
    """Going on with stored sessions, controlling, finding, copying and removing them; `Roundtable` has all of it."""

    @property
    @abstractmethod
    def wiring(self) -> Wiring:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """What creates, runs and continues debates."""

    @abstractmethod
    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Give what lets a prepared session run by itself."""

    async def carry_on(
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
        """Go on with a stored session that then runs by itself while the table is entered.

        Args:
            session_id: Which session.
            rounds: Rounds to add, counted as `extend` counts them; with 0 it goes on as planned, as with `resume`.
            step: Whether to hold the next round alone.
            focus_question: Narrower question for the rounds to come.
            context_results: Answers to what the agents asked for.
            force: As for `resume`.
            budget: As for `resume`.
            deadline_s: As for `debate`.
            on_change: As for `resume`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as `extend` and `resume`.
            SessionNotFound: There is no such session.
            SessionConflict: It is completed and no round is added.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
            ...     async with Roundtable(agents, storage="memory://") as table:
            ...         first = await (await table.start("Tea or coffee?", rounds=2, step=True)).result()
            ...         handle = await table.carry_on(first.session_id, focus_question="And at night?")
            ...         return len(first.rounds), len((await handle.result()).rounds)
            >>> anyio.run(main)
            (1, 2)
        """
        begin = self._starter("carry_on")
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
        """Go on with a session that was paused, broke, or whose process died.

        No stored answer is asked for again. Question, mode, agents with their models and personas, seed, exits and
        what is left of the budget come from the session. Agents of this table with the same ids take their turns, as
        long as they are configured as they were.

        Args:
            session_id: Which session.
            budget: The most the debate may consume in all, from its start; what it began with when left out.
            deadline_s: As for `debate`.
            context_results: Answers to what the agents asked for, in `result.context_requests`.
            force: Go on without what the agents require and nobody answered; they are told so.
            on_change: What to do where agents of this table with the same ids, or the prompt texts of the library, are
                not those the session began with: refuse (`"error"`), or go on with the new ones and note it in the
                session (`"adopt"`).

        Raises:
            ConfigurationError: Something changed and `on_change` is `"error"`; `details["changes"]` says what.
            SessionNotFound: There is no such session.
            SessionConflict: It is completed, or waits for information; `details["missing"]` lists what.
            SessionBusy: Somebody is running it; resume waits for a dead owner's lease first.
        """
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

    async def fork(
        self,
        session_id: str,
        *,
        at_round: int,
        context_results: Sequence[ContextResult] = (),
        **changes: Unpack[DebateOptions],
    ) -> DebateResult:
        """Hold a "what if": a new session that shares the past of another up to a round, and goes on from there.

        The other session stays as it is. What was said up to the end of the round is copied, not asked again, and its
        cost stays with the other session: `usage` and budget of the fork count what it spends itself.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both share; 0 shares the question alone.
            context_results: Answers to what the agents asked for, for the rounds to come.
            changes: What is to be different, as for `debate`: `mode`, `agents`, `rounds` in all, `decide`,
                `focus_question` and so on; everything else is as it was.

        Raises:
            SessionNotFound: There is no such session.
            SessionConflict: The round was not held to its end.
            ConfigurationError: No round would be left to hold, or as for `debate` and `resume`.
        """
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
        """Fork a session as `fork` does, and let the new one run by itself while the table is entered.

        The handle tells its id at once, and its events as they happen; the shared past comes first.

        Args:
            session_id: Which session to fork.
            at_round: Last round that both share; 0 shares the question alone.
            step: Whether to hold one round alone; `carry_on` holds the next one.
            context_results: As for `fork`.
            changes: As for `fork`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as `fork`.
            SessionNotFound: There is no such session.
            SessionConflict: The round was not held to its end.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
            ...     async with Roundtable(agents, storage="memory://") as table:
            ...         told = await table.debate("Tea or coffee?", rounds=2)
            ...         handle = await table.start_fork(told.session_id, at_round=1, mode="adversarial")
            ...         async with handle.events() as events:
            ...             rounds = [event.round async for event in events if event.type == "round_complete"]
            ...         return rounds, (await handle.result()).usage.calls
            >>> anyio.run(main)
            ([1, 2], 2)
        """
        begin = self._starter("start_fork")
        return begin(await self._debates.forked(session_id, at_round, context_results, changes, step=step))

    async def extend(
        self,
        session_id: str,
        *,
        rounds: int = 1,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Hold further rounds of a session.

        What is counted depends on the session. When it is completed, the new total is the rounds begun so
        far plus `rounds`: a round that was stopped half-way counts as one of those, and is finished first;
        rounds that an early end left over are not held. Otherwise the new total is the rounds planned plus
        `rounds`, and the session goes on from where it is. The total has the limit of a debate: 10 unless
        `ROUNDTABLE_MAX_ROUNDS` says otherwise.

        Args:
            session_id: Which session.
            rounds: Rounds to hold besides.
            focus_question: Narrower question for them.
            context_results: Answers to what the agents asked for.
            force: As for `resume`.
            on_change: As for `resume`.

        Raises:
            ConfigurationError: Something changed, as for `resume`; or the total is above the limit, or more than the
                mode can hold.
            SessionConflict: Its agents require information that is not given; `details["missing"]` lists it.
            SessionNotFound: There is no such session.
            SessionBusy: Somebody is running it.
        """
        return await self._debates.extend(
            session_id, rounds, focus_question, context_results, force=force, on_change=on_change
        )

    async def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Have one model put a session together, and store what it says; one that is stored is given again, unpaid.

        The model of `seats={"synthesizer": ...}` does it, else the light model of the first provider that has one, else
        the model of the first agent. What is said after a synthesis voids it. All who ask this table at the same time
        share one call; while another process makes one, the session is busy, and has it afterwards.

        Args:
            session_id: Which session.
            by: Id of the agent whose model is to do it instead; a synthesis of another one that is stored is replaced.

        Raises:
            SessionNotFound: There is no such session.
            SessionConflict: Nobody has answered in it yet.
            SessionBusy: Somebody is running it.
            ConfigurationError: Nobody can do it, or there is no agent `by`.
            RoundtableError: The model failed, or its answer could not be read; what it took is stored all the same.

        Example:
            >>> import anyio
            >>> import roundtable
            >>> from roundtable.providers.scripted import ScriptedModel
            >>> from roundtable.testing import scripted_agents
            >>> clerk = ScriptedModel([{"conclusion": "Tea keeps; coffee wakes."}])
            >>> agents = scripted_agents({"ada": "Tea", "bo": "Coffee"})
            >>> table = roundtable.Roundtable(agents, storage="memory://", seats={"synthesizer": clerk})
            >>> async def main():
            ...     held = await table.debate("Tea or coffee?", rounds=1)
            ...     await table.synthesize(held.session_id)
            ...     return await table.session(held.session_id)
            >>> result = anyio.run(main)
            >>> result.answer, result.answer_source
            ('Tea keeps; coffee wakes.', 'synthesis')
        """
        return await self._debates.synthesize(session_id, by)

    async def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause, whoever runs it: no further call starts.

        Args:
            session_id: Which session.
            running: Whether calls under way `"settle"`, so that what they cost is not lost, or are cancelled
                (`"cancel"`), to be made again on `resume`.

        Raises:
            SessionNotFound: There is no such session.
            SessionConflict: It does not run.
            ConfigurationError: `running` is neither.
        """
        await self._debates.pause(session_id, check_running(running))

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good, whoever runs it; it ends up completed.

        Args:
            session_id: Which session.
            running: Whether calls under way are cancelled (`"cancel"`), or `"settle"` first.

        Raises:
            SessionNotFound: There is no such session.
            SessionConflict: It is completed already, or broken.
            ConfigurationError: `running` is neither.
        """
        await self._debates.stop(session_id, check_running(running))

    async def session(self, session_id: str) -> DebateResult:
        """Give the result of a stored session as it stands now; nothing is called or paid for.

        Raises:
            SessionNotFound: There is no such session.
        """
        return await self._debates.load(session_id)

    async def sessions(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List stored sessions, newest first."""
        return await self.wiring.sessions.summaries(wanted)

    async def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Find words in what was said: in positions and their reasoning, the newest session first.

        All words must occur, in any case and with any accents; words in double quotes stand together, and a star
        ends a word that may go on: `'cost "five years" micro*'`.

        Args:
            text: What to look for, 1 to 1000 characters.
            session_id: Only in this session.
            limit: Most hits returned, 1 to 1000.

        Raises:
            ConfigurationError: The storage has no full-text search, or the query is none.
        """
        return await self.wiring.sessions.search(text, session_id=session_id, limit=limit)

    async def delete(self, session_id: str) -> None:
        """Remove a session and all that was said in it; a run of it ends with an error at its next write.

        Raises:
            SessionNotFound: There is no such session.
        """
        await self.wiring.sessions.delete_session(session_id)

    async def prune(self, *, before: datetime, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a moment; those that somebody runs are left alone.

        Args:
            before: The moment; one without a zone is read as UTC.
            status: Only sessions in this state.

        Returns:
            How many were removed.
        """
        return await self.wiring.sessions.prune(before, status=status)

    async def backup(self, path: str | PathLike[str]) -> None:
        """Copy all that the storage holds, of all tenants, to a new file, while debates go on.

        The copy is one state of the storage, whole and on the disk when this returns. `storage="sqlite:///copy.db"`
        opens it.

        Raises:
            ConfigurationError: The storage cannot be copied; `memory://` cannot.
            StorageError: The file exists, or cannot be written.
        """
        await self.wiring.sessions.backup(path)
