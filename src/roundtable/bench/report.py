"""The report of a study: accuracies, comparisons, calibration, prices and changes, computed from its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.bench.arms import Moves, StudyAnswer
from roundtable.bench.sample_size import sizes_for_verdicts
from roundtable.bench.statistics import (
    Interval,
    exact_mean,
    holm_correction,
    mcnemar_test,
    paired_bootstrap,
    questions_to_see,
    wilson_interval,
)
from roundtable.core.base.words import counted, listing
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.base import Share, Value
from roundtable.core.types.chat import Usage
from roundtable.metrics import brier_score, expected_calibration_error
from roundtable.report.notebook import MOST_BYTES
from roundtable.results.rows import frame_of
from roundtable.scoring.numbers import exact, share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pandas import DataFrame

    from roundtable.bench.pictures import StudyPictures
    from roundtable.core.types.base import JsonObject

__all__ = [
    "AnswerChanges",
    "ArmReport",
    "Calibration",
    "CategoryReport",
    "PairedReport",
    "Price",
    "PricePoint",
    "ReliabilityBin",
    "StudyReport",
    "StudyVerdict",
    "Worth",
    "report_of",
]

StudyVerdict: TypeAlias = Literal["better", "worse", "undecided"]
"""The outcome of comparing a mode with a baseline."""
Worth: TypeAlias = Literal["adopt", "reject", "conditional"]
"""Whether a mode is worth its price."""
Price: TypeAlias = Literal["calls", "tokens", "usd"]
"""Unit of the price of an answer: calls, tokens or US dollars."""

_BINS: Final = 10
_BASELINE: Final = "single"
_LEVEL: Final = "0.95"
_POWER: Final = "0.8"
_COLUMNS: Final = (
    *("questionId", "arm", "answer", "correct", "confidence", "calls", "tokens", "costUsd"),
    *("question", "gold", "category", "sessionId", "mode", "seed", "models", "promptVersion", "libraryVersion"),
)

_CATEGORY_HEAD: Final = (
    "| category | arm | right | 95 % | corrected | made wrong | flips | conformity |",
    "|---|---|---|---|---|---|---|---|",
)


class ArmReport(Value):
    """The results of one arm: a mode or a baseline."""

    arm: str
    """Name of the arm. The name of a baseline includes the mode whose price it has."""
    questions: int
    """Number of questions, which is the same for every arm."""
    correct: int
    """Number of these questions that were answered correctly."""
    unanswered: int
    """Number of these questions without an answer, because of a tie or because no agent gave an answer."""
    accuracy: Share
    """Share of questions answered correctly."""
    interval: Interval
    """Wilson interval of the accuracy, 95 %."""
    usage: Usage
    """Usage of all answers together."""
    cost_multiple: float | None
    """Number of calls, divided by the calls of the single answer."""
    confidence: Share | None
    """Mean confidence that was reported with the answers."""
    brier: float | None
    """Brier score of the confidence: 0 is perfect; a confidence that is always 0.5 scores 0.25."""
    calibration_error: float | None
    """Expected calibration error in ten bins: 0 is perfectly calibrated."""


class ReliabilityBin(Value):
    """Answers with similar confidence."""

    low: float
    """Lowest confidence of the bin."""
    high: float
    """Upper bound of the bin; this confidence itself belongs to the next bin, unless it is 1."""
    answers: int
    """Number of answers."""
    confidence: Share
    """Mean confidence of these answers."""
    accuracy: Share
    """Share of these answers that are right."""
    interval: Interval
    """Wilson interval of the accuracy, 95 %."""


class Calibration(Value):
    """Reliability curve of an arm, which shows whether its confidence predicts right answers."""

    arm: str
    """The arm."""
    answers: int
    """Number of answers with a confidence."""
    bins: tuple[ReliabilityBin, ...]
    """The bins with answers, in ascending order of confidence."""
    error: float | None
    """Expected calibration error over these bins; `None` without answers."""
    brier: float | None
    """Brier score; `None` without answers."""

    def to_records(self) -> list[JsonObject]:
        """Return one flat row per bin."""
        return [
            {
                "arm": self.arm,
                "confidenceFrom": reliability_bin.low,
                "confidenceTo": reliability_bin.high,
                "answers": reliability_bin.answers,
                "confidence": reliability_bin.confidence,
                "accuracy": reliability_bin.accuracy,
                "accuracyLow": reliability_bin.interval.low,
                "accuracyHigh": reliability_bin.interval.high,
            }
            for reliability_bin in self.bins
        ]


class PricePoint(Value):
    """The accuracy of an arm, and its price per question."""

    arm: str
    """The arm."""
    questions: int
    """Number of questions."""
    price: float
    """Mean price of an answer."""
    accuracy: Share
    """Share of questions answered correctly."""
    interval: Interval
    """Wilson interval of the accuracy, 95 %."""
    on_frontier: bool
    """Whether no cheaper arm is at least as accurate, and no arm with the same price is more accurate."""


class PairedReport(Value):
    """A comparison of a mode with a baseline or another mode, question by question."""

    mode: str
    """The mode."""
    baseline: str
    """The baseline or mode with which it is compared."""
    both_right: int
    """Questions that both got right."""
    gained: int
    """Questions that only the mode got right."""
    lost: int
    """Questions that only the baseline got right."""
    both_wrong: int
    """Questions that both got wrong."""
    difference: float
    """Accuracy of the mode minus accuracy of the baseline."""
    interval: Interval
    """Paired bootstrap interval of the difference, 95 %."""
    p_value: float
    """P-value of McNemar's exact test."""
    p_corrected: float
    """P-value, corrected by Holm's method for the number of comparisons in the report."""
    verdict: StudyVerdict
    """`"better"` or `"worse"` if the interval excludes 0 and `p_corrected` is below 0.05; otherwise `"undecided"`."""
    questions_needed: int | None
    """About how many questions a study needs for a verdict on this difference. If a study of this size were repeated
    many times, 80 % of the repetitions would find it after Holm's correction. `None` without a difference."""


class AnswerChanges(Moves):
    """How the debates of a mode changed the answers of their agents."""

    mode: str
    """The mode."""
    debates: int
    """Number of debates."""

    @property
    def flip_rate(self) -> float | None:
        """Share of pairs of successive answers in which the answer changed; `None` without such pairs."""
        return self.flips / self.pairs if self.pairs else None

    @property
    def conformity(self) -> float | None:
        """Share of contested answers that changed to an answer of another agent; `None` without contested answers."""
        return self.followed / self.contested if self.contested else None


class CategoryReport(Value):
    """The results of one arm for the questions of one category."""

    category: str | None
    """The category; `None` for questions without one."""
    arm: str
    """The arm."""
    questions: int
    """Number of questions in the category."""
    correct: int
    """Number of these questions that were answered correctly."""
    accuracy: Share
    """Share of questions answered correctly."""
    interval: Interval
    """Wilson interval of the accuracy, 95 %."""
    movement: AnswerChanges | None
    """How the debates changed the answers of agents; `None` for a baseline."""


class StudyReport(Value):
    """The results of a study."""

    arms: tuple[ArmReport, ...]
    """Results of each arm: the single answer, then each mode with its baselines."""
    pairs: tuple[PairedReport, ...]
    """Comparisons of each mode with the single answer and with both baselines at its price, then of each pair of
    modes."""
    movements: tuple[AnswerChanges, ...]
    """How the debates of each mode changed the answers of agents."""
    answers: tuple[StudyAnswer, ...]
    """All answers."""
    failed: Mapping[str, str]
    """Questions that were left out, each with the reason."""
    resamples: int
    """Number of resamples for each bootstrap interval."""
    seed: int
    """Seed of the resampling."""

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that were studied."""
        return tuple(movement.mode for movement in self.movements)

    def arm(self, name: str) -> ArmReport:
        """Return the results of an arm.

        Raises:
            KeyError: No arm has this name.
        """
        report = next((report for report in self.arms if report.arm == name), None)
        if report is None:
            raise KeyError(f"the report has no arm {name!r}; it has: {listing([arm.arm for arm in self.arms])}")
        return report

    def worth(self, mode: str) -> Worth:
        """Return whether a mode is worth its price.

        `adopt` means that it is better than both baselines at its price, and `reject` that it is worse than one of
        them. All other cases are `conditional`: the study is too small to detect a difference, or there is none.

        Raises:
            KeyError: The study has no such mode.
        """
        if mode not in self.modes:
            raise KeyError(f"the study has no mode {mode!r}; it has: {listing(self.modes)}")
        baselines = _baselines_of(mode)
        verdicts = [pair.verdict for pair in self.pairs if pair.mode == mode and pair.baseline in baselines]
        if "worse" in verdicts:
            return "reject"
        return "adopt" if set(verdicts) == {"better"} else "conditional"

    def compare(self, mode: str, baseline: str) -> PairedReport:
        """Return the comparison of a mode with a baseline or another mode; the arguments may be in either order.

        The difference is always the accuracy of the first argument minus the accuracy of the second.

        Raises:
            KeyError: The report does not compare these two.
        """
        for pair in self.pairs:
            if (pair.mode, pair.baseline) == (mode, baseline):
                return pair
            if (pair.baseline, pair.mode) == (mode, baseline):
                return _mirror(pair)
        compared = listing([f"{pair.mode} with {pair.baseline}" for pair in self.pairs])
        raise KeyError(f"the report does not compare {mode!r} with {baseline!r}; it compares: {compared}")

    def calibration(self, arm: str) -> Calibration:
        """Return the reliability curve of an arm, in ten bins of equal width.

        Raises:
            KeyError: No arm has this name.
        """
        self.arm(arm)
        return _calibration(arm, [answer for answer in self.answers if answer.arm == arm])

    def frontier(self, price: Price = "calls") -> tuple[PricePoint, ...]:
        """Return the accuracy and the price of each arm, the cheapest first.

        An arm is on the frontier if no cheaper arm is at least as accurate, and no arm with the same price is more
        accurate.

        Args:
            price: Unit of the price.

        Raises:
            ConfigurationError: The price of an answer is not known.
        """
        return _frontier(self.arms, price)

    def by_category(self) -> tuple[CategoryReport, ...]:
        """Return the results of each arm for each category of questions, in the order of categories."""
        return _by_category(self.answers)

    def questions_to_see(self, difference: float, mode: str, baseline: str) -> int:
        """Return how many questions a study needs to show a difference in accuracy between two arms.

        The number depends on how often these two arms disagreed in this study, and on the number of comparisons in
        the report. Of studies with this number of questions, at least 80 % detect such a difference after Holm's
        correction. Source: R. Connor, Biometrics 43 (1987), at the strictest level of Holm's method.

        Args:
            difference: The difference; `0.03` is three percentage points.
            mode: A mode.
            baseline: The baseline or mode with which it is compared.

        Raises:
            KeyError: The report does not compare these two.
            ConfigurationError: The difference is not between 0 and 1.
        """
        pair, wanted = self.compare(mode, baseline), share(difference, "difference")
        disagreement = max(wanted, Fraction(pair.gained + pair.lost, self.arms[0].questions))
        return questions_to_see(difference, disagreement, comparisons=len(self.pairs))

    @property
    def plot(self) -> StudyPictures:
        """Pictures of the study, drawn with matplotlib (extra `plot`).

        `plot()` draws the accuracy of each arm; the other pictures are `plot.differences()`, `frontier`, `calibration`,
        `movement` and `categories`. Each returns its axes.
        """
        from roundtable.bench.pictures import StudyPictures

        return StudyPictures(self)

    def to_records(self) -> list[JsonObject]:
        """Return one flat row per question and arm."""
        return [
            {
                "questionId": answer.question_id,
                "arm": answer.arm,
                "answer": answer.answer,
                "correct": answer.correct,
                "confidence": answer.confidence,
                "calls": answer.usage.calls,
                "tokens": answer.usage.total_tokens,
                "costUsd": answer.usage.cost_usd,
                "question": answer.question,
                "gold": answer.gold,
                "category": answer.category,
                "sessionId": answer.session_id,
                "mode": answer.mode,
                "seed": answer.seed,
                "models": "; ".join(answer.models),
                "promptVersion": answer.prompt_version,
                "libraryVersion": answer.library_version,
            }
            for answer in self.answers
        ]

    def to_frame(self) -> DataFrame:
        """Return `to_records` as a pandas data frame (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), _COLUMNS)

    def to_markdown(self) -> str:
        """Render the tables and conclusions as Markdown."""
        return self._markdown(None)

    def _markdown(self, most: int | None) -> str:
        """Render the report.

        Args:
            most: Maximum rows of each table, and maximum failures; `None` for all.
        """
        by_category: list[CategoryReport] = []
        if len({answer.category for answer in self.answers}) > 1:
            by_category = [category for category in self.by_category() if category.arm in {_BASELINE, *self.modes}]
        lines = [
            f"{counted(self.arms[0].questions, 'question')} in every arm.",
            "",
            "| arm | right | 95 % | calls | calls per single call | Brier | ECE |",
            "|---|---|---|---|---|---|---|",
            *_at_most(most, map(_arm_line, self.arms)),
            "",
            *_unanswered_lines(self.arms),
            "| mode | compared with | gained | lost | difference | 95 % | p | p corrected | verdict |",
            "|---|---|---|---|---|---|---|---|---|",
            *_at_most(most, map(_pair_line, self.pairs)),
            "",
            *_at_most(most, (_movement_line(movement, self.worth(movement.mode)) for movement in self.movements)),
        ]
        if self.failed:
            count = counted(len(self.failed), "question")
            lines.append(f"- left out: {count} that failed in at least one arm.")
            lines += _at_most(most, (f"  - {_cell(question)}: {_cell(why)}" for question, why in self.failed.items()))
        if by_category:
            lines += ["", *_CATEGORY_HEAD, *_at_most(most, map(_category_line, by_category))]
        return "\n".join([*lines, "", self.sources]) + "\n"

    @property
    def sources(self) -> str:
        """The statistical methods and their sources, in a few sentences."""
        return (
            "95 % intervals: Wilson (1927) for shares; for differences, a paired bootstrap over questions (Efron and"
            f" Tibshirani 1993) with {self.resamples:,} resamples and seed {self.seed}. p: McNemar's exact test (1947),"
            f" corrected for {counted(len(self.pairs), 'comparison')} by Holm's method (1979)."
            " Calibration: Brier score (1950), and expected calibration error in ten bins (Naeini et al. 2015)."
        )

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        # All answers of a study would fill many screens.
        return [
            ("arms", len(self.arms)),
            ("questions", self.arms[0].questions if self.arms else 0),
            ("failed", len(self.failed)),
        ]

    def _repr_markdown_(self) -> str:
        # A notebook stores the output of its cells in its file.
        for most in (None, 40, 20, 10, 5):
            shown = self._markdown(most)
            if len(shown.encode()) <= MOST_BYTES:
                return shown
        return f"{self!r}\n"


def _at_most(most: int | None, rows: Iterable[str]) -> list[str]:
    """Return the first rows of a table or list, and a note on how many are left out."""
    listed = [*rows]
    left_out = 0 if most is None else len(listed) - most
    if left_out <= 0:
        return listed
    note = f"{counted(left_out, 'row')} left out; to_markdown() has all"
    return [*listed[:most], f"| {note} |" if listed[0].startswith("|") else f"- {note}"]


def _cell(text: str) -> str:
    """Return a text as one line, with Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def _arm_line(arm: ArmReport) -> str:
    right = f"{arm.correct} of {arm.questions} ({arm.accuracy:.0%})"
    times = "" if arm.cost_multiple is None else f"{arm.cost_multiple:.1f}"
    calibration = ["" if figure is None else f"{figure:.3f}" for figure in (arm.brier, arm.calibration_error)]
    interval, calls = _interval_text(arm.interval), arm.usage.calls
    return f"| {arm.arm} | {right} | {interval} | {calls} | {times} | {' | '.join(calibration)} |"


def _unanswered_lines(arms: Sequence[ArmReport]) -> list[str]:
    """Return which arms left questions without an answer; empty if none did."""
    counts = [f"{arm.arm} {arm.unanswered} of {arm.questions}" for arm in arms if arm.unanswered]
    if not counts:
        return []
    why = "the agents were tied or refused, or no answer could be read"
    return [f"Questions without an answer, which count as wrong ({why}): {', '.join(counts)}.", ""]


def _pair_line(pair: PairedReport) -> str:
    verdict: str = pair.verdict
    if verdict == "undecided" and pair.questions_needed is not None:
        verdict = f"undecided; a difference like this needs about {pair.questions_needed} questions"
    figures = (
        f"{pair.gained} | {pair.lost} | {pair.difference:+.1%} | {_interval_text(pair.interval)} | "
        f"{pair.p_value:.3g} | {pair.p_corrected:.3g}"
    )
    return f"| {pair.mode} | {pair.baseline} | {figures} | {verdict} |"


def _movement_line(movement: AnswerChanges, worth: Worth) -> str:
    change = f"{movement.wrong_to_right} answers corrected, {movement.right_to_wrong} made wrong"
    rates = [
        f"{rate:.0%} of {counted(of, noun)} {verb}"
        for rate, of, noun, verb in (
            (movement.flip_rate, movement.pairs, "successive answer", "changed"),
            (movement.conformity, movement.contested, "contested answer", "adopted another agent's"),
        )
        if rate is not None
    ]
    return f"- {movement.mode}: {worth}; {'; '.join([change, *rates])}."


def _category_line(row: CategoryReport) -> str:
    right = f"{row.correct} of {row.questions} ({row.accuracy:.0%})"
    moves = row.movement
    cells = [""] * 4
    if moves is not None:
        rates = [f"{rate:.0%}" if rate is not None else "" for rate in (moves.flip_rate, moves.conformity)]
        cells = [f"{moves.wrong_to_right}", f"{moves.right_to_wrong}", *rates]
    category = _cell(row.category or "none")
    return f"| {category} | {row.arm} | {right} | {_interval_text(row.interval)} | {' | '.join(cells)} |"


def _interval_text(interval: Interval) -> str:
    return f"{interval.low:.1%} to {interval.high:.1%}"


def report_of(
    answers: Sequence[StudyAnswer], failed: Mapping[str, str], *, resamples: int = 10_000, seed: int = 0
) -> StudyReport:
    """Create the report of a study from its answers. A pure function.

    Args:
        answers: The answer of every arm to every question.
        failed: Questions that were left out, each with the reason.
        resamples: Number of resamples for each bootstrap interval.
        seed: Seed of the resampling.

    Raises:
        ConfigurationError: There are neither answers nor failed questions.
        RoundtableError: Every question failed.
    """
    by_arm: dict[str, list[StudyAnswer]] = {}
    for answer in answers:
        by_arm.setdefault(answer.arm, []).append(answer)
    if not by_arm and not failed:
        raise ConfigurationError("a report needs at least one answer")
    if not by_arm:
        question, why = next(iter(failed.items()))
        raise RoundtableError(f"every question failed; {question!r}: {why}")
    calls = sum(answer.usage.calls for answer in by_arm[_BASELINE])
    modes = [arm for arm, arm_answers in by_arm.items() if arm_answers[0].moves is not None]
    compared = [(mode, baseline) for mode in modes for baseline in (_BASELINE, *_baselines_of(mode))]
    compared += combinations(modes, 2)
    p_values = [mcnemar_test(*_discordant(by_arm[mode], by_arm[baseline])) for mode, baseline in compared]
    corrected, sizes = holm_correction(p_values), _sizes(compared, by_arm)
    pairs = [
        _compare(
            mode,
            baseline,
            by_arm,
            p_value=float(p_value),
            p_corrected=float(p_corrected),
            resample=(resamples, seed),
            size_needed=size,
        )
        for (mode, baseline), p_value, p_corrected, size in zip(compared, p_values, corrected, sizes, strict=True)
    ]
    return StudyReport(
        arms=tuple(_arm(name, arm_answers, calls) for name, arm_answers in by_arm.items()),
        pairs=tuple(pairs),
        movements=tuple(_movement(mode, by_arm[mode]) for mode in modes),
        answers=tuple(answers),
        failed=dict(failed),
        resamples=resamples,
        seed=seed,
    )


def _baselines_of(mode: str) -> tuple[str, str]:
    """Return the names of the baselines at the price of a mode."""
    return f"self-consistency as {mode}", f"independent-vote as {mode}"


def _movement(mode: str, answers: Sequence[StudyAnswer]) -> AnswerChanges:
    moves = sum((answer.moves for answer in answers if answer.moves is not None), Moves())
    return AnswerChanges(mode=mode, debates=len(answers), **dict(moves))


def _discordant(new: Sequence[StudyAnswer], old: Sequence[StudyAnswer]) -> tuple[int, int]:
    """Return how many questions only the first of two arms got right, and how many only the second."""
    both = [(new_answer.correct, old_answer.correct) for new_answer, old_answer in zip(new, old, strict=True)]
    return both.count((True, False)), both.count((False, True))


def _ratings(answers: Sequence[StudyAnswer]) -> tuple[list[float], list[bool]]:
    """Return the confidences of answers, and whether each answer is right."""
    rated = [(answer.confidence, answer.correct) for answer in answers if answer.confidence is not None]
    return [confidence for confidence, _ in rated], [correct for _, correct in rated]


def _calibration(arm: str, answers: Sequence[StudyAnswer]) -> Calibration:
    forecasts, outcomes = _ratings(answers)
    brier, error = brier_score(forecasts, outcomes).value, expected_calibration_error(forecasts, outcomes).value
    members: dict[int, list[tuple[float, bool]]] = {}
    for forecast, outcome in zip(forecasts, outcomes, strict=True):
        # As in the calibration error, the exact value decides to which bin a confidence belongs.
        number = min(int(exact(forecast) * _BINS), _BINS - 1)
        members.setdefault(number, []).append((forecast, outcome))
    return Calibration(
        arm=arm,
        answers=len(forecasts),
        bins=tuple(
            ReliabilityBin(
                low=number / _BINS,
                high=(number + 1) / _BINS,
                answers=len(rated),
                confidence=exact_mean([forecast for forecast, _ in rated]),
                accuracy=sum(outcome for _, outcome in rated) / len(rated),
                interval=wilson_interval(sum(outcome for _, outcome in rated), len(rated), level=_LEVEL),
            )
            for number, rated in sorted(members.items())
        ),
        error=None if error is None else float(error),
        brier=None if brier is None else float(brier),
    )


def _frontier(arms: Sequence[ArmReport], price: Price) -> tuple[PricePoint, ...]:
    prices = {arm.arm: _price_of(arm, price) for arm in arms}
    ordered = sorted(arms, key=lambda arm: (prices[arm.arm], -arm.correct))
    return tuple(
        PricePoint(
            arm=arm.arm,
            questions=arm.questions,
            price=prices[arm.arm],
            accuracy=arm.accuracy,
            interval=arm.interval,
            on_frontier=not any(
                other.correct > arm.correct
                if prices[other.arm] == prices[arm.arm]
                else prices[other.arm] < prices[arm.arm] and other.correct >= arm.correct
                for other in arms
            ),
        )
        for arm in ordered
    )


def _price_of(arm: ArmReport, price: Price) -> float:
    match price:
        case "calls":
            total: float | None = arm.usage.calls
        case "tokens":
            total = arm.usage.total_tokens
        case "usd":
            total = arm.usage.cost_usd
        case _:
            raise ConfigurationError(f"unknown price {price!r}; choose calls, tokens or usd")
    if total is None:
        msg = f"the price of {arm.arm} is not known"
        raise ConfigurationError(msg, hint="Use price='calls' or 'tokens', or give the table the prices of its models.")
    return total / arm.questions


def _by_category(answers: Sequence[StudyAnswer]) -> tuple[CategoryReport, ...]:
    groups: dict[tuple[str | None, str], list[StudyAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.category, answer.arm), []).append(answer)
    categories = [*dict.fromkeys(category for category, _ in groups)]
    return tuple(
        CategoryReport(
            category=category,
            arm=arm,
            questions=len(arm_answers),
            correct=(right := sum(answer.correct for answer in arm_answers)),
            accuracy=right / len(arm_answers),
            interval=wilson_interval(right, len(arm_answers), level=_LEVEL),
            movement=None if arm_answers[0].moves is None else _movement(arm, arm_answers),
        )
        for (category, arm), arm_answers in sorted(groups.items(), key=lambda group: categories.index(group[0][0]))
    )


def _arm(name: str, answers: Sequence[StudyAnswer], single_calls: int) -> ArmReport:
    right = sum(answer.correct for answer in answers)
    forecasts, outcomes = _ratings(answers)
    brier, ece = brier_score(forecasts, outcomes).value, expected_calibration_error(forecasts, outcomes).value
    usage = sum((answer.usage for answer in answers), Usage())
    return ArmReport(
        arm=name,
        questions=len(answers),
        correct=right,
        unanswered=sum(answer.answer is None for answer in answers),
        accuracy=right / len(answers),
        interval=wilson_interval(right, len(answers), level=_LEVEL),
        usage=usage,
        cost_multiple=usage.calls / single_calls if single_calls else None,
        confidence=exact_mean(forecasts) if forecasts else None,
        brier=None if brier is None else float(brier),
        calibration_error=None if ece is None else float(ece),
    )


def _sizes(compared: Sequence[tuple[str, str]], by_arm: Mapping[str, Sequence[StudyAnswer]]) -> Sequence[int | None]:
    """Return, for each comparison, how many questions a study needs to reach its verdict."""
    if not compared:
        return ()
    differences = (
        [new.correct - old.correct for new, old in zip(by_arm[mode], by_arm[baseline], strict=True)]
        for mode, baseline in compared
    )
    return sizes_for_verdicts([*zip(*differences, strict=True)], level=Fraction(_LEVEL), power=Fraction(_POWER))


def _compare(
    mode: str,
    baseline: str,
    by_arm: Mapping[str, Sequence[StudyAnswer]],
    *,
    p_value: float,
    p_corrected: float,
    resample: tuple[int, int],
    size_needed: int | None,
) -> PairedReport:
    both = [(new.correct, old.correct) for new, old in zip(by_arm[mode], by_arm[baseline], strict=True)]
    gained, lost, size = both.count((True, False)), both.count((False, True)), len(both)
    resamples, seed = resample
    interval = paired_bootstrap([new - old for new, old in both], resamples=resamples, level=_LEVEL, seed=seed)
    verdict: StudyVerdict = "undecided"
    if p_corrected < 1 / 20 and (interval.low > 0 or interval.high < 0):
        verdict = "better" if gained > lost else "worse"
    return PairedReport(
        mode=mode,
        baseline=baseline,
        both_right=both.count((True, True)),
        gained=gained,
        lost=lost,
        both_wrong=both.count((False, False)),
        difference=(gained - lost) / size,
        interval=interval,
        p_value=p_value,
        p_corrected=p_corrected,
        verdict=verdict,
        questions_needed=size_needed,
    )


def _mirror(pair: PairedReport) -> PairedReport:
    """Return a comparison with mode and baseline exchanged."""
    verdicts: dict[StudyVerdict, StudyVerdict] = {"better": "worse", "worse": "better", "undecided": "undecided"}
    return pair.model_copy(
        update={
            "mode": pair.baseline,
            "baseline": pair.mode,
            "gained": pair.lost,
            "lost": pair.gained,
            # Subtracted from 0, since the negation of 0.0 would be printed with a sign.
            "difference": 0 - pair.difference,
            "interval": Interval(0 - pair.interval.high, 0 - pair.interval.low),
            "verdict": verdicts[pair.verdict],
        }
    )
