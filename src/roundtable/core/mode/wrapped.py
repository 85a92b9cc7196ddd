"""The base class of wrappers, which add a stage to another mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.mode.base import vote_options_of
from roundtable.core.stages import as_shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.protocols import Agent, DebateModeStrategy
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.debate import DebateConfig, DebateContext
    from roundtable.core.types.plan import Plan

__all__ = ["WrappedMode"]


class WrappedMode:
    """A wrapper that plans and shapes turns like another mode, and adds a stage that the other mode does not see.

    A subclass names the stage in `stage`, and plans it in `next_stage`. `without_stage` hides it from the other mode.

    Args:
        mode: The other mode.
    """

    stage: str = ""
    """Name of the added stage."""
    prompt_id: str = ""
    """Prompt id of the turns of the added stage."""

    def __init__(self, mode: DebateModeStrategy) -> None:
        self.inner = mode
        self.name: str = mode.name
        self.needs_groupthink_detection: bool = mode.needs_groupthink_detection
        self.rounds: range = mode.rounds
        self.assigns_stances: bool = mode.assigns_stances
        self.has_own_vote: bool = getattr(mode, "has_own_vote", False) is True

    @property
    def vote_options(self) -> tuple[str, ...]:
        """Options of the other mode's own vote in debates that have none."""
        return vote_options_of(self.inner)

    def next_stage(self, view: DebateContext) -> Plan:
        """Return the plan of the other mode, which does not see the added stage."""
        return self.inner.next_stage(self.without_stage(view))

    def without_stage(self, view: DebateContext) -> DebateContext:
        """Return the view without the turns of the added stage."""
        public = tuple(turn for turn in view.transcript if turn.stage != self.stage)
        if len(public) == len(view.transcript):
            return view
        answers = tuple(turn.answer for turn in public if turn.outcome == "answered" and turn.answer.kind == "position")
        return view.model_copy(update={"transcript": public, "previous_responses": answers})

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Return the instructions of the other mode."""
        return self.inner.build_agent_prompt(context)

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Change what an agent sees in the same way as the other mode, except in the added stage."""
        shaper = as_shaper(self.inner)
        return context if shaper is None or self._is_added(context) else shaper.transform_context(context, agent)

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Check a position in the same way as the other mode, except in the added stage."""
        shaper = as_shaper(self.inner)
        return response if shaper is None or self._is_added(context) else shaper.validate_response(response, context)

    def report_aliases(self, config: DebateConfig, agents: Sequence[str]) -> Mapping[str, str]:
        """Return the aliases of the other mode."""
        aliases: Callable[[DebateConfig, Sequence[str]], Mapping[str, str]] | None
        aliases = getattr(self.inner, "report_aliases", None)
        return {} if aliases is None else aliases(config, agents)

    def _is_added(self, context: DebateContext) -> bool:
        return context.turn is not None and context.turn.prompt_id == self.prompt_id
