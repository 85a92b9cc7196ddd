"""One run of a team: the goal, the rounds of work, the summary; told in the words of seed 004."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.engine.closing import error_event, lost_round
from roundtable.engine.run import DebateRun
from roundtable.engine.team_hooks import TeamHooks, action_after, complete_event
from roundtable.errors import AgentError, RoundtableError
from roundtable.modes.team import TeamMode, team_of
from roundtable.record import reports, result_of
from roundtable.stages import error_from_info
from roundtable.types import DebateExit, ExitResult, RoundComplete
from roundtable.types.teams import INITIATOR, SUMMARIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.engine.hooks import StoringHooks
    from roundtable.types import AnyTurn, DebateContext, FailedTurn, RoundRecord, Stage

__all__ = ["TeamRun"]


class TeamRun(DebateRun):
    """Runs a session of a team. The initiator speaks before the first round, the summarizer after the last.

    Nothing is measured or decided: members report, they do not hold positions. A run that comes to its end says so with
    `conversation_complete`; one that runs out of time with an `error` of the code `CONVERSATION_TIMEOUT`, after which
    the session can be resumed.
    """

    _frame = TeamMode()

    def _hooks(self, stage: Stage) -> StoringHooks:
        return TeamHooks(self.journal, stage.name, self._may_call, self.pace)

    async def _open_round(self) -> None:
        """Open a round; take the initiator's turn first, and the summarizer's after the last round."""
        fold, current = self.fold, self.fold.current
        if current is None or (current.number == 1 and not current.begun):
            turn = None if current is None else current.turns.get((INITIATOR, 0))
            if await self._framed(self._frame.opening, turn):
                return
        elif current.complete and current.number >= fold.progress.total_rounds:
            if not await self._framed(self._frame.closing, current.turns.get((SUMMARIZER, 0))):
                await self.journal.append(complete_event(fold, self.journal.clock.now(), None))
            self._ended = self._ended or fold.progress.status == "completed"
            return
        await super()._open_round()

    async def _framed(self, plan: Callable[[DebateContext], Stage], turn: AnyTurn | None) -> bool:
        """Take a turn outside the rounds, where it is still to be taken; tell whether it was asked for now."""
        attempts = {0: 1} if turn is None else self._once_more([turn])
        if turn is not None and turn.outcome == "failed":
            if self._retry_failed:
                attempts = {0: turn.attempt + 1}
            elif not attempts:
                self._check_failed([turn])
            self._retry_failed = False
        if attempts:
            view = self.fold.view()
            await self._take_stage(plan(view), attempts, view)
        return bool(attempts)

    def _once_more(self, turns: Iterable[AnyTurn]) -> dict[int, int]:
        return {turn.slot: turn.attempt + 1 for turn in turns if self._failed_with(turn, "retry")}

    def _failed_with(self, turn: AnyTurn, action: str) -> bool:
        return turn.outcome == "failed" and action_after(team_of(self.fold.view()), turn) == action

    def _check_failed(self, turns: Iterable[AnyTurn]) -> None:
        """End the conversation where an agent failed without which it is not to go on.

        Raises:
            AgentError: Such an agent failed; the code is `AGENT_EXECUTION_FAILED`.
        """
        for turn in turns:
            if turn.outcome == "failed" and self._failed_with(turn, "abort"):
                raise _aborted(turn)

    async def _take_stage(self, stage: Stage, attempts: dict[int, int], view: DebateContext) -> None:
        while attempts:
            await super()._take_stage(stage, attempts, view)
            if self._unfinished or self._ended:
                return
            current = self.fold.current
            turns = current.turns if current else {}
            taken = [turns[stage.name, spec.slot] for spec in stage.turns]
            self._check_failed(taken)
            attempts = self._once_more(taken)

    async def _close_round(self, current: RoundRecord, ended_by_mode: str | None) -> None:
        turns = [turn for turn in current.turns if turn.stage != INITIATOR]
        self._check_failed(turns)
        given = reports(turns)
        lost = None if given else lost_round(turns, 1)
        if lost is not None:
            raise lost
        session_id, now = self._stamp()
        await self.journal.append(
            RoundComplete(
                session_id=session_id,
                timestamp=now,
                round=current.number,
                answered=len(given),
                failed=len(turns) - len(given),
                results=tuple(result_of(turn) for turn in given),
            )
        )
        self._held += 1

    async def _leave(self, reason: str, details: str) -> None:
        if reason != "deadline":
            await super()._leave(reason, details)
            return
        self._ended = True
        session_id, now = self._stamp()
        late = RoundtableError(
            f"the conversation took too long: {details}",
            code="CONVERSATION_TIMEOUT",
            retryable=True,
            hint="Resume the session, or ask again with fewer rounds or a larger timeout_s.",
        )
        result = ExitResult(should_exit=True, reason=reason, details=details)
        told = DebateExit(session_id=session_id, timestamp=now, exit=result)
        await self._write_last(told, error_event(self.fold, late, now))


def _aborted(turn: FailedTurn) -> AgentError:
    return AgentError(
        f"agent {turn.agent_id!r} failed, and the conversation does not go on without it: {turn.error.message}",
        code="AGENT_EXECUTION_FAILED",
        provider=turn.error.provider,
        cause=error_from_info(turn.error),
        hint=turn.error.hint,
        details={"agentId": turn.agent_id},
    )
