"""Reports of limited size for notebooks, which store the output of their cells in their file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.report.view import ArgumentsView, ClaimView, FlowView, Parts, ReportView, RoundView, SpeakerView

__all__ = ["MOST_BYTES", "render_within"]

MOST_BYTES: Final = 20_000
"""Maximum bytes of a result's output in a cell, for each format."""

_MOST_FACTS: Final = 12
_MOST_LABELS: Final = 3
_CUT: Final = ("Shortened", "to_html() has everything, and print(result.to_text()) shows it as text.")


@dataclass(frozen=True, slots=True)
class _Limits:
    chars: int
    """Maximum characters of a text."""
    reasons: int
    """Maximum characters of the reasons of an answer; with 0, reasons are left out."""
    rounds: int
    """Maximum rounds; the last ones are shown."""
    rows: int
    """Maximum rows of a table, or entries of a list."""


_LEVELS: Final = (
    _Limits(chars=1_000, reasons=400, rounds=10, rows=50),
    _Limits(chars=500, reasons=160, rounds=4, rows=30),
    _Limits(chars=300, reasons=0, rounds=2, rows=20),
    _Limits(chars=200, reasons=0, rounds=1, rows=12),
    _Limits(chars=120, reasons=0, rounds=0, rows=8),
    _Limits(chars=60, reasons=0, rounds=0, rows=3),
)


def render_within(view: ReportView, render: Callable[[ReportView], str], *, most: int = MOST_BYTES) -> str:
    """Render the whole view if it is short enough, else as much of it as fits, with a note that it is shortened.

    First, reasons are shortened and earlier rounds are left out; then everything else is shortened.

    Args:
        view: The view to render.
        render: Function that renders a view.
        most: Maximum bytes of the text, in UTF-8.
    """
    text = render(view)
    for limits in _LEVELS:
        if len(text.encode()) <= most:
            break
        text = render(_shortened(view, limits))
    return text


def _shortened(view: ReportView, limits: _Limits) -> ReportView:
    def cut(text: str) -> str:
        return _cut(text, limits.chars)

    rounds = view.rounds[-limits.rounds :] if limits.rounds else ()
    facts = tuple((cut(label), cut(value)) for label, value in view.facts[:_MOST_FACTS])
    left_out = len(view.rounds) - len(rounds)
    note = f"{left_out} of {len(view.rounds)} rounds are left out. {_CUT[1]}" if left_out else _CUT[1]
    return replace(
        view,
        title=cut(view.title),
        facts=(*facts, (_CUT[0], note)),
        answer=None if view.answer is None else cut(view.answer),
        answer_reason=None if view.answer_reason is None else cut(view.answer_reason),
        answer_note=cut(view.answer_note),
        advice=None if view.advice is None else (cut(view.advice[0]), cut(view.advice[1])),
        story=cut(view.story),
        rule=cut(view.rule),
        missing=tuple(map(cut, view.missing[: limits.rows])),
        failed=tuple(map(cut, view.failed[: limits.rows])),
        unread=cut(view.unread),
        options=tuple(replace(option, name=cut(option.name)) for option in view.options[: limits.rows]),
        camps=(),
        flow=None if view.flow is None else _shortened_flow(view.flow, limits),
        pairs=None if view.pairs is None else replace(view.pairs, names=tuple(map(cut, view.pairs.names))),
        synthesis=_shortened_parts(view.synthesis, limits),
        goal=_shortened_parts(view.goal, limits),
        minority=tuple(_shortened_speaker(speaker, limits) for speaker in view.minority[: limits.rows]),
        arguments=None if view.arguments is None else _shortened_arguments(view.arguments, limits),
        sources=(),
        costs=(),
        rounds=tuple(_shortened_round(round_view, limits) for round_view in rounds),
    )


def _shortened_round(round_view: RoundView, limits: _Limits) -> RoundView:
    speakers = tuple(_shortened_speaker(speaker, limits) for speaker in round_view.speakers[: limits.rows])
    return replace(
        round_view,
        summary=_cut(round_view.summary, limits.chars),
        focus=_cut(round_view.focus, limits.chars),
        speakers=speakers,
    )


def _shortened_speaker(speaker: SpeakerView, limits: _Limits) -> SpeakerView:
    return replace(
        speaker,
        position=_cut(speaker.position, limits.chars),
        choice=None if speaker.choice is None else _cut(speaker.choice, limits.chars),
        reasoning=_cut(speaker.reasoning, limits.reasons),
        error=None if speaker.error is None else _cut(speaker.error, limits.chars),
        sources=(),
        notes=tuple(_cut(note, limits.chars) for note in speaker.notes[:1]),
        change=None,
        reading="",
    )


def _shortened_flow(flow: FlowView, limits: _Limits) -> FlowView | None:
    if len(flow.rounds) > limits.rows:
        return None  # a table without its columns says nothing
    camps = tuple((label, _cut(name, limits.chars)) for label, name in flow.camps[: limits.rows])
    return replace(flow, camps=camps, rows=flow.rows[: limits.rows], note=_cut(flow.note, limits.chars))


def _shortened_arguments(arguments: ArgumentsView, limits: _Limits) -> ArgumentsView:
    claims = arguments.claims[: limits.rows] if limits.rounds else ()
    lines = [*arguments.lines[: limits.rows]]
    if len(claims) < len(arguments.claims):
        lines.append(("Listed", f"{len(claims)} of {len(arguments.claims)}"))
    return replace(
        arguments,
        summary=_cut(arguments.summary, limits.chars),
        claims=tuple(_shortened_claim(claim, limits) for claim in claims),
        lines=tuple((_cut(label, limits.chars), _cut(text, limits.chars)) for label, text in lines),
    )


def _shortened_claim(claim: ClaimView, limits: _Limits) -> ClaimView:
    return replace(
        claim,
        text=_cut(claim.text, limits.chars),
        supports=claim.supports[:_MOST_LABELS],
        attacks=claim.attacks[:_MOST_LABELS],
        supported_by=claim.supported_by[:_MOST_LABELS],
        attacked_by=claim.attacked_by[:_MOST_LABELS],
        evidence=(),
    )


def _shortened_parts(parts: Parts, limits: _Limits) -> Parts:
    return tuple(
        (_cut(label, limits.chars), tuple(_cut(line, limits.chars) for line in lines[: limits.rows]))
        for label, lines in parts[: limits.rows]
    )


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: max(0, chars - 1)]}\u2026" if chars else ""
