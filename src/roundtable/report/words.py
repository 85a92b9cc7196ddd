"""Words that every rendering of a report uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.report.view import ReportView, RoundView

__all__ = ["answer_line", "heading", "percent"]


def percent(share: float | None) -> str:
    """Write a share as a percentage; nothing where there is none."""
    return "" if share is None else f"{share:.0%}"


def answer_line(view: ReportView) -> str:
    """Give the answer, or why there is none."""
    return view.answer if view.answer is not None else f"none: {view.answer_reason}"


def heading(held: RoundView) -> str:
    """Head a round."""
    state = "" if held.complete else " (not completed)"
    level = "" if held.agreement is None else f", agreement {held.agreement:.2f}"
    return f"Round {held.number}{state}{level}"
