"""Results of debates: a single result, many results together, and their presentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.results.audit import AuditBasis, Counterfactual, DecisionAudit, NotTried
    from roundtable.results.debate_result import AnswerSource, DebateResult, answer_of
    from roundtable.results.declarations import Declarations
    from roundtable.results.live import LiveView, show_live, show_live_async
    from roundtable.results.many import FailedDebate, Results
    from roundtable.results.reruns import RerunAudit, RerunOutcome
    from roundtable.results.transcripts import result_of_transcript

__all__ = [
    "AnswerSource",
    "AuditBasis",
    "Counterfactual",
    "DebateResult",
    "DecisionAudit",
    "Declarations",
    "FailedDebate",
    "LiveView",
    "NotTried",
    "RerunAudit",
    "RerunOutcome",
    "Results",
    "answer_of",
    "result_of_transcript",
    "show_live",
    "show_live_async",
]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AnswerSource": "debate_result",
        "AuditBasis": "audit",
        "Counterfactual": "audit",
        "DebateResult": "debate_result",
        "DecisionAudit": "audit",
        "Declarations": "declarations",
        "FailedDebate": "many",
        "LiveView": "live",
        "NotTried": "audit",
        "RerunAudit": "reruns",
        "RerunOutcome": "reruns",
        "Results": "many",
        "answer_of": "debate_result",
        "result_of_transcript": "transcripts",
        "show_live": "live",
        "show_live_async": "live",
    },
)
