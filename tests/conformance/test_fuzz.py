"""Framers and parsers hold their laws on hostile bytes: on a few every day, on many in the deep run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "tools" / "fuzz.py"
WIRES = ("anthropic", "openai", "openai-chat", "google", "perplexity")
TARGETS = ["sse", "json-array", *(f"{wire}-{kind}" for wire in WIRES for kind in ("answer", "stream"))]


def fuzz(*arguments: str) -> str:
    command = [sys.executable, str(FUZZ), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_laws_hold_for_the_inputs_that_the_fuzzer_starts_from() -> None:
    assert [line.partition(":")[0] for line in fuzz("--seeds").splitlines()] == TARGETS


@pytest.mark.slow
def test_bytes_that_broke_a_law_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "crash").write_bytes(b"\0\0\0\0data: {")
    assert "sse: 1 inputs held" in fuzz("sse", "--replay", str(tmp_path / "crash"))


@pytest.mark.deep
@pytest.mark.parametrize("target", TARGETS)
def test_the_laws_hold_for_the_inputs_that_the_fuzzer_generates(target: str) -> None:
    pytest.importorskip("atheris", reason="atheris is there for Linux alone")
    assert "held" in fuzz(target, "--seconds", "30")
