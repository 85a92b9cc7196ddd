"""A report as one HTML page with a chart; it needs no script, no other file and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable._version import __version__
from roundtable.report.html_builder import Html, inline, join, link, prose, tag
from roundtable.report.sanitize import plain
from roundtable.report.style import POLICY, STYLE
from roundtable.report.view import answer_line, choice_prefix, heading, initials, percent, short_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from roundtable.report.view import (
        FlowCell,
        OptionView,
        PairTable,
        Parts,
        ReportView,
        RoundView,
        SourceView,
        SpeakerView,
    )

__all__ = [
    "HUES",
    "SECTIONS",
    "TEAM_SECTIONS",
    "bar",
    "mean_confidence",
    "page_parts",
    "section_parts",
    "to_fragment",
    "to_page",
    "trajectory",
]


def to_fragment(view: ReportView) -> str:
    """Render as an HTML fragment: no script, no style sheet, no image, links to http, https and mailto only."""
    rows = (tag("tr", tag("th", label), tag("td", value)) for label, value in view.facts)
    return tag(
        "div",
        tag("h3", view.title),
        *(tag("p", tag("strong", "Missing"), f" {line}") for line in view.missing),
        *(tag("p", tag("strong", "Failed turns"), f" {line}") for line in view.failed),
        tag("p", tag("strong", "Answer:"), f" {answer_line(view)}"),
        tag("table", *rows),
        *(() if view.pairs is None else _pairs(view.pairs)),
        *(tag("p", tag("strong", f"{label}:"), f" {'; '.join(parts)}") for label, parts in view.synthesis),
        *(_fragment_round(round_view) for round_view in view.rounds),
        class_="roundtable",
    ).text


def _fragment_round(round_view: RoundView) -> Html:
    speakers = tag("ul", *(_fragment_speaker(speaker) for speaker in round_view.speakers))
    return tag("details", tag("summary", heading(round_view)), tag("p", round_view.summary), speakers, open="")


def _fragment_speaker(speaker: SpeakerView) -> Html:
    role = "" if speaker.role == "participant" else f" ({speaker.role})"
    name = tag("strong", f"{speaker.name}{role}")
    if speaker.error is not None:
        return tag("li", name, " ", tag("em", "failed:"), f" {speaker.error}")
    confidence = f" ({percent(speaker.confidence)})" if speaker.confidence is not None else ""
    choice = f" [{speaker.choice}]" if speaker.choice else ""
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    reasons = join((part for part in map(plain, paragraphs) if part), "<br>")
    sources = [tag("li", link(url, title or url)) for title, url in speaker.sources]
    return tag(
        "li",
        name,
        f"{confidence}:{choice} {speaker.position}",
        tag("p", reasons),
        tag("ul", *sources) if sources else None,
        *(tag("p", tag("em", note)) for note in speaker.notes),
    )


HUES: Final = 10
"""Number of colours for agents; further agents reuse them."""
_WIDTH, _HEIGHT = 380, 214
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 12, 12, 30
_MAX_DOTTED_ROUNDS = 40
"""Maximum rounds for which the chart draws a dot per round and a line per agent."""
_MAX_LABELS = 10


class _Point(NamedTuple):
    x: float
    y: float

    def written(self) -> str:
        """Return the coordinates for an SVG attribute."""
        return f"{self.x:.1f},{self.y:.1f}"


def mean_confidence(held: RoundView) -> float | None:
    """Return the mean confidence reported in a round; `None` if no agent reported one."""
    confidences = [speaker.confidence for speaker in held.speakers if speaker.confidence is not None]
    return sum(confidences) / len(confidences) if confidences else None


def trajectory(view: ReportView) -> Html | None:
    """Draw agreement and confidence by round; return `None` if nothing was measured."""
    rounds = [
        round_view
        for round_view in view.rounds
        if round_view.agreement is not None or round_view.bounds or mean_confidence(round_view) is not None
    ]
    if not rounds:
        return None
    layout = _Layout(len(rounds), alone=view.independent is not None)
    agreement = [layout.point(number, round_view.agreement) for number, round_view in enumerate(rounds)]
    confidence = [layout.point(number, mean_confidence(round_view)) for number, round_view in enumerate(rounds)]
    dots = len(rounds) <= _MAX_DOTTED_ROUNDS
    shapes = [
        *_grid(),
        *_labels(rounds, layout),
        *(_agents(rounds, layout) if dots else ()),
        *_line(confidence, "confidence", dots=False),
        *_independent(view.independent, agreement[0], layout),
        *_intervals(rounds, layout),
        *_line(agreement, "agreement", dots=dots),
    ]
    captions = (
        tag("title", "Agreement and confidence by round", id="chart-title"),
        tag("desc", _description(view, rounds), id="chart-words"),
    )
    return tag(
        "svg",
        *captions,
        *shapes,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby="chart-title chart-words",
    )


class _Layout:
    """Maps rounds and shares to coordinates of the chart.

    Args:
        rounds: Number of rounds drawn.
        alone: Whether a column for answers before the debate comes first.
    """

    def __init__(self, rounds: int, *, alone: bool) -> None:
        self.columns = rounds + alone
        self._first = int(alone)

    def x(self, column: int) -> float:
        room = _WIDTH - _LEFT - _RIGHT
        return _LEFT + room * (column + 0.5) / self.columns

    def point(self, number: int, share: float | None) -> _Point | None:
        return None if share is None else _Point(self.x(number + self._first), _y(share))

    def label(self, number: int) -> float:
        return self.x(number + self._first)


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def _grid() -> Iterator[Html]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = round(_y(share), 1)
        yield tag("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y)
        yield tag("text", f"{share:g}", x=_LEFT - 6, y=y + 4, text_anchor="end")


def _labels(rounds: Sequence[RoundView], layout: _Layout) -> Iterator[Html]:
    step = -(-len(rounds) // _MAX_LABELS)
    for number in range(0, len(rounds), step):
        round_view = rounds[number]
        label = f"Round {round_view.number}" if len(rounds) <= 4 else f"{round_view.number}"
        yield tag("text", label, x=round(layout.label(number), 1), y=_HEIGHT - 10, text_anchor="middle")


def _independent(share: float | None, first: _Point | None, layout: _Layout) -> Iterator[Html]:
    """Draw the agreement of independent answers, left of the first round."""
    if share is None:
        return
    point = _Point(layout.x(0), _y(share))
    yield tag("text", "alone", x=round(point.x, 1), y=_HEIGHT - 10, text_anchor="middle")
    if first is not None:
        yield tag("polyline", class_="before", points=f"{point.written()} {first.written()}")
    yield tag("circle", class_="before", cx=round(point.x, 1), cy=round(point.y, 1), r=4.5)


def _intervals(rounds: Sequence[RoundView], layout: _Layout) -> Iterator[Html]:
    """Draw agreement that is known to lie between two figures as an upright bar."""
    for number, round_view in enumerate(rounds):
        if round_view.bounds is not None:
            least, most = (_y(share) for share in round_view.bounds)
            x = round(layout.label(number), 1)
            yield tag("line", class_="interval", x1=x, x2=x, y1=round(least, 1), y2=round(most, 1))


def _agents(rounds: Sequence[RoundView], layout: _Layout) -> Iterator[Html]:
    """Draw the confidence of each agent; the last turn of a round counts."""
    by_seat: dict[int, dict[int, _Point]] = {}
    for number, round_view in enumerate(rounds):
        for speaker in round_view.speakers:
            point = layout.point(number, speaker.confidence)
            if point is not None:
                by_seat.setdefault(speaker.seat, {})[number] = point
    for seat, points in sorted(by_seat.items()):
        yield from _line([points.get(number) for number in range(len(rounds))], f"agent s{seat % HUES}", dots=True)


def _line(points: Sequence[_Point | None], kind: str, *, dots: bool) -> Iterator[Html]:
    """Draw a line with gaps where nothing was measured."""
    segment: list[_Point] = []
    for point in (*points, None):
        if point is not None:
            segment.append(point)
            continue
        if len(segment) > 1:
            yield tag("polyline", class_=kind, points=" ".join(vertex.written() for vertex in segment))
        segment = []
    if dots or sum(point is not None for point in points) == 1:
        radius = 4.5 if kind == "agreement" else 2.5
        for point in points:
            if point is not None:
                yield tag("circle", class_=kind, cx=round(point.x, 1), cy=round(point.y, 1), r=radius)


def _description(view: ReportView, rounds: Sequence[RoundView]) -> str:
    sentences = (
        [f"before anyone heard anyone, agreement {view.independent:.2f}"] if view.independent is not None else []
    )
    for round_view in (rounds[0], rounds[-1]) if len(rounds) > 1 else rounds:
        level = round_view.shown_level or "not measured"
        confidence = percent(mean_confidence(round_view)) or "not given"
        sentences.append(f"round {round_view.number}: agreement {level}, mean confidence {confidence}")
    return "; ".join(sentences)


def bar(share: float, *, won: bool) -> Html:
    """Draw a share as a bar; the number itself is shown next to it."""
    full = tag("rect", class_="rest", width=100, height=6)
    filled = tag("rect", class_="won" if won else "part", width=round(100 * min(max(share, 0.0), 1.0), 1), height=6)
    return tag(
        "svg", join((full, filled)), class_="bar", viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true"
    )


SECTIONS: Final = {
    "answer": "Answer",
    "decision": "Decision",
    "movement": "Who moved",
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
"""The sections for a team, which does not vote."""

_DISCLAIMER: Final = "Language models wrote what is shown here; check it before you rely on it."
_NO_OTHER_VIEW: Final = "Nobody held another view in the last complete round."
_CHIP_CHARS: Final = 80
"""Longest answer in few words beside a name, in characters."""
_NAME_CHARS: Final = 60
"""Longest name in a table, in characters."""
_MAX_HEADLINE: Final = 140
"""Longest text set as a headline, in characters."""


def to_page(view: ReportView) -> str:
    """Render as one page."""
    return "".join(page_parts(view))


def page_parts(view: ReportView) -> Iterator[str]:
    """Render as one page, part by part; a long debate is never in memory as a whole."""
    yield f'<!doctype html>\n<html lang="en">\n{_head(view).text}\n<body>\n'
    yield _header(view).text + "\n<main>\n"
    yield from section_parts(view)
    credit = tag("p", f"Made by AI Roundtable {__version__}. {_DISCLAIMER}")
    yield f"\n</main>\n{tag('footer', credit).text}\n</body>\n</html>\n"


def section_parts(view: ReportView, *, without: Collection[str] = ()) -> Iterator[str]:
    """Render only the sections, part by part, for a page that has its own head and the style sheet.

    Args:
        view: The report to render.
        without: Ids of sections to leave out.
    """
    for name in _titles(view):
        if name in without:
            continue
        if name == "rounds":
            yield from _rounds(view)
        else:
            extra_class = " open" if name == "answer" and view.answer is None else ""
            yield _section(name, view, *_BODIES[name](view), extra_class=extra_class).text


def _titles(view: ReportView) -> Mapping[str, str]:
    if view.goal:
        return TEAM_SECTIONS
    return (
        SECTIONS if view.flow is not None else {name: title for name, title in SECTIONS.items() if name != "movement"}
    )


def _rounds(view: ReportView) -> Iterator[str]:
    yield '\n<section class="rounds" id="rounds" aria-labelledby="rounds-title">'
    yield tag("h2", SECTIONS["rounds"], id="rounds-title").text
    if not view.rounds:
        yield tag("p", "No round was begun.", class_="soft").text
    for round_view in view.rounds:
        yield from _round(round_view, view)
    yield "</section>\n"


def _head(view: ReportView) -> Html:
    title = plain(view.title)
    short = title if len(title) <= _MAX_HEADLINE else f"{title[:_MAX_HEADLINE]}\u2026"
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


def _header(view: ReportView) -> Html:
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title in _titles(view).items())
    notes = [f"This debate is {view.state}."] if view.state else []
    notes += [f"Missing: {line}" for line in view.missing]
    notes += [f"Failed turns: {line}" for line in view.failed]
    return tag(
        "header",
        tag("p", "AI Roundtable", class_="brand"),
        tag("h1", view.title, class_="long" if len(view.title) > _MAX_HEADLINE else None, dir="auto"),
        tag("p", view.about, class_="about") if view.about else None,
        tag("div", *(tag("p", line) for line in notes), class_="alert", role="note") if notes else None,
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )


def _section(name: str, view: ReportView, *body: Html | None, extra_class: str = "") -> Html:
    title = tag("h2", _titles(view)[name], id=f"{name}-title")
    return tag("section", title, *body, class_=f"{name}{extra_class}", id=name, aria_labelledby=f"{name}-title")


def _answer(view: ReportView) -> Iterator[Html]:
    if view.answer is not None:
        length = " long" if len(view.answer) > _MAX_HEADLINE else ""
        yield tag("p", inline(view.answer), class_=f"said{length}", dir="auto")
    else:
        yield tag("p", "No answer", class_="said")
        yield tag("p", view.answer_reason, dir="auto")
    if view.answer_note:
        yield tag("p", view.answer_note, class_="soft", dir="auto")
    if view.advice is not None:
        words, reason = view.advice
        yield tag("p", tag("strong", f"{words}."), f" {reason}", class_="advice", dir="auto")
    if view.story:
        yield tag("p", f"{view.story[:1].upper()}{view.story[1:]}.", class_="soft", dir="auto")
    if view.figures:
        yield tag("dl", *(_figure(*figure) for figure in view.figures), class_="figures")
    rounds = [round_view for round_view in view.rounds if round_view.speakers] if view.answer is None else []
    if rounds:
        positions = (speaker for speaker in rounds[-1].speakers if speaker.error is None and not speaker.votes)
        yield tag("p", f"Positions in round {rounds[-1].number}:")
        yield tag("ul", *(tag("li", tag("strong", speaker.name), ": ", _position_of(speaker)) for speaker in positions))


def _position_of(speaker: SpeakerView) -> Html:
    return join((choice_prefix(speaker.choice, speaker.position), inline(speaker.position)))


def _figure(label: str, value: str, note: str) -> Html:
    return tag(
        "div", tag("dt", label), tag("dd", value, class_="value"), tag("dd", note, class_="note") if note else None
    )


def _decision(view: ReportView) -> Iterator[Html]:
    yield tag("p", view.rule or "No decision rule was applied.", dir="auto")
    if view.options:
        yield tag("ul", *map(_option, view.options), class_="options")
        if view.counted:
            yield tag("p", f"The number and the bar of each option show {view.counted}.", class_="soft small")
    if view.pairs is not None:
        yield from _pairs(view.pairs)


def _pairs(table: PairTable) -> Iterator[Html]:
    numbers = range(1, len(table.names) + 1)
    headers = (tag("th", "Option", scope="col"), *(_number_head(f"{number}") for number in numbers))
    rows = (
        tag(
            "tr",
            tag("th", f"{number}. {short_name(name, _NAME_CHARS)}", scope="row", dir="auto"),
            *(tag("td", cell, class_="number") for cell in cells),
        )
        for number, name, cells in zip(numbers, table.names, table.cells, strict=True)
    )
    yield tag("p", table.caption, class_="soft small")
    yield tag("table", tag("thead", tag("tr", *headers)), tag("tbody", *rows))


def _movement(view: ReportView) -> Iterator[Html]:
    flow = view.flow
    if flow is None:
        return
    hues = {label: number % HUES for number, (label, _) in enumerate(flow.camps)}
    headers = (tag("th", f"Round {number}", scope="col") for number in flow.rounds)
    rows = (
        tag(
            "tr",
            tag("th", name, scope="row", dir="auto"),
            *(
                tag("td", *_flow_cell(cell, hues, number, seat))
                for number, cell in zip(flow.rounds, cells, strict=True)
            ),
        )
        for name, seat, cells in flow.rows
    )
    total = tag("tr", tag("th", "Together", scope="row"), *(tag("td", words, class_="soft") for words in flow.holders))
    yield tag("p", f"{flow.note[:1].upper()}{flow.note[1:]}.", dir="auto")
    yield tag(
        "div",
        tag("table", tag("thead", tag("tr", tag("th", "Agent", scope="col"), *headers)), tag("tbody", *rows, total)),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label="Who held which answer in each round",
    )
    camps = (tag("li", _camp(label, hues[label]), " ", inline(name), dir="auto") for label, name in flow.camps)
    yield tag("ul", *camps, class_="camps")
    text = "Answers with different letters differ, or nobody compared them."
    yield tag("p", text, class_="soft small")


def _flow_cell(cell: FlowCell, hues: Mapping[str, int], number: int, seat: int) -> Iterator[Html]:
    if not cell.camp:
        yield tag("span", "no answer", class_="soft small")
        return
    share = percent(cell.confidence) or "answer"
    yield join((_camp(cell.camp, hues[cell.camp]), tag("a", share, href=f"#r{number}s{seat}")), " ")
    if cell.moved:
        yield tag("span", f" {cell.moved}", class_="moved small")


def _camp(label: str, hue: int) -> Html:
    return tag("span", label, class_=f"camp s{hue}")


def _option(option: OptionView) -> Html:
    name = tag("span", option.name, class_="chosen" if option.won else None, dir="auto")
    words = ", ".join(option.backers)
    if option.given_by:
        put_first = f"; first choice of {words}" if words else "; nobody's single first choice"
        words = f"put forward by {', '.join(option.given_by)}{put_first}"
    backers = tag("div", words, class_="soft small") if words else None
    score = tag("span", option.score, class_="score") if option.score else None
    drawn = bar(option.share, won=option.won) if option.score else None
    return tag("li", tag("div", name, score, class_="line"), drawn, backers)


def _trajectory(view: ReportView) -> Iterator[Html]:
    chart = trajectory(view)
    if chart is None:
        yield tag("p", "Nothing was measured.", class_="soft")
        return
    yield tag("figure", chart, _legend(view), class_="drawn")
    rows = (_row(round_view) for round_view in view.rounds)
    headers = (
        tag("th", "Round", scope="col"),
        *(_number_head(text) for text in ("Agreement", "Mean confidence", "Answers")),
    )
    yield tag("table", tag("thead", tag("tr", *headers)), tag("tbody", *rows))


def _legend(view: ReportView) -> Html:
    items = [tag("li", tag("i"), "Agreement"), tag("li", tag("i", class_="confidence"), "Mean confidence")]
    if view.independent is not None:
        items.append(tag("li", tag("i", class_="before"), "Agreement before anyone heard anyone"))
    items += [
        tag("li", tag("i", class_=f"agent s{seat % HUES}"), f"Confidence of {name}")
        for seat, name in enumerate(view.seats[:HUES])
    ]
    return tag("ul", *items, class_="legend")


def _number_head(text: str) -> Html:
    return tag("th", text, scope="col", class_="number")


def _row(round_view: RoundView) -> Html:
    asked = [speaker for speaker in round_view.speakers if not speaker.votes]
    answered = sum(speaker.error is None for speaker in asked)
    cells = (
        round_view.shown_level or "not measured",
        percent(mean_confidence(round_view)) or "none",
        f"{answered} of {len(asked)}",
    )
    columns = (tag("td", cell, class_="number") for cell in cells)
    return tag("tr", tag("th", f"{round_view.number}", scope="row"), *columns)


def _synthesis(view: ReportView) -> Iterator[Html]:
    if not view.synthesis:
        yield tag("p", "No synthesis was requested.", class_="soft")
    yield from _labelled_parts(view.synthesis)


def _goal(view: ReportView) -> Iterator[Html]:
    yield from _labelled_parts(view.goal)


def _labelled_parts(labelled: Parts) -> Iterator[Html]:
    for label, parts in labelled:
        if label:
            yield tag("h3", label)
        if len(parts) == 1:
            yield tag("div", *prose(parts[0]), dir="auto")
        else:
            yield tag("ul", *(tag("li", inline(part), dir="auto") for part in parts))


def _minority(view: ReportView) -> Iterator[Html]:
    if view.answer is None or not view.is_decided:
        yield tag("p", "There is no decision to differ from; see the rounds for all positions.", class_="soft")
    elif not view.minority:
        votes = any(speaker.votes for round_view in view.rounds[-1:] for speaker in round_view.speakers)
        text = "Nobody put another answer first in the vote." if votes else _NO_OTHER_VIEW
        yield tag("p", text, class_="soft")
    for speaker in view.minority:
        yield join(_speaker(speaker, won=False))


def _round(round_view: RoundView, view: ReportView) -> Iterator[str]:
    level = f" \u00b7 agreement {round_view.shown_level}" if round_view.shown_level else ""
    state = "" if round_view.complete else " \u00b7 not completed"
    title = tag("summary", f"Round {round_view.number}", tag("span", f"{level}{state}", class_="soft"))
    yield f'<details open="">{title.text}<div class="held">'
    if round_view.focus:
        yield tag("p", tag("strong", "Focus: "), round_view.focus, dir="auto").text
    if round_view.summary:
        yield tag("p", round_view.summary, class_="soft", dir="auto").text
    named: set[int] = set()
    for speaker in round_view.speakers:
        won = view.answer is not None and speaker.choice == view.answer
        # The last answer of a round counts, but agents answer once in most modes, and an id stands for one place.
        anchor = f"r{round_view.number}s{speaker.seat}" if speaker.seat not in named else None
        named.add(speaker.seat)
        yield join(_speaker(speaker, won=won, anchor=anchor)).text
    yield "</div></details>\n"


def _speaker(speaker: SpeakerView, *, won: bool, anchor: str | None = None) -> Iterator[Html]:
    header = [
        tag("span", initials(speaker.name), class_=f"seat s{speaker.seat % HUES}", aria_hidden="true"),
        tag("h3", speaker.name, dir="auto"),
    ]
    if speaker.role != "participant":
        header.append(tag("span", speaker.role, class_="chip"))
    if speaker.choice:
        choice = short_name(speaker.choice, _CHIP_CHARS)
        header.append(tag("span", choice, class_="chip won" if won else "chip", dir="auto"))
    if speaker.confidence is not None:
        header.append(tag("span", f"{percent(speaker.confidence)} confident", class_="soft small"))
    if speaker.error is not None:
        header.append(tag("span", "failed", class_="chip bad"))
    body: list[Html] = [tag("div", *header, class_="who")]
    if speaker.error is not None:
        body.append(tag("p", speaker.error, dir="auto"))
    else:
        body += _answer_body(speaker)
    yield tag("article", *body, id=anchor)


def _answer_body(speaker: SpeakerView) -> Iterator[Html]:
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
    cited_by = tag("div", f"cited by {', '.join(source.cited_by)}", class_="soft small") if source.cited_by else None
    quote = tag("blockquote", source.snippet, dir="auto") if source.snippet else None
    return tag("li", link(source.url, source.title or source.url), cited_by, quote)


def _cost(view: ReportView) -> Iterator[Html]:
    if view.cost:
        yield tag("p", view.cost)
    if not view.costs:
        return
    headers = (tag("th", "Agent", scope="col"), *(_number_head(text) for text in ("Turns", "Tokens", "Cost")))
    rows = (
        tag(
            "tr",
            tag("th", row.name, tag("div", row.model, class_="soft small") if row.model else None, scope="row"),
            *(tag("td", cell, class_="number") for cell in (row.turns, row.tokens, row.cost)),
        )
        for row in view.costs
    )
    yield tag("table", tag("thead", tag("tr", *headers)), tag("tbody", *rows))


def _session(view: ReportView) -> Iterator[Html]:
    pairs = (part for label, value in view.facts for part in (tag("dt", label), tag("dd", value, dir="auto")))
    yield tag("dl", *pairs, class_="about-debate")


_BODIES: Final[Mapping[str, Callable[[ReportView], Iterator[Html]]]] = {
    "answer": _answer,
    "goal": _goal,
    "decision": _decision,
    "movement": _movement,
    "trajectory": _trajectory,
    "synthesis": _synthesis,
    "minority": _minority,
    "sources": _sources,
    "cost": _cost,
    "session": _session,
}
