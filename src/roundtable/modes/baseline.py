"""A private round before the first: everybody answers alone, and nobody ever sees these answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.instructions import NO_TOOLS
from roundtable.modes.wrapping import WrappedMode
from roundtable.types import Stage, TurnSpec
from roundtable.types.plan import BASELINE_STAGE, EXTERNAL

if TYPE_CHECKING:
    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import DebateContext, Plan

__all__ = ["BaselineMode", "with_baseline"]

_TASK = (
    "Answer the question by yourself, as well as you can. You have seen no answer of anybody else, and nobody will see "
    "this one."
)


class BaselineMode(WrappedMode):
    """A mode with a private round 0; everything else is the mode's own.

    Args:
        mode: The mode that debates.
    """

    stage = BASELINE_STAGE
    prompt_id = "baseline@1"

    def next_stage(self, view: DebateContext) -> Plan:
        """Ask everybody alone before anything else; then plan as the mode does, which does not know of it."""
        if view.current_round == 1 and all(turn.stage == EXTERNAL for turn in view.transcript):
            turns = tuple(
                TurnSpec(
                    slot=slot,
                    agent=seat.id,
                    role="independent",
                    task=_TASK,
                    brief="Answer the question by yourself.",
                    prompt_id=self.prompt_id,
                    options=view.options,
                    tools=NO_TOOLS,
                )
                for slot, seat in enumerate(view.agents)
            )
            return Stage(name=BASELINE_STAGE, turns=turns)
        return super().next_stage(view)


def with_baseline(mode: DebateModeStrategy) -> BaselineMode:
    """Give a mode like this one that asks everybody alone before the first round.

    Example:
        >>> from roundtable.modes import AdversarialMode
        >>> from roundtable.types import DebateContext, Seat
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="adversarial", agents=(Seat(id="ada", name="Ada"),))
        >>> with_baseline(AdversarialMode()).next_stage(view).name
        'private-baseline'
    """
    return BaselineMode(mode)
