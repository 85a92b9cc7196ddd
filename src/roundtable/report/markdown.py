"""A report as Markdown without raw HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roundtable.report.sanitize import plain, safe_url
from roundtable.report.view import answer_line, choice_prefix, heading, percent, short_name, trust_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.report.view import ClaimView, FlowCell, ReportView, RoundView, SpeakerView

__all__ = ["markdown_parts", "to_markdown"]

_NAME_CHARS = 60
"""Maximum characters of a name in a table."""

_INLINE = re.compile(
    r"""
    (?=[`\[\]~@\\*_<&:.#])(?:             # skip all other characters at once
    [`\[\]~@]                             # code, links, struck out text, addresses and names of people
    | \\(?=[!-/:-@\[-`{-~]|$)             # a backslash that would escape something, or break the line
    | (?<![ *])\*++ | \*++(?![ ])         # stars, unless between two blanks
    | (?<!\w)_++ | _++(?!\w)              # low lines, unless within a word
    | <(?=[A-Za-z/!?])                    # tags, and addresses in angle brackets
    | &(?=\#?[A-Za-z0-9]+;)               # references to characters
    | (?<=mailto):|(?<=xmpp):|:(?=//)|(?<=www)\.   # what would become a link unasked
    | :(?=[A-Za-z0-9_+-]+:)               # pictures by name
    | \#+$                                # the end of a heading
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Characters that can be Markdown syntax anywhere in a line."""
_OPENING = re.compile(r"#(?=#{0,5}(?: |$))|>|[-+*](?=[-+* ]|$)|(?<=\d)[.)](?= |$)")
"""Characters that can be Markdown syntax at the start of a block."""
_NUMBER = re.compile(r"[0-9]{1,9}(?=[.)](?: |$))")


def _escape_text(text: str, *, opens: bool = False) -> str:
    """Escape only characters that Markdown would interpret, so that the source stays readable.

    Args:
        text: The text.
        opens: Whether the text begins a block, so that its first characters could make it a list or a heading.
    """
    clean = plain(text)
    number = _NUMBER.match(clean) if opens else None
    start = number.end() if number else 0
    if not opens or not _OPENING.match(clean, start):
        return _INLINE.sub(_escape, clean)
    return f"{clean[:start]}\\{clean[start]}{_INLINE.sub(_escape, clean[start + 1 :])}"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\{letter}" for letter in match.group())


def to_markdown(view: ReportView) -> str:
    """Render a report as Markdown without raw HTML."""
    return "".join(markdown_parts(view))


def markdown_parts(view: ReportView) -> Iterator[str]:
    """Render a report as Markdown, part by part, so that a long debate is never in memory as a whole."""
    lines = [f"# {_escape_text(view.title)}", ""]
    lines += [f"> **Missing** {_escape_text(line)}" for line in view.missing]
    lines += [f"> **Failed turns** {_escape_text(line)}" for line in view.failed]
    lines += [f"> **Not read** {_escape_text(view.unread)}"] if view.unread else []
    lines += ["", f"**Answer:** {_escape_text(answer_line(view))}", ""]
    lines += [line for label, text in trust_lines(view) for line in (f"**{label}:** {_escape_text(text)}", "")]
    lines += [f"- **{_escape_text(label)}:** {_escape_text(value)}" for label, value in view.facts]
    yield "\n".join(lines) + "\n"
    yield from _pairs_markdown(view)
    yield from _flow_markdown(view)
    yield from _synthesis_markdown(view)
    for round_view in view.rounds:
        yield from _round_markdown(round_view)
    yield from _minority_markdown(view)
    yield from _claims_markdown(view)
    yield from _sources_markdown(view)
    yield from _cost_markdown(view)


def _pairs_markdown(view: ReportView) -> Iterator[str]:
    table = view.pairs
    if table is None:
        return
    numbers = range(1, len(table.names) + 1)
    lines = [_table_row("", map(str, numbers)), _table_row("---", ("---:" for _ in numbers))]
    for number, name, cells in zip(numbers, table.names, table.cells, strict=True):
        lines.append(_table_row(f"{number}. {_escape_text(short_name(name, _NAME_CHARS))}", cells))
    yield "\n".join([f"\n{_escape_text(table.caption)}\n", *lines]) + "\n"


def _flow_markdown(view: ReportView) -> Iterator[str]:
    flow = view.flow
    if flow is None:
        return
    lines = [
        _table_row("", (f"Round {number}" for number in flow.rounds)),
        _table_row("---", ("---" for _ in flow.rounds)),
    ]
    for name, _, cells in flow.rows:
        lines.append(_table_row(_escape_text(short_name(name, _NAME_CHARS)), map(_flow_cell, cells)))
    camps = [f"- {label}: {_escape_text(name)}" for label, name in flow.camps]
    yield "\n".join(["\n## Who moved\n", *lines, "", *camps]) + "\n"


def _flow_cell(cell: FlowCell) -> str:
    parts = (cell.camp or "no answer", percent(cell.confidence), f"({cell.moved})" if cell.moved else "")
    return " ".join(filter(None, parts))


def _table_row(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in (first, *cells))} |"


def _round_markdown(round_view: RoundView) -> Iterator[str]:
    yield f"\n## {_escape_text(heading(round_view))}\n"
    if round_view.summary:
        yield f"\n{_escape_text(round_view.summary, opens=True)}\n"
    for speaker in round_view.speakers:
        role = "" if speaker.role == "participant" else f" ({speaker.role})"
        title = f"### {_escape_text(f'{speaker.name}{role}')}"
        yield "\n".join(["", title, "", *_speaker_markdown(speaker)]) + "\n"


def _synthesis_markdown(view: ReportView) -> Iterator[str]:
    if not view.synthesis:
        return
    yield "\n## Synthesis\n"
    for label, parts in view.synthesis:
        yield f"\n### {label}\n"
        for part in parts:
            lead = "- " if len(parts) > 1 else ""
            yield f"\n{lead}{_escape_text(part, opens=True)}\n"


def _minority_markdown(view: ReportView) -> Iterator[str]:
    if not view.minority:
        return
    yield "\n## Minority report\n"
    for speaker in view.minority:
        position = f"{choice_prefix(speaker.choice, speaker.position)}{speaker.position}"
        yield f"\n- **{_escape_text(speaker.name)}:** {_escape_text(position)}\n"


def _claims_markdown(view: ReportView) -> Iterator[str]:
    if view.arguments is None:
        return
    yield "\n## Claims\n\n"
    yield "".join(f"- **{_escape_text(label)}:** {_escape_text(text)}\n" for label, text in view.arguments.lines)
    for claim in view.arguments.claims:
        yield "\n" + "\n".join(_claim_markdown(claim)) + "\n"


def _claim_markdown(claim: ClaimView) -> Iterator[str]:
    notes = f" ({_escape_text('; '.join(claim.notes))})" if claim.notes else ""
    yield f"- {_escape_text(claim.label)}, **{_escape_text(claim.name)}:** {_escape_text(claim.text)}{notes}"
    for word, labels in (("supports", claim.supports), ("attacks", claim.attacks)):
        if labels:
            yield f"    - {word} {_escape_text(', '.join(labels))}"
    for source in claim.evidence:
        quote = f" \u201c{_escape_text(source.quote)}\u201d" if source.quote else ""
        check = f", {_escape_text(source.check)}" if source.check else ""
        yield f"    {_source_line(source.title, source.url)}{quote}{check}"


def _sources_markdown(view: ReportView) -> Iterator[str]:
    if not view.sources:
        return
    yield "\n## Sources\n"
    for source in view.sources:
        quote = f" \u201c{_escape_text(source.snippet)}\u201d" if plain(source.snippet) else ""
        yield f"\n{_source_line(source.title, source.url)} ({_escape_text(', '.join(source.cited_by))}){quote}\n"


def _cost_markdown(view: ReportView) -> Iterator[str]:
    if not view.costs:
        return
    yield "\n## Cost\n"
    for row in view.costs:
        name = f"{row.name} ({row.model})" if row.model else row.name
        yield f"\n- **{_escape_text(name)}:** {_escape_text(f'{row.turns}, {row.tokens}, {row.cost}')}\n"


def _speaker_markdown(speaker: SpeakerView) -> list[str]:
    if speaker.error is not None:
        return [f"*Failed:* {_escape_text(speaker.error)}"]
    lines = [f"**{_escape_text(speaker.position)}**"] if plain(speaker.position) else []
    lines += [f"Answer: {_escape_text(speaker.choice)}"] if speaker.choice else []
    lines += [f"Confidence: {percent(speaker.confidence)}"] if speaker.confidence is not None else []
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    lines += [_escape_text(paragraph, opens=True) for paragraph in paragraphs if paragraph.strip()]
    lines += [_source_line(title, url) for title, url in speaker.sources]
    lines += [f"Tools used: {_escape_text(', '.join(speaker.tools))}"] if speaker.tools else []
    lines += [f"*{_escape_text(note)}*" for note in speaker.notes]
    return [line for pair in zip(lines, [""] * len(lines), strict=True) for line in pair][:-1]


def _source_line(title: str, url: str) -> str:
    target = safe_url(url)
    name = _escape_text(title or url, opens=target is None)
    return f"- [{name}](<{_url_in_markdown(target)}>)" if target else f"- {name} (unsafe link left out)"


def _url_in_markdown(url: str) -> str:
    return url.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
