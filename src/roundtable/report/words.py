"""Words that every rendering of a report uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.report.inert import plain

if TYPE_CHECKING:
    from roundtable.report.view import ReportView, RoundView

__all__ = ["answer_line", "heading", "initials", "percent"]


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


def initials(name: str) -> str:
    """Give one or two letters that stand for a name."""
    words = [word for word in plain(name).split() if word[:1].isalnum()]
    ends = (words[0], words[-1]) if len(words) > 1 else words
    return "".join(word[0].upper() for word in ends) or "\u2022"
