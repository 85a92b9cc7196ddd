"""Folders of results: one for each debate of an experiment."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable._output import write_parts
from roundtable._version import __version__
from roundtable.analysis import level_of
from roundtable.bench.metrics import BenchmarkMetrics
from roundtable.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from datetime import date
    from os import PathLike

    from roundtable.bench.experiments import Experiment, ExperimentOutput
    from roundtable.bench.scenarios import ScenarioRun
    from roundtable.result import DebateResult
    from roundtable.types import AgentResponse, JsonObject, JsonValue, RoundRecord

__all__ = ["experiment_folder", "read_metrics", "slug", "write_run"]

_LONGEST: Final = 50


def slug(text: str) -> str:
    """Give a text as a name of a folder: letters and digits with hyphens between, at most 50 characters.

    Example:
        >>> slug("Tea, or coffee? / ../etc")
        'tea-or-coffee-etc'
    """
    short = re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:_LONGEST].strip("-")
    return short or "untitled"


def experiment_folder(root: str | PathLike[str], experiment: Experiment, day: date) -> Path:
    """Give the folder of an experiment's results: `root/2026-11-22/name`."""
    return Path(root).expanduser() / day.isoformat() / slug(experiment.name)


def write_run(folder: Path, experiment: Experiment, run: ScenarioRun) -> Path:
    """Write what became of one debate, and give its folder: `folder/mode/question`, with a number when it is taken.

    `metadata.json` says what was asked and what it took; where there is a result, `session.json`, `consensus.json` and
    `rounds/round-1.json`, ... hold it.

    Raises:
        StorageError: It cannot be written.
    """
    place = _new_folder(folder / slug(run.scenario.mode) / slug(run.scenario.topic))
    _write(place / "metadata.json", _metadata(experiment, run))
    if run.result is not None:
        _write(place / "session.json", _session(run.result))
        _write(place / "consensus.json", _consensus(run.result))
        for held in run.result.rounds:
            _write(place / "rounds" / f"round-{held.number}.json", _round(held, experiment.output))
    return place


def _new_folder(wanted: Path) -> Path:
    number = 1
    while True:
        place = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            place.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise StorageError(f"{str(place)!r} cannot be made: {error.strerror}", cause=error) from error
        else:
            return place


def _write(path: Path, data: JsonValue) -> None:
    path.parent.mkdir(exist_ok=True)
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
    kept = result.session.model_dump(mode="json", exclude={"responses", "consensus"})
    decision = None if result.decision is None else result.decision.model_dump(mode="json")
    found: JsonObject = {"answer": result.answer, "answerReason": result.answer_reason, "decision": decision}
    return kept | found | {"usage": result.usage.model_dump(mode="json")}


def _consensus(result: DebateResult) -> JsonObject:
    last = result.consensus
    levels = [held.consensus.agreement_level for held in result.rounds if held.consensus is not None]
    return {
        "finalLevel": None if last is None else level_of(last.agreement_level),
        "finalScore": None if last is None else last.agreement_level,
        "method": None if last is None else last.method,
        "independentAgreement": result.independent_agreement,
        "progression": [*levels],
        "agreements": [] if last is None else [*last.common_ground],
        "disagreements": [] if last is None else [*last.disagreement_points],
        "summary": "" if last is None else last.summary,
    }


def _round(held: RoundRecord, output: ExperimentOutput) -> JsonObject:
    failed = [turn for turn in held.turns if turn.outcome == "failed"]
    return {
        "round": held.number,
        "complete": held.complete,
        "responses": [_response(said, output) for said in held.spoken],
        "failed": [{"agentId": turn.agent_id, "error": turn.error.model_dump(mode="json")} for turn in failed],
        "consensus": None if held.consensus is None else held.consensus.model_dump(mode="json"),
    }


def _response(said: AgentResponse, output: ExperimentOutput) -> JsonObject:
    left_out = {
        "reasoning": not output.include_raw_responses,
        "tool_calls": not output.include_tool_calls,
        "citations": not output.include_citations,
    }
    found: JsonObject = said.model_dump(mode="json", exclude={name for name, gone in left_out.items() if gone})
    return found


def read_metrics(folder: str | PathLike[str]) -> list[BenchmarkMetrics]:
    """Read the metrics of every debate in a folder of results that succeeded.

    Raises:
        ConfigurationError: There are none, or a file is no metadata of a debate.
    """
    root = Path(folder).expanduser()
    found: list[BenchmarkMetrics] = []
    for file in sorted(root.rglob("metadata.json")):
        try:
            data = json.loads(file.read_text("utf-8"))
            if data["success"]:
                found.append(BenchmarkMetrics.model_validate(data["metrics"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{str(file)!r} is no metadata of a debate: {error}", cause=error) from error
    if not found:
        raise ConfigurationError(f"{str(root)!r} holds no results", hint="Name a folder that `bench run` has written.")
    return found
