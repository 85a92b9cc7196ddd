"""A confidence that no agent stated is shown nowhere and counts in no figure, also of answers that were not read."""

from __future__ import annotations

import re

import pytest

import roundtable as rt
from roundtable.cli.event_printer import turn_lines
from roundtable.mcp.read_tools import answers_by
from roundtable.providers.scripted import ScriptedModel
from roundtable.results import DebateResult

REPLIES = {
    "ada": "B",
    "bo": "The answer is B.",
    "cy": "Hmm, no.",
    "dee": "I would say that it depends on the weather, on the price and on much else besides.",
    "eli": '{"choice": "A"} or {"choice": "B"}',
    "fay": "...",
}
SHARE = re.compile(r"50 ?%|0\.50?\b")


@pytest.fixture(scope="module")
def result() -> DebateResult:
    agents = [
        rt.BaseAgent(rt.AgentConfig(id=name, name=name, provider="scripted"), ScriptedModel([reply] * 2))
        for name, reply in REPLIES.items()
    ]
    options = ["A) Lisbon", "B) Porto"]
    return rt.debate_sync("Which?", agents=agents, rounds=1, options=options, storage="memory://")


def test_every_answer_was_given(result: DebateResult) -> None:
    assert {turn.agent_id for turn in result.rounds[-1].turns if turn.outcome == "answered"} == set(REPLIES)


def test_no_answer_has_a_confidence(result: DebateResult) -> None:
    assert {answer.confidence for answer in result.rounds[-1].as_stated.responses} == {None}


def test_the_recommendation_names_no_confidence(result: DebateResult) -> None:
    recommendation = result.response.decision.action_recommendation
    assert recommendation is not None
    assert "mean confidence" not in recommendation.reason


def test_the_command_shows_no_confidence(result: DebateResult) -> None:
    lines = [str(part) for turn in result.rounds[-1].turns for part in turn_lines(turn)[:1]]
    assert len(lines) == len(REPLIES)
    assert [text for text in lines if SHARE.search(text)] == []


@pytest.mark.parametrize("format", ["markdown", "html", "text"])
def test_a_report_shows_no_confidence(result: DebateResult, format: str) -> None:
    report = {"markdown": result.to_markdown, "html": result.to_html, "text": result.__str__}[format]()
    report = re.sub(r"<style.*?</style>", "", report, flags=re.DOTALL)
    assert re.findall(r"50 ?% confident|Confidence: 50|\(50 ?%\)", report) == []


def test_the_mcp_server_shows_no_confidence_and_the_bare_answer(result: DebateResult) -> None:
    shown = [answer for name in REPLIES for answer in answers_by(result, name)]
    assert {answer.confidence for answer in shown} == {None}
    assert len(shown) == len(REPLIES)
