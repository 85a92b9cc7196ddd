"""Whether one way of debating is worth changing to, by the figures of two debates."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from roundtable.bench.metrics import BenchmarkMetrics, interaction_score
from roundtable.types import Value

__all__ = ["Comparison", "Delta", "Recommendation", "calculate_delta", "compare_metrics"]

Recommendation: TypeAlias = Literal["adopt", "reject", "conditional"]
"""What to do with a candidate."""

_ADOPT_QUALITY: Final = 60.0
_REJECT_QUALITY: Final = 30.0
_SLOWER_AT_MOST: Final = 10.0
_TOO_SLOW: Final = 50.0


class Delta(Value):
    """What a candidate changes against a baseline."""

    latency_reduction: float
    """Per cent of the baseline's time that it saves; negative when it is slower."""
    interaction_change: float
    """Per cent by which the interaction score rises, -100 to 100."""
    quality_score: float
    """0 to 100; 50 is no change."""


class Comparison(Value):
    """A candidate beside a baseline."""

    baseline: BenchmarkMetrics
    """What there is."""
    candidate: BenchmarkMetrics
    """What may replace it."""
    delta: Delta
    """What changes."""
    recommendation: Recommendation
    """What to do."""
    reasons: tuple[str, ...]
    """Why, in words."""


def calculate_delta(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Delta:
    """Give what a candidate changes.

    Quality is 50, and `20 dConfidence + 7.5 dCitations + 12.5 dInteraction + 12.5 dAgreement`, with 3 more for
    groupthink that is gone and 3 less for groupthink that is new. Changes of confidence and agreement are differences;
    those of citations and interaction are relative, at most 1 either way. Agreement counts only where both debates
    measured it in one way.

    Args:
        baseline: What there is.
        candidate: What may replace it.
    """
    then, now = interaction_score(baseline.interaction), interaction_score(candidate.interaction)
    exchange = _relative(then, now)
    before, after = baseline.consensus, candidate.consensus
    quality = (
        50.0
        + 20.0 * (candidate.content.avg_confidence - baseline.content.avg_confidence)
        + 7.5 * _relative(baseline.content.citation_count, candidate.content.citation_count)
        + 12.5 * exchange
        + 12.5 * (after.agreement_level - before.agreement_level if after.method == before.method else 0.0)
        + 3.0 * (before.groupthink_warning - after.groupthink_warning)
    )
    took = baseline.latency.total_ms
    return Delta(
        latency_reduction=round((took - candidate.latency.total_ms) / took * 100, 6) if took else 0.0,
        interaction_change=round(exchange * 100, 6),
        quality_score=round(min(100.0, max(0.0, quality)), 6),
    )


def _relative(old: float, new: float) -> float:
    if not old:
        return 1.0 if new else 0.0
    return min(1.0, max(-1.0, (new - old) / old))


def compare_metrics(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics) -> Comparison:
    """Say whether a candidate should replace a baseline.

    Adopt: quality of 60 or more, and at most 10 % slower. Reject: quality below 30, or more than 50 % slower. Anything
    else depends on what matters. One pair of debates proves nothing: `run_study` tells what is chance.

    Args:
        baseline: What there is.
        candidate: What may replace it.
    """
    delta = calculate_delta(baseline, candidate)
    slower = -delta.latency_reduction
    if delta.quality_score < _REJECT_QUALITY or slower > _TOO_SLOW:
        verdict: Recommendation = "reject"
    else:
        good = delta.quality_score >= _ADOPT_QUALITY and slower <= _SLOWER_AT_MOST
        verdict = "adopt" if good else "conditional"
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        delta=delta,
        recommendation=verdict,
        reasons=_reasons(baseline, candidate, delta),
    )


def _reasons(baseline: BenchmarkMetrics, candidate: BenchmarkMetrics, delta: Delta) -> tuple[str, ...]:
    speed = delta.latency_reduction
    reasons = [
        f"quality {delta.quality_score:.1f} of 100, where 50 is no change",
        f"{abs(speed):.1f} % {'faster' if speed >= 0 else 'slower'}",
        f"interaction {delta.interaction_change:+.1f} %",
    ]
    before, after = baseline.consensus, candidate.consensus
    if before.method != after.method:
        reasons.append(f"agreement is not compared: measured by {before.method} and by {after.method}")
    if before.groupthink_warning != after.groupthink_warning:
        reasons.append("signs of groupthink are new" if after.groupthink_warning else "signs of groupthink are gone")
    calls = baseline.usage.calls
    if calls and candidate.usage.calls != calls:
        reasons.append(f"{candidate.usage.calls / calls:.2g} calls for each call")
    return tuple(reasons)
