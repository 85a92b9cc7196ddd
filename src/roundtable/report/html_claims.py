"""The claims of a report as HTML: by round, with links to the claims to which they refer."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from roundtable.report.charts import HUES
from roundtable.report.html_builder import Html, inline, join, link, tag
from roundtable.report.view import initials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.report.view import ArgumentsView, ClaimView, EvidenceView

__all__ = ["claim_parts"]


def claim_parts(view: ArgumentsView) -> Iterator[Html]:
    """Render the summary of the claims, then the claims by round."""
    anchors = {claim.label: f"claim-{number}" for number, claim in enumerate(view.claims, 1)}
    yield tag("p", "These claims and references are from the agents themselves.", class_="soft small")
    if view.lines:
        pairs = (part for label, text in view.lines for part in (tag("dt", label), tag("dd", inline(text), dir="auto")))
        yield tag("dl", *pairs, class_="about-debate")
    for number, claims in groupby(view.claims, lambda claim: claim.round):
        yield tag("h3", f"Round {number}")
        yield tag("ul", *(_claim(claim, anchors) for claim in claims), class_="claim-list")


def _claim(claim: ClaimView, anchors: Mapping[str, str]) -> Html:
    seat = tag("span", initials(claim.name), class_=f"seat s{claim.seat % HUES}", aria_hidden="true")
    chips = (tag("span", note, class_="chip") for note in claim.notes)
    head = join((seat, tag("strong", claim.name), tag("code", claim.label), *chips), " ")
    references = (
        ("supports", claim.supports),
        ("attacks", claim.attacks),
        ("supported by", claim.supported_by),
        ("attacked by", claim.attacked_by),
    )
    words = [_references(word, labels, anchors) for word, labels in references if labels]
    return tag(
        "li",
        tag("div", head, class_="who"),
        tag("p", inline(claim.text), dir="auto"),
        tag("p", join(words, "; "), class_="soft small") if words else None,
        tag("ul", *map(_source, claim.evidence), class_="cited") if claim.evidence else None,
        id=anchors[claim.label],
    )


def _references(word: str, labels: Sequence[str], anchors: Mapping[str, str]) -> Html:
    links = (tag("a", label, href=f"#{anchors[label]}") if label in anchors else label for label in labels)
    return join((f"{word} ", join(links, ", ")))


def _source(source: EvidenceView) -> Html:
    quote = tag("blockquote", source.quote, dir="auto") if source.quote else None
    mark = tag("span", source.check, class_="chip won" if source.is_found else "chip bad") if source.check else None
    return tag("li", link(source.url, source.title or source.url), " ", mark, quote)
