"""Each static gate refuses a violation planted in a copy of the tree, and says where it stands."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.gates

RunGate = Callable[[str, Path], subprocess.CompletedProcess[str]]

LONG_FUNCTION = (
    '"""Planted."""\n\n\ndef planted() -> int:\n    """Planted."""\n' + "    x = 1\n" * 60 + "    return x\n"
)
UNDOCUMENTED = '"""Planted."""\n\n\ndef planted(number: int) -> int:\n    return number\n'
UNTYPED = '"""Planted."""\n\n\ndef planted(number):\n    """Planted."""\n    return number\n'
OPEN = '"""Planted."""\n\nfrom typing import Any\n\n\ndef planted(number: Any) -> None:\n    """Planted."""\n'
MACHINE = "see " + "/wo" + "rk/main/notes\n"
REGISTRY = "see https://files.py" + "thonhosted.org/packages\n"
LATER = "# TO" + "DO: later\n"
MOCK = "from unit" + "test.mock import patch\n"
SILENCED = '"""Planted."""\n\nNUMBER: int = "one"  # type: ' + "ignore\n"
UNREASONED = '"""Planted."""\n\nNUMBER: int = "one"  # type: ' + "ignore[assignment]\n"

PLANTED = [
    pytest.param(
        "layers",
        {"src/roundtable/types/planted.py": "import roundtable.api\n"},
        "roundtable.types.planted -> roundtable.api",
        id="an upward import",
    ),
    pytest.param(
        "layers",
        {"src/roundtable/scoring/planted.py": "import roundtable.parsing\n"},
        "roundtable.scoring.planted -> roundtable.parsing",
        id="an import of a sibling layer",
    ),
    pytest.param("layers", {"src/roundtable/planted.py": ""}, "roundtable.planted", id="a module without a layer"),
    pytest.param(
        "layers",
        {
            "src/roundtable/engine/planted_a.py": "import roundtable.engine.planted_b\n",
            "src/roundtable/engine/planted_b.py": "import roundtable.engine.planted_a\n",
        },
        "planted_a",
        id="a circle of imports",
    ),
    pytest.param(
        "layers",
        {"src/roundtable/engine/planted.py": "import httpx\n"},
        "planted -> httpx",
        id="httpx outside its door",
    ),
    pytest.param(
        "layers",
        {"src/roundtable/agents/planted.py": "import pluggy\n"},
        "planted -> pluggy",
        id="pluggy below plugins",
    ),
    pytest.param(
        "layers", {"src/roundtable/engine/planted.py": "import rich\n"}, "planted -> rich", id="an extra in the core"
    ),
    pytest.param(
        "types",
        {"src/roundtable/types/planted.py": 'NUMBER: int = "one"\n'},
        "src/roundtable/types/planted.py:1: error",
        id="a type error",
    ),
    pytest.param(
        "doc-types",
        {"docs/how-to/planted.md": '# Planted\n\n```python\nnumber: int = "one"\n```\n'},
        "docs/how-to/planted.md:4: error",
        id="a type error in a page",
    ),
    pytest.param(
        "strict-types",
        {"tests/typing/planted.py": 'NUMBER: int = "one"\n'},
        "planted.py:1",
        id="a type error for a user",
    ),
    pytest.param(
        "public-types",
        {"src/roundtable/planted.py": UNTYPED},
        "roundtable.planted.planted",
        id="a public name without types",
    ),
    pytest.param("lint", {"src/roundtable/types/planted.py": UNDOCUMENTED}, "D103", id="an undocumented public name"),
    pytest.param("lint", {"src/roundtable/types/planted.py": OPEN}, "ANN401", id="Any in a public signature"),
    pytest.param(
        "lint",
        {"src/roundtable/types/planted.py": '"""Planted."""\n\nimport asyncio\n\nasyncio\n'},
        "TID251",
        id="asyncio",
    ),
    pytest.param("format", {"src/roundtable/types/planted.py": "x = {  }\n"}, "planted.py", id="an unformatted file"),
    pytest.param("generated", {"docs/reference/errors.md": "planted"}, "errors.md", id="an edited reference page"),
    pytest.param(
        "generated", {"docs/reference/schemas/AgentConfig.json": " "}, "AgentConfig.json", id="an edited schema"
    ),
    pytest.param("generated", {"docs/reference/schemas/Planted.json": "{}"}, "Planted.json", id="a left-over schema"),
    pytest.param("house", {"tests/planted.py": MOCK}, "tests/planted.py:1: uses a mock", id="a mock"),
    pytest.param(
        "house",
        {"docs/how-to/planted.md": "# Planted\n\nAn agent that stays silent is no " + "participant.\n"},
        "docs/how-to/planted.md:3: say it plainly instead of",
        id="a twisted phrase",
    ),
    pytest.param(
        "house",
        {"tests/planted.py": f'"""{"Giv" + "e"} nothing."""\n'},
        "begins with Give",
        id="a docstring that does not say what is done",
    ),
    pytest.param(
        "house",
        {
            f"src/roundtable/planted_{here}.py": f"from roundtable import planted_{there}\n"
            for here, there in ("ab", "bc", "cd", "da")
        },
        "4 modules import each other",
        id="a circle of type imports",
    ),
    pytest.param("house", {"src/roundtable/planted.py": "\n" * 801}, "801 lines", id="a file over 800 lines"),
    pytest.param(
        "house", {"src/roundtable/planted.py": LONG_FUNCTION}, "planted has 62 lines", id="a function over 60 lines"
    ),
    pytest.param(
        "house",
        {"src/roundtable/planted.py": '"""Planted."""\n\nfrom roundtable.types.plan import Final\n\nFinal\n'},
        "roundtable.types.plan does not list Final",
        id="a name taken from a module that does not give it",
    ),
    pytest.param("house", {"docs/planted.md": MACHINE}, "docs/planted.md:1: names a machine path", id="a machine path"),
    pytest.param("house", {"docs/planted.md": REGISTRY}, "docs/planted.md:1: names a registry", id="a registry host"),
    pytest.param("house", {"tests/planted.py": LATER}, "tests/planted.py:1: names work left", id="work left for later"),
    pytest.param(
        "house", {"src/roundtable/planted.py": SILENCED}, "names its code", id="a check silenced without a code"
    ),
    pytest.param(
        "wheel", {"src/roundtable/test_planted.py": ""}, "a test: roundtable/test_planted.py", id="a shipped test"
    ),
]


@pytest.mark.parametrize(("gate", "files", "message"), PLANTED)
def test_a_planted_violation_is_refused(
    gate: str,
    files: dict[str, str],
    message: str,
    tree: Path,
    run_gate: RunGate,
) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    done = run_gate(gate, tree)
    assert done.returncode == 1, done.stdout
    assert message in done.stdout, done.stdout


def test_one_build_of_the_docs_names_every_dead_reference(tree: Path, run_gate: RunGate) -> None:
    with (tree / "docs/index.md").open("a", encoding="utf-8") as file:
        file.write("\n[link](nowhere.md)\n\n[anchor](glossary.md#nowhere)\n")
    (tree / "docs/planted.md").write_text("# Planted\n", "utf-8")
    done = run_gate("docs", tree)
    assert done.returncode == 1, done.stdout
    for message in ("'nowhere.md'", "'#nowhere'", "planted.md"):
        assert message in done.stdout, done.stdout


def test_docs_that_name_what_the_package_lacks_are_refused(tree: Path, run_gate: RunGate) -> None:
    with (tree / "docs/index.md").open("a", encoding="utf-8") as file:
        file.write("\n::: roundtable.nowhere\n")
    done = run_gate("docs", tree)
    assert done.returncode == 1, done.stdout
    assert "roundtable.nowhere" in done.stdout, done.stdout


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_an_unused_dependency_is_refused(tree: Path, run_gate: RunGate) -> None:
    replace(tree / "pyproject.toml", "dependencies = [\n", 'dependencies = [\n    "attrs>=25",\n')
    done = run_gate("dependencies", tree)
    assert done.returncode == 1, done.stdout
    assert "'attrs' defined as a dependency but not used" in done.stdout


def test_an_undeclared_dependency_is_refused(tree: Path, run_gate: RunGate) -> None:
    (tree / "src/roundtable/types/planted.py").write_text("import yarl\n", "utf-8")
    done = run_gate("dependencies", tree)
    assert done.returncode == 1, done.stdout
    assert "'yarl'" in done.stdout


def test_a_file_that_the_wheel_leaves_out_is_refused(tree: Path, run_gate: RunGate) -> None:
    (tree / ".gitignore").write_text("prompts.txt\n", "utf-8")
    (tree / "src/roundtable/prompts.txt").write_text("planted", "utf-8")
    done = run_gate("wheel", tree)
    assert done.returncode == 1, done.stdout
    assert "missing in the wheel: roundtable/prompts.txt" in done.stdout
