"""A report as one HTML page that needs nothing beside it: no script, no file, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable._version import __version__
from roundtable.report.chart import HUES, bar, mean_confidence, trajectory
from roundtable.report.inert import plain
from roundtable.report.prose import inline, prose
from roundtable.report.style import POLICY, STYLE
from roundtable.report.tags import Html, join, link, tag
from roundtable.report.words import initials, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from roundtable.report.view import OptionView, Parts, ReportView, RoundView, SourceView, SpeakerView

__all__ = ["SECTIONS", "TEAM_SECTIONS", "page_parts", "section_parts", "to_page"]

SECTIONS: Final = {
    "answer": "Answer",
    "decision": "Decision",
    "trajectory": "Agreement and confidence",
    "synthesis": "Synthesis",
    "minority": "Minority report",
    "rounds": "Rounds",
    "sources": "Citations",
    "cost": "Cost",
    "session": "About this debate",
}
"""Sections of a page: id and heading, in order."""
TEAM_SECTIONS: Final = {
    "answer": "Answer",
    "goal": "Goal",
    "rounds": "Rounds",
    "sources": "Citations",
    "cost": "Cost",
    "session": "About this conversation",
}
"""The same of a team, which does not vote."""

_CARE: Final = "Language models wrote what is shown here; check it before you rely on it."
_LONG: Final = 140
"""Letters beyond which a line is no headline."""


def to_page(view: ReportView) -> str:
    """Render as one page."""
    return "".join(page_parts(view))


def page_parts(view: ReportView) -> Iterator[str]:
    """Render as one page, part by part; a long debate is never held whole."""
    yield f'<!doctype html>\n<html lang="en">\n{_head(view).text}\n<body>\n'
    yield _top(view).text + "\n<main>\n"
    yield from section_parts(view)
    made = tag("p", f"Made by AI Roundtable {__version__}. {_CARE}")
    yield f"\n</main>\n{tag('footer', made).text}\n</body>\n</html>\n"


def section_parts(view: ReportView, *, without: Collection[str] = ()) -> Iterator[str]:
    """Render the sections alone, part by part, for a page that brings the style sheet and all else.

    Args:
        view: What they show.
        without: Ids of sections that are left out.
    """
    for name in _titles(view):
        if name in without:
            continue
        if name == "rounds":
            yield from _rounds(view)
        else:
            more = " open" if name == "answer" and view.answer is None else ""
            yield _section(name, view, *_INSIDE[name](view), more=more).text


def _titles(view: ReportView) -> Mapping[str, str]:
    return TEAM_SECTIONS if view.goal else SECTIONS


def _rounds(view: ReportView) -> Iterator[str]:
    yield '\n<section class="rounds" id="rounds" aria-labelledby="rounds-title">'
    yield tag("h2", SECTIONS["rounds"], id="rounds-title").text
    if not view.rounds:
        yield tag("p", "No round was begun.", class_="soft").text
    for held in view.rounds:
        yield from _round(held, view)
    yield "</section>\n"


def _head(view: ReportView) -> Html:
    title = plain(view.title)
    short = title if len(title) <= _LONG else f"{title[:_LONG]}\u2026"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{short} \u00b7 AI Roundtable"),
        Html(f"<style>{STYLE}</style>"),
    )


def _top(view: ReportView) -> Html:
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title in _titles(view).items())
    said = [f"This debate is {view.state}."] if view.state else []
    said += [f"Missing: {line}" for line in view.missing]
    return tag(
        "header",
        tag("p", "AI Roundtable", class_="brand"),
        tag("h1", view.title, class_="long" if len(view.title) > _LONG else None, dir="auto"),
        tag("p", view.about, class_="about") if view.about else None,
        tag("div", *(tag("p", line) for line in said), class_="alert", role="note") if said else None,
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )


def _section(name: str, view: ReportView, *inside: Html | None, more: str = "") -> Html:
    title = tag("h2", _titles(view)[name], id=f"{name}-title")
    return tag("section", title, *inside, class_=f"{name}{more}", id=name, aria_labelledby=f"{name}-title")


def _answer(view: ReportView) -> Iterator[Html]:
    if view.answer is not None:
        length = " long" if len(view.answer) > _LONG else ""
        yield tag("p", inline(view.answer), class_=f"said{length}", dir="auto")
    else:
        yield tag("p", "No answer", class_="said")
        yield tag("p", view.answer_reason, dir="auto")
    if view.answer_note:
        yield tag("p", view.answer_note, class_="soft", dir="auto")
    if view.figures:
        yield tag("dl", *(_figure(*figure) for figure in view.figures), class_="figures")
    spoken = [held for held in view.rounds if held.speakers] if view.answer is None else []
    if spoken:
        positions = (speaker for speaker in spoken[-1].speakers if speaker.error is None)
        yield tag("p", f"Positions in round {spoken[-1].number}:")
        yield tag("ul", *(tag("li", tag("strong", one.name), ": ", _held_by(one)) for one in positions))


def _held_by(speaker: SpeakerView) -> Html:
    chosen = f"{speaker.choice}: " if speaker.choice else None
    return join((chosen, inline(speaker.position)))


def _figure(label: str, value: str, note: str) -> Html:
    return tag(
        "div", tag("dt", label), tag("dd", value, class_="value"), tag("dd", note, class_="note") if note else None
    )


def _decision(view: ReportView) -> Iterator[Html]:
    yield tag("p", view.rule or "No decision rule was applied.", dir="auto")
    if view.options:
        yield tag("ul", *map(_option, view.options), class_="options")


def _option(option: OptionView) -> Html:
    name = tag("span", option.name, class_="chosen" if option.won else None, dir="auto")
    backers = tag("div", ", ".join(option.backers), class_="soft small") if option.backers else None
    score = tag("span", option.score, class_="score")
    return tag("li", tag("div", name, score, class_="line"), bar(option.share, won=option.won), backers)


def _trajectory(view: ReportView) -> Iterator[Html]:
    drawn = trajectory(view)
    if drawn is None:
        yield tag("p", "Nothing was measured.", class_="soft")
        return
    yield tag("figure", drawn, _legend(view), class_="drawn")
    rows = (_row(held) for held in view.rounds)
    heads = (
        tag("th", "Round", scope="col"),
        *(_number_head(text) for text in ("Agreement", "Mean confidence", "Answers")),
    )
    yield tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _legend(view: ReportView) -> Html:
    shown = [tag("li", tag("i"), "Agreement"), tag("li", tag("i", class_="confidence"), "Mean confidence")]
    if view.independent is not None:
        shown.append(tag("li", tag("i", class_="before"), "Agreement before anyone heard anyone"))
    shown += [
        tag("li", tag("i", class_=f"agent s{seat % HUES}"), f"Confidence of {name}")
        for seat, name in enumerate(view.seats[:HUES])
    ]
    return tag("ul", *shown, class_="legend")


def _number_head(text: str) -> Html:
    return tag("th", text, scope="col", class_="number")


def _row(held: RoundView) -> Html:
    answered = sum(speaker.error is None for speaker in held.speakers)
    level = "not measured" if held.agreement is None else f"{held.agreement:.2f}"
    cells = (level, percent(mean_confidence(held)) or "none", f"{answered} of {len(held.speakers)}")
    shown = (tag("td", cell, class_="number") for cell in cells)
    return tag("tr", tag("th", f"{held.number}", scope="row"), *shown)


def _synthesis(view: ReportView) -> Iterator[Html]:
    if not view.synthesis:
        yield tag("p", "Nobody was asked to put the debate together.", class_="soft")
    yield from _parts(view.synthesis)


def _goal(view: ReportView) -> Iterator[Html]:
    yield from _parts(view.goal)


def _parts(told: Parts) -> Iterator[Html]:
    for label, parts in told:
        if label:
            yield tag("h3", label)
        if len(parts) == 1:
            yield tag("div", *prose(parts[0]), dir="auto")
        else:
            yield tag("ul", *(tag("li", inline(part), dir="auto") for part in parts))


def _minority(view: ReportView) -> Iterator[Html]:
    if view.answer is None or not view.is_decided:
        yield tag("p", "There is no decision to differ from; all positions stand in the rounds.", class_="soft")
    elif not view.minority:
        yield tag("p", "Nobody held another view in the last complete round.", class_="soft")
    for speaker in view.minority:
        yield join(_speaker(speaker, won=False))


def _round(held: RoundView, view: ReportView) -> Iterator[str]:
    level = "" if held.agreement is None else f" \u00b7 agreement {held.agreement:.2f}"
    state = "" if held.complete else " \u00b7 not completed"
    title = tag("summary", f"Round {held.number}", tag("span", f"{level}{state}", class_="soft"))
    yield f'<details open="">{title.text}<div class="held">'
    if held.focus:
        yield tag("p", tag("strong", "Focus: "), held.focus, dir="auto").text
    if held.summary:
        yield tag("p", held.summary, class_="soft", dir="auto").text
    for speaker in held.speakers:
        yield join(_speaker(speaker, won=view.answer is not None and speaker.choice == view.answer)).text
    yield "</div></details>\n"


def _speaker(speaker: SpeakerView, *, won: bool) -> Iterator[Html]:
    who = [
        tag("span", initials(speaker.name), class_=f"seat s{speaker.seat % HUES}", aria_hidden="true"),
        tag("h3", speaker.name, dir="auto"),
    ]
    if speaker.role != "participant":
        who.append(tag("span", speaker.role, class_="chip"))
    if speaker.choice:
        who.append(tag("span", speaker.choice, class_="chip won" if won else "chip", dir="auto"))
    if speaker.confidence is not None:
        who.append(tag("span", f"{percent(speaker.confidence)} confident", class_="soft small"))
    if speaker.error is not None:
        who.append(tag("span", "failed", class_="chip bad"))
    inside: list[Html] = [tag("div", *who, class_="who")]
    if speaker.error is not None:
        inside.append(tag("p", speaker.error, dir="auto"))
    else:
        inside += _words(speaker)
    yield tag("article", *inside)


def _words(speaker: SpeakerView) -> Iterator[Html]:
    if speaker.position:
        yield tag("p", inline(plain(speaker.position)), class_="position", dir="auto")
    if speaker.reasoning:
        yield tag("div", *prose(speaker.reasoning), class_="reasons", dir="auto")
    if speaker.sources:
        yield tag("ul", *(tag("li", link(url, title or url)) for title, url in speaker.sources), class_="cited")
    if speaker.tools:
        yield tag("p", f"Tools used: {', '.join(speaker.tools)}", class_="soft small")
    for note in speaker.notes:
        yield tag("p", f"Note: {note}", class_="soft small")


def _sources(view: ReportView) -> Iterator[Html]:
    if not view.sources:
        yield tag("p", "Nobody cited a source.", class_="soft")
    else:
        yield tag("ol", *map(_source, view.sources), class_="cited")


def _source(source: SourceView) -> Html:
    by = tag("div", f"cited by {', '.join(source.cited_by)}", class_="soft small") if source.cited_by else None
    quoted = tag("blockquote", source.snippet, dir="auto") if source.snippet else None
    return tag("li", link(source.url, source.title or source.url), by, quoted)


def _cost(view: ReportView) -> Iterator[Html]:
    if view.cost:
        yield tag("p", view.cost)
    if not view.costs:
        return
    heads = (tag("th", "Agent", scope="col"), *(_number_head(text) for text in ("Turns", "Tokens", "Cost")))
    rows = (
        tag(
            "tr",
            tag("th", row.name, tag("div", row.model, class_="soft small") if row.model else None, scope="row"),
            *(tag("td", cell, class_="number") for cell in (row.turns, row.tokens, row.cost)),
        )
        for row in view.costs
    )
    yield tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _session(view: ReportView) -> Iterator[Html]:
    pairs = (part for label, value in view.facts for part in (tag("dt", label), tag("dd", value, dir="auto")))
    yield tag("dl", *pairs, class_="about-debate")


_INSIDE: Final[Mapping[str, Callable[[ReportView], Iterator[Html]]]] = {
    "answer": _answer,
    "goal": _goal,
    "decision": _decision,
    "trajectory": _trajectory,
    "synthesis": _synthesis,
    "minority": _minority,
    "sources": _sources,
    "cost": _cost,
    "session": _session,
}
