"""Every law of every suite catches a wrong plugin that was planted for it; `pytest -s` prints how many."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.observer_suite import ObserverSuite
from roundtable.testing.provider_suite import Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.storage_suite import StorageSuite
from roundtable.testing.suite import laws_of
from roundtable.testing.tool_suite import ToolSuite

FOLDER = Path(__file__).parent
UNSEEN = "planted_unseen_suites"
FILES = ("planted_plugins", "planted_providers", "planted_storages", UNSEEN)
SUITES = (
    ProviderSuite,
    ModeSuite,
    AnalyzerSuite,
    ToolSuite,
    ExitSuite,
    RuleSuite,
    ObserverSuite,
    StorageSuite,
    KeyValueSuite,
)
WORDS = ("-q", "-p", "no:cacheprovider", "-p", "anyio", "-c", os.devnull, "-rA", "--tb=no")


def planted(file: str) -> list[tuple[str, str, str]]:
    """Return suite, law and class of each plugin planted in a file, as another process lists them."""
    return [(suite, law, name) for suite, law, name in values_of(file, "planted.PLANTED")]


def values_of(file: str, expression: str) -> Any:
    """Return the value of an expression about a module of planted plugins, as another process computes it."""
    code = f"import json, conformance.{file} as planted; print(json.dumps({expression}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(FOLDER.parent), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def outcomes(file: str, found: Iterable[tuple[str, str, str]]) -> dict[str, set[str]]:
    """Run each planted plugin on its law, and return the outcomes of each class."""
    done = run_laws(file, [f"{name}::{law}" for _, law, name in found])
    assert done.returncode == 1, done.stdout + done.stderr
    results: dict[str, set[str]] = {}
    for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+?::(\w+)::", done.stdout, re.MULTILINE):
        results.setdefault(name, set()).add(outcome)
    return results


def run_laws(file: str, laws: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run laws of the test classes in a file."""
    ids = [f"{FOLDER / file}.py::{law}" for law in laws]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *WORDS, *ids],
        cwd=FOLDER, env=environment(), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_planted_plugin_breaks_its_law(file: str) -> None:
    found = planted(file)
    results = outcomes(file, found)
    caught = [plugin for plugin in found if results.get(plugin[2], set()) & {"FAILED", "ERROR"}]
    per_suite, per_caught = Counter(suite for suite, _, _ in found), Counter(suite for suite, _, _ in caught)
    sys.stdout.write(f"\n{'suite':15} laws planted caught\n")
    for suite in SUITES:
        if suite.__name__ in per_suite:
            name = suite.__name__
            figures = f"{len(laws_of(suite)):4} {per_suite[name]:7} {per_caught[name]:6}"
            sys.stdout.write(f"{name:15} {figures}\n")
    assert caught == found, sorted(set(found) - set(caught))


@pytest.mark.slow
def test_the_plugins_that_the_wrong_ones_change_pass_every_law() -> None:
    sound = values_of(UNSEEN, "planted.SOUND")
    laws = {(suite, law) for suite, law, _ in planted(UNSEEN)}
    done = run_laws(
        UNSEEN, sorted(f"{name}::{law}" for name, kind in sound.items() for suite, law in laws if suite == kind)
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_plugin_written_without_the_laws_is_planted_or_listed_as_undetected() -> None:
    tree = ast.parse((FOLDER / "planted_unseen.py").read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    wrong = {node.name for node in classes if not (ast.get_docstring(node) or "").endswith("; correct.")}
    assert len(wrong) == 20
    suites = (FOLDER / f"{UNSEEN}.py").read_text("utf-8")
    assert wrong == {name for name in wrong if f"planted_unseen.{name}" in suites or f'"{name}"' in suites}


@pytest.mark.slow
def test_no_law_is_without_a_planted_plugin() -> None:
    laws = {(suite.__name__, law) for suite in SUITES for law in laws_of(suite)}
    found = {(suite, law) for file in FILES for suite, law, _ in planted(file)}
    assert found == laws


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("capabilities", frozenset({"http"}), "holds 'http'; write Capability.HTTP"),
        ("capabilities", "http", "must be a frozenset, not str"),
        ("capabilities", {Capability.HTTP: True}, "must be a frozenset, not dict"),
        ("unsupported", frozenset({"temprature"}), "holds 'temprature'; known: output_schema, seed"),
        ("unsupported", ["seed"], "must be a frozenset, not list"),
    ],
)
def test_a_suite_that_would_silently_disable_laws_is_refused(part: str, value: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        type("Mine", (ProviderSuite,), {part: value})


def test_the_planted_files_exist() -> None:
    for file in FILES:
        assert importlib.util.find_spec(f"conformance.{file}") is not None
        assert not isinstance(sys.modules.get(f"conformance.{file}"), ModuleType), "it sets a profile of hypothesis"
