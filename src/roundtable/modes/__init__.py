"""Debate modes as pure plans: who speaks, who sees what, what is asked."""

from roundtable.modes.adversarial import AdversarialMode
from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.baseline import BaselineMode, with_baseline
from roundtable.modes.collaborative import CollaborativeMode
from roundtable.modes.council import CouncilMode, mean_ranks
from roundtable.modes.delphi import DelphiMode
from roundtable.modes.devils_advocate import DevilsAdvocateMode, RoleCounts, role_counts
from roundtable.modes.expert_panel import ExpertPanelMode, with_facilitator
from roundtable.modes.free_mad import FreeMadMode, trajectories
from roundtable.modes.freeform import FreeformMode
from roundtable.modes.independent import IndependentVoteMode, SelfConsistencyMode
from roundtable.modes.judge import JudgedMode, answers_by_name, with_judge
from roundtable.modes.lint import first_turn_findings
from roundtable.modes.oxford import OxfordMode, OxfordSwing, oxford_swing
from roundtable.modes.perspectives import DEFAULT_PERSPECTIVES, fit_perspectives, parse_perspectives
from roundtable.modes.processors import (
    AnonymizationProcessor,
    ContextProcessor,
    ProcessorChain,
    StatisticsProcessor,
)
from roundtable.modes.red_team_blue_team import RedTeamBlueTeamMode
from roundtable.modes.registry import (
    BUILTIN_MODES,
    ModeRegistry,
    check_mode,
    get_global_mode_registry,
    reset_global_mode_registry,
)
from roundtable.modes.rehearsal import Planned, check_config, check_fits, plan_table, rehearse
from roundtable.modes.roles import RoleBasedModeStrategy, RoleConfig, with_reask
from roundtable.modes.shapes import (
    Ask,
    Sees,
    Step,
    earlier_rounds,
    everything,
    fan_in,
    last_only,
    nothing,
    parallel,
    plan_round,
    positions,
    sequential,
    teams,
    two_phase,
)
from roundtable.modes.socratic import SocraticMode
from roundtable.modes.statistics import DebateStatistics, calculate_stats
from roundtable.modes.team import TeamMode
from roundtable.modes.validators import (
    ConfidenceRangeValidator,
    RequiredFieldsValidator,
    ResponseValidator,
    StanceValidator,
    ValidatorChain,
)
from roundtable.modes.wrapping import WrappedMode

__all__ = [
    "BUILTIN_MODES",
    "DEFAULT_PERSPECTIVES",
    "AdversarialMode",
    "AnonymizationProcessor",
    "Ask",
    "BaseModeStrategy",
    "BaselineMode",
    "CollaborativeMode",
    "ConfidenceRangeValidator",
    "ContextProcessor",
    "CouncilMode",
    "DebateStatistics",
    "DelphiMode",
    "DevilsAdvocateMode",
    "ExpertPanelMode",
    "FreeMadMode",
    "FreeformMode",
    "IndependentVoteMode",
    "JudgedMode",
    "ModeRegistry",
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
    "Sees",
    "SelfConsistencyMode",
    "SocraticMode",
    "StanceValidator",
    "StatisticsProcessor",
    "Step",
    "TeamMode",
    "ValidatorChain",
    "WrappedMode",
    "answers_by_name",
    "calculate_stats",
    "check_config",
    "check_fits",
    "check_mode",
    "earlier_rounds",
    "everything",
    "fan_in",
    "first_turn_findings",
    "fit_perspectives",
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
    "with_reask",
]
