"""The report of a study: its statistics agree with other libraries, and its pictures with its tables."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest
from matplotlib.figure import Figure
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from statsmodels.stats.multitest import multipletests

from roundtable.bench import (
    Moves,
    StudyAnswer,
    StudyReport,
    holm_correction,
    questions_needed,
    questions_to_see,
    smallest_difference,
    write_paper,
)
from roundtable.bench.pictures import drawable
from roundtable.bench.report import report_of
from roundtable.errors import ConfigurationError
from roundtable.types import Usage

pytestmark = pytest.mark.slow

SIZE = 90
MODES = ("collaborative", "delphi")
ARMS = ("single", *(f"{way}{mode}" for mode in MODES for way in ("", "self-consistency as ", "independent-vote as ")))
CHANCES = {"single": 0.5, "collaborative": 0.85, "delphi": 0.6}


def answers(seed: int = 1, **changes: Any) -> list[StudyAnswer]:
    draw = Random(seed)
    return [
        StudyAnswer(
            question_id=f"{number}",
            arm=arm,
            answer="yes",
            correct=draw.random() < CHANCES.get(arm, 0.55),
            confidence=round(draw.random(), 2),
            usage=Usage(calls=1 if arm == "single" else 6, input_tokens=100),
            moves=Moves(wrong_to_right=1, kept_right=2, pairs=3, flips=1, contested=2, followed=1)
            if arm in MODES
            else None,
            category=("sums", "logic", None)[number % 3],
        ).model_copy(update=changes)
        for number in range(SIZE)
        for arm in ARMS
    ]


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return report_of(answers(), {}, resamples=500)


def right(report: StudyReport, arm: str) -> list[bool]:
    return [answer.correct for answer in report.answers if answer.arm == arm]


@pytest.mark.parametrize("seed", range(20))
def test_corrected_p_values_are_those_of_statsmodels(seed: int) -> None:
    draw = Random(seed)
    p_values = [round(draw.random() ** 3, 4) for _ in range(draw.randint(1, 12))]
    expected = multipletests(p_values, method="holm")[1]
    assert [float(p) for p in holm_correction(p_values)] == pytest.approx(list(expected), abs=1e-12)


def test_a_p_value_outside_0_to_1_is_refused() -> None:
    assert holm_correction([]) == []
    with pytest.raises(ConfigurationError, match="p-value"):
        holm_correction([1.5])


def test_every_two_modes_and_all_baselines_are_compared(report: StudyReport) -> None:
    pairs = {(pair.mode, pair.baseline) for pair in report.pairs}
    assert len(report.pairs) == len(pairs) == 7
    assert ("collaborative", "delphi") in pairs
    with pytest.raises(KeyError):
        report.compare("delphi", "self-consistency as collaborative")


@pytest.mark.parametrize("pair", [("collaborative", "delphi"), ("collaborative", "single"), ("delphi", "single")])
def test_a_reversed_comparison_equals_that_of_swapped_arms(report: StudyReport, pair: tuple[str, str]) -> None:
    one, other = report.compare(*pair), report.compare(*reversed(pair))
    assert (one.mode, one.baseline) == (other.baseline, other.mode) == pair
    assert (one.gained, one.lost) == (other.lost, other.gained)
    assert (one.difference, one.interval.low, one.interval.high) == (
        -other.difference,
        -other.interval.high,
        -other.interval.low,
    )
    assert other.verdict == {"better": "worse", "worse": "better", "undecided": "undecided"}[one.verdict]
    kept = ("both_right", "both_wrong", "p_value", "p_corrected", "questions_needed")
    assert [getattr(one, name) for name in kept] == [getattr(other, name) for name in kept]
    assert other.difference == pytest.approx(report.arm(other.mode).accuracy - report.arm(other.baseline).accuracy)


def test_a_mirrored_comparison_without_a_difference_has_no_negative_zero() -> None:
    even = report_of(answers(correct=True), {}, resamples=100).compare("single", "delphi")
    assert [f"{value:+}" for value in (even.difference, even.interval.low, even.interval.high)] == ["+0.0"] * 3


def test_verdicts_follow_the_corrected_p_values_and_the_intervals(report: StudyReport) -> None:
    p_values = []
    for pair in report.pairs:
        both = [*zip(right(report, pair.mode), right(report, pair.baseline), strict=True)]
        gained, lost = both.count((True, False)), both.count((False, True))
        expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        assert pair.p_value == pytest.approx(expected)
        p_values.append(pair.p_value)
    corrected = multipletests(p_values, method="holm")[1]
    assert [pair.p_corrected for pair in report.pairs] == pytest.approx(list(corrected))
    assert {pair.verdict for pair in report.pairs} >= {"better", "undecided"}
    for pair in report.pairs:
        significant = pair.p_corrected < 0.05 and not pair.interval.low <= 0 <= pair.interval.high
        assert (pair.verdict != "undecided") == significant


def test_a_reliability_curve_is_that_of_scikit_learn(report: StudyReport) -> None:
    curve = report.calibration("delphi")
    held = [answer for answer in report.answers if answer.arm == "delphi"]
    outcomes = [answer.correct for answer in held]
    forecasts = [answer.confidence or 0.0 for answer in held]
    # Confidences on an edge belong to the bin above it, in scikit-learn to the one below.
    shifted = [forecast + 1e-9 for forecast in forecasts]
    accuracy, confidence = calibration_curve(outcomes, shifted, n_bins=10)
    assert [one.accuracy for one in curve.bins] == pytest.approx(list(accuracy))
    assert [one.confidence for one in curve.bins] == pytest.approx(list(confidence), abs=1e-6)
    assert sum(one.answers for one in curve.bins) == curve.answers == SIZE
    error = sum(one.answers * abs(one.accuracy - one.confidence) for one in curve.bins) / SIZE
    assert curve.error == pytest.approx(error)
    assert (curve.error, curve.brier) == (report.arm("delphi").calibration_error, report.arm("delphi").brier)
    assert len(curve.to_records()) == len(curve.bins)
    with pytest.raises(KeyError):
        report.calibration("oxford")


def test_an_arm_is_on_the_frontier_if_none_beats_it_at_its_price(report: StudyReport) -> None:
    points = report.frontier()
    assert [point.price for point in points] == sorted(point.price for point in points)
    for point in points:
        cheaper = [other for other in points if other.price <= point.price and other.arm != point.arm]
        beaten = any(
            other.accuracy > point.accuracy or (other.accuracy == point.accuracy and other.price < point.price)
            for other in cheaper
        )
        assert point.on_frontier is not beaten
    assert {point.price for point in report.frontier("tokens")} == {100.0}
    priced = report_of(answers(usage=Usage(calls=2, cost_usd=0.25)), {}, resamples=100)
    assert {point.price for point in priced.frontier("usd")} == {0.25}
    with pytest.raises(ConfigurationError, match="price of single is not known"):
        report.frontier("usd")
    with pytest.raises(ConfigurationError, match="unknown price 'euro'"):
        report.frontier("euro")  # type: ignore[arg-type]


def test_categories_add_up_to_the_whole(report: StudyReport) -> None:
    by_category = report.by_category()
    assert [*dict.fromkeys(one.category for one in by_category)] == ["sums", "logic", None]
    for arm in report.arms:
        parts = [one for one in by_category if one.arm == arm.arm]
        assert sum(one.correct for one in parts) == arm.correct
        assert [one.questions for one in parts] == [30, 30, 30]
        assert all((one.movement is not None) == (arm.arm in MODES) for one in parts)
    (logic,) = [one for one in by_category if one.category == "logic" and one.arm == "delphi"]
    assert logic.movement is not None
    assert (logic.movement.debates, logic.movement.wrong_to_right) == (30, 30)
    assert (logic.movement.flip_rate, logic.movement.conformity) == (1 / 3, 1 / 2)


def test_movement_without_a_pair_of_rounds_has_no_rate() -> None:
    still = [answer.model_copy(update={"moves": answer.moves and Moves()}) for answer in answers()]
    report = report_of(still, {}, resamples=100)
    assert {movement.flip_rate for movement in report.movements} == {None}
    assert {movement.conformity for movement in report.movements} == {None}
    assert "successive" not in report.to_markdown()


def test_the_mean_confidence_of_equal_confidences_is_this_confidence_everywhere() -> None:
    report = report_of(answers(confidence=0.7), {}, resamples=100)
    (only,) = report.calibration("single").bins
    assert (only.low, only.confidence, report.arm("single").confidence) == (0.7, 0.7, 0.7)


def test_an_empty_report_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least one answer"):
        report_of([], {})


def test_the_number_of_questions_for_three_points_is_stated(report: StudyReport) -> None:
    pair = report.compare("delphi", "single")
    disagreement = (pair.gained + pair.lost) / SIZE
    needed = report.questions_to_see(0.03, "delphi", "single")
    assert needed == questions_to_see(0.03, disagreement, comparisons=len(report.pairs))
    assert needed == questions_needed(
        (disagreement + 0.03) / 2, (disagreement - 0.03) / 2, comparisons=len(report.pairs)
    )
    with pytest.raises(ConfigurationError, match=r"difference must lie in \[0, 1\], not 2"):
        report.questions_to_see(2, "delphi", "single")
    for wrong in (0, 0.5):
        with pytest.raises(ConfigurationError, match="difference must be more than 0"):
            questions_to_see(wrong, 0.2)


@pytest.mark.parametrize("disagreement", ["0.1", "0.25", "0.6"])
@pytest.mark.parametrize("questions", [90, 500, 4000])
def test_the_smallest_difference_is_the_limit_of_what_a_study_detects(questions: int, disagreement: str) -> None:
    edge = smallest_difference(questions, disagreement)
    assert edge is not None
    assert questions_to_see(edge, disagreement) <= questions < questions_to_see(edge - 1 / 1000, disagreement)
    assert smallest_difference(questions, 0) is None
    with pytest.raises(ConfigurationError, match="questions must be"):
        smallest_difference(0, disagreement)


def test_the_page_names_its_sources_and_sizes(report: StudyReport) -> None:
    page = report.to_markdown()
    assert "90 questions in every arm." in page
    assert "corrected for 7 comparisons by Holm's method (1979)" in page
    assert "with 500 resamples and seed 0" in page
    assert "| logic | delphi |" in page
    assert "| logic | self-consistency" not in page
    assert StudyReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    ("categories", "failures"), [(1, 0), (3, 5), (SIZE, 0), (3, 5_000)], ids=["small", "few", "categories", "failures"]
)
def test_the_view_in_a_notebook_has_at_most_20_kilobytes_and_says_what_it_leaves_out(
    categories: int, failures: int
) -> None:
    given = [
        answer.model_copy(update={"category": f"{'c' * 60} {int(answer.question_id) % categories}"})
        for answer in answers()
    ]
    report = report_of(given, {f"q{number}": "no key" for number in range(failures)}, resamples=100)
    whole, shown = report.to_markdown(), report._repr_markdown_()
    assert len(shown.encode()) <= 20_000
    assert (shown == whole) is (len(whole.encode()) <= 20_000)
    if shown != whole:
        assert "rows left out; to_markdown() has all" in shown
        assert "90 questions in every arm." in shown
        assert report.sources in shown


def test_the_notebook_shows_one_line_if_even_short_tables_are_too_long() -> None:
    report = report_of(answers(), {f"q{number}": "why " * 2_000 for number in range(9)}, resamples=100)
    assert report._repr_markdown_() == f"{report!r}\n"


PICTURES = ("accuracy", "differences", "frontier", "calibration", "movement", "categories")


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_can_be_saved_and_has_a_title_units_and_a_caption(report: StudyReport, name: str) -> None:
    figure = Figure(layout="constrained")
    axes = getattr(report.plot, name)(ax=figure.subplots())
    figure.savefig(io.BytesIO(), format="svg")
    assert axes.get_title()
    assert axes.get_xlabel()
    assert len(axes.texts) >= 1
    assert name in repr(report.plot)


def test_pictures_draw_the_figures_of_the_tables(report: StudyReport) -> None:
    axes = report.plot(Figure().subplots())
    points = [line.get_xdata()[0] for line in axes.get_lines() if len(line.get_xdata()) == 1]
    assert points == [arm.accuracy for arm in report.arms]
    axes = report.plot.frontier(ax=Figure().subplots())
    best = [point for point in report.frontier() if point.on_frontier]
    assert [*axes.get_lines()[0].get_ydata()] == [point.accuracy for point in best]
    axes = report.plot.movement(Figure().subplots())
    assert [bar.get_width() for bar in axes.patches] == [SIZE, 0, SIZE, 0]
    axes = report.plot.calibration("delphi", ax=Figure().subplots())
    assert [*axes.get_lines()[1].get_ydata()] == [one.accuracy for one in report.calibration("delphi").bins]


def test_an_impossible_picture_is_refused() -> None:
    silent = report_of([answer.model_copy(update={"confidence": None}) for answer in answers()], {}, resamples=100)
    with pytest.raises(ConfigurationError, match="no answer has a confidence"):
        silent.plot.calibration()
    with pytest.raises(ConfigurationError, match="90 categories are too many"):
        many_categories().plot.categories()


def many_categories() -> StudyReport:
    many = [answer.model_copy(update={"category": answer.question_id}) for answer in answers()]
    return report_of(many, {}, resamples=100)


def only_a_baseline_is_confident() -> StudyReport:
    said = [
        answer if answer.arm.startswith("independent") else answer.model_copy(update={"confidence": None})
        for answer in answers()
    ]
    return report_of(said, {}, resamples=100)


@pytest.mark.slow
@pytest.mark.parametrize("study", [many_categories, only_a_baseline_is_confident])
def test_drawable_pictures_are_drawn_and_others_are_refused(study: Callable[[], StudyReport]) -> None:
    report = study()
    for name in PICTURES:
        draw = partial(getattr(report.plot, name), ax=Figure().subplots())
        if name in drawable(report):
            assert draw().get_title()
        else:
            with pytest.raises(ConfigurationError):
                draw()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "left_out"), [(many_categories, "categories"), (only_a_baseline_is_confident, "calibration")]
)
def test_a_paper_leaves_out_pictures_that_cannot_be_drawn(
    study: Callable[[], StudyReport], left_out: str, tmp_path: Path
) -> None:
    write_paper(study(), tmp_path)
    drawn = [name for name in PICTURES if name != left_out]
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {*drawn}
    cells = json.loads((tmp_path / "notebook.ipynb").read_text("utf-8"))["cells"]
    assert [cell["source"] for cell in cells if ".plot." in cell["source"]] == [f"report.plot.{n}();" for n in drawn]
    assert len({cell["id"] for cell in cells}) == len(cells) == len(drawn) + 3
    assert (tmp_path / "tables" / f"{left_out}.csv").read_text("utf-8").count("\n") > 1


def test_baselines_with_equal_answers_are_drawn_once_and_marks_are_at_their_values() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    base = "self-consistency as "
    given = [one for one in answers() if one.arm != f"{base}delphi"]
    given += [one.model_copy(update={"arm": f"{base}delphi"}) for one in given if one.arm == f"{base}collaborative"]
    report = report_of(given, {}, resamples=100)
    axes = report.plot.accuracy()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [label for label in labels if label.startswith(base)] == [f"{base}collaborative, delphi (49 of 90)"]
    assert len(labels) == len(report.arms) - 1
    axes = report.plot.frontier()
    marks = [line for line in axes.lines if line.get_label()[0] != "_" and line.get_marker() != "None"]
    assert {x for line in marks for x in line.get_xdata()} == {point.price for point in report.frontier()}
    assert len({line.get_color() for line in marks}) == len(marks)
    curve = report.calibration("single")
    axes = report.plot.calibration("single")
    drawn = sorted(tuple(map(float, points.get_offsets()[0])) for points in axes.collections)
    expected = sorted((each.confidence, each.accuracy) for each in curve.bins)
    assert list(chain.from_iterable(drawn)) == pytest.approx(list(chain.from_iterable(expected)))
