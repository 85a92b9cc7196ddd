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

Planted = tuple[str, dict[str, str], str]
"""What is planted, the files that hold it, and what the gate has to say of it."""

# One run of a gate judges all that is planted for it, each in files of its own.
PLANTED: dict[str, tuple[Planted, ...]] = {
    "layers": (
        (
            "an upward import",
            {"src/roundtable/core/types/planted.py": "import roundtable.api\n"},
            "roundtable.core.types.planted -> roundtable.api",
        ),
        (
            "an import of a sibling layer",
            {"src/roundtable/scoring/planted.py": "import roundtable.parsing\n"},
            "roundtable.scoring.planted -> roundtable.parsing",
        ),
        ("a module without a layer", {"src/roundtable/planted.py": ""}, "- roundtable.planted\n"),
        (
            "a circle of imports",
            {
                "src/roundtable/engine/planted_a.py": "import roundtable.engine.planted_b\n",
                "src/roundtable/engine/planted_b.py": "import roundtable.engine.planted_a\n",
            },
            "planted_a",
        ),
        (
            "httpx outside its door",
            {"src/roundtable/engine/planted_http.py": "import httpx\n"},
            "engine.planted_http -> httpx",
        ),
        (
            "pluggy below plugins",
            {"src/roundtable/agents/planted.py": "import pluggy\n"},
            "agents.planted -> pluggy",
        ),
        (
            "a server that reaches behind the table",
            {"src/roundtable/server/planted.py": "import roundtable.api.assembly\n"},
            "server.planted -> roundtable.api.assembly",
        ),
        (
            "a command that runs debates without the table",
            {"src/roundtable/cli/planted.py": "import roundtable.api.debates\n"},
            "cli.planted -> roundtable.api.debates",
        ),
        (
            "a core file that imports a mode",
            {"src/roundtable/core/planted.py": "import roundtable.modes\n"},
            "roundtable.core.planted -> roundtable.modes",
        ),
        ("an extra in the core", {"src/roundtable/core/engine/planted.py": "import rich\n"}, "engine.planted -> rich"),
    ),
    "types": (
        (
            "a type error",
            {"src/roundtable/core/types/planted.py": 'NUMBER: int = "one"\n'},
            "src/roundtable/core/types/planted.py:1: error",
        ),
    ),
    "doc-types": (
        (
            "a type error in a page",
            {"docs/how-to/planted.md": '# Planted\n\n```python\nnumber: int = "one"\n```\n'},
            "docs/how-to/planted.md:4: error",
        ),
    ),
    "strict-types": (
        ("a type error for a user", {"tests/typing/planted.py": 'NUMBER: int = "one"\n'}, "planted.py:1"),
    ),
    "public-types": (
        ("a public name without types", {"src/roundtable/planted.py": UNTYPED}, "roundtable.planted.planted"),
    ),
    "lint": (
        ("an undocumented public name", {"src/roundtable/core/types/planted.py": UNDOCUMENTED}, "D103"),
        ("Any in a public signature", {"src/roundtable/core/types/planted_any.py": OPEN}, "ANN401"),
        (
            "asyncio",
            {"src/roundtable/core/types/planted_loop.py": '"""Planted."""\n\nimport asyncio\n\nasyncio\n'},
            "TID251",
        ),
    ),
    "format": (("an unformatted file", {"src/roundtable/core/types/planted.py": "x = {  }\n"}, "planted.py"),),
    "generated": (
        ("an edited reference page", {"docs/reference/errors.md": "planted"}, "errors.md"),
        ("an edited schema", {"docs/reference/schemas/AgentConfig.json": " "}, "AgentConfig.json"),
        ("a left-over schema", {"docs/reference/schemas/Planted.json": "{}"}, "Planted.json"),
    ),
    "house": (
        ("a mock", {"tests/planted.py": MOCK}, "tests/planted.py:1: uses a mock"),
        (
            "a twisted phrase",
            {"docs/how-to/planted.md": "# Planted\n\nAn agent that stays silent is no " + "participant.\n"},
            "docs/how-to/planted.md:3: say it plainly instead of",
        ),
        (
            "a question for a built-in part",
            {
                "src/roundtable/api/planted_door.py": '"""Planted."""\n\nfrom roundtable.modes import OxfordMode\n\n\n'
                'def planted(mode: object) -> bool:\n    """Check."""\n    return isinstance(mode, OxfordMode)\n'
            },
            "src/roundtable/api/planted_door.py:8: asks for the built-in OxfordMode",
        ),
        (
            "a docstring that does not say what is done",
            {"tests/planted_give.py": f'"""{"Giv" + "e"} nothing."""\n'},
            "begins with Give",
        ),
        (
            "a circle of type imports",
            {
                f"src/roundtable/planted_{here}.py": f"from roundtable import planted_{there}\n"
                for here, there in ("ab", "bc", "cd", "da")
            },
            "4 modules import each other",
        ),
        ("a file over 800 lines", {"src/roundtable/planted.py": "\n" * 801}, "801 lines"),
        ("a function over 60 lines", {"src/roundtable/planted_long.py": LONG_FUNCTION}, "planted has 62 lines"),
        (
            "a name taken from a module that does not give it",
            {"src/roundtable/planted_name.py": '"""Planted."""\n\nfrom roundtable.core.errors import Final\n'},
            "roundtable.core.errors does not list Final",
        ),
        ("a machine path", {"docs/planted.md": MACHINE}, "docs/planted.md:1: names a machine path"),
        ("a registry host", {"docs/planted_host.md": REGISTRY}, "docs/planted_host.md:1: names a registry"),
        ("work left for later", {"tests/planted_later.py": LATER}, "tests/planted_later.py:1: names work left"),
        ("a check silenced without a code", {"src/roundtable/planted_code.py": SILENCED}, "names its code"),
    ),
    "wheel": (("a shipped test", {"src/roundtable/test_planted.py": ""}, "a test: roundtable/test_planted.py"),),
}


@pytest.mark.parametrize("gate", PLANTED)
def test_planted_violations_are_refused_each_by_name(gate: str, tree: Path, run_gate: RunGate) -> None:
    names = [name for _, files, _ in PLANTED[gate] for name in files]
    assert len(set(names)) == len(names)
    for _, files, _ in PLANTED[gate]:
        for name, text in files.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
    done = run_gate(gate, tree)
    assert done.returncode == 1, done.stdout
    overlooked = [what for what, _, message in PLANTED[gate] if message not in done.stdout]
    assert not overlooked, done.stdout


def test_one_build_of_the_docs_names_every_dead_reference(tree: Path, run_gate: RunGate) -> None:
    with (tree / "docs/index.md").open("a", encoding="utf-8") as file:
        file.write("\n[link](nowhere.md)\n\n[anchor](glossary.md#nowhere)\n")
    (tree / "docs/planted.md").write_text("# Planted\n", "utf-8")
    done = run_gate("docs", tree)
    assert done.returncode == 1, done.stdout
    for message in ("'nowhere.md'", "'#nowhere'", "planted.md"):
        assert message in done.stdout, done.stdout


def test_docs_that_name_a_missing_part_of_the_package_are_refused(tree: Path, run_gate: RunGate) -> None:
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
    (tree / "src/roundtable/core/types/planted.py").write_text("import yarl\n", "utf-8")
    done = run_gate("dependencies", tree)
    assert done.returncode == 1, done.stdout
    assert "'yarl'" in done.stdout


def test_a_file_that_the_wheel_leaves_out_is_refused(tree: Path, run_gate: RunGate) -> None:
    (tree / ".gitignore").write_text("prompts.txt\n", "utf-8")
    (tree / "src/roundtable/prompts.txt").write_text("planted", "utf-8")
    done = run_gate("wheel", tree)
    assert done.returncode == 1, done.stdout
    assert "missing in the wheel: roundtable/prompts.txt" in done.stdout
