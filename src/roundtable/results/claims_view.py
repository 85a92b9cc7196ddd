"""The claims of a result, in the form that reports show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from roundtable.core.base.addresses import site_of
from roundtable.core.base.words import counted, listing
from roundtable.report import ArgumentsView, ClaimView, EvidenceView, ReportView
from roundtable.report.view import short_name
from roundtable.results.evidence_view import check_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from roundtable.analysis.arguments import ArgumentClaim, ArgumentGraph, EvidenceUse
    from roundtable.core.types.agents import AgentConfig
    from roundtable.results.evidence import EvidenceCheck, EvidenceReport

__all__ = ["ClaimedDebate", "arguments_view", "claims_in_words", "claims_report"]

_MOST_CLAIMS: Final = 500
"""Maximum number of claims that a report lists; a debate of ten agents and ten rounds has no more."""
_MOST_LINES: Final = 5
_URL_CHARS: Final = 60


def arguments_view(
    graph: ArgumentGraph, names: Mapping[str, str], checked: EvidenceReport | None = None
) -> ArgumentsView | None:
    """Return the view of the claims of a debate; `None` without claims.

    Args:
        graph: The claims.
        names: Names of the agents by id, in the order of the agents.
        checked: Result of the check of cited pages, if they were checked.
    """
    if not graph.claims:
        return None
    return ArgumentsView(
        summary=claims_in_words(graph),
        claims=tuple(_claims(graph, names, checked)),
        lines=tuple(_lines(graph, names, checked)),
    )


class ClaimedDebate(Protocol):
    """The data of a debate that a report of claims reads; `DebateResult` satisfies this protocol."""

    @property
    def session_id(self) -> str:
        """Session id."""

    @property
    def topic(self) -> str:
        """The question."""

    @property
    def answer(self) -> str | None:
        """The answer."""

    @property
    def answer_reason(self) -> str | None:
        """Why there is no answer."""

    @property
    def agents(self) -> tuple[AgentConfig, ...]:
        """Configurations of the agents."""


def claims_report(debate: ClaimedDebate, graph: ArgumentGraph) -> ReportView:
    """Return a report of the claims alone.

    Args:
        debate: The debate.
        graph: The claims of the debate.
    """
    view = arguments_view(graph, {agent.id: agent.name for agent in debate.agents})
    none = (("Claims", "none; run the debate with claims=True, or --claims"),)
    facts = none if view is None else (*view.lines, *map(_claim_line, view.claims))
    return ReportView(
        title=f"Claims: {debate.topic}",
        facts=(*facts, ("Session", debate.session_id)),
        answer=debate.answer,
        answer_reason=debate.answer_reason,
        missing=(),
        rounds=(),
    )


def _claim_line(claim: ClaimView) -> tuple[str, str]:
    parts = [claim.text]
    parts += [f"supports {', '.join(claim.supports)}"] if claim.supports else []
    parts += [f"attacks {', '.join(claim.attacks)}"] if claim.attacks else []
    parts += claim.notes
    parts += (f"source {source.url}" for source in claim.evidence)
    return f"{claim.label}, {claim.name}", "; ".join(parts)


def claims_in_words(graph: ArgumentGraph) -> str:
    """Return a summary of the claims: their number, and how many were supported, attacked, unanswered or dropped."""
    parts = [counted(len(graph.claims), "claim")]
    for number, words in (
        (sum(edge.kind == "supports" for edge in graph.edges), "supported"),
        (sum(edge.kind == "attacks" for edge in graph.edges), "attacked"),
    ):
        parts += [f"{counted(number, 'time')} {words}"] if number else []
    parts += [f"{len(graph.unanswered)} that nobody answered"] if graph.unanswered else []
    parts += [f"{len(graph.dropped)} dropped without a reason"] if graph.dropped else []
    return ", ".join(parts)


def _claims(graph: ArgumentGraph, names: Mapping[str, str], checked: EvidenceReport | None) -> Iterator[ClaimView]:
    seats = {agent: seat for seat, agent in enumerate(names)}
    outgoing: dict[tuple[str, str], list[str]] = {}
    incoming: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        outgoing.setdefault((edge.source, edge.kind), []).append(edge.target)
        incoming.setdefault((edge.target, edge.kind), []).append(edge.source)
    titles = {(agent, use.url): use.title or "" for use in graph.evidence for agent in use.agents}
    checks = {(check.claim, check.url, check.quote): check for check in ([] if checked is None else checked.checks)}
    for claim in graph.claims[:_MOST_CLAIMS]:
        yield ClaimView(
            label=claim.id,
            text=claim.text,
            name=names.get(claim.agent_id, claim.agent_id),
            seat=seats.get(claim.agent_id, len(seats)),
            round=claim.round,
            notes=tuple(_notes(claim)),
            supports=tuple(outgoing.get((claim.id, "supports"), ())),
            attacks=tuple(outgoing.get((claim.id, "attacks"), ())),
            supported_by=tuple(incoming.get((claim.id, "supports"), ())),
            attacked_by=tuple(incoming.get((claim.id, "attacks"), ())),
            evidence=tuple(_evidence(claim, titles, checks)),
        )


def _notes(claim: ArgumentClaim) -> Iterator[str]:
    if claim.state == "unanswered":
        yield "nobody answered"
    if claim.dropped_in is not None:
        yield f"dropped in round {claim.dropped_in} without a reason"


def _evidence(
    claim: ArgumentClaim,
    titles: Mapping[tuple[str, str], str],
    checks: Mapping[tuple[str, str, str | None], EvidenceCheck],
) -> Iterator[EvidenceView]:
    for source in claim.evidence:
        check = checks.get((claim.id, source.url, source.quote))
        yield EvidenceView(
            url=source.url,
            title=titles.get((claim.agent_id, source.url), ""),
            quote=source.quote or "",
            check="" if check is None else check_in_words(check),
            is_found=check is not None and check.status == "found",
        )


def _lines(graph: ArgumentGraph, names: Mapping[str, str], checked: EvidenceReport | None) -> Iterator[tuple[str, str]]:
    yield "Claims", claims_in_words(graph)
    if len(graph.claims) > _MOST_CLAIMS:
        yield "Shown", f"the first {_MOST_CLAIMS} of {len(graph.claims)}"
    shared = graph.shared_evidence
    if shared:
        more = f"; and {len(shared) - _MOST_LINES} more" if len(shared) > _MOST_LINES else ""
        yield "Cited by several", "; ".join(_use(use, names) for use in shared[:_MOST_LINES]) + more
    for move in graph.moves[:_MOST_LINES]:
        who = f"{names.get(move.agent_id, move.agent_id)} in round {move.round}"
        held_by = listing([names.get(agent, agent) for agent in move.held_by])
        cited = f", and supports {', '.join(move.claims)}" if move.claims else ", without support for a claim of theirs"
        yield "Moved", f"{who} to an answer of {held_by}{cited}"
    for influence in graph.influence:
        counts = (
            (influence.supported, "supported"),
            (influence.attacked, "attacked"),
            (influence.unanswered, "unanswered"),
            (influence.followed or 0, "followed"),
        )
        words = ", ".join(f"{number} {word}" for number, word in counts if number)
        if words:
            yield names.get(influence.agent_id, influence.agent_id), f"{counted(influence.claims, 'claim')}: {words}"
    if graph.ignored:
        yield "Not counted", f"{counted(len(graph.ignored), 'reference')} to claims that do not exist or came later"
    if checked is not None:
        found, missed = checked.count("found"), checked.count("not found")
        fetched = f"{checked.checked_at:%Y-%m-%d %H:%M} UTC"
        yield "Evidence", f"{found} found, {missed} cited but not found, {fetched}"


def _use(use: EvidenceUse, names: Mapping[str, str]) -> str:
    # A shortened address would link to another page.
    address = use.url if len(use.url) <= _URL_CHARS else site_of(use.url)
    title = short_name(use.title or address, _URL_CHARS)
    return f"{title} ({listing([names.get(agent, agent) for agent in use.agents])})"
