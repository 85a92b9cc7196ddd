"""Results of debates: a single result, many results as a table, and their presentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._core.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.results.debate_result import AnswerSource, DebateResult, answer_of
    from roundtable.results.many import FailedDebate, Results

__all__ = ["AnswerSource", "DebateResult", "FailedDebate", "Results", "answer_of"]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AnswerSource": "debate_result",
        "DebateResult": "debate_result",
        "FailedDebate": "many",
        "Results": "many",
        "answer_of": "debate_result",
    },
)
