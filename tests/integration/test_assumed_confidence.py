"""A confidence that no agent stated is 0.5 in the stored turn, and in no figure, recommendation or view."""

from __future__ import annotations

import json

import pytest
from integration.engine_kit import table_of

from roundtable.analysis.response import build_response
from roundtable.bench import Question, run_study
from roundtable.mcp.views import answers_by
from roundtable.testing import ScriptedModel

SILENT = json.dumps({"position": "Tea", "reasoning": "It keeps.", "bottom_line": "Tea"})
STATED = json.dumps({"position": "Tea", "reasoning": "It keeps.", "bottom_line": "Tea", "confidence": 0.9})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_advice_and_views_leave_an_assumed_confidence_out() -> None:
    model = ScriptedModel({"ada": [SILENT], "bo": [SILENT]})
    async with table_of(model, "ada", "bo") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
        assert [response.confidence for response in result.rounds[0].responses] == [0.5, 0.5]
        assert [response.confidence for response in result.rounds[0].as_stated.responses] == [None, None]
        layers = build_response(result)
        assert layers is not None
        assert "mean confidence" not in layers.decision.action_recommendation.reason
        assert "no answer states a confidence" in layers.decision.action_recommendation.reason
        assert not any("Low confidence" in hint.reason for hint in layers.metadata.verification_hints)
        assert [summary.confidence for summary in layers.agent_responses] == [None, None]
        assert "mean confidence" not in result.to_markdown().casefold()


async def test_mcp_sends_no_assumed_confidence() -> None:
    model = ScriptedModel({"ada": [SILENT], "bo": [STATED]})
    async with table_of(model, "ada", "bo") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
    assert [answers_by(result, name)[0].confidence for name in ("ada", "bo")] == [None, 0.9]


@pytest.mark.parametrize("reply", [SILENT, STATED])
async def test_a_study_calibrates_stated_confidences_only(reply: str) -> None:
    model = ScriptedModel({"ada": [reply] * 9, "bo": [reply] * 9})
    async with table_of(model, "ada", "bo") as table:
        question = Question(id="q", question="Tea or coffee?", gold="Tea")
        report = await run_study(table, [question], rounds=1, resamples=100)
    is_stated = reply == STATED
    assert all((arm.confidence is not None) == is_stated for arm in report.arms)
    assert all((arm.brier is not None) == is_stated for arm in report.arms)
