"""Options that differ only in letter case, brackets, superscripts or signs are different options everywhere."""

from __future__ import annotations

import json

import pytest

from roundtable import sync
from roundtable.agents import BaseAgent
from roundtable.analysis import StanceAnalyzer
from roundtable.bench.arms import Reader
from roundtable.bench.questions import Question
from roundtable.exits.compare import answers_of
from roundtable.modes.context import calculate_stats
from roundtable.results.debate_result import DebateResult
from roundtable.scoring.normalisation import match_option
from roundtable.testing import ScriptedModel
from roundtable.types import AgentConfig, AgentResponse, Usage

LISTS = [
    ["AA", "Aa", "aa"],
    ["CO", "Co"],
    ["5 mW", "5 MW"],
    ["-d", "-D"],
    ["n", "n!"],
    ["*p", "&p", "p"],
    ["[0, 1]", "(0, 1)"],
    ["10²", "102"],
    ["5'", '5"'],
    [".NET", "NET"],
    ["C", "C++", "C#"],
]


def debate(options: list[str], *choices: str, **more: object) -> DebateResult:
    """Run a debate of two rounds in which each agent chooses an option."""
    replies = {
        f"a{number}": [json.dumps({"position": "I say why.", "reasoning": "r", "confidence": 0.8, "choice": choice})]
        * 4
        for number, choice in enumerate(choices)
    }
    model = ScriptedModel(replies)
    agents = [BaseAgent(AgentConfig(id=name, name=name, provider="scripted"), model) for name in replies]
    with sync.Roundtable(agents, storage="memory://") as table:
        return table.debate("Which one?", options=options, **{"rounds": 2, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("options", LISTS)
def test_each_option_has_its_own_votes(options: list[str]) -> None:
    result = debate(options, *options, options[-1])
    assert result.answer == options[-1]
    assert result.decision is not None
    assert result.decision.scores == dict.fromkeys(options[:-1], 1.0) | {options[-1]: 2.0}
    assert result.consensus is not None
    assert sorted(len(cluster.agent_ids) for cluster in result.consensus.clusters) == [1] * (len(options) - 1) + [2]
    report = result.minority_report
    assert report is not None
    assert sorted(dissent.choice or "" for dissent in report.dissents) == sorted(options[:-1])
    assert result.baselines is not None
    assert (result.baselines.majority, result.baselines.answer_changed) == (options[-1], False)
    switches = [row for row in result.audit().switches if row.option in options]
    assert {row.option for row in switches} <= set(options)
    assert len(switches) > 0


def test_votes_for_alike_options_count_as_dissent_for_exits_statistics_and_analyzers() -> None:
    said = [AgentResponse(agent_id=name, agent_name=name, position="x", choice=name) for name in ("CO", "Co")]
    assert StanceAnalyzer().analyze(said).agreement_level == 0.0
    assert calculate_stats(said).position_distribution == {"CO": 1, "Co": 1}
    result = debate(["CO", "Co"], "CO", "Co")
    assert answers_of(result.rounds).rounds == ({"a0": "CO", "a1": "Co"},) * 2
    assert (result.answer, result.decision is not None and result.decision.is_tie) == (None, True)


def test_people_choose_alike_options_by_their_exact_spelling() -> None:
    assert match_option("Co", ("CO", "Co")) == "Co"
    assert match_option("co", ("CO", "Co")) is None
    assert match_option("tea", ("Tea", "Milk")) == "Tea"


@pytest.mark.parametrize("how", ["casefold", "exact", "numeric"])
def test_a_study_grades_the_exact_option(how: str) -> None:
    reader = Reader(Question(id="1", question="Which gas?", gold="CO", options=("CO", "Co", "Tea")), normalise=how)  # type: ignore[arg-type]
    assert [reader.right(answer) for answer in ("CO", "Co", "Tea", None)] == [True, False, False, False]
    said = [AgentResponse(agent_id=name, agent_name=name, position="x", choice=name) for name in ("CO", "Co")]
    counted = reader.answer("arm", "CO", said, Usage())
    assert (counted.correct, counted.confidence) == (True, 0.5)
    loose = Reader(Question(id="2", question="Which drink?", gold="tea", options=("Tea", "Milk")))
    assert (loose.right("Tea"), loose.right("Milk")) == (True, False)
