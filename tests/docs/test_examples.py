"""Every script and notebook under examples/ runs to its end, in an empty folder, without a key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KEYS = ("_API_KEY", "_BASE_URL", "OLLAMA_HOST", "DATABASE_PATH")


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(KEYS) or name.startswith("ROUNDTABLE_")]:
        monkeypatch.delenv(name)


def of_kind(pattern: str) -> list[object]:
    return [pytest.param(path, id=path.name) for path in sorted(EXAMPLES.glob(pattern))]


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("script", of_kind("*.py"))
def test_a_script_runs_to_its_end_and_prints_its_result(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("notebook", of_kind("*.ipynb"))
def test_a_notebook_runs_in_a_real_kernel_and_is_stored_without_output(notebook: Path, tmp_path: Path) -> None:
    stored = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in stored.cells)
    done = NotebookClient(stored, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.get("outputs") for cell in done.cells)


@pytest.mark.usefixtures("no_keys")
def test_the_comparison_takes_agents_by_name(tmp_path: Path) -> None:
    (tmp_path / "ada.json").write_text('{"*": {"position": "Tea"}}')
    script = [sys.executable, "-W", "error", str(EXAMPLES / "compare_agents.py")]
    words = ["Tea or coffee?", "--agents", "scripted:ada.json", "--rounds", "1"]
    done = subprocess.run([*script, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "scripted (ada.json)" in done.stdout
