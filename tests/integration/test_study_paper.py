"""The folder for a paper: its tables are those of the report, and its notebook makes the figures again offline."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from roundtable import sync
from roundtable.bench import Question, StudyReport, write_paper
from roundtable.errors import ConfigurationError, StorageError
from roundtable.testing import scripted_agents

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
def test_it_has_every_figure_and_table(paper: Path, report: StudyReport) -> None:
    assert {path.name for path in (paper / "figures").iterdir()} == {
        f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf")
    }
    for name in ("arms", "comparisons", "frontier", "calibration", "movement", "categories"):
        rows = rows_of(paper / "tables" / f"{name}.csv")
        assert (paper / "tables" / f"{name}.tex").read_text("utf-8").count("\\\\\n") == len(rows) + 1
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
def test_it_can_be_written_again_into_the_same_folder(paper: Path, report: StudyReport) -> None:
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
