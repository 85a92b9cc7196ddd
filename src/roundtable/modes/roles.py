"""Modes in which a seat has a role for the whole debate, and with it, perhaps, a side to argue."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from roundtable.errors import ConfigurationError
from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.instructions import SEQUENTIAL_TOOLS
from roundtable.modes.shapes import Step, everything, parallel, sequential
from roundtable.modes.validators import StanceValidator
from roundtable.types import Stance, Visible

if TYPE_CHECKING:
    from roundtable.prompts import PromptLibrary
    from roundtable.protocols import Agent
    from roundtable.types import AgentResponse, DebateContext, Seat, TurnSpec

__all__ = ["RoleBasedModeStrategy", "RoleConfig", "with_reask"]

RoleModeT = TypeVar("RoleModeT", bound="RoleBasedModeStrategy")


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """A role of a mode; its instructions stand in the mode's text file under its name."""

    name: str
    """Name, as in the transcript and in the text file."""
    display_name: str = ""
    """Name for people."""
    stance: Stance | None = None
    """Side the role has to argue."""


class RoleBasedModeStrategy(BaseModeStrategy):
    """Base of modes that give each seat a role by its place, the same in every round.

    A subclass lists its `role_configs` and writes `get_role_for_index`. Agents speak one after another unless
    `steps` says otherwise. An answer that takes another side than its role is marked, never changed; with
    `reask=True` its agent is asked once more at the end of the round, and the later answer counts.

    Args:
        reask: Whether an agent that left its side is asked once more.
        prompts: Where the instructions come from.
    """

    role_configs: tuple[RoleConfig, ...] = ()
    """The roles."""
    tools = SEQUENTIAL_TOOLS

    def __init__(self, *, reask: bool = False, prompts: PromptLibrary | None = None) -> None:
        super().__init__(prompts=prompts)
        self.reask = reask

    def get_role_for_index(self, index: int, total: int) -> str:
        """Name the role of a seat.

        Args:
            index: Place at the table, from 0.
            total: Seats at the table.
        """
        return self.role_configs[index % len(self.role_configs)].name

    def role_config(self, name: str) -> RoleConfig:
        """Give a role by its name.

        Raises:
            ConfigurationError: The mode has no such role.
        """
        for role in self.role_configs:
            if role.name == name:
                return role
        known = ", ".join(role.name for role in self.role_configs)
        raise ConfigurationError(f"mode {self.name!r} has no role {name!r}; it has {known}")

    def get_agent_role(self, agent: Agent | Seat, index: int, context: DebateContext) -> str:
        """Name the role of the agent at a place."""
        return self.get_role_for_index(index, max(len(context.agents), index + 1))

    def role_of(self, view: DebateContext, seat: Seat) -> RoleConfig:
        """Give the role of a seat, which is the same in every round."""
        place = [other.id for other in view.agents].index(seat.id)
        return self.role_config(self.get_role_for_index(place, len(view.agents)))

    def ask_role(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...] = (), /, **facts: object) -> TurnSpec:
        """Write a turn in the seat's own role."""
        role = self.role_of(view, seat)
        return self.ask(view, seat, sees, **{"role": role.name, "stance": role.stance, **facts})

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Let one speak after another, each in its role."""
        return sequential(view, lambda seat, sees: self.ask_role(view, seat, sees)) + self.reask_steps(view)

    def reask_steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Ask those once more that left their side; nobody unless the mode was told to."""
        if not self.reask:
            return ()
        strayed = {
            turn.agent_id
            for turn in self.turns_of_round(view)
            if turn.outcome == "answered" and turn.answer.kind == "position" and turn.answer.role_violation is not None
        }
        seats = [seat for seat in view.agents if seat.id in strayed]
        return parallel(
            view, lambda seat, sees: self.ask_role(view, seat, sees), seats=seats, sees=everything, name="reask"
        )

    def validate_response(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Mark an answer that takes another side than the one its turn was given."""
        return StanceValidator().validate(response, context)


def with_reask(mode: RoleModeT) -> RoleModeT:
    """Give a mode like this one that asks those once more that left their side.

    Example:
        >>> from roundtable.modes import DevilsAdvocateMode
        >>> with_reask(DevilsAdvocateMode()).reask
        True
    """
    double = copy.copy(mode)
    double.reask = True
    return double
