"""Every name that a page, an example or the plugin template imports is in the reference and in the public surface."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

import roundtable

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```(?:python|py)\b[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
TEMPLATE = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [*sorted((ROOT / "examples").rglob("*.py")), *sorted((ROOT / "examples").rglob("*.jinja"))]
PRIVATE = re.compile(r"roundtable\.core\b|.*\._")
"""The core, whose public names have promised paths elsewhere, and names with an underscore."""


def surface() -> frozenset[str]:
    """Return the public names, without signatures."""
    lines = (ROOT / "tools/public_surface.txt").read_text("utf-8").splitlines()
    return frozenset(re.split(r"[( ]", line, maxsplit=1)[0] for line in lines if not line.startswith("#"))


def imported(source: str) -> Iterator[str]:
    """Yield the names that a piece of code imports from the library; nothing for what does not parse, as fragments."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "roundtable":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def pieces(path: Path) -> Iterator[str]:
    """Yield the code in a file."""
    text = path.read_text("utf-8")
    match path.suffix:
        case ".md":
            yield from (textwrap.dedent(block[2]) for block in BLOCK.finditer(text))
        case ".jinja":
            yield TEMPLATE.sub("x", text)
        case _:
            yield text


def undescribed(name: str, public: frozenset[str]) -> bool:
    """Check whether a name is neither public, nor another path to a public object, nor a module."""
    home, _, leaf = name.rpartition(".")
    if name in public:
        return False
    try:
        import_module(name)
    except ModuleNotFoundError:
        thing = getattr(import_module(home), leaf)
    else:
        return False
    others = (other.rpartition(".")[0] for other in public if other.rpartition(".")[2] == leaf)
    return not any(getattr(_module(other), leaf, None) is thing for other in others)


def _module(name: str) -> object:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return None


def names_by_place(paths: list[Path]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for piece in pieces(path):
            for name in imported(piece):
                found[name].append(str(path.relative_to(ROOT)))
    return found


def test_every_imported_name_is_in_the_reference() -> None:
    public, found = surface(), names_by_place([*PAGES, *EXAMPLES])
    assert len(found) > 150
    missing = {name: places for name, places in sorted(found.items()) if undescribed(name, public)}
    assert not missing, "describe these in docs/reference/api, then run tools/generate.py"


def test_no_page_or_example_imports_a_private_module() -> None:
    found = names_by_place([*PAGES, *EXAMPLES])
    private = {name: places for name, places in found.items() if PRIVATE.match(name) and "__" not in name}
    assert not private


@pytest.mark.parametrize(
    ("name", "is_missing"),
    [
        ("roundtable.providers.wire.load_object", False),
        ("roundtable.providers.scripted.ScriptedModel", False),
        ("roundtable.testing.provider_suite.ProviderSuite", False),
        ("roundtable.sync", False),
        ("roundtable.core.engine.lease.take_lease", True),
    ],
)
def test_the_check_names_what_is_missing(name: str, is_missing: bool) -> None:
    assert undescribed(name, surface()) is is_missing


def test_the_class_variables_of_suites_are_public() -> None:
    public = surface()
    for name in ("mode_suite.ModeSuite", "provider_suite.ProviderSuite", "analyzer_suite.AnalyzerSuite"):
        home, _, leaf = f"roundtable.testing.{name}".rpartition(".")
        own = [one for one in vars(getattr(import_module(home), leaf)).get("__annotations__", {}) if one[0] != "_"]
        assert {f"{home}.{leaf}.{one}" for one in own} <= public


def test_the_root_stays_small() -> None:
    assert len(roundtable.__all__) <= 45
