"""A report as one HTML page with a chart, without scripts, other files or network access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable._version import __version__
from roundtable.core.base.words import shortened
from roundtable.report.charts import bar, interval, mean_confidence, stack, trajectory
from roundtable.report.html_builder import Html, inline, join, link, prose, tag
from roundtable.report.html_claims import claim_parts
from roundtable.report.html_turns import camp_anchors, camp_mark, round_parts, speaker_parts
from roundtable.report.sanitize import plain, unmarked
from roundtable.report.style import POLICY, STYLE
from roundtable.report.view import answer_line, choice_prefix, heading, percent, short_name, trust_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from roundtable.report.view import (
        CampView,
        FlowCell,
        FlowView,
        OptionView,
        PairTable,
        Parts,
        ReportView,
        RoundView,
        SourceView,
        SpeakerView,
    )

__all__ = [
    "SECTIONS",
    "TEAM_SECTIONS",
    "page_parts",
    "section_parts",
    "to_fragment",
    "to_page",
]

SECTIONS: Final = {
    "answer": "Answer",
    "movement": "Who moved",
    "camps": "Who holds what, and why",
    "decision": "Decision",
    "synthesis": "Synthesis",
    "minority": "Minority report",
    "rounds": "Rounds",
    "trajectory": "Agreement and confidence",
    "claims": "Claims",
    "sources": "Citations",
    "cost": "Cost",
    "session": "About this debate",
}
"""Sections of a page in their order: id and heading."""
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
_NAME_CHARS: Final = 60
"""Maximum characters of a name in a table."""
_MAX_HEADLINE: Final = 140
"""Maximum characters of a text in the size of a headline."""
_POSITION_CHARS: Final = 90
"""Maximum characters of a position in the section with the answer: about a line. The rounds have the whole text."""
_FOLDED: Final = frozenset({"trajectory", "claims", "sources", "cost", "session"})
"""Sections that are folded at first, since few readers need them."""
_MAX_NAMED_ROUNDS: Final = 6
"""Maximum rounds for which the headings of columns have the word "Round"."""
_MAX_NOTE: Final = 200
"""Maximum characters of a sentence on who moved. A longer one is left out, since the table shows the same."""
_MARKS: Final = {"moved": "\u2192", "not compared": "?"}
"""Marks in the table, which compare an answer with the agent's previous one."""
_MAX_CAMPS: Final = 6
"""Maximum answers shown as columns."""


def to_fragment(view: ReportView) -> str:
    """Render a report as an HTML fragment without scripts, styles or images; links are only http, https and mailto."""
    rows = (tag("tr", tag("th", label), tag("td", value)) for label, value in view.facts)
    return tag(
        "div",
        tag("h3", view.title),
        *(tag("p", tag("strong", "Missing"), f" {line}") for line in view.missing),
        *(tag("p", tag("strong", "Failed turns"), f" {line}") for line in view.failed),
        tag("p", tag("strong", "Not read"), f" {view.unread}") if view.unread else None,
        tag("p", tag("strong", "Answer:"), " ", inline(answer_line(view))),
        *(tag("p", tag("strong", f"{label}:"), " ", inline(words)) for label, words in trust_lines(view)),
        tag("table", *rows),
        *(() if view.flow is None else _fragment_flow(view.flow)),
        *(() if view.pairs is None else _pairs(view.pairs)),
        *(tag("p", tag("strong", f"{label}:"), f" {'; '.join(parts)}") for label, parts in view.synthesis),
        *(_fragment_round(round_view) for round_view in view.rounds),
        class_="roundtable",
    ).text


def _fragment_flow(flow: FlowView) -> Iterator[Html]:
    headers = (tag("th", f"Round {number}") for number in flow.rounds)
    rows = (
        tag(
            "tr",
            tag("th", name),
            *(
                tag("td", " ".join(filter(None, (cell.camp or "no answer", percent(cell.confidence), cell.moved))))
                for cell in cells
            ),
        )
        for name, _, cells in flow.rows
    )
    yield tag("table", tag("tr", tag("th", "Who moved"), *headers), *rows)
    yield tag("ul", *(tag("li", f"{label}: {name}") for label, name in flow.camps))


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


def to_page(view: ReportView) -> str:
    """Render a report as one page."""
    return "".join(page_parts(view))


def page_parts(view: ReportView) -> Iterator[str]:
    """Render a report as one page, part by part, so that a long debate is never in memory as a whole."""
    yield f'<!doctype html>\n<html lang="en">\n{_head(view).text}\n<body>\n'
    yield _header(view).text + "\n<main>\n"
    yield from section_parts(view)
    credit = tag("p", f"Made by AI Roundtable {__version__}. {_DISCLAIMER}")
    yield f"\n</main>\n{tag('footer', credit).text}\n</body>\n</html>\n"


def section_parts(view: ReportView, *, without: Collection[str] = ()) -> Iterator[str]:
    """Render only the sections, part by part, for a page whose own head includes the style sheet.

    Args:
        view: The report to render.
        without: Ids of sections to leave out.
    """
    for name in _titles(view):
        if name in without:
            continue
        if name == "rounds":
            yield from _rounds(view)
        elif name in _FOLDED:
            yield _folded_section(name, view, *_BODIES[name](view)).text
        else:
            extra_class = " open" if name == "answer" and view.answer is None else ""
            yield _section(name, view, *_BODIES[name](view), extra_class=extra_class).text


def _titles(view: ReportView) -> Mapping[str, str]:
    """Return the sections with content, each with its title."""
    has_content = {
        "movement": view.flow is not None,
        "camps": len(view.camps) > 1,
        "synthesis": bool(view.synthesis),
        "minority": bool(view.minority),
        "trajectory": any(round_view.shown_level for round_view in view.rounds),
        "claims": view.arguments is not None,
        "sources": bool(view.sources),
        "cost": bool(view.costs or view.cost),
    }
    if view.goal:
        return {name: title for name, title in TEAM_SECTIONS.items() if has_content.get(name, True)}
    return {name: title for name, title in SECTIONS.items() if has_content.get(name, True)}


def _rounds(view: ReportView) -> Iterator[str]:
    yield '\n<section class="rounds" id="rounds" aria-labelledby="rounds-title">'
    yield tag("h2", SECTIONS["rounds"], id="rounds-title").text
    if not view.rounds:
        yield tag("p", "No round was begun.", class_="soft").text
    # A round that has just begun is empty.
    last = next((round_view for round_view in reversed(view.rounds) if round_view.speakers), None)
    for round_view in view.rounds:
        yield from round_parts(round_view, view, opened=round_view is last)
    yield "</section>\n"


def _head(view: ReportView) -> Html:
    title = plain(view.title)
    short = shortened(title, _MAX_HEADLINE)
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
    notes = [tag("p", f"This debate is {view.state}.")] if view.state else []
    notes += _failures("Missing", view.missing)
    notes += _failures("Failed turns", view.failed)
    notes += [tag("p", view.unread)] if view.unread else []
    return tag(
        "header",
        tag("p", "AI Roundtable", class_="brand"),
        tag("h1", view.title, class_="long" if len(view.title) > _MAX_HEADLINE else None, dir="auto"),
        tag("p", view.about, class_="about") if view.about else None,
        tag("div", *notes, class_="alert", role="note") if notes else None,
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )


def _failures(label: str, lines: Sequence[str]) -> Iterator[Html]:
    """Render failures in one line, so that the answer stays visible."""
    if len(lines) == 1:
        yield tag("p", f"{label}: {lines[0]}")
    elif lines:
        entries = (tag("li", line) for line in lines)
        yield tag("details", tag("summary", f"{label}: {len(lines)} agents"), tag("ul", *entries))


def _section(name: str, view: ReportView, *body: Html | None, extra_class: str = "") -> Html:
    title = tag("h2", _titles(view)[name], id=f"{name}-title")
    return tag("section", title, *body, class_=f"{name}{extra_class}", id=name, aria_labelledby=f"{name}-title")


def _folded_section(name: str, view: ReportView, *body: Html | None) -> Html:
    title = tag("h2", _titles(view)[name], id=f"{name}-title")
    summary = tag(
        "summary", title, tag("span", f" {note}", class_="soft small") if (note := _note(name, view)) else None
    )
    folded = tag("details", summary, *body)
    return tag("section", folded, class_=f"{name} folded", id=name, aria_labelledby=f"{name}-title")


def _note(name: str, view: ReportView) -> str:
    """Return the note beside the title of a folded section."""
    match name:
        case "claims":
            return "" if view.arguments is None else view.arguments.summary
        case "sources":
            return f"{len(view.sources)} {'page' if len(view.sources) == 1 else 'pages'}"
        case "cost":
            return view.cost
        case "session":
            return view.about
        case _:
            return "by round"


def _answer(view: ReportView) -> Iterator[Html]:
    if view.answer is not None:
        length = " long" if len(view.answer) > _MAX_HEADLINE else ""
        yield tag("p", inline(view.answer), class_=f"said{length}", dir="auto")
    else:
        yield tag("p", "No answer", class_="said")
        yield tag("p", inline(view.answer_reason or ""), dir="auto")
    if view.answer_note:
        yield tag("p", inline(view.answer_note), class_="soft", dir="auto")
    if view.advice is not None:
        words, reason = view.advice
        yield tag("p", tag("strong", f"{words}."), " ", inline(reason), class_="advice", dir="auto")
    if view.story:
        yield tag("p", inline(f"{view.story[:1].upper()}{view.story[1:]}."), class_="story", dir="auto")
    if view.figures:
        yield tag("dl", *(_figure(*figure) for figure in view.figures), class_="figures")
    rounds = [round_view for round_view in view.rounds if round_view.speakers] if view.answer is None else []
    if rounds:
        answered = [speaker for speaker in rounds[-1].speakers if speaker.error is None and not speaker.votes]
        ballots = [speaker for speaker in answered if speaker.is_ballot]
        positions = ballots or answered
        yield tag("p", f"{'Votes' if ballots else 'Positions'} in round {rounds[-1].number}:")
        yield tag("ul", *(tag("li", tag("strong", speaker.name), ": ", _position_of(speaker)) for speaker in positions))


def _position_of(speaker: SpeakerView) -> Html:
    position = speaker.position
    if len(plain(position)) > _POSITION_CHARS:
        position = short_name(unmarked(position), _POSITION_CHARS)
    return join((choice_prefix(speaker.choice, speaker.position), inline(position)))


def _figure(label: str, value: str, note: str) -> Html:
    return tag(
        "div", tag("dt", label), tag("dd", value, class_="value"), tag("dd", note, class_="note") if note else None
    )


def _decision(view: ReportView) -> Iterator[Html]:
    if view.swing:
        yield tag("p", tag("strong", "Swing: "), view.swing, dir="auto")
    yield tag("p", inline(_rule(view)), dir="auto")
    remarks = (
        _what_options_show(view),
        _no_minority(view),
    )
    if any(remarks):
        yield tag("p", " ".join(filter(None, remarks)), class_="soft small")
    if view.options:
        yield tag("ul", *(_option(option, decided=view.is_decided) for option in view.options), class_="options")
    if view.pairs is not None:
        yield from _pairs(view.pairs)


def _rule(view: ReportView) -> str:
    """Return the rule and its reason, without the reason if the answer already states it."""
    if not view.rule:
        return "No decision rule was applied."
    rule = view.rule.removesuffix(f": {view.answer_reason}")
    return view.rule if rule == view.rule else f"The rule {rule} found no answer."


def _pairs(table: PairTable) -> Iterator[Html]:
    numbers = range(1, len(table.names) + 1)
    headers = (tag("th", "Option", scope="col"), *(_number_head(f"{number}") for number in numbers))
    rows = (
        tag(
            "tr",
            tag("th", f"{number}. {short_name(unmarked(name), _NAME_CHARS)}", scope="row", dir="auto"),
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
    hues = {label: number for number, (label, _) in enumerate(flow.camps)}
    anchors = {round_view.number: camp_anchors(round_view) for round_view in view.rounds}
    word = "Round " if len(flow.rounds) <= _MAX_NAMED_ROUNDS else ""
    headers = (tag("th", f"{word}{number}", scope="col") for number in flow.rounds)
    rows = (
        tag(
            "tr",
            tag("th", name, scope="row", dir="auto"),
            *(
                tag("td", *_flow_cell(cell, hues, anchors.get(number, {}).get(seat)))
                for number, cell in zip(flow.rounds, cells, strict=True)
            ),
        )
        for name, seat, cells in flow.rows
    )
    if len(flow.note) <= _MAX_NOTE:
        yield tag("p", inline(f"{flow.note[:1].upper()}{flow.note[1:]}."), dir="auto")
    yield tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", tag("th", "Agent" if word else "Agent, round", scope="col"), *headers)),
            tag("tbody", *rows, _camps_row(flow), _agreement_row(flow, view)),
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label="Who held which answer in each round",
    )
    if len(view.camps) <= 1:
        camps = (tag("li", camp_mark(label, hues[label]), " ", inline(name), dir="auto") for label, name in flow.camps)
        yield tag("ul", *camps, class_="camp-list")
    marks = {cell.moved for _, _, cells in flow.rows for cell in cells}
    words = [f"{mark} {meaning}" for meaning, mark in _MARKS.items() if meaning in marks]
    text = "Answers with different letters differ, or nobody compared them."
    if any(cell.confidence is not None for _, _, cells in flow.rows for cell in cells):
        text += " The share is the agent's confidence."
    yield tag("p", " ".join((text, *(f"{word}." for word in words))), class_="soft small")


def _camps_row(flow: FlowView) -> Html:
    cells = (
        tag("td", stack(enumerate(counts)), tag("span", words, class_="soft small"))
        for counts, words in zip(flow.counts, flow.holders, strict=True)
    )
    return tag("tr", tag("th", "Together", scope="row"), *cells)


def _agreement_row(flow: FlowView, view: ReportView) -> Html:
    rounds = {round_view.number: round_view for round_view in view.rounds}
    return tag("tr", tag("th", "Agreement", scope="row"), *(_agreement_cell(rounds[number]) for number in flow.rounds))


def _agreement_cell(round_view: RoundView) -> Html:
    bounds = round_view.bounds or (
        None if round_view.agreement is None else (round_view.agreement, round_view.agreement)
    )
    drawn = None if bounds is None else interval(*bounds)
    words = round_view.shown_level or "not measured"
    if round_view.bounds is not None and round_view.bounds != (0, 1):
        words = f"{round_view.bounds[0]:.2f} to {round_view.bounds[1]:.2f}"
    return tag("td", drawn, tag("span", words, class_="soft small"))


def _flow_cell(cell: FlowCell, hues: Mapping[str, int], anchor: str | None) -> Iterator[Html]:
    if not cell.camp:
        yield tag("span", "no answer", class_="soft small")
        return
    if cell.moved:
        yield tag("span", _MARKS[cell.moved], class_="moved" if cell.moved == "moved" else "soft", aria_hidden="true")
        yield tag("span", f"{cell.moved} ", class_="unseen")
    share = percent(cell.confidence) or "answer"
    yield join((camp_mark(cell.camp, hues[cell.camp]), tag("a", share, href=f"#{anchor}") if anchor else share), " ")


def _camps(view: ReportView) -> Iterator[Html]:
    numbered = tuple(enumerate(view.camps))
    held_camps = [(number, camp) for number, camp in numbered if camp.holders]
    columns, others = (
        held_camps[:_MAX_CAMPS],
        [*held_camps[_MAX_CAMPS:], *(entry for entry in numbered if not entry[1].holders)],
    )
    yield tag("ul", *(tag("li", *_camp_column(camp, number)) for number, camp in columns), class_="columns")
    if others:
        entries = (
            tag("li", camp_mark(camp.label, number), " ", inline(camp.name), f", {_holders(camp)}", dir="auto")
            for number, camp in others
        )
        yield tag("ul", *entries, class_="camp-list")


def _camp_column(camp: CampView, number: int) -> Iterator[Html]:
    answer = tag("span", "the answer", class_="chip won") if camp.is_answer else None
    yield tag("h3", camp_mark(camp.label, number), " ", inline(camp.name), " ", answer, dir="auto")
    yield tag("p", _holders(camp), class_="soft small", dir="auto")
    if camp.points:
        yield tag("ul", *(tag("li", inline(point), dir="auto") for point in camp.points), class_="small")


def _holders(camp: CampView) -> str:
    return f"held by {', '.join(camp.holders)}" if camp.holders else "held by nobody in the end"


def _what_options_show(view: ReportView) -> str:
    if not view.options or not view.counted:
        return ""
    if any(option.share is None for option in view.options):
        return f"The number of each option shows {view.counted}."
    return f"The number of each option shows {view.counted}; its bar shows their share."


def _option(option: OptionView, *, decided: bool) -> Html:
    kind = ("won" if decided else "tied") if option.won else "part"
    name = tag("span", inline(option.name), class_=kind if option.won else None, dir="auto")
    words = ", ".join(option.backers)
    if option.given_by:
        put_first = f"; first choice of {words}" if words else "; nobody's single first choice"
        words = f"put forward by {', '.join(option.given_by)}{put_first}"
    backers = tag("span", words, class_="soft small backers") if words else None
    score = tag("span", option.score, class_="score") if option.score else None
    drawn = bar(option.share, kind=kind) if option.score and option.share is not None else None
    return tag("li", tag("div", name, backers, score, class_="line"), drawn)


def _trajectory(view: ReportView) -> Iterator[Html]:
    chart = trajectory(view)
    rows = (_row(round_view) for round_view in view.rounds)
    headers = (
        tag("th", "Round", scope="col"),
        *(_number_head(text) for text in ("Agreement", "Mean confidence", "Answers")),
    )
    table = tag("table", tag("thead", tag("tr", *headers)), tag("tbody", *rows))
    figure = None if chart is None else tag("figure", chart, _legend(view), class_="drawn")
    yield from filter(None, (figure, table))


def _legend(view: ReportView) -> Html:
    items = [tag("li", tag("i"), "Agreement")]
    if any(mean_confidence(round_view) is not None for round_view in view.rounds):
        items.append(tag("li", tag("i", class_="confidence"), "Mean confidence"))
    if view.independent is not None:
        items.append(tag("li", tag("i", class_="before"), "Agreement before the debate"))
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
    for speaker in view.minority:
        yield join(speaker_parts(speaker, won=False))


def _no_minority(view: ReportView) -> str:
    """Return a sentence if nobody differs from the decision, or if there is no decision; else an empty text."""
    if view.answer is None or not view.is_decided:
        return "There is no decision to differ from; see the rounds for all positions."
    if view.minority:
        return ""
    votes = any(speaker.votes for round_view in view.rounds[-1:] for speaker in round_view.speakers)
    return "Nobody put another answer first in the vote." if votes else _NO_OTHER_VIEW


def _sources(view: ReportView) -> Iterator[Html]:
    yield tag("ol", *map(_source, view.sources), class_="cited")


def _source(source: SourceView) -> Html:
    cited_by = tag("div", f"cited by {', '.join(source.cited_by)}", class_="soft small") if source.cited_by else None
    quote = tag("blockquote", source.snippet, dir="auto") if source.snippet else None
    return tag("li", link(source.url, source.title or source.url), cited_by, quote)


def _claims(view: ReportView) -> Iterator[Html]:
    if view.arguments is not None:
        yield from claim_parts(view.arguments)


def _cost(view: ReportView) -> Iterator[Html]:
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
    pairs = (part for label, value in view.facts for part in (tag("dt", label), tag("dd", inline(value), dir="auto")))
    yield tag("dl", *pairs, class_="about-debate")


_BODIES: Final[Mapping[str, Callable[[ReportView], Iterator[Html]]]] = {
    "answer": _answer,
    "goal": _goal,
    "movement": _movement,
    "camps": _camps,
    "decision": _decision,
    "trajectory": _trajectory,
    "synthesis": _synthesis,
    "minority": _minority,
    "claims": _claims,
    "sources": _sources,
    "cost": _cost,
    "session": _session,
}
