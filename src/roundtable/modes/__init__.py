"""Debate modes: pure plans of who speaks, who sees which answers, and what agents are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names
from roundtable.core.mode.base import (
    NO_TOOLS,
    PARALLEL_TOOLS,
    SEQUENTIAL_TOOLS,
    BaseModeStrategy,
    RoleBasedModeStrategy,
    RoleConfig,
    StanceValidator,
    with_reask,
)
from roundtable.core.mode.shapes import (
    CreateTurn,
    Step,
    Visibility,
    earlier_rounds,
    everything,
    fan_in,
    flag,
    last_only,
    nothing,
    parallel,
    plan_round,
    positions,
    sequential,
    teams,
    two_phase,
)
from roundtable.core.mode.simulate import (
    Planned,
    check_config,
    check_supported,
    first_turn_findings,
    plan_table,
    rehearse,
)
from roundtable.modes.adversarial import AdversarialMode
from roundtable.modes.collaborative import CollaborativeMode
from roundtable.modes.context import (
    AnonymizationProcessor,
    DebateStatistics,
    calculate_stats,
)
from roundtable.modes.council import CouncilMode, mean_ranks
from roundtable.modes.delphi import DelphiMode
from roundtable.modes.devils_advocate import DevilsAdvocateMode, RoleCounts, role_counts
from roundtable.modes.expert_panel import (
    DEFAULT_PERSPECTIVES,
    ExpertPanelMode,
    fit_perspectives,
    parse_perspectives,
    with_facilitator,
)
from roundtable.modes.free_mad import FreeMadMode, trajectories
from roundtable.modes.freeform import FreeformMode
from roundtable.modes.independent import IndependentVoteMode, SelfConsistencyMode
from roundtable.modes.oxford import OxfordMode, OxfordSwing, oxford_swing
from roundtable.modes.red_team_blue_team import RedTeamBlueTeamMode
from roundtable.modes.registry import BUILTIN_MODES, ModeRegistry, check_mode
from roundtable.modes.socratic import SocraticMode
from roundtable.modes.team import TeamMode
from roundtable.modes.vote import VotedMode, with_vote
from roundtable.modes.wrappers import (
    BaselineMode,
    JudgedMode,
    ModeratedMode,
    WrappedMode,
    answers_by_name,
    with_baseline,
    with_judge,
    with_moderator,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.compat.mode_parts import (
        ConfidenceRangeValidator,
        ContextProcessor,
        ProcessorChain,
        RequiredFieldsValidator,
        ResponseValidator,
        StatisticsProcessor,
        ValidatorChain,
    )
    from roundtable.compat.setup import get_global_mode_registry, reset_global_mode_registry

__all__ = [
    "BUILTIN_MODES",
    "DEFAULT_PERSPECTIVES",
    "NO_TOOLS",
    "PARALLEL_TOOLS",
    "SEQUENTIAL_TOOLS",
    "AdversarialMode",
    "AnonymizationProcessor",
    "BaseModeStrategy",
    "BaselineMode",
    "CollaborativeMode",
    "ConfidenceRangeValidator",
    "ContextProcessor",
    "CouncilMode",
    "CreateTurn",
    "DebateStatistics",
    "DelphiMode",
    "DevilsAdvocateMode",
    "ExpertPanelMode",
    "FreeMadMode",
    "FreeformMode",
    "IndependentVoteMode",
    "JudgedMode",
    "ModeRegistry",
    "ModeratedMode",
    "OxfordMode",
    "OxfordSwing",
    "Planned",
    "ProcessorChain",
    "RedTeamBlueTeamMode",
    "RequiredFieldsValidator",
    "ResponseValidator",
    "RoleBasedModeStrategy",
    "RoleConfig",
    "RoleCounts",
    "SelfConsistencyMode",
    "SocraticMode",
    "StanceValidator",
    "StatisticsProcessor",
    "Step",
    "TeamMode",
    "ValidatorChain",
    "Visibility",
    "VotedMode",
    "WrappedMode",
    "answers_by_name",
    "calculate_stats",
    "check_config",
    "check_mode",
    "check_supported",
    "earlier_rounds",
    "everything",
    "fan_in",
    "first_turn_findings",
    "fit_perspectives",
    "flag",
    "get_global_mode_registry",
    "last_only",
    "mean_ranks",
    "nothing",
    "oxford_swing",
    "parallel",
    "parse_perspectives",
    "plan_round",
    "plan_table",
    "positions",
    "rehearse",
    "reset_global_mode_registry",
    "role_counts",
    "sequential",
    "teams",
    "trajectories",
    "two_phase",
    "with_baseline",
    "with_facilitator",
    "with_judge",
    "with_moderator",
    "with_reask",
    "with_vote",
]

_HOMES = {
    "ConfidenceRangeValidator": ".compat.mode_parts",
    "ContextProcessor": ".compat.mode_parts",
    "ProcessorChain": ".compat.mode_parts",
    "RequiredFieldsValidator": ".compat.mode_parts",
    "ResponseValidator": ".compat.mode_parts",
    "StatisticsProcessor": ".compat.mode_parts",
    "ValidatorChain": ".compat.mode_parts",
    "get_global_mode_registry": ".compat.setup",
    "reset_global_mode_registry": ".compat.setup",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
