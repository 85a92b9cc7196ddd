"""What modes share: a strategy plans stages from a view, and can drive a round by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from roundtable.errors import ConfigurationError
from roundtable.modes.diagram import diagram
from roundtable.modes.instructions import PARALLEL_TOOLS, instructed
from roundtable.modes.shapes import Step, by_name, plan_round, positions
from roundtable.prompts import BUILTIN_PROMPTS
from roundtable.stages import run_stage
from roundtable.types import AgentResponse, Seat, Stage, ToolPolicy, TurnSpec, Visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.prompts import PromptLibrary
    from roundtable.protocols import Agent, AgentToolkit
    from roundtable.types import AnyTurn, DebateContext, Plan, Turn

__all__ = ["BaseModeStrategy"]


class BaseModeStrategy:
    """Base of debate modes. A subclass writes `name` and either `steps` or `next_stage`.

    A mode holds no state: the same view always gives the same plan.

    Args:
        prompts: Where the mode's instructions come from; what ships with the library when left out.

    Raises:
        TypeError: At class creation, when a subclass overrides `execute_round` but plans no stages:
            rounds run from the plan, so such an override would never be called.

    Example:
        A mode in which only the first agent speaks:

        >>> from roundtable.modes import parallel
        >>> class Monologue(BaseModeStrategy):
        ...     name = "monologue"
        ...
        ...     def steps(self, view):
        ...         return parallel(
        ...             view, lambda seat, sees: TurnSpec(slot=0, agent=seat.id, task="Speak."), seats=view.agents[:1]
        ...         )
    """

    name: str = ""
    """Name the mode is registered under."""
    summary: str = ""
    """What happens in it, in a line."""
    use_when: str = ""
    """When to use it, in a line."""
    needs_groupthink_detection: bool = True
    """Whether easy agreement should be looked into."""
    assigns_stances: bool = False
    """Whether agents argue a side they were given."""
    rounds: range = range(1, 101)
    """Numbers of rounds that make sense."""
    agent_counts: range = range(1, 101)
    """Numbers of agents that make sense."""
    option_counts: range = range(2, 10_001)
    """Numbers of options to choose from that make sense, where the caller gives any."""
    takes_perspectives: bool = False
    """Whether it looks at the perspectives of the debate; where it does not, a debate that gives some is refused."""
    role: str = "participant"
    """Role of every agent, unless the mode gives several."""
    tools: ToolPolicy = PARALLEL_TOOLS
    """Tool calls a turn may make."""
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {}
    """What can be set in the mode's name, as in `"adversarial:visibility=predecessor"`: a reader for each value."""

    def __init__(self, *, prompts: PromptLibrary | None = None) -> None:
        self.prompts: PromptLibrary = prompts or BUILTIN_PROMPTS

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        plans = cls.next_stage is not BaseModeStrategy.next_stage or cls.steps is not BaseModeStrategy.steps
        if cls.execute_round is not BaseModeStrategy.execute_round and not plans:
            msg = (
                f"{cls.__name__} overrides execute_round but not next_stage: rounds run from the plan, "
                "so describe the round as stages in next_stage(view)"
            )
            raise TypeError(msg)

    def next_stage(self, view: DebateContext) -> Plan:
        """Say what happens next: the first step of the round that has not been held."""
        return plan_round(view, self.steps(view))

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Give the steps of the round being held; see `roundtable.modes.shapes`.

        Raises:
            ConfigurationError: The mode overrides neither this nor `next_stage`.
        """
        msg = f"{type(self).__name__} does not say what happens next: override next_stage(view)"
        raise ConfigurationError(msg, hint="Or override steps(view), and use the shapes of roundtable.modes.")

    @property
    def texts(self) -> str:
        """Name of the file of instructions: the mode's own, else that of the mode it is derived from."""
        names = [name for kind in type(self).__mro__ if isinstance(name := vars(kind).get("name"), str)]
        return next((name for name in names if self.prompts.has(name)), self.name)

    def ask(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...] = (), /, **facts: object) -> TurnSpec:
        """Write a turn with the mode's instructions for its role.

        Args:
            view: What was said so far.
            seat: Who speaks.
            sees: What it sees; with nothing to see the instructions are those for an opening.
            **facts: Fields of the turn besides, such as `role`, `answer`, `notes` or `options`.

        Raises:
            ConfigurationError: There are no instructions for the role.
        """
        role = str(facts.pop("role", self.role))
        answered = not sees and not facts.get("notes")
        opening = bool(facts.pop("opening", answered))
        given = instructed(self.prompts, self.texts, role, opening=opening, focused=bool(view.focus_question))
        texts = {"task": given.task, "brief": given.brief, "prompt_id": given.prompt_id}
        shared = {"slot": 0, "agent": seat.id, "role": role, "sees": sees, "options": view.options, "tools": self.tools}
        return TurnSpec.model_validate({**shared, **texts, **facts})

    def diagram(self, agents: int = 3, rounds: int = 2) -> str:
        """Draw who speaks when and sees whom, as Mermaid text.

        Args:
            agents: Number of agents drawn.
            rounds: Number of rounds drawn.

        Raises:
            ConfigurationError: The mode cannot be held by so many, or for so long.

        Example:
            >>> from roundtable.modes import CollaborativeMode
            >>> CollaborativeMode().diagram(agents=2, rounds=1).splitlines()[0]
            'flowchart LR'
        """
        return diagram(self, agents=agents, rounds=rounds)

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Give the mode's instructions for the turn `context.turn`; without a turn, those of its common role."""
        if context.turn is not None:
            return context.turn.task
        if not self.prompts.has(self.texts):
            return ""
        opening, focused = not context.previous_responses, bool(context.focus_question)
        return instructed(self.prompts, self.texts, self.role, opening=opening, focused=focused).task

    def get_agent_role(self, agent: Agent | Seat, index: int, context: DebateContext) -> str:
        """Name the role an agent plays, by its place at the table."""
        return self.role

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Change what an agent gets to see, already cut down to what its turn may see; nothing by default. Pure."""
        return context

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Look at a position before it is stored: mark it, never put words into it; as it is by default. Pure."""
        return response

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
            outcomes = await run_stage(plan, table, view, shaper=self)
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

    @classmethod
    def stage_turns(cls, view: DebateContext, name: str) -> tuple[Turn, ...]:
        """Give the answered turns of a stage of the round being held."""
        held = [turn for turn in cls.turns_of_round(view) if turn.stage == name]
        return tuple(turn for turn in held if turn.outcome == "answered")

    @staticmethod
    def earlier_positions(view: DebateContext) -> tuple[Visible, ...]:
        """Make every position of earlier rounds visible, under its agent's own name."""
        return by_name([turn for turn in positions(view) if turn.round < view.current_round])


def _seats(agents: Sequence[Agent]) -> tuple[Seat, ...]:
    return tuple(Seat(id=agent.id, name=agent.name) for agent in agents)
