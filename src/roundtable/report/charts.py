"""Charts of a report as SVG: agreement by round, shares as bars, and camps as stacked bars."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.report.html_builder import Html, join, tag
from roundtable.report.view import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from roundtable.report.view import ReportView, RoundView

__all__ = ["HUES", "bar", "interval", "mean_confidence", "stack", "trajectory"]


HUES: Final = 10
"""Number of colours for agents; further agents reuse them."""
_WIDTH, _HEIGHT = 380, 214
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 12, 12, 30
_MAX_DOTTED_ROUNDS = 40
"""Maximum rounds for which the chart has a dot per round."""
_MAX_LABELS = 10


class _Point(NamedTuple):
    x: float
    y: float

    def to_text(self) -> str:
        """Return the coordinates for an SVG attribute."""
        return f"{self.x:.1f},{self.y:.1f}"


def mean_confidence(round_view: RoundView) -> float | None:
    """Return the mean confidence of a round's answers, without abstentions; `None` if there is no confidence."""
    # Computed exactly, as for the recommendation, so that both figures are rounded in the same way.
    confidences = [
        Decimal(str(speaker.confidence))
        for speaker in round_view.speakers
        if speaker.confidence is not None and not speaker.abstains
    ]
    return float(sum(confidences) / len(confidences)) if confidences else None


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
    """Layout that maps rounds and shares to coordinates of the chart.

    Args:
        rounds: Number of rounds in the chart.
        alone: Whether the first column is for the answers before the debate.
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
    """Draw the agreement of independent answers, to the left of the first round."""
    if share is None:
        return
    point = _Point(layout.x(0), _y(share))
    yield tag("text", "alone", x=round(point.x, 1), y=_HEIGHT - 10, text_anchor="middle")
    if first is not None:
        yield tag("polyline", class_="before", points=f"{point.to_text()} {first.to_text()}")
    yield tag("circle", class_="before", cx=round(point.x, 1), cy=round(point.y, 1), r=4.5)


def _intervals(rounds: Sequence[RoundView], layout: _Layout) -> Iterator[Html]:
    """Draw an interval of agreement as a vertical bar."""
    for number, round_view in enumerate(rounds):
        if round_view.bounds is not None:
            least, most = (_y(share) for share in round_view.bounds)
            x = round(layout.label(number), 1)
            kind = "interval unknown" if round_view.bounds == (0, 1) else "interval"
            yield tag("line", class_=kind, x1=x, x2=x, y1=round(least, 1), y2=round(most, 1))
            if round_view.bounds == (0, 1):
                yield tag("text", "?", x=x, y=round((least + most) / 2 + 4, 1), text_anchor="middle")


def _line(points: Sequence[_Point | None], kind: str, *, dots: bool) -> Iterator[Html]:
    """Draw a line, with gaps for rounds without a value."""
    segment: list[_Point] = []
    for point in (*points, None):
        if point is not None:
            segment.append(point)
            continue
        if len(segment) > 1:
            yield tag("polyline", class_=kind, points=" ".join(vertex.to_text() for vertex in segment))
        segment = []
    if dots or sum(point is not None for point in points) == 1:
        radius = 4.5 if kind == "agreement" else 2.5
        for point in points:
            if point is not None:
                yield tag("circle", class_=kind, cx=round(point.x, 1), cy=round(point.y, 1), r=radius)


def _description(view: ReportView, rounds: Sequence[RoundView]) -> str:
    sentences = [f"before the debate: agreement {view.independent:.2f}"] if view.independent is not None else []
    for round_view in (rounds[0], rounds[-1]) if len(rounds) > 1 else rounds:
        level = round_view.shown_level or "not measured"
        confidence = percent(mean_confidence(round_view)) or "not given"
        sentences.append(f"round {round_view.number}: agreement {level}, mean confidence {confidence}")
    return "; ".join(sentences)


def bar(share: float, *, kind: str) -> Html:
    """Draw a share as a bar; the number itself is shown next to it.

    Args:
        share: The share, in [0, 1].
        kind: `won`, `tied` or `part`; it selects the colour.
    """
    width = round(100 * min(max(share, 0.0), 1.0), 1)
    return _flat(
        "bar", (tag("rect", class_="rest", width=100, height=6), tag("rect", class_=kind, width=width, height=6)), 6
    )


def stack(parts: Iterable[tuple[int, int]]) -> Html:
    """Draw counts as one stacked bar; the counts are shown next to it.

    Args:
        parts: For each part, the number of its colour and its count.
    """
    counted = [(hue, count) for hue, count in parts if count]
    total = sum(count for _, count in counted)
    shapes: list[Html] = []
    start = 0
    for hue, count in counted:
        x, width = round(100 * start / total, 2), max(0.2, round(100 * count / total - 0.8, 2))
        shapes.append(tag("rect", class_=f"s{hue % HUES}", x=x, width=width, height=8))
        start += count
    return _flat("stack", shapes, 8)


def interval(least: float, most: float) -> Html:
    """Draw what is known of a share as a bar, filled up to the least it can be; up to the most it can be, it is open.

    If the bar is open from 0 to 1, nothing was measured. The figures are shown next to it.
    """
    start, end = (round(100 * min(max(share, 0.0), 1.0), 1) for share in (least, most))
    shapes = [tag("rect", class_="rest", width=100, height=6)]
    if end > start:
        # Dashed, because a filled part would look like a measured share.
        shapes.append(tag("line", class_="open", x1=start, x2=end, y1=3, y2=3))
    if start > 0:
        shapes.append(tag("rect", class_="level", width=start, height=6))
    return _flat("bar", shapes, 6)


def _flat(kind: str, shapes: Iterable[Html], height: int) -> Html:
    return tag(
        "svg",
        join(shapes),
        class_=kind,
        viewBox=f"0 0 100 {height}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
