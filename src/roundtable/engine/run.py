"""One run of one debate: plan, take the turns, store, measure, decide whether to go on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from roundtable.engine.closing import (
    broken_events,
    end_event,
    exit_after,
    exit_event,
    last_events,
    leaving_events,
    lost_quorum,
    lost_round,
    measure_round,
    measured_events,
    skipping,
    with_measure,
)
from roundtable.engine.hooks import StoringHooks
from roundtable.engine.keeping import Keeper, foreign
from roundtable.engine.opening import round_event, start_event
from roundtable.engine.plans import check_plan, plan_beside, same_stage, whole_mode
from roundtable.engine.requests import requested_events, waits_for
from roundtable.engine.synthesis import synthesis_event
from roundtable.errors import (
    LeaseLost,
    RoundtableError,
    SessionError,
)
from roundtable.exits import guarded, unmet
from roundtable.stages import run_stage, shaper_of
from roundtable.types import (
    Control,
    EndDebate,
    ExitResult,
    Stage,
)
from roundtable.types.plan import EXTERNAL
from roundtable.types.teams import INITIATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from roundtable._registry import Registry
    from roundtable.engine.journal import Journal
    from roundtable.engine.limits import RunLimits
    from roundtable.engine.pacing import Pace
    from roundtable.engine.spending import Funds
    from roundtable.engine.synthesis import Writer
    from roundtable.protocols import Agent, ConsensusMeter, DebateModeStrategy, ExitCriterion
    from roundtable.record import Fold
    from roundtable.scoring import Rule
    from roundtable.types import (
        AnyTurn,
        DebateContext,
        DurableEvent,
        Measured,
        RoundRecord,
        SessionStatus,
        SynthesisComplete,
    )

__all__ = ["DebateRun"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_LEAVE_TIMEOUT_S = 10.0
_NOT_PLANNED = frozenset({EXTERNAL, INITIATOR})
"""Stages that are not what the mode had planned for the round."""


class DebateRun:
    """Runs a session until it ends, pauses or breaks. Made for one run, under one lease.

    Args:
        journal: Where everything is written.
        mode: Says what happens next.
        agents: Who takes part, by id.
        meter: Measures each round.
        exits: Says after each round whether the debate ends; after the planned rounds when left out.
        rules: Where the decision rule is found; `None` knows the built-in ones.
        limits: How far this run may go.
        funds: What this run may spend.
        pace: Where its turns queue up when many debates run side by side.
        writer: Puts the debate together, where that was asked for.
    """

    def __init__(
        self,
        journal: Journal,
        mode: DebateModeStrategy,
        agents: Mapping[str, Agent],
        *,
        meter: ConsensusMeter,
        exits: ExitCriterion | None,
        rules: Registry[Rule] | None = None,
        limits: RunLimits,
        funds: Funds,
        pace: Pace,
        writer: Writer | None = None,
    ) -> None:
        self.journal = journal
        self.mode: DebateModeStrategy = whole_mode(mode, journal.fold.record.config)
        self.agents = agents
        self.meter = meter
        self.exits = exits
        self.rules = rules
        self.limits = limits
        self.funds = funds
        self.pace = pace
        self.writer = writer
        self.closed = False
        """Set from outside to keep any further call from starting."""
        self._fields = {"session": journal.session_id}
        self._held = 0
        self._ended = False
        self._unfinished = False
        self._retry_failed = journal.fold.error is not None
        self._lost: RoundtableError | None = None
        self._refused: RoundtableError | None = None
        self._scope = anyio.CancelScope()
        self._work = anyio.CancelScope()

    @property
    def fold(self) -> Fold:
        """State of the session."""
        return self.journal.fold

    @property
    def held(self) -> int:
        """Rounds that this run has closed."""
        return self._held

    async def run(self) -> None:
        """Run.

        Raises:
            QuorumLost: Too few agents answered; stored answers stay, the session can be resumed.
            StorageError: Something could not be stored.
            LeaseLost: Another owner took over.
            SessionBusy: The lease ran out, and another owner has it.
        """
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as background:
                keeper = Keeper(self.journal, self.limits.lease_ttl_s, give_up=self._give_up, stop=self._stop)
                background.start_soon(keeper.keep_lease)
                background.start_soon(keeper.watch_control)
                with self._scope:
                    failure = await self._loop()
                background.cancel_scope.cancel()
        finally:
            if not self._ended and self._lost is None:
                await self._leave("cancelled", "the debate was left before its end")
        if self._lost is not None and not isinstance(self._lost, SessionError):
            await self._break(self._lost)
        failure = self._lost or failure
        if failure is not None:
            raise failure

    async def _loop(self) -> Exception | None:
        """Run the debate; give an error instead of raising it, so that nobody meets an exception group."""
        try:
            limit = self.funds.time_limit(self.limits.deadline_s)
            with anyio.move_on_after(limit.seconds) as deadline:
                await self._begin()
                while not self._ended and not self._done_for_now():
                    await self._step()
            if deadline.cancelled_caught and not self._ended:
                await self._leave(limit.reason, limit.details)
        except RoundtableError as error:
            await self._break(error)
            return error
        except Exception as error:  # noqa: BLE001  (modes, meters and exits may be foreign code)
            wrapped = foreign(error)
            await self._break(wrapped)
            return wrapped
        return self._refused

    def _done_for_now(self) -> bool:
        if self.limits.rounds is not None and self._held >= self.limits.rounds and not self.fold.concluding:
            self._ended = True
        return self._ended

    async def _begin(self) -> None:
        fold = self.fold
        void = self.limits.resume and fold.pending_control is not None
        if fold.progress.status in {"paused", "error"} or (void and not fold.concluding):
            session_id, now = self._stamp()
            await self.journal.append(Control(session_id=session_id, timestamp=now, action="resume"))
        if not fold.started:
            await self.journal.append(start_event(fold, self.journal.clock.now()))
        self._unfinished = fold.current is not None and not fold.current.complete

    def _stamp(self) -> tuple[str, datetime]:
        return self.journal.session_id, self.journal.clock.now()

    def _may_call(self) -> bool:
        return not self.closed and self.fold.pending_control is None and not self.funds.refused

    async def _step(self) -> None:
        """Do one thing: obey, open a round, take a stage, close the round, or conclude the debate."""
        if self.fold.concluding:
            await self._put_together()
            await self._end(end_event(self.fold, self.journal.clock.now(), "completed"))
            return
        if await self._obey():
            return
        current = self.fold.current
        if current is None or current.complete or not current.begun:
            await self._open_round()
            return
        if self._unfinished:
            self._unfinished = False
            if await self._finish_stage():
                return
        view = self.fold.view()
        plan = await plan_beside(self.mode, view)
        check_plan(self.mode, plan, {name for name, _ in current.turns})
        if isinstance(plan, Stage):
            await self._take_stage(plan, {spec.slot: 1 for spec in plan.turns}, view)
        else:
            await self._close_round(current.to_record(), plan.reason if isinstance(plan, EndDebate) else None)

    async def _obey(self) -> bool:
        """Answer a request to pause or stop; tell whether the run is over."""
        await self.journal.look()
        if self.fold.pending_control is not None:
            self._ended = True
            await self._write_last(*leaving_events(self.fold, self.journal.clock.now()))
        elif self.closed:
            await self._leave("cancelled", "the debate was left before its end")
        return self._ended

    async def _open_round(self) -> None:
        fold, current = self.fold, self.fold.current
        number = 1 if current is None else current.number + current.complete
        if number > fold.progress.total_rounds:
            await self._exit(ExitResult(should_exit=True, reason="max_rounds", details="all planned rounds were held"))
            return
        await self.journal.append(round_event(fold, number, self.journal.clock.now()))

    def _hooks(self, stage: Stage) -> StoringHooks:
        """Give what stores and tells the turns of a stage."""
        return StoringHooks(self.journal, stage.name, self._may_call, self.pace)

    def _once_more(self, turns: Iterable[AnyTurn]) -> dict[int, int]:
        """Give the failed turns that are to be taken again at once, by slot; debates go on without them."""
        return {}

    async def _finish_stage(self) -> bool:
        """After a break: take the turns that are missing from the stage that was under way."""
        current = self.fold.current
        stages = [stage for stage, _ in current.turns if stage not in _NOT_PLANNED] if current else []
        if not stages or current is None:
            return False
        retry_failed, self._retry_failed = self._retry_failed, False
        view = self.fold.view(without_stage=stages[-1])
        plan = same_stage(self.mode, await plan_beside(self.mode, view), stages[-1])
        held = {spec.slot: current.turns.get((plan.name, spec.slot)) for spec in plan.turns}
        attempts = {slot: 1 for slot, turn in held.items() if turn is None}
        attempts |= self._once_more(turn for turn in held.values() if turn is not None)
        # A process may have died between the last failure and the word that quorum was lost.
        taken = [turn for turn in held.values() if turn is not None]
        needed = self.fold.record.config.quorum
        lost = lost_quorum(plan, taken, needed) or lost_round(current.in_order(), needed)
        if retry_failed or (not attempts and lost):
            attempts |= {turn.slot: turn.attempt + 1 for turn in taken if turn.outcome == "failed"}
        if attempts:
            await self._take_stage(plan, attempts, view)
        return bool(attempts)

    async def _take_stage(self, stage: Stage, attempts: dict[int, int], view: DebateContext) -> None:
        spent = self.funds.check()
        if spent is not None:
            self._refused = self.funds.refusal(spent)
            await self._put_together()
            await self._leave("budget", spent)
            return
        with anyio.CancelScope() as self._work:
            await run_stage(
                stage,
                self.agents,
                view,
                hooks=self._hooks(stage),
                attempts=attempts,
                clock=self.journal.clock,
                turn_timeout_s=self.limits.turn_timeout_s,
                shaper=shaper_of(self.mode),
            )
        current = self.fold.current
        turns = current.turns if current else {}
        held = [turns[stage.name, spec.slot] for spec in stage.turns if (stage.name, spec.slot) in turns]
        self._unfinished = len(held) < len(stage.turns)
        if not self._may_call():  # who asked to pause or stop, or refused money, comes first; quorum is counted later
            self._unfinished = True
            return
        lost = None if self._unfinished else lost_quorum(stage, held, self.fold.record.config.quorum)
        if lost is not None:
            raise lost

    async def _close_round(self, current: RoundRecord, ended_by_mode: str | None) -> None:
        fold = self.fold
        lost = lost_round(current.turns, fold.record.config.quorum)
        if lost is not None:
            raise lost
        measured: tuple[Measured, Measured | None] | None = None
        with anyio.CancelScope() as self._work:
            measured = await measure_round(self.meter, current, fold.record, self.mode)
        if measured is None:  # somebody asked to stop meanwhile
            return
        now = self.journal.clock.now()
        closing = measured_events(fold, current, *measured, now, assigned=self.mode.assigns_stances, rules=self.rules)
        rounds = [held.to_record() for held in fold.rounds[:-1]]
        rounds.append(with_measure(current, closing[0]))
        # A criterion that held when the debate was extended by hand has had its say.
        exits = self.exits and unmet(guarded(self.exits), rounds[: fold.extended_after])
        leaving = exit_after(rounds, exits, fold.progress.total_rounds, ended_by_mode)
        leaving = leaving or skipping(fold, current, closing[0])
        status: SessionStatus = "completed" if leaving is not None else "paused"
        asked = requested_events(fold, current, now)
        leaving = leaving or waits_for(fold, asked)
        if leaving is None:
            await self.journal.append(*asked, *closing)
        elif status == "completed" and fold.wants_synthesis:
            await self.journal.append(*asked, *closing, exit_event(fold, now, leaving))
        else:
            await self._end(*asked, *closing, *last_events(fold, now, leaving, status))
        self._held += 1

    async def _exit(self, result: ExitResult) -> None:
        now = self.journal.clock.now()
        if self.fold.wants_synthesis:
            await self.journal.append(exit_event(self.fold, now, result))
        else:
            await self._end(*last_events(self.fold, now, result, "completed"))

    async def _end(self, *events: DurableEvent) -> None:
        self._ended = True
        await self.journal.append(*events)

    async def _put_together(self) -> None:
        """Have the debate put together, where that was asked for; whoever asks to stop meanwhile is heard."""
        if not self.fold.wants_synthesis or self.closed or self.fold.pending_control is not None:
            return
        made: SynthesisComplete | None = None
        with anyio.CancelScope() as self._work:
            made = await synthesis_event(self.writer, self.fold, self.journal.clock)
        if made is not None:
            await self.journal.append(made)

    async def _leave(self, reason: str, details: str) -> None:
        """Write the end of a run that did not reach its own; bounded, and not to be cancelled."""
        self._ended = True
        result = ExitResult(should_exit=True, reason=reason, details=details)
        await self._write_last(*last_events(self.fold, self.journal.clock.now(), result, "paused"))

    async def _write_last(self, *events: DurableEvent) -> None:
        self.journal.save_timeout_s = _LEAVE_TIMEOUT_S
        try:
            await self.journal.append(*events)
        except RoundtableError as error:
            # What ended the run is what its caller has to hear; that it could not be written is said in the log.
            logger.warning("the end of the run could not be stored: %s", error.message, extra=self._fields)

    async def _break(self, error: RoundtableError) -> None:
        """Write that the run broke, where it still can be written."""
        self._ended = True
        # A debate that is over has its reason; whoever resumes it writes its end.
        if isinstance(error, LeaseLost) or self.fold.concluding:
            return
        await self._write_last(*broken_events(self.fold, self.journal.clock.now(), error))

    def _give_up(self, error: RoundtableError) -> None:
        self._lost = error
        self._scope.cancel()

    def _stop(self) -> None:
        self._work.cancel()
