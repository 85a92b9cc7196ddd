"""The loop over the stages of a round: plan a stage, check the plan, run the stage, and repeat.

Estimates, diagrams, the simulated debates of the test kit and `execute_round` use `RoundPlanner`, and each runs the
turns of a stage in its own way. The engine stores each step of the loop. So it has its own loop, with the same two
functions `plan_with` and `check_plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.plan import (
    BASELINE_STAGE,
    JUDGE_STAGE,
    LAST_VOTE_STAGE,
    MAX_STAGES,
    MODERATOR_STAGE,
    VOTE_STAGE,
    EndDebate,
    EndRound,
    Stage,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.debate import DebateContext
    from roundtable.core.types.plan import Plan

__all__ = ["RoundPlanner", "check_plan", "plan_with"]


_BALLOTS: Final = frozenset({"ballot", "ranking", "approval", "scores"})
_RESERVED: Final = frozenset({BASELINE_STAGE, VOTE_STAGE})


class RoundPlanner:
    """Planner of the stages of one round; each stage is planned from the transcript with all earlier stages.

    Args:
        mode: The mode that plans.

    Example:
        >>> from roundtable.modes import CollaborativeMode
        >>> from roundtable.types import DebateContext, Seat
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="collaborative", agents=(Seat(id="a", name="A"),))
        >>> RoundPlanner(CollaborativeMode()).next_plan(view).name
        'positions'
    """

    def __init__(self, mode: DebateModeStrategy) -> None:
        self._mode = mode
        self._held: set[str] = set()

    def next_plan(self, view: DebateContext) -> Plan:
        """Return the next stage of the round, or the end of the round or of the debate.

        Raises:
            ConfigurationError: The mode raised an error, or its plan is not valid.
        """
        plan = plan_with(self._mode, view)
        check_plan(self._mode, plan, self._held)
        if isinstance(plan, Stage):
            self._held.add(plan.name)
        return plan


def plan_with(mode: DebateModeStrategy, view: DebateContext) -> Plan:
    """Return a mode's plan of what happens next.

    Raises:
        ConfigurationError: The mode, which may be third-party code, raised an error.
    """
    try:
        return mode.next_stage(view)
    except RoundtableError:
        raise
    except (Exception, SystemExit) as error:
        msg = f"mode {mode.name!r} failed while planning: {type(error).__name__}: {error_text(error)}"
        raise ConfigurationError(msg, cause=error, hint="Fix next_stage or steps of the mode, then resume.") from error


def check_plan(mode: DebateModeStrategy, plan: object, stages_held: Collection[str]) -> None:
    """Check, before any agent is called, that a plan is valid and that its round can end.

    Args:
        mode: The mode that made the plan.
        plan: The plan.
        stages_held: Names of the stages of the round that were planned before.

    Raises:
        ConfigurationError: The object is not a plan; or its stage has no turns, has already run in this round, or
            exceeds the maximum number of stages; or the stage asks for ballots without saying how they count, or says
            how answers count that are not ballots.
    """
    if isinstance(plan, EndRound | EndDebate):
        return
    if not isinstance(plan, Stage):
        msg = f"next_stage of mode {mode.name!r} returned {type(plan).__name__}, which is not a plan"
        raise ConfigurationError(msg, hint="Return a Stage, EndRound() or EndDebate() on every path.")
    if not plan.turns:
        problem = f"the stage {plan.name!r} without any turn"
    elif plan.name in stages_held:
        problem = f"the stage {plan.name!r} a second time in one round"
    elif len(stages_held) >= MAX_STAGES:
        problem = f"more than {MAX_STAGES} stages in one round (the last is {plan.name!r})"
    else:
        _check_others(mode, plan)
        _check_ballots(mode, plan)
        return
    hint = "End the round with EndRound(), and use each stage name once per round."
    raise ConfigurationError(f"mode {mode.name!r} plans {problem}", hint=hint)


def _check_others(mode: DebateModeStrategy, stage: Stage) -> None:
    """Check that `counts` is set only on turns with ballots, since other answers cannot be counted."""
    for turn in stage.turns:
        if turn.counts is not None and turn.answer not in _BALLOTS:
            where = f"mode {mode.name!r} plans the stage {stage.name!r}"
            msg = f"{where} with counts={turn.counts!r}, but its answers (kind {turn.answer!r}) are not ballots"
            raise ConfigurationError(msg, hint='Leave counts out, or ask for ballots, as with answer="ballot".')


def _check_ballots(mode: DebateModeStrategy, stage: Stage) -> None:
    """Check that a stage of ballots says how they count, unless judges, a moderator or a vote on motions use them."""
    turns = [turn for turn in stage.turns if turn.answer in _BALLOTS]
    if not turns or stage.name in {JUDGE_STAGE, MODERATOR_STAGE} or all(turn.motions for turn in turns):
        return
    counts = {turn.counts for turn in turns}
    if stage.name in _RESERVED or (stage.name == LAST_VOTE_STAGE and counts != {"decide"}):
        problem, hint = "of ballots under a name that has another meaning", "Give the stage another name."
    elif None in counts or len(counts) > 1:
        problem = "of ballots without saying how they count"
        hint = 'Set counts="decide" in each turn of the stage if its ballots decide the debate, else counts="inform".'
    elif counts == {"decide"} and any(turn.answer != "ballot" for turn in stage.turns):
        kinds = sorted({turn.answer for turn in stage.turns if turn.answer != "ballot"})
        problem = f"that decides with answers of the kind {kinds[0]!r}"
        hint = 'Set answer="ballot"; or set counts="inform", and run the debate with vote=True for other ballots.'
    else:
        return
    raise ConfigurationError(f"mode {mode.name!r} plans the stage {stage.name!r} {problem}", hint=hint)
