"""Red team and blue team: one team attacks, the other defends; all speak at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from roundtable.core.mode.base import PARALLEL_TOOLS, RoleBasedModeStrategy, RoleConfig
from roundtable.core.mode.shapes import Step, by_name, flag, positions, teams
from roundtable.core.types.agents import Persona

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.prompts.layers import PromptLibrary
    from roundtable.core.types.debate import DebateContext, Seat
    from roundtable.core.types.plan import Visible

__all__ = ["RedTeamBlueTeamMode"]


class RedTeamBlueTeamMode(RoleBasedModeStrategy):
    """Agents in seats with an even index (from 0) attack, the others defend. The teams never change.

    Args:
        cross_team: Whether a team also sees the other team's turns of the previous round. Otherwise, a team sees only
            its own turns.
        prompts: Source of the instructions.
    """

    name: str = "red-team-blue-team"
    summary: str = "One team attacks, the other defends, all at once."
    use_when: str = "You want to find the risks of a plan, and defences against them."
    needs_groupthink_detection: bool = False
    assigns_stances: bool = True
    agent_counts: range = range(2, 101)
    role: str = "red"
    tools = PARALLEL_TOOLS
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"cross_team": flag}
    role_configs: tuple[RoleConfig, ...] = (
        RoleConfig(
            "red",
            "Red team",
            persona=Persona(name="Red Team", description="You think like somebody who wants the plan to fail."),
        ),
        RoleConfig(
            "blue",
            "Blue team",
            persona=Persona(name="Blue Team", description="You think like somebody who has to keep the plan alive."),
        ),
    )

    def __init__(self, *, cross_team: bool = False, prompts: PromptLibrary | None = None) -> None:
        super().__init__(prompts=prompts)
        self.cross_team = cross_team

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round, with both teams."""
        members = (view.agents[::2], view.agents[1::2])
        sees = self._across if self.cross_team else None
        return teams(view, lambda seat, visible: self.ask_role(view, seat, visible), members, sees=sees)

    @staticmethod
    def _across(view: DebateContext, seat: Seat) -> tuple[Visible, ...]:
        place_of = {agent.id: index for index, agent in enumerate(view.agents)}
        team = place_of[seat.id] % 2
        return by_name(
            [
                turn
                for turn in positions(view)
                if turn.round < view.current_round
                and turn.agent_id in place_of
                and (place_of[turn.agent_id] % 2 == team or turn.round == view.current_round - 1)
            ]
        )
