"""One run of a debate: open a round, plan, take turns, store, measure, decide whether to continue."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio

from roundtable.core.engine.closing import (
    broken_events,
    check_stage_quorum,
    end_event,
    exit_event,
    last_events,
    leaving_events,
    step_figures,
)
from roundtable.core.engine.lease import LeaseKeeper, wrap_error
from roundtable.core.engine.patience import failed_by_providers
from roundtable.core.engine.plan_limits import plan_isolated, same_stage
from roundtable.core.engine.synthesis import cancelled_synthesis, synthesis_event
from roundtable.core.errors import LeaseLost, RoundtableError, SessionError
from roundtable.core.mode.rounds import check_plan
from roundtable.core.stages import HALTED, as_shaper, run_stage
from roundtable.core.types.chat import Usage
from roundtable.core.types.debate import ExitResult, ProviderWait
from roundtable.core.types.events import Control, ConversationStart, DebateExit, DebateStart, RoundStart
from roundtable.core.types.plan import EXTERNAL, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE, EndDebate, Stage
from roundtable.core.types.teams import INITIATOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from roundtable.core.engine.journal import Journal
    from roundtable.core.engine.plan_limits import RunLimits, StepLimiter
    from roundtable.core.engine.policy import Frame, RoundEnd, SessionPolicy
    from roundtable.core.engine.spending import RunBudget
    from roundtable.core.engine.stage_hooks import TurnAttempt
    from roundtable.core.engine.synthesis import Writer
    from roundtable.core.protocols import Agent, DebateModeStrategy
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.debate import AnyTurn, DebateContext, FailedTurn, RoundRecord
    from roundtable.core.types.events import DurableEvent, SynthesisComplete

__all__ = ["DebateRun", "RunState", "round_event", "start_event"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_LEAVE_TIMEOUT_S = 10.0
_NOT_PLANNED = frozenset({EXTERNAL, INITIATOR})
"""Stages that the mode does not plan."""
_ON_ROUND = frozenset({JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE})
"""Stages about all answers of a round; they come after its last answer."""


def start_event(fold: Fold, now: datetime) -> DebateStart | ConversationStart:
    """Return the first event of a session."""
    session_id, config = fold.record.id, fold.record.config
    if config.team is not None:
        return ConversationStart(session_id=session_id, timestamp=now, agents=config.agents, rounds=config.rounds)
    return DebateStart(
        session_id=session_id,
        timestamp=now,
        topic=config.topic,
        mode=config.mode,
        agents=config.agents,
        rounds=config.rounds,
    )


def round_event(fold: Fold, number: int, now: datetime, goal: str | None = None) -> RoundStart:
    """Return the first event of a round; for a team, it contains the goal."""
    config = fold.record.config
    return RoundStart(
        session_id=fold.record.id,
        timestamp=now,
        round=number,
        agents=config.agents,
        focus_question=fold.next_focus,
        context_results=fold.next_context,
        goal=goal,
    )


def _is_final_vote(turns: Sequence[AnyTurn], stage: str) -> bool:
    """Check whether a stage is the vote on motions, or a vote of the mode that decides."""
    return stage == VOTE_STAGE or any(turn.decides for turn in turns if turn.stage == stage)


def _is_halted(turn: AnyTurn) -> bool:
    """Check whether a turn only broke off because the debate was asked to stop, so that it is taken again."""
    return turn.outcome == "failed" and turn.error.code == HALTED


@dataclass(slots=True)
class RunState:
    """What one run has done so far, apart from what it stored."""

    rounds_closed: int = 0
    """Rounds that this run has closed."""
    open_calls: dict[TurnAttempt, int] = field(default_factory=dict)
    """Number of calls that were sent for each turn without an outcome."""
    cancelled_calls: int = 0
    """Calls of measurements and syntheses that were cancelled."""
    has_ended: bool = False
    """Whether the end of the run is stored, or is being stored."""
    is_stage_open: bool = False
    """Whether turns of the current stage are missing."""
    retries_failed: bool = False
    """Whether failed turns of the interrupted stage are taken again, since the last run failed."""
    lease_error: RoundtableError | None = None
    """Why the lease was lost."""
    budget_error: RoundtableError | None = None
    """Which budget was used up."""
    waits: list[ProviderWait] = field(default_factory=list)
    """Waits for providers in the open round."""


class DebateRun:
    """Runs a session until it ends, pauses or fails. An object serves one run, under one lease.

    Args:
        journal: Stores all events.
        mode: Plans the stages.
        agents: The agents, by id.
        policy: How this kind of session, a debate or a team, differs in a run.
        limits: Limits of this run.
        funds: Budget of this run.
        pace: Queues the turns when many debates run at once.
        writer: Writes the synthesis, if one was requested.
        retries_failed: Whether failed turns of the interrupted stage are taken again, since the last run failed.
    """

    def __init__(
        self,
        journal: Journal,
        mode: DebateModeStrategy,
        agents: Mapping[str, Agent],
        *,
        policy: SessionPolicy,
        limits: RunLimits,
        funds: RunBudget,
        pace: StepLimiter,
        writer: Writer | None = None,
        retries_failed: bool = False,
    ) -> None:
        self.journal = journal
        self.mode: DebateModeStrategy = mode
        self.agents = agents
        self.policy = policy
        self.limits = limits
        self.funds = funds
        self.pace = pace
        self.writer = writer
        self.closed = False
        """Whether no further call may start; the code that started the run sets it."""
        self._log_fields = {"session": journal.session_id}
        self.state: RunState = RunState(retries_failed=retries_failed)
        self._run_scope = anyio.CancelScope()
        self._work_scope = anyio.CancelScope()
        self._wait_scope = anyio.CancelScope()

    @property
    def fold(self) -> Fold:
        """State of the session."""
        return self.journal.fold

    async def run(self) -> None:
        """Run the session.

        Raises:
            QuorumLost: Too few agents answered; the stored answers remain, and the session can be resumed.
            StorageError: An event could not be stored.
            LeaseLost: Another owner took over the session.
            SessionBusy: The lease expired, and another owner has it.
            KeyboardInterrupt: The caller's code was interrupted; the session can be resumed.
            SystemExit: The caller's code ends the program; the session can be resumed.
        """
        failure: Exception | KeyboardInterrupt | SystemExit | None = None
        async with anyio.create_task_group() as background:
            keeper = LeaseKeeper(
                self.journal,
                self.limits.lease_ttl_s,
                give_up=self._lose_lease,
                end_waits=self._end_waits,
                stop=self._cancel_work,
                pause_s=self.limits.pause_s,
            )
            try:
                self.journal.write_in(background)
                background.start_soon(keeper.keep_lease)
                background.start_soon(keeper.watch_control)
                with self._run_scope:
                    failure = await self._loop()
            except (KeyboardInterrupt, SystemExit) as error:
                failure = error  # raised below, outside of an exception group
            finally:
                try:
                    if not self.state.has_ended and self.state.lease_error is None:
                        await self._end_early("cancelled", "the debate was left before its end")
                finally:
                    self.journal.stop_writing()
                    background.cancel_scope.cancel()
        if self.state.lease_error is not None and not isinstance(self.state.lease_error, SessionError):
            await self._store_failure(self.state.lease_error)
        failure = self.state.lease_error or failure
        if failure is not None:
            raise failure

    async def _loop(self) -> Exception | None:
        """Run the debate; return an error instead of raising it, so that it is not wrapped in an exception group."""
        try:
            limit = self.funds.time_limit(self.limits.deadline_s)
            with anyio.move_on_after(limit.seconds) as deadline:
                await self._begin()
                while not self._is_over():
                    await self._step()
                self.state.has_ended = True
            if deadline.cancelled_caught and not self.state.has_ended:
                await self._end_early(limit.reason, limit.details)
        except RoundtableError as error:
            await self._store_failure(error)
            return error
        except Exception as error:  # noqa: BLE001  (modes, meters and exits may be third-party code)
            wrapped = wrap_error(error)
            await self._store_failure(wrapped)
            return wrapped
        return self.state.budget_error

    def _is_over(self) -> bool:
        limit = self.limits.rounds
        is_limit_reached = limit is not None and self.state.rounds_closed >= limit and not self.fold.concluding
        return self.state.has_ended or is_limit_reached

    async def _begin(self) -> None:
        fold = self.fold
        voids_control = self.limits.resume and fold.pending_control is not None
        if fold.progress.status in {"paused", "error"} or (voids_control and not fold.concluding):
            session_id, now = self._stamp()
            await self.journal.append(Control(session_id=session_id, timestamp=now, action="resume"))
        if not fold.started:
            await self.journal.append(start_event(fold, self.journal.clock.now()))
        self.state.is_stage_open = fold.current is not None and not fold.current.complete

    def _stamp(self) -> tuple[str, datetime]:
        return self.journal.session_id, self.journal.clock.now()

    def _may_call(self) -> bool:
        return not self.closed and self.fold.pending_control is None and not self.funds.refused

    async def _step(self) -> None:
        """Take one step: answer a control request, open a round, run a stage, close the round, or end the debate."""
        if self.fold.concluding:
            await self._synthesize()
            request = self.fold.pending_control
            if request is not None and request.action == "pause" and self.fold.wants_synthesis:
                await self._answer_control()
                return
            await self._append_end(*self._with_rest(end_event(self.fold, self.journal.clock.now(), "completed")))
            return
        if await self._answer_control():
            return
        current = self.fold.current
        if current is None or current.complete or not current.begun:
            await self._open_round()
            return
        if self.state.is_stage_open:
            self.state.is_stage_open = False
            if await self._finish_stage():
                return
        view = self.fold.view()
        plan = await plan_isolated(self.mode, view)
        check_plan(self.mode, plan, {name for name, _ in current.turns})
        if isinstance(plan, Stage):
            if plan.name in _ON_ROUND and (quorum_error := self.policy.check_quorum(self.fold, current.in_order())):
                raise quorum_error
            await self._take_stage(plan, {spec.slot: 1 for spec in plan.turns}, view)
        else:
            await self._close_round(current.to_record(), plan.reason if isinstance(plan, EndDebate) else None)

    async def _answer_control(self) -> bool:
        """Answer a request to pause or stop; return whether the run is over."""
        await self.journal.check_control()
        if self.fold.pending_control is not None:
            await self.journal.read_control()  # the caller may have withdrawn the request while calls ended
        if self.fold.pending_control is not None:
            self.state.has_ended = True
            step = self.limits.rounds is not None
            await self._append_last(*leaving_events(self.fold, self.journal.clock.now(), step=step))
        elif self.closed:
            await self._end_early("cancelled", "the debate was left before its end")
        return self.state.has_ended

    async def _open_round(self) -> None:
        """Open a round; if a stage outside the rounds is due, take its turn first."""
        fold, current = self.fold, self.fold.current
        frame = self.policy.frame(fold)
        if frame is not None:
            is_taken = await self._take_frame(frame)
            if frame.end_without_turn is not None:
                if not is_taken:
                    await self.journal.append(frame.end_without_turn(self.journal.clock.now()))
                self.state.has_ended = self.state.has_ended or fold.progress.status == "completed"
            if is_taken or frame.end_without_turn is not None:
                return
        number = 1 if current is None else current.number + current.complete
        if number > fold.progress.total_rounds:
            await self._exit(ExitResult(should_exit=True, reason="max_rounds", details="all planned rounds were held"))
            return
        await self.journal.append(round_event(fold, number, self.journal.clock.now(), self.policy.goal(fold)))

    async def _take_frame(self, frame: Frame) -> bool:
        """Take the turn of a stage outside the rounds, unless it was taken before; return whether it was taken now."""
        turn = frame.turn
        attempts = {0: 1} if turn is None else dict(self.policy.retries(self.fold, [turn]))
        if turn is not None and turn.outcome == "failed":
            if self.state.retries_failed or _is_halted(turn):
                attempts = {0: turn.attempt + 1}
            elif not attempts:
                self.policy.check_failed(self.fold, [turn])
            self.state.retries_failed = False
        if attempts:
            view = self.fold.view()
            await self._take_stage(frame.plan(view), attempts, view)
        return bool(attempts)

    async def _finish_stage(self) -> bool:
        """Finish the stage that an interruption left incomplete; return whether turns were missing.

        If a round lost its quorum, the failed turns of all its stages are taken again.
        """
        current = self.fold.current
        planned = [turn for turn in current.in_order() if turn.stage not in _NOT_PLANNED] if current else []
        stages = list(dict.fromkeys(turn.stage for turn in planned))
        if not stages or current is None:
            return False
        retry_failed, self.state.retries_failed = self.state.retries_failed, False
        view = self.fold.view(without_stages=stages[-1:], ends=_is_final_vote(planned, stages[-1]))
        plan = same_stage(self.mode, await plan_isolated(self.mode, view), stages[-1])
        turns = {spec.slot: current.turns.get((plan.name, spec.slot)) for spec in plan.turns}
        stage_turns = [turn for turn in turns.values() if turn is not None]
        attempts = {slot: 1 for slot, turn in turns.items() if turn is None}
        attempts |= {turn.slot: turn.attempt + 1 for turn in stage_turns if _is_halted(turn)}
        attempts |= self.policy.retries(self.fold, stage_turns)
        # The process may have died while it waited for the providers, and nobody has read past these turns.
        attempts |= {turn.slot: turn.attempt + 1 for turn in failed_by_providers(stage_turns)}
        # The process may have died after the last failure, before it stored the loss of the quorum.
        if not attempts and await self._is_round_lost(planned):
            return await self._retry_round(planned, stages)
        quorum_error = check_stage_quorum(plan, stage_turns, self.fold.record.config.quorum)
        if retry_failed or (not attempts and quorum_error):
            attempts |= {turn.slot: turn.attempt + 1 for turn in stage_turns if turn.outcome == "failed"}
        if attempts:
            await self._take_stage(plan, attempts, view)
        return bool(attempts)

    async def _is_round_lost(self, turns: Sequence[AnyTurn]) -> bool:
        """Check whether the round lost its quorum and the mode asks no more agents in it."""
        if self.policy.check_quorum(self.fold, turns) is None:
            return False
        plan = await plan_isolated(self.mode, self.fold.view())
        return not isinstance(plan, Stage) or plan.name in _ON_ROUND

    async def _retry_round(self, turns: Sequence[AnyTurn], stages: Sequence[str]) -> bool:
        """Take the failed turns of a round again, each with its earlier view; return whether there were any.

        The stages about all answers of the round run again as a whole.
        """
        retried = False
        for index, name in enumerate(stages):
            again = {
                turn.slot: turn
                for turn in turns
                if turn.stage == name and (turn.outcome == "failed" or name in _ON_ROUND)
            }
            view = self.fold.view(without_stages=stages[index:], ends=_is_final_vote(turns, name))
            plan = await plan_isolated(self.mode, view) if again else None
            if not isinstance(plan, Stage) or plan.name != name:  # the new answers made the stage unnecessary
                continue
            agents = {spec.slot: spec.agent for spec in plan.turns}
            attempts = {slot: turn.attempt + 1 for slot, turn in again.items() if agents.get(slot) == turn.agent_id}
            if attempts:
                retried = True
                await self._take_stage(plan, attempts, view)
            if self.state.is_stage_open or self.state.has_ended:
                break
        return retried

    async def _take_stage(self, stage: Stage, attempts: dict[int, int], view: DebateContext) -> None:
        """Take the turns of a stage; take failed turns again that may be retried at once, or after a wait.

        Raises:
            QuorumLost: Too few agents answered.
        """
        while attempts:
            turns = await self._take_turns(stage, attempts, view)
            if turns is None:
                return
            quorum_error = check_stage_quorum(stage, turns, self.fold.record.config.quorum)
            attempts = await self._wait_for_providers(turns, stops=quorum_error is not None)
            if self.state.is_stage_open:
                return
            if attempts:
                continue
            if quorum_error is not None:
                raise quorum_error
            self.policy.check_failed(self.fold, turns)
            attempts = dict(self.policy.retries(self.fold, turns))

    async def _wait_for_providers(self, turns: Sequence[AnyTurn], *, stops: bool) -> dict[int, int]:
        """Wait for the providers of failed turns as long as the patience allows; return the turns to take again.

        A request to pause or stop ends the wait, and leaves the stage open.

        Args:
            turns: All turns of a stage.
            stops: Whether too few agents of the stage answered.
        """
        failed, patience = failed_by_providers(turns), self.limits.patience
        if patience is None or not failed:
            return {}
        current = self.fold.current
        stops = stops or (current is not None and self.policy.check_quorum(self.fold, current.in_order()) is not None)
        retaken: Sequence[FailedTurn] = ()
        with anyio.CancelScope() as self._wait_scope:
            retaken = await patience.wait(failed, stops=stops, note=self._note_wait)
        self.state.is_stage_open = not self._may_call()
        return {turn.slot: turn.attempt + 1 for turn in retaken}

    def _will_wait(self, ends_at: float, turn: FailedTurn) -> bool:
        """Check whether the run will wait for the provider of a failed turn, and take the turn again."""
        patience = self.limits.patience
        return patience is not None and patience.will_wait(turn, ends_at - anyio.current_time())

    def _note_wait(self, first: FailedTurn, seconds: float) -> None:
        """Note a wait; the first of successive waits for one provider stands for all of them."""
        waits, provider = self.state.waits, first.error.provider or first.provider
        if waits and waits[-1].provider == provider:
            waits[-1] = waits[-1].model_copy(update={"seconds": waits[-1].seconds + seconds})
        else:
            error = first.error
            waits.append(ProviderWait(provider=provider, code=error.code, reason=error.message, seconds=seconds))

    async def _take_turns(self, stage: Stage, attempts: dict[int, int], view: DebateContext) -> list[AnyTurn] | None:
        """Take turns of a stage; return all turns of the stage, or `None` if some are still missing."""
        state = self.state
        shortage = self.funds.check()
        if shortage is not None:
            state.budget_error = self.funds.refusal(shortage)
            await self._synthesize()
            await self._end_early("budget", shortage)
            return None
        hooks = self.policy.hooks(self.journal, stage.name, self._may_call, self.pace)
        hooks.will_wait = partial(self._will_wait, anyio.current_effective_deadline())
        current = self.fold.current
        try:
            with anyio.CancelScope() as self._work_scope:
                await run_stage(
                    stage,
                    self.agents,
                    view,
                    hooks=hooks,
                    attempts=attempts,
                    rejections={slot: current.rejections[stage.name, slot] for slot in attempts} if current else None,
                    clock=self.journal.clock,
                    turn_timeout_s=self.limits.turn_timeout_s,
                    shaper=as_shaper(self.mode),
                )
        finally:
            state.open_calls |= hooks.open_calls
        current = self.fold.current
        turns = current.turns if current else {}
        stage_turns = [turns[stage.name, spec.slot] for spec in stage.turns if (stage.name, spec.slot) in turns]
        state.is_stage_open = len(stage_turns) < len(stage.turns)
        if not self._may_call():  # first answer the request or end for the budget; the quorum is checked later
            state.is_stage_open = True
        return None if state.is_stage_open else stage_turns

    async def _close_round(self, current: RoundRecord, ended_by_mode: str | None) -> None:
        end: RoundEnd | None = None
        begun = self.funds.calls_begun
        try:
            with anyio.CancelScope() as self._work_scope:
                end = await self.policy.close_round(self.fold, current, ended_by_mode, self.journal.clock.now)
        finally:
            # The usage of a complete measurement contains its calls already.
            if end is None and not self.policy.unstored_usage(self.fold).calls:
                self.state.cancelled_calls += self.funds.calls_begun - begun
        if end is None:  # the measurement was cancelled by a request to stop
            return
        if end.stage is not None:
            await self._take_stage(end.stage, {spec.slot: 1 for spec in end.stage.turns}, self.fold.view(ends=True))
            return
        step = self.limits.rounds is not None
        waits = (*current.waits, *self.state.waits) or None  # those of earlier runs are stored with their ends
        self.state.waits.clear()
        events = [
            event.model_copy(update={"step": step, "waits": waits}) if event.type == "round_complete" else event
            for event in end.events
        ]
        if end.ends_run:
            await self._append_end(*events)
        else:
            await self.journal.append(*events)
        self.state.rounds_closed += 1

    async def _exit(self, result: ExitResult) -> None:
        now = self.journal.clock.now()
        if self.fold.wants_synthesis:
            await self.journal.append(*self._with_waits(exit_event(self.fold, now, result)))
        else:
            await self._append_end(*self._with_waits(*last_events(self.fold, now, result, "completed")))

    async def _append_end(self, *events: DurableEvent) -> None:
        self.state.has_ended = True
        await self.journal.append(*events)

    async def _synthesize(self) -> None:
        """Write the synthesis if one was requested; a request to stop cancels it."""
        if not self.fold.wants_synthesis or self.closed or self.fold.pending_control is not None:
            return
        event: SynthesisComplete | None = None
        begun = self.funds.calls_begun
        try:
            with anyio.CancelScope() as self._work_scope:
                event = await synthesis_event(self.writer, self.fold, self.journal.clock)
        finally:
            if event is None:
                self.state.cancelled_calls += self.funds.calls_begun - begun
        if event is not None:
            await self.journal.append(event)

    async def _end_early(self, reason: str, details: str) -> None:
        """Store the end of a run that stops early; limited in time, and shielded from cancellation."""
        self.state.has_ended = True
        figures = step_figures(self.limits.rounds is not None)
        result = ExitResult(should_exit=True, reason=reason, details=details, figures=figures)
        await self._append_last(*self.policy.early_end(self.fold, self.journal.clock.now(), result))

    async def _append_last(self, *events: DurableEvent) -> None:
        self.journal.save_timeout_s = _LEAVE_TIMEOUT_S
        events = self._with_rest(*events)
        try:
            await self.journal.append(*events)
        except RoundtableError as error:
            # The caller gets the error that ended the run; this second error goes to the log.
            logger.warning("the end of the run could not be stored: %s", error.message, extra=self._log_fields)

    def _with_waits(self, *events: DurableEvent) -> tuple[DurableEvent, ...]:
        """Return events; the exit among them has the waits that no other event has."""
        if not any(isinstance(event, DebateExit) for event in events):
            return events
        waits = tuple(self.state.waits) or None
        self.state.waits.clear()
        return tuple(
            event.model_copy(update={"waits": waits}) if isinstance(event, DebateExit) else event for event in events
        )

    def _with_rest(self, *events: DurableEvent) -> tuple[DurableEvent, ...]:
        """Return the last events of a run, with the waits of its open round, and the usage of calls that may be billed.

        The usage is that of calls that no other event has.
        """
        events = self._with_waits(*events)
        calls = self._count_open_calls() + self.state.cancelled_calls
        usage = Usage(calls=calls, unreported_calls=calls) + self.policy.unstored_usage(self.fold)
        if not usage.calls:
            return events
        if self.fold.concluding and not any(isinstance(event, DebateExit) for event in events):
            return cancelled_synthesis(self.fold, events[0].timestamp, usage), *events
        return tuple(
            event.model_copy(update={"usage": usage}) if isinstance(event, DebateExit) else event for event in events
        )

    def _count_open_calls(self) -> int:
        """Count the calls of turns whose outcome is not stored."""
        turns = {record.number: record.turns for record in self.fold.rounds} if self.state.open_calls else {}
        count = 0
        for key, calls in self.state.open_calls.items():
            turn = turns.get(key.round, {}).get((key.stage, key.slot))
            if turn is None or turn.attempt < key.attempt:
                count += calls
        return count

    async def _store_failure(self, error: RoundtableError) -> None:
        """Store the error of a run that failed, if that is still possible."""
        self.state.has_ended = True
        self.journal.save_timeout_s = _LEAVE_TIMEOUT_S
        try:
            with anyio.CancelScope(shield=True):
                await self.journal.confirm()
        except RoundtableError as read_error:
            logger.warning("the end of the run could not be stored: %s", read_error.message, extra=self._log_fields)
            return
        # A debate that is over already has its exit reason; a resume stores its end.
        has_end = self.fold.concluding or self.fold.progress.status in {"paused", "completed"}
        if isinstance(error, LeaseLost) or has_end:
            return
        await self._append_last(*broken_events(self.fold, self.journal.clock.now(), error))

    def _lose_lease(self, error: RoundtableError) -> None:
        self.state.lease_error = error
        self._run_scope.cancel()

    def _end_waits(self) -> None:
        self._wait_scope.cancel()

    def _cancel_work(self) -> None:
        self._work_scope.cancel()
