"""How many questions a study needs for a verdict, for the corrected test that decides each verdict."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.bench.statistics import questions_needed
from roundtable.metrics.intervals import normal_reach, tail_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["sizes_for_verdicts"]

_RUNS: Final = 2_000
"""Number of simulated studies; the share of studies that reach a verdict is then known within 0.02."""
_PRECISION: Final = 200
"""The number of questions is searched to one part in this number."""


class _Deviation(NamedTuple):
    """By how much the counts of a comparison deviate from their means in a simulated study of one question."""

    gained: float
    lost: float


class _Simulation:
    """Simulated repetitions of a study, of any number of questions, whose questions are drawn from the study.

    The counts of questions with the same outcome in every comparison are multinomial; they are drawn from the normal
    distribution with the same means and covariances. The same draws serve studies of all sizes.

    Args:
        outcomes: For each question, its outcome in each comparison: 1 gained, -1 lost, 0 neither.
        level: Confidence level of the verdict.
        seed: Seed of the simulation.
    """

    def __init__(self, outcomes: Sequence[tuple[int, ...]], level: Fraction, seed: int) -> None:
        size, count = len(outcomes), len(outcomes[0])
        shares = {outcome: number / size for outcome, number in Counter(outcomes).items()}
        patterns = [*shares]
        self._places = [
            tuple([place for place, outcome in enumerate(patterns) if outcome[index] == sign] for sign in (1, -1))
            for index in range(count)
        ]
        self._means = [
            (sum(row[index] > 0 for row in outcomes) / size, sum(row[index] < 0 for row in outcomes) / size)
            for index in range(count)
        ]
        # Holm's method tests the smallest p-value at level/count, the second smallest at level/(count - 1), and so on.
        tail = tail_of(level)
        self._limits = [normal_reach(tail / (count - step), "level") for step in range(count)]
        draw = Random(seed)
        self._runs = [self._deviations(shares, draw) for _ in range(_RUNS)]

    def _deviations(self, shares: dict[tuple[int, ...], float], draw: Random) -> list[_Deviation]:
        noise = [math.sqrt(share) * draw.gauss(0, 1) for share in shares.values()]
        total = sum(math.sqrt(share) * part for share, part in zip(shares.values(), noise, strict=True))
        parts = [part - share * total for share, part in zip(shares.values(), noise, strict=True)]
        return [
            _Deviation(sum(parts[place] for place in gained), sum(parts[place] for place in lost))
            for gained, lost in self._places
        ]

    def power(self, wanted: int, questions: int) -> float:
        """Return the share of studies of this size that reach a verdict in a comparison."""
        return sum(self._decides(wanted, questions, run) for run in self._runs) / _RUNS

    def _decides(self, wanted: int, questions: int, run: Sequence[_Deviation]) -> bool:
        own = self._reach(wanted, questions, run)
        if own > self._limits[0] or own <= self._limits[-1]:
            return own > self._limits[0]
        others = (self._reach(index, questions, run) for index in range(len(run)) if index != wanted)
        for reach, limit in zip(sorted(others, reverse=True), self._limits, strict=False):
            if own > limit:
                return True
            if reach <= limit:
                return False
        return own > self._limits[-1]

    def _reach(self, index: int, questions: int, run: Sequence[_Deviation]) -> float:
        """Return McNemar's statistic with the continuity correction, which the exact test follows closely."""
        (gained_share, lost_share), deviation, root = self._means[index], run[index], math.sqrt(questions)
        gained = max(round(questions * gained_share + root * deviation.gained), 0)
        lost = max(round(questions * lost_share + root * deviation.lost), 0)
        return (abs(gained - lost) - 1) / math.sqrt(gained + lost) if gained != lost else 0.0


def sizes_for_verdicts(
    outcomes: Sequence[tuple[int, ...]], *, level: Fraction, power: Fraction, seed: int = 0
) -> list[int | None]:
    """Return, for each comparison, how many questions a study needs so that most such studies reach its verdict.

    A verdict counts only after Holm's correction, which depends on the other comparisons. So repetitions of the whole
    study are simulated, with questions like those of the study.

    Args:
        outcomes: For each question, its outcome in each comparison: 1 if only the mode got it right, -1 if only the
            baseline did, else 0.
        level: Confidence level of the verdict.
        power: Share of studies that reach the verdict.
        seed: Seed of the simulation.

    Returns:
        The numbers of questions; `None` for a comparison without a difference.

    Example:
        >>> from fractions import Fraction
        >>> sizes_for_verdicts([(1, 0)] * 3 + [(-1, 0)] + [(0, 0)] * 6, level=Fraction(19, 20), power=Fraction(4, 5))
        [102, None]
    """
    simulation = _Simulation(outcomes, level, seed)
    sizes: list[int | None] = []
    for index in range(len(outcomes[0])):
        if not sum(row[index] for row in outcomes):
            sizes.append(None)
            continue
        gained, lost = (Fraction(sum(row[index] == sign for row in outcomes), len(outcomes)) for sign in (1, -1))
        low, high = 0, questions_needed(gained, lost, level=level, power=power) or 1
        while simulation.power(index, high) < power:
            low, high = high, 3 * high // 2 + 1
        while high - low > max(1, high // _PRECISION):
            middle = (low + high) // 2
            low, high = (low, middle) if simulation.power(index, middle) >= power else (middle, high)
        sizes.append(high)
    return sizes
