"""Copies of this repository in which a violation can be planted, and the gates to run on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREE = (
    "conftest.py",
    "docs",
    "examples",
    "mkdocs.yml",
    "pyproject.toml",
    "src",
    "tests/contract",
    "tests/typing",
    "tools",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
)
CACHES = shutil.ignore_patterns("__pycache__", ".*cache", "*.db*")

RunGate = Callable[[str, Path], subprocess.CompletedProcess[str]]


def run(command: list[str], tree: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in `tree`, which wins over the installed package."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "NO_COLOR": "1", "COLUMNS": "200"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False
    )


@pytest.fixture
def root() -> Path:
    """The real tree."""
    return ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the gates read."""
    copy = tmp_path / "tree"
    for name in TREE:
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=CACHES)
        elif source.is_file():
            shutil.copy2(source, target)
    return copy


@pytest.fixture
def run_gate() -> RunGate:
    """Run one gate by its name on a tree, as CI does; output and errors come together in `stdout`."""

    def gate(name: str, tree: Path) -> subprocess.CompletedProcess[str]:
        done = run([sys.executable, str(ROOT / "tools/gates.py"), name], tree)
        done.stdout += done.stderr
        return done

    return gate


@pytest.fixture
def run_python() -> Callable[[list[str], Path], subprocess.CompletedProcess[str]]:
    """Run the interpreter with arguments in a tree."""
    return lambda arguments, tree: run([sys.executable, *arguments], tree)
