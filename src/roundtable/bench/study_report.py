"""What a study found: how often each way was right, and whether the difference is more than chance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._frames import frame_of
from roundtable.bench.arms import StudyAnswer
from roundtable.bench.statistics import Interval, mcnemar_test, paired_bootstrap, questions_needed, wilson_interval
from roundtable.errors import RoundtableError
from roundtable.scoring import Transitions, brier_score, expected_calibration_error
from roundtable.scoring.words import counted
from roundtable.types import Share, Usage, Value

if TYPE_CHECKING:
    from pandas import DataFrame

    from roundtable.types import JsonObject

__all__ = ["ArmReport", "Movement", "PairedReport", "StudyReport", "StudyVerdict", "Worth", "report_of"]

StudyVerdict: TypeAlias = Literal["better", "worse", "undecided"]
"""What a pair of ways came to."""
Worth: TypeAlias = Literal["adopt", "reject", "conditional"]
"""Whether a mode is worth its price."""

_LEVEL: Final = "0.95"
_COLUMNS: Final = ("questionId", "arm", "answer", "correct", "confidence", "calls", "tokens", "costUsd")


class ArmReport(Value):
    """How one way of answering did."""

    arm: str
    """Which way; a baseline names the mode whose price it had."""
    questions: int
    """Questions asked in every way."""
    correct: int
    """Of these, answered rightly."""
    unanswered: int
    """Of these, left without an answer: a tie, or nobody gave one."""
    accuracy: Share
    """Share answered rightly."""
    interval: Interval
    """Wilson interval of it, 95 %."""
    usage: Usage
    """What all answers consumed."""
    cost_multiple: float | None
    """Calls for each call of the single answer."""
    confidence: Share | None
    """Mean reported confidence of answers."""
    brier: float | None
    """Brier score of confidence: 0 is perfect, 0.25 is what always saying 0.5 gets."""
    calibration_error: float | None
    """Expected calibration error in ten bins: 0 is calibrated."""


class PairedReport(Value):
    """A mode beside a baseline, question by question."""

    mode: str
    """The mode."""
    baseline: str
    """What it stands beside."""
    both_right: int
    """Questions that both got right."""
    gained: int
    """Questions that only the mode got right."""
    lost: int
    """Questions that only the baseline got right."""
    both_wrong: int
    """Questions that both got wrong."""
    difference: float
    """Accuracy of the mode less that of the baseline."""
    interval: Interval
    """Paired bootstrap interval of it, 95 %."""
    p_value: float
    """Of McNemar's exact test."""
    verdict: StudyVerdict
    """`"better"` or `"worse"` where the interval leaves out 0 and p is below 0.05."""
    questions_needed: int | None
    """Questions that a study needs to see a difference of this size four times in five; `None` without one."""


class Movement(Value):
    """What a debate did to answers, from its first round to its last."""

    mode: str
    """The mode."""
    kept_right: int
    """Answers right before and after."""
    right_to_wrong: int
    """Answers that the debate spoilt."""
    wrong_to_right: int
    """Answers that it mended."""
    kept_wrong: int
    """Answers wrong before and after."""


class StudyReport(Value):
    """What a study found."""

    arms: tuple[ArmReport, ...]
    """How each way did: the single answer, then each mode with its baselines."""
    pairs: tuple[PairedReport, ...]
    """Each mode beside the single answer and both baselines at its price."""
    movements: tuple[Movement, ...]
    """What each debate did to answers."""
    answers: tuple[StudyAnswer, ...]
    """Every answer."""
    failed: Mapping[str, str]
    """Questions that were left out, and why."""

    def arm(self, name: str) -> ArmReport:
        """Give one way by its name.

        Raises:
            KeyError: There is no such way.
        """
        found = next((one for one in self.arms if one.arm == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def worth(self, mode: str) -> Worth:
        """Say whether a mode is worth its price.

        Adopt: better than both baselines at its price. Reject: worse than one of them. Anything else is conditional:
        the study is too small to tell, or there is nothing to tell.

        Raises:
            KeyError: The study had no such mode.
        """
        found = [one.verdict for one in self.pairs if one.mode == mode and one.baseline != "single"]
        if not found:
            raise KeyError(mode)
        if "worse" in found:
            return "reject"
        return "adopt" if set(found) == {"better"} else "conditional"

    def to_records(self) -> list[JsonObject]:
        """Give one flat row per question and way."""
        return [
            {
                "questionId": one.question_id,
                "arm": one.arm,
                "answer": one.answer,
                "correct": one.correct,
                "confidence": one.confidence,
                "calls": one.usage.calls,
                "tokens": one.usage.total_tokens,
                "costUsd": one.usage.cost_usd,
            }
            for one in self.answers
        ]

    def to_frame(self) -> DataFrame:
        """Give `to_records` as a data frame of pandas (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), _COLUMNS)

    def to_markdown(self) -> str:
        """Render both tables, and what follows, as Markdown."""
        lines = [
            "| way | right | 95 % | calls | calls per single call | Brier | ECE |",
            "|---|---|---|---|---|---|---|",
            *(_arm_line(one) for one in self.arms),
            "",
            "| mode | beside | gained | lost | difference | 95 % | p | verdict |",
            "|---|---|---|---|---|---|---|---|",
            *(_pair_line(one) for one in self.pairs),
            "",
        ]
        for moved in self.movements:
            mended = f"{moved.wrong_to_right} answers mended, {moved.right_to_wrong} spoilt"
            lines.append(f"- {moved.mode}: {self.worth(moved.mode)}; {mended}.")
        if self.failed:
            count = counted(len(self.failed), "question")
            lines.append(f"- left out: {count} that failed in at least one way.")
            lines += [f"  - {_cell(question)}: {_cell(why)}" for question, why in self.failed.items()]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _cell(text: str) -> str:
    """Give a text as one line in which nothing is Markdown."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def _arm_line(one: ArmReport) -> str:
    right = f"{one.correct} of {one.questions} ({one.accuracy:.0%})"
    times = "" if one.cost_multiple is None else f"{one.cost_multiple:.1f}"
    sure = ["" if figure is None else f"{figure:.3f}" for figure in (one.brier, one.calibration_error)]
    return f"| {one.arm} | {right} | {_span(one.interval)} | {one.usage.calls} | {times} | {' | '.join(sure)} |"


def _pair_line(one: PairedReport) -> str:
    verdict: str = one.verdict
    if verdict == "undecided" and one.questions_needed is not None:
        verdict = f"undecided; a difference like this needs about {one.questions_needed} questions"
    figures = f"{one.gained} | {one.lost} | {one.difference:+.1%} | {_span(one.interval)} | {one.p_value:.3g}"
    return f"| {one.mode} | {one.baseline} | {figures} | {verdict} |"


def _span(interval: Interval) -> str:
    return f"{interval.low:.1%} to {interval.high:.1%}"


def report_of(
    answers: Sequence[StudyAnswer],
    moved: Mapping[str, Transitions],
    failed: Mapping[str, str],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> StudyReport:
    """Put the answers of a study together; pure.

    Args:
        answers: What every way said to every question.
        moved: By mode, what debate did to answers.
        failed: Questions that were left out, and why.
        resamples: Draws of each bootstrap interval.
        seed: Seed of these draws.

    Raises:
        RoundtableError: Every question failed.
    """
    by_arm: dict[str, list[StudyAnswer]] = {}
    for one in answers:
        by_arm.setdefault(one.arm, []).append(one)
    if not by_arm:
        question, why = next(iter(failed.items()))
        raise RoundtableError(f"every question failed; {question!r}: {why}")
    single = by_arm["single"]
    calls = sum(one.usage.calls for one in single)
    pairs = [
        _paired(mode, baseline, by_arm, resamples, seed)
        for mode in moved
        for baseline in ("single", f"self-consistency as {mode}", f"independent-vote as {mode}")
    ]
    return StudyReport(
        arms=tuple(_arm(name, held, calls) for name, held in by_arm.items()),
        pairs=tuple(pairs),
        movements=tuple(
            Movement(
                mode=mode,
                kept_right=one.kept_right,
                right_to_wrong=one.right_to_wrong,
                wrong_to_right=one.wrong_to_right,
                kept_wrong=one.kept_wrong,
            )
            for mode, one in moved.items()
        ),
        answers=tuple(answers),
        failed=dict(failed),
    )


def _arm(name: str, held: Sequence[StudyAnswer], single_calls: int) -> ArmReport:
    right = sum(one.correct for one in held)
    sure = [(one.confidence, one.correct) for one in held if one.confidence is not None]
    forecasts, outcomes = [confidence for confidence, _ in sure], [correct for _, correct in sure]
    brier, ece = brier_score(forecasts, outcomes).value, expected_calibration_error(forecasts, outcomes).value
    usage = sum((one.usage for one in held), Usage())
    return ArmReport(
        arm=name,
        questions=len(held),
        correct=right,
        unanswered=sum(one.answer is None for one in held),
        accuracy=right / len(held),
        interval=wilson_interval(right, len(held), level=_LEVEL),
        usage=usage,
        cost_multiple=usage.calls / single_calls if single_calls else None,
        confidence=sum(forecasts) / len(forecasts) if forecasts else None,
        brier=None if brier is None else float(brier),
        calibration_error=None if ece is None else float(ece),
    )


def _paired(
    mode: str, baseline: str, by_arm: Mapping[str, Sequence[StudyAnswer]], resamples: int, seed: int
) -> PairedReport:
    both = [(new.correct, old.correct) for new, old in zip(by_arm[mode], by_arm[baseline], strict=True)]
    gained, lost, size = both.count((True, False)), both.count((False, True)), len(both)
    interval = paired_bootstrap([new - old for new, old in both], resamples=resamples, level=_LEVEL, seed=seed)
    p_value = mcnemar_test(gained, lost)
    verdict: StudyVerdict = "undecided"
    if p_value < 1 / 20 and (interval.low > 0 or interval.high < 0):
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
        p_value=float(p_value),
        verdict=verdict,
        questions_needed=questions_needed(f"{gained}/{size}", f"{lost}/{size}", level=_LEVEL),
    )
