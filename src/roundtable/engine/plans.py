"""What the engine asks of a mode's plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import ConfigurationError
from roundtable.types import EndDebate, EndRound, Stage

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["MOST_STAGES", "check_plan"]

MOST_STAGES: Final = 256
"""Stages that one round may have."""


def check_plan(mode: str, plan: object, *, held: Collection[str]) -> None:
    """Refuse what is no plan, and a plan that would never end, before anybody is asked.

    Args:
        mode: Name of the mode.
        plan: What it plans.
        held: Stages of this round that were held already.

    Raises:
        ConfigurationError: It is no plan, or a stage without turns, held in this round already, or one too many.
    """
    if isinstance(plan, EndRound | EndDebate):
        return
    if not isinstance(plan, Stage):
        msg = f"next_stage of mode {mode!r} gave {type(plan).__name__}, which is no plan"
        raise ConfigurationError(msg, hint="Return a Stage, EndRound() or EndDebate() on every path.")
    if not plan.turns:
        why = "without any turn"
    elif plan.name in held:
        why = "a second time in one round"
    elif len(held) >= MOST_STAGES:
        why = f"after {MOST_STAGES} others in one round"
    else:
        return
    msg = f"mode {mode!r} plans the stage {plan.name!r} {why}"
    raise ConfigurationError(msg, hint="A mode ends a round with EndRound() and names each stage of it once.")
