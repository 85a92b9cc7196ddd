"""A report as an HTML fragment, for notebooks: no style sheet, nothing that acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.report.inert import plain
from roundtable.report.tags import Html, join, link, tag
from roundtable.report.words import answer_line, heading, percent

if TYPE_CHECKING:
    from roundtable.report.view import ReportView, RoundView, SpeakerView

__all__ = ["to_fragment"]


def to_fragment(view: ReportView) -> str:
    """Render as an HTML fragment: no script, no style sheet, no image, links to http, https and mailto only."""
    rows = (tag("tr", tag("th", label), tag("td", value)) for label, value in view.facts)
    return tag(
        "div",
        tag("h3", view.title),
        *(tag("p", tag("strong", "Missing"), f" {line}") for line in view.missing),
        tag("p", tag("strong", "Answer:"), f" {answer_line(view)}"),
        tag("table", *rows),
        *(tag("p", tag("strong", f"{label}:"), f" {'; '.join(parts)}") for label, parts in view.synthesis),
        *(_round(held) for held in view.rounds),
        class_="roundtable",
    ).text


def _round(held: RoundView) -> Html:
    speakers = tag("ul", *(_speaker(speaker) for speaker in held.speakers))
    return tag("details", tag("summary", heading(held)), tag("p", held.summary), speakers, open="")


def _speaker(speaker: SpeakerView) -> Html:
    name = tag("strong", speaker.name)
    if speaker.error is not None:
        return tag("li", name, " ", tag("em", "failed:"), f" {speaker.error}")
    sure = f" ({percent(speaker.confidence)})" if speaker.confidence is not None else ""
    chosen = f" [{speaker.choice}]" if speaker.choice else ""
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    reasons = join((part for part in map(plain, paragraphs) if part), "<br>")
    sources = [tag("li", link(url, title or url)) for title, url in speaker.sources]
    return tag(
        "li",
        name,
        f"{sure}:{chosen} {speaker.position}",
        tag("p", reasons),
        tag("ul", *sources) if sources else None,
        *(tag("p", tag("em", note)) for note in speaker.notes),
    )
