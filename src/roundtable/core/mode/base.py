"""Base classes of debate modes: planning, roles, checks of responses, and the diagram of a mode."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeVar

from roundtable.core.base.words import quoted
from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.rounds import RoundPlanner
from roundtable.core.mode.shapes import Step, by_name, everything, parallel, plan_round, positions, sequential
from roundtable.core.mode.simulate import check_supported, rehearse, table_of
from roundtable.core.prompts.layers import BUILTIN_PROMPTS, render_layers
from roundtable.core.stages import run_stage
from roundtable.core.types.answers import AgentResponse, RoleViolation, Stance, TurnKey
from roundtable.core.types.debate import Seat
from roundtable.core.types.plan import Stage, ToolPolicy, TurnSpec, Visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.prompts.layers import PromptLibrary
    from roundtable.core.protocols import Agent, AgentToolkit, DebateModeStrategy
    from roundtable.core.types.agents import Persona
    from roundtable.core.types.debate import AnyTurn, DebateConfig, DebateContext, Turn
    from roundtable.core.types.plan import Plan

__all__ = [
    "NO_TOOLS",
    "PARALLEL_TOOLS",
    "SEQUENTIAL_TOOLS",
    "BaseModeStrategy",
    "Instructions",
    "RoleBasedModeStrategy",
    "RoleConfig",
    "StanceValidator",
    "diagram",
    "role_instructions",
    "vote_options_of",
    "with_reask",
]


PARALLEL_TOOLS: Final = ToolPolicy(min=1, max=10)
"""Tool calls of a turn that runs in parallel with other turns, so that it cannot use what they find."""
SEQUENTIAL_TOOLS: Final = ToolPolicy(min=1, max=5)
"""Tool calls of a turn that can use the evidence of earlier speakers."""
NO_TOOLS: Final = ToolPolicy(max=0)
"""For votes and rankings, which use only what was said."""


class Instructions(NamedTuple):
    """The instructions of a role, in full and in short, and their id with the version."""

    task: str
    brief: str
    prompt_id: str


@lru_cache(maxsize=512)
def role_instructions(prompts: PromptLibrary, mode: str, role: str, *, opening: bool, focused: bool) -> Instructions:
    """Return the instructions of a role; they are rendered once for all its turns."""
    texts = prompts.load(mode)
    role_prompt = texts.role(role)
    return Instructions(
        render_layers(role_prompt, opening=opening, focused=focused, headings=texts.headings),
        role_prompt.compact(opening=opening),
        texts.prompt_id(role, opening=opening),
    )


def vote_options_of(mode: DebateModeStrategy) -> tuple[str, ...]:
    """Return the options that a mode declares for its own vote in debates without options; empty if it declares none.

    A mode that does not inherit from `BaseModeStrategy` may leave out `vote_options`.
    """
    declared: object = getattr(mode, "vote_options", ())
    return tuple(map(str, declared)) if isinstance(declared, tuple | list) else ()


def diagram(mode: DebateModeStrategy, *, agents: int = 3, rounds: int = 2) -> str:
    """Draw who speaks when, and who sees which turns.

    Args:
        mode: The mode.
        agents: Number of agents in the diagram.
        rounds: Number of rounds in the diagram.

    Returns:
        Mermaid text. The turns of a stage run at the same time. An arrow leads from a turn to each turn that sees it.
        The label of an arrow is the name under which the answer is shown, if that is not the agent's own name.

    Raises:
        ConfigurationError: The mode does not support this number of agents or rounds.
    """
    check_supported(mode, mode.name, agents=agents, rounds=rounds)
    names = {seat.id: seat.name for seat in table_of(agents)}
    boxes: list[str] = []
    arrows: list[str] = []
    nodes: dict[TurnKey, tuple[str, str]] = {}
    current = 0
    for view, stage in rehearse(mode, agents=agents, rounds=rounds):
        if view.current_round != current:
            boxes += ["  end"] * bool(current)
            current = view.current_round
            boxes += [f'  subgraph round{current}["Round {current}"]']
        stage_number = len({(key.round, key.stage) for key in nodes}) + 1
        boxes += _stage_lines(current, stage, stage_number, names, nodes)
        for spec in stage.turns:
            arrows += _arrows(spec, nodes[TurnKey(current, stage.name, spec.slot)][0], nodes)
    boxes += ["  end"] * bool(current)
    return "\n".join(["flowchart LR", *boxes, *arrows]) + "\n"


def _stage_lines(
    round_number: int, stage: Stage, stage_number: int, names: dict[str, str], nodes: dict[TurnKey, tuple[str, str]]
) -> list[str]:
    lines = [f'    subgraph r{round_number}s{stage_number}["{stage.name}"]']
    for spec in stage.turns:
        node, name = f"r{round_number}s{stage_number}t{spec.slot}", names[spec.agent]
        nodes[TurnKey(round_number, stage.name, spec.slot)] = (node, name)
        answer_kind = "" if spec.answer == "position" else f": {spec.answer}"
        lines.append(f'      {node}["{name}<br/>{spec.role}{answer_kind}"]')
    return [*lines, "    end"]


def _arrows(spec: TurnSpec, node: str, nodes: dict[TurnKey, tuple[str, str]]) -> list[str]:
    lines = []
    for visible in spec.sees:
        source, name = nodes[visible.turn]
        label = "" if visible.shown_as == name else f'|"{visible.shown_as}"|'
        lines.append(f"  {source} -->{label} {node}")
    return lines


def _checked_steps(mode: BaseModeStrategy, steps: object) -> Sequence[Step]:
    """Return what a mode planned; a function that forgot its `return` planned nothing."""
    if isinstance(steps, list | tuple) and all(isinstance(step, Step) for step in steps):
        return steps
    msg = f"steps of {type(mode).__name__} must return a tuple of steps, not {quoted(steps)}"
    raise ConfigurationError(msg, hint="Return what the shapes of roundtable.modes create: `return parallel(...)`.")


class BaseModeStrategy:
    """Base class of debate modes. A subclass sets `name`, and overrides either `steps` or `next_stage`.

    A mode has no state: for the same view, it always returns the same plan.

    Args:
        prompts: Source of the mode's instructions; the built-in texts if omitted.

    Raises:
        TypeError: A subclass that overrides `execute_round`, but neither `steps` nor `next_stage`, is defined. Debates
            follow the plan, so the override would never be called.

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
    """Name under which the mode is registered."""
    summary: str = ""
    """What happens in the mode, in one line."""
    use_when: str = ""
    """When to use the mode, in one line."""
    needs_groupthink_detection: bool = True
    """Whether rounds are checked for signs of groupthink."""
    assigns_stances: bool = False
    """Whether agents argue for assigned sides."""
    rounds: range = range(1, 101)
    """Numbers of rounds that the mode supports."""
    agent_counts: range = range(1, 101)
    """Numbers of agents that the mode supports."""
    has_own_vote: bool = False
    """Whether the mode includes a vote at the end. If so, there is no vote on motions."""
    vote_options: tuple[str, ...] = ()
    """Options of the mode's own vote in debates that have none; its ballots offer exactly these. A decision also names
    those that got no vote. If empty, a decision knows only the options that got votes."""
    option_counts: range = range(2, 10_001)
    """Numbers of options that the mode supports, for debates with options."""
    takes_perspectives: bool = False
    """Whether the mode uses perspectives; if not, a debate with perspectives is rejected."""
    role: str = "participant"
    """Role of every agent, unless the mode has several roles."""
    personas: tuple[Persona | None, ...] = ()
    """Personas of agents that share a model, in the order of their seats; `None` in it is a seat without a persona. If
    empty, the personas are general ones."""
    tools: ToolPolicy = PARALLEL_TOOLS
    """Policy for the tool calls of a turn."""
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {}
    """Options that can be set in the mode's name, as in `"adversarial:visibility=predecessor"`: name to a function that
    reads the value."""

    def __init__(self, *, prompts: PromptLibrary | None = None) -> None:
        self.prompts: PromptLibrary = prompts or BUILTIN_PROMPTS

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        plans = cls.next_stage is not BaseModeStrategy.next_stage or cls.steps is not BaseModeStrategy.steps
        if cls.execute_round is not BaseModeStrategy.execute_round and not plans:
            msg = (
                f"{cls.__name__} overrides execute_round but not next_stage: debates follow the plan, "
                "so describe the round as stages in next_stage(view)"
            )
            raise TypeError(msg)

    def next_stage(self, view: DebateContext) -> Plan:
        """Return what happens next: the first step of the round that has not run yet, or the end of the round."""
        return plan_round(view, _checked_steps(self, self.steps(view)))

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Return the steps of the current round; see `roundtable.core.mode.shapes`.

        Raises:
            ConfigurationError: The mode overrides neither `steps` nor `next_stage`.
        """
        msg = f"{type(self).__name__} plans no stages: override next_stage(view)"
        raise ConfigurationError(msg, hint="Or override steps(view), and use the shapes of roundtable.modes.")

    @property
    def texts(self) -> str:
        """Name of the mode's file of instructions: its own file, or that of the mode from which it is derived."""
        names = [name for kind in type(self).__mro__ if isinstance(name := vars(kind).get("name"), str)]
        return next((name for name in names if self.prompts.has(name)), self.name)

    def prompt_texts(self) -> Mapping[str, str]:
        """Return the texts of the mode's instructions as JSON, by the name of their file; empty without a file."""
        if not hasattr(self, "prompts"):  # a mode that uses none may leave out the constructor of this class
            return {}
        return {self.texts: self.prompts.to_json(self.texts)} if self.prompts.has(self.texts) else {}

    def ask(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...] = (), /, **facts: object) -> TurnSpec:
        """Create a turn with the mode's instructions for its role.

        Args:
            view: The debate so far.
            seat: The seat that speaks.
            sees: The earlier turns that the seat sees; without any, the seat gets the instructions for an opening.
            **facts: Other fields of the turn, such as `role`, `answer`, `notes` or `options`.

        Raises:
            ConfigurationError: The mode has no instructions for the role.
        """
        role = str(facts.pop("role", self.role))
        sees_nothing = not sees and not facts.get("notes")
        opening = bool(facts.pop("opening", sees_nothing))
        instructions = role_instructions(
            self.prompts, self.texts, role, opening=opening, focused=bool(view.focus_question)
        )
        texts = {"task": instructions.task, "brief": instructions.brief, "prompt_id": instructions.prompt_id}
        shared = {"slot": 0, "agent": seat.id, "role": role, "sees": sees, "options": view.options, "tools": self.tools}
        return TurnSpec.model_validate({**shared, **texts, **facts})

    def diagram(self, agents: int = 3, rounds: int = 2) -> str:
        """Draw who speaks when, and who sees which turns, as Mermaid text.

        Args:
            agents: Number of agents in the diagram.
            rounds: Number of rounds in the diagram.

        Raises:
            ConfigurationError: The mode does not support this number of agents or rounds.

        Example:
            >>> from roundtable.modes import CollaborativeMode
            >>> CollaborativeMode().diagram(agents=2, rounds=1).splitlines()[0]
            'flowchart LR'
        """
        return diagram(self, agents=agents, rounds=rounds)

    def build_agent_prompt(self, context: DebateContext) -> str:
        """Return the mode's instructions for the turn `context.turn`; without a turn, those for its default role."""
        if context.turn is not None:
            return context.turn.task
        if not self.prompts.has(self.texts):
            return ""
        opening, focused = not context.previous_responses, bool(context.focus_question)
        return role_instructions(self.prompts, self.texts, self.role, opening=opening, focused=focused).task

    def get_agent_role(self, agent: Agent | Seat, index: int, context: DebateContext) -> str:
        """Return the role of an agent, by its index at the table."""
        return self.role

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Change what an agent sees; the context is already limited to its turn. By default, nothing changes. Pure."""
        return context

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Check a position before it is stored, and mark it if need be; never reword it. Pure.

        By default, nothing changes.
        """
        return response

    def report_aliases(self, config: DebateConfig, agents: Sequence[str]) -> Mapping[str, str]:
        """Return the id of the agent behind each alias that agents use for an answer, such as `Answer 2`. Pure.

        Reports then write the name of the agent after the alias. By default, there are no such aliases.

        Args:
            config: Configuration of the debate.
            agents: Ids of the debaters, in the order of their seats.
        """
        return {}

    async def execute_round(
        self, agents: Sequence[Agent], context: DebateContext, toolkit: AgentToolkit | None = None
    ) -> tuple[AgentResponse, ...]:
        """Run one round of this mode without an engine: nothing is stored, and failed turns are left out.

        Args:
            agents: The agents that take part, in speaking order.
            context: The debate before the round.
            toolkit: Tools for the round; if omitted, each agent keeps its own tools.

        Raises:
            ConfigurationError: The mode raised an error, or it plans a stage that is not valid or a round that would
                never end.
        """
        table = {agent.id: agent for agent in agents}
        if toolkit is not None:
            for agent in agents:
                set_toolkit = getattr(agent, "set_toolkit", None)
                if set_toolkit is not None:
                    set_toolkit(toolkit)
        view = context if context.agents else context.model_copy(update={"agents": _seats(agents)})
        turns: list[AnyTurn] = []
        planner = RoundPlanner(self)
        while isinstance(plan := planner.next_plan(view), Stage):
            outcomes = await run_stage(plan, table, view, shaper=self)
            turns.extend(outcomes)
            view = view.model_copy(update={"transcript": (*view.transcript, *outcomes)})
        return tuple(
            turn.answer for turn in turns if turn.outcome == "answered" and isinstance(turn.answer, AgentResponse)
        )

    @staticmethod
    def turns_of_round(view: DebateContext) -> tuple[AnyTurn, ...]:
        """Return the turns of the current round."""
        return tuple(turn for turn in view.transcript if turn.round == view.current_round)

    @classmethod
    def stage_done(cls, view: DebateContext, name: str) -> bool:
        """Check whether a stage of the current round has run."""
        return any(turn.stage == name for turn in cls.turns_of_round(view))

    @classmethod
    def stage_turns(cls, view: DebateContext, name: str) -> tuple[Turn, ...]:
        """Return the answered turns of a stage of the current round."""
        turns = [turn for turn in cls.turns_of_round(view) if turn.stage == name]
        return tuple(turn for turn in turns if turn.outcome == "answered")

    @staticmethod
    def earlier_positions(view: DebateContext) -> tuple[Visible, ...]:
        """Return every position of earlier rounds as visible under its agent's own name."""
        return by_name([turn for turn in positions(view) if turn.round < view.current_round])


def _seats(agents: Sequence[Agent]) -> tuple[Seat, ...]:
    return tuple(Seat(id=agent.id, name=agent.name) for agent in agents)


class StanceValidator:
    """A check that marks answers whose side is not the assigned one. The side itself is not changed.

    Args:
        expected: The assigned side; if omitted, the side that the turn assigns.

    Example:
        >>> from roundtable.types import AgentResponse, DebateContext
        >>> answer = AgentResponse(agent_id="ada", agent_name="Ada", position="No.", stance="NO")
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="devils-advocate")
        >>> StanceValidator("YES").validate(answer, view).role_violation
        RoleViolation(expected='YES', actual='NO')
    """

    def __init__(self, expected: Stance | None = None) -> None:
        self.expected: Stance | None = expected

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Mark the answer if its side is not the assigned one."""
        expected = self.expected or (context.turn.stance if context.turn else None)
        if expected is None or response.stance == expected:
            return response
        violation = RoleViolation(expected=expected, actual=response.stance)
        return response.model_copy(update={"role_violation": violation})


RoleModeT = TypeVar("RoleModeT", bound="RoleBasedModeStrategy")


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """A role of a mode; its instructions are in the mode's text file under its name."""

    name: str
    """Name of the role, as in the transcript and in the text file."""
    display_name: str = ""
    """Name of the role for people."""
    stance: Stance | None = None
    """Side for which the role has to argue."""
    persona: Persona | None = None
    """Persona of default agents in this role; it must not contradict the role. `None`: a general persona."""


class RoleBasedModeStrategy(BaseModeStrategy):
    """Base class of modes in which the index of a seat decides its role, which is the same in every round.

    A subclass lists its `role_configs` and overrides `get_role_for_index`. Agents speak one after another, unless
    `steps` plans otherwise. An answer whose side is not that of its role is marked, but not changed. With `reask=True`,
    its agent is asked once more at the end of the round, and the later answer counts.

    Args:
        reask: Whether an agent is asked once more if its answer took another side.
        prompts: Source of the instructions.
    """

    role_configs: tuple[RoleConfig, ...] = ()
    """The roles."""
    tools = SEQUENTIAL_TOOLS

    def __init__(self, *, reask: bool = False, prompts: PromptLibrary | None = None) -> None:
        super().__init__(prompts=prompts)
        self.reask = reask

    def get_role_for_index(self, index: int, total: int) -> str:
        """Return the name of a seat's role.

        Args:
            index: Index of the seat, from 0.
            total: Number of seats at the table.
        """
        return self.role_configs[index % len(self.role_configs)].name

    def role_config(self, name: str) -> RoleConfig:
        """Return a role by its name.

        Raises:
            ConfigurationError: The mode has no such role.
        """
        for role in self.role_configs:
            if role.name == name:
                return role
        known = ", ".join(role.name for role in self.role_configs)
        raise ConfigurationError(f"mode {self.name!r} has no role {name!r}; it has {known}")

    def get_agent_role(self, agent: Agent | Seat, index: int, context: DebateContext) -> str:
        """Return the name of an agent's role, by its index at the table."""
        return self.get_role_for_index(index, max(len(context.agents), index + 1))

    def role_of(self, view: DebateContext, seat: Seat) -> RoleConfig:
        """Return the role of a seat, which is the same in every round."""
        index = [agent.id for agent in view.agents].index(seat.id)
        return self.role_config(self.get_role_for_index(index, len(view.agents)))

    def ask_role(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...] = (), /, **facts: object) -> TurnSpec:
        """Create a turn of a seat in its own role."""
        role = self.role_of(view, seat)
        return self.ask(view, seat, sees, **{"role": role.name, "stance": role.stance, **facts})

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker, in its role."""
        return sequential(view, lambda seat, sees: self.ask_role(view, seat, sees)) + self.reask_steps(view)

    def reask_steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan a second turn of the agents whose answers took another side; only with `reask=True`."""
        if not self.reask:
            return ()
        left_side = {
            turn.agent_id
            for turn in self.turns_of_round(view)
            if turn.outcome == "answered" and turn.answer.kind == "position" and turn.answer.role_violation is not None
        }
        seats = [seat for seat in view.agents if seat.id in left_side]
        return parallel(
            view, lambda seat, sees: self.ask_role(view, seat, sees), seats=seats, sees=everything, name="reask"
        )

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Mark an answer whose side is not the one that its turn assigns."""
        return StanceValidator().validate(response, context)


def with_reask(mode: RoleModeT) -> RoleModeT:
    """Return a copy of a mode that asks agents once more if their answers took another side.

    Example:
        >>> from roundtable.modes import DevilsAdvocateMode
        >>> with_reask(DevilsAdvocateMode()).reask
        True
    """
    reasking = copy.copy(mode)
    reasking.reask = True
    return reasking
