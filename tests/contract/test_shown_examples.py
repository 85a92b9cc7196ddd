"""Public functions and classes of the packages that keep the contract do what their own examples say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.seed_api import ROWS

pytestmark = pytest.mark.slow  # every day they run where they stand, in src; here they are the contract's
MODULES = sorted({row.module for row in ROWS})
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
KEYS = ("ROUNDTABLE_", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "PERPLEXITY_", "DATABASE_")


def examples() -> Iterator[Any]:
    """Return each public name that has examples, with what they are run in."""
    seen: set[int] = set()
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if id(thing) in seen or not (inspect.isfunction(thing) or inspect.isclass(thing)):
                continue
            seen.add(id(thing))
            home = importlib.import_module(thing.__module__)
            for found in doctest.DocTestFinder(recurse=True).find(thing, name, module=home, globs=vars(home).copy()):
                if found.examples:
                    yield pytest.param(found, id=f"{module.__name__}:{found.name}")


@pytest.mark.parametrize("example", [*examples()])
def test_an_example_of_a_public_name_holds(
    example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(KEYS)]:
        monkeypatch.delenv(name)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    assert runner.run(example, out=said.append).failed == 0, "".join(said)
