"""What the engine asks of a mode's plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.types import Stage

__all__ = ["check_plan"]


def check_plan(mode: str, stage: Stage, *, held: Collection[str]) -> None:
    """Refuse a plan that would never end, before anybody is asked.

    Args:
        mode: Name of the mode.
        stage: What it plans.
        held: Stages of this round that were held already.

    Raises:
        ConfigurationError: The stage has no turns, or was held in this round already.
    """
    if stage.turns and stage.name not in held:
        return
    why = "a second time in one round" if stage.turns else "without any turn"
    msg = f"mode {mode!r} plans the stage {stage.name!r} {why}"
    raise ConfigurationError(msg, hint="A mode ends a round with EndRound() and names each stage of it once.")
