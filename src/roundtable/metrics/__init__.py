"""Measures of a debate: agreement, reliability, changes, comparison with known answers. Pure, without a model.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.metrics.agreement import (
        basic_agreement,
        entropy,
        entropy_agreement,
        jensen_shannon,
        kendall_w,
        lead_margin,
        mean_spearman,
        modal_share,
        pairwise_agreement,
        ranks,
        tally,
        total_variation,
    )
    from roundtable.metrics.dynamics import (
        Positions,
        Rounds,
        conformity,
        disagreement_collapse,
        flip_rate,
        influence_matrix,
        modal_adoption,
        obstinacy,
        position_drift,
    )
    from roundtable.metrics.gold import (
        Transitions,
        brier_score,
        expected_calibration_error,
        jury_bound,
        oracle_gap,
        transitions,
    )
    from roundtable.metrics.numeric import (
        coefficient_of_variation,
        cv_change,
        interquartile_range,
        median,
        quantile,
        share_near_median,
        stability,
        tastle_wierman,
        van_der_eijk_a,
    )
    from roundtable.metrics.reliability import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha
    from roundtable.metrics.transcripts import Transcript, Utterance, read_transcript

__all__ = [
    "Positions",
    "Rounds",
    "Transcript",
    "Transitions",
    "Utterance",
    "basic_agreement",
    "brier_score",
    "coefficient_of_variation",
    "cohen_kappa",
    "conformity",
    "cv_change",
    "disagreement_collapse",
    "entropy",
    "entropy_agreement",
    "expected_calibration_error",
    "fleiss_kappa",
    "flip_rate",
    "gwet_ac1",
    "influence_matrix",
    "interquartile_range",
    "jensen_shannon",
    "jury_bound",
    "kendall_w",
    "krippendorff_alpha",
    "lead_margin",
    "mean_spearman",
    "median",
    "modal_adoption",
    "modal_share",
    "obstinacy",
    "oracle_gap",
    "pairwise_agreement",
    "position_drift",
    "quantile",
    "ranks",
    "read_transcript",
    "share_near_median",
    "stability",
    "tally",
    "tastle_wierman",
    "total_variation",
    "transitions",
    "van_der_eijk_a",
]

_HOMES = {
    "basic_agreement": "agreement",
    "entropy": "agreement",
    "entropy_agreement": "agreement",
    "jensen_shannon": "agreement",
    "kendall_w": "agreement",
    "lead_margin": "agreement",
    "mean_spearman": "agreement",
    "modal_share": "agreement",
    "pairwise_agreement": "agreement",
    "ranks": "agreement",
    "tally": "agreement",
    "total_variation": "agreement",
    "Positions": "dynamics",
    "Rounds": "dynamics",
    "conformity": "dynamics",
    "disagreement_collapse": "dynamics",
    "flip_rate": "dynamics",
    "influence_matrix": "dynamics",
    "modal_adoption": "dynamics",
    "obstinacy": "dynamics",
    "position_drift": "dynamics",
    "Transitions": "gold",
    "brier_score": "gold",
    "expected_calibration_error": "gold",
    "jury_bound": "gold",
    "oracle_gap": "gold",
    "transitions": "gold",
    "coefficient_of_variation": "numeric",
    "cv_change": "numeric",
    "interquartile_range": "numeric",
    "median": "numeric",
    "quantile": "numeric",
    "share_near_median": "numeric",
    "stability": "numeric",
    "tastle_wierman": "numeric",
    "van_der_eijk_a": "numeric",
    "cohen_kappa": "reliability",
    "fleiss_kappa": "reliability",
    "gwet_ac1": "reliability",
    "krippendorff_alpha": "reliability",
    "Transcript": "transcripts",
    "Utterance": "transcripts",
    "read_transcript": "transcripts",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
