"""Answers of every kind in words."""

from __future__ import annotations

import pytest

from roundtable.report import in_words
from roundtable.types import (
    AgentResponse,
    Answer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)


@pytest.mark.parametrize(
    ("answer", "says", "why"),
    [
        (AgentResponse(agent_id="a", agent_name="A", position="Tea.", reasoning="It keeps."), "Tea.", "It keeps."),
        (BallotAnswer(choice="Tea", reasoning="It keeps."), "votes: Tea", "It keeps."),
        (BallotAnswer(), "abstains", ""),
        (RankingAnswer(ranking=(("Tea",), ("Mate", "Milk"))), "ranks: Tea > Mate = Milk", ""),
        (ScoresAnswer(scores={"Tea": 8, "Milk": 2.5}, reasoning="Taste."), "scores: Tea 8, Milk 2.5", "Taste."),
        (
            PlanAnswer(goal="Tea", strategy="Boil.", success_criteria=("warm", "full")),
            "plans: Tea",
            "Boil.\n- warm\n- full",
        ),
        (PlanAnswer(goal="Tea"), "plans: Tea", ""),
        (TextAnswer(text=" One.\nTwo.\n\nThree. "), "One.", "Two.\n\nThree."),
    ],
    ids=lambda given: getattr(given, "kind", None),
)
def test_an_answer_of_any_kind_is_a_line_and_its_reasons(answer: Answer, says: str, why: str) -> None:
    assert in_words(answer) == (says, why)
