"""A report as plain lines, for terminals and logs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from roundtable.report.inert import plain
from roundtable.report.words import answer_line, heading, percent

if TYPE_CHECKING:
    from roundtable.report.view import ReportView, SpeakerView

__all__ = ["to_text"]

_WIDTH = 100


def to_text(view: ReportView, *, rounds: bool = True) -> str:
    """Render as plain lines of at most 100 characters; only addresses may be longer.

    Args:
        view: What to render.
        rounds: Whether to show who said what, beside what it came to.
    """
    out = [*_wrapped(view.title), ""]
    out += [line for missing in view.missing for line in _wrapped(f"! {missing}", hang=2)]
    for held in view.rounds if rounds else ():
        out.append(heading(held))
        for speaker in held.speakers:
            out += _speaker_text(speaker)
        out += _wrapped(held.summary, indent=2) if held.summary else []
        out.append("")
    out += _wrapped(f"Answer: {answer_line(view)}", hang=2)
    for label, parts in view.synthesis:
        out += _wrapped(f"{label}: {'; '.join(parts)}", hang=2)
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
    sure = f" ({percent(speaker.confidence)})" if speaker.confidence is not None else ""
    lines = _wrapped(f"{who}{sure}:{chosen} {speaker.position}", indent=2, hang=2)
    for paragraph in plain(speaker.reasoning, lines=True).splitlines():
        lines += _wrapped(paragraph, indent=4)
    lines += [f"    source: {plain(title)} {plain(url)}" for title, url in speaker.sources]
    for note in speaker.notes:
        lines += _wrapped(f"note: {note}", indent=4, hang=2)
    return lines
