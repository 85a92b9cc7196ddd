"""How debates and teams differ in a run: stages outside the rounds, retries, and the end of a round and of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from roundtable.core.engine.closing import (
    check_round_quorum,
    closing_events,
    early_exit,
    exit_after,
    exit_event,
    last_events,
    measure_round,
    with_measure,
    without_votes,
)
from roundtable.core.engine.context_requests import context_exit, request_events
from roundtable.core.engine.plan_limits import plan_isolated
from roundtable.core.engine.stage_hooks import StoringHooks
from roundtable.core.mode.base import vote_options_of
from roundtable.core.mode.rounds import check_plan
from roundtable.core.types.chat import Usage
from roundtable.core.types.plan import VOTE_STAGE, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from roundtable.core.engine.closing import DebateExits, Decider
    from roundtable.core.engine.journal import Journal
    from roundtable.core.engine.plan_limits import StepLimiter
    from roundtable.core.errors import QuorumLost
    from roundtable.core.protocols import ConsensusMeter, DebateModeStrategy
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.consensus import Measured
    from roundtable.core.types.debate import AnyTurn, DebateContext, ExitResult, RoundRecord
    from roundtable.core.types.events import DurableEvent

__all__ = ["DebatePolicy", "Frame", "RoundEnd", "SessionPolicy"]


class Frame(NamedTuple):
    """A stage of one turn outside the rounds: before the first round, or after the last one."""

    plan: Callable[[DebateContext], Stage]
    """Plans the stage."""
    turn: AnyTurn | None
    """Its turn, if it has been taken."""
    end_without_turn: Callable[[datetime], DurableEvent] | None = None
    """For the stage after the last round: returns the event that ends the session if the turn is not taken."""


class RoundEnd(NamedTuple):
    """The events that close a round, or a stage that must run first."""

    events: tuple[DurableEvent, ...] = ()
    """The events, in order."""
    ends_run: bool = False
    """Whether the run ends with them."""
    stage: Stage | None = None
    """A stage that the round still needs: the vote, if an exit criterion ends the debate early."""


class SessionPolicy(Protocol):
    """What a run needs to know about its kind of session."""

    def hooks(self, journal: Journal, stage: str, may_call: Callable[[], bool], pace: StepLimiter) -> StoringHooks:
        """Return the hooks that store and publish the turns of a stage."""

    def goal(self, fold: Fold) -> str | None:
        """Return the goal that the next round starts with; `None` for a debate."""

    def frame(self, fold: Fold) -> Frame | None:
        """Return the stage to run before a round is opened, outside the rounds; `None` if there is none."""

    def retries(self, fold: Fold, turns: Iterable[AnyTurn]) -> Mapping[int, int]:
        """Return the next attempts of failed turns that are taken again at once, by slot."""

    def check_failed(self, fold: Fold, turns: Iterable[AnyTurn]) -> None:
        """Raise if the session cannot continue without one of the failed turns.

        Raises:
            AgentError: An agent that the session needs failed.
        """

    def check_quorum(self, fold: Fold, turns: Sequence[AnyTurn]) -> QuorumLost | None:
        """Return the error of a round in which too few agents answered; `None` if enough answered."""

    async def close_round(
        self, fold: Fold, current: RoundRecord, ended_by_mode: str | None, now: Callable[[], datetime]
    ) -> RoundEnd:
        """Return the events that close a round whose stages have run.

        Raises:
            QuorumLost: Too few agents answered.
        """

    def early_end(self, fold: Fold, now: datetime, result: ExitResult) -> tuple[DurableEvent, ...]:
        """Return the events of a run that stops before the end of the session."""

    def unstored_usage(self, fold: Fold) -> Usage:
        """Return the usage that is neither part of a turn nor stored."""


class DebatePolicy:
    """A debate: each round is measured, and the exit criteria decide whether another round follows.

    Args:
        mode: Plans the stages.
        meter: Measures each round.
        exits: Checked after each round; without it, the debate ends after the planned rounds.
        decide: Decides each round.
    """

    def __init__(
        self,
        mode: DebateModeStrategy,
        meter: ConsensusMeter,
        exits: DebateExits | None,
        decide: Decider,
    ) -> None:
        self._mode: DebateModeStrategy = mode
        self._meter = meter
        self._exits = exits
        self._decide = decide
        self._measured: tuple[tuple[int, tuple[AnyTurn, ...]], tuple[Measured, Measured | None]] | None = None

    def hooks(self, journal: Journal, stage: str, may_call: Callable[[], bool], pace: StepLimiter) -> StoringHooks:
        """Return the hooks that store and publish the turns of a stage."""
        return StoringHooks(journal, stage, may_call, pace)

    def goal(self, fold: Fold) -> None:
        """Return `None`: only a team has a goal."""

    def frame(self, fold: Fold) -> None:
        """Return `None`: a debate consists of its rounds."""

    def retries(self, fold: Fold, turns: Iterable[AnyTurn]) -> Mapping[int, int]:
        """Return nothing: a debate continues without failed turns."""
        return {}

    def check_failed(self, fold: Fold, turns: Iterable[AnyTurn]) -> None:
        """Accept all failures: the quorum decides."""

    def check_quorum(self, fold: Fold, turns: Sequence[AnyTurn]) -> QuorumLost | None:
        """Check the quorum of the debate."""
        return check_round_quorum(turns, fold.record.config.quorum)

    async def close_round(
        self, fold: Fold, current: RoundRecord, ended_by_mode: str | None, now: Callable[[], datetime]
    ) -> RoundEnd:
        """Measure the round, decide by its ballots, and check the exit criteria.

        Raises:
            QuorumLost: Too few agents answered.
        """
        quorum_error = self.check_quorum(fold, current.turns)
        if quorum_error is not None:
            raise quorum_error
        rounds = [debate_round.to_record() for debate_round in fold.rounds[:-1]]
        measured = await self._measure(fold, current, rounds)
        closed = now()
        assigned = self._mode.assigns_stances
        closing = closing_events(
            fold,
            current,
            *measured,
            closed,
            assigned=assigned,
            decide=self._decide,
            rounds=rounds,
            vote_options=vote_options_of(self._mode),
        )
        rounds.append(with_measure(current, closing[0]))
        planned = fold.progress.total_rounds
        result = exit_after(rounds, self._exits, planned, ended_by_mode, extended_after=fold.extended_after)
        result = result or early_exit(fold, current, closing[0])
        is_complete = result is not None
        if is_complete and (stage := await self._missing_vote(fold, current)) is not None:
            return RoundEnd(stage=stage)
        requests = request_events(fold, current, closed)
        result = result or context_exit(fold, requests)
        if result is None:
            return RoundEnd((*requests, *closing))
        if is_complete and fold.wants_synthesis:
            return RoundEnd((*requests, *closing, exit_event(fold, closed, result)))
        status = last_events(fold, closed, result, "completed" if is_complete else "paused")
        return RoundEnd((*requests, *closing, *status), ends_run=True)

    async def _measure(
        self, fold: Fold, current: RoundRecord, before: Sequence[RoundRecord]
    ) -> tuple[Measured, Measured | None]:
        """Measure a round once; a vote after the measurement does not change it."""
        key = current.number, without_votes(current)
        if self._measured is None or self._measured[0] != key:
            groupthink = self._mode.needs_groupthink_detection
            measured = await measure_round(self._meter, current, fold.record, before, groupthink=groupthink)
            self._measured = key, measured
        return self._measured[1]

    def unstored_usage(self, fold: Fold) -> Usage:
        """Return the usage of a measurement that is not stored yet, since its round waits for the vote."""
        if self._measured is None:
            return Usage()
        (number, _), (measured, independent) = self._measured
        if fold.current is None or fold.current.number != number or fold.current.complete:
            return Usage()
        usage = Usage() if measured.usage is None else measured.usage
        return usage if independent is None or independent.usage is None else usage + independent.usage

    async def _missing_vote(self, fold: Fold, current: RoundRecord) -> Stage | None:
        """Return the vote that ends the debate, if this round became the last one and has no vote yet."""
        votes = fold.record.config.vote or getattr(self._mode, "has_own_vote", False) is True
        if not votes or len(without_votes(current)) < len(current.turns):
            return None
        plan = await plan_isolated(self._mode, fold.view(ends=True))
        if not isinstance(plan, Stage) or not (
            plan.name == VOTE_STAGE or any(spec.counts == "decide" for spec in plan.turns)
        ):
            return None
        check_plan(self._mode, plan, {turn.stage for turn in current.turns})
        return plan

    def early_end(self, fold: Fold, now: datetime, result: ExitResult) -> tuple[DurableEvent, ...]:
        """Return the events of a pause."""
        return last_events(fold, now, result, "paused")
