"""Devil's advocate: some agents argue for a view, some argue against it, some judge; the roles are assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from roundtable.core.mode.base import RoleBasedModeStrategy, RoleConfig
from roundtable.core.mode.shapes import flag
from roundtable.core.types.agents import Persona

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DevilsAdvocateMode", "RoleCounts", "role_counts"]


class RoleCounts(NamedTuple):
    """How many seats have each role."""

    primary: int
    opposition: int
    evaluator: int


def role_counts(total: int) -> RoleCounts:
    """Return how many seats argue for the view, argue against it, and judge.

    Both sides have the same number of seats, except with a single seat. From three seats on, one seat judges if the
    total is odd, and two seats judge if it is even.

    Example:
        >>> [tuple(role_counts(total)) for total in (1, 2, 3, 4, 5)]
        [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 2), (2, 2, 1)]
    """
    if total < 2:
        return RoleCounts(total, 0, 0)
    if total == 2:
        return RoleCounts(1, 1, 0)
    evaluators = 1 if total % 2 else 2
    side = (total - evaluators) // 2
    return RoleCounts(side, side, evaluators)


class DevilsAdvocateMode(RoleBasedModeStrategy):
    """Agents in favour speak first, then agents against, then agents that judge. Each agent keeps its role.

    An answer whose side is not that of the agent's role is marked in `role_violation`, and otherwise not changed. An
    opponent may decline for ethical reasons; this answer is also marked.

    Args:
        reask: Whether an agent is asked once more at the end of the round if its answer took another side.
        prompts: Source of the instructions.
    """

    name: str = "devils-advocate"
    summary: str = "Some argue for, some against, some judge; the roles are assigned."
    use_when: str = "Agents agree too soon, or a decision should not be made without opposition."
    needs_groupthink_detection: bool = False
    assigns_stances: bool = True
    role: str = "primary"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"reask": flag}
    role_configs: tuple[RoleConfig, ...] = (
        RoleConfig(
            "primary",
            "Advocate",
            "YES",
            Persona(name="Advocate", description="You make the case for the proposal."),
        ),
        RoleConfig(
            "opposition",
            "Devil's advocate",
            "NO",
            Persona(name="Challenger", description="You make the case against the proposal."),
        ),
        RoleConfig(
            "evaluator",
            "Evaluator",
            "NEUTRAL",
            Persona(name="Evaluator", description="You weigh both cases and judge."),
        ),
    )

    def get_role_for_index(self, index: int, total: int) -> str:
        """Return the role of a seat: seats in favour come first, then seats against, then seats that judge."""
        counts = role_counts(total)
        if index < counts.primary:
            return "primary"
        return "opposition" if index < counts.primary + counts.opposition else "evaluator"
