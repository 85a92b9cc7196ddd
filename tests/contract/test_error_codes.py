"""The page of errors lists every code that the library gives, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import roundtable
from roundtable.errors import error_kinds

SOURCES = Path(roundtable.__file__).parent
REFERENCE = SOURCES.parents[1] / "docs" / "reference"


def codes_in(path: Path) -> set[str]:
    """Find the literal codes that a module gives to errors."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    words = [word for call in calls for word in call.keywords if word.arg == "code"]
    values = [word.value.value for word in words if isinstance(word.value, ast.Constant)]
    return {value for value in values if isinstance(value, str) and value.isupper()}


def test_every_error_code_in_use_is_listed() -> None:
    sources = [path for path in SOURCES.rglob("*.py") if "code=" in path.read_text("utf-8")]
    given = {code: path for path in sources for code in codes_in(path)}
    assert "AGENT_REFUSED" in given
    pages = "".join((REFERENCE / name).read_text("utf-8") for name in ("errors.md", "http.md"))
    missing = {code: path.name for code, path in given.items() if f"`{code}`" not in pages}
    assert missing == {}


def test_every_class_is_listed_with_its_code() -> None:
    page = (REFERENCE / "errors.md").read_text("utf-8")
    for kind in error_kinds():
        assert f"| `{kind.__name__}` | `{kind.default_code}` |" in page


def test_a_subclass_keeps_the_code_of_its_parent_unless_it_has_its_own() -> None:
    assert roundtable.errors.ContextTooLong("long").code == roundtable.errors.AgentError("wrong").code == "AGENT_ERROR"
