"""The gates on a test run: every branch of the exact packages, 95 % of all, no skipped and no missing tests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.gates

RunGate = Callable[[str, Path], subprocess.CompletedProcess[str]]
RunPython = Callable[[list[str], Path], subprocess.CompletedProcess[str]]

BRANCH = "def planted(number):\n    if number:\n        number += 1\n    return number\n"
COVERED = "X = 1\n" * 200
UNCOVERED = "def planted():\n" + "    x = 1\n" * 20


PYTEST = ("-m", "pytest", "-p", "no:roundtable.testing.pytest_plugin")
"""Without the plugin of the kit, which the small tree lacks."""


@pytest.fixture
def small_tree(tmp_path: Path, root: Path) -> Path:
    """A package of our name with one exact and one other module, under the configuration of this repository."""
    tree = tmp_path / "tree"
    (tree / "src/roundtable/scoring").mkdir(parents=True)
    (tree / "src/roundtable/__init__.py").touch()
    (tree / "src/roundtable/scoring/__init__.py").write_text(BRANCH, "utf-8")
    (tree / "src/roundtable/engine.py").write_text(COVERED, "utf-8")
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy2(root / name, tree / name)
    return tree


@pytest.mark.parametrize(
    ("calls", "engine", "code", "message"),
    [
        pytest.param("scoring.planted(0), scoring.planted(1)", COVERED, 0, "passed: coverage", id="all of it"),
        pytest.param("scoring.planted(1)", COVERED, 1, "less than fail-under=100", id="an uncovered branch of scoring"),
        pytest.param(
            "scoring.planted(0), scoring.planted(1)",
            UNCOVERED,
            1,
            "less than fail-under=95",
            id="too little of the rest",
        ),
    ],
)
def test_uncovered_code_is_refused(
    calls: str,
    engine: str,
    code: int,
    message: str,
    small_tree: Path,
    run_python: RunPython,
    run_gate: RunGate,
) -> None:
    (small_tree / "src/roundtable/engine.py").write_text(engine, "utf-8")
    (small_tree / "calls.py").write_text(f"from roundtable import engine, scoring\n{calls}\n", "utf-8")
    measured = run_python(["-m", "coverage", "run", "calls.py"], small_tree)
    assert measured.returncode == 0, measured.stderr
    done = run_gate("coverage", small_tree)
    assert done.returncode == code, done.stdout
    assert message in done.stdout


@pytest.mark.parametrize(
    ("test", "code"),
    [
        pytest.param("def test_a(): pass", 0, id="a passing test"),
        pytest.param("import pytest\ndef test_a(): pytest.skip('planted')", 1, id="a skipped test"),
        pytest.param("import pytest\npytest.skip('planted', allow_module_level=True)", 1, id="a skipped file"),
        pytest.param(
            "import pytest\n@pytest.mark.xfail(reason='planted')\ndef test_a(): assert 0", 0, id="an expected failure"
        ),
        pytest.param("import warnings\ndef test_a(): warnings.warn('planted')", 1, id="a warning"),
        pytest.param("", 5, id="no test at all"),
    ],
)
def test_a_run_counts_only_when_its_tests_ran(test: str, code: int, small_tree: Path, run_python: RunPython) -> None:
    (small_tree / "test_planted.py").write_text(test, "utf-8")
    passing = "def test_b(): pass" if code != 5 else ""
    (small_tree / "test_beside.py").write_text(passing, "utf-8")
    done = run_python([*PYTEST, "--fail-on-skip", "test_planted.py", "test_beside.py"], small_tree)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("reason", "code"),
    [pytest.param("EXCUSE is not set", 0, id="excused"), pytest.param("no time", 1, id="not excused")],
)
def test_a_skip_may_be_excused_by_its_reason(reason: str, code: int, small_tree: Path, run_python: RunPython) -> None:
    planted = f"import pytest\ndef test_a(): pytest.skip({reason!r})\ndef test_b(): pass\n"
    (small_tree / "test_planted.py").write_text(planted, "utf-8")
    done = run_python([*PYTEST, "--fail-on-skip", "--may-skip", "EXCUSE", "test_planted.py"], small_tree)
    assert done.returncode == code, done.stdout + done.stderr
