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


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(["-k", "test_a_debate or test_it_is_found"], id="found and debating"),
        pytest.param([], id="all", marks=pytest.mark.slow),
    ],
)
def test_the_template_passes_its_own_tests(tmp_path: Path, chosen: list[str]) -> None:
    done = run(rendered(tmp_path), *chosen)
    assert done.returncode == 0, done.stdout + done.stderr


TASK = 'task = "Give your position on the question."'
CLOSES = '"""Forgets everything at the end. Yours'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "law"),
    [
        (TASK, "task = f'Think of {__import__(\"random\").random()}.'", "test_the_same_transcript_gives_the_same_plan"),
        (TASK, "task = view.topic", "test_instructions_hold_nothing_that_others_wrote"),
        (CLOSES, f"async def aclose(self): pass\n    {CLOSES}", "test_a_closed_storage_says_so"),
    ],
    ids=["random", "topic", "aclose"],
)
def test_what_the_tutorial_says_to_try_breaks_a_law(tmp_path: Path, before: str, after: str, law: str) -> None:
    place = rendered(tmp_path)
    code = place / "src/roundtable_bolt/__init__.py"
    text = code.read_text("utf-8")
    assert before in text
    code.write_text(text.replace(before, after), "utf-8")
    done = run(place, "-k", f"{law} or test_it_is_found")
    assert f"::{law}" in done.stdout, done.stdout + done.stderr
    assert "1 passed" in done.stdout


ANSWERS = 'said = {"position": '
WITH_MEANING = """prompt = request.messages[-1].content
        asked = [name for name in ("bottom_line", "compared") if f'"{name}"' in prompt]
        meaning = {"bottom_line": "Tea", "compared": {"Ada": "different", "Bo": "different"}}
        said = {**{name: meaning[name] for name in asked}, "position": """
MEANING_TEST = """
from roundtable import AgentConfig, Roundtable


async def test_the_answers_are_compared():
    ada, bo = (AgentConfig(id=name, name=name, provider="bolt", model="plain") for name in ("Ada", "Bo"))
    async with Roundtable([ada, bo], storage="memory://", analyzer="declared") as table:
        result = await table.debate("Tea or coffee?", rounds=2)
    first, second = (held.responses for held in result.rounds)
    assert [answer.bottom_line for answer in (*first, *second)] == ["Tea"] * 4
    assert [len(answer.compared) for answer in (*first, *second)] == [0, 0, 1, 1]
    assert {seen.verdict for answer in second for seen in answer.compared} == {"different"}
    assert result.consensus.level_in_words == "1.00"
"""


@pytest.mark.slow
def test_the_model_of_the_template_is_asked_what_it_means_and_read(tmp_path: Path) -> None:
    place = rendered(tmp_path)
    code = place / "src/roundtable_bolt/__init__.py"
    text = code.read_text("utf-8")
    assert ANSWERS in text
    code.write_text(text.replace(ANSWERS, WITH_MEANING), "utf-8")
    (place / "tests/test_meaning.py").write_text(MEANING_TEST, "utf-8")
    done = run(place, "-k", "test_the_answers_are_compared")
    assert done.returncode == 0, done.stdout + done.stderr


def rendered(place: Path) -> Path:
    """Render the template, as pip would lay an editable package."""
    copier.run_copy(str(TEMPLATE), place, data={"name": "bolt", "author": "Bo"}, defaults=True, quiet=True)
    project = tomllib.loads((place / "pyproject.toml").read_text("utf-8"))["project"]
    (points,) = project["entry-points"].items()
    info = place / "src/roundtable_bolt-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points[1].items())
    (info / "entry_points.txt").write_text(f"[{points[0]}]\n{lines}")
    return place


def run(place: Path, *chosen: str) -> subprocess.CompletedProcess[str]:
    """Run its tests."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "anyio", *chosen]
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of other packages take seconds to load
    return subprocess.run(
        [*words, "--rootdir", str(place), "-o", f"pythonpath={place / 'src'}", str(place / "tests")],
        cwd=place, env=plain, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
