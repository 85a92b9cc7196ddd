"""Recorded replies with settled answers: few are misread or lost, and no unanimous round is called dissent."""

from __future__ import annotations

import pytest
from reading_kit import SETTLED, TRANSCRIPTS, Held, hold, judge, read, recorded_replies, recorded_rounds

from roundtable.reading import QuestionKind

pytestmark = pytest.mark.skipif(
    not (TRANSCRIPTS.is_file() and SETTLED.is_file()),
    reason="the recorded debates and their settled answers are not beside the checkout; set ROUNDTABLE_SHARED_DATA",
)

MOST_MISREAD, MOST_LOST, MOST_LEFT_OPEN = 0.005, 0.05, 0.2
EVERY = 3
"""One round of so many is held again: all of them take half a minute."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        pytest.param("choice", "choice", id="choices"),
        pytest.param("number", "open", id="numbers, as a debate reads them"),
        pytest.param("number", "number", id="numbers, as a study reads them"),
    ],
)
def test_few_recorded_replies_are_misread_or_lost(kind: QuestionKind, asked: QuestionKind) -> None:
    outcomes = {reply.key: judge(reply, read(reply, asked)) for reply in recorded_replies() if reply.kind == kind}
    misread = [key for key, outcome in outcomes.items() if outcome == "misread"]
    lost = [key for key, outcome in outcomes.items() if outcome == "lost"]
    assert len(outcomes) > 1000
    assert len(misread) <= MOST_MISREAD * len(outcomes), misread
    assert len(lost) <= MOST_LOST * len(outcomes), lost


@pytest.fixture(scope="module")
def held_rounds() -> list[Held]:
    return [hold(recorded) for recorded in recorded_rounds()[::EVERY]]


@pytest.mark.slow
def test_no_two_recorded_answers_that_differ_are_called_the_same(held_rounds: list[Held]) -> None:
    pairs = [pair for held in held_rounds for pair in held.pairs()]
    assert len(pairs) > 1000
    assert not [name for right, found, name in pairs if (right, found) == ("different", "same")]


def test_unanimous_recorded_rounds_are_called_unanimous_or_left_open(held_rounds: list[Held]) -> None:
    unanimous = [held for held in held_rounds if held.recorded.is_unanimous]
    dissent = [held.recorded.key for held in unanimous if held.is_dissent]
    left_open = [held.recorded.key for held in unanimous if not held.is_agreed and not held.is_dissent]
    assert len(unanimous) > 100
    assert not dissent
    assert len(left_open) <= MOST_LEFT_OPEN * len(unanimous), left_open
