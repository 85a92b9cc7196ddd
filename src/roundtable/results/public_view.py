"""The report view of a result for everybody who has its link: without cost, and without the words of providers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roundtable.results.findings import missing_agents
from roundtable.results.view import view_of
from roundtable.scoring.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.report import Parts, ReportView, RoundView, SpeakerView
    from roundtable.results.debate_result import DebateResult
    from roundtable.types import RosterEntry

__all__ = ["public_view"]

_PRIVATE_FACTS: Final = frozenset({"Usage", "Measured so because"})
_PRIVATE_EXITS: Final = frozenset({"error", "quorum_lost", "budget"})
"""Reasons whose details are the texts of errors, or amounts of money."""
_NO_ANSWER: Final = "It gave no answer."
_NO_SYNTHESIS: Final = {"No synthesis": "It could not be written.", "Synthesis in part": "A part is missing."}
"""Headings under which a report shows why a synthesis failed, each with the words of a public page."""


def public_view(result: DebateResult) -> ReportView:
    """Return the report view of a result without cost, tokens, and texts of errors; a pure function.

    Errors of providers may name accounts, addresses of servers and limits of a contract.
    """
    view, missing = view_of(result), missing_agents(result)
    failed = {entry.agent_id: entry for entry in result.roster.agents if entry.failed}
    return replace(
        view,
        facts=tuple(_facts(result, view)),
        missing=tuple(_failures(entry) for agent, entry in failed.items() if agent in missing),
        failed=tuple(_failures(entry) for agent, entry in failed.items() if agent not in missing),
        rounds=tuple(map(_round, view.rounds)),
        figures=tuple(figure for figure in view.figures if figure[0] != "Cost"),
        synthesis=_synthesis(view.synthesis),
        costs=(),
        cost="",
    )


def _facts(result: DebateResult, view: ReportView) -> Iterator[tuple[str, str]]:
    for label, value in view.facts:
        if label == "Ended" and result.exit is not None and result.exit.reason in _PRIVATE_EXITS:
            yield label, result.exit.reason
        elif label not in _PRIVATE_FACTS:
            yield label, value


def _failures(entry: RosterEntry) -> str:
    return f"{entry.agent_name}: {entry.failed} of {counted(entry.failed + entry.answered, 'turn')} failed"


def _round(held: RoundView) -> RoundView:
    return replace(held, speakers=tuple(map(_speaker, held.speakers)))


def _speaker(speaker: SpeakerView) -> SpeakerView:
    """Return a turn without the text of its error, and without its notes, which name errors of the models before."""
    return replace(speaker, notes=(), error=None if speaker.error is None else _NO_ANSWER)


def _synthesis(parts: Parts) -> Parts:
    return tuple((label, (_NO_SYNTHESIS[label],) if label in _NO_SYNTHESIS else texts) for label, texts in parts)
