"""A private round before the first: everybody answers alone, and nobody ever sees these answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.instructions import NO_TOOLS
from roundtable.stages import shaper_of
from roundtable.types import Stage, TurnSpec
from roundtable.types.plan import BASELINE_STAGE

if TYPE_CHECKING:
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.types import AgentResponse, DebateContext, Plan

__all__ = ["BaselineMode", "with_baseline"]

_TASK = (
    "Answer the question by yourself, as well as you can. You have seen no answer of anybody else, and nobody will see "
    "this one."
)


class BaselineMode:
    """A mode with a private round 0; everything else is the mode's own.

    Args:
        mode: The mode that debates.
    """

    def __init__(self, mode: DebateModeStrategy) -> None:
        self.inner = mode
        self.name: str = mode.name
        self.needs_groupthink_detection: bool = mode.needs_groupthink_detection
        self.rounds: range = mode.rounds
        self.assigns_stances: bool = mode.assigns_stances

    def next_stage(self, view: DebateContext) -> Plan:
        """Ask everybody alone before anything else; then plan as the mode does, which does not know of it."""
        if view.current_round == 1 and all(turn.stage == "external" for turn in view.transcript):
            turns = tuple(
                TurnSpec(
                    slot=slot,
                    agent=seat.id,
                    role="independent",
                    task=_TASK,
                    brief="Answer the question by yourself.",
                    prompt_id="baseline@1",
                    options=view.options,
                    tools=NO_TOOLS,
                )
                for slot, seat in enumerate(view.agents)
            )
            return Stage(name=BASELINE_STAGE, turns=turns)
        public = tuple(turn for turn in view.transcript if turn.stage != BASELINE_STAGE)
        said = tuple(turn.answer for turn in public if turn.outcome == "answered" and turn.answer.kind == "position")
        return self.inner.next_stage(view.model_copy(update={"transcript": public, "previous_responses": said}))

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the instructions of the mode."""
        return self.inner.build_agent_prompt(context)

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Let the mode change what an agent gets to see; in round 0 there is nothing to see."""
        shaper = shaper_of(self.inner)
        return context if shaper is None or _is_private(context) else shaper.transform_context(context, agent)

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Let the mode look at a position; those of round 0 take no side for anybody."""
        shaper = shaper_of(self.inner)
        return response if shaper is None or _is_private(context) else shaper.validate_response(response, context)


def _is_private(context: DebateContext) -> bool:
    return context.turn is not None and context.turn.role == "independent" and context.turn.prompt_id == "baseline@1"


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
