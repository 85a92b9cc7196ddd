"""The real tree keeps the house rules, and the README's two commands stand where machines look for them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.gates

RunGate = Callable[[str, Path], subprocess.CompletedProcess[str]]


def test_the_tree_keeps_the_house_rules(root: Path, run_gate: RunGate) -> None:
    done = run_gate("house", root)
    assert done.returncode == 0, done.stdout


def test_the_readme_runs_the_main_job_and_then_the_tests_in_one_line_each(root: Path) -> None:
    blocks = re.findall(r"^```sh[^\n]*\n(.*?)^```", (root / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    assert all(len(block.strip().splitlines()) == 1 for block in blocks)
    main, tests = blocks
    assert ".venv/bin/roundtable " in main
    assert tests.rstrip().endswith("-m pytest -n auto --dist loadfile")


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-deep.txt"])
def test_the_lock_names_no_address_and_pins_every_line_by_hash(root: Path, name: str) -> None:
    text = (root / name).read_text("utf-8")
    assert "//" not in text
    pins = re.split(r"\n(?=[a-z0-9])", text.partition("\n\n")[0] if text.startswith("-") else text)[1:]
    assert len(pins) > 50
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", pin) and "--hash=sha256:" in pin for pin in pins)


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-deep.txt"])
def test_an_extra_that_a_locked_package_asks_for_is_pinned_with_it(root: Path, name: str) -> None:
    """Older versions of pip take the newest `name[extra]` where the lock has `name` alone, and then refuse its hash."""
    lines = re.findall(r"^([\w.-]+(?:\[[\w,-]+\])?)==", (root / name).read_text("utf-8"), re.MULTILINE)
    locked = {canonicalize_name(pin.name): pin.extras for pin in map(Requirement, lines)}
    asked: set[str] = set()
    for package, extras in locked.items():
        try:
            needs = [Requirement(line) for line in requires(package) or ()]
        except PackageNotFoundError:  # locked for another platform, or for the deep checks alone
            continue
        for need in needs:
            used = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras or {""})
            if used and need.extras and canonicalize_name(need.name) in locked:
                asked.add(need.name)
                assert locked[canonicalize_name(need.name)] == need.extras, f"{package} asks for {need}"
    assert asked
