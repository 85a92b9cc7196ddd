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
_SAFE_SCHEMES = {"http", "https", "mailto"}
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = {"Cc", "Cf", "Cs"}
# Line breaks and tabs are seen to; the joiners belong to the spelling of Persian, Indic scripts and emoji.
_SPELT = "\n\t\u200c\u200d"
_WIDTH = 100


def plain(text: str, *, lines: bool = False) -> str:
    """Drop control, format and surrogate characters; fold line breaks unless `lines` are kept."""
    text = _LINE_BREAKS.sub("\n", text)
    kept = (char for char in text if char in _SPELT or unicodedata.category(char) not in _HIDDEN)
    clean = "".join(" " if char == "\t" else char for char in kept)
    return clean if lines else " ".join(clean.split())


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


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def safe_url(url: str) -> str | None:
    """Give the URL if its scheme is http, https or mailto once controls are stripped; else `None`."""
    bare = "".join(char for char in url if unicodedata.category(char) not in _HIDDEN)
    bare = re.sub(r"\s", "%20", bare.strip())
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
    """Render as plain lines of at most 100 characters; only addresses may be longer."""
    out = [*_wrapped(view.title), ""]
    out += [line for missing in view.missing for line in _wrapped(f"! {missing}", hang=2)]
    for held in view.rounds:
        out.append(_heading(held))
        for speaker in held.speakers:
            out += _speaker_text(speaker)
        out += _wrapped(held.summary, indent=2) if held.summary else []
        out.append("")
    out += _wrapped(f"Answer: {_answer_line(view)}", hang=2)
    for label, value in view.facts:
        out += _wrapped(f"{label}: {value}", hang=2)
    return "\n".join(out) + "\n"


def _wrapped(text: str, *, indent: int = 0, hang: int = 0) -> list[str]:
    before = " " * indent
    return textwrap.wrap(plain(text), _WIDTH, initial_indent=before, subsequent_indent=before + " " * hang)


def _speaker_text(speaker: SpeakerView) -> list[str]:
    role = "" if speaker.role == "participant" else f" ({speaker.role})"
    who = f"{speaker.name}{role}"
    if speaker.error is not None:
        return _wrapped(f"{who} FAILED: {speaker.error}", indent=2, hang=2)
    chosen = f" [{speaker.choice}]" if speaker.choice else ""
    sure = f" ({_percent(speaker.confidence)})" if speaker.confidence is not None else ""
    lines = _wrapped(f"{who}{sure}:{chosen} {speaker.position}", indent=2, hang=2)
    for paragraph in plain(speaker.reasoning, lines=True).splitlines():
        lines += _wrapped(paragraph, indent=4)
    lines += [f"    source: {plain(title)} {plain(url)}" for title, url in speaker.sources]
    for note in speaker.notes:
        lines += _wrapped(f"note: {note}", indent=4, hang=2)
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
            out += ["", _markdown(held.summary, opens=True)]
        for speaker in held.speakers:
            out += ["", f"### {_markdown(speaker.name)}", "", *_speaker_markdown(speaker)]
    return "\n".join(out) + "\n"


def _speaker_markdown(speaker: SpeakerView) -> list[str]:
    if speaker.error is not None:
        return [f"*Failed:* {_markdown(speaker.error)}"]
    lines = [f"**{_markdown(speaker.position)}**"] if plain(speaker.position) else []
    lines += [f"Choice: {_markdown(speaker.choice)}"] if speaker.choice else []
    lines += [f"Confidence: {_percent(speaker.confidence)}"] if speaker.confidence is not None else []
    paragraphs = plain(speaker.reasoning, lines=True).splitlines()
    lines += [_markdown(paragraph, opens=True) for paragraph in paragraphs if paragraph.strip()]
    for title, url in speaker.sources:
        target = safe_url(url)
        name = _markdown(title or url, opens=target is None)
        lines.append(f"- [{name}](<{_url_in_markdown(target)}>)" if target else f"- {name} (unsafe link left out)")
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
