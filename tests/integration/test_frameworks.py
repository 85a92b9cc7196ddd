"""Agents of other libraries at the table, and a debate as their tool, each library in an environment of its own.

`.ci/run` installs them, in pinned versions, into the folder that `ROUNDTABLE_FRAMEWORKS` names.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ROUNDTABLE_FRAMEWORKS") or "/nowhere")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "frameworks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="ROUNDTABLE_FRAMEWORKS names no folder of environments"),
]

PRINTED = {
    "pydantic_ai": ["seat: Tea 2 True", "tool: True 2"],
    "langchain": ["seat: Tea 2 2", "tool: debate ['question'] True", "node: Tea 3"],
    "openai_agents": ["seat: Tea 2 26", "tool: True 2"],
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_agent_takes_part_and_a_debate_is_a_tool(name: str, tmp_path: Path) -> None:
    script, python = EXAMPLES / f"with_{name}.py", FOLDER / name / "bin" / "python"
    done = subprocess.run(
        [str(python), str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == PRINTED[name]


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {f"with_{name}" for name in PRINTED}
