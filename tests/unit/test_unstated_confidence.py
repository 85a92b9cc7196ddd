"""A confidence that nobody stated counts nowhere: not as a figure, a sign, a weight or a line of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from snapshots.prompt_views import view

from roundtable import AgentResponse
from roundtable.analysis import debate_health, detect_groupthink
from roundtable.analysis.ai import analysis_messages
from roundtable.bench.metrics import measure_content
from roundtable.compat.mode_parts import ConfidenceRangeValidator
from roundtable.exits import AllConfident
from roundtable.modes.context import calculate_stats
from roundtable.prompts import Fence
from roundtable.scoring import Choice, ballot_from_answer, decide
from roundtable.types import AgentConfig, RoundRecord, Turn, TurnResult

if TYPE_CHECKING:
    from collections.abc import Sequence


def said(name: str, confidence: float | None, **more: str) -> AgentResponse:
    facts = {"agent_id": name, "agent_name": name, "position": "Yes.", "confidence": confidence} | more
    return AgentResponse.model_validate(facts)


SURE, SILENT = said("ada", 0.9), said("bo", None)


def recorded(number: int, answers: Sequence[AgentResponse]) -> RoundRecord:
    turns = tuple(
        Turn(
            round=number,
            stage="positions",
            slot=slot,
            agent_id=answer.agent_id,
            timestamp=answer.timestamp,
            result=TurnResult(answer=answer),
        )
        for slot, answer in enumerate(answers)
    )
    return RoundRecord(number=number, turns=turns, complete=True)


def test_an_unstated_confidence_is_not_counted_as_high() -> None:
    assert any(sign.startswith("everybody is sure") for sign in detect_groupthink([SURE, said("bo", 0.9)]).indicators)
    for answers in ([SURE, SILENT], [SILENT, said("cy", None)]):
        assert not any(sign.startswith("everybody is sure") for sign in detect_groupthink(answers).indicators)
        result = AllConfident(0.5).check([recorded(1, answers)])
        assert not result.should_exit
        assert "no confidence" in result.details


def test_an_exit_says_how_many_answers_state_no_confidence() -> None:
    result = AllConfident(0.5).check([recorded(1, [SURE, SILENT])])
    assert result.details == "1 of 2 answers state no confidence"


def test_means_use_only_stated_confidences() -> None:
    stats = calculate_stats([SURE, SILENT])
    assert (stats.participant_count, stats.average_confidence, stats.median_confidence) == (2, 90, 90)
    assert calculate_stats([SILENT]).average_confidence == 0
    content = measure_content([[SURE], [SILENT]])
    assert (content.avg_confidence, content.confidence_variance) == (0.9, 0)
    assert measure_content([[SILENT]]).avg_confidence == 0


@pytest.mark.parametrize("first", [None, 0.2])
def test_an_unstated_confidence_does_not_count_as_a_rise(first: float | None) -> None:
    rounds = [
        recorded(1, [said("ada", first), said("bo", first)]),
        recorded(2, [said("ada", None), said("bo", None)]),
    ]
    agents = [AgentConfig(id=name, name=name, provider="scripted") for name in ("ada", "bo")]
    for order in (rounds, [recorded(1, rounds[1].responses), recorded(2, rounds[0].responses)]):
        health = debate_health(order, agents)
        assert health is not None
        assert "confidence-only" not in {flag.name for flag in health.flags}


def test_rules_and_validators_ignore_an_unstated_confidence() -> None:
    ballot = ballot_from_answer(said("ada", None, choice="Tea"))
    assert ballot == Choice("Tea", confidence=None)
    decision = decide([ballot, Choice("Milk", 0.1)], rule="confidence-weighted")
    assert (decision.winner, decision.invalid) == ("Milk", {0: "it reports no confidence"})
    assert ConfidenceRangeValidator().validate(SILENT, view()) is SILENT


def test_prompts_do_not_mention_an_unstated_confidence() -> None:
    prompt = "\n".join(
        message.content for message in analysis_messages([SURE, SILENT], "Tea?", Fence("0" * 16), groupthink=False)
    )
    assert prompt.count("Confidence:") == 1
