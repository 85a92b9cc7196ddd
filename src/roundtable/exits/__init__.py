"""When a debate ends: stop criteria as frozen values with an algebra.

Names are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.exits.agreement import AllConfident, ConsensusReached
    from roundtable.exits.base import AllOf, AnyOf, Exit, Load, broken_in, guarded, members, unmet
    from roundtable.exits.criteria import (
        ExitSettings,
        create_default_exit_criteria,
        early_exit,
        exit_from_criteria,
        read_exit_settings,
        validate_exit_criteria,
    )
    from roundtable.exits.limits import MaxRounds, MinRounds
    from roundtable.exits.movement import Converged, LeaderUnassailable, NoProgress, Stable
    from roundtable.exits.outside import BudgetSpent, StopRequested
    from roundtable.exits.registry import BUILTIN_EXITS, ExitFactory, exit_from_spec, exit_registry

__all__ = [
    "BUILTIN_EXITS",
    "AllConfident",
    "AllOf",
    "AnyOf",
    "BudgetSpent",
    "ConsensusReached",
    "Converged",
    "Exit",
    "ExitFactory",
    "ExitSettings",
    "LeaderUnassailable",
    "Load",
    "MaxRounds",
    "MinRounds",
    "NoProgress",
    "Stable",
    "StopRequested",
    "broken_in",
    "create_default_exit_criteria",
    "early_exit",
    "exit_from_criteria",
    "exit_from_spec",
    "exit_registry",
    "guarded",
    "members",
    "read_exit_settings",
    "unmet",
    "validate_exit_criteria",
]

_HOMES = {
    "AllConfident": "agreement",
    "ConsensusReached": "agreement",
    "AllOf": "base",
    "AnyOf": "base",
    "Exit": "base",
    "Load": "base",
    "broken_in": "base",
    "guarded": "base",
    "members": "base",
    "unmet": "base",
    "ExitSettings": "criteria",
    "create_default_exit_criteria": "criteria",
    "early_exit": "criteria",
    "exit_from_criteria": "criteria",
    "read_exit_settings": "criteria",
    "validate_exit_criteria": "criteria",
    "MaxRounds": "limits",
    "MinRounds": "limits",
    "Converged": "movement",
    "LeaderUnassailable": "movement",
    "NoProgress": "movement",
    "Stable": "movement",
    "BudgetSpent": "outside",
    "StopRequested": "outside",
    "BUILTIN_EXITS": "registry",
    "ExitFactory": "registry",
    "exit_from_spec": "registry",
    "exit_registry": "registry",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
