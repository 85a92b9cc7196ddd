"""A check of opening instructions: no prompt may refer to somebody who has not spoken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.modes.rehearsal import rehearse

if TYPE_CHECKING:
    from roundtable.protocols import DebateModeStrategy

__all__ = ["first_turn_findings"]

_ROLES: Final = "agent|speaker|participant|expert|member"
_WHO: Final = rf"(?:(?:the |an)?other(?: \w+)?s?|opponents?|predecessors?|somebody|they|(?:{_ROLES})s?|team)"
_SPOKE: Final = "(?:said|spoken|stated|answered|argued|claimed|raised|proposed|responded|replied|wrote|found)"
_SPEECH: Final = "(?:answer|position|argument|speaker|round|turn|finding)s?"
_PRESUMES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_WHO} (?:have |has |had )?(?:already |just )?{_SPOKE}\b",
        r"\bwhat (?:was|were|has been|have been) (?:said|argued|claimed|found|raised)\b",
        r"\b(?:was|were) (?:said|raised|made) (?:by|in favour|against)\b",
        rf"\b(?:previous|earlier|preceding|last|above) {_SPEECH}\b",
        r"\b(?:steel-?man|rebut(?:tal)?|reply to|respond to|response to)\b",
        r"\banswer (?:the|their|his|her) (?:strongest|best|gravest|last)\b",
        r"\bthe (?:opposing|other) (?:view|side's (?:best|last) argument)\b",
        r"\byou have (?:heard|seen|read)\b",
    )
)


def first_turn_findings(mode: DebateModeStrategy, *, agents: int = 4) -> list[str]:
    """Say where the instructions of a turn that sees nothing speak of somebody who has spoken.

    The check knows English wording.

    Args:
        mode: The mode; two rounds of it are played on placeholders.
        agents: Seats at the table.

    Returns:
        One line a finding: stage, role and the words; empty when there is none.

    Example:
        >>> from roundtable.modes import AdversarialMode
        >>> first_turn_findings(AdversarialMode())
        []
    """
    rounds = max(2, mode.rounds.start)
    found: dict[str, None] = {}
    for _, stage in rehearse(mode, agents=agents, rounds=rounds):
        for spec in stage.turns:
            if spec.sees:
                continue
            for pattern in _PRESUMES:
                for match in pattern.finditer(f"{spec.task}\n{spec.brief}"):
                    found[f"{stage.name}, {spec.role}: {match[0]!r}"] = None
    return list(found)
