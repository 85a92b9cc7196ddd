"""The three renderings."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from roundtable.report.view import ReportView, RoundView, SpeakerView

__all__ = ["to_html", "to_markdown", "to_text"]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:@])")
_SAFE_SCHEMES = {"http", "https", "mailto"}


def plain(text: str, *, lines: bool = False) -> str:
    """Drop control, format and surrogate characters; fold line breaks unless `lines` are kept."""
    text = re.sub("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    kept = (
        char
        for char in text
        if char == "\n" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} or char == "\u200d"
    )
    clean = "".join(" " if char == "\t" else char for char in kept)
    return clean if lines else " ".join(clean.split())


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", plain(text))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def safe_url(url: str) -> str | None:
    """Give the URL if its scheme is http, https or mailto once controls are stripped; else `None`."""
    bare = "".join(char for char in url if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
    try:
        return bare if urlsplit(bare).scheme.lower() in _SAFE_SCHEMES else None
    except ValueError:
        return None


def _answer_line(view: ReportView) -> str:
    return view.answer if view.answer is not None else f"none: {view.answer_reason}"


def _heading(held: RoundView) -> str:
    state = "" if held.complete else " (not completed)"
    level = "" if held.agreement is None else f", agreement {held.agreement:.2f}"
    return f"Round {held.number}{state}{level}"


def to_text(view: ReportView) -> str:
    """Render as plain lines of at most 100 characters."""
    out = [plain(view.title), ""]
    out += [f"! {plain(line)}" for line in view.missing]
    for held in view.rounds:
        out += [_heading(held)]
        for speaker in held.speakers:
            out += _speaker_text(speaker)
        out += [f"  {plain(held.summary)}"] if held.summary else []
        out.append("")
    out.append(f"Answer: {plain(_answer_line(view))}")
    out += [f"{label}: {plain(value)}" for label, value in view.facts]
    return "\n".join(out) + "\n"


def _speaker_text(speaker: SpeakerView) -> list[str]:
    role = "" if speaker.role == "participant" else f" ({speaker.role})"
    who = f"  {plain(speaker.name)}{role}"
    if speaker.error is not None:
        return [f"{who} FAILED: {plain(speaker.error)}"]
    chosen = f" [{plain(speaker.choice)}]" if speaker.choice else ""
    sure = f" ({_percent(speaker.confidence)})" if speaker.confidence is not None else ""
    lines = [f"{who}{sure}:{chosen} {plain(speaker.position)}"]
    for paragraph in plain(speaker.reasoning, lines=True).splitlines():
        lines += textwrap.wrap(paragraph, 96, initial_indent="    ", subsequent_indent="    ")
    lines += [f"    source: {plain(title)} {plain(url)}" for title, url in speaker.sources]
    lines += [f"    note: {plain(note)}" for note in speaker.notes]
    return lines


def to_markdown(view: ReportView) -> str:
    """Render as Markdown without raw HTML."""
    out = [f"# {_markdown(view.title)}", ""]
    out += [f"> **Missing** {_markdown(line)}" for line in view.missing]
    out += ["", f"**Answer:** {_markdown(_answer_line(view))}", ""]
    out += [f"- **{_markdown(label)}:** {_markdown(value)}" for label, value in view.facts]
    for held in view.rounds:
        out += ["", f"## {_markdown(_heading(held))}"]
        if held.summary:
            out += ["", _markdown(held.summary)]
        for speaker in held.speakers:
            out += ["", f"### {_markdown(speaker.name)}", "", *_speaker_markdown(speaker)]
    return "\n".join(out) + "\n"


def _speaker_markdown(speaker: SpeakerView) -> list[str]:
    if speaker.error is not None:
        return [f"*Failed:* {_markdown(speaker.error)}"]
    lines = [f"**{_markdown(speaker.position)}**"]
    lines += [f"Choice: {_markdown(speaker.choice)}"] if speaker.choice else []
    lines += [f"Confidence: {_percent(speaker.confidence)}"] if speaker.confidence is not None else []
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    lines += [_markdown(paragraph) for paragraph in paragraphs if paragraph.strip()]
    for title, url in speaker.sources:
        target = safe_url(url)
        name = _markdown(title or url)
        lines.append(f"- [{name}](<{_url_in_markdown(target)}>)" if target else f"- {name} \\(unsafe link left out\\)")
    lines += [f"*{_markdown(note)}*" for note in speaker.notes]
    return [line for pair in zip(lines, [""] * len(lines), strict=True) for line in pair][:-1]


def _url_in_markdown(url: str) -> str:
    return url.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")


def _html(text: str) -> str:
    return html.escape(plain(text), quote=True)


def to_html(view: ReportView) -> str:
    """Render as an HTML fragment: no script, no style sheet, no image, links to http, https and mailto only."""
    rows = "".join(f"<tr><th>{_html(label)}</th><td>{_html(value)}</td></tr>" for label, value in view.facts)
    missing = "".join(f"<p><strong>Missing</strong> {_html(line)}</p>" for line in view.missing)
    body = "".join(_round_html(held) for held in view.rounds)
    return (
        f'<div class="roundtable"><h3>{_html(view.title)}</h3>{missing}'
        f"<p><strong>Answer:</strong> {_html(_answer_line(view))}</p><table>{rows}</table>{body}</div>"
    )


def _round_html(held: RoundView) -> str:
    speakers = "".join(_speaker_html(speaker) for speaker in held.speakers)
    return (
        f"<details open><summary>{_html(_heading(held))}</summary>"
        f"<p>{_html(held.summary)}</p><ul>{speakers}</ul></details>"
    )


def _speaker_html(speaker: SpeakerView) -> str:
    name = f"<strong>{_html(speaker.name)}</strong>"
    if speaker.error is not None:
        return f"<li>{name} <em>failed:</em> {_html(speaker.error)}</li>"
    sure = f" ({_percent(speaker.confidence)})" if speaker.confidence is not None else ""
    chosen = f" [{_html(speaker.choice)}]" if speaker.choice else ""
    reasons = "<br>".join(_html(part) for part in plain(speaker.reasoning, lines=True).splitlines() if part.strip())
    sources = "".join(f"<li>{_link_html(title, url)}</li>" for title, url in speaker.sources)
    notes = "".join(f"<p><em>{_html(note)}</em></p>" for note in speaker.notes)
    listed = f"<ul>{sources}</ul>" if sources else ""
    return f"<li>{name}{sure}:{chosen} {_html(speaker.position)}<p>{reasons}</p>{listed}{notes}</li>"


def _link_html(title: str, url: str) -> str:
    target = safe_url(url)
    if target is None:
        return f"{_html(title or url)} (unsafe link left out)"
    return f'<a href="{_html(target)}" rel="noopener noreferrer">{_html(title or url)}</a>'
