"""A folder for a paper: the figures, tables, methods and data of a study, and a notebook that reproduces them."""

from __future__ import annotations

import json
import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable._version import __version__
from roundtable.bench.pictures import drawable
from roundtable.core.base.files import write_parts
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, StorageError
from roundtable.report import csv_parts
from roundtable.report.latex import latex_table
from roundtable.results.plots import save_picture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from roundtable.bench.report import AnswerChanges, CategoryReport, StudyReport
    from roundtable.bench.study import Study
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["write_paper"]

_NOTEBOOK: Final = "notebook.ipynb"
_REPORT: Final = "data/report.json"
_STUDY: Final = "data/study.json"
_AGENTS: Final = "data/agents.json"
_CASSETTE: Final = "data/cassette.jsonl"

_ONLY_IN_CSV: Final = frozenset({"correct", "unanswered", "brier", "calibrationError", "gained", "lost", "p"})
"""Columns that the LaTeX tables leave out, so that each has at most eight columns and fits a page."""

_READ: Final = f"""\
from pathlib import Path

from roundtable.bench import StudyReport

report = StudyReport.from_json(Path("{_REPORT}").read_text("utf-8"))
report"""
_REPLAY: Final = f"""\
import json
from pathlib import Path

from roundtable import AgentConfig, Roundtable
from roundtable.bench import StudyReport, read_study
from roundtable.providers import Cassette

study = read_study("{_STUDY}")
listed = json.loads(Path("{_AGENTS}").read_text("utf-8"))
agents = [agent if isinstance(agent, str) else AgentConfig.model_validate(agent) for agent in listed]
cassette = Cassette("{_CASSETTE}", mode="replay")
async with Roundtable(agents, storage="memory://", analyzer={{analyzer!r}}, cassette=cassette) as table:
    report = await study.run(table)

# the figures are those of the report that was written
assert report.arms == StudyReport.from_json(Path("{_REPORT}").read_text("utf-8")).arms
report"""
"""Cells that create the report: they read it from its file, or repeat the study from recorded calls."""


def write_paper(
    report: StudyReport,
    folder: str | PathLike[str],
    *,
    cassette: str | PathLike[str] | None = None,
    study: Study | None = None,
    agents: Sequence[AgentConfig | str] = (),
    analyzer: str = "auto",
) -> Path:
    """Write everything that a paper needs from a study to a folder, and return the folder.

    - `figures/`: each picture as SVG and PDF. There is no picture of calibration if no answer has a confidence, and no
      picture of more than 20 categories.
    - `tables/`: each table as CSV, and as LaTeX with the columns that fit a page, which needs the package booktabs.
    - `methods.md`: the arms, models, versions, seeds and costs, and the sources of the statistics.
    - `data/`: the report as JSON, and every answer as CSV.
    - `notebook.ipynb`: a notebook that reproduces the figures and tables from `data`, without any call of a model.

    With `cassette`, `data/` also contains the recorded calls, the study and its agents, and the notebook repeats the
    whole study from them. A cassette contains the whole conversation: read it before you publish the folder.

    Existing files with these names are replaced; other files in the folder stay.

    Args:
        report: The report of the study.
        folder: Folder to write to; it is created if it does not exist.
        cassette: File in which the calls of the study were recorded, by `Roundtable(cassette=...)`.
        study: The study. Needed with `cassette`.
        agents: The agents of the table that answered. Needed with `cassette`.
        analyzer: The analyzer of the table, by name.

    Raises:
        ConfigurationError: matplotlib is not installed (extra `plot`), or `cassette` lacks its study or agents.
        StorageError: A file cannot be read or written.
    """
    if cassette is not None and (study is None or not agents):
        msg = f"cassette= needs {'study=' if study is None else 'agents='}, so that the notebook can repeat the calls"
        raise ConfigurationError(msg, hint="Pass study=Study(...), and agents=[...] with the agents of its table.")
    root = Path(folder).expanduser()
    try:
        for name in ("figures", "tables", "data"):
            (root / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{str(root)!r} cannot be created: {error.strerror}", cause=error) from error
    figures = drawable(report)
    for name in figures:
        save_picture(getattr(report.plot, name)(), root / "figures" / f"{name}.svg", root / "figures" / f"{name}.pdf")
    for name, rows in _tables(report).items():
        columns = [*rows[0]] if rows else []
        write_parts(root / "tables" / f"{name}.csv", csv_parts(columns, rows))
        shown = [column for column in columns if column not in _ONLY_IN_CSV]
        write_parts(root / "tables" / f"{name}.tex", [latex_table(shown, rows)])
    write_parts(root / "methods.md", [_methods(report)])
    write_parts(root / _REPORT, [report.to_json(), "\n"])
    answers = report.to_records()
    write_parts(root / "data" / "answers.csv", csv_parts([*answers[0]], answers))
    if cassette is not None and study is not None:
        _write_recording(root, Path(cassette).expanduser(), study, agents)
    notebook = _notebook(figures, None if cassette is None else analyzer)
    write_parts(root / _NOTEBOOK, [json.dumps(notebook, indent=1), "\n"])
    return root


def _write_recording(root: Path, cassette: Path, study: Study, agents: Sequence[AgentConfig | str]) -> None:
    """Write what the notebook needs to repeat the study: the calls, the study and the agents."""
    try:
        if cassette.resolve() != (root / _CASSETTE).resolve():
            shutil.copyfile(cassette, root / _CASSETTE)
    except OSError as error:
        raise StorageError(f"{str(cassette)!r} cannot be copied: {error.strerror}", cause=error) from error
    unnamed = study.model_copy(update={"name": None})
    write_parts(root / _STUDY, [unnamed.model_dump_json(indent=1, exclude_defaults=True), "\n"])
    listed = [
        agent if isinstance(agent, str) else agent.model_dump(mode="json", exclude_defaults=True) for agent in agents
    ]
    write_parts(root / _AGENTS, [json.dumps(listed, indent=1, ensure_ascii=False), "\n"])


def _tables(report: StudyReport) -> Mapping[str, Sequence[JsonObject]]:
    return {
        "arms": [
            {
                "arm": arm.arm,
                "questions": arm.questions,
                "correct": arm.correct,
                "unanswered": arm.unanswered,
                "accuracy": arm.accuracy,
                "accuracyLow": arm.interval.low,
                "accuracyHigh": arm.interval.high,
                "calls": arm.usage.calls,
                "tokens": arm.usage.total_tokens,
                "costUsd": arm.usage.cost_usd,
                "brier": arm.brier,
                "calibrationError": arm.calibration_error,
            }
            for arm in report.arms
        ],
        "comparisons": [
            {
                "mode": pair.mode,
                "baseline": pair.baseline,
                "questions": pair.both_right + pair.gained + pair.lost + pair.both_wrong,
                "gained": pair.gained,
                "lost": pair.lost,
                "difference": pair.difference,
                "differenceLow": pair.interval.low,
                "differenceHigh": pair.interval.high,
                "p": pair.p_value,
                "pCorrected": pair.p_corrected,
                "verdict": pair.verdict,
            }
            for pair in report.pairs
        ],
        "frontier": [
            {
                "arm": point.arm,
                "callsPerQuestion": point.price,
                "accuracy": point.accuracy,
                "onFrontier": point.on_frontier,
            }
            for point in report.frontier()
        ],
        "calibration": [row for arm in report.arms for row in report.calibration(arm.arm).to_records()],
        "movement": [_movement_row(movement) for movement in report.movements],
        "categories": [_category_row(category) for category in report.by_category()],
    }


def _movement_row(movement: AnswerChanges) -> JsonObject:
    return {
        "mode": movement.mode,
        "debates": movement.debates,
        "keptRight": movement.kept_right,
        "rightToWrong": movement.right_to_wrong,
        "wrongToRight": movement.wrong_to_right,
        "keptWrong": movement.kept_wrong,
        "flipRate": movement.flip_rate,
        "conformity": movement.conformity,
    }


def _category_row(category: CategoryReport) -> JsonObject:
    moves = category.movement
    return {
        "category": category.category,
        "arm": category.arm,
        "questions": category.questions,
        "correct": category.correct,
        "accuracy": category.accuracy,
        "accuracyLow": category.interval.low,
        "accuracyHigh": category.interval.high,
        "flipRate": None if moves is None else moves.flip_rate,
        "conformity": None if moves is None else moves.conformity,
    }


def _methods(report: StudyReport) -> str:
    """Return the methods of a study in plain sentences, with the facts that were recorded."""
    answers = report.answers
    single = report.arms[0]
    categories = {answer.category for answer in answers if answer.category}
    models = dict.fromkeys(model for answer in answers for model in answer.models)
    prompts = sorted({answer.prompt_version for answer in answers if answer.prompt_version})
    versions = sorted({answer.library_version for answer in answers if answer.library_version} | {__version__})
    seeds = sorted({answer.seed for answer in answers})
    calls = sum(arm.usage.calls for arm in report.arms)
    costs = [arm.usage.cost_usd for arm in report.arms]
    known = [cost for cost in costs if cost is not None]
    in_categories = f" in {len(categories)} categories" if categories else ""
    debated = (
        f"{counted(single.questions, 'question')} with known answers{in_categories} were debated in"
        f" {counted(len(report.modes), 'mode')}: {', '.join(report.modes)}. Each question was also answered once by one"
        " agent, and, at the price of the debate counted in calls, by one agent asked afresh each time"
        " (self-consistency) and by all agents in turn without seeing each other's answers (independent vote). One rule"
        " read and counted all answers."
    )
    price = f"{sum(known):.2f} US dollars" if len(known) == len(costs) else "their price is not known"
    data = (
        f"The figures and tables are made from `{_REPORT}` by `{_NOTEBOOK}`. `data/answers.csv` has every answer with"
        " the id of its session."
    )
    lines = [
        "# Methods",
        "",
        debated,
        "",
        f"- Models: {', '.join(models) or 'not recorded'}.",
        f"- Prompts: version {', '.join(prompts) or 'not recorded'} of the texts of roundtable-sdk.",
        f"- Software: roundtable-sdk {', '.join(versions)}; evaluated with Python {platform.python_version()}.",
        f"- Seeds of the debates: {', '.join(map(str, seeds))}.",
        f"- Answers counted: {calls:,} calls over all arms, shared ones counted in each; {price}.",
        f"- Left out: {counted(len(report.failed), 'question')} that failed in at least one arm.",
        "",
        "# Statistics",
        "",
        f"n = {single.questions} questions in every arm. {report.sources}",
        "",
        data,
    ]
    return "\n".join(lines) + "\n"


def _notebook(figures: Sequence[str], analyzer: str | None) -> JsonObject:
    """Return a notebook that reproduces the figures and tables from the data in the folder.

    Args:
        figures: Names of the pictures.
        analyzer: The analyzer, if the notebook repeats the study from recorded calls.
    """
    if analyzer is None:
        source, first, last = "Everything is read from `data`", _READ, 'write_paper(report, ".")'
    else:
        source = f"The study is repeated from `{_CASSETTE}`"
        first = _REPLAY.format(analyzer=analyzer)
        last = f'write_paper(report, ".", cassette="{_CASSETTE}", study=study, agents=agents, analyzer={analyzer!r})'
    cells: list[JsonValue] = [
        _cell("markdown", f"# Figures and tables of the study\n\n{source}; no model is called.", 0),
        _cell("code", first, 1),
        *(_cell("code", f"report.plot.{name}();", number) for number, name in enumerate(figures, 2)),
        _cell(
            "code", f"from roundtable.bench import write_paper\n\n# writes all files again\n{last}", len(figures) + 2
        ),
    ]
    kernel: JsonObject = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, source: str, number: int) -> JsonObject:
    cell: JsonObject = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source}
    return cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []}
