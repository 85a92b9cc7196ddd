"""How agreement and confidence went, drawn as SVG: shapes and words, no style of its own, nothing that acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.report.tags import Html, join, tag
from roundtable.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.report.view import ReportView, RoundView

__all__ = ["HUES", "bar", "mean_confidence", "trajectory"]

HUES: Final = 10
"""Colours of seats; after these they begin again."""
_WIDTH, _HEIGHT = 380, 214
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 12, 12, 30
_MOST_DOTS = 40
"""Rounds up to which each has its dots and every agent its line."""
_MOST_LABELS = 10


class _Point(NamedTuple):
    x: float
    y: float

    def written(self) -> str:
        return f"{self.x:.1f},{self.y:.1f}"


def mean_confidence(held: RoundView) -> float | None:
    """Give the mean of the confidences reported in a round."""
    sure = [speaker.confidence for speaker in held.speakers if speaker.confidence is not None]
    return sum(sure) / len(sure) if sure else None


def trajectory(view: ReportView) -> Html | None:
    """Draw agreement and confidence by round; `None` where nothing was measured."""
    rounds = [held for held in view.rounds if held.agreement is not None or mean_confidence(held) is not None]
    if not rounds:
        return None
    places = _Places(len(rounds), alone=view.independent is not None)
    agreement = [places.point(number, held.agreement) for number, held in enumerate(rounds)]
    sure = [places.point(number, mean_confidence(held)) for number, held in enumerate(rounds)]
    dotted = len(rounds) <= _MOST_DOTS
    drawn = [
        *_grid(),
        *_labels(rounds, places),
        *(_agents(rounds, places) if dotted else ()),
        *_line(sure, "confidence", dots=False),
        *_before(view.independent, agreement[0], places),
        *_line(agreement, "agreement", dots=dotted),
    ]
    told = (
        tag("title", "Agreement and confidence by round", id="chart-title"),
        tag("desc", _in_words(view, rounds), id="chart-words"),
    )
    return tag(
        "svg",
        *told,
        *drawn,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby="chart-title chart-words",
    )


class _Places:
    """Where rounds and shares lie on the drawing."""

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
        yield tag("text", percent(share), x=_LEFT - 6, y=y + 4, text_anchor="end")


def _labels(rounds: Sequence[RoundView], places: _Places) -> Iterator[Html]:
    step = -(-len(rounds) // _MOST_LABELS)
    for number in range(0, len(rounds), step):
        held = rounds[number]
        shown = f"Round {held.number}" if len(rounds) <= 4 else f"{held.number}"
        yield tag("text", shown, x=round(places.label(number), 1), y=_HEIGHT - 10, text_anchor="middle")


def _before(share: float | None, first: _Point | None, places: _Places) -> Iterator[Html]:
    """Draw the agreement before anyone had heard anyone, left of the first round."""
    if share is None:
        return
    alone = _Point(places.x(0), _y(share))
    yield tag("text", "alone", x=round(alone.x, 1), y=_HEIGHT - 10, text_anchor="middle")
    if first is not None:
        yield tag("polyline", class_="before", points=f"{alone.written()} {first.written()}")
    yield tag("circle", class_="before", cx=round(alone.x, 1), cy=round(alone.y, 1), r=4.5)


def _agents(rounds: Sequence[RoundView], places: _Places) -> Iterator[Html]:
    """Draw the confidence of each seat; the last word of a round counts."""
    by_seat: dict[int, dict[int, _Point]] = {}
    for number, held in enumerate(rounds):
        for speaker in held.speakers:
            point = places.point(number, speaker.confidence)
            if point is not None:
                by_seat.setdefault(speaker.seat, {})[number] = point
    for seat, points in sorted(by_seat.items()):
        yield from _line([points.get(number) for number in range(len(rounds))], f"agent s{seat % HUES}", dots=True)


def _line(points: Sequence[_Point | None], kind: str, *, dots: bool) -> Iterator[Html]:
    """Draw a line with gaps where nothing was measured."""
    run: list[_Point] = []
    for point in (*points, None):
        if point is not None:
            run.append(point)
            continue
        if len(run) > 1:
            yield tag("polyline", class_=kind, points=" ".join(place.written() for place in run))
        run = []
    if dots or sum(point is not None for point in points) == 1:
        radius = 4.5 if kind == "agreement" else 2.5
        for point in points:
            if point is not None:
                yield tag("circle", class_=kind, cx=round(point.x, 1), cy=round(point.y, 1), r=radius)


def _in_words(view: ReportView, rounds: Sequence[RoundView]) -> str:
    told = (
        [f"before anyone heard anyone, agreement {percent(view.independent)}"] if view.independent is not None else []
    )
    for held in (rounds[0], rounds[-1]) if len(rounds) > 1 else rounds:
        level = percent(held.agreement) or "not measured"
        sure = percent(mean_confidence(held)) or "not given"
        told.append(f"round {held.number}: agreement {level}, mean confidence {sure}")
    return "; ".join(told)


def bar(share: float, *, won: bool) -> Html:
    """Draw a share as a bar beside the figure that says it."""
    full = tag("rect", class_="rest", width=100, height=6)
    part = tag("rect", class_="won" if won else "part", width=round(100 * min(max(share, 0.0), 1.0), 1), height=6)
    return tag(
        "svg", join((full, part)), class_="bar", viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true"
    )
