"""Benchmarks as seed 003 tells them, and what else is measured of a debate."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from contract.showing import shows
from integration.engine_kit import said, seated

import roundtable as rt
from roundtable.analysis import (
    check_decider,
    check_rule,
    debate_health,
    detect_groupthink,
    independent_turns,
    minority_report,
)
from roundtable.bench import (
    BenchmarkMetrics,
    BenchmarkRunner,
    BenchmarkScenario,
    ExperimentVariables,
    MetricsCollector,
    compare_metrics,
    metrics_of,
    read_experiment,
    read_metrics,
    read_questions,
    run_experiment,
)
from roundtable.errors import ConfigurationError
from roundtable.modes import trajectories
from roundtable.testing import ManualClock, ScriptedModel
from roundtable.types import AgentResponse, DebateConfig, RoundRecord, Usage

SAID = {"ada": said("Tea"), "bo": said("I disagree with Ada"), "cy": said("Tea")}
QUICK = BenchmarkScenario(name="quick", topic="Tea or coffee?", rounds=2)


def table() -> rt.Roundtable:
    return rt.Roundtable(seated(ScriptedModel(lambda asked: SAID[asked.metadata["agent"]]), *SAID), storage="memory://")


async def run_benchmarks(folder: Path) -> SimpleNamespace:
    """Hold scenarios and an experiment, and keep what was measured."""
    runner = BenchmarkRunner(table(), repetitions=2)
    seen = SimpleNamespace(run=await runner.run_scenario(QUICK))
    seen.repeated = await runner.run_scenario_with_repetitions(QUICK)
    seen.all = await runner.run_scenarios([QUICK])
    seen.compared = await runner.compare_scenarios(QUICK, QUICK.model_copy(update={"name": "again"}))
    seen.delta = runner.calculate_delta(seen.run.metrics, seen.run.metrics)
    (folder / "drinks.toml").write_text(
        'name = "drinks"\n[variables]\nmodes = ["collaborative"]\nrounds = [1]\ntopics = ["Tea or coffee?"]\n', "utf-8"
    )
    seen.experiment = read_experiment(folder / "drinks.toml")
    seen.done = await run_experiment(table(), seen.experiment, folder=folder / "results")
    seen.folder = folder
    return seen


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What benchmarks measured."""
    return anyio.run(run_benchmarks, tmp_path_factory.mktemp("bench"))


@shows(3, "class", "BenchmarkRunner")
@shows(3, "type", "BenchmarkScenario")
def test_scenarios_are_held_repeated_and_compared(bench: SimpleNamespace) -> None:
    assert (bench.run.success, bench.run.scenario, len(bench.run.result.rounds)) == (True, QUICK, 2)
    assert [len(one.runs) for one in (bench.repeated, *bench.all)] == [2, 2]
    assert bench.repeated.metrics.content.avg_confidence == pytest.approx(0.8)
    assert bench.compared.recommendation
    assert (bench.delta.interaction_change, bench.delta.latency_reduction) == (0, 0)


@shows(3, "type", "BenchmarkMetrics")
def test_a_debate_is_measured_from_its_result(bench: SimpleNamespace) -> None:
    found = metrics_of(bench.run.result)
    assert (found.rounds_held, found.content.avg_confidence) == (2, pytest.approx(0.8))
    assert found.interaction.cross_reference_count > 0
    assert 0 < found.consensus.agreement_level < 1
    assert BenchmarkMetrics.from_json(found.to_json()) == found
    assert compare_metrics(found, found).recommendation


@shows(3, "class", "MetricsCollector")
def test_a_collector_measures_a_debate_while_it_runs(bench: SimpleNamespace) -> None:
    clock = ManualClock()
    collector = MetricsCollector("s", 2, clock=clock)
    collector.record_round_start(1)
    collector.record_agent_start("ada")
    clock.move(0.25)
    collector.record_agent_end("ada")
    answer = AgentResponse(agent_id="ada", agent_name="Ada", position="Tea", confidence=0.75)
    collector.record_response(1, answer)
    collector.record_responses(1, [answer.model_copy(update={"agent_id": "bo", "agent_name": "Bo"})])
    collector.record_round_end(1)
    collector.record_usage(Usage(calls=3))
    found = collector.get_metrics()
    assert (found.latency.total_ms, dict(found.latency.per_agent_ms)) == (250.0, {"ada": 250.0})
    assert (found.content.avg_confidence, found.usage.calls) == (0.75, 3)
    assert [one.agent_id for one in collector.get_responses(1)] == ["ada", "bo"]
    collector.record_round(bench.run.result.rounds[0])
    assert collector.get_metrics().rounds_held >= 1
    collector.reset()
    assert collector.get_responses() == ()


def test_an_experiment_leaves_its_metrics_in_a_folder(bench: SimpleNamespace) -> None:
    assert bench.experiment.variables == ExperimentVariables(
        modes=("collaborative",), rounds=(1,), topics=("Tea or coffee?",)
    )
    assert len(bench.done) == 1
    (found,) = read_metrics(bench.done[0].folder)
    assert (found.rounds_held, found.content.avg_confidence) == (1, pytest.approx(0.8))


def test_questions_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "2 + 2?", "gold": "4"}\n', "utf-8")
    (question,) = read_questions(tmp_path / "q.jsonl")
    assert (question.id, question.gold) == ("1", "4")


def test_rounds_are_looked_at_for_camps_and_signs(bench: SimpleNamespace) -> None:
    result = bench.run.result
    held: RoundRecord = result.rounds[-1]
    report = minority_report(held, by_choice=False)
    assert (report.supporters, report.dissents, report.not_compared) == (("ada", "cy"), (), ("bo",))
    health = debate_health(result.rounds, result.agents)
    assert health is not None
    assert (health.compared_by, health.flip_rate) == ("position", 0)
    assert debate_health((), result.agents) is None
    assert len(independent_turns(result.rounds[0].turns)) == 3
    assert independent_turns(held.turns) == ()
    assert trajectories([turn for one in result.rounds for turn in one.turns])["ada"] == ("Tea", "Tea")
    assert not detect_groupthink(held.responses).detected
    assert result.baselines.majority == "Tea"


def test_a_debate_that_nothing_can_decide_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nonsense"):
        check_rule("nonsense")
    with pytest.raises(ConfigurationError, match="nonsense"):
        check_decider(DebateConfig(topic="Tea?", agents=("ada", "bo"), decide="nonsense"))
