"""The one loop over the stages of a round: plan a stage, check the plan, run it, look again.

Estimates, diagrams, the kit's simulated debates and `execute_round` go through `RoundPlanner`; each runs the turns of a
stage in its own way. The engine stores each step of this loop, so it takes them itself, with the same two functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._core.text import error_text
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.types import EndDebate, EndRound, Stage
from roundtable.types.plan import MAX_STAGES

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import DebateContext, Plan

__all__ = ["RoundPlanner", "check_plan", "plan_with"]


class RoundPlanner:
    """Plans the stages of one round, each from the transcript that holds the turns of those before it.

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
        ConfigurationError: The mode raised an error; it may be third-party code.
    """
    try:
        return mode.next_stage(view)
    except RoundtableError:
        raise
    except (Exception, SystemExit) as error:
        msg = f"mode {mode.name!r} failed while planning: {type(error).__name__}: {error_text(error)}"
        raise ConfigurationError(msg, cause=error, hint="Fix next_stage or steps of the mode, then resume.") from error


def check_plan(mode: DebateModeStrategy, plan: object, held: Collection[str]) -> None:
    """Check that a plan is valid, and that its round can end, before any agent is called.

    Args:
        mode: The mode that made the plan.
        plan: The plan.
        held: Names of the stages that the round has had.

    Raises:
        ConfigurationError: It is not a plan; or its stage has no turns, was held in this round already, or is one too
            many.
    """
    if isinstance(plan, EndRound | EndDebate):
        return
    if not isinstance(plan, Stage):
        msg = f"next_stage of mode {mode.name!r} returned {type(plan).__name__}, which is not a plan"
        raise ConfigurationError(msg, hint="Return a Stage, EndRound() or EndDebate() on every path.")
    if not plan.turns:
        problem = "without any turn"
    elif plan.name in held:
        problem = "a second time in one round"
    elif len(held) >= MAX_STAGES:
        problem = f"after {MAX_STAGES} others in one round"
    else:
        return
    msg = f"mode {mode.name!r} plans the stage {plan.name!r} {problem}"
    raise ConfigurationError(msg, hint="A mode ends a round with EndRound() and names each stage of it once.")
