"""Public names that moved or were renamed, and where they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOVED"]

_MEASURES: Final = """
    Positions Rounds Transcript Transitions Utterance basic_agreement brier_score coefficient_of_variation cohen_kappa
    conformity cv_change disagreement_collapse entropy entropy_agreement expected_calibration_error fleiss_kappa
    flip_rate gwet_ac1 influence_matrix interquartile_range jensen_shannon jury_bound kendall_w krippendorff_alpha
    lead_margin mean_spearman median modal_adoption modal_share obstinacy oracle_gap pairwise_agreement position_drift
    quantile ranks read_transcript share_near_median stability tally tastle_wierman total_variation transitions
    van_der_eijk_a
"""

MOVED: Final[Mapping[str, Mapping[str, str]]] = {
    "roundtable": {"LeaderUnassailable": "roundtable.LeadIsDecisive", "result": "roundtable.results"},
    "roundtable.agents": {
        "MODE_PERSONAS": "roundtable.modes.BaseModeStrategy",
        "ROLE_PERSONAS": "roundtable.modes.RoleConfig",
        "first_writer": "roundtable.agents.first_synthesizer",
    },
    "roundtable.api": {"handle": "roundtable.api.runs", "stream": "roundtable.api.runs"},
    "roundtable.bench": {"Movement": "roundtable.bench.AnswerChanges"},
    "roundtable.client": {
        "ConversationRequest": "roundtable.client.ConversationKeywords",
        "DebateRequest": "roundtable.client.DebateKeywords",
        "ForkRequest": "roundtable.client.ForkKeywords",
        "GoOnRequest": "roundtable.client.ResumeKeywords",
    },
    "roundtable.exits": {
        "LeaderUnassailable": "roundtable.exits.LeadIsDecisive",
        "broken_in": "roundtable.exits.failed_criteria",
        "unmet": "roundtable.exits.without_met",
    },
    "roundtable.modes": {
        "Ask": "roundtable.modes.CreateTurn",
        "Sees": "roundtable.modes.Visibility",
        "check_fits": "roundtable.modes.check_supported",
        "rehearsal": "roundtable.modes.rehearse",
    },
    "roundtable.scoring": {name: f"roundtable.metrics.{name}" for name in _MEASURES.split()},
    "roundtable.storage": {"SeedStorageMethods": "roundtable.storage.WholeSessionMethods"},
    "roundtable.types": {"Owner": "roundtable.types.LeaseOwner"},
    "roundtable.tools": {
        "AsksModels": "roundtable.tools.CallsModels",
        "ModelAsk": "roundtable.tools.ModelCall",
    },
}
"""The new path of each name, by the package that had it and its former name."""
