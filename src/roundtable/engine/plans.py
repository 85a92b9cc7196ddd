"""Refusing plans of a mode that cannot be carried out, before anybody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError, SessionError
from roundtable.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.protocols import DebateModeStrategy

__all__ = ["check_plan", "same_stage"]


def check_plan(mode: DebateModeStrategy, stage: Stage, held: Iterable[str]) -> None:
    """Refuse a plan that would never end.

    Args:
        mode: Whose plan it is.
        stage: The stage it plans.
        held: Names of the stages that the round has had.

    Raises:
        ConfigurationError: The stage has no turns, or was held in this round already.
    """
    if stage.turns and stage.name not in held:
        return
    why = "a second time in one round" if stage.turns else "without any turn"
    msg = f"mode {mode.name!r} plans the stage {stage.name!r} {why}"
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
