"""The report view of an evidence check: each source of each claim, and whether its page contains the quoted words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from roundtable.core.base.words import counted
from roundtable.report import ReportView
from roundtable.report.view import short_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.results.evidence import EvidenceCheck, EvidenceReport

__all__ = ["check_in_words", "evidence_view"]

_QUOTE_CHARS: Final = 160


def evidence_view(checked: EvidenceReport) -> ReportView:
    """Return the report view of an evidence check; a pure function."""
    return ReportView(
        title=f"Evidence: {checked.topic}",
        facts=tuple(_facts(checked)),
        answer=checked.answer,
        answer_reason="see the debate",
        missing=(),
        rounds=(),
    )


def check_in_words(check: EvidenceCheck) -> str:
    """Return the result of the check of a source, in words."""
    match check.status:
        case "found":
            return "\N{CHECK MARK} the page has these words"
        case "not found":
            return "cited but not found"
        case "not fetched":
            return f"not fetched ({check.reason})"
        case "no quote":
            return f"not looked for ({check.reason})"
        case _:
            assert_never(check.status)


def _in_short(checked: EvidenceReport) -> str:
    if not checked.checks:
        return "none: no claim has a source"
    counts = (
        (checked.count("found"), "found"),
        (checked.count("not found"), "cited but not found"),
        (checked.count("not fetched"), "not fetched"),
        (checked.count("no quote"), "without words to look for"),
    )
    parts = ", ".join(f"{number} {words}" for number, words in counts if number)
    return f"{counted(len(checked.checks), 'source')}: {parts}"


def _facts(checked: EvidenceReport) -> Iterator[tuple[str, str]]:
    yield "Sources", _in_short(checked)
    for check in checked.checks:
        quote = f" \u201c{short_name(check.quote, _QUOTE_CHARS)}\u201d" if check.quote else ""
        yield f"{check.claim}, {check.agent_id}", f"{check_in_words(check)}: {check.url}{quote}"
    yield "Fetched", f"{checked.checked_at:%Y-%m-%d %H:%M} UTC"
    yield "Session", checked.session_id
