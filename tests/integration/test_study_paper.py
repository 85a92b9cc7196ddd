"""The folder for a paper: its tables are those of the report, and its notebook makes the figures again offline."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from roundtable import sync
from roundtable.bench import Question, Study, StudyReport, write_paper
from roundtable.errors import ConfigurationError, StorageError
from roundtable.testing import VendorServer, scripted_agents

FIGURES = ("accuracy", "differences", "frontier", "calibration", "movement", "categories")


@pytest.fixture(scope="module")
def report() -> StudyReport:
    agents = scripted_agents({"ada": "4", "bo": "5", "cy": "4"})
    questions = [Question(id=f"{n}", question=f"{n}: 2 + 2?", gold="4", category="R&D") for n in range(3)]
    with sync.Roundtable(agents, storage="memory://", analyzer="declared") as table:
        return sync.run_study(table, questions, modes=("collaborative", "delphi"), resamples=200)


@pytest.fixture(scope="module")
def paper(report: StudyReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_paper(report, tmp_path_factory.mktemp("paper") / "study")


def rows_of(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(path.read_text("utf-8")))]


@pytest.mark.slow
def test_a_paper_has_every_figure_and_table(paper: Path, report: StudyReport) -> None:
    assert {path.name for path in (paper / "figures").iterdir()} == {
        f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf")
    }
    for name in ("arms", "comparisons", "frontier", "calibration", "movement", "categories"):
        rows = rows_of(paper / "tables" / f"{name}.csv")
        table = (paper / "tables" / f"{name}.tex").read_text("utf-8")
        assert table.count("\\\\\n") == len(rows) + 1
        assert table.splitlines()[2].count(" & ") <= 7  # the CSV has all columns
    arms = rows_of(paper / "tables" / "arms.csv")
    assert [(row["arm"], float(row["accuracy"])) for row in arms] == [(arm.arm, arm.accuracy) for arm in report.arms]
    assert "R\\&D" in (paper / "tables" / "categories.tex").read_text("utf-8")
    assert StudyReport.from_json((paper / "data" / "report.json").read_text("utf-8")) == report


@pytest.mark.slow
def test_the_methods_name_models_versions_seeds_and_sources(paper: Path, report: StudyReport) -> None:
    methods = (paper / "methods.md").read_text("utf-8")
    first = report.answers[0]
    for part in (first.library_version, first.prompt_version, "scripted:scripted", "n = 3 questions", report.sources):
        assert part in methods
    assert "debated in 2 modes: collaborative, delphi" in methods
    assert "Seeds of the debates: 0." in methods
    assert "their price is not known" in methods


@pytest.mark.slow
def test_a_paper_can_be_written_again_into_the_same_folder(paper: Path, report: StudyReport) -> None:
    (paper / "notes.txt").write_text("mine")
    assert write_paper(report, paper) == paper
    assert (paper / "notes.txt").read_text() == "mine"
    with pytest.raises(StorageError, match="cannot be created"):
        write_paper(report, paper / "notes.txt" / "study")


@pytest.mark.slow
def test_the_notebook_makes_the_figures_again(paper: Path) -> None:
    notebook = nbformat.read(paper / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    (paper / "figures" / "accuracy.svg").unlink()
    done = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(paper)}}).execute()
    shown = [
        output for cell in done.cells for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())
    ]
    assert len(shown) == len(FIGURES)
    assert (paper / "figures" / "accuracy.svg").exists()


def test_a_missing_library_is_named(report: StudyReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match="matplotlib"):
        write_paper(report, tmp_path)


STUDY = Study(name="sums", questions=(Question(id="1", question="2 + 2?", gold="4"),), debate={"rounds": 1})
AGENTS = ("openai:gpt-5.2", "anthropic")


def answers_of_vendors():
    """Servers that answer as two vendors do, with different numbers."""
    said = {"reasoning": "Counted.", "confidence": 0.8}
    return (
        VendorServer("openai", lambda seen: {"position": "4", **said}),
        VendorServer("anthropic", lambda seen: {"position": "5", **said}),
    )


@pytest.mark.slow
def test_the_notebook_repeats_the_study_from_recorded_calls(tmp_path: Path) -> None:
    cassette, folder = tmp_path / "calls.jsonl", tmp_path / "paper"
    openai, anthropic = answers_of_vendors()
    with openai, anthropic:
        providers = {"openai": openai.config, "anthropic": anthropic.config}
        with sync.Roundtable(
            AGENTS, providers=providers, storage="memory://", analyzer="declared", cassette=cassette
        ) as table:
            report = sync.run_study(table, **{**STUDY.arguments(), "study": None})
    write_paper(report, folder, cassette=cassette, study=STUDY, agents=AGENTS, analyzer="declared")
    assert (folder / "data" / "cassette.jsonl").read_bytes() == cassette.read_bytes()
    cassette.unlink()
    for name in ("figures/accuracy.svg", "data/answers.csv"):
        (folder / name).unlink()
    notebook = nbformat.read(folder / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    before = {path.name: path.read_bytes() for path in (folder / "data").iterdir()}
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert (folder / "figures" / "accuracy.svg").exists()
    again = {path.name: path.read_bytes() for path in (folder / "data").iterdir()}
    assert {name: again[name] for name in before if name != "report.json"} == {
        name: text for name, text in before.items() if name != "report.json"
    }
    arms = [StudyReport.from_json(texts["report.json"].decode()).arms for texts in (before, again)]
    assert arms[0] == arms[1] == report.arms
    rewritten = nbformat.read(folder / "notebook.ipynb", as_version=4)
    assert [cell.source for cell in rewritten.cells] == [cell.source for cell in notebook.cells]


@pytest.mark.slow
def test_the_command_writes_recorded_calls_into_the_folder(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,gold\n2 + 2?,4\n", "utf-8")
    openai, anthropic = answers_of_vendors()
    words = "bench study q.csv --rounds 1 --agents openai,anthropic --cassette calls.jsonl --report paper --quiet"
    command = [sys.executable, "-m", "roundtable", *words.split()]
    with openai, anthropic:
        environment = {**openai.environment, **anthropic.environment, "PATH": "", "HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = tmp_path / "paper" / "data"
    assert [agent["provider"] for agent in json.loads((data / "agents.json").read_text("utf-8"))] == [
        "openai",
        "anthropic",
    ]
    assert Study.model_validate_json((data / "study.json").read_text("utf-8")).debate == {
        "rounds": 1,
        "decide": "plurality",
    }
    assert 'analyzer="semantic"' in (tmp_path / "paper" / "notebook.ipynb").read_text("utf-8").replace(
        "'", '"'
    ).replace('\\"', '"')
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr  # from the file: the servers have ended
    assert again.stdout == done.stdout


def test_recorded_calls_need_their_study_and_agents(report: StudyReport, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cassette= needs study="):
        write_paper(report, tmp_path, cassette="calls.jsonl", agents=AGENTS)
    with pytest.raises(ConfigurationError, match="cassette= needs agents="):
        write_paper(report, tmp_path, cassette="calls.jsonl", study=STUDY)


@pytest.mark.slow
def test_a_missing_recording_is_named(report: StudyReport, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"calls\.jsonl' cannot be copied: No such file"):
        write_paper(report, tmp_path, cassette=tmp_path / "calls.jsonl", study=STUDY, agents=AGENTS)
