"""Pictures of a study, drawn with matplotlib: accuracies, differences, prices, calibration, changes, categories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.results.plots import COLOURS, MARKERS, colours_of, legend_below, new_axes, plain_label, write_caption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from roundtable.bench.report import ArmReport, Calibration, CategoryReport, Price, PricePoint, StudyReport
    from roundtable.bench.statistics import Interval

__all__ = ["StudyPictures", "drawable"]

_GREY: Final = "#555555"
_MOST_CATEGORIES: Final = 20
_NAME_CHARS: Final = 44
_WIDE: Final = 8.8
"""Width of pictures with long labels, in inches."""
_NARROW: Final = 60
"""Maximum characters in a line of their captions."""
_LEAST_ANSWERS: Final = 5
"""Least number of answers for which the picture of calibration joins a bin to its curve."""
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
        groups = self._different_arms()
        ax = ax or new_axes(1.5 + 0.32 * len(groups), _WIDE)
        for row, (arm, *_) in enumerate(groups):
            colour = COLOURS[0] if arm.arm in self._report.modes else _GREY
            _range(ax, row, arm.accuracy, arm.interval, colour)
        names = [_joined_name([arm.arm for arm in arms]) for arms in groups]
        _rows(
            ax,
            [f"{name}  ({arms[0].correct} of {arms[0].questions})" for name, arms in zip(names, groups, strict=True)],
        )
        ax.set(xlabel=_SHARES, xlim=(-0.02, 1.02))
        questions = counted(groups[0][0].questions, "question")
        return write_caption(
            ax,
            "Accuracy of each arm",
            f"{questions} in every arm; bars: 95 % Wilson intervals; blue: debates",
            chars=_NARROW,
        )

    def _different_arms(self) -> list[list[ArmReport]]:
        """Return the arms, together those baselines of one kind with the same answers, as for equal prices."""
        given: dict[str, list[object]] = {}
        for answer in self._report.answers:
            given.setdefault(answer.arm, []).append((answer.question_id, answer.answer, answer.correct))
        groups: dict[object, list[ArmReport]] = {}
        for arm in self._report.arms:
            kind, _, mode = arm.arm.partition(" as ")
            groups.setdefault((kind, *given[arm.arm]) if mode else arm.arm, []).append(arm)
        return [*groups.values()]

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
        groups: dict[tuple[float, float], list[PricePoint]] = {}
        for point in points:
            groups.setdefault((point.price, point.accuracy), []).append(point)
        colours = colours_of(len(groups))
        for number, equals in enumerate(groups.values()):
            crowded = sum(price == equals[0].price for price, _ in groups) > 1
            self._point(ax, equals, number, colours[number], crowded=crowded)
        ax.set(xlabel=f"{_UNITS[price]} for each question", ylabel=_SHARES)
        legend_below(ax, ncols=2)
        questions = counted(points[0].questions, "question")
        return write_caption(
            ax,
            "Accuracy and price",
            f"{questions} in every arm; line: best for its price; bars: 95 % Wilson intervals, of arms that alone have"
            " their price; arms with the same price and accuracy share a mark",
        )

    def _point(self, ax: Axes, equals: Sequence[PricePoint], number: int, colour: str, *, crowded: bool) -> None:
        """Draw arms with the same price and accuracy as one mark."""
        point = equals[0]
        if not crowded:  # intervals at the same price would hide each other
            ax.plot(
                [point.price] * 2, [point.interval.low, point.interval.high], color=colour, linewidth=1.5, alpha=0.5
            )
        ax.plot(
            [point.price],
            [point.accuracy],
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            markersize=8,
            markerfacecolor=colour if point.on_frontier else "white",
            linestyle="none",
            label=plain_label(_joined_name([equal.arm for equal in equals]), _NAME_CHARS),
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
        colours = colours_of(len(curves))
        for number, curve in enumerate(curves):
            _curve(ax, curve, number, colours[number], with_intervals=len(curves) == 1)
        ax.set(xlabel="mean confidence of the answers in a bin", ylabel="share of right answers in the bin")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        legend_below(ax)
        bars = "; bars: 95 % Wilson intervals" if len(curves) == 1 else ""
        return write_caption(
            ax,
            "Calibration",
            "below the diagonal: too confident; ten bins of equal width, the larger the mark, the more answers; hollow:"
            f" fewer than {_LEAST_ANSWERS} answers, which show little{bars}",
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


def _joined_name(arms: Sequence[str]) -> str:
    """Return one name for several arms; the kind of baseline is named once.

    Example:
        >>> _joined_name(["self-consistency as delphi", "self-consistency as council", "single"])
        'self-consistency as delphi, council; single'
    """
    kinds: dict[str, list[str]] = {}
    for arm in arms:
        kind, _, mode = arm.partition(" as ")
        kinds.setdefault(kind, []).append(mode)
    return "; ".join(f"{kind} as {', '.join(modes)}" if all(modes) else kind for kind, modes in kinds.items())


def _curve(ax: Axes, curve: Calibration, number: int, colour: str, *, with_intervals: bool) -> None:
    """Draw a reliability curve: a mark for each bin, at its mean confidence; its area shows the number of answers."""
    most = max(reliability_bin.answers for reliability_bin in curve.bins)
    joined = [each for each in curve.bins if each.answers >= _LEAST_ANSWERS]
    ax.plot([each.confidence for each in joined], [each.accuracy for each in joined], color=colour, linewidth=1)
    for each in curve.bins:
        ax.scatter(
            [each.confidence],
            [each.accuracy],
            s=20 + 100 * each.answers / most,
            color=colour if each.answers >= _LEAST_ANSWERS else "none",
            edgecolors=colour,
            marker=MARKERS[number % len(MARKERS)],
            zorder=3,
        )
        if with_intervals and each.answers >= _LEAST_ANSWERS:
            ax.plot([each.confidence] * 2, [each.interval.low, each.interval.high], color=colour, alpha=0.5)
    ax.plot(
        [],
        [],
        color=colour,
        marker=MARKERS[number % len(MARKERS)],
        label=f"{plain_label(curve.arm, _NAME_CHARS)}: ECE {curve.error:.2f}, n = {curve.answers}",
    )


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
