"""Refusing plans of a mode that cannot be carried out, before anybody is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from roundtable._foreign import error_text
from roundtable._threads import on_thread
from roundtable.errors import ConfigurationError, RoundtableError, SessionError
from roundtable.modes import ExpertPanelMode, WrappedMode, with_baseline, with_facilitator, with_judge
from roundtable.types import EndDebate, EndRound, Stage

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import DebateConfig, DebateContext, Plan

__all__ = ["MOST_STAGES", "check_plan", "plan_beside", "plan_of", "same_stage", "whole_mode"]

PLAN_S: Final = 10.0
"""Seconds a mode that is not the library's has for a plan."""
MOST_STAGES: Final = 256
"""Stages that one round may have."""


def whole_mode(mode: DebateModeStrategy, config: DebateConfig) -> DebateModeStrategy:
    """Give a mode with the stages that a debate asks for besides: facilitator, private round, judges."""
    facilitator, judges = config.seats.get("facilitator", ()), config.seats.get("judge", ())
    if facilitator and isinstance(mode, ExpertPanelMode):
        mode = with_facilitator(mode, facilitator[0])
    if config.baseline:
        mode = with_baseline(mode)
    return with_judge(mode, judges) if judges else mode


def plan_of(mode: DebateModeStrategy, view: DebateContext) -> Plan:
    """Ask a mode what happens next.

    Raises:
        ConfigurationError: The mode broke; it may be foreign code.
    """
    try:
        return mode.next_stage(view)
    except RoundtableError:
        raise
    except (Exception, SystemExit) as error:
        msg = f"mode {mode.name!r} broke while it planned: {type(error).__name__}: {error_text(error)}"
        raise ConfigurationError(msg, cause=error, hint="Mend next_stage or steps of the mode, then resume.") from error


async def plan_beside(mode: DebateModeStrategy, view: DebateContext) -> Plan:
    """Ask a mode what happens next; one that is not the library's is asked on a thread of its own.

    A mode that sleeps, or calls something, then holds up neither the leases nor the debates of others. It cannot be
    stopped: its thread runs on until it answers, and keeps no program from ending.

    Raises:
        ConfigurationError: The mode broke, or gave no plan within `PLAN_S`.
    """
    if _is_ours(mode):
        return plan_of(mode, view)
    with anyio.move_on_after(PLAN_S):
        return await on_thread(partial(plan_of, mode, view), name="roundtable mode")
    msg = f"mode {mode.name!r} did not plan within {PLAN_S:g} s"
    raise ConfigurationError(msg, hint="A mode computes its plan; it neither sleeps nor calls anything. Then resume.")


def _is_ours(mode: DebateModeStrategy) -> bool:
    """Tell whether a mode, and each that it is wrapped in, is the library's."""
    while isinstance(mode, WrappedMode) and type(mode).__module__.startswith("roundtable."):
        mode = mode.inner
    return type(mode).__module__.startswith("roundtable.")


def check_plan(mode: DebateModeStrategy, plan: object, held: Collection[str]) -> None:
    """Refuse what is no plan, and a plan that would never end, before anybody is asked.

    Args:
        mode: Whose plan it is.
        plan: What it plans.
        held: Names of the stages that the round has had.

    Raises:
        ConfigurationError: It is no plan, or a stage without turns, held in this round already, or one too many.
    """
    if isinstance(plan, EndRound | EndDebate):
        return
    if not isinstance(plan, Stage):
        msg = f"next_stage of mode {mode.name!r} gave {type(plan).__name__}, which is no plan"
        raise ConfigurationError(msg, hint="Return a Stage, EndRound() or EndDebate() on every path.")
    if not plan.turns:
        why = "without any turn"
    elif plan.name in held:
        why = "a second time in one round"
    elif len(held) >= MOST_STAGES:
        why = f"after {MOST_STAGES} others in one round"
    else:
        return
    msg = f"mode {mode.name!r} plans the stage {plan.name!r} {why}"
    raise ConfigurationError(msg, hint="A mode ends a round with EndRound() and names each stage of it once.")


def same_stage(mode: DebateModeStrategy, plan: object, name: str) -> Stage:
    """Give the plan of a stage that was under way, planned again.

    Raises:
        SessionError: The mode plans something else now.
    """
    if not isinstance(plan, Stage) or plan.name != name:
        msg = f"mode {mode.name!r} no longer plans the stage {name!r} that was under way"
        raise SessionError(msg, hint="Resume with the version of the mode that began this debate.")
    return plan
