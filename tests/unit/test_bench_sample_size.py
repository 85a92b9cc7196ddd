"""The number of questions that a report asks for is the number at which its own verdict is reached."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest

from roundtable.bench import holm_correction, mcnemar_test, questions_needed, questions_to_see, smallest_difference
from roundtable.bench.sample_size import sizes_for_verdicts
from roundtable.errors import ConfigurationError

_p_value = cache(mcnemar_test)


def found(rows: list[tuple[int, ...]], index: int, questions: int, runs: int) -> float:
    """Return how often the corrected exact test finds a difference in repetitions of a study."""
    draw, count = Random(5), 0
    for _ in range(runs):
        drawn = Counter(draw.choices(rows, k=questions))
        p_values = [
            _p_value(*(sum(times for row, times in drawn.items() if row[place] == sign) for sign in (1, -1)))
            for place in range(len(rows[0]))
        ]
        count += holm_correction(p_values)[index] < Fraction(1, 20)
    return count / runs


def compared_arms() -> list[tuple[int, ...]]:
    """Return the outcomes of five arms of different accuracy on 80 questions, in eight comparisons."""
    draw = Random(1)
    arms = [[draw.random() < share for share in (0.5, 0.55, 0.62, 0.7, 0.6)] for _ in range(80)]
    pairs = ((2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1), (3, 2), (4, 3))
    return [tuple(int(arm[new]) - int(arm[old]) for new, old in pairs) for arm in arms]


STUDIES: dict[str, list[tuple[int, ...]]] = {
    "one comparison": [(1,)] * 5 + [(-1,)] * 2 + [(0,)] * 13,
    "beside one without a difference": [(1, 0)] * 3 + [(-1, 0)] + [(0, 0)] * 6,
    "three that depend on each other": [(1, 1, 1)] * 4
    + [(-1, -1, -1)]
    + [(1, 0, 0)] * 2
    + [(0, 1, 0), (0, -1, 1)]
    + [(0, 0, 0)] * 11,
    "eight of five arms": compared_arms(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_with_the_number_of_questions_named_four_studies_in_five_reach_the_verdict(name: str) -> None:
    rows = STUDIES[name]
    sizes = sizes_for_verdicts(rows, level=Fraction("0.95"), power=Fraction("0.8"))
    measured = {
        index: found(rows, index, size, 2_000) for index, size in enumerate(sizes) if size is not None and size < 400
    }
    assert measured
    assert all(0.77 <= power <= 0.83 for power in measured.values()), measured


def test_the_correction_asks_for_more_questions_and_a_certain_difference_for_few() -> None:
    options: Any = {"level": Fraction("0.95"), "power": Fraction("0.8")}
    alone = sizes_for_verdicts([(1,)] * 5 + [(-1,)] * 2 + [(0,)] * 13, **options)[0]
    beside = sizes_for_verdicts([(1, 0, 0)] * 5 + [(-1, 0, 0)] * 2 + [(0, 0, 0)] * 13, **options)
    assert alone is not None
    assert beside[0] is not None
    assert beside[0] > 1.2 * alone
    assert beside[1:] == [None, None]
    assert sizes_for_verdicts([(1,)] * 4, **options) == [6]
    assert sizes_for_verdicts([(-1,)], **options) == [6]


def test_plans_for_several_comparisons_are_made_at_the_strictest_level() -> None:
    level = Fraction(79, 80)
    assert questions_needed("0.2", "0.1", comparisons=4) == questions_needed("0.2", "0.1", level=level)
    assert questions_to_see("0.03", "0.2", comparisons=4) == questions_to_see("0.03", "0.2", level=level) == 2476
    assert smallest_difference(200, "0.2", comparisons=4) == smallest_difference(200, "0.2", level=level)
    for wrong in (0, 1.5, True):
        with pytest.raises(ConfigurationError, match="comparisons must be"):
            questions_needed("0.2", "0.1", comparisons=wrong)  # type: ignore[arg-type]
