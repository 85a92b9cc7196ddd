"""The page with the metrics of a server, for its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from fastapi import APIRouter, Query, Response

from roundtable.server.metrics_observer import PERIODS, Period
from roundtable.server.rendering import page
from roundtable.server.state import Admin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.server.metrics_report import MetricsReport, Step

__all__ = ["router"]

_WIDTH: Final = 380
_HEIGHT: Final = 130
_LEFT: Final = 30
_BOTTOM: Final = 24
_TOP: Final = 10
_MOST_REQUESTS: Final = 20
_WORDS: Final = {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}

router: APIRouter = APIRouter(include_in_schema=False)


class Bar(NamedTuple):
    """One part of a bar of the chart."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Chart(NamedTuple):
    """Ended runs for each step of the period, as bars."""

    bars: tuple[Bar, ...]
    labels: tuple[tuple[float, str], ...]
    lines: tuple[tuple[float, str], ...]
    words: str


@router.get("/admin")
async def dashboard(caller: Admin, period: Annotated[Period, Query()] = "24h") -> Response:
    """Show what happened on the server in a period."""
    report = await caller.state.figures.report(period)
    return page(
        "admin",
        user=caller.identity,
        report=report,
        requests=report.requests[:_MOST_REQUESTS],
        chart=_chart(report),
        periods=tuple((name, _WORDS[name]) for name in PERIODS),
        most_errors=max((error.count for error in report.errors), default=1),
    )


def _chart(report: MetricsReport) -> Chart | None:
    """Return the layout of the chart; `None` if no run ended."""
    steps = report.series
    most = max((_ended_runs(step) for step in steps), default=0)
    if not most:
        return None
    step_width = (_WIDTH - _LEFT) / len(steps)
    bars = tuple(
        bar
        for index, step in enumerate(steps)
        for bar in _stacked_bars(step, _LEFT + index * step_width, step_width, most)
    )
    completed, broken = sum(step.completed for step in steps), sum(step.broken for step in steps)
    words = f"Runs completed: {completed}; broken: {broken}; at most in one step: {most}."
    lines = tuple((_y(count / most), f"{count}") for count in sorted({0, most}))
    return Chart(bars, _labels(steps, step_width, report.period), lines, words)


def _ended_runs(step: Step) -> int:
    return step.completed + step.paused + step.broken


def _y(share: float) -> float:
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share), 1)


def _stacked_bars(step: Step, x: float, step_width: float, most: int) -> list[Bar]:
    bars: list[Bar] = []
    stacked = 0
    for kind, count in (("completed", step.completed), ("paused", step.paused), ("broken", step.broken)):
        if count:
            top = _y((stacked + count) / most)
            bars.append(
                Bar(
                    kind,
                    round(x + step_width * 0.12, 1),
                    top,
                    round(step_width * 0.76, 1),
                    round(_y(stacked / most) - top, 1),
                )
            )
        stacked += count
    return bars


def _labels(steps: Sequence[Step], step_width: float, period: str) -> tuple[tuple[float, str], ...]:
    every = -(-len(steps) // 5)
    time_format = "{:%H:%M}" if period == "24h" else "{:%d %b}"
    return tuple(
        (round(_LEFT + (index + 0.5) * step_width, 1), time_format.format(step.since))
        for index, step in enumerate(steps)
        if index % every == 0
    )
