"""The report view of an audit: each change and its outcome, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.base.words import counted, listing
from roundtable.report import ReportView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.results.audit import Counterfactual, DecisionAudit

__all__ = ["TOO_LARGE", "audit_view"]

TOO_LARGE: Final = "too many options: "
"""Beginning of the reason why a rule is not tried with so many options."""
_BASES: Final = {
    "answers": "the answers of the last complete round",
    "vote": "the vote of the agents",
    "judges": "the votes of judges",
}


def audit_view(audit: DecisionAudit) -> ReportView:
    """Return the report view of an audit; a pure function."""
    return ReportView(
        title=f"Audit: {audit.topic}",
        facts=tuple(_facts(audit)),
        answer=audit.winner,
        answer_reason=audit.why,
        missing=(),
        rounds=(),
    )


def _facts(audit: DecisionAudit) -> Iterator[tuple[str, str]]:
    yield "Decided by", f"{audit.rule}, over {_BASES[audit.basis]}"
    yield "In short", _in_short(audit)
    for note in audit.notes:
        yield "Note", note
    for row in audit.without:
        yield _label(row), _outcome(row)
    for row in audit.switches:
        yield f"With {row.change}", _outcome(row)
    yield from _by_outcome(audit.rules)
    for tie in audit.ties:
        yield f"If {tie.change}", _outcome(tie)
    for counterfactual in (audit.weighted, audit.first_round, audit.independent):
        if counterfactual is not None:
            yield f"With {counterfactual.change}", _outcome(counterfactual)
    yield from _untried_rows(audit)
    yield "Session", audit.session_id


def _in_short(audit: DecisionAudit) -> str:
    names = {row.agent_id: row.change.removeprefix("without ") for row in audit.without}
    if audit.fragile is None and not audit.without:
        return "Ballots were not left out one at a time: there are too many."
    if audit.fragile is None and audit.switches_tried is None and not any(row.differs is None for row in audit.without):
        return "Leaving one ballot out does not change the winner. Votes for another option were not tried."
    if audit.fragile is None:
        return "It is not known whether one ballot changes the winner: some answers were not compared."
    if not audit.fragile:
        return "No single ballot changes the winner."
    if not audit.without:
        return "One ballot for another option changes the winner."
    if not audit.pivotal:
        return "One ballot for another option changes the winner; leaving one out does not."
    pivotal = listing([names[agent] for agent in audit.pivotal])
    return f"One ballot changes the winner. Pivotal, each left out alone: {pivotal}."


def _label(row: Counterfactual) -> str:
    return f"{row.change[:1].upper()}{row.change[1:]}"


def _outcome(row: Counterfactual) -> str:
    effect = " (changes the winner)" if row.differs else ""
    if not row.is_known:
        return f"not known: it depends on answers that nobody compared{effect}"
    if row.winner is not None:
        return f"{row.winner} (not known whether it is the same winner)" if row.differs is None else row.winner + effect
    return f"tie between {listing(row.tied)}{effect}" if row.tied else f"no winner{effect}"


def _by_outcome(rows: Iterable[Counterfactual]) -> Iterator[tuple[str, str]]:
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(_outcome(row), []).append(row.rule or row.change)
    for outcome, rules in names.items():
        yield f"By {', '.join(rules)}", outcome


def _untried_rows(audit: DecisionAudit) -> Iterator[tuple[str, str]]:
    rules = [skipped for skipped in audit.not_tried if " " not in skipped.change]
    others = [skipped for skipped in audit.not_tried if " " in skipped.change]
    for skipped in others:
        yield f"Not tried: {skipped.change}", skipped.reason
    by_size = [skipped for skipped in rules if skipped.reason.startswith(TOO_LARGE)]
    for why, skips in (
        ("cannot count these ballots", [skipped for skipped in rules if skipped not in by_size]),
        ("are not tried with so many options", by_size),
    ):
        if skips:
            yield f"Not tried: {counted(len(skips), 'rule')}", f"{', '.join(one.change for one in skips)} {why}"
