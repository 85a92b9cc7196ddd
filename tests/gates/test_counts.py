"""The gate on function calls and instructions."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.gates

RunPython = Callable[[list[str], Path], subprocess.CompletedProcess[str]]

KEPT = "docs/benchmarks/bench_counts.txt"
SLOWER = """
_plain = run_stage


async def run_stage(*given, **named):
    for number in range(2000):
        abs(number)
    return await _plain(*given, **named)
"""


@pytest.fixture
def program(root: Path) -> str:
    return str(root / "benchmarks/bench_counts.py")


def grown(text: str, row: str, column: int, factor: float) -> str:
    """Return the counts with one of them multiplied."""
    (line,) = re.findall(rf"^{re.escape(row)}  .*$", text, re.MULTILINE)
    figure = line.split()[column]
    more = f"{round(int(figure.replace(',', '')) * factor):,}"
    assert more != figure
    return text.replace(line, line.replace(figure, more))


@pytest.mark.parametrize(
    ("row", "column", "factor", "code"),
    [
        pytest.param("turn of 3 x 3 in memory", -2, 1.1, 1, id="more function calls"),
        pytest.param("turn of 3 x 3 in memory", -1, 1.1, 1, id="more instructions"),
        pytest.param("piece of a stream, fast", -1, 1.06, 1, id="a little too many"),
        pytest.param("call, default", -1, 1.04, 0, id="a few more"),
        pytest.param("call, default", -1, 0.5, 0, id="fewer"),
        pytest.param("call, plain httpx", -1, 1.1, 0, id="more in httpx"),
    ],
)
def test_counts_may_grow_by_five_percent(
    row: str, column: int, factor: float, code: int, root: Path, tmp_path: Path, program: str, run_python: RunPython
) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text(grown((root / KEPT).read_text("utf-8"), row, column, factor), "utf-8")
    done = run_python([program, "--given", str(counts), "--against", KEPT], root)
    assert done.returncode == code, done.stdout + done.stderr
    assert (f"more than 5% worse: {row}" in done.stdout) == bool(code)
    assert f"{factor - 1:+.1%}" in done.stdout


def test_equal_counts_pass_and_all_of_them_are_compared(root: Path, program: str, run_python: RunPython) -> None:
    done = run_python([program, "--given", KEPT, "--against", KEPT], root)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in (root / KEPT).read_text("utf-8").splitlines() if ", default" in line or "turn" in line]
    assert len(rows) == 4
    assert done.stdout.count("+0.0%") == 20


@pytest.mark.parametrize(
    ("version", "compared"), [("3.11.99", 10), ("3.99.0", 0)], ids=["another build", "another version"]
)
def test_counts_of_another_python_are_not_compared(
    version: str, compared: int, root: Path, tmp_path: Path, program: str, run_python: RunPython
) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text(re.sub(r"CPython [\d.]+", f"CPython {version}", (root / KEPT).read_text("utf-8")), "utf-8")
    done = run_python([program, "--given", str(counts), "--against", KEPT], root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("%\n") == compared


def test_code_that_does_more_is_noticed(tree: Path, program: str, run_python: RunPython) -> None:
    counting = [program, "--calls-only", "--only", "turn"]
    first = run_python([*counting, "--write", KEPT], tree)
    assert first.returncode == 0, first.stderr
    same = run_python([*counting, "--against", KEPT], tree)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "+0.0%" in same.stdout
    with (tree / "src/roundtable/core/stages.py").open("a", encoding="utf-8") as file:
        file.write(SLOWER)
    worse = run_python([*counting, "--against", KEPT], tree)
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert "more than 5% worse: turn of 3 x 3 in memory" in worse.stdout
