"""Experiments: all combinations of modes, rounds and questions in a file, and running them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeVar, cast

from pydantic import Field, ValidationError

from roundtable._version import __version__
from roundtable.analysis import level_of
from roundtable.api.many import run_jobs
from roundtable.bench.metrics import BenchmarkMetrics
from roundtable.bench.runner import AT_ONCE, BenchmarkRunner, BenchmarkScenario
from roundtable.core.base.clock import SystemClock
from roundtable.core.base.files import write_error, write_parts
from roundtable.core.base.yaml_text import read_yaml
from roundtable.core.errors import ConfigurationError, ContextTooLong, StorageError
from roundtable.core.types.base import JsonValue, NonEmpty, Value, invalid_field_text
from roundtable.core.types.debate import Topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from os import PathLike

    from roundtable.api import Roundtable
    from roundtable.bench.runner import Executor, ScenarioRun
    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import RoundRecord
    from roundtable.core.types.layers import ConsensusLevel
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "Experiment",
    "ExperimentOptions",
    "ExperimentOutput",
    "ExperimentRun",
    "ExperimentVariables",
    "experiment_folder",
    "read_data",
    "read_experiment",
    "read_metrics",
    "run_experiment",
    "slug",
    "write_run",
]

_DEFAULT: Final = "default"
T = TypeVar("T", str, int)
_Rounds = Annotated[int, Field(ge=1, le=10)]

_SLUG_LENGTH: Final = 50


class ExperimentVariables(Value):
    """The variables of an experiment; every mode is combined with every number of rounds and every question."""

    modes: Annotated[tuple[NonEmpty, ...], Field(min_length=1)]
    """Debate modes."""
    rounds: Annotated[tuple[_Rounds, ...], Field(min_length=1)]
    """Numbers of rounds, each from 1 to 10."""
    topics: Annotated[tuple[Topic, ...], Field(min_length=1)]
    """Questions."""
    agents: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = (_DEFAULT,)
    """The agents, as `"provider:model"`; `default` alone stands for the agents of the table."""


class ExperimentOptions(Value):
    """How the debates run."""

    parallel: bool = False
    """Whether several debates run at the same time."""
    delay_between: Annotated[int, Field(ge=0)] = 0
    """Pause between two debates, in milliseconds. It is not needed to respect the providers' rate limits."""
    retry_on_failure: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a failed debate is repeated."""


class ExperimentOutput(Value):
    """What the result files include."""

    include_raw_responses: bool = True
    """Whether to include the reasoning."""
    include_tool_calls: bool = True
    """Whether to include tool calls."""
    include_citations: bool = True
    """Whether to include citations."""


class Experiment(Value):
    """A plan of debates.

    Example:
        >>> varied = ExperimentVariables(modes=("delphi", "adversarial"), rounds=(1, 3), topics=("Tea or coffee?",))
        >>> [scenario.name for scenario in Experiment(name="drinks", variables=varied).scenarios(modes=["delphi"])]
        ['drinks/delphi/1/1', 'drinks/delphi/3/1']
    """

    name: NonEmpty
    """Name of the experiment, and of the folder with its results."""
    description: str = ""
    """Purpose of the experiment."""
    variables: ExperimentVariables
    """The variables."""
    options: ExperimentOptions = ExperimentOptions()
    """How the debates run."""
    output: ExperimentOutput = ExperimentOutput()
    """What the result files include."""

    def scenarios(
        self, *, modes: Sequence[str] | None = None, rounds: Sequence[int] | None = None
    ) -> tuple[BenchmarkScenario, ...]:
        """Return every debate of the plan, ordered by mode, then by rounds, then by question, as in the file.

        Args:
            modes: Only debates in these modes.
            rounds: Only debates with these numbers of rounds.

        Raises:
            ConfigurationError: A mode or number of rounds is not in the plan.
        """
        varied = self.variables
        mode_names = _select(varied.modes, modes, "mode")
        round_counts = _select(varied.rounds, rounds, "number of rounds")
        agents = None if varied.agents == (_DEFAULT,) else varied.agents
        return tuple(
            BenchmarkScenario(
                name=f"{self.name}/{mode}/{round_count}/{position}",
                topic=topic,
                mode=mode,
                rounds=round_count,
                agents=agents,
            )
            for mode in mode_names
            for round_count in round_counts
            for position, topic in enumerate(varied.topics, 1)
        )


def _select(available: Sequence[T], wanted: Sequence[T] | None, kind: str) -> Sequence[T]:
    if wanted is None:
        return available
    if unknown := [value for value in wanted if value not in available]:
        msg = f"the experiment has no {kind} {unknown[0]!r}"
        raise ConfigurationError(msg, hint=f"It has: {', '.join(map(str, available))}.")
    return [value for value in available if value in wanted]


def read_experiment(path: str | PathLike[str]) -> Experiment:
    """Read an experiment from a file: TOML (`.toml`), JSON (`.json`), or YAML with any other ending (extra `bench`).

    Raises:
        ConfigurationError: The file cannot be read, is not an experiment, or needs a library that is not installed.
    """
    file = Path(path).expanduser()
    data = read_data(file)
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"{str(file)!r} is not an experiment", hint="An experiment needs a name and variables."
        )
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{str(file)!r}: {invalid_field_text(error, Experiment)}", cause=error) from None


def read_data(file: Path) -> JsonValue:
    """Read a file of data: TOML (`.toml`), JSON (`.json`), or YAML with any other ending (extra `bench`).

    Raises:
        ConfigurationError: The file cannot be read, or needs a library that is not installed.
    """
    try:
        text = file.read_text("utf-8-sig")  # some editors write a byte order mark, which JSON and TOML do not allow
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}", cause=error
        ) from error
    ending = file.suffix.lower()
    try:
        if ending == ".toml":
            return tomllib.loads(text)
        return json.loads(text) if ending == ".json" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error}", cause=error) from error


def _yaml(text: str) -> JsonValue:
    try:
        return cast("JsonValue", read_yaml(text))
    except ImportError as error:
        hint = "Install it: pip install 'roundtable-sdk[bench]'; or write the file as TOML or JSON."
        raise ConfigurationError("a file in YAML needs PyYAML", hint=hint, cause=error) from error


def slug(text: str) -> str:
    """Convert a text to a folder name of letters and digits, joined by hyphens, with at most 50 characters.

    Example:
        >>> slug("Tea, or coffee? / ../etc")
        'tea-or-coffee-etc'
    """
    short = re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:_SLUG_LENGTH].strip("-")
    return short or "untitled"


def experiment_folder(root: str | PathLike[str], experiment: Experiment, day: date) -> Path:
    """Return the folder of an experiment's results: `root/2026-11-22/name`."""
    return Path(root).expanduser() / day.isoformat() / slug(experiment.name)


def write_run(folder: Path, experiment: Experiment, run: ScenarioRun) -> Path:
    """Write one run, and return its folder: `folder/mode/question`, with a number added if the folder exists.

    `metadata.json` contains the scenario, the outcome and the metrics. A result is in `session.json`, `consensus.json`
    and `rounds/round-1.json`, `rounds/round-2.json` and so on.

    Raises:
        StorageError: A folder cannot be created, or a file cannot be written.
    """
    run_folder = _new_folder(folder / slug(run.scenario.mode) / slug(run.scenario.topic))
    _write(run_folder / "metadata.json", _metadata(experiment, run))
    if run.result is not None:
        _write(run_folder / "session.json", _session(run.result))
        _write(run_folder / "consensus.json", _consensus(run.result))
        for record in run.result.rounds:
            _write(run_folder / "rounds" / f"round-{record.number}.json", _round(record, experiment.output))
    return run_folder


def _new_folder(path: Path) -> Path:
    _make_folder(path.parent)
    number = 1
    while True:
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            candidate.mkdir()
        except FileExistsError:
            number += 1
        except OSError as error:
            raise _not_created(candidate, error) from error
        else:
            return candidate


def _make_folder(path: Path) -> None:
    """Create a folder and its parents unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_created(path, error) from error


def _not_created(path: Path, error: OSError) -> StorageError:
    name = error.filename or str(path)  # of the part of the path that is in the way
    return StorageError(f"{name!r} cannot be created: {error.strerror}", cause=error)


def _check_folder(path: Path) -> None:
    """Create the folder of an experiment, and check that a file can be written to it."""
    _make_folder(path)
    if reason := write_error(path / "metadata.json"):
        raise StorageError(f"{str(path)!r} cannot be written: {reason}")


def _write(path: Path, data: JsonValue) -> None:
    _make_folder(path.parent)
    write_parts(path, [json.dumps(data, ensure_ascii=False, indent=2), "\n"])


def _metadata(experiment: Experiment, run: ScenarioRun) -> JsonObject:
    result = run.result
    return {
        "experiment": experiment.name,
        "description": experiment.description,
        "scenario": run.scenario.model_dump(mode="json"),
        "success": run.success,
        "error": None if run.error is None else run.error.model_dump(mode="json"),
        "status": None if result is None else result.status,
        "agents": [] if result is None else [agent.model_dump(mode="json") for agent in result.agents],
        "metrics": None if run.metrics is None else run.metrics.model_dump(mode="json"),
        "version": __version__,
    }


def _session(result: DebateResult) -> JsonObject:
    data = result.session.model_dump(mode="json", exclude={"responses", "consensus"})
    decision = None if result.decision is None else result.decision.model_dump(mode="json")
    outcome: JsonObject = {"answer": result.answer, "answerReason": result.answer_reason, "decision": decision}
    return data | outcome | {"usage": result.usage.model_dump(mode="json")}


def _consensus(result: DebateResult) -> JsonObject:
    last = result.consensus
    measured = [record.consensus for record in result.rounds if record.consensus is not None]
    return {
        "finalLevel": None if last is None else _known_level(last),
        "finalInWords": None if last is None else last.level_in_words,
        "finalScore": None if last is None else last.agreement_level,
        "finalScoreAtMost": None if last is None else last.agreement_at_most,
        "method": None if last is None else last.method,
        "independentAgreement": result.independent_agreement,
        "independentAgreementAtMost": result.independent_agreement_at_most,
        "progression": [consensus.agreement_level for consensus in measured],
        "progressionAtMost": [consensus.agreement_at_most for consensus in measured],
        "agreements": [] if last is None else [*last.common_ground],
        "disagreements": [] if last is None else [*last.disagreement_points],
        "summary": "" if last is None else last.summary,
    }


def _known_level(consensus: AnyConsensus) -> ConsensusLevel:
    """Return the level of a consensus; `unknown` if its bounds differ in level, or with fewer than two answers."""
    level = level_of(consensus.agreement_level)
    has_pairs = consensus.answers is None or consensus.answers > 1
    return level if has_pairs and level == level_of(consensus.agreement_at_most) else "unknown"


def _round(record: RoundRecord, output: ExperimentOutput) -> JsonObject:
    failed = [turn for turn in record.turns if turn.outcome == "failed"]
    return {
        "round": record.number,
        "complete": record.complete,
        "responses": [_response(response, output) for response in record.spoken],
        "failed": [{"agentId": turn.agent_id, "error": turn.error.model_dump(mode="json")} for turn in failed],
        "consensus": None if record.consensus is None else record.consensus.model_dump(mode="json"),
    }


def _response(response: AgentResponse, output: ExperimentOutput) -> JsonObject:
    excluded = {
        "reasoning": not output.include_raw_responses,
        "tool_calls": not output.include_tool_calls,
        "citations": not output.include_citations,
    }
    data: JsonObject = response.model_dump(
        mode="json", exclude={name for name, is_excluded in excluded.items() if is_excluded}
    )
    return data


def read_metrics(folder: str | PathLike[str]) -> list[BenchmarkMetrics]:
    """Read the metrics of every successful debate in a folder of results.

    Raises:
        ConfigurationError: The folder has no metrics, or a file is not the metadata of a debate.
    """
    root = Path(folder).expanduser()
    metrics: list[BenchmarkMetrics] = []
    for file in sorted(root.rglob("metadata.json")):
        try:
            data = json.loads(file.read_text("utf-8"))
            if data["success"]:
                metrics.append(BenchmarkMetrics.model_validate(data["metrics"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{str(file)!r} is not metadata of a debate: {error}", cause=error) from error
    if not metrics:
        raise ConfigurationError(
            f"{str(root)!r} contains no results", hint="Name a folder that `bench run` has written."
        )
    return metrics


class ExperimentRun(NamedTuple):
    """One debate of an experiment, and the folder to which it was written."""

    run: ScenarioRun
    """Outcome of the debate."""
    folder: Path | None
    """Folder of the debate; `None` if results are not written."""


def _check(table: Roundtable, scenarios: Sequence[BenchmarkScenario]) -> None:
    """Check before the first paid call that the debates can run; one question per combination is enough."""
    kinds = {(scenario.mode, scenario.rounds, scenario.agents): scenario for scenario in scenarios}
    for scenario in kinds.values():
        agents = None if scenario.agents is None else [*scenario.agents]
        with suppress(ContextTooLong):  # the estimate assumes the longest answers; real ones may fit
            table.estimate(scenario.topic, mode=scenario.mode, rounds=scenario.rounds, agents=agents)


async def run_experiment(
    executor: Roundtable | Executor,
    experiment: Experiment,
    *,
    scenarios: Sequence[BenchmarkScenario] | None = None,
    folder: str | PathLike[str] | None = "results",
    timeout_s: float = 300.0,
    clock: SleepingClock | None = None,
    on_done: Callable[[ExperimentRun], None] | None = None,
) -> tuple[ExperimentRun, ...]:
    """Run every debate of an experiment, and write each one as soon as it ends.

    A debate that fails is repeated up to `retry_on_failure` times, and then recorded as failed.

    Args:
        executor: What runs a debate: a table, or a function that takes a scenario and returns a result.
        experiment: The plan.
        scenarios: Only these debates of the plan, as returned by `Experiment.scenarios`; by default all.
        folder: Folder for results; `None` writes nothing.
        timeout_s: Maximum time of a debate, in seconds.
        clock: Source of time.
        on_done: Function that is called with each debate as it ends.

    Returns:
        The outcome of each debate, in the order of the plan.

    Raises:
        ConfigurationError: A debate cannot run, for example because its mode does not exist, or `timeout_s` is out of
            range. No model was called.
        StorageError: Results cannot be written. The folder is checked before the first call of a model.
    """
    plan = experiment.scenarios() if scenarios is None else tuple(scenarios)
    if not callable(executor):
        _check(executor, plan)
    runner = BenchmarkRunner(executor, timeout_s=timeout_s)
    sleeping_clock = clock or SystemClock()
    options = experiment.options
    results_folder = None if folder is None else experiment_folder(folder, experiment, sleeping_clock.now().date())
    if results_folder is not None:
        _check_folder(results_folder)

    async def hold(number: int, scenario: BenchmarkScenario) -> ExperimentRun:
        if number and options.delay_between:
            await sleeping_clock.sleep(options.delay_between / 1000)
        run = await runner.run_scenario(scenario)
        for _ in range(options.retry_on_failure):
            if run.success:
                break
            run = await runner.run_scenario(scenario)
        finished = ExperimentRun(run, None if results_folder is None else write_run(results_folder, experiment, run))
        if on_done is not None:
            on_done(finished)
        return finished

    jobs = [partial(hold, number, scenario) for number, scenario in enumerate(plan)]
    return tuple(await run_jobs(jobs, at_once=AT_ONCE if options.parallel else 1))
