"""The template of a plugin renders to a package that passes its own tests; its tutorial is typed in tests/docs."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import copier
import pytest

TEMPLATE = Path(__file__).resolve().parents[2] / "examples/roundtable-plugin-template"


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(["-k", "test_a_debate or test_it_is_found"], id="found and debating"),
        pytest.param([], id="all", marks=pytest.mark.slow),
    ],
)
def test_the_template_passes_its_own_tests(tmp_path: Path, chosen: list[str]) -> None:
    copier.run_copy(str(TEMPLATE), tmp_path, data={"name": "bolt", "author": "Bo"}, defaults=True, quiet=True)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    (points,) = project["entry-points"].items()
    info = tmp_path / "src/roundtable_bolt-0.1.0.dist-info"  # as pip would lay it for an editable package
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points[1].items())
    (info / "entry_points.txt").write_text(f"[{points[0]}]\n{lines}")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "anyio", *chosen]
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of other packages take seconds to load
    done = subprocess.run(
        [*words, "--rootdir", str(tmp_path), "-o", f"pythonpath={tmp_path / 'src'}", str(tmp_path / "tests")],
        cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
