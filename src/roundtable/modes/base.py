"""What modes share: a strategy plans stages from a view, and can drive a round by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.stages import run_stage
from roundtable.types import AgentResponse, Seat, Stage, Visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.protocols import Agent, AgentToolkit
    from roundtable.types import AnyTurn, DebateContext, Plan

__all__ = ["BaseModeStrategy"]


class BaseModeStrategy:
    """Base of debate modes. A subclass writes `name`, `next_stage` and `build_agent_prompt`.

    A mode holds no state: the same view always gives the same plan.

    Raises:
        TypeError: At class creation, when a subclass overrides `execute_round` but not `next_stage`:
            rounds run from the plan, so such an override would never be called.

    Example:
        A mode in which only the first agent speaks:

        >>> from roundtable.types import EndRound, Stage, TurnSpec
        >>> class Monologue(BaseModeStrategy):
        ...     name = "monologue"
        ...
        ...     def next_stage(self, view):
        ...         if self.turns_of_round(view):
        ...             return EndRound()
        ...         return Stage(name="speech", turns=(TurnSpec(slot=0, agent=view.agents[0].id, task="Speak."),))
        ...
        ...     def build_agent_prompt(self, context):
        ...         return "Speak."
    """

    name: str = ""
    """Name the mode is registered under."""
    needs_groupthink_detection: bool = True
    """Whether easy agreement should be looked into."""
    assigns_stances: bool = False
    """Whether agents argue a side they were given."""
    rounds: range = range(1, 101)
    """Numbers of rounds that make sense."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.execute_round is not BaseModeStrategy.execute_round and cls.next_stage is BaseModeStrategy.next_stage:
            msg = (
                f"{cls.__name__} overrides execute_round but not next_stage: rounds run from the plan, "
                "so describe the round as stages in next_stage(view)"
            )
            raise TypeError(msg)

    def next_stage(self, view: DebateContext) -> Plan:
        """Say what happens next; see `DebateModeStrategy`."""
        msg = f"{type(self).__name__} does not say what happens next: override next_stage(view)"
        raise ConfigurationError(msg)

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the mode's instructions for the turn `context.turn`; none by default."""
        return ""

    def get_agent_role(self, agent: Agent, index: int, context: DebateContext) -> str:
        """Name the role an agent plays; `participant` unless a mode gives roles."""
        return "participant"

    async def execute_round(
        self, agents: Sequence[Agent], context: DebateContext, toolkit: AgentToolkit | None = None
    ) -> tuple[AgentResponse, ...]:
        """Run one round of this mode without an engine: nothing is stored, failed turns are left out.

        Args:
            agents: Who takes part, in speaking order.
            context: What has been said before the round.
            toolkit: Tools for the round; each agent keeps its own when left out.

        Raises:
            ConfigurationError: The mode plans one stage twice, or a stage of nobody, so that the round would
                never end.
        """
        table = {agent.id: agent for agent in agents}
        if toolkit is not None:
            for agent in agents:
                set_toolkit = getattr(agent, "set_toolkit", None)
                if set_toolkit is not None:
                    set_toolkit(toolkit)
        view = context if context.agents else context.model_copy(update={"agents": _seats(agents)})
        said: list[AnyTurn] = []
        held: set[str] = set()
        while isinstance(plan := self.next_stage(view), Stage):
            if plan.name in held or not plan.turns:
                msg = f"mode {self.name!r} plans the stage {plan.name!r} twice in one round, or for nobody"
                raise ConfigurationError(msg, hint="next_stage must look at the turns of the round in view.transcript.")
            held.add(plan.name)
            outcomes = await run_stage(plan, table, view)
            said.extend(outcomes)
            view = view.model_copy(update={"transcript": (*view.transcript, *outcomes)})
        return tuple(
            turn.answer for turn in said if turn.outcome == "answered" and isinstance(turn.answer, AgentResponse)
        )

    @staticmethod
    def turns_of_round(view: DebateContext) -> tuple[AnyTurn, ...]:
        """Give the turns of the round being held."""
        return tuple(turn for turn in view.transcript if turn.round == view.current_round)

    @classmethod
    def stage_done(cls, view: DebateContext, name: str) -> bool:
        """Tell whether a stage of the round being held has been taken."""
        return any(turn.stage == name for turn in cls.turns_of_round(view))

    @staticmethod
    def earlier_positions(view: DebateContext) -> tuple[Visible, ...]:
        """Make every position of earlier rounds visible, under its agent's own name."""
        return tuple(
            Visible(turn=turn.key, shown_as=turn.agent_name or turn.agent_id)
            for turn in view.transcript
            if turn.round < view.current_round and turn.outcome == "answered" and turn.answer.kind == "position"
        )


def _seats(agents: Sequence[Agent]) -> tuple[Seat, ...]:
    return tuple(Seat(id=agent.id, name=agent.name) for agent in agents)
