"""Scenarios and experiments: what is held, what is written down, and what a failure does."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import said, seated

from roundtable import Roundtable
from roundtable.bench import (
    BenchmarkRunner,
    BenchmarkScenario,
    Experiment,
    ExperimentOptions,
    ExperimentOutput,
    ExperimentVariables,
    read_experiment,
    read_metrics,
    run_experiment,
)
from roundtable.bench.experiments import slug
from roundtable.errors import AgentError, ConfigurationError, RoundtableError, StorageError
from roundtable.modes import ModeRegistry
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.results.debate_result import DebateResult
from roundtable.testing import scripted_agents

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "experiments"
TEA = BenchmarkScenario(name="tea", topic="Tea?", rounds=1)


def table(says: Any = None) -> Roundtable:
    return Roundtable(scripted_agents(says or {"ada": "Tea", "bo": "Tea"}), storage="memory://", analyzer="basic")


def failing(times: int) -> Roundtable:
    """Make a table whose model fails so often, and then answers."""
    left = [times]

    def reply(_: object) -> Any:
        left[0] -= 1
        return AgentError("not now", provider="scripted") if left[0] >= 0 else said("Tea")

    return Roundtable(seated(ScriptedModel(reply), "ada"), storage="memory://")


def plan(**more: Any) -> Experiment:
    varied = ExperimentVariables(modes=("delphi", "council"), rounds=(1,), topics=("Tea?", "Milk?"))
    return Experiment(**({"name": "Drinks & more", "variables": varied} | more))


class Stepping:
    """A clock that is never waited for."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 11, 22, 23, 59, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


async def test_a_scenario_is_run_as_often_as_requested_and_its_figures_are_means() -> None:
    held = await BenchmarkRunner(table(), repetitions=3, parallel=True).run_scenario_with_repetitions(TEA)
    assert (len(held.runs), held.success_rate) == (3, 1.0)
    assert held.metrics is not None
    assert held.spread is not None
    assert (held.spread.agreement, held.metrics.usage.calls) == (0.0, 6)
    assert held.metrics.content.avg_confidence == pytest.approx(0.8)
    assert len(held.metrics.latency.per_round_ms) == 1
    assert held.metrics.consensus.convergence_round is None


async def test_convergence_is_the_middle_round_of_those_that_converged() -> None:
    held = await BenchmarkRunner(table(), repetitions=2).run_scenario_with_repetitions(
        TEA.model_copy(update={"rounds": 3})
    )
    assert held.metrics is not None
    assert held.metrics.consensus.convergence_round == 2
    assert held.metrics.consensus.groupthink_warning


async def test_a_run_that_takes_too_long_is_cancelled_and_has_failed() -> None:
    slow = table({"ada": Delay(30, "Tea"), "bo": "Tea"})
    run = await BenchmarkRunner(slow, timeout_s=0.05).run_scenario(TEA)
    assert (run.success, run.result, run.error and run.error.message) == (
        False,
        None,
        "the run took longer than 0.05 s",
    )
    held = await BenchmarkRunner(slow, timeout_s=0.01).run_scenario_with_repetitions(TEA)
    assert (held.success_rate, held.metrics, held.spread) == (0.0, None, None)


async def test_every_error_of_an_executor_is_recorded() -> None:
    async def broken(_: BenchmarkScenario) -> DebateResult:
        raise LookupError("no such thing")

    run = await BenchmarkRunner(broken).run_scenario(TEA)
    assert run.error is not None
    assert run.error.message == "LookupError: no such thing"
    with pytest.raises(RoundtableError, match="no run of 'tea' succeeded: LookupError"):
        await BenchmarkRunner(broken).compare_scenarios(TEA, TEA)


@pytest.mark.slow
async def test_a_partial_debate_is_not_a_success_but_is_measured() -> None:
    async def stopped(scenario: BenchmarkScenario) -> DebateResult:
        slow = table({"ada": ["Tea", Delay(30, "Tea")], "bo": "Tea"})
        return await slow.debate(scenario.topic, rounds=2, deadline_s=1.0)

    run = await BenchmarkRunner(stopped).run_scenario(TEA)
    assert (run.success, run.metrics is not None) == (False, True)
    assert run.error is not None
    assert run.error.message.startswith("the debate is partial: ")


async def test_two_scenarios_are_compared_by_their_means() -> None:
    runner = BenchmarkRunner(table({"ada": "Tea", "bo": "I disagree with Ada"}))
    twice = BenchmarkScenario(name="twice", topic="Tea?", mode="adversarial", rounds=2)
    found = await runner.compare_scenarios(TEA.model_copy(update={"mode": "adversarial"}), twice)
    assert found.delta.interaction_change == 100.0
    assert runner.calculate_delta(found.baseline, found.candidate) == found.delta
    assert "2 calls for each call" in found.reasons


@pytest.mark.parametrize(
    "given",
    [
        {"repetitions": 0},
        {"repetitions": "3"},
        {"timeout_s": 0},
        {"timeout_s": "3"},
        {"timeout_s": None},
        {"groupthink_threshold": 2},
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        BenchmarkRunner(table(), **given)


def test_the_matrix_is_modes_by_rounds_by_topics_and_can_be_narrowed() -> None:
    varied = ExperimentVariables(
        modes=("delphi", "council"), rounds=(1, 3), topics=("a?", "b?"), agents=("scripted:x",)
    )
    made = Experiment(name="e", variables=varied)
    found = made.scenarios()
    assert [(one.mode, one.rounds, one.topic) for one in found] == [
        (mode, rounds, topic) for mode in ("delphi", "council") for rounds in (1, 3) for topic in ("a?", "b?")
    ]
    assert found[0].agents == ("scripted:x",)
    assert [one.name for one in made.scenarios(modes=["council"], rounds=[3])] == ["e/council/3/1", "e/council/3/2"]
    assert plan().scenarios()[0].agents is None
    with pytest.raises(ConfigurationError, match="no mode 'duel'"):
        made.scenarios(modes=["duel"])
    with pytest.raises(ConfigurationError, match="no number of rounds 2"):
        made.scenarios(rounds=[2])


async def test_every_debate_has_a_folder_with_all_its_answers(tmp_path: Path) -> None:
    heard: list[str] = []
    clock = Stepping()
    runs = await run_experiment(
        table(),
        plan(options=ExperimentOptions(delay_between=1500)),
        folder=tmp_path,
        clock=clock,
        on_done=lambda one: heard.append(one.run.scenario.topic),
    )
    assert heard == ["Tea?", "Milk?", "Tea?", "Milk?"]
    assert clock.waited == [1.5] * 3
    root = tmp_path / "2026-11-22" / "drinks-more"
    assert [one.folder for one in runs] == [
        root / mode / topic for mode in ("delphi", "council") for topic in ("tea", "milk")
    ]
    place = root / "delphi" / "tea"
    names = sorted(file.relative_to(place).as_posix() for file in place.rglob("*.json"))
    assert names == ["consensus.json", "metadata.json", "rounds/round-1.json", "session.json"]
    metadata = json.loads((place / "metadata.json").read_text("utf-8"))
    assert (metadata["experiment"], metadata["success"], metadata["scenario"]["mode"]) == (
        "Drinks & more",
        True,
        "delphi",
    )
    consensus = json.loads((place / "consensus.json").read_text("utf-8"))
    assert (consensus["finalLevel"], consensus["finalScore"], consensus["progression"]) == ("high", 1.0, [1.0])
    assert (consensus["finalInWords"], consensus["finalScoreAtMost"]) == ("1.00", 1.0)
    assert (consensus["progressionAtMost"], consensus["independentAgreementAtMost"]) == ([1.0], 1.0)
    session = json.loads((place / "session.json").read_text("utf-8"))
    assert (session["answer"], session["status"], session["usage"]["calls"]) == ("Tea", "completed", 2)
    said_there = json.loads((place / "rounds" / "round-1.json").read_text("utf-8"))["responses"]
    assert [one["position"] for one in said_there] == ["Tea", "Tea"]
    assert {"reasoning", "toolCalls", "citations"} <= set(said_there[0])
    assert len(read_metrics(root)) == 4


@pytest.mark.parametrize(
    ("lines", "level", "shown", "bounds"),
    [
        pytest.param(("Tea", "Milk"), "unknown", "not measured", (0.0, 1.0), id="nobody compared"),
        pytest.param(("7 cups", "8 cups"), "low", "0.00", (0.0, 0.0), id="told apart"),
        pytest.param(("Tea", "ABSTAIN"), "unknown", "one answer", (1.0, 1.0), id="one answer"),
    ],
)
async def test_an_unknown_level_is_not_written_as_low(
    lines: tuple[str, str], level: str, shown: str, bounds: tuple[float, float], tmp_path: Path
) -> None:
    made = plan(variables=ExperimentVariables(modes=("delphi",), rounds=(1,), topics=("Drink?",)))
    agents = scripted_agents(dict(zip(("ada", "bo"), lines, strict=True)))
    (one,) = await run_experiment(Roundtable(agents, storage="memory://"), made, folder=tmp_path)
    assert one.folder is not None
    consensus = json.loads((one.folder / "consensus.json").read_text("utf-8"))
    assert (consensus["finalLevel"], consensus["finalInWords"]) == (level, shown)
    assert (consensus["progression"], consensus["progressionAtMost"]) == ([bounds[0]], [bounds[1]])
    alone = shown == "one answer"
    independent = (consensus["independentAgreement"], consensus["independentAgreementAtMost"])
    assert independent == ((None, None) if alone else bounds)


async def test_a_second_run_never_writes_over_the_first(tmp_path: Path) -> None:
    made = plan(variables=ExperimentVariables(modes=("delphi",), rounds=(1,), topics=("Tea?",)))
    for wanted in ("tea", "tea-2", "tea-3"):
        (one,) = await run_experiment(table(), made, folder=tmp_path)
        assert one.folder is not None
        assert one.folder.name == wanted


async def test_files_that_are_switched_off_are_not_written(tmp_path: Path) -> None:
    output = ExperimentOutput(include_raw_responses=False, include_tool_calls=False, include_citations=False)
    runs = await run_experiment(table(), plan(output=output), folder=tmp_path)
    assert runs[0].folder is not None
    found = json.loads((runs[0].folder / "rounds" / "round-1.json").read_text("utf-8"))["responses"][0]
    assert not {"reasoning", "toolCalls", "citations"} & set(found)
    assert all(one.folder is None for one in await run_experiment(table(), plan(), folder=None))


@pytest.mark.parametrize(("retries", "success"), [(0, False), (1, True), (2, True)])
async def test_a_failed_debate_is_run_again(retries: int, success: bool, tmp_path: Path) -> None:
    made = plan(
        variables=ExperimentVariables(modes=("collaborative",), rounds=(1,), topics=("Tea?",)),
        options=ExperimentOptions(retry_on_failure=retries),
    )
    (one,) = await run_experiment(failing(1), made, folder=tmp_path)
    assert one.run.success is success
    assert one.folder is not None
    assert json.loads((one.folder / "metadata.json").read_text("utf-8"))["success"] is success
    if not success:
        with pytest.raises(ConfigurationError, match="contains no results"):
            read_metrics(tmp_path)


async def test_parallel_debates_are_reported_in_the_order_of_the_plan() -> None:
    made = plan(options=ExperimentOptions(parallel=True))
    runs = await run_experiment(table(), made, scenarios=made.scenarios(modes=["council"]), folder=None)
    assert [one.run.scenario.name for one in runs] == ["Drinks & more/council/1/1", "Drinks & more/council/1/2"]


async def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be created"):
        await run_experiment(table(), plan(), folder=tmp_path / "file")


async def test_a_folder_that_cannot_be_created_is_named_before_any_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(tmp_path / "unplugged" / "disk")
    asked: list[BenchmarkScenario] = []

    async def hold(scenario: BenchmarkScenario) -> DebateResult:
        asked.append(scenario)
        return await table().debate(scenario.topic, rounds=1)

    with pytest.raises(StorageError, match="results' cannot be created: File exists"):
        await run_experiment(hold, plan(), folder=tmp_path / "results")
    assert asked == []


async def test_a_run_whose_folder_is_deleted_meanwhile_ends_with_an_error(tmp_path: Path) -> None:
    """The first part of the path becomes a link that leads nowhere while the debate runs."""
    results, away = tmp_path / "results", tmp_path / "away"

    async def hold(scenario: BenchmarkScenario) -> DebateResult:
        results.rename(away)
        results.symlink_to(tmp_path / "unplugged")
        return await table().debate(scenario.topic, rounds=1)

    with pytest.raises(StorageError, match="cannot be created"):
        await run_experiment(hold, plan(), folder=results)


async def test_a_folder_without_write_access_is_named_before_any_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundtable.bench.experiments.write_error", lambda _: "Read-only file system")

    async def hold(_: BenchmarkScenario) -> DebateResult:
        raise AssertionError("no model may be asked")

    with pytest.raises(StorageError, match="cannot be written: Read-only file system"):
        await run_experiment(hold, plan(), folder=tmp_path)


def test_names_of_folders_are_harmless() -> None:
    assert slug("../..") == "untitled"
    assert slug("Ärger: 100 %?") == "ärger-100"
    assert len(slug("a" * 200)) == 50


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in sorted(EXAMPLES.glob("*.yaml"))])
def test_the_shipped_experiments_can_be_read_and_have_existing_modes(file: Path) -> None:
    found, known = read_experiment(file), ModeRegistry()
    assert found.name == file.stem
    assert all(known.has_mode(one.mode) for one in found.scenarios())


def test_toml_and_json_say_the_same_as_yaml(tmp_path: Path) -> None:
    wanted = read_experiment(EXAMPLES / "quick.yaml")
    (tmp_path / "quick.json").write_text(wanted.to_json(), "utf-8")
    assert read_experiment(tmp_path / "quick.json") == wanted
    (tmp_path / "quick.toml").write_text(
        'name = "quick"\ndescription = "One mode, one round, one question."\n[variables]\nmodes = ["collaborative"]\n'
        'rounds = [1]\ntopics = ["Is it better to write tests before the code?"]\n',
        "utf-8",
    )
    assert read_experiment(tmp_path / "quick.toml") == wanted


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("e.yaml", None, "cannot be read", id="no file"),
        pytest.param("e.yaml", "a: [", "cannot be read", id="no YAML"),
        pytest.param("e.yaml", "- a", "is not an experiment", id="a list"),
        pytest.param("e.yaml", "name: e", "variables: Field required", id="nothing varied"),
        pytest.param(
            "e.json",
            '{"name": "e", "variables": {"modes": ["a"], "rounds": [11], "topics": ["a?"]}}',
            "rounds",
            id="rounds",
        ),
        pytest.param(
            "e.json",
            '{"name": "e", "variables": {"modes": ["a"], "rounds": [1], "topics": ["a?"]}, "output": {"tools": true}}',
            "tools: unknown field of output; choose from include_raw_responses, ",
            id="unknown field",
        ),
        pytest.param("e.json", "[" * 100_000, "cannot be read", id="deep"),
        pytest.param("e.toml", "name = ", "cannot be read", id="no TOML"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_experiment(tmp_path / name)


def test_a_missing_yaml_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigurationError) as caught:
        read_experiment(EXAMPLES / "quick.yaml")
    assert caught.value.hint is not None
    assert "roundtable-sdk[bench]" in caught.value.hint


def test_invalid_metadata_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text("[]")
    with pytest.raises(ConfigurationError, match="not metadata"):
        read_metrics(tmp_path)


def test_a_cancelled_experiment_ends_at_once() -> None:
    async def run() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await run_experiment(table({"ada": Delay(30, "Tea"), "bo": "Tea"}), plan(), folder=None)
        return scope.cancelled_caught

    assert anyio.run(run)


async def test_an_experiment_runs_with_anything_that_can_run_a_debate() -> None:
    async def hold(scenario: BenchmarkScenario) -> DebateResult:
        return await table().debate(scenario.topic, rounds=scenario.rounds)

    made = plan(variables=ExperimentVariables(modes=("no mode of ours",), rounds=(1,), topics=("Tea?",)))
    (one,) = await run_experiment(hold, made, folder=None)
    assert one.run.success
