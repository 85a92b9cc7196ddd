"""A report as Markdown without raw HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roundtable.report.inert import plain, safe_url
from roundtable.report.words import answer_line, heading, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.report.view import ReportView, RoundView, SpeakerView

__all__ = ["markdown_parts", "to_markdown"]

_INLINE = re.compile(
    r"""
    [`\[\]~@]                             # code, links, struck out text, addresses and names of people
    | \\(?=[!-/:-@\[-`{-~]|$)             # a backslash that would escape something, or break the line
    | (?<![ *])\*++ | \*++(?![ ])         # stars, unless between two blanks
    | (?<!\w)_++ | _++(?!\w)              # low lines, unless within a word
    | <(?=[A-Za-z/!?])                    # tags, and addresses in angle brackets
    | &(?=\#?[A-Za-z0-9]+;)               # references to characters
    | (?<=mailto):|(?<=xmpp):|:(?=//)|(?<=www)\.   # what would become a link unasked
    | :(?=[A-Za-z0-9_+-]+:)               # pictures by name
    | \#+$                                # the end of a heading
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What may mean something anywhere in a line."""
_OPENING = re.compile(r"#(?=#{0,5}(?: |$))|>|[-+*](?=[-+* ]|$)|(?<=\d)[.)](?= |$)")
"""What may mean something where a block begins."""
_NUMBER = re.compile(r"[0-9]{1,9}(?=[.)](?: |$))")


def _markdown(text: str, *, opens: bool = False) -> str:
    """Escape what would not be shown as it stands, and nothing else, so that the source stays readable.

    Args:
        text: The text.
        opens: Whether it stands where a block begins, so that its first letters could make it a list or a title.
    """
    clean = plain(text)
    number = _NUMBER.match(clean) if opens else None
    start = number.end() if number else 0
    if not opens or not _OPENING.match(clean, start):
        return _INLINE.sub(_escaped, clean)
    return f"{clean[:start]}\\{clean[start]}{_INLINE.sub(_escaped, clean[start + 1 :])}"


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\{letter}" for letter in found.group())


def to_markdown(view: ReportView) -> str:
    """Render as Markdown without raw HTML."""
    return "".join(markdown_parts(view))


def markdown_parts(view: ReportView) -> Iterator[str]:
    """Render as Markdown, part by part; a long debate is never held whole."""
    out = [f"# {_markdown(view.title)}", ""]
    out += [f"> **Missing** {_markdown(line)}" for line in view.missing]
    out += ["", f"**Answer:** {_markdown(answer_line(view))}", ""]
    out += [f"- **{_markdown(label)}:** {_markdown(value)}" for label, value in view.facts]
    yield "\n".join(out) + "\n"
    yield from _synthesis_markdown(view)
    for held in view.rounds:
        yield from _round_markdown(held)
    yield from _minority_markdown(view)
    yield from _sources_markdown(view)
    yield from _cost_markdown(view)


def _round_markdown(held: RoundView) -> Iterator[str]:
    yield f"\n## {_markdown(heading(held))}\n"
    if held.summary:
        yield f"\n{_markdown(held.summary, opens=True)}\n"
    for speaker in held.speakers:
        yield "\n".join(["", f"### {_markdown(speaker.name)}", "", *_speaker_markdown(speaker)]) + "\n"


def _synthesis_markdown(view: ReportView) -> Iterator[str]:
    if not view.synthesis:
        return
    yield "\n## Synthesis\n"
    for label, parts in view.synthesis:
        yield f"\n### {label}\n"
        for part in parts:
            lead = "- " if len(parts) > 1 else ""
            yield f"\n{lead}{_markdown(part, opens=True)}\n"


def _minority_markdown(view: ReportView) -> Iterator[str]:
    if not view.minority:
        return
    yield "\n## Minority report\n"
    for speaker in view.minority:
        held = speaker.choice or speaker.position
        yield f"\n- **{_markdown(speaker.name)}:** {_markdown(held)}\n"


def _sources_markdown(view: ReportView) -> Iterator[str]:
    if not view.sources:
        return
    yield "\n## Sources\n"
    for source in view.sources:
        quoted = f" \u201c{_markdown(source.snippet)}\u201d" if plain(source.snippet) else ""
        yield f"\n{_source_line(source.title, source.url)} ({_markdown(', '.join(source.cited_by))}){quoted}\n"


def _cost_markdown(view: ReportView) -> Iterator[str]:
    if not view.costs:
        return
    yield "\n## Cost\n"
    for row in view.costs:
        who = f"{row.name} ({row.model})" if row.model else row.name
        yield f"\n- **{_markdown(who)}:** {_markdown(f'{row.turns}, {row.tokens}, {row.cost}')}\n"


def _speaker_markdown(speaker: SpeakerView) -> list[str]:
    if speaker.error is not None:
        return [f"*Failed:* {_markdown(speaker.error)}"]
    lines = [f"**{_markdown(speaker.position)}**"] if plain(speaker.position) else []
    lines += [f"Choice: {_markdown(speaker.choice)}"] if speaker.choice else []
    lines += [f"Confidence: {percent(speaker.confidence)}"] if speaker.confidence is not None else []
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    lines += [_markdown(paragraph, opens=True) for paragraph in paragraphs if paragraph.strip()]
    lines += [_source_line(title, url) for title, url in speaker.sources]
    lines += [f"Tools used: {_markdown(', '.join(speaker.tools))}"] if speaker.tools else []
    lines += [f"*{_markdown(note)}*" for note in speaker.notes]
    return [line for pair in zip(lines, [""] * len(lines), strict=True) for line in pair][:-1]


def _source_line(title: str, url: str) -> str:
    target = safe_url(url)
    name = _markdown(title or url, opens=target is None)
    return f"- [{name}](<{_url_in_markdown(target)}>)" if target else f"- {name} (unsafe link left out)"


def _url_in_markdown(url: str) -> str:
    return url.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
