"""`roundtable plugins new` writes a package that passes its own tests; its tutorial is typed in tests/docs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from roundtable.errors import ConfigurationError
from roundtable.plugins.template import KINDS, write_plugin

FOUR = ("provider", "mode", "tool", "storage")


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), tuple(KINDS)], ids=",".join)
def test_only_the_kinds_asked_for_are_written(tmp_path: Path, kinds: Sequence[str]) -> None:
    _, paths = write_plugin("tea-house", kinds, tmp_path / "new")
    names = {path.stem for path in paths if path.parent.name == "roundtable_tea_house"}
    assert names == {"__init__", *kinds}
    assert {path.stem for path in paths if path.parent.name == "tests"} == {"test_plugin"} | {
        f"test_{k}" for k in kinds
    }
    for path in paths:
        text = path.read_text("utf-8")
        assert "$" not in text.replace("${{ matrix.python }}", ""), path
        if path.suffix == ".py":
            ast.parse(text)
    hooks = (tmp_path / "new/src/roundtable_tea_house/__init__.py").read_text("utf-8")
    assert hooks.count("@hookimpl") == len(kinds)
    assert {"README.md", "CHANGELOG.md", "example.py", "pyproject.toml", "tests.yml"} <= {path.name for path in paths}


def test_a_new_plugin_is_tested_on_versions_of_python_that_the_library_is_tested_on(tmp_path: Path) -> None:
    write_plugin("tea-house", ("mode",), tmp_path / "new")
    steps = (tmp_path / "new/.github/workflows/tests.yml").read_text("utf-8")
    (named,) = re.findall(r"python: (\[.*\])", steps)
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    tested = {one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r"Python :: 3\.\d+$", one)}
    assert ast.literal_eval(named) == [min(tested), max(tested)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_registered_and_debates(tmp_path: Path, kind: str) -> None:
    place = rendered(tmp_path, (kind,))
    done = run(place, str(place / "tests/test_plugin.py"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), tuple(KINDS)], ids=",".join)
def test_a_new_plugin_passes_its_own_tests(tmp_path: Path, kinds: Sequence[str]) -> None:
    done = run(rendered(tmp_path, kinds), str(tmp_path / "tests"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_the_code_of_a_new_plugin_has_the_types_that_the_library_declares(tmp_path: Path) -> None:
    place = rendered(tmp_path, tuple(KINDS))
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        os.devnull,
        "--cache-dir",
        str(tmp_path / "kept"),
    ]
    done = subprocess.run(
        [*words, "src", "example.py"],
        cwd=place, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_example_of_a_new_plugin_runs(tmp_path: Path) -> None:
    place = rendered(tmp_path, tuple(KINDS))
    environment = {**os.environ, "PYTHONPATH": str(place / "src")}
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=place, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Tea" in done.stdout, done.stdout + done.stderr
    assert "Coffee" in done.stdout


@pytest.mark.parametrize(
    ("name", "kinds", "said"),
    [
        ("Acme", ("mode",), "'Acme' cannot be the name of a plugin"),
        ("a_b", ("mode",), "cannot be the name"),
        ("acme-", ("mode",), "cannot be the name"),
        ("../acme", ("mode",), "cannot be the name"),
        ("acme", ("modes",), "unknown kind of plugin: 'modes'"),
        ("acme", (), "needs at least one kind"),
    ],
)
def test_a_plugin_that_cannot_be_written_is_refused(tmp_path: Path, name: str, kinds: Sequence[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        write_plugin(name, kinds, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="is not empty"):
        write_plugin("acme", ["mode"], tmp_path)
    with pytest.raises(ConfigurationError, match="is not empty"):
        write_plugin("acme", ["mode"], tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


TASK = 'task = "Give your position on the question."'
CLOSES = '"""Forgets everything at the end. Your own'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "before", "after", "law"),
    [
        (
            "mode",
            TASK,
            "task = f'Think of {__import__(\"random\").random()}.'",
            "test_the_same_transcript_gives_the_same_plan",
        ),
        ("mode", TASK, "task = view.topic", "test_instructions_hold_nothing_that_others_wrote"),
        ("storage", CLOSES, f"async def aclose(self): pass\n    {CLOSES}", "test_a_closed_storage_says_so"),
    ],
    ids=["random", "topic", "aclose"],
)
def test_the_change_that_the_tutorial_suggests_breaks_a_law(
    tmp_path: Path, file: str, before: str, after: str, law: str
) -> None:
    place = rendered(tmp_path, FOUR)
    code = place / f"src/roundtable_bolt/{file}.py"
    text = code.read_text("utf-8")
    assert before in text
    code.write_text(text.replace(before, after), "utf-8")
    done = run(place, "-k", f"{law} or test_it_is_found")
    assert f"::{law}" in done.stdout, done.stdout + done.stderr
    assert "1 passed" in done.stdout


ANSWERS = 'answer = {"position": '
WITH_MEANING = """prompt = request.messages[-1].content
        asked = [name for name in ("bottom_line", "compared") if f'"{name}"' in prompt]
        meaning = {"bottom_line": "Tea", "compared": {"Ada": "different", "Bo": "different"}}
        answer = {**{name: meaning[name] for name in asked}, "position": """
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
def test_the_model_of_the_template_is_asked_for_its_meaning_and_its_answer_is_read(tmp_path: Path) -> None:
    place = rendered(tmp_path, ("provider",))
    code = place / "src/roundtable_bolt/provider.py"
    text = code.read_text("utf-8")
    assert ANSWERS in text
    code.write_text(text.replace(ANSWERS, WITH_MEANING), "utf-8")
    (place / "tests/test_meaning.py").write_text(MEANING_TEST, "utf-8")
    done = run(place, "-k", "test_the_answers_are_compared")
    assert done.returncode == 0, done.stdout + done.stderr


def rendered(place: Path, kinds: Sequence[str]) -> Path:
    """Write a plugin, and lay it as pip would lay an editable package."""
    write_plugin("bolt", kinds, place)
    project = tomllib.loads((place / "pyproject.toml").read_text("utf-8"))["project"]
    (points,) = project["entry-points"].items()
    info = place / "src/roundtable_bolt-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points[1].items())
    (info / "entry_points.txt").write_text(f"[{points[0]}]\n{lines}")
    return place


def run(place: Path, *chosen: str) -> subprocess.CompletedProcess[str]:
    """Run its tests: those of a file, or those chosen by `-k`."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "anyio", *chosen]
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of other packages take seconds to load
    return subprocess.run(
        [*words, "--rootdir", str(place), "-o", f"pythonpath={place / 'src'}"],
        cwd=place, env=plain, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
