"""Stop criteria, which decide when a debate ends: frozen values that `|` and `&` combine.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.exits.base import (
        AllOf,
        AnyOf,
        Exit,
        Load,
        failed_criteria,
        guarded,
        members,
        not_ended,
        without_met,
    )
    from roundtable.exits.compare import (
        Answers,
        Converged,
        LeadIsDecisive,
        NoProgress,
        Stable,
        answers_of,
        count_answers,
        kept_position,
        turns_of,
    )
    from roundtable.exits.criteria import (
        BUILTIN_EXITS,
        AllConfident,
        BudgetSpent,
        ConsensusReached,
        ExitFactory,
        ExitSettings,
        MaxRounds,
        MinRounds,
        ModeratorEnds,
        StopRequested,
        asks_moderator,
        create_default_exit_criteria,
        early_exit,
        exit_from_criteria,
        exit_from_spec,
        exit_registry,
        read_exit_settings,
        validate_exit_criteria,
    )
    from roundtable.exits.text import exit_from_text

__all__ = [
    "BUILTIN_EXITS",
    "AllConfident",
    "AllOf",
    "Answers",
    "AnyOf",
    "BudgetSpent",
    "ConsensusReached",
    "Converged",
    "Exit",
    "ExitFactory",
    "ExitSettings",
    "LeadIsDecisive",
    "Load",
    "MaxRounds",
    "MinRounds",
    "ModeratorEnds",
    "NoProgress",
    "Stable",
    "StopRequested",
    "answers_of",
    "asks_moderator",
    "count_answers",
    "create_default_exit_criteria",
    "early_exit",
    "exit_from_criteria",
    "exit_from_spec",
    "exit_from_text",
    "exit_registry",
    "failed_criteria",
    "guarded",
    "kept_position",
    "members",
    "not_ended",
    "read_exit_settings",
    "turns_of",
    "validate_exit_criteria",
    "without_met",
]

_HOMES = {
    "AllConfident": "criteria",
    "ConsensusReached": "criteria",
    "AllOf": "base",
    "AnyOf": "base",
    "Exit": "base",
    "Load": "base",
    "failed_criteria": "base",
    "guarded": "base",
    "members": "base",
    "not_ended": "base",
    "Answers": "compare",
    "answers_of": "compare",
    "count_answers": "compare",
    "kept_position": "compare",
    "turns_of": "compare",
    "without_met": "base",
    "ExitSettings": "criteria",
    "create_default_exit_criteria": "criteria",
    "early_exit": "criteria",
    "exit_from_criteria": "criteria",
    "read_exit_settings": "criteria",
    "validate_exit_criteria": "criteria",
    "MaxRounds": "criteria",
    "MinRounds": "criteria",
    "Converged": "compare",
    "LeadIsDecisive": "compare",
    "NoProgress": "compare",
    "Stable": "compare",
    "BudgetSpent": "criteria",
    "ModeratorEnds": "criteria",
    "StopRequested": "criteria",
    "asks_moderator": "criteria",
    "BUILTIN_EXITS": "criteria",
    "ExitFactory": "criteria",
    "exit_from_spec": "criteria",
    "exit_from_text": "text",
    "exit_registry": "criteria",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
