"""A criterion that breaks does not hold, does not break a debate, and is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from roundtable.exits import Exit, MaxRounds
from roundtable.exits.base import failed_criteria, guarded
from roundtable.types import ExitResult, RoundRecord

ROUNDS = [RoundRecord(number=1, complete=True)]


@dataclass(frozen=True, slots=True)
class Broken(Exit):
    """Raises, or returns something else."""

    kind = "broken"
    returned: Any = None

    def check(self, rounds: Sequence[Any]) -> ExitResult:
        if self.returned is None:
            raise KeyError("level")
        return self.returned  # type: ignore[no-any-return]


def test_a_criterion_that_works_decides() -> None:
    assert guarded(MaxRounds(1)).check(ROUNDS).should_exit
    assert not guarded(MaxRounds(2)).check(ROUNDS).should_exit
    assert guarded(MaxRounds(2)).to_spec() == MaxRounds(2).to_spec()


@pytest.mark.parametrize(
    ("criterion", "cause"),
    [(Broken(), "broken: KeyError: 'level'"), (Broken(True), "broken: it returned True instead of an ExitResult")],
)
def test_a_criterion_that_fails_does_not_hold(criterion: Broken, cause: str) -> None:
    result = guarded(criterion).check(ROUNDS)
    assert (result.should_exit, result.details) == (False, "it failed and was ignored")
    assert failed_criteria(result.figures) == (cause,)


def test_each_part_is_guarded_separately() -> None:
    either = guarded(Broken() | MaxRounds(1)).check(ROUNDS)
    assert either.should_exit
    both = guarded(Broken() & MaxRounds(1)).check(ROUNDS)
    assert not both.should_exit
    assert failed_criteria(both.figures) == ("broken: KeyError: 'level'",)


def test_figures_without_a_fault_do_not_mention_one() -> None:
    assert failed_criteria({}) == failed_criteria({"checked": "no list"}) == failed_criteria({"checked": [1]}) == ()
