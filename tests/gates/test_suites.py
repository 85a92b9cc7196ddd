"""Every test is in a run: the everyday suite, `.ci/run`, or, if it is deep, `nox -s deep`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.gates

RunPython = Callable[[list[str], Path], subprocess.CompletedProcess[str]]


def collected(run_python: RunPython, root: Path, *words: str) -> set[str]:
    """Return the ids of the tests that pytest finds."""
    done = run_python(["-m", "pytest", "--collect-only", "-q", *words], root)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_every_test_is_in_the_everyday_or_the_ci_suite_unless_it_is_deep_or_a_gate(
    root: Path, run_python: RunPython
) -> None:
    steps = re.search(r"^whole_suite\(\) \{\n(.*?)^\}", (root / ".ci/run").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert steps is not None
    (expression,) = re.findall(r'-m "([^"]+)"', steps[1])
    everything = collected(run_python, root, "-m", "")
    elsewhere = collected(run_python, root, "-m", "deep or gates")
    ci = collected(run_python, root, "-m", expression)
    everyday = collected(run_python, root)
    assert ci == everything - elsewhere
    assert everyday < ci
    marked = {path for path in (root / "tests").rglob("test_*.py") if "mark.gates" in path.read_text("utf-8")}
    assert marked == set((root / "tests/gates").glob("test_*.py"))  # where `.ci/run` looks for gates
