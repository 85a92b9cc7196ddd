"""Pictures of a study, drawn with matplotlib: accuracies, differences, prices, calibration, changes, categories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from roundtable._core.words import counted
from roundtable.errors import ConfigurationError
from roundtable.results.plots import COLOURS, MARKERS, legend_below, new_axes, plain_label, write_caption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from roundtable.bench.report import CategoryReport, Price, PricePoint, StudyReport
    from roundtable.bench.statistics import Interval

__all__ = ["StudyPictures", "drawable"]

_GREY: Final = "#555555"
_MOST_CATEGORIES: Final = 20
_NAME_CHARS: Final = 44
_WIDE: Final = 8.8
"""Width of pictures with long labels, in inches."""
_NARROW: Final = 60
"""Maximum characters in a line of their captions."""
_STEP: Final = 0.02
"""Distance between arms with the same price, as a share of the width."""
_SHARES: Final = "share of questions answered correctly"
_UNITS: Final = {"calls": "calls", "tokens": "tokens", "usd": "US dollars"}


def drawable(report: StudyReport) -> tuple[str, ...]:
    """Return the names of the pictures that can be drawn: those with enough data, and without too many categories."""
    shown = [report.arm(name) for name in _shown_arms(report)]
    can_draw = {
        "calibration": any(arm.confidence is not None for arm in shown),
        "categories": len({answer.category for answer in report.answers}) <= _MOST_CATEGORIES,
    }
    names = ("accuracy", "differences", "frontier", "calibration", "movement", "categories")
    return tuple(name for name in names if can_draw.get(name, True))


def _shown_arms(report: StudyReport) -> tuple[str, ...]:
    """Return the arms in pictures where all arms would be too many: the single answer and each mode."""
    return "single", *report.modes


class StudyPictures:
    """Pictures of a study; each method draws one and returns its axes (extra `plot`).

    Args:
        report: The report of the study.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from roundtable import sync
        >>> from roundtable.bench import Question
        >>> from roundtable.testing import scripted_agents
        >>> agents = scripted_agents({"ada": "4", "bo": "5"})
        >>> with sync.Roundtable(agents, storage="memory://", analyzer="declared") as table:
        ...     report = sync.run_study(table, [Question(id="1", question="2 + 2?", gold="4")])
        >>> report.plot.frontier(ax=Figure().subplots()).get_xlabel()
        'calls for each question'
    """

    def __init__(self, report: StudyReport) -> None:
        self._report = report

    def __repr__(self) -> str:
        return "StudyPictures(accuracy, differences, frontier, calibration, movement, categories)"

    def __call__(self, ax: Axes | None = None) -> Axes:
        """Draw the accuracy of each arm, as `accuracy` does."""
        return self.accuracy(ax)

    def accuracy(self, ax: Axes | None = None) -> Axes:
        """Draw the share of right answers of each arm with its 95 % interval. The data are in `report.arms`.

        Args:
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        arms = self._report.arms
        ax = ax or new_axes(1.5 + 0.32 * len(arms), _WIDE)
        for row, arm in enumerate(arms):
            colour = COLOURS[0] if arm.arm in self._report.modes else _GREY
            _range(ax, row, arm.accuracy, arm.interval, colour)
        _rows(ax, [f"{arm.arm}  ({arm.correct} of {arm.questions})" for arm in arms])
        ax.set(xlabel=_SHARES, xlim=(-0.02, 1.02))
        questions = counted(arms[0].questions, "question")
        return write_caption(
            ax,
            "Accuracy of each arm",
            f"{questions} in every arm; bars: 95 % Wilson intervals; blue: debates",
            chars=_NARROW,
        )

    def differences(self, ax: Axes | None = None) -> Axes:
        """Draw the difference of each comparison with its paired 95 % interval. The data are in `report.pairs`.

        Args:
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        pairs = self._report.pairs
        ax = ax or new_axes(1.7 + 0.32 * len(pairs), _WIDE)
        ax.axvline(0, color="black", linewidth=0.8)
        colours = {"better": COLOURS[0], "worse": COLOURS[5], "undecided": _GREY}
        for row, pair in enumerate(pairs):
            _range(ax, row, pair.difference, pair.interval, colours[pair.verdict], hollow=pair.verdict == "undecided")
        _rows(ax, [f"{pair.mode}  \N{MINUS SIGN}  {pair.baseline}" for pair in pairs])
        ax.set(xlabel="difference in the share of right answers")
        ax.margins(x=0.08)
        sizes = counted(self._report.arms[0].questions, "question")
        return write_caption(
            ax,
            "Differences, question by question",
            f"{sizes}; bars: 95 % paired bootstrap; filled: McNemar p below 0.05 after Holm's correction",
            chars=_NARROW,
        )

    def frontier(self, price: Price = "calls", ax: Axes | None = None) -> Axes:
        """Draw accuracy against price; a line joins the arms on the frontier.

        `report.frontier(price)` returns the data.

        Args:
            price: Unit of the price: calls, tokens or US dollars.
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or the price of an answer is not known.
        """
        points = self._report.frontier(price)
        ax = ax or new_axes(4.0 + 0.2 * math.ceil(len(points) / 2))
        best = [point for point in points if point.on_frontier]
        ax.plot([point.price for point in best], [point.accuracy for point in best], color="black", linewidth=1)
        width = (points[-1].price - points[0].price) or 1.0
        for number, point in enumerate(points):
            equals = [other for other in points if other.price == point.price]
            shift = _STEP * width * (equals.index(point) - (len(equals) - 1) / 2)
            self._point(ax, point, number, point.price + shift)
        ax.set(xlabel=f"{_UNITS[price]} for each question", ylabel=_SHARES)
        legend_below(ax, ncols=2)
        questions = counted(points[0].questions, "question")
        return write_caption(
            ax,
            "Accuracy and price",
            f"{questions} in every arm; bars: 95 % Wilson intervals; line: best for its price;"
            " equal prices are drawn side by side",
        )

    def _point(self, ax: Axes, point: PricePoint, number: int, x: float) -> None:
        colour = COLOURS[number % len(COLOURS)]
        ax.errorbar(
            [x],
            [point.accuracy],
            yerr=[[point.accuracy - point.interval.low], [point.interval.high - point.accuracy]],
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            markersize=8,
            markerfacecolor=colour if point.on_frontier else "white",
            capsize=3,
            linestyle="none",
            label=plain_label(point.arm, _NAME_CHARS),
        )

    def calibration(self, *arms: str, ax: Axes | None = None) -> Axes:
        """Draw reliability curves: the share of right answers against their confidence.

        `report.calibration(arm).to_records()` returns the data.

        Args:
            arms: The arms to draw; by default, the single answer and each mode.
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or no answer has a confidence.
            KeyError: No arm has this name.
        """
        names = arms or _shown_arms(self._report)
        curves = [curve for curve in map(self._report.calibration, names) if curve.bins]
        if not curves:
            raise ConfigurationError("there is no calibration to draw: no answer has a confidence")
        ax = ax or new_axes(4.4 + 0.2 * len(curves))
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":", label="calibrated")
        for number, curve in enumerate(curves):
            colour, shift = COLOURS[number % len(COLOURS)], 0.008 * (number - (len(curves) - 1) / 2)
            ax.errorbar(
                [reliability_bin.confidence + shift for reliability_bin in curve.bins],
                [reliability_bin.accuracy for reliability_bin in curve.bins],
                yerr=[
                    [reliability_bin.accuracy - reliability_bin.interval.low for reliability_bin in curve.bins],
                    [reliability_bin.interval.high - reliability_bin.accuracy for reliability_bin in curve.bins],
                ],
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                capsize=3,
                linewidth=1,
                label=f"{plain_label(curve.arm, _NAME_CHARS)}: ECE {curve.error:.2f}, n = {curve.answers}",
            )
        ax.set(xlabel="mean confidence of the answers in a bin", ylabel="share of right answers in the bin")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        legend_below(ax)
        return write_caption(
            ax, "Calibration", "below the diagonal: too confident; ten bins of equal width; bars: 95 % Wilson intervals"
        )

    def movement(self, ax: Axes | None = None) -> Axes:
        """Draw how many answers of agents each mode corrected and made wrong. The data are in `report.movements`.

        Args:
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        movements = self._report.movements
        ax = ax or new_axes(1.8 + 0.5 * len(movements))
        for row, moved in enumerate(movements):
            ax.barh([row], [moved.wrong_to_right], color=COLOURS[0])
            ax.barh([row], [-moved.right_to_wrong], color=COLOURS[1], hatch="//", edgecolor="white")
            for value, text, side in (
                (moved.wrong_to_right, f"{moved.wrong_to_right} corrected", 1),
                (-moved.right_to_wrong, f"{moved.right_to_wrong} made wrong", -1),
            ):
                ax.annotate(
                    text,
                    (value, row),
                    xytext=(4 * side, 0),
                    textcoords="offset points",
                    ha="left" if side > 0 else "right",
                    va="center",
                )
        ax.axvline(0, color="black", linewidth=0.8)
        _rows(ax, [moved.mode for moved in movements])
        most = max(1, *(max(moved.wrong_to_right, moved.right_to_wrong) for moved in movements))
        ax.set(xlabel="answers of agents, from the first round to the last", xlim=(-1.7 * most, 1.7 * most))
        ticks = [tick for tick in ax.get_xticks() if abs(tick) <= most and tick == int(tick)]
        ax.set_xticks(ticks, [f"{abs(tick):g}" for tick in ticks])
        unchanged = sum(moved.kept_right + moved.kept_wrong for moved in movements)
        debates = counted(sum(moved.debates for moved in movements), "debate")
        return write_caption(
            ax, "What debating changed", f"{debates}; {counted(unchanged, 'further answer')} stayed right or wrong"
        )

    def categories(self, ax: Axes | None = None) -> Axes:
        """Draw the accuracy of the single answer and of each mode for each category of questions.

        `report.by_category()` returns the data.

        Args:
            ax: Axes on which to draw; a new figure if omitted.

        Raises:
            ConfigurationError: matplotlib is not installed, or there are more than 20 categories.
        """
        arms = _shown_arms(self._report)
        rows = [row for row in self._report.by_category() if row.arm in arms]
        names = [*dict.fromkeys(row.category for row in rows)]
        if len(names) > _MOST_CATEGORIES:
            raise ConfigurationError(
                f"{len(names)} categories are too many for one picture; at most {_MOST_CATEGORIES}"
            )
        ax = ax or new_axes(1.6 + 0.22 * len(rows) + 0.2 * math.ceil(len(arms) / 3))
        for number, arm in enumerate(arms):
            arm_rows = [row for row in rows if row.arm == arm]
            places = [names.index(row.category) + 0.7 * ((number + 0.5) / len(arms) - 0.5) for row in arm_rows]
            _points(ax, arm_rows, places, number, arm)
        sizes = {row.category: row.questions for row in rows}
        _rows(ax, [f"{name or 'no category'}  (n = {sizes[name]})" for name in names])
        ax.set(xlabel=_SHARES, xlim=(-0.02, 1.02))
        legend_below(ax, ncols=3)
        return write_caption(ax, "Accuracy by category", "bars: 95 % Wilson intervals; n: questions of the category")


def _range(ax: Axes, row: float, value: float, interval: Interval, colour: str, *, hollow: bool = False) -> None:
    """Draw a value and its interval in a row."""
    ax.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.5, alpha=0.6, solid_capstyle="butt")
    ax.plot([value], [row], marker="o", color=colour, markerfacecolor="white" if hollow else colour)


def _points(ax: Axes, rows: Sequence[CategoryReport], places: Sequence[float], number: int, arm: str) -> None:
    ax.errorbar(
        [row.accuracy for row in rows],
        places,
        xerr=[
            [row.accuracy - row.interval.low for row in rows],
            [row.interval.high - row.accuracy for row in rows],
        ],
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle="none",
        capsize=2,
        label=plain_label(arm, _NAME_CHARS),
    )


def _rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label the rows, from top to bottom."""
    ax.set_yticks(range(len(labels)), [plain_label(label, 2 * _NAME_CHARS) for label in labels], fontsize="small")
    ax.set_ylim(len(labels) - 0.4, -0.6)
