"""Devil's advocate: some argue for, some against, some judge; the roles are given, not chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from roundtable.modes.options import flag
from roundtable.modes.roles import RoleBasedModeStrategy, RoleConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DevilsAdvocateMode", "RoleCounts", "role_counts"]


class RoleCounts(NamedTuple):
    """How many seats have each role."""

    primary: int
    opposition: int
    evaluator: int


def role_counts(total: int) -> RoleCounts:
    """Say how many of so many seats argue for, argue against and judge.

    Both sides always have the same number, but for a table of one; from three seats on one judges where the
    number is odd, two where it is even.

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
    """Those in favour speak first, then those against, then those who judge; each seat keeps its role.

    An answer on another side than its role is marked in `role_violation` and stays as it was given. An opponent may
    decline on grounds of ethics, which is marked as well.

    Args:
        reask: Whether an agent that left its side is asked once more at the end of the round.
        prompts: Where the instructions come from.
    """

    name: str = "devils-advocate"
    summary: str = "Some argue for, some against, some judge; the roles are given."
    use_when: str = "Everybody agrees too soon, or a decision must not be made unopposed."
    needs_groupthink_detection: bool = False
    assigns_stances: bool = True
    role: str = "primary"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"reask": flag}
    role_configs: tuple[RoleConfig, ...] = (
        RoleConfig("primary", "Advocate", "YES"),
        RoleConfig("opposition", "Devil's advocate", "NO"),
        RoleConfig("evaluator", "Evaluator", "NEUTRAL"),
    )

    def get_role_for_index(self, index: int, total: int) -> str:
        """Name the role of a seat: those in favour come first, those who judge last."""
        counts = role_counts(total)
        if index < counts.primary:
            return "primary"
        return "opposition" if index < counts.primary + counts.opposition else "evaluator"
