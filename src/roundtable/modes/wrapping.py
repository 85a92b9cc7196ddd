"""What modes that add a stage to another one share: all else is the other mode's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.stages import shaper_of

if TYPE_CHECKING:
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.types import AgentResponse, DebateContext, Plan

__all__ = ["WrappedMode"]


class WrappedMode:
    """A mode that plans what another one plans, and shapes turns as that one does.

    A subclass adds a stage in `next_stage`, names it in `stage`, and keeps it from the other mode with `without_stage`.

    Args:
        mode: The other mode.
    """

    stage: str = ""
    """Name of the stage it adds."""
    prompt_id: str = ""
    """What the turns of that stage say they were asked with."""

    def __init__(self, mode: DebateModeStrategy) -> None:
        self.inner = mode
        self.name: str = mode.name
        self.needs_groupthink_detection: bool = mode.needs_groupthink_detection
        self.rounds: range = mode.rounds
        self.assigns_stances: bool = mode.assigns_stances

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the other mode does, which does not know of the stage."""
        return self.inner.next_stage(self.without_stage(view))

    def without_stage(self, view: DebateContext) -> DebateContext:
        """Give the view without the turns of the stage."""
        public = tuple(turn for turn in view.transcript if turn.stage != self.stage)
        if len(public) == len(view.transcript):
            return view
        said = tuple(turn.answer for turn in public if turn.outcome == "answered" and turn.answer.kind == "position")
        return view.model_copy(update={"transcript": public, "previous_responses": said})

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the instructions of the other mode."""
        return self.inner.build_agent_prompt(context)

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Let the other mode change what an agent gets to see, but in the stage that it does not know."""
        shaper = shaper_of(self.inner)
        return context if shaper is None or self._is_own(context) else shaper.transform_context(context, agent)

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Let the other mode look at a position, but at none of the stage that it does not know."""
        shaper = shaper_of(self.inner)
        return response if shaper is None or self._is_own(context) else shaper.validate_response(response, context)

    def _is_own(self, context: DebateContext) -> bool:
        return context.turn is not None and context.turn.prompt_id == self.prompt_id
